r"""Features whose inner product is the low-rank kernel (paper, section 4.1).

With landmarks :math:`P` and the triangular core :math:`C`, :math:`C C^\top = k(P, P)`,
the features of a point solve :math:`C \phi(z) = k(P, z)`. On the training rows they
are the rows of the factor :math:`L = K B`, Eq. `Bprop1`.
"""

import hashlib
import math
import re
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dtrtri

from jointdist._array import Array, array_namespace, device, is_array, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist._rules import Text, require
from jointdist.data.executor import one_blas_thread
from jointdist.data.table import Rows
from jointdist.kernels import Kernel

__all__ = [
    "FeatureMap",
    "Triangular",
    "fingerprint",
    "kernel_diagonal",
    "kernel_matrix",
    "kernel_precision",
]

# Rows of a diagonal block in the forward substitution, of which the inverse is formed: large
# enough for fast products of matrices, small enough for accurate inverses.
_BLOCK_WIDTH = 64


@dataclass(frozen=True, eq=False)
class FeatureMap(Cached):
    r"""The map :math:`z \mapsto \phi(z) = C^{-1} k(P, z)`.

    Attributes
    ----------
    kernel : Kernel
        The kernel :math:`k`.
    landmarks : Array of shape (m, d)
        The pivot rows :math:`P`, in the order of choice.
    core : Array of shape (m, m)
        The lower-triangular Cholesky factor :math:`C` of :math:`k(P, P)`.
    """

    kernel: Kernel
    landmarks: Array
    core: Array

    @staticmethod
    def at(kernel: Kernel, landmarks: Array) -> "FeatureMap":
        """Return the map with given landmarks, whose kernel matrix is not singular.

        Parameters
        ----------
        kernel : Kernel
            The kernel.
        landmarks : Array of shape (m, d)
            The landmarks.
        """
        K = kernel_matrix(kernel, landmarks, landmarks)
        return FeatureMap(kernel, landmarks, array_namespace(K).linalg.cholesky(K))

    @property
    def rank(self) -> int:
        """The number of features :math:`m`."""
        return int(self.core.shape[0])

    @property
    def width(self) -> int:
        """The number of columns :math:`d` of the points."""
        return int(self.landmarks.shape[1])

    @property
    def origin(self) -> Array:
        """A point in the middle of the data: the first landmark; zero if there is none."""
        if self.rank > 0:
            return self.landmarks[0, :]
        xp = array_namespace(self.landmarks)
        return xp.zeros(self.width, dtype=xp.float64, device=device(self.landmarks))

    @cached
    def key(self) -> str:
        """A fingerprint: maps with the same key have the same features.

        It is made of the kernel's ``repr``, less addresses, the landmarks and the core.
        """
        name = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(self.kernel))
        return fingerprint(name, self.landmarks, self.core)

    @property
    def complete(self) -> bool:
        """Whether the features reproduce the kernel exactly, which is not checked: False."""
        return False

    @property
    def degree(self) -> int | None:
        """The total degree of the features, if the kernel states one; else None."""
        degree: int | None = getattr(self.kernel, "degree", None)
        return degree

    @property
    def equal_diagonal(self) -> bool:
        """Whether the kernel :math:`k(p, p)` is the same at several landmarks :math:`p`."""
        diagonal = to_numpy(kernel_diagonal(self.kernel, self.landmarks))
        return bool(self.rank > 1 and diagonal.min() == diagonal.max())

    @cached
    def inverse_core(self) -> Array:
        r""":math:`C^{-1}`; its transpose is :math:`B` at the pivots, Eq. `Bprop2`."""
        xp = array_namespace(self.core)
        identity = xp.eye(self.rank, dtype=self.core.dtype, device=device(self.core))
        return xp.tril(self.solve(identity))

    @cached
    def amplification(self) -> float:
        r"""A bound on the factor by which the solve enlarges rounding of :math:`k(P, z)`.

        The largest :math:`k(p, p)` times :math:`|C^{-1}|_2^2`: a number of at least one,
        relative to the trace of the kernel matrix.
        """
        if self.rank == 0:
            return 1.0
        C = to_numpy(self.core)
        with one_blas_thread() as one, one:
            smallest = np.linalg.svd(C, compute_uv=False)[-1]
        return float((C * C).sum(axis=1).max() / smallest**2)

    def prefix(self, rank: int) -> "FeatureMap":
        """Return the map to the first ``rank`` features; features are nested."""
        if rank == self.rank:
            return self
        core = self.core[:rank, :rank]
        return FeatureMap(self.kernel, self.landmarks[:rank, :], core)

    def columns(self, Z: Array) -> Array:
        """Return the kernel columns :math:`k(P, z)`, of shape ``(m, n)``."""
        if self.rank == 0:
            return array_namespace(Z).empty(
                (0, Z.shape[0]), dtype=Z.dtype, device=device(Z)
            )
        K = self.kernel(self.landmarks, Z)
        xp = array_namespace(K)
        return xp.astype(K, xp.float64, copy=False)

    def solve(self, columns: Array) -> Array:
        """Return :math:`C^{-1}` times ``columns``."""
        return self._triangular.solve(columns)

    def features(self, Z: Array) -> Array:
        r"""Return :math:`\phi(z_i)` as rows, of shape ``(n, m)``."""
        return self._triangular.solve(self.columns(Z)).T

    def novelty(self, phi: Array, Z: Array) -> Array:
        r"""Return :math:`1 - |\phi(z)|^2 / k(z, z)`, zero at landmarks, one far from them.

        Parameters
        ----------
        phi : Array of shape (n, m)
            The features of the points, in any rotation.
        Z : Array of shape (n, d)
            The points.
        """
        xp = array_namespace(phi)
        whole = like(to_numpy(kernel_diagonal(self.kernel, Z)), phi)
        kept = xp.sum(phi * phi, axis=1)
        return xp.where(whole > 0, 1 - kept / xp.where(whole > 0, whole, 1.0), 0.0)

    @cached
    def _triangular(self) -> "Triangular":
        return Triangular(self.core)


