r"""Kernel ridge regression with one kernel: ridges by closed-form leave-one-out errors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector, array_namespace, like
from jointdist.data.executor import Executor, executor_for
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import checked_goal, pivot_search
from jointdist.lowrank.fold_ridge import FoldRidge, fold_regression
from jointdist.lowrank.randomized import rough_pivots
from jointdist.lowrank.ridge import RidgeRegression, ridge_regression
from jointdist.regression.kernel_smoother import KernelSmoother
from jointdist.regression.regression_data import RegressionData, validation_rows
from jointdist.regression.settings import SETTINGS

__all__ = ["KernelFit", "fit_kernel"]


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A kernel ridge regression of several targets, while it is compared with others.

    What is kept of it is its :meth:`smoother`.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    landmarks : Array of shape (m, d)
        The landmarks of its features.
    regression : RidgeRegression
        The regression, for any ridge.
    ridge : array of shape (r,)
        The ridge of each target with the least leave-one-out error.
    error : float
        The mean squared leave-one-out residual, as a share of the variance of a target,
        averaged over the targets.
    trial : float, optional
        The same of a regression with fewer landmarks, if there was one.
    by_folds : FoldRidge, optional
        The regressions without each fold, if rows are not left out one by one.
    """

    kernel: Kernel
    landmarks: Array
    regression: RidgeRegression
    ridge: Vector
    error: float
    trial: float | None = None
    by_folds: FoldRidge | None = None

    def smoother(self) -> KernelSmoother:
        """Return the regression as a small value, which owns its arrays."""
        constant, coefficients = self.regression.expansion(self.ridge)
        xp = array_namespace(self.landmarks)
        return KernelSmoother(
            self.kernel,
            xp.asarray(self.landmarks, copy=True),
            like(coefficients, self.landmarks),
            constant,
        )

    def residuals(self, data: RegressionData, executor: Executor | None = None) -> Vector:
        """Return the leave-one-out residuals of rows that it was fitted to, ``(k, r)``.

        With folds, the out-of-fold ones; NaN where a row is never held out.

        Parameters
        ----------
        data : RegressionData
            The rows.
        executor : Executor, optional
            Runs the row blocks.
        """
        if self.by_folds is not None and data.folds is not None:
            ridge = self.ridge[None]
            found = self.by_folds.predict(data.x, data.folds, ridge, executor)
            return np.asarray(data.targets - found[:, 0])
        return self.regression.residuals(
            data.x, data.targets, data.weights, self.ridge, executor
        )


def fit_kernel(
    kernel: Kernel,
    data: RegressionData,
    *,
    max_rank: int,
    ridges: Sequence[float] = SETTINGS.ridges,
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
    ridges : sequence of float, optional
        The ridges to try, in units of the mean diagonal of the kernel.
    random_state : int, default=0
        The seed of pivots and choices of rows.
    executor : Executor, optional
        Runs the row blocks.
    """
    x, workers = data.x, executor_for(data.x, executor)
    goal = checked_goal(x, SETTINGS.rank_tolerance, max_rank)
    rng = np.random.default_rng(random_state)
    search = pivot_search(
        kernel, "kernel_x", x, data.weights, goal, rng=rng, executor=workers
    )
    # Pivots of a large table are those of a part of it: residuals judge them, not traces.
    low = rough_pivots(search).factor(x)
    regression = ridge_regression(low, data.targets, data.weights, executor=workers)
    held = data.take(validation_rows(data, random_state))
    tried = np.asarray(ridges) * regression.unit
    by_folds: FoldRidge | None = None
    if data.folds is None or held.folds is None:
        errors = regression.errors(held.x, held.targets, held.weights, tried, workers)
    else:
        rows = data.x, data.targets, data.weights, data.folds
        by_folds = fold_regression(regression, *rows, executor=workers)
        rows = held.x, held.targets, held.weights, held.folds
        errors = by_folds.errors(*rows, ridges=tried, executor=workers)
    variance = np.average(
        (data.targets - regression.mean) ** 2, axis=0, weights=data.weights
    )
    least = errors.min(axis=0) / np.where(variance > 0, variance, 1.0)
    ridge, error = tried[errors.argmin(axis=0)], float(least.mean())
    return KernelFit(kernel, low.map.landmarks, regression, ridge, error, by_folds=by_folds)
