"""Fitted location-scale models: distributions of location plus scale times a residual."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.location_scale import ForecastConditions, LocationScale
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.models.jdl import JointDistribution
from jointdist.regression.fitted_location import StackedLocation
from jointdist.regression.protocols import Scale
from jointdist.regression.tables import as_table

__all__ = ["LocationScaleModel"]


@dataclass(frozen=True, eq=False)
class LocationScaleModel:
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
        Runs the row blocks.
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

    def given(self, x: Rows, X: object) -> LocationScale:
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
        return LocationScale(
            residuals=self.residuals._fitted.of_y(p).normalised,  # noqa: SLF001
            conditions=ForecastConditions(x, self.encodings[0], novelty),
            location=shift,
            scale=stretch,
            encoding=self.encodings[1],
            unit=self.marginal.units(),
        )

    def skill(self, sample: Sample, X: object) -> float:
        """Return one minus the mean energy score over that of the observed outcomes.

        Parameters
        ----------
        sample : Sample
            Rows and outcomes, encoded, with weights.
        X : array, DataFrame or sequence
            The same rows of X, as users give them.
        """
        points, w = to_numpy(sample.y.read(0, sample.n)), sample.weights
        scores = self.given(sample.x, X).energy_scores(points)[0]
        marginal = np.average(marginal_scores(self.marginal, points), weights=w)
        return 1 - float(np.average(scores, weights=w) / marginal)
