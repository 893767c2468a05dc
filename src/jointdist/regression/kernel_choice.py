r"""The kernels of kernel ridge regression: three smoothnesses, each with two kinds of scales.

The candidates are a Gaussian and Matérn kernels of :math:`\nu` = 3/2 and 1/2, each with the
best multiple of the length scales of the median heuristic, and with one length scale for
each column that maximises Gaussian process evidence (ARD).
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for, one_blas_thread
from jointdist.data.phases import Begin, silent
from jointdist.kernels import Kernel
from jointdist.kernels.ard import fit_length_scales, with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.effort import EFFORTS, Effort
from jointdist.regression.kernel_fit import KernelFit, fit_kernel
from jointdist.regression.regression_data import RegressionData, draw_rows, validation_rows
from jointdist.regression.settings import SETTINGS

__all__ = ["choose_kernels", "distinct_rows"]


def choose_kernels(
    family: Family,
    data: RegressionData,
    *,
    max_rank: int,
    effort: Effort = EFFORTS["auto"],
    random_state: int = 0,
    executor: Executor | None = None,
    begin: Begin = silent,
) -> tuple[list[KernelFit], list[Family]]:
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
    tuple of list of KernelFit and list of Family
        The regressions, and the kernels with a length scale for each column.
    """
    workers = executor_for(data.x, executor)
    kinds = (
        [replace(family, nu=nu) for nu in SETTINGS.smoothness] if family.free else [family]
    )
    relevant: list[Family] = []
    if family.several and data.n >= SETTINGS.ard_least_rows:
        begin("length scales")
        relevant = _relevant(kinds, data, effort, random_state, workers)
    begin("kernels")
    n = data.n
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
        return min(tried, key=lambda fit: fit.error)

    trials = sorted(workers.each(widened, [*kinds, *relevant]), key=lambda fit: fit.error)

    def final(trial: KernelFit) -> KernelFit:
        return replace(fitted(trial.kernel, max_rank), trial=trial.error)

    chosen = trials[: effort.kernels[data.n > SETTINGS.few_rows]]
    if len(chosen) == 1 and n > data.n:  # it is fitted again to all rows, and not compared
        return chosen, relevant
    best = workers.each(final, chosen)
    return sorted(best, key=lambda fit: fit.error), relevant


def _relevant(
    kinds: list[Family],
    data: RegressionData,
    effort: Effort,
    random_state: int,
    workers: Executor,
) -> list[Family]:
    """Return kernels of each smoothness with a length scale for each column.

    Each is searched for on all rows, if these are few; else on some, and from there on more.
    """
    X, U = distinct_rows(data, random_state)
    search = effort.search[len(X) >= SETTINGS.few_rows]
    first, steps = search.rows[0], search.steps[0]
    whole = len(X) <= max(effort.search_whole, first)
    if whole:  # in an order of their own: searches that stop early hang on it by rounding
        first, steps = len(X), sum(search.steps)
        order = np.lexsort(np.hstack([X, U]).T)
        X, U = X[order], U[order]
    tried = list(workers.each(lambda kind: _searched(kind, X, U, first, steps), kinds))
    best = min(tried, key=lambda one: one.loss)

    def finished(one: _Searched) -> Family:
        if whole or not (search.every or one is best):
            return one.family
        return _refined(one, X, U, search.rows[1], search.steps[1])

    return list(workers.each(finished, tried))


def distinct_rows(data: RegressionData, random_state: int) -> tuple[Vector, Vector]:
    """Return distinct rows and their targets, in random order.

    Copies of rows would make evidence believe that there is no noise, and so would rows of a
    group that are nearly copies: of many groups there is one row each.

    Parameters
    ----------
    data : RegressionData
        The rows; of many, some are drawn.
    random_state : int
        The seed.
    """
    rng = np.random.default_rng(random_state)
    rows = draw_rows(data, SETTINGS.ard_pool_rows, rng)
    if data.folds is not None:
        rows = data.folds.one_of_each(rows, rng)
    X, U = to_numpy(data.x.take(rows)), data.targets[rows]
    _, first = np.unique(np.hstack([X, U]), axis=0, return_index=True)
    chosen = rng.permutation(first)
    return X[chosen], U[chosen]


class _Searched(NamedTuple):
    """A family with a length scale for each column, by evidence of some rows.

    Attributes
    ----------
    start : Family
        The family that the search began with.
    theta : array
        The parameters that were found.
    loss : float
        The negative logarithm of their evidence, up to constants.
    """

    start: Family
    theta: Vector
    loss: float

    @property
    def family(self) -> Family:
        """The family with these length scales."""
        return with_length_scales(self.start, self.theta)


def _searched(family: Family, X: Vector, U: Vector, rows: int, steps: int) -> _Searched:
    """Return the length scales with the largest evidence of the first rows."""
    return _search(family, X, U, np.arange(min(len(X), rows)), None, steps)


def _refined(found: _Searched, X: Vector, U: Vector, most: int, steps: int) -> Family:
    """Return the length scales with the largest evidence of more rows.

    If these are not all rows, those for a rough kernel are patches of neighbours: as dense as
    all rows are, and scales may be too short for others to see.
    """
    if not steps:
        return found.family
    smooth, rows = found.start.nu == math.inf, np.arange(min(most, len(X)))
    if not smooth:
        rows = _patches(_scaled(found.start, X, found.theta), most)
    return _search(found.start, X, U, rows, found.theta, steps).family


def _search(  # noqa: PLR0917
    family: Family, X: Vector, U: Vector, rows: Index, start: Vector | None, steps: int
) -> _Searched:
    std = np.maximum(U.std(axis=0), np.finfo(float).tiny)
    T = (U[rows] - U[rows].mean(axis=0)) / std
    with one_blas_thread() as one, one:
        theta, loss = fit_length_scales(family, X[rows], T, start=start, steps=steps)
    return _Searched(family, theta, loss)


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
