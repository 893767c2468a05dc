r"""Polynomials that are orthonormal over the sample (paper, appendix B).

With the monomials :math:`\tau(z)` of total degree up to :math:`q` and their Gram matrix
:math:`G` over the sample, the functions :math:`\phi = G^{-1/2} \tau`, up to a rotation, are
orthonormal over the sample and the features of the kernel :math:`\tau G^{-1} \tau^\top`.

Functions that are orthonormal over a part of the rows, by a recurrence, nearly are over
all of them; the sums of one pass tell what they lack. Their order is graded, so that the
first functions span the polynomials of each lower degree.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from operator import add

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from jointdist._array import Array, array_namespace, device, like, to_numpy
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.table import Rows
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Kernel
from jointdist.lowrank.arnoldi import (
    arnoldi,
    factors_of,
    graded,
    independent,
    is_multiple,
    simplified,
)
from jointdist.lowrank.features import Triangular, fingerprint
from jointdist.lowrank.moments import Moments, collect

__all__ = [
    "PolynomialMap",
    "Polynomials",
    "SampleKernel",
    "orthonormal_polynomials",
    "structure",
]

Matrix = NDArray[np.float64]
Index = NDArray[np.intp]

_PART = 1 << 13  # rows on which functions are made orthonormal before all rows are seen
_EXTREME = 32  # rows of the highest and lowest values of each column among them
_SAFE = 300.0  # condition of a correction whose rounding does not matter
_PASSES = 6
_WIDTH = 32  # of a diagonal block in the forward substitution
_CLOSED = 1e-12  # of its square, what a product may have outside of the functions


@dataclass(frozen=True, eq=False)
class PolynomialMap:
    r"""The map :math:`z \mapsto \phi(z)` to orthonormal polynomials.

    A recurrence gives functions that are nearly orthonormal, the columns; the core makes
    up for what they lack.

    Attributes
    ----------
    degree : int
        The highest total degree, whether or not it was dropped.
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
        Whether there are columns of which nothing but rounding may be left.
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
        arrays = (self.exponents, self.centre, self.scale, self.recurrence, self.core)
        return fingerprint("polynomials", *arrays)

    @cached_property
    def inverse_core(self) -> Array:
        """The inverse of the core."""
        xp = array_namespace(self.core)
        identity = xp.eye(self.rank, dtype=self.core.dtype, device=device(self.core))
        return xp.tril(self.solve(identity))

    @cached_property
    def amplification(self) -> float:
        """How much the solve may enlarge the rounding of the columns."""
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
        for a, b, (first, second), own, rest in self._degrees:
            products = xp.take(v if a == 1 else columns, first, axis=0)
            if a > 1:
                products *= xp.take(columns, second, axis=0)
            if own is None or rest is None:
                columns[a:b, :] = products
            else:
                columns[a:b, :] = own @ products
                columns[a:b, :] -= rest @ columns[:a, :]
        return columns

    def solve(self, columns: Array) -> Array:
        """Return :math:`C^{-1}` times ``columns``."""
        return self._triangular.solve(columns)

    def features(self, Z: Array) -> Array:
        r"""Return :math:`\phi(z_i)` as rows, of shape ``(n, m)``."""
        return self.solve(self.columns(Z)).T

    def novelty(self, phi: Array, Z: Array) -> Array:
        """Return zeros: the functions are all of the kernel.

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
        """Return some of the functions, times the inverse of a matrix."""
        R, core = (to_numpy(M)[np.ix_(kept, kept)] for M in (self.recurrence, self.core))
        return replace(
            self,
            exponents=self.exponents[kept],
            recurrence=like(R, self.recurrence),
            core=like(core @ C, self.core),
            doubtful=False,
        )

    @cached_property
    def _degrees(self) -> list[tuple[int, int, list[Array], Array | None, Array | None]]:
        """For each degree but zero: its functions, their factors, and the recurrence.

        The new columns are one matrix times the products, less another times the earlier
        columns; or the products themselves.
        """
        total, factors = self.exponents.sum(axis=1), factors_of(self.exponents)
        found: list[tuple[int, int, list[Array], Array | None, Array | None]] = []
        R = to_numpy(self.recurrence)
        for degree in range(1, int(total.max(initial=0)) + 1):
            a, b = np.searchsorted(total, [degree, degree + 1]).tolist()
            which = [like(f[a:b].astype(np.int64), self.recurrence) for f in factors]
            both = np.hstack([np.eye(b - a), R[a:b, :a]])
            both = np.asarray(solve_triangular(R[a:b, a:b], both, lower=True))
            own: Array | None = None
            rest: Array | None = None
            if not np.array_equal(both, np.eye(*both.shape)):
                own, rest = (like(M.copy(), self.core) for M in np.hsplit(both, [b - a]))
            found.append((a, b, which, own, rest))
        return found

    @cached_property
    def _triangular(self) -> Triangular:
        return Triangular(self.core, _WIDTH)


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

        None if that takes a new start: where rounding has grown too much, or functions
        were or would be dropped, as other rows may need them.
        """
        found, condition = _corrected(self, sums)
        return found if condition <= _SAFE and not any(found.dropped) else None


