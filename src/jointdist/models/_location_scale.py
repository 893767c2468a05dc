"""The fitted value of a location-scale model: location plus scale times a residual."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.distributions.location_scale import ForecastConditions
from jointdist.distributions.location_scale import LocationScale as Distributions
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Kernel
from jointdist.lowrank.novelty import NoveltyDetector, novelty_detector
from jointdist.models.jdl import JointDistribution
from jointdist.regression.location import StackedLocation
from jointdist.regression.out_of_fold import as_table
from jointdist.regression.scale import Scale
from jointdist.regression.splits import Training

__all__ = ["LocationScale", "location_scale"]


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
    marginal : SupportPoints
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
    marginal: SupportPoints
    executor: Executor | None

    def given(self, x: Rows, X: object) -> Distributions:
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
        return Distributions(
            residuals=self.residuals._fitted.of_y(p).normalised,  # noqa: SLF001
            conditions=ForecastConditions(x, self.encodings[0], novelty),
            location=shift,
            scale=stretch,
            encoding=self.encodings[1],
            unit=self.marginal.units(),
        )


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
    y, workers = data.given.y, executor_for(data.given.y, executor)
    mean = np.average(forecasts, axis=0, weights=w)
    return LocationScale(
        location,
        scale,
        dist,
        novelty_detector(kernel, x, w, random_state=data.seed, executor=executor),
        explained=np.average((forecasts - mean) ** 2, axis=0, weights=w),
        unexplained=np.average(residuals**2, axis=0, weights=w),
        encodings=encodings,
        marginal=SupportPoints(y, encodings[1], data.given.weights, workers),
        executor=executor,
    )
