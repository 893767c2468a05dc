"""The methods for univariate outcomes, each from training rows to predictive distributions."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

import jointdist
from benchmarks.peers.data import Task
from benchmarks.peers.methods import Method
from benchmarks.quality.dists import Forecast, Learned, Normal, Weighted
from jointdist.models.conformal import ConformalCalibration

__all__ = ["CALIBRATED", "LIKELIHOOD", "METHODS", "OURS", "PEERS"]

Predictor: TypeAlias = Callable[[np.ndarray], Forecast]


def quantile_forest(task: Task, seed: int) -> Predictor:
    """Fit a quantile forest: training outcomes weighted by shared leaves."""
    from quantile_forest import RandomForestQuantileRegressor  # noqa: PLC0415

    model = RandomForestQuantileRegressor(200, min_samples_leaf=5, random_state=seed)
    model.fit(task.X, task.Y)

    def dists(X: np.ndarray) -> Weighted:
        pairs = (np.array(own).T for own in model.proximity_counts(X))
        return Weighted.of((task.Y[rows], counts) for rows, counts in pairs)

    return dists


def ngboost(task: Task, seed: int) -> Predictor:
    """Fit NGBoost with normal distributions."""
    from ngboost import NGBRegressor  # noqa: PLC0415

    model = NGBRegressor(verbose=False, random_state=seed).fit(task.X, task.Y)

    def dists(X: np.ndarray) -> Normal:
        found = model.pred_dist(X)
        return Normal(found.loc, found.scale)

    return dists


def learned(make: Callable[..., Any], task: Task, seed: int) -> Predictor:
    """Fit an estimator of this package."""
    model = make(random_state=seed).fit(task.X, task.Y)
    return lambda X: Learned(model.given(X))


def _joint(positivity: str, random_state: int) -> Any:
    return jointdist.JointDistribution(positivity=positivity, random_state=random_state)


def _regressor(regressor: str, random_state: int) -> Any:
    return jointdist.DistributionRegressor(regressor=regressor, random_state=random_state)


def _conformal(make: Callable[..., Any], random_state: int) -> Any:
    base = make(random_state=random_state)
    return ConformalCalibration(base, random_state=random_state)


PEERS = {
    "quantile-forest": Method(quantile_forest, "quantile-forest"),
    "NGBoost": Method(ngboost, "ngboost"),
}
OURS = {
    "kernel": partial(_regressor, "kernel"),
    "auto": partial(_regressor, "auto"),
    "projected": partial(_joint, "projected"),
    "isotonic": partial(_joint, "isotonic"),
}
LIKELIHOOD = partial(_joint, "exponential")
CALIBRATED = {
    f"{name}, conformal": partial(_conformal, OURS[name]) for name in ("kernel", "auto")
}
METHODS = PEERS | {
    name: Method(partial(learned, make), "jointdist")
    for name, make in (OURS | CALIBRATED).items()
}
