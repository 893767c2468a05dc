"""Pools: mixtures of location-scale distributions with direct forecasts of probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist._cached import Cached, cached
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.joined import pool
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import Seen
from jointdist.models.backwards import Backwards
from jointdist.models.cell_forecasts import CellForecasts
from jointdist.models.event_rows import WeightedRows
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.members import Member, members_of
from jointdist.projection.pooled import pooled
from jointdist.regression.fitted_location import StackedLocation
from jointdist.regression.protocols import Scale

__all__ = ["PooledModel"]


@dataclass(frozen=True, eq=False)
class PooledModel(Cached):
    """A linear pool of distributions of Y given X.

    Where rows are few the others give their weight to the location-scale distributions, which
    follow a trend and are wider there.

    Attributes
    ----------
    base : LocationScaleModel
        The location-scale distributions.
    others : list of CellForecasts
        The other members that have weight.
    names : list of str
        The names of all members, the base first.
    shares : array of shape (1 + k,)
        Their weights; that of the base may be zero.
    scores : array of shape (1 + k,)
        The mean out-of-fold score of each one alone.
    score : float
        That of the pool.
    """

    base: LocationScaleModel
    others: list[CellForecasts]
    names: list[str]
    shares: Vector
    scores: Vector
    score: float

    @property
    def members(self) -> list[Member]:
        """The members that have weight, with their own scores."""
        return members_of(self.names, self.shares, self.scores)

    @property
    def encodings(self) -> tuple[Encoding, Encoding]:
        """How the columns of X and of Y became numbers."""
        return self.base.encodings

    @property
    def location(self) -> StackedLocation:
        """The regressors of the location."""
        return self.base.location

    @property
    def scale(self) -> Scale:
        """The scale."""
        return self.base.scale

    @property
    def residuals(self) -> Any:
        """The distribution of the residual."""
        return self.base.residuals

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""
        return self.base.design_x

    @property
    def points_x(self) -> WeightedRows:
        """A sample of the rows of X."""
        return self.base.points_x

    @property
    def donors_x(self) -> WeightedRows:
        """The same: their entries take the place of missing ones."""
        return self.base.donors_x

    @property
    def seen(self) -> Seen | None:
        """The range and the novelty of the rows of X, if known."""
        return self.base.seen

    def of_y(self, x: Rows) -> Distributions:
        """Return the distributions of Y given coded rows of X."""
        return self._pooled(x, self.base.of_y(x))

    def given(self, x: Rows, X: object) -> Distributions:
        """Return the conditional distributions of Y given rows of X.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        X : array, DataFrame or sequence
            The same rows, as users give them.
        """
        return self._pooled(x, self.base.given(x, X))

    def of_y_averaged(self, x: Rows, groups: Groups) -> Distributions:
        """Return mixtures of the distributions of Y given rows of X, group by group."""
        return pooled(self.of_y(x), groups)

    def of_y_within(self, x: WeightedRows) -> Distributions:
        """Return the mixture of the distributions of Y given some rows of X."""
        return self.of_y_averaged(x.rows, Groups.of(np.array([x.rows.n]), x.weights))

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the observed outcomes at others."""
        return self.base.marginal_scores(y)

    def skill_of(self, dists: Distributions, sample: Sample) -> float:
        """Return one minus the mean energy score over that of the observed outcomes.

        Parameters
        ----------
        dists : Distributions
            The distributions.
        sample : Sample
            Rows and outcomes, encoded, with weights.
        """
        return self.base.skill_of(dists, sample)

    @cached
    def backwards(self) -> Backwards:
        """The distributions of X given outcomes."""
        return Backwards.of(self, self.base.marginal, "DistributionRegressor.given")

    def _pooled(self, x: Rows, base: Distributions) -> Distributions:
        """Return the pool of the base with the others, at the rows it is given for."""
        conditions, workers = base.conditions, self.base.executor
        if not self.others:
            return base
        others: list[Distributions]
        others = [member.of_y(conditions, x, workers) for member in self.others]
        if self.base.range is not None:
            others = [self.base.range.of(dists) for dists in others]
        doubt = self.base.doubt(x, conditions.novelty())
        shares = self.shares * (1 - doubt)[:, None]
        shares[:, 0] += doubt
        return pool([base, *others], shares, conditions)
