r"""Kernel ridge regression with one kernel: ridges by closed-form leave-one-out errors."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.factor import checked_goal, pivot_search
from jointdist.lowrank.randomized import rough_pivots
from jointdist.lowrank.ridge import RidgeRegression, ridge_regression

__all__ = ["KernelFit", "RegressionData", "draw_rows", "fit_kernel", "validation_rows"]

# From interpolation, up to rounding, to nearly the mean, in half decades.
_RIDGES = 10.0 ** np.arange(-12, 1.1, 0.5)
# The share of the trace of the kernel matrix that its factor may lose. Near rounding, as
# outcomes may have no noise; the largest rank usually stops the factorisation before.
_TOL = 1e-10
# Rows on which leave-one-out errors are compared. A power of two: their relative standard
# error is then about 2 %, and candidates are compared on the same rows.
_VALIDATED = 4096


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Rows of X with the targets that they are to explain.

    Attributes
    ----------
    x : Rows
        The rows of X, encoded.
    targets : array of shape (n, r)
        The targets.
    weights : array of shape (n,), optional
        The weights of the rows.
    """

    x: Rows
    targets: Vector
    weights: Vector | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.x.n

    def take(self, rows: Index) -> "RegressionData":
        """Return the rows of the given indices; the data itself if these are all.

        Parameters
        ----------
        rows : array of int
            Distinct indices of rows.
        """
        if len(rows) == self.n:
            return self
        weights = None if self.weights is None else self.weights[rows]
        return RegressionData(self.x.subset(rows), self.targets[rows], weights)


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A kernel ridge regression of several targets.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    regression : RidgeRegression
        The regression, for any ridge.
    ridge : array of shape (r,)
        The ridge of each target with the least leave-one-out error.
    error : float
        The mean squared leave-one-out residual, as a share of the variance of a target,
        averaged over the targets.
    family : Family, optional
        The family of the kernel, if it has a length scale for each column.
    """

    kernel: Kernel
    regression: RidgeRegression
    ridge: Vector
    error: float
    family: Family | None = None

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the predictions at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            How row blocks are worked on.
        """
        return self.regression.predict(x, self.ridge, executor)

    def residuals(self, data: RegressionData, executor: Executor | None = None) -> Vector:
        """Return the leave-one-out residuals of rows that it was fitted to, ``(k, r)``.

        Parameters
        ----------
        data : RegressionData
            The rows.
        executor : Executor, optional
            How row blocks are worked on.
        """
        return self.regression.residuals(
            data.x, data.targets, data.weights, self.ridge, executor
        )


def fit_kernel(
    kernel: Kernel,
    data: RegressionData,
    *,
    max_rank: int,
    ridges: Vector = _RIDGES,
    random_state: int = 0,
    executor: Executor | None = None,
) -> KernelFit:
    """Return the ridge regression with a kernel, with the best ridge of each target.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    data : RegressionData
        The rows and their targets.
    max_rank : int
        The largest rank of the factor of the kernel matrix.
    ridges : array of shape (l,), optional
        The ridges to try, in units of the mean diagonal of the kernel.
    random_state : int, default=0
        The seed of pivots and choices of rows.
    executor : Executor, optional
        How row blocks are worked on.
    """
    x, workers = data.x, executor_for(data.x, executor)
    goal, rng = checked_goal(x, _TOL, max_rank), np.random.default_rng(random_state)
    search = pivot_search(
        kernel, "kernel_x", x, data.weights, goal, rng=rng, executor=workers
    )
    # Pivots of a large table are those of a part of it: residuals judge them, not traces.
    low = rough_pivots(search).factor(x)
    regression = ridge_regression(low, data.targets, data.weights, executor=workers)
    held = data.take(validation_rows(data, random_state))
    ridges = ridges * regression.unit
    errors = regression.errors(held.x, held.targets, held.weights, ridges, workers)
    variance = np.average(
        (data.targets - regression.mean) ** 2, axis=0, weights=data.weights
    )
    least = errors.min(axis=0) / np.where(variance > 0, variance, 1.0)
    return KernelFit(kernel, regression, ridges[errors.argmin(axis=0)], float(least.mean()))


def validation_rows(data: RegressionData, random_state: int) -> Index:
    """Return the indices of up to 4,096 rows on which leave-one-out errors are compared.

    Parameters
    ----------
    data : RegressionData
        All rows; many are drawn in proportion to their weights.
    random_state : int
        The seed.
    """
    return draw_rows(data, _VALIDATED, np.random.default_rng(random_state))


def draw_rows(data: RegressionData, most: int, rng: np.random.Generator) -> Index:
    """Return the sorted indices of at most so many rows, drawn in proportion to weights.

    Parameters
    ----------
    data : RegressionData
        All rows.
    most : int
        How many there may be.
    rng : Generator
        Draws them, if not all are taken.
    """
    if data.n <= most:
        return np.arange(data.n)
    weights = data.weights
    share = None if weights is None else weights / weights.sum()
    most = most if weights is None else min(most, int(np.count_nonzero(weights)))
    return np.sort(rng.choice(data.n, most, replace=False, p=share))
