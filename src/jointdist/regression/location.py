"""The location of outcomes given x: regressors with out-of-fold forecasts, stacked."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist._rules import require
from jointdist.data.executor import Executor, executor_for
from jointdist.data.phases import Begin, silent
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.boosted_location import boosted_location
from jointdist.regression.effort import EFFORTS, Effort
from jointdist.regression.fitted_location import (
    ForestLocation,
    KernelLocation,
    RegressorLocation,
    StackedLocation,
)
from jointdist.regression.kernel_ridge import KernelRegression, kernel_regression
from jointdist.regression.out_of_fold import out_of_fold, seeded
from jointdist.regression.outliers import fenced, has_outliers
from jointdist.regression.protocols import Location
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.settings import SETTINGS
from jointdist.regression.stacking import stacking_weights
from jointdist.regression.training import Training

__all__ = ["GrownForest", "fit_location", "require_regressor"]


class GrownForest(NamedTuple):
    """A forest that was grown before, as a regressor of the location.

    Attributes
    ----------
    location : ForestLocation
        The forest.
    forecasts : array of shape (n, r)
        Its out-of-fold forecasts.
    leaf : int
        The fewest rows of a leaf, which were the best out of fold.
    """

    location: ForestLocation
    forecasts: Vector
    leaf: int


def require_regressor(where: str, regressor: Any) -> None:
    """Raise unless an argument names regressors or consists of them.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    regressor : "auto", "kernel", estimator, or sequence of these
        The argument.
    """
    several = isinstance(regressor, list | tuple)
    names = {"kernel"} if several else {"auto", "kernel"}
    rule = '"auto", "kernel", a regressor, or a sequence of "kernel" and regressors'
    good = bool(regressor) if several else True
    for one in regressor if several else [regressor]:
        named = isinstance(one, str) and one in names
        good &= named or (hasattr(one, "fit") and hasattr(one, "predict"))
        good &= not isinstance(one, type) and not hasattr(one, "predict_proba")
    require(good, where, "regressor", rule, regressor)


def fit_location(
    regressor: Any,
    data: Training,
    family: Family,
    *,
    where: str,
    effort: Effort = EFFORTS["auto"],
    executor: Executor | None = None,
    forest: Callable[[], GrownForest] | None = None,
    begin: Begin = silent,
) -> tuple[StackedLocation, Vector]:
    """Return the average of regressors of the location, and its out-of-fold residuals.

    Gross outliers do not decide it: outcomes are moved to fences; and if residuals are beyond
    theirs, all is fitted again to the forecasts plus residuals that are moved.

    Parameters
    ----------
    regressor : "auto", "kernel", estimator, or sequence of these
        The regressors; ``"auto"`` are kernel regression and gradient boosting.
    data : Training
        The rows and the folds.
    family : Family
        The kernels of X.
    where : str
        The estimator, for messages.
    effort : Effort, optional
        What is tried.
    executor : Executor, optional
        Runs the row blocks.
    forest : callable, optional
        Returns one more regressor, always the same.
    begin : callable, optional
        Called with the name of each phase when it begins.

    Returns
    -------
    tuple of StackedLocation and array of shape (n, r)
        The average, and the outcomes minus its forecasts of rows held out; NaN for rows
        that never are.
    """
    own = isinstance(regressor, str)
    y, w = (
        fenced(data.outcomes, SETTINGS.outcome_fence, data.sample.weights),
        data.sample.weights,
    )

    def fitted(outcomes: Vector) -> tuple[StackedLocation, Vector]:
        known = data, outcomes, family, effort, executor, begin
        fits = _fits(regressor, *known, where=where, forest=forest)
        parts, forecasts = zip(*fits, strict=True)
        residuals = outcomes - np.stack(forecasts)
        weights = stacking_weights(residuals, w)
        average: Vector = np.einsum("kr,knr->nr", weights, residuals)
        return StackedLocation(list(parts), weights), outcomes - average

    found, forecasts = fitted(y if own else data.outcomes)
    moved = (y != data.outcomes).any(axis=1)
    if own and moved.any():
        plain = fitted(data.outcomes)
        if _explains(data.outcomes, plain[1], forecasts, moved):
            found, forecasts = plain
    left = data.outcomes - forecasts
    if own and has_outliers(left, SETTINGS.residual_fence, w):
        found, forecasts = fitted(forecasts + fenced(left, SETTINGS.moved_to, w))
        left = data.outcomes - forecasts
    return found, left


def _explains(y: Vector, plain: Vector, other: Vector, moved: NDArray[np.bool_]) -> bool:
    """Tell whether forecasts explain outcomes that seemed to be outliers.

    They do if errors there are much smaller than those of other forecasts, which know these
    outcomes as moved to a fence, and errors at all other rows are hardly larger.
    """
    known = np.isfinite(plain).all(axis=1) & np.isfinite(other).all(axis=1)
    errors = [np.abs(y - found).sum(axis=1) for found in (plain, other)]

    def ratio(rows: NDArray[np.bool_]) -> float:
        if not (rows & known).any():
            return 0.0
        new, old = (float(np.median(each[rows & known])) for each in errors)
        return new / old if old > 0 else float(new > 0)

    there = bool((moved & known).any()) and ratio(moved) < SETTINGS.explained_outliers
    return there and ratio(~moved) < 1 / SETTINGS.explained_outliers


def _fits(  # noqa: PLR0917
    regressor: Any,
    data: Training,
    outcomes: Vector,
    family: Family,
    effort: Effort,
    executor: Executor | None,
    begin: Begin,
    *,
    where: str,
    forest: Callable[[], GrownForest] | None,
) -> list[tuple[Location, Vector]]:
    """Return the fitted regressors, with their out-of-fold forecasts."""
    named = regressor if isinstance(regressor, list | tuple) else [regressor]

    def fit(one: Any) -> tuple[Location, Vector]:
        if isinstance(one, str):
            return _kernels(data, outcomes, family, effort, executor, begin)
        begin("regressors")
        return _as_given(one, data, where)

    jobs: list[Callable[[], Any]] = [partial(fit, one) for one in named]
    jobs += [] if forest is None else [forest]
    done: list[Any]
    if (
        forest is not None and data.sample.n <= SETTINGS.few_rows
    ):  # cores are left to others
        workers = executor_for(data.sample.x, executor)
        done = list(workers.each(lambda job: job(), jobs))
    else:  # one after the other: users' regressors may not be thread-safe
        done = [job() for job in jobs]
    fits: list[tuple[Location, Vector]] = done[: len(named)]
    grown: GrownForest | None = None if forest is None else done[-1]
    auto = isinstance(regressor, str) and regressor == "auto"
    if auto and data.sample.n >= SETTINGS.boosting_least_rows:
        leaf = SETTINGS.boosting_leaf_rows if grown is None else grown.leaf
        known = [forecasts for _, forecasts in fits]
        begin("boosting")
        found = boosted_location(
            data, outcomes, family, effort, where, executor, leaf, known
        )
        fits += [] if found is None else [found]
    if grown is not None:
        fits.append((grown.location, grown.forecasts))
    return fits


def _kernels(  # noqa: PLR0917
    data: Training,
    outcomes: Vector,
    family: Family,
    effort: Effort,
    executor: Executor | None,
    begin: Begin,
) -> tuple[Location, Vector]:
    """Return kernel regression, with leave-one-out forecasts by its closed form.

    If rows depend on each other, forecasts are those of regressions without each fold, whose
    kernels and ridges are chosen by folds of the other rows.
    """
    sample = data.sample
    few = sample.n <= SETTINGS.few_rows
    affordable = int(np.sqrt(SETTINGS.most_work / sample.n))
    every = RegressionData(sample.x, outcomes, sample.weights, sample.folds)

    def fitted(
        rows: RegressionData, begin: Begin = silent
    ) -> tuple[KernelRegression, Vector]:
        return kernel_regression(
            family,
            rows,
            max_rank=effort.small_rank if few else min(SETTINGS.max_rank, affordable),
            effort=effort,
            random_state=data.seed,
            executor=executor,
            begin=begin,
        )

    model, residuals = fitted(every.alone(), begin)
    forecasts = every.targets - residuals
    if sample.folds is not None:
        forecasts[:] = np.nan
        begin("kernels without each fold")
        for split in data.splits:
            fit, _ = fitted(every.take(split.fit).alone())
            forecasts[split.out] = fit.predict(sample.x.subset(split.out), executor)
    return KernelLocation(model), forecasts


def _as_given(regressor: Any, data: Training, where: str) -> tuple[Location, Vector]:
    """Return a regressor of rows as users give them, with out-of-fold forecasts."""
    rows = data.table, data.given_outcomes, data.given.weights
    one, splits, again = seeded(regressor, data.seed), data.splits_given, not data.in_turn
    models, forecasts = out_of_fold(one, *rows, splits=splits, where=where, again=again)
    return RegressorLocation(models), forecasts[data.settled.rows]