class Triangular:
    """Forward substitution in blocks.

    Parameters
    ----------
    core : Array of shape (m, m)
        A lower-triangular matrix.
    width : int
        The rows of a block, whose inverse is formed: the fewer, the more exact.
    """

    def __init__(self, core: Array, width: int = _BLOCK_WIDTH) -> None:
        rank = int(core.shape[0])
        ends = [(a, min(a + width, rank)) for a in range(0, rank, width)]
        self._blocks = [(a, b, core[a:b, :a], _inverse(core[a:b, a:b])) for a, b in ends]

    def solve(self, columns: Array) -> Array:
        """Return the inverse of the core times ``columns``, of shape ``(m, n)``."""
        xp = array_namespace(columns)
        solved = xp.empty_like(columns)
        for a, b, left, inverse in self._blocks:
            rest = columns[a:b, :]
            if a > 0:
                rest = rest - left @ solved[:a, :]
            solved[a:b, :] = inverse @ rest
        return solved


def fingerprint(name: str, *arrays: Array) -> str:
    """Return a hash of a name and of the contents of arrays."""
    hosts = [np.ascontiguousarray(to_numpy(a)) for a in arrays]
    parts = [repr(a.shape).encode() + a.tobytes() for a in hosts]
    return hashlib.blake2b(b"".join([name.encode(), *parts]), digest_size=16).hexdigest()


def kernel_matrix(kernel: Kernel, X: Array, Z: Array) -> Array:
    """Return the kernel matrix in float64, whatever the kernel computes in."""
    K = kernel(X, Z)
    xp = array_namespace(K)
    return xp.astype(K, xp.float64, copy=False)


def kernel_diagonal(kernel: Kernel, X: Array) -> Array:
    """Return the diagonal of the kernel matrix in float64."""
    d = kernel.diagonal(X)
    xp = array_namespace(d)
    return xp.astype(d, xp.float64, copy=False)


def kernel_precision(kernel: object, rows: Rows, name: str) -> float:
    """Return the machine precision of a kernel's values, having checked that it is a kernel.

    Parameters
    ----------
    kernel : object
        The kernel.
    rows : Rows
        The rows that it is applied to; the first three are tried.
    name : str
        Its name as an argument, for messages.
    """
    rule = "a kernel: an object with `__call__(X, Z)` and `diagonal(X)`"
    if not isinstance(kernel, Kernel) or isinstance(kernel, type):
        require(False, rows.where, name, rule, kernel)
        return math.nan
    X = rows.read(0, min(rows.n, 3))
    n = X.shape[0]
    matrix, diagonal = kernel(X, X[:1, :]), kernel.diagonal(X)
    for got, shape, what in ((matrix, (n, 1), "matrix"), (diagonal, (n,), "diagonal")):
        rule = f"a kernel whose {what} is an array of shape {shape} for {n} rows"
        seen = f"shape {tuple(got.shape)}" if is_array(got) else f"{type(got)}"
        good = is_array(got) and tuple(got.shape) == shape
        require(good, rows.where, name, rule, Text(f"{seen} from {kernel!r}"))
    ends = float(matrix[0, 0]), float(diagonal[0])
    rule = "a kernel whose `diagonal` is the diagonal of its matrix"
    seen = f"{ends[1]:.6g} against {ends[0]:.6g} from {kernel!r}"
    same = math.isclose(*ends, rel_tol=1e-4, abs_tol=1e-12) or math.isnan(sum(ends))
    require(same, rows.where, name, rule, Text(seen))
    xp = array_namespace(matrix)
    dtype = matrix.dtype if xp.isdtype(matrix.dtype, "real floating") else xp.float64
    return float(xp.finfo(dtype).eps)


def _inverse(C: Array) -> Array:
    """Return the inverse of a small lower-triangular matrix."""
    inverse, _ = dtrtri(to_numpy(C), lower=1)
    return like(np.tril(inverse), C)
