"""Length scales of kernels that act among nearest neighbours alone."""

from dataclasses import replace

import numpy as np
from scipy.spatial import KDTree

from jointdist.data.executor import Executor, executor_for, one_blas_thread
from jointdist.kernels.ard import with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.kernels.patch_evidence import fit_patch_scales
from jointdist.regression.kernel_choice import distinct_rows
from jointdist.regression.kriging import neighbour_unit
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.settings import SETTINGS

__all__ = ["local_scales"]


def local_scales(
    families: list[Family],
    data: RegressionData,
    *,
    patches: int,
    random_state: int = 0,
    executor: Executor | None = None,
) -> list[Family]:
    """Return kernels whose length scales explain patches of neighbours best.

    Parameters
    ----------
    families : list of Family
        The kernels, with length scales from which each search starts, and by which
        neighbours are found.
    data : RegressionData
        The rows and their targets.
    patches : int
        The number of patches.
    random_state : int, default=0
        The seed of the middle of each patch.
    executor : Executor, optional
        Searches for several kernels at a time.
    """
    X, U = distinct_rows(data, random_state)
    std = U.std(axis=0)
    T = (U - U.mean(axis=0)) / np.where(std > 0, std, 1.0)
    size = min(SETTINGS.neighbours, len(X))

    def found(family: Family) -> Family:
        unit = neighbour_unit(family, X)
        middle = X[:patches] / unit  # rows are in random order
        _, near = KDTree(X / unit).query(middle, size)
        rows = near.reshape(len(middle), size)
        theta = fit_patch_scales(family, X[rows], T[rows], steps=SETTINGS.patch_steps)
        return with_length_scales(family, theta)

    with one_blas_thread() as one, one:
        workers = executor_for(data.x, executor)
        return [
            replace(kind, nu=old.nu)
            for kind, old in zip(workers.each(found, families), families, strict=True)
        ]
