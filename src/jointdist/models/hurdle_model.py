"""Hurdle models: probabilities of point masses, and distributions of all other outcomes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Index, Matrix, Vector
from jointdist._cached import Cached, cached
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.location_scale import ForecastConditions
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.point_masses import PointMasses, with_point_masses
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import About, Seen
from jointdist.distributions.support_points import SupportPoints
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.models.backwards import Backwards
from jointdist.models.event_rows import WeightedRows
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.pooled_model import PooledModel
from jointdist.models.skill import mean_skill
from jointdist.projection.pooled import pooled
from jointdist.regression.fitted_location import StackedLocation
from jointdist.regression.forest import Forest
from jointdist.regression.protocols import Scale

__all__ = ["HurdleModel", "MassModel"]


@dataclass(frozen=True, eq=False)
class MassModel:
    """Probabilities of point masses given rows of X: an average of models.

    Attributes
    ----------
    values : array of shape (k,)
        The values that have a probability, ascending.
    classes : array of int, of shape (k,)
        Which of the ``k + 1`` classes each is; the one left is that of all other outcomes.
    members : list of Forest or LogRatio
        Models of the probabilities of classes.
    weights : array of shape (m,)
        Their weights, of sum one.
    """

    values: Vector
    classes: Index
    members: list[Forest | LogRatio]
    weights: Vector

    def at(self, x: Rows, executor: Executor | None) -> Matrix:
        """Return the probabilities of the values at rows of X, ``(q, k)``.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        executor : Executor, optional
            Runs the row blocks.
        """
        workers, found = executor_for(x, executor), np.zeros((x.n, len(self.values) + 1))
        for model, weight in zip(self.members, self.weights, strict=True):
            parts = workers.map(lambda _, z, one=model: one.weights(z), x)
            found += weight * np.concatenate(list(parts))
        return found[:, self.classes]


@dataclass(frozen=True, eq=False)
class HurdleModel(Cached):
    """Distributions of which a few single values have a probability of their own.

    Attributes
    ----------
    base : LocationScaleModel or PooledModel
        The distributions of all other outcomes.
    masses : MassModel
        The probabilities of these values.
    detector : NoveltyDetector
        Tells rows that are out of distribution of all rows.
    marginal : SupportPoints
        The observed outcomes.
    sample : WeightedRows
        A sample of the rows of X.
    seen : Seen
        The range and the novelty of all rows.
    """

    base: LocationScaleModel | PooledModel
    masses: MassModel
    detector: NoveltyDetector
    marginal: SupportPoints
    sample: WeightedRows
    seen: Seen

    @property
    def inner(self) -> LocationScaleModel:
        """The location-scale distributions of all other outcomes."""
        return self.base.base if isinstance(self.base, PooledModel) else self.base

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
    def encodings(self) -> tuple[Encoding, Encoding]:
        """How the columns of X and of Y became numbers."""
        return self.base.encodings

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""
        return self.base.design_x

    @property
    def points_x(self) -> WeightedRows:
        """A sample of the rows of X."""
        return self.sample

    @property
    def donors_x(self) -> WeightedRows:
        """The same: their entries take the place of missing ones."""
        return self.sample

    def of_y(self, x: Rows) -> Distributions:
        """Return the distributions of Y given coded rows of X."""
        return self._with_masses(x, self.base.of_y(x))

    def given(self, x: Rows, X: object) -> Distributions:
        """Return the conditional distributions of Y given rows of X.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        X : array, DataFrame or sequence
            The same rows, as users give them.
        """
        return self._with_masses(x, self.base.given(x, X))

    def of_y_averaged(self, x: Rows, groups: Groups) -> Distributions:
        """Return mixtures of the distributions of Y given rows of X, group by group."""
        return pooled(self.of_y(x), groups)

    def of_y_within(self, x: WeightedRows) -> Distributions:
        """Return the mixture of the distributions of Y given some rows of X."""
        return self.of_y_averaged(x.rows, Groups.of(np.array([x.rows.n]), x.weights))

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the observed outcomes at others."""
        return marginal_scores(self.marginal, y)

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

    @cached
    def backwards(self) -> Backwards:
        """The distributions of X given outcomes."""
        return Backwards.of(self, self.marginal, "DistributionRegressor.given")

    def _with_masses(self, x: Rows, rest: Distributions) -> Distributions:
        """Return the distributions of all outcomes, given those of the others."""
        workers = self.inner.executor
        found = self.masses.at(x, workers)
        share = found.sum(axis=1)
        even = np.full_like(found, 1 / found.shape[1])
        with np.errstate(invalid="ignore"):
            each = np.where(share[:, None] > 0, found / share[:, None], even)
        conditions = ForecastConditions(
            x,
            self.encodings[0],
            self.detector.novelty(x, workers),
            rest.conditions,
            About(self.seen, np.empty(0), 0.0),
        )
        unit = self.marginal.units()
        own = PointMasses(self.masses.values, each, conditions, self.encodings[1], unit)
        return with_point_masses(own, np.minimum(share, 1.0), rest)
