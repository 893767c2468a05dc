"""Fitted location-scale models: distributions of location plus scale times a residual."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._cached import Cached, cached
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
from jointdist.models.backwards import Backwards
from jointdist.models.event_rows import WeightedRows
from jointdist.models.jdl import JointDistribution
from jointdist.models.skill import mean_skill
from jointdist.projection.pooled import pooled
from jointdist.regression.fitted_location import RegressorLocation, StackedLocation
from jointdist.regression.fitted_trend import LinearTrend
from jointdist.regression.protocols import Scale
from jointdist.regression.settings import SETTINGS as REGRESSION
from jointdist.regression.tables import as_table, decoded_table

__all__ = ["LocationScaleModel"]


@dataclass(frozen=True, eq=False)
class LocationScaleModel(Cached):
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
    trend : LinearTrend, optional
        What forecasts follow where rows are few; without it they revert to the mean.
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
    trend: LinearTrend | None = None
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

    @cached
    def backwards(self) -> Backwards:
        """The distributions of X given outcomes."""
        return Backwards.of(self, self.marginal, "DistributionRegressor.given")

    def _table(self, x: Rows) -> Any:
        """Return coded rows as regressors read them; numbers if none reads tables."""
        if any(isinstance(part, RegressorLocation) for part in self.location.parts):
            return decoded_table(self.design_x, x)
        return x.source

    def given(self, x: Rows, X: object) -> Distributions:
        """Return the conditional distributions of Y given rows of X.

        Where rows are few they follow the trend, as wide as its errors at the ends of columns,
        and wider with distance. Without a trend they revert to the mean out of distribution,
        about as wide as the sample: the variance that forecasts explain is added to that of
        the residual.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        X : array, DataFrame or sequence
            The same rows, as users give them.
        """
        table = as_table(X, self.encodings[0], x)
        novelty = self.detector.novelty(x, self.executor)
        shift, stretch = self._forecasts(x, table, self._novel(x, novelty))
        p = Rows(shift, x.where, "x")
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

    def doubt(self, x: Rows, novelty: Vector) -> Vector:
        """Return how little rows near others say about them, from zero to one.

        Parameters
        ----------
        x : Rows
            The rows.
        novelty : array of shape (q,)
            How far out of distribution they are.
        """
        novel = self._novel(x, novelty)
        return novel if self.trend is None else self.trend.doubt(x, novel, self.executor)

    def _novel(self, x: Rows, novelty: Vector) -> Vector:
        """Return by how much rows are out of distribution, or beyond the range seen."""
        novel = self.detector.doubt(novelty)
        if self.seen is None:
            return novel
        z = to_numpy(x.read(0, x.n))
        width = self.seen.high - self.seen.low
        away = np.abs(z - np.clip(z, self.seen.low, self.seen.high))
        share = (away / np.where(width > 0, width, np.inf)).max(axis=1, initial=0.0)
        found: Vector = np.maximum(novel, np.minimum((share / REGRESSION.beyond) ** 2, 1.0))
        return found

    def _forecasts(self, x: Rows, table: Any, doubt: Vector) -> tuple[Vector, Vector]:
        """Return location and scale at rows; far from all others they follow the trend."""
        if self.trend is None:
            place = self.location.predict(x, table, doubt, self.executor)
            scale = self.scale.at(x, Rows(place, x.where, "x"), self.executor)
            unknown = self.explained + np.maximum(self.unexplained - scale**2, 0.0)
            return place, np.sqrt(scale**2 + doubt[:, None] * unknown)
        share = self.trend.doubt(x, doubt, self.executor)[:, None]
        near = self.location.predict(x, table, np.zeros(x.n), self.executor)
        place = near + share * (self.trend.at(x) - near)
        scale = self.scale.at(x, Rows(place, x.where, "x"), self.executor)
        unknown = self.trend.unknown(x, scale**2)
        return place, np.sqrt(scale**2 + share * unknown)

    def skill_of(self, dists: Distributions, sample: Sample) -> float:
        """Return one minus the mean energy score over that of the observed outcomes.

        Parameters
        ----------
        dists : Distributions
            The distributions.
        sample : Sample
            Rows and outcomes, encoded, with weights.
        """
        return mean_skill(dists, self.marginal_scores, sample)
