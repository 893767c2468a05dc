r"""Kernel ridge regression with several kernels, stacked by leave-one-out residuals."""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.executor import Executor
from jointdist.data.phases import Begin, silent
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.effort import EFFORTS, Effort
from jointdist.regression.kernel_choice import choose_kernels
from jointdist.regression.kernel_fit import KernelFit, fit_kernel
from jointdist.regression.kernel_smoother import KernelSmoother
from jointdist.regression.kriging import Kriging, kriging
from jointdist.regression.local_scales import local_scales
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
    begin: Begin = silent,
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
    begin : callable, optional
        Called with the name of each phase when it begins.

    Returns
    -------
    tuple of KernelRegression and array of shape (n, r)
        The regression, and its leave-one-out residuals.
    """
    fits, relevant = choose_kernels(
        family,
        data,
        max_rank=max_rank,
        effort=effort,
        random_state=random_state,
        executor=executor,
        begin=begin,
    )
    seen = data.take(validation_rows(data, random_state))
    residuals = [fit.residuals(seen, executor) for fit in fits]
    kept = _kept(residuals, seen, data.n)

    def again(fit: KernelFit, rank: int) -> KernelFit:
        return fit_kernel(
            fit.kernel, data, max_rank=rank, random_state=random_state, executor=executor
        )

    used = [fits[i] for i in kept]
    if seen is not data:
        used = [again(fit, max_rank) for fit in used]
    rank = _larger_rank(fits[kept[0]], data.n, max_rank, effort)
    if rank > max_rank:
        used = [min(used[0], again(used[0], rank), key=lambda fit: fit.error), *used[1:]]
    residuals = [fit.residuals(data, executor) for fit in used]
    parts: list[KernelSmoother | Kriging] = [fit.smoother() for fit in used]
    if relevant and SETTINGS.kriging_above_rows < data.n <= SETTINGS.kriging_most_rows:
        begin("nearest neighbours")
        rough = [kind for kind in relevant if kind.nu in SETTINGS.kriging_smoothness]
        kinds = relevant
        if rough and effort.patches:
            how = {"patches": effort.patches, "random_state": random_state}
            kinds = [*kinds, *local_scales(rough, data, executor=executor, **how)]
        # Kernels of categories alone have no smoothness.
        for nu in SETTINGS.kriging_smoothness if rough else (relevant[0].nu,):
            same = [replace(kind, nu=nu) for kind in kinds]
            near, left = kriging(same, data, random_state=random_state, executor=executor)
            parts, residuals = [*parts, near], [*residuals, left]
    shares = stacking_weights(np.stack(residuals), data.weights)
    average: Vector = np.einsum("kr,knr->nr", shares, np.stack(residuals))
    mean = np.average(data.targets, axis=0, weights=data.weights)
    low, high = data.targets.min(axis=0), data.targets.max(axis=0)
    beyond = SETTINGS.extrapolation * (high - low)
    ends = np.stack([low - beyond, high + beyond])
    return KernelRegression(parts, shares, mean, ends), average


def _larger_rank(fit: KernelFit, n: int, rank: int, effort: Effort) -> int:
    """Return a larger rank of the best regression, if the last larger one brought much."""
    if fit.trial is None or fit.error > (1 - SETTINGS.rank_gain) * fit.trial:
        return rank
    affordable = int(np.sqrt(SETTINGS.rank_work / n))
    return max(rank, min(effort.largest_rank, affordable, n // 2))


def _kept(residuals: list[Vector], seen: RegressionData, n: int) -> Index:
    """Return which kernels have a large enough weight in the average of all."""
    shares = stacking_weights(np.stack(residuals), seen.weights).max(axis=1)
    if n > SETTINGS.kriging_most_rows:
        return np.array([shares.argmax()])  # a pass over many rows for each is too much
    again = seen.n < n
    least = SETTINGS.least_weight_to_refit if again else SETTINGS.least_weight
    return np.flatnonzero(shares >= least)
