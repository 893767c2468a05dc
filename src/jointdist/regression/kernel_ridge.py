r"""The location of outcomes given x: kernel ridge regression, with kernels that are chosen.

Kernels of three smoothnesses are tried, the Gaussian and Matérn's with :math:`\nu` = 3/2 and
1/2, each with one scale for each column by evidence, and with multiples of median scales.
They are judged by what they miss of rows that are left out, and averaged by it. Where rows
are many, a regression on neighbours joins them.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor, executor_for, one_blas_thread
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.ard import most_likely
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.factor import checked_goal, pivot_search
from jointdist.lowrank.features import kernel_matrix
from jointdist.lowrank.randomized import rough_pivots
from jointdist.lowrank.ridge import RidgeRegression, ridge_regression
from jointdist.regression.kriging import Kriging, kriging

__all__ = [
    "KernelFit",
    "KernelRegression",
    "averaged",
    "choose_kernels",
    "fit_kernel",
    "kernel_regression",
]

_SMOOTHNESS = math.inf, 1.5, 0.5
_MULTIPLES = 0.5, 1.0, 2.0, 4.0  # of median scales
_RIDGES = 10.0 ** np.arange(-12, 1.1, 0.5)
_TOL = 1e-10  # the share of the trace that is lost: outcomes may have no noise
_JUDGED = 4096  # rows by which kernels are judged, at most
_FEW = 384  # pivots by which multiples of scales are
_ALONE = Executor(workers=1)
_FIRST, _SECOND = 400, 1000  # rows of the evidence
_PATCHES = 20  # of neighbours, of which the second are taken
_KNOWN = 1 << 15  # rows among which neighbours are looked for
_FEWEST = 8  # rows below which columns are not told apart
_ROUGH, _CROWDED = 0.5, (2_000, 50_000)  # smoothness and rows of a fit to neighbours
_BEYOND = 0.25  # the range of targets, forecasts may be
_SHARE = 0.1, 0.3  # of an average, below which a kernel is left out, or not fitted again


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A kernel, and the regression with it.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    regression : RidgeRegression
        The regression, with any ridge.
    ridge : array of shape (r,)
        The best ridge of each target.
    error : float
        The mean squared leave-one-out residual, as a share of the variance of a target.
    family : Family, optional
        The family that the kernel is from, if it has a scale for each column.
    """

    kernel: Kernel
    regression: RidgeRegression
    ridge: Vector
    error: float
    family: Family | None = None

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the regressions at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            How row blocks are worked on.
        """
        return self.regression.predict(x, self.ridge, executor)


@dataclass(frozen=True, eq=False)
class KernelRegression:
    """An average of regressions with several kernels.

    Attributes
    ----------
    parts : list of KernelFit or Kriging
        The regressions.
    shares : array of shape (k, r)
        Their shares in the average for each target; the sum is one.
    mean : array of shape (r,)
        The mean of each target.
    ends : array of shape (2, r)
        The least and the largest forecast: a quarter of the range beyond the targets.
    """

    parts: list[KernelFit | Kriging]
    shares: Vector
    mean: Vector
    ends: Vector

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the regressions at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            How row blocks are worked on.
        """
        found = [fit.predict(x, executor) for fit in self.parts]
        average: Vector = np.einsum("kr,kqr->qr", self.shares, np.stack(found))
        return np.clip(average, *self.ends)


def kernel_regression(
    family: Family,
    x: Rows,
    targets: Vector,
    weights: Vector | None = None,
    *,
    max_rank: int,
    random_state: int = 0,
    executor: Executor | None = None,
) -> tuple[KernelRegression, Vector]:
    """Return a regression with the best kernels, and its leave-one-out residuals.

    Parameters
    ----------
    family, x, targets, weights, max_rank, random_state, executor
        As in :func:`choose_kernels`.

    Returns
    -------
    tuple of KernelRegression and array of shape (n, r)
        The regression, and what it misses of each row that is left out.
    """
    common = {"random_state": random_state, "executor": executor}
    options = common | {"max_rank": max_rank}
    fits = choose_kernels(family, x, targets, weights, **options)  # type: ignore[arg-type]
    rows = judged_rows(x, weights, random_state)
    small = len(rows) == x.n
    z, w = (x, weights) if small else (x.subset(rows), _of(weights, rows))

    def missed(fit: KernelFit, z: Rows, T: Vector, w: Vector | None) -> Vector:
        return fit.regression.residuals(z, T, w, fit.ridge, executor)

    left = [missed(fit, z, targets[rows], w) for fit in fits]
    shares = averaged(np.stack(left), w).max(axis=1)
    kept = np.flatnonzero(shares >= _SHARE[not small])
    if x.n > _CROWDED[1]:
        kept = shares.argmax(keepdims=True)  # a pass over many rows for each is too much
    parts: list[KernelFit | Kriging] = [fits[i] for i in kept]
    left = [left[i] for i in kept]
    if not small:
        again = [fit_kernel(fits[i].kernel, x, targets, weights, **options) for i in kept]  # type: ignore[arg-type]
        parts = list[KernelFit | Kriging](again)
        left = [missed(fit, x, targets, weights) for fit in again]
    rough = [f.family for f in fits if f.family is not None and f.family.nu == _ROUGH]
    if rough and _CROWDED[0] < x.n <= _CROWDED[1]:
        near, own = kriging(rough[0], x, targets, weights, **common)  # type: ignore[arg-type]
        parts, left = [*parts, near], [*left, own]
    shares = averaged(np.stack(left), weights)
    missing = np.einsum("kr,knr->nr", shares, np.stack(left))
    mean = np.average(targets, axis=0, weights=weights)
    low, high = targets.min(axis=0), targets.max(axis=0)
    ends = np.stack([low - _BEYOND * (high - low), high + _BEYOND * (high - low)])
    return KernelRegression(parts, shares, mean, ends), missing


