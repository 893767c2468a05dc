"""Fitted location-scale models: distributions of location plus scale times a residual."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.location_scale import ForecastConditions, LocationScale
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.outcome_range import OutcomeRange
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import About, Seen
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.models.event_rows import WeightedRows
from jointdist.models.jdl import JointDistribution
from jointdist.projection.pooled import pooled
from jointdist.regression.fitted_location import RegressorLocation, StackedLocation
from jointdist.regression.protocols import Scale
from jointdist.regression.tables import as_table, decoded_table

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
    sample : WeightedRows, optional
        A sample of the rows of X; None in files of older versions.
    seen : Seen, optional
        The range and the novelty of all rows; likewise.
    made : Design, optional
        What became of the columns of X, if it is not plain.
    range : OutcomeRange, optional
        Where outcomes can be.
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
    sample: WeightedRows | None = None
    seen: Seen | None = None
    made: Design | None = None
    range: OutcomeRange | None = None

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""
        return Design.plain(self.encodings[0]) if self.made is None else self.made

    @property
    def points_x(self) -> WeightedRows:
        """A sample of the rows of X."""
        rule = "of a model that keeps a sample of X; fit it anew"
        got = Text("one of a file that an older version wrote")
        require(self.sample is not None, "DistributionRegressor", "model", rule, got)
        assert self.sample is not None  # noqa: S101  # for type checkers
        return self.sample

    @property
    def donors_x(self) -> WeightedRows:
        """The same: their entries take the place of missing ones."""
        return self.points_x

    def of_y(self, x: Rows) -> Distributions:
        """Return the distributions of Y given coded rows of X."""
        return self.given(x, self._table(x))

    def of_y_averaged(self, x: Rows, groups: Groups) -> Distributions:
        """Return mixtures of the distributions of Y given rows of X, group by group."""
        return pooled(self.of_y(x), groups)

    def of_y_within(self, x: WeightedRows) -> Distributions:
        """Return the mixture of the distributions of Y given some rows of X."""
        return self.of_y_averaged(x.rows, Groups.of(np.array([x.rows.n]), x.weights))

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the observed outcomes at others."""
        return marginal_scores(self.marginal, y)

    def _table(self, x: Rows) -> Any:
        """Return coded rows as regressors read them; numbers if none reads tables."""
        if any(isinstance(part, RegressorLocation) for part in self.location.parts):
            return decoded_table(self.design_x, x)
        return x.source

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
        residuals = self.residuals._fitted.of_y(p).normalised  # noqa: SLF001
        about = About(self.seen, np.empty(0), 0.0)
        inner, encoding = residuals.conditions, self.encodings[0]
        found = LocationScale(
            residuals=residuals,
            conditions=ForecastConditions(x, encoding, novelty, inner, about),
            location=shift,
            scale=stretch,
            encoding=self.encodings[1],
            unit=self.marginal.units(),
        )
        return found if self.range is None else self.range.of(found)

    def skill_of(self, dists: Distributions, sample: Sample) -> float:
        """Return one minus the mean energy score over that of the observed outcomes.

        Parameters
        ----------
        dists : Distributions
            The distributions.
        sample : Sample
            Rows and outcomes, encoded, with weights.
        """
        points, w = to_numpy(sample.y.read(0, sample.n)), sample.weights
        scores = dists.energy_scores(points)[0]
        marginal = np.average(self.marginal_scores(points), weights=w)
        return 1 - float(np.average(scores, weights=w) / marginal)
