r"""The kernels of kernel ridge regression: three smoothnesses, each with two kinds of scales.

The candidates are a Gaussian and Matérn kernels of :math:`\nu` = 3/2 and 1/2, each with the
best multiple of the length scales of the median heuristic, and with one length scale for
each column that maximises Gaussian process evidence (ARD).
"""

from dataclasses import replace

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for, one_blas_thread
from jointdist.kernels import Kernel
from jointdist.kernels.ard import fit_length_scales, with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.effort import Effort
from jointdist.regression.kernel_fit import KernelFit, fit_kernel
from jointdist.regression.regression_data import RegressionData, draw_rows, validation_rows
from jointdist.regression.settings import SETTINGS

__all__ = ["choose_kernels"]


def choose_kernels(
    family: Family,
    data: RegressionData,
    *,
    max_rank: int,
    effort: Effort,
    random_state: int = 0,
    executor: Executor | None = None,
) -> list[KernelFit]:
    """Return regressions with the best kernel of each kind, the best of all first.

    A kind is a smoothness, with one length scale for each column or not. Of more than 4,096
    rows a random choice of so many is regressed on. With a low rank all kinds are compared,
    with the full one the best of them.

    Parameters
    ----------
    family : Family
        The kernels of X by the median heuristic; or a single one that users give.
    data : RegressionData
        The rows and their targets; each target counts by the share of its variance that is
        explained.
    max_rank : int
        The largest rank of a factor: that of the final fit, as rough kernels need more of
        it than smooth ones.
    effort : Effort
        What is tried.
    random_state : int, default=0
        The seed of pivots and choices of rows.
    executor : Executor, optional
        Runs the row blocks.
    """
    workers = executor_for(data.x, executor)
    kinds = (
        [replace(family, nu=nu) for nu in SETTINGS.smoothness] if family.free else [family]
    )
    relevant: list[Family] = []
    if family.several and data.n >= SETTINGS.ard_least_rows:
        relevant = _relevant(kinds, data, effort, random_state, workers)
    data = data.take(validation_rows(data, random_state))

    def fitted(kernel: Kernel, rank: int) -> KernelFit:
        alone = Executor(workers=1)  # candidates are fitted next to each other
        return fit_kernel(
            kernel, data, max_rank=rank, random_state=random_state, executor=alone
        )

    def widened(kind: Family) -> KernelFit:
        """Return the fit with the best multiple, which a few pivots can tell."""
        multiples = effort.multiples if kind.name != "each" else effort.ard_multiples
        multiples = multiples if kind.free or kind.name == "each" else (1.0,)
        few = data.n <= SETTINGS.few_rows
        rank = SETTINGS.small_trial_rank if few else SETTINGS.trial_rank
        tried = [fitted(kind.at(multiple), rank) for multiple in multiples]
        own = kind if kind.name == "each" else None
        return replace(min(tried, key=lambda fit: fit.error), family=own)

    trials = sorted(workers.each(widened, [*kinds, *relevant]), key=lambda fit: fit.error)
    few = trials if data.n <= effort.ard_of_each else trials[: effort.kernels]

    def final(trial: KernelFit) -> KernelFit:
        return replace(fitted(trial.kernel, max_rank), family=trial.family)

    return sorted(workers.each(final, few), key=lambda fit: fit.error)


def _relevant(
    kinds: list[Family],
    data: RegressionData,
    effort: Effort,
    random_state: int,
    workers: Executor,
) -> list[Family]:
    """Return kernels of each smoothness with a length scale for each column.

    Of many rows all have the scales of one search: others differ little from these.
    """
    X, U = _distinct_rows(data, random_state)
    if len(X) <= effort.ard_of_each or len(kinds) == 1:
        return list(workers.each(lambda kind: _ard(kind, X, U, effort), kinds))
    middle = next(kind for kind in kinds if kind.nu == SETTINGS.ard_smoothness)
    found = _ard(middle, X, U, effort)
    return [replace(found, nu=kind.nu) for kind in kinds]


def _distinct_rows(data: RegressionData, random_state: int) -> tuple[Vector, Vector]:
    """Return distinct rows and their targets, in random order.

    Copies of rows would make evidence believe that there is no noise, and so would rows of a
    group that are nearly copies: of many groups there is one row each.
    """
    rng = np.random.default_rng(random_state)
    rows = draw_rows(data, SETTINGS.ard_pool_rows, rng)
    if data.folds is not None:
        rows = data.folds.one_of_each(rows, rng)
    X, U = to_numpy(data.x.take(rows)), data.targets[rows]
    _, first = np.unique(np.hstack([X, U]), axis=0, return_index=True)
    chosen = rng.permutation(first)
    return X[chosen], U[chosen]


def _ard(family: Family, X: Vector, U: Vector, effort: Effort) -> Family:
    """Return kernels with a length scale for each column, from rows in random order.

    First on a few rows, then on more. If these are not all rows they are patches of
    neighbours: as dense as all rows are, and scales may be too short for others to see.
    """
    std = np.maximum(U.std(axis=0), np.finfo(float).tiny)

    def search(rows: Index, start: Vector | None, steps: int) -> Vector:
        T = (U[rows] - U[rows].mean(axis=0)) / std
        return fit_length_scales(family, X[rows], T, start=start, steps=steps)

    (first, second), steps = effort.ard_rows, effort.ard_steps
    with one_blas_thread() as one, one:
        few = np.arange(min(len(X), first))
        theta = search(few, None, steps[0])
        if len(X) > len(few) and steps[1]:
            theta = search(_patches(_scaled(family, X, theta), second), theta, steps[1])
    return with_length_scales(family, theta)


def _scaled(family: Family, X: Vector, theta: Vector) -> Vector:
    """Return rows in units of the length scales; categories as indicators."""
    p = len(family.scales)
    parts = [X[:, family.numbers] / np.asarray(family.scales) * np.exp(theta[:p] / 2)]
    each = zip(family.factors, family.category_scales, theta[p:-1], strict=False)
    for column, scale, power in each:
        levels = np.unique(X[:, column])
        parts.append((X[:, column][:, None] == levels) * np.sqrt(np.exp(power) / scale))
    return np.hstack(parts)


def _patches(Z: Vector, rows: int) -> Index:
    """Return the indices of rows around the first ones; of all rows, if they are few."""
    patches = SETTINGS.ard_patches
    if len(Z) <= rows:
        return np.arange(len(Z))
    size = rows // patches
    distances = (((Z - centre) ** 2).sum(axis=1) for centre in Z[:patches])
    return np.unique([np.argpartition(each, size)[:size] for each in distances])