def choose_kernels(
    family: Family,
    x: Rows,
    targets: Vector,
    weights: Vector | None = None,
    *,
    max_rank: int,
    random_state: int = 0,
    executor: Executor | None = None,
) -> list[KernelFit]:
    """Return the best kernels of each kind, the best of all first.

    A kind is a smoothness, with a scale for each column or not. Of more than 4,096 rows a
    random choice of so many is regressed on.

    Parameters
    ----------
    family : Family
        The kernels of X by the median heuristic; or one that is given, the only one then.
    x : Rows
        The rows of X, coded.
    targets : array of shape (n, r)
        What X is to explain; each counts by the share of its variance.
    weights : array of shape (n,), optional
        The weights of the rows.
    max_rank : int
        The largest rank of a factor: that of the final fit, as rough kernels need more of
        it than smooth ones.
    random_state : int, default=0
        The seed of pivots and choices of rows.
    executor : Executor, optional
        How row blocks are worked on.
    """
    workers = executor_for(x, executor)
    every = [replace(family, nu=nu) for nu in _SMOOTHNESS] if family.free else [family]
    own: list[Family] = []
    if len(family.scales) > 1 and x.n >= _FEWEST:
        known = _distinct(x, targets, weights, random_state)
        own = list(workers.each(lambda smooth: _relevant(smooth, *known), every))
    rows = judged_rows(x, weights, random_state)
    if len(rows) < x.n:
        x, targets, weights = x.subset(rows), targets[rows], _of(weights, rows)

    def fitted(kernel: Kernel, most: int) -> KernelFit:
        options = {"max_rank": most, "random_state": random_state, "executor": _ALONE}
        return fit_kernel(kernel, x, targets, weights, **options)  # type: ignore[arg-type]

    def widened(smooth: Family) -> Kernel:
        """Return the kernel with the best multiple, which a few pivots can tell."""
        multiples = _MULTIPLES if smooth.free else (1.0,)
        tried = [fitted(smooth.at(multiple), _FEW) for multiple in multiples]
        return min(tried, key=lambda fit: fit.error).kernel

    kinds = [*workers.each(widened, every), *(smooth.at(1.0) for smooth in own)]
    fits = workers.each(lambda kernel: fitted(kernel, max_rank), kinds)
    told = zip(fits, [*[None] * len(every), *own], strict=True)
    found = [replace(fit, family=smooth) for fit, smooth in told]
    return sorted(found, key=lambda fit: fit.error)


def fit_kernel(
    kernel: Kernel,
    x: Rows,
    targets: Vector,
    weights: Vector | None = None,
    *,
    max_rank: int,
    ridges: Vector = _RIDGES,
    random_state: int = 0,
    executor: Executor | None = None,
) -> KernelFit:
    """Return the regression with a kernel, and the ridges that miss rows left out least.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    x, targets, weights, max_rank
        As in :func:`choose_kernels`.
    ridges : array of shape (l,), optional
        The ridges to try, in units of the mean diagonal of the kernel.
    random_state, executor
        As in :func:`choose_kernels`.
    """
    workers = executor_for(x, executor)
    goal, rng = checked_goal(x, _TOL, max_rank), np.random.default_rng(random_state)
    search = pivot_search(kernel, "kernel_x", x, weights, goal, rng=rng, executor=workers)
    # Pivots of a large table are those of a part of it: residuals judge them, not traces.
    low = rough_pivots(search).factor(x)
    regression = ridge_regression(low, targets, weights, executor=workers)
    rows = judged_rows(x, weights, random_state)
    z, T, w = x, targets, weights
    if len(rows) < x.n:
        z, T, w = x.subset(rows), targets[rows], _of(weights, rows)
    ridges = ridges * regression.unit
    errors = regression.errors(z, T, w, ridges, workers)
    variance = np.average((targets - regression.mean) ** 2, axis=0, weights=weights)
    least = errors.min(axis=0) / np.where(variance > 0, variance, 1.0)
    return KernelFit(kernel, regression, ridges[errors.argmin(axis=0)], float(least.mean()))


