r"""Polynomials that are orthonormal over the sample (paper, appendix B).

With the monomials :math:`\tau(z)` of total degree up to :math:`q` and their Gram matrix
:math:`G` over the sample, the functions :math:`\phi = C^{-1} \tau`, :math:`C C^\top = G`,
are orthonormal over the sample and the features of the kernel :math:`\tau G^{-1}
\tau^\top`. The order of the monomials is graded, so that the first functions span the
polynomials of each lower degree.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from jointdist._array import Array, array_namespace, device, like, to_numpy
from jointdist.executor import Executor, one_blas_thread
from jointdist.features import Triangular, fingerprint
from jointdist.kernels import Kernel
from jointdist.moments import Moments, collect
from jointdist.rows import Rows

__all__ = [
    "PolynomialMap",
    "Polynomials",
    "SampleKernel",
    "orthonormal_polynomials",
    "structure",
]

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]

_PART = 1 << 14  # rows on which functions are made orthonormal before all rows are seen
_CHUNK = 32  # monomials that are made orthogonal to the earlier ones at a time
_DEPENDENT = 1e-9  # of a monomial, what is left of it when it depends on earlier ones
_INVISIBLE = 1e-12  # of a square, what sums over all rows cannot tell from zero
_SAFE = 300.0  # condition of a correction whose rounding does not matter
_PASSES = 4
_WIDTH = 8  # of a diagonal block in the forward substitution


@dataclass(frozen=True, eq=False)
class PolynomialMap:
    r"""The map :math:`z \mapsto \phi(z) = C^{-1} \tau(z)`.

    The core is kept as a product: the first factor may be badly conditioned, the second
    makes up for its rounding.

    Attributes
    ----------
    degree : int
        The highest total degree, whether or not it was dropped.
    exponents : array of shape (m, d)
        The exponents of the monomials, the constant first.
    centre, scale : Arrays of shape (d,)
        The monomials are those of :math:`(z - \text{centre}) / \text{scale}`.
    rough, fine : Arrays of shape (m, m)
        The lower-triangular factors of :math:`C`.
    largest : float
        The largest :math:`k(z, z)` seen in the sample.
    doubtful : bool, default=False
        Whether there are functions of which nothing but rounding may be left.
    """

    degree: int
    exponents: Index
    centre: Array
    scale: Array
    rough: Array
    fine: Array
    largest: float
    doubtful: bool = False

    @property
    def rank(self) -> int:
        """The number of functions :math:`m`."""
        return len(self.exponents)

    @property
    def width(self) -> int:
        """The number of columns :math:`d` of the points."""
        return int(self.exponents.shape[1])

    @property
    def half(self) -> int:
        """The number of functions of at most half the highest degree."""
        return int(np.count_nonzero(2 * self.exponents.sum(axis=1) <= self.degree))

    @property
    def origin(self) -> Array:
        """A point amid the data: the centre."""
        return self.centre

    @property
    def complete(self) -> bool:
        """Whether the functions are all of the kernel: by definition."""
        return True

    @property
    def kernel(self) -> Kernel:
        r"""The kernel :math:`\tau G^{-1} \tau^\top`."""
        return SampleKernel(self)

    @cached_property
    def key(self) -> str:
        """A fingerprint: maps with the same key have the same functions."""
        arrays = (self.exponents, self.centre, self.scale, self.rough, self.fine)
        return fingerprint("polynomials", *arrays)

    @cached_property
    def core(self) -> Array:
        """The lower-triangular matrix :math:`C`."""
        return self.rough @ self.fine

    @cached_property
    def inverse_core(self) -> Array:
        """The coefficients of the functions in the monomials, as rows."""
        xp = array_namespace(self.core)
        identity = xp.eye(self.rank, dtype=self.core.dtype, device=device(self.core))
        return xp.tril(self.solve(identity))

    @cached_property
    def amplification(self) -> float:
        """How much the solve may enlarge the rounding of the monomials."""
        if self.doubtful:
            return np.inf
        C = to_numpy(self.core)
        smallest = np.linalg.svd(C, compute_uv=False)[-1]
        return float((C * C).sum(axis=1).max() / smallest**2)

    def columns(self, Z: Array) -> Array:
        """Return the monomials as columns, of shape ``(m, n)``."""
        xp = array_namespace(Z)
        v = [(Z[:, i] - self.centre[i]) / self.scale[i] for i in range(self.width)]
        columns = xp.ones((self.rank, Z.shape[0]), dtype=Z.dtype, device=device(Z))
        for j, (divisor, i) in enumerate(self._steps, 1):
            columns[j, :] = columns[divisor, :] * v[i]
        return columns

    def solve(self, columns: Array) -> Array:
        """Return :math:`C^{-1}` times ``columns``."""
        for factor in self._triangular:
            columns = factor.solve(columns)
        return columns

    def features(self, Z: Array) -> Array:
        r"""Return :math:`\phi(z_i)` as rows, of shape ``(n, m)``."""
        return self.solve(self.columns(Z)).T

    def novelty(self, phi: Array, Z: Array) -> Array:
        """Return how far the kernel at points exceeds what it is on the sample.

        Parameters
        ----------
        phi : Array of shape (n, m)
            The functions at the points, in any rotation.
        Z : Array of shape (n, d)
            The points; not needed.
        """
        del Z
        xp = array_namespace(phi)
        return 1 - self.largest / xp.clip(xp.sum(phi * phi, axis=1), min=self.largest)

    def corrected(self, kept: Index, C: Matrix) -> "PolynomialMap":
        """Return some of the functions, multiplied by the inverse of a matrix."""
        rough, fine = (to_numpy(M)[np.ix_(kept, kept)] for M in (self.rough, self.fine))
        return replace(
            self,
            exponents=self.exponents[kept],
            rough=like(rough, self.rough),
            fine=like(fine @ C, self.fine),
            doubtful=False,
        )

    @cached_property
    def _steps(self) -> list[tuple[int, int]]:
        """For each monomial but the first, an earlier one and the column that it lacks."""
        known = {tuple(e): j for j, e in enumerate(self.exponents.tolist())}
        steps = []
        for e in self.exponents[1:].tolist():
            i = next(i for i, power in enumerate(e) if power)
            e[i] -= 1
            steps.append((known[tuple(e)], i))
        return steps

    @cached_property
    def _triangular(self) -> list[Triangular]:
        return [Triangular(self.rough, _WIDTH), Triangular(self.fine, _WIDTH)]


@dataclass(frozen=True, eq=False)
class SampleKernel:
    r"""The kernel :math:`k(z, z') = \phi(z) \cdot \phi(z')` of polynomials of a sample.

    Attributes
    ----------
    map : PolynomialMap
        The functions.
    """

    map: PolynomialMap

    def __repr__(self) -> str:
        return f"SampleKernel(degree {self.map.degree}, {self.map.rank} functions)"

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix of two sets of points."""
        return self.map.features(X) @ self.map.features(Z).T

    def diagonal(self, X: Array) -> Array:
        """Return the kernel of each point with itself."""
        xp, phi = array_namespace(X), self.map.features(X)
        return xp.sum(phi * phi, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Polynomials:
    """The orthonormal polynomials of both sides, and their moments.

    Attributes
    ----------
    x, y : PolynomialMap
        The functions.
    moments : Moments
        Their sums over the sample, and those of all products.
    dropped : tuple of int
        How many monomials of X and of Y depend on others over the sample.
    """

    x: PolynomialMap
    y: PolynomialMap
    moments: Moments
    dropped: tuple[int, int]

    def changed(self, sums: Moments) -> "Polynomials | None":
        """Return functions that are orthonormal under other sums of the same functions.

        None if that takes a new start: where rounding has grown too much, or monomials
        were dropped that the new rows may need.
        """
        found, condition = _corrected(self, sums)
        return found if condition <= _SAFE and not any(self.dropped) else None


def _corrected(old: Polynomials, sums: Moments) -> tuple[Polynomials, float]:
    """Return functions orthonormal under sums of the old ones, and the condition of that."""
    n = sums.weight
    sides = (old.x, sums.gram_x), (old.y, sums.gram_y)
    (kept_x, C_x), (kept_y, C_y) = (
        _cholesky(side.exponents, to_numpy(gram) / n) for side, gram in sides
    )
    x, y = old.x.corrected(kept_x, C_x), old.y.corrected(kept_y, C_y)
    lost = old.x.rank - x.rank, old.y.rank - y.rank
    dropped = old.dropped[0] + lost[0], old.dropped[1] + lost[1]
    new = Polynomials(x, y, sums.solved(x, y, (kept_x, kept_y), (C_x, C_y)), dropped)
    return new, max(float(np.linalg.cond(C)) for C in (C_x, C_y))


def orthonormal_polynomials(
    degrees: tuple[int, int],
    x: Rows,
    y: Rows,
    weights: Matrix | None,
    *,
    seed: int,
    executor: Executor,
) -> Polynomials:
    """Return the orthonormal polynomials of both sides, most often in one pass.

    Functions that are orthonormal over a part of the rows nearly are over all of them,
    and the sums of all rows tell what is missing. A monomial that equals a combination
    of earlier ones on all rows is dropped, and with it all its multiples.

    Parameters
    ----------
    degrees : tuple of int
        The total degrees in x and in y.
    x, y : Rows
        The paired rows.
    weights : array of shape (n,), optional
        Their weights.
    seed : int
        Chooses the part of the rows.
    executor : Executor
        How row blocks are worked on.
    """
    counted = np.arange(x.n) if weights is None else np.flatnonzero(weights)
    functions = [comb(q + rows.d, q) for q, rows in zip(degrees, (x, y), strict=True)]
    part = counted
    if len(counted) > (size := max(_PART, 4 * max(functions))):
        part = np.sort(np.random.default_rng(seed).choice(counted, size, replace=False))
    share = None if weights is None else weights[part] / weights.max()
    final = len(part) == len(counted)
    with one_blas_thread:  # the matrices are small
        a = _rough_map(degrees[0], x.take(part), share, final)
        b = _rough_map(degrees[1], y.take(part), share, final)
        for _ in range(_PASSES):
            sums = collect(a, b, x, y, weights, precision="float64", executor=executor)
            dropped = functions[0] - a.rank, functions[1] - b.rank
            found, condition = _corrected(Polynomials(a, b, sums, dropped), sums)
            if condition <= _SAFE:
                break
            a, b = found.x, found.y
    return found


def structure(
    functions: PolynomialMap,
    rows: Rows,
    weights: Matrix | None,
    *,
    executor: Executor,
) -> Matrix:
    r"""Return the coefficients of products, :math:`\phi_i \phi_j = \sum_k C_{kij} \phi_k`.

    The factors are the functions of at most half the degree. The coefficients are the
    means of :math:`\phi_k \phi_i \phi_j` over the sample, in one pass. If no monomial was
    dropped the identity holds everywhere; else wherever the relations hold for which
    they were.

    Parameters
    ----------
    functions : PolynomialMap
        The functions.
    rows : Rows
        The sample.
    weights : array of shape (n,), optional
        Its weights.
    executor : Executor
        How row blocks are worked on.

    Returns
    -------
    array of shape (m, k, k)
        The coefficients.
    """
    k = functions.half
    i, j = np.triu_indices(k)
    total = float(rows.n if weights is None else weights.sum())

    def block(start: int, z: Array) -> Matrix:
        phi = to_numpy(functions.features(z))
        products = phi[:, i] * phi[:, j]
        if weights is not None:
            products *= weights[start : start + len(phi), None]
        sums: Matrix = phi.T @ products
        return sums

    means = executor.reduce(add, block, rows) / total
    C = np.zeros((functions.rank, k, k))
    C[:, i, j] = C[:, j, i] = means
    return C


def _rough_map(degree: int, Z: Array, weights: Matrix | None, final: bool) -> PolynomialMap:
    """Return functions that are orthonormal over some rows.

    Those that vanish there are dropped if ``final``; else other rows may need them.
    """
    z = to_numpy(Z)
    w = np.full(len(z), 1.0) if weights is None else weights
    w = w / w.sum()
    size = np.abs(z).max(axis=0)
    size[size == 0] = 1.0
    centre = w @ (z / size)
    scale = np.sqrt(w @ (z / size - centre) ** 2)
    scale[scale <= 1e-14] = 1.0  # a constant, or nearly so: its rounding is no signal
    exponents = np.array(list(_graded(degree, z.shape[1])), dtype=np.intp)
    eye = np.eye(len(exponents))
    monomials = PolynomialMap(degree, exponents, centre * size, scale * size, eye, eye, 1.0)
    root = np.sqrt(w)
    core, Q, kept = _orthogonalised(monomials.columns(z) * root)
    rough = replace(
        monomials,
        centre=like(monomials.centre, Z),
        scale=like(monomials.scale, Z),
        rough=like(core, Z),
        fine=like(eye, Z),
        largest=float(((Q / root) ** 2).sum(axis=0).max()),
        doubtful=len(kept) < len(core),
    )
    if not final:
        return rough
    multiple = _is_multiple(exponents, np.delete(exponents, kept, axis=0))
    kept = kept[~multiple[kept]]
    return rough.corrected(kept, np.eye(len(kept)))


def _graded(degree: int, d: int) -> Iterator[list[int]]:
    """Yield exponents by total degree: an order that products keep."""
    for total in range(degree + 1):
        for factors in combinations_with_replacement(range(d), total):
            yield [factors.count(i) for i in range(d)]


def _orthogonalised(V: Matrix) -> tuple[Matrix, Matrix, Index]:
    """Return a core C with V = C Q, the rows of Q that are orthonormal, and their numbers.

    A row of V that depends on earlier ones leaves nothing but rounding: it is measured
    by its own size, and no later row is made orthogonal to it. Gram and Schmidt, twice.
    """
    core, Q, kept = np.zeros((len(V), len(V))), np.empty_like(V), np.zeros(0, dtype=np.intp)
    for start in range(0, len(V), _CHUNK):
        block = V[start : start + _CHUNK].copy()
        sizes = np.sqrt((block * block).sum(axis=1))
        before = Q[: len(kept)]
        for _ in range(2):
            part = block @ before.T
            core[start : start + len(block), kept] += part
            block -= part @ before
        first = len(kept)
        for j, (row, size) in enumerate(zip(block, sizes, strict=True), start):
            own = Q[first : len(kept)]
            for _ in range(2):
                part = own @ row
                core[j, kept[first:]] += part
                row -= part @ own  # noqa: PLW2901
            left = float(np.linalg.norm(row))
            core[j, j] = left if left > _DEPENDENT * size else (size if size > 0 else 1.0)
            if left > _DEPENDENT * size:
                Q[len(kept)] = row / left
                kept = np.append(kept, j)
    return core, Q[: len(kept)], kept


def _cholesky(exponents: Index, G: Matrix) -> tuple[Index, Matrix]:
    """Return which functions are independent, and the Cholesky factor of their Gram matrix.

    Multiples of a monomial that was dropped are dropped too.
    """
    L, gone = np.zeros_like(G), np.zeros((0, exponents.shape[1]), dtype=np.intp)
    kept = np.zeros(0, dtype=np.intp)
    for j, exponent in enumerate(exponents):
        r = len(kept)
        row = solve_triangular(L[:r, :r], G[kept, j], lower=True)
        left = G[j, j] - row @ row
        multiple = _is_multiple(exponent[None, :], gone)[0]
        if multiple or left <= max(_INVISIBLE * G[j, j], _DEPENDENT**2):
            gone = np.vstack([gone, exponent])
            continue
        L[r, :r], L[r, r] = row, np.sqrt(left)
        kept = np.append(kept, j)
    return kept, L[: len(kept), : len(kept)]


def _is_multiple(exponents: Index, of: Index) -> NDArray[np.bool_]:
    """Tell which monomials are multiples of any of some others."""
    divides = np.all(of <= exponents[:, None, :], axis=2)
    found: NDArray[np.bool_] = np.any(divides, axis=1)
    return found
