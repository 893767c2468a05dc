r"""Features that are polynomials, orthonormal over the sample (paper, appendix B).

With the monomials :math:`\tau(z)` of total degree up to :math:`q` and their Gram matrix
:math:`G` over the sample, the functions :math:`\phi = G^{-1/2} \tau`, up to a rotation, are
orthonormal over the sample and the features of the kernel :math:`\tau G^{-1} \tau^\top`.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from jointdist._array import Array, Index, Matrix, array_namespace, device, like, to_numpy
from jointdist._cached import Cached, cached
from jointdist.kernels import Kernel
from jointdist.lowrank.features import Triangular, fingerprint
from jointdist.lowrank.monomials import factors_of

__all__ = ["PolynomialMap", "SampleKernel"]

# Rows of a diagonal block in the forward substitution: half of those of kernel features, as
# smaller blocks are more exact and polynomials are fewer.
_BLOCK_WIDTH = 32


@dataclass(frozen=True, eq=False)
class PolynomialMap(Cached):
    r"""The map :math:`z \mapsto \phi(z)` to orthonormal polynomials.

    A recurrence gives columns :math:`\tau(z)` of nearly orthonormal functions; the core
    :math:`C` corrects them, :math:`\phi = C^{-1} \tau`.

    Attributes
    ----------
    degree : int
        The highest total degree, whether or not functions of it were dropped.
    exponents : array of shape (m, d)
        The exponents of the monomials that the functions stand for, the constant first.
    centre, scale : Arrays of shape (d,)
        The columns of the points are measured from the centre, in units of the scale.
    recurrence : Array of shape (m, m)
        The lower-triangular matrix R of the recurrence: the product that column j is made
        of is :math:`\sum_k R_{jk}` times column k.
    core : Array of shape (m, m)
        The lower-triangular matrix :math:`C`; the functions are :math:`C^{-1}` times the
        columns.
    doubtful : bool, default=False
        Whether there are columns that may be nothing but rounding.
    """

    degree: int
    exponents: Index
    centre: Array
    scale: Array
    recurrence: Array
    core: Array
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
    def origin(self) -> Array:
        """A point in the middle of the data: the centre."""
        return self.centre

    @property
    def complete(self) -> bool:
        """Whether the functions reproduce their kernel: by definition."""
        return True

    @property
    def equal_diagonal(self) -> bool:
        """Whether the kernel is the same at all landmarks: there are none."""
        return False

    @property
    def kernel(self) -> Kernel:
        r"""The kernel :math:`\tau G^{-1} \tau^\top`."""
        return SampleKernel(self)

    @cached
    def key(self) -> str:
        """A fingerprint: maps with the same key have the same functions."""
        arrays = (self.exponents, self.centre, self.scale, self.recurrence, self.core)
        return fingerprint("polynomials", *arrays)

    @cached
    def inverse_core(self) -> Array:
        """The inverse of the core."""
        xp = array_namespace(self.core)
        identity = xp.eye(self.rank, dtype=self.core.dtype, device=device(self.core))
        return xp.tril(self.solve(identity))

    @cached
    def amplification(self) -> float:
        """A bound on the factor by which the solve enlarges rounding errors of the columns."""
        if self.doubtful:
            return np.inf
        C = to_numpy(self.core)
        smallest = np.linalg.svd(C, compute_uv=False)[-1]
        return float((C * C).sum(axis=1).max() / smallest**2)

    def columns(self, Z: Array) -> Array:
        """Return the nearly orthonormal functions as columns, of shape ``(m, n)``."""
        xp = array_namespace(Z)
        v = xp.stack(
            [(Z[:, i] - self.centre[i]) / self.scale[i] for i in range(self.width)]
        )
        columns = xp.ones((self.rank, Z.shape[0]), dtype=Z.dtype, device=device(Z))
        for a, b, (first, second), scaling, rest in self._degrees:
            products = xp.take(v if a == 1 else columns, first, axis=0)
            if a > 1:
                products *= xp.take(columns, second, axis=0)
            if scaling is None or rest is None:
                columns[a:b, :] = products
            else:
                columns[a:b, :] = scaling @ products
                columns[a:b, :] -= rest @ columns[:a, :]
        return columns

    def solve(self, columns: Array) -> Array:
        """Return :math:`C^{-1}` times ``columns``."""
        return self._triangular.solve(columns)

    def features(self, Z: Array) -> Array:
        r"""Return :math:`\phi(z_i)` as rows, of shape ``(n, m)``."""
        return self.solve(self.columns(Z)).T

    def novelty(self, phi: Array, Z: Array) -> Array:
        """Return zeros: the functions reproduce the kernel everywhere.

        Parameters
        ----------
        phi : Array of shape (n, m)
            The functions at the points, in any rotation.
        Z : Array of shape (n, d)
            The points; not needed.
        """
        del Z
        return array_namespace(phi).zeros_like(phi[:, 0])

    def corrected(self, kept: Index, C: Matrix) -> "PolynomialMap":
        """Return some of the functions, times the inverse of a matrix.

        Parameters
        ----------
        kept : array of int
            The numbers of the functions.
        C : array of shape (k, k)
            A lower-triangular matrix.
        """
        R, core = (to_numpy(M)[np.ix_(kept, kept)] for M in (self.recurrence, self.core))
        return replace(
            self,
            exponents=self.exponents[kept],
            recurrence=like(R, self.recurrence),
            core=like(core @ C, self.core),
            doubtful=False,
        )

    @cached
    def _degrees(self) -> list[tuple[int, int, list[Array], Array | None, Array | None]]:
        """For each degree above zero: its functions, their factors, and the recurrence.

        The new columns are one matrix times products of factors, less another matrix times
        the columns of lower degree; or just the products, if there are no matrices.
        """
        total, factors = self.exponents.sum(axis=1), factors_of(self.exponents)
        found: list[tuple[int, int, list[Array], Array | None, Array | None]] = []
        R = to_numpy(self.recurrence)
        for degree in range(1, int(total.max(initial=0)) + 1):
            a, b = np.searchsorted(total, [degree, degree + 1]).tolist()
            which = [like(f[a:b].astype(np.int64), self.recurrence) for f in factors]
            both = np.hstack([np.eye(b - a), R[a:b, :a]])
            both = np.asarray(solve_triangular(R[a:b, a:b], both, lower=True))
            scaling: Array | None = None
            rest: Array | None = None
            if not np.array_equal(both, np.eye(*both.shape)):
                scaling, rest = (
                    like(M.copy(), self.core) for M in np.hsplit(both, [b - a])
                )
            found.append((a, b, which, scaling, rest))
        return found

    @cached
    def _triangular(self) -> Triangular:
        return Triangular(self.core, _BLOCK_WIDTH)


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