def averaged(left: Vector, weights: Vector | None = None) -> Vector:
    """Return the shares of the average of several fits that misses rows least, ``(k, r)``.

    They are zero or positive, and their sum is one.

    Parameters
    ----------
    left : array of shape (k, n, r)
        What each fit misses of each row that is left out.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    root = np.ones(left.shape[1]) if weights is None else np.sqrt(weights)
    shares = np.empty((len(left), left.shape[2]))
    for column in range(left.shape[2]):
        R = np.asarray(np.linalg.qr((left[:, :, column] * root).T, mode="r"))
        size = float(np.abs(R).max())
        # The multiple that this finds is the best one, whatever the last row weighs.
        A = np.vstack([R / size if size > 0 else R, np.ones(len(left))])
        found = nnls(A, np.append(np.zeros(len(R)), 1.0))[0]
        shares[:, column] = found / found.sum()
    return shares


def judged_rows(x: Rows, weights: Vector | None, random_state: int) -> NDArray[np.intp]:
    """Return the numbers of the rows by which kernels are judged.

    Parameters
    ----------
    x : Rows
        All rows.
    weights : array of shape (n,), optional
        Their weights; rows are drawn in proportion to them.
    random_state : int
        The seed.
    """
    return _drawn(x.n, weights, _JUDGED, np.random.default_rng(random_state))


def _drawn(
    n: int, weights: Vector | None, most: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    if n <= most:
        return np.arange(n)
    share = None if weights is None else weights / weights.sum()
    most = most if weights is None else min(most, int(np.count_nonzero(weights)))
    return np.sort(rng.choice(n, most, replace=False, p=share))


def _of(weights: Vector | None, rows: NDArray[np.intp]) -> Vector | None:
    return None if weights is None else weights[rows]


def _distinct(
    x: Rows, targets: Vector, weights: Vector | None, random_state: int
) -> tuple[Vector, Vector]:
    """Return distinct rows and their targets, in random order.

    Equal rows would pretend that there is no noise.
    """
    rng = np.random.default_rng(random_state)
    rows = _drawn(x.n, weights, _KNOWN, rng)
    X, U = to_numpy(x.take(rows)), targets[rows]
    _, first = np.unique(np.hstack([X, U]), axis=0, return_index=True)
    chosen = rng.permutation(first)
    return X[chosen], U[chosen]


def _relevant(family: Family, X: Vector, U: Vector) -> Family:
    """Return kernels with a scale for each column, by evidence, on rows in random order.

    First on a few rows, then on more. If these are not all rows they are patches of
    neighbours: as dense as all rows are, and scales may be too short for others to see.
    """
    scales, words = np.asarray(family.scales), family.of_words
    Z = X[:, family.numbers] / scales
    spread = np.maximum(U.std(axis=0), np.finfo(float).tiny)

    def search(rows: NDArray[np.intp], start: Vector | None, steps: int) -> Vector:
        near = None if words is None else to_numpy(kernel_matrix(words, X[rows], X[rows]))
        T = (U[rows] - U[rows].mean(axis=0)) / spread
        return most_likely(
            Z[rows], T, similarity=near, nu=family.nu, start=start, steps=steps
        )

    with one_blas_thread:
        theta = search(np.arange(min(len(Z), _FIRST)), None, 30)
        if len(Z) > _FIRST:
            theta = search(_patches(Z * np.exp(theta[:-1] / 2)), theta, 40)
    factors = np.exp(-theta[:-1] / 2)
    return replace(family, scales=tuple((scales * factors).tolist()), name="each")


def _patches(Z: Vector) -> NDArray[np.intp]:
    """Return the numbers of rows around the first ones; of all, if they are few."""
    if len(Z) <= _SECOND:
        return np.arange(len(Z))
    size = _SECOND // _PATCHES
    away = (((Z - centre) ** 2).sum(axis=1) for centre in Z[:_PATCHES])
    return np.unique([np.argpartition(each, size)[:size] for each in away])
