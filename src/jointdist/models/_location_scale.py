"""The fitted value of a location-scale model: location plus scale times a residual."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.distributions.location_scale import Conditions, Moved
from jointdist.distributions.signed import units_of
from jointdist.kernels import Kernel
from jointdist.lowrank.novelty import NoveltyDetector, novelty_detector
from jointdist.models.jdl import JointDistribution
from jointdist.regression.location import StackedLocation
from jointdist.regression.out_of_fold import as_table
from jointdist.regression.scale import Scale
from jointdist.regression.splits import Training

__all__ = ["LocationScale", "MarginalSample", "location_scale"]

# Outcomes whose distances from each other are formed: a memory budget of 128 MB.
_COMPARED = 4096


@dataclass(frozen=True, eq=False)
class MarginalSample:
    """The observed outcomes, a forecast that knows nothing of X.

    Attributes
    ----------
    outcomes : array of shape (n, r)
        The outcomes.
    weights : array of shape (n,), optional
        Their weights.
    """

    outcomes: Vector
    weights: Vector | None

    @property
    def unit(self) -> Vector:
        """The standard deviation of each column; one for a constant."""
        weights = np.ones(len(self.outcomes)) if self.weights is None else self.weights
        return units_of(self.outcomes, weights)

    def scores(self, points: Vector) -> Vector:
        """Return the energy scores of the sample at points; for one column the CRPS.

        Parameters
        ----------
        points : array of shape (q, r)
            The points.
        """
        rows, weights = np.arange(len(self.outcomes)), self.weights
        if len(rows) > _COMPARED:
            rows = np.random.default_rng(0).choice(rows, _COMPARED, replace=False)
        w = np.ones(len(rows)) if weights is None else weights[rows]
        y, w = self.outcomes[rows], w / w.sum()
        unit = units_of(y, w) if y.shape[1] > 1 else np.ones(1)
        apart = w @ cdist(y / unit, y / unit) @ w
        found: Vector = cdist(points / unit, y / unit) @ w - apart / 2
        return found


@dataclass(frozen=True, eq=False)
class LocationScale:
    """Distributions of location plus scale times a residual, all learned.

    Attributes
    ----------
    location : StackedLocation
        The regressors of the location.
    scale : Scale
        The scale.
    residuals : JointDistribution
        The distribution of the residual given the location.
    detector : NoveltyDetector
        Tells rows that are out of distribution.
    explained : array of shape (r,)
        The variance of the out-of-fold forecasts.
    unexplained : array of shape (r,)
        The mean square of the out-of-fold residuals.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    marginal : MarginalSample
        The observed outcomes.
    executor : Executor, optional
        How row blocks are worked on.
    """

    location: StackedLocation
    scale: Scale
    residuals: JointDistribution
    detector: NoveltyDetector
    explained: Vector
    unexplained: Vector
    encodings: tuple[Encoding, Encoding]
    marginal: MarginalSample
    executor: Executor | None

    def given(self, x: Rows, X: object) -> Moved:
        """Return the conditional distributions of Y given rows of X.

        Out of distribution they are about as wide as the sample: the variance that
        forecasts explain is added to that of the residual.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        X : array, DataFrame or sequence
            The same rows, as users give them.
        """
        table = as_table(X, self.encodings[0], x)
        novelty = self.detector.novelty(x, self.executor)
        doubt = self.detector.doubt(novelty)
        shift = self.location.predict(x, table, doubt, self.executor)
        p = Rows(shift, x.where, "x")
        stretch = self.scale.at(x, p, self.executor)
        unknown = self.explained + np.maximum(self.unexplained - stretch**2, 0.0)
        stretch = np.sqrt(stretch**2 + doubt[:, None] * unknown)
        base = self.residuals._fitted.of_y(p)  # noqa: SLF001
        conditions = Conditions(base.queries, x, self.encodings[0], novelty)
        names, unit = self.encodings[1], self.marginal.unit
        return Moved.of(base, conditions, shift, stretch, names=names, unit=unit)


def location_scale(
    location: StackedLocation,
    scale: Scale,
    dist: JointDistribution,
    data: Training,
    residuals: Vector,
    *,
    kernel: Kernel,
    encodings: tuple[Encoding, Encoding],
    executor: Executor | None,
) -> LocationScale:
    """Return the fitted model from its parts.

    Parameters
    ----------
    location : StackedLocation
        The regressors of the location.
    scale : Scale
        The scale.
    dist : JointDistribution
        The distribution of the residual given the location.
    data : Training
        The rows.
    residuals : array of shape (n, r)
        Their out-of-fold residuals.
    kernel : Kernel
        The kernel of X by which rows are told that are out of distribution.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    executor : Executor, optional
        How row blocks are worked on.
    """
    x, w, forecasts = data.sample.x, data.sample.weights, data.outcomes - residuals
    mean = np.average(forecasts, axis=0, weights=w)
    return LocationScale(
        location,
        scale,
        dist,
        novelty_detector(kernel, x, w, random_state=data.seed, executor=executor),
        explained=np.average((forecasts - mean) ** 2, axis=0, weights=w),
        unexplained=np.average(residuals**2, axis=0, weights=w),
        encodings=encodings,
        marginal=MarginalSample(data.given_outcomes, data.given.weights),
        executor=executor,
    )