def _corrected(old: Polynomials, sums: Moments) -> tuple[Polynomials, float]:
    """Return functions orthonormal under sums of the old ones, and the condition of that."""
    n = sums.weight
    sides = (old.x, sums.gram_x), (old.y, sums.gram_y)
    (kept_x, C_x), (kept_y, C_y) = (
        independent(side.exponents, to_numpy(gram) / n) for side, gram in sides
    )
    x = old.x.corrected(kept_x, C_x)
    y = old.y.corrected(kept_y, C_y)
    lost = old.x.rank - x.rank, old.y.rank - y.rank
    dropped = old.dropped[0] + lost[0], old.dropped[1] + lost[1]
    sums = _solved(sums.taken(x, y, (kept_x, kept_y)), (C_x, C_y))
    new = Polynomials(x, y, sums, dropped)
    return new, max(float(np.linalg.cond(C)) for C in (C_x, C_y))


def _solved(sums: Moments, cores: tuple[Matrix, Matrix]) -> Moments:
    """Return the moments of features times the inverses of lower-triangular matrices."""
    gram, powers_y = to_numpy(sums.gram).copy(), to_numpy(sums.powers_y).copy()
    middle = 1 + sums.rank_x
    for side, core in zip((slice(1, middle), slice(middle, None)), cores, strict=True):
        for _ in range(2):  # on the rows, then on the columns
            gram[side] = solve_triangular(core, gram[side], lower=True)
            gram = gram.T
    powers_y[1:] = solve_triangular(cores[1], powers_y[1:], lower=True)
    new = replace(
        sums,
        gram=like((gram + gram.T) / 2, sums.gram),
        powers_y=like(powers_y, sums.gram),
    )
    kept_x, kept_y = (float(squares.sum()) for _, squares in new.sides)
    return replace(new, trace_x=kept_x, trace_y=kept_y)


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
        part = np.random.default_rng(seed).choice(counted, size, replace=False)
        part = np.union1d(part, _extremes(x, y, weights, executor))
    share = None if weights is None else weights[part] / weights.max()
    final = len(part) == len(counted)
    with one_blas_thread:  # the matrices are small
        a = _rough_map(degrees[0], x.take(part), share, final)
        b = _rough_map(degrees[1], y.take(part), share, final)
        for left in reversed(range(_PASSES)):
            sums = collect(a, b, x, y, weights, precision="float64", executor=executor)
            dropped = functions[0] - a.rank, functions[1] - b.rank
            found, condition = _corrected(Polynomials(a, b, sums, dropped), sums)
            if condition <= _SAFE or left == 0:
                break
            a, b = found.x, found.y
    if condition <= _SAFE:
        return found
    msg = (
        f"{x.where}: the polynomials could not be made orthonormal over all rows, as "
        "some are too far out. Transform their columns, as by a logarithm."
    )
    warnings.warn(msg, ToleranceWarning, stacklevel=6)
    return found


