r"""Kernel ridge regression with several kernels, stacked by leave-one-out residuals."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.effort import EFFORTS, Effort
from jointdist.regression.kernel_choice import choose_kernels
from jointdist.regression.kernel_fit import fit_kernel
from jointdist.regression.kernel_smoother import KernelSmoother
from jointdist.regression.kriging import Kriging, kriging
from jointdist.regression.regression_data import RegressionData, validation_rows
from jointdist.regression.settings import SETTINGS
from jointdist.regression.stacking import stacking_weights

__all__ = ["KernelRegression", "kernel_regression"]


@dataclass(frozen=True, eq=False)
class KernelRegression:
    """A weighted average of regressions with several kernels.

    Attributes
    ----------
    parts : list of KernelSmoother or Kriging
        The regressions.
    shares : array of shape (k, r)
        Their weights in the average for each target; the sum is one.
    mean : array of shape (r,)
        The mean of each target.
    ends : array of shape (2, r)
        The least and the largest prediction: a quarter of the range beyond the targets.
    """

    parts: list[KernelSmoother | Kriging]
    shares: Vector
    mean: Vector
    ends: Vector

    @property
    def kernel(self) -> Kernel:
        """The kernel with the largest weight, averaged over the targets."""
        return self.parts[int(self.shares.mean(axis=1).argmax())].kernel

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the predictions at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            Runs the row blocks.
        """
        found = [part.predict(x, executor) for part in self.parts]
        average: Vector = np.einsum("kr,kqr->qr", self.shares, np.stack(found))
        return np.clip(average, *self.ends)


def kernel_regression(
    family: Family,
    data: RegressionData,
    *,
    max_rank: int,
    effort: Effort = EFFORTS["auto"],
    random_state: int = 0,
    executor: Executor | None = None,
) -> tuple[KernelRegression, Vector]:
    """Return the average of regressions with the best kernels, and its residuals.

    Parameters
    ----------
    family : Family
        The kernels of X by the median heuristic; or a single one that users give.
    data : RegressionData
        The rows and their targets.
    max_rank : int
        The largest rank of a factor of a kernel matrix.
    effort : Effort, optional
        What is tried.
    random_state : int, default=0
        The seed of pivots and choices of rows.
    executor : Executor, optional
        Runs the row blocks.

    Returns
    -------
    tuple of KernelRegression and array of shape (n, r)
        The regression, and its leave-one-out residuals.
    """
    fits = choose_kernels(
        family,
        data,
        max_rank=max_rank,
        effort=effort,
        random_state=random_state,
        executor=executor,
    )
    seen = data.take(validation_rows(data, random_state))
    residuals = [fit.residuals(seen, executor) for fit in fits]
    kept = _kept(residuals, seen, data.n)
    used, residuals = [fits[i] for i in kept], [residuals[i] for i in kept]
    if seen is not data:
        used = [
            fit_kernel(
                fit.kernel,
                data,
                max_rank=max_rank,
                random_state=random_state,
                executor=executor,
            )
            for fit in used
        ]
        residuals = [fit.residuals(data, executor) for fit in used]
    parts: list[KernelSmoother | Kriging] = [fit.smoother() for fit in used]
    families = [fit.family for fit in fits if fit.family is not None]
    rough = [kind for kind in families if kind.nu == SETTINGS.kriging_smoothness]
    if rough and SETTINGS.kriging_above_rows < data.n <= SETTINGS.kriging_most_rows:
        near, left = kriging(rough[0], data, random_state=random_state, executor=executor)
        parts, residuals = [*parts, near], [*residuals, left]
    shares = stacking_weights(np.stack(residuals), data.weights)
    average: Vector = np.einsum("kr,knr->nr", shares, np.stack(residuals))
    mean = np.average(data.targets, axis=0, weights=data.weights)
    low, high = data.targets.min(axis=0), data.targets.max(axis=0)
    beyond = SETTINGS.extrapolation * (high - low)
    ends = np.stack([low - beyond, high + beyond])
    return KernelRegression(parts, shares, mean, ends), average


def _kept(residuals: list[Vector], seen: RegressionData, n: int) -> Index:
    """Return which kernels have a large enough weight in the average of all."""
    shares = stacking_weights(np.stack(residuals), seen.weights).max(axis=1)
    if n > SETTINGS.kriging_most_rows:
        return np.array([shares.argmax()])  # a pass over many rows for each is too much
    again = seen.n < n
    least = SETTINGS.least_weight_to_refit if again else SETTINGS.least_weight
    return np.flatnonzero(shares >= least)
