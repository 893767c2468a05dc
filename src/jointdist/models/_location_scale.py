"""The fit of a location-scale model: the location, then the scale, then the residuals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.folds import Folds
from jointdist.data.phases import Begin, silent
from jointdist.data.table import Rows, moved
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.outcome_range import OutcomeRange
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import learn_seen, range_of
from jointdist.distributions.support_points import most_values
from jointdist.errors import warn_user
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.lowrank.novelty import NoveltyDetector, novelty_detector
from jointdist.lowrank.support_sums import sampled_pairs
from jointdist.models.event_rows import WeightedRows
from jointdist.models.jdl import JointDistribution
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.marginal_points import marginal_points
from jointdist.regression.effort import EFFORTS, Effort
from jointdist.regression.fitted_scale import constant_scale
from jointdist.regression.fitted_trend import LinearTrend
from jointdist.regression.leakage import hide_residuals
from jointdist.regression.location import GrownForest, fit_location
from jointdist.regression.outliers import fenced
from jointdist.regression.protocols import Scale
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.scale import fit_scale, forecast_kernel
from jointdist.regression.settings import SETTINGS as REGRESSION
from jointdist.regression.training import Training
from jointdist.regression.trend import fit_trend

__all__ = [
    "HeldLocationScale",
    "LocationScaleSpec",
    "about_rows",
    "fit_alone",
    "fit_by",
    "fit_location_scale",
    "is_discrete",
    "warn_if_unused",
]


@dataclass(frozen=True, eq=False)
class LocationScaleSpec:
    """How a location-scale model is learned.

    Attributes
    ----------
    where : str
        The estimator, for messages.
    regressor : "auto", "kernel", estimator, or sequence of these
        The regressors of the location.
    kernel_x : Kernel or "auto"
        The kernel of X.
    constant : bool
        Whether the scale is a constant.
    estimator : callable
        From a kernel of the location to an unfitted estimator of the distribution of
        residuals.
    executor : Executor, optional
        Runs the row blocks.
    effort : Effort, optional
        How much work it is worth.
    range : OutcomeRange, optional
        Where outcomes can be.
    begin : callable, optional
        Called with the name of each phase when it begins.
    """

    where: str
    regressor: Any
    kernel_x: Kernel | str
    constant: bool
    estimator: Callable[[Kernel], JointDistribution]
    executor: Executor | None
    effort: Effort = EFFORTS["auto"]
    range: OutcomeRange | None = None
    begin: Begin = silent


@dataclass(frozen=True, slots=True, eq=False)
class HeldLocationScale:
    """Out-of-fold distributions of a location-scale model.

    Attributes
    ----------
    rows : array of int, of shape (h,)
        The rows that they are known for.
    location, scale : array of shape (h, r)
        The locations and scales.
    seen : Rows
        The locations, as the distribution of residuals was learned from them.
    """

    rows: Index
    location: Vector
    scale: Vector
    seen: Rows

    def of_y(self, model: LocationScaleModel, some: Index) -> Distributions:
        """Return the distributions of some of these rows.

        Parameters
        ----------
        model : LocationScaleModel
            The fitted model.
        some : array of int
            Which of the rows.
        """
        residuals = model.residuals._fitted.of_y(self.seen.subset(some)).normalised  # noqa: SLF001
        found = LocationScale(
            residuals=residuals,
            conditions=residuals.conditions,
            location=self.location[some],
            scale=self.scale[some],
            encoding=model.encodings[1],
            unit=model.marginal.units(),
        )
        return found if model.range is None else model.range.of(found)


def fit_location_scale(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    spec: LocationScaleSpec,
    forest: Callable[[], GrownForest] | None = None,
) -> tuple[LocationScaleModel, HeldLocationScale]:
    """Learn the location, then the scale, then the distribution of the residuals.

    Parameters
    ----------
    data : Training
        The rows and the folds.
    design : Design
        What became of the columns of X.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    spec : LocationScaleSpec
        How to learn.
    forest : callable, optional
        Returns one more regressor of the location, always the same.
    """
    x, w, rng = data.sample.x, data.sample.weights, np.random.default_rng(data.seed)
    family = family_of("x", spec.kernel_x, encodings[0], x, weights=w, rng=rng)
    location, left = fit_location(
        spec.regressor,
        data,
        family,
        where=spec.where,
        effort=spec.effort,
        executor=spec.executor,
        forest=forest,
        begin=spec.begin,
    )
    spec.begin("scale")
    detector = novelty_detector(
        family.at(1.0),
        x,
        data.sample.weights,
        random_state=data.seed,
        executor=spec.executor,
    )
    trend = None
    if isinstance(spec.regressor, str):
        trend, left = _with_trend(family, data, detector, left, spec)
    held, residuals, outcomes = _held_out(data, left)
    forecasts, w = outcomes - residuals, held.weights
    p = Rows(hide_residuals(forecasts, residuals, rng, w), spec.where, "Y")
    scale, values = _fit_scale(family.at(1.0), held, p, residuals, data.seed, spec)
    spec.begin("residuals")
    dist = _fit_residuals(held, p, residuals, values, spec)
    mean = np.average(forecasts, axis=0, weights=w)
    usual = fenced(residuals, REGRESSION.residual_fence, w)
    model = LocationScaleModel(
        location,
        scale,
        dist,
        explained=np.average((forecasts - mean) ** 2, axis=0, weights=w),
        unexplained=np.average(usual**2, axis=0, weights=w),
        encodings=encodings,
        executor=spec.executor,
        made=None if design.is_plain else design,
        trend=trend,
        range=spec.range,
        **about_rows(data, design, encodings, detector, spec.executor),
    )
    rows = np.flatnonzero(np.isfinite(left).all(axis=1))
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    found = HeldLocationScale(rows[known], forecasts[known], values[known], p.subset(known))
    return model, found


def fit_alone(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    spec: LocationScaleSpec,
) -> LocationScaleModel:
    """Return a location-scale model that is no member of a pool.

    Parameters
    ----------
    data, design, encodings, spec
        As in :func:`fit_location_scale`.
    """
    return fit_location_scale(data, design, encodings, spec)[0]


def about_rows(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    detector: NoveltyDetector,
    executor: Executor | None,
) -> dict[str, Any]:
    """Return what a model keeps of its rows: where they are, and their outcomes.

    Parameters
    ----------
    data : Training
        The rows.
    design : Design
        What became of the columns of X.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    detector : NoveltyDetector
        Tells rows that are out of distribution.
    executor : Executor, optional
        Runs the row blocks.
    """
    x, workers = data.sample.x, executor_for(data.given.y, executor)
    sample, ends = _sampled(data), design.judged(range_of(x, data.sample.weights))
    tried = moved(sample.rows, detector.map.core)
    return {
        "detector": detector,
        "marginal": marginal_points(data.given, encodings[1], workers, data.seed),
        "sample": sample,
        "seen": learn_seen(ends, x.n, tried, detector.map, detector.novelty),
    }


def _with_trend(
    family: Family,
    data: Training,
    detector: NoveltyDetector,
    left: Vector,
    spec: LocationScaleSpec,
) -> tuple[LinearTrend | None, Vector]:
    """Return the trend, if there is one, and the out-of-fold residuals with it."""
    x, y, w = data.sample.x, data.outcomes, data.sample.weights
    known = np.isfinite(left)
    usual = y - np.where(known, left - fenced(left, REGRESSION.residual_fence, w), 0.0)
    rows = RegressionData(x, usual, w, data.sample.folds)
    seed, workers = data.seed, spec.executor
    trend = fit_trend(family, rows, detector, y - left, random_state=seed, executor=workers)
    if trend is None:
        return None, left
    novel = detector.doubt(detector.novelty(x, spec.executor))
    doubt = trend.doubt(x, novel, spec.executor)
    far = np.flatnonzero(doubt)
    forecasts, share = (y - left)[far], doubt[far, None]
    left = left.copy()
    left[far] = y[far] - (1 - share) * forecasts - share * trend.at(x.subset(far))
    return trend, left


def _sampled(data: Training) -> WeightedRows:
    """Return distinct rows of X with their weights, at most 4,096, chosen by their values."""
    x = data.sample.x
    found = sampled_pairs(x.table(), data.sample.weights, data.seed)
    rows = WeightedRows(Rows(found.points, x.where, x.name), found.weights)
    return rows.positive()


class _HeldOut(NamedTuple):
    """Rows that are held out once: X, weights, and folds among them."""

    x: Rows
    weights: Vector | None
    folds: Folds | None

    def take(self, rows: Index) -> "_HeldOut":
        """Return some of them, with folds for choices among these alone."""
        weights = None if self.weights is None else self.weights[rows]
        folds = None if self.folds is None else self.folds.take(rows).within()
        return _HeldOut(self.x.subset(rows), weights, folds)


def _held_out(data: Training, residuals: Vector) -> tuple[_HeldOut, Vector, Vector]:
    """Return the rows that have residuals, with these and their outcomes."""
    sample, outcomes = data.sample, data.outcomes
    held = _HeldOut(sample.x, sample.weights, sample.folds)
    if sample.folds is None:
        return held, residuals, outcomes
    rows = np.flatnonzero(np.isfinite(residuals).all(axis=1))
    return held.take(rows), residuals[rows], outcomes[rows]


def _fit_scale(  # noqa: PLR0917
    kernel: Kernel,
    held: _HeldOut,
    p: Rows,
    residuals: Vector,
    seed: int,
    spec: LocationScaleSpec,
) -> tuple[Scale, Vector]:
    """Return the scale, and its out-of-fold values at the rows."""
    x, w = held.x, held.weights
    if spec.constant:
        constant = constant_scale(residuals, w)
        return constant, constant.at(x, p)
    return fit_scale(
        kernel,
        x,
        p,
        residuals,
        w,
        folds=held.folds,
        random_state=seed,
        executor=spec.executor,
    )


def _fit_residuals(
    held: _HeldOut, p: Rows, residuals: Vector, scales: Vector, spec: LocationScaleSpec
) -> JointDistribution:
    """Return the distribution of standardised residuals given the location."""
    known = np.flatnonzero(np.isfinite(scales).all(axis=1))
    if len(known) < len(scales):  # of the others no out-of-fold scale is known
        held, p = held.take(known), p.subset(known)
        residuals, scales = residuals[known], scales[known]
    dist = spec.estimator(forecast_kernel(p, held.weights))
    fit_by(dist, held.folds, p.source, residuals / scales, held.weights)
    return dist


def fit_by(dist: Any, folds: Folds | None, *rows: Any) -> None:
    """Fit an estimator to rows that are held out by the given folds.

    Parameters
    ----------
    dist : estimator
        The estimator.
    folds : Folds, optional
        The folds of the rows; None if they are exchangeable.
    *rows
        X, Y and the weights of the rows.
    """
    dist._folds = folds  # noqa: SLF001
    try:
        dist.fit(*rows)
    finally:
        del dist._folds  # noqa: SLF001


def is_discrete(encoding: Encoding, outcomes: Vector) -> bool:
    """Tell whether outcomes have no residuals: categories, or few distinct values.

    Parameters
    ----------
    encoding : Encoding
        How the columns of Y became numbers.
    outcomes : array of shape (n, d)
        The rows of Y.
    """
    limit = most_values(len(outcomes))
    return not encoding.numeric or len(np.unique(outcomes, axis=0)) <= limit


def warn_if_unused(where: str, regressor: Any) -> None:
    """Warn that a regressor of discrete outcomes is not used, if users give one.

    Parameters
    ----------
    where : str
        The estimator.
    regressor : "auto", "kernel", estimator, or sequence of these
        The argument.
    """
    if not isinstance(regressor, str):
        msg = (
            f"{where}: Y is categorical or takes few distinct values, so that its "
            "distribution given x is learned directly: `regressor` is not used."
        )
        warn_user(msg, UserWarning)