def _extremes(
    x: Rows, y: Rows, weights: Matrix | None, executor: Executor
) -> NDArray[np.intp]:
    """Return the numbers of rows with the highest and lowest values of each column.

    At most one of either in each block of rows, and not too many.
    """

    def block(start: int, *tables: Array) -> Matrix:
        ends = []
        for z in tables:
            xp = array_namespace(z)
            low, high = xp.argmin(z, axis=0), xp.argmax(z, axis=0)
            ends.append(
                [*map(to_numpy, (-xp.min(z, axis=0), low, xp.max(z, axis=0), high))]
            )
        found = np.hstack(ends)  # how extreme, and at which row, downwards and upwards
        found[1::2] += start
        return found

    found = np.stack(list(executor.map(block, x, y)))
    size = np.concatenate([found[:, 0], found[:, 2]], axis=1)
    rows = np.concatenate([found[:, 1], found[:, 3]], axis=1).astype(np.intp)
    most = np.argsort(-size, axis=0)[:_EXTREME]
    chosen = np.unique(np.take_along_axis(rows, most, axis=0))
    return chosen if weights is None else chosen[weights[chosen] > 0]


def structure(
    functions: PolynomialMap,
    rows: Rows,
    weights: Matrix | None,
    *,
    executor: Executor,
) -> tuple[Index, Matrix]:
    r"""Return the coefficients of products, :math:`\phi_i \phi_j = \sum_k C_{kij} \phi_k`.

    The factors are functions of at most half the degree. The coefficients are the means
    of :math:`\phi_k \phi_i \phi_j` over the sample, in one pass. If no function was dropped
    the identity holds everywhere; else on the sample, and wherever the relations hold
    for which functions were dropped. Factors are left out whose products are not made of
    the functions: a relation that holds nearly is none.

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
    tuple of arrays of shape (k,) and (m, k, k)
        The numbers of the factors, and the coefficients.
    """
    k = int(np.count_nonzero(2 * functions.exponents.sum(axis=1) <= functions.degree))
    i, j = np.triu_indices(k)
    total = float(rows.n if weights is None else weights.sum())

    def block(start: int, z: Array) -> Matrix:
        phi = to_numpy(functions.features(z))
        products = phi[:, i] * phi[:, j]
        w = np.ones(len(phi)) if weights is None else weights[start : start + len(phi)]
        return np.vstack([(w[:, None] * phi).T @ products, w @ products**2])

    means = executor.reduce(add, block, rows) / total
    C, missed = np.zeros((functions.rank, k, k)), np.zeros((k, k))
    C[:, i, j] = C[:, j, i] = means[:-1]
    left = means[-1] - (means[:-1] ** 2).sum(axis=0)
    missed[i, j] = missed[j, i] = left / np.maximum(means[-1], 1e-300)
    kept = np.arange(k)
    while (worst := missed[np.ix_(kept, kept)]).max() > _CLOSED:
        kept = np.delete(kept, np.unravel_index(worst.argmax(), worst.shape)[1])
    return kept, C[:, kept[:, None], kept]


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
    exponents = np.array(list(graded(degree, z.shape[1])), dtype=np.intp)
    R, kept, phi = arnoldi(exponents, ((z / size - centre) / scale).T, np.sqrt(w))
    core = np.eye(len(R))
    if len(kept) == len(R):
        R, core = simplified(exponents, R, phi, w)
    rough = PolynomialMap(
        degree,
        exponents,
        like(centre * size, Z),
        like(scale * size, Z),
        like(R, Z),
        like(core, Z),
        doubtful=len(kept) < len(R),
    )
    if not final:
        return rough
    multiple = is_multiple(exponents, np.delete(exponents, kept, axis=0))
    kept = kept[~multiple[kept]]
    return rough.corrected(kept, np.eye(len(kept)))
