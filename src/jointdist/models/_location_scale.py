"""The fit of a location-scale model: the location, then the scale, then the residuals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows, moved
from jointdist.distributions.seen import learn_seen, range_of
from jointdist.distributions.support_points import most_values
from jointdist.errors import warn_user
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.lowrank.novelty import novelty_detector
from jointdist.lowrank.support_sums import sampled_pairs
from jointdist.models.event_rows import WeightedRows
from jointdist.models.jdl import JointDistribution
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.marginal_points import marginal_points
from jointdist.regression.fitted_scale import constant_scale
from jointdist.regression.leakage import hide_residuals
from jointdist.regression.location import fit_location
from jointdist.regression.protocols import Scale
from jointdist.regression.scale import fit_scale, forecast_kernel
from jointdist.regression.training import Training

__all__ = ["LocationScaleSpec", "fit_location_scale", "is_discrete", "warn_if_unused"]


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
    """

    where: str
    regressor: Any
    kernel_x: Kernel | str
    constant: bool
    estimator: Callable[[Kernel], JointDistribution]
    executor: Executor | None


def fit_location_scale(
    data: Training,
    design: Design,
    encodings: tuple[Encoding, Encoding],
    spec: LocationScaleSpec,
) -> LocationScaleModel:
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
    """
    x, w, rng = data.sample.x, data.sample.weights, np.random.default_rng(data.seed)
    family = family_of("x", spec.kernel_x, encodings[0], x, weights=w, rng=rng)
    location, residuals = fit_location(
        spec.regressor, data, family, where=spec.where, executor=spec.executor
    )
    forecasts = data.outcomes - residuals
    p = Rows(hide_residuals(forecasts, residuals, rng, w), spec.where, "Y")
    scale, values = _fit_scale(family.at(1.0), data, p, residuals, spec)
    dist = spec.estimator(forecast_kernel(p, w)).fit(p.source, residuals / values, w)
    mean = np.average(forecasts, axis=0, weights=w)
    workers = executor_for(data.given.y, spec.executor)
    detector = novelty_detector(
        family.at(1.0), x, w, random_state=data.seed, executor=spec.executor
    )
    sample = _sampled(data)
    ends = design.judged(range_of(x, w))
    tried = moved(sample.rows, detector.map.core)
    return LocationScaleModel(
        location,
        scale,
        dist,
        detector,
        explained=np.average((forecasts - mean) ** 2, axis=0, weights=w),
        unexplained=np.average(residuals**2, axis=0, weights=w),
        encodings=encodings,
        marginal=marginal_points(data.given, encodings[1], workers, data.seed),
        executor=spec.executor,
        sample=sample,
        seen=learn_seen(ends, x.n, tried, detector.map, detector.novelty),
        made=None if design.is_plain else design,
    )


def _sampled(data: Training) -> WeightedRows:
    """Return distinct rows of X with their weights, at most 4,096, chosen by their values."""
    x = data.sample.x
    found = sampled_pairs(x.table(), data.sample.weights, data.seed)
    rows = WeightedRows(Rows(found.points, x.where, x.name), found.weights)
    return rows.positive()


def _fit_scale(
    kernel: Kernel, data: Training, p: Rows, residuals: Vector, spec: LocationScaleSpec
) -> tuple[Scale, Vector]:
    """Return the scale, and its out-of-fold values at the rows."""
    x, w, seed = data.sample.x, data.sample.weights, data.seed
    if spec.constant:
        constant = constant_scale(residuals, w)
        return constant, constant.at(x, p)
    return fit_scale(kernel, x, p, residuals, w, random_state=seed, executor=spec.executor)


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
