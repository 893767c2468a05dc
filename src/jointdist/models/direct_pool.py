"""Pools of discrete outcomes: direct models of the probabilities of values."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Matrix, Vector
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import Seen
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.models.cell_forecasts import (
    CellConditions,
    CellDistributions,
    CellForecasts,
)
from jointdist.models.event_rows import WeightedRows
from jointdist.models.fitted_joint import FittedJoint
from jointdist.models.members import Member, members_of
from jointdist.models.skill import mean_skill
from jointdist.projection.pooled import pooled

__all__ = ["DirectPool"]


@dataclass(frozen=True, eq=False)
class DirectPool:
    """A linear pool of distributions of discrete outcomes given X.

    All members give probabilities of the same cells, each a value of Y, or several if there are
    many. Out of distribution they revert to the marginal.

    Attributes
    ----------
    joint : FittedJoint
        A joint distribution, which knows the rows of X.
    detector : NoveltyDetector
        Tells rows that are out of distribution.
    encodings : tuple of Encoding
        How the columns of X and of Y became numbers.
    others : list of CellForecasts
        The members.
    names : list of str
        Their names.
    shares : array of shape (k,)
        Their weights.
    scores : array of shape (k,)
        The mean out-of-fold score of each one alone.
    score : float
        That of the pool.
    executor : Executor, optional
        Runs the row blocks.
    """

    joint: FittedJoint
    detector: NoveltyDetector
    encodings: tuple[Encoding, Encoding]
    others: list[CellForecasts]
    names: list[str]
    shares: Vector
    scores: Vector
    score: float
    executor: Executor | None

    @property
    def members(self) -> list[Member]:
        """The members that have weight, with their own scores."""
        return members_of(self.names, self.shares, self.scores)

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""
        return self.joint.design_x

    @property
    def points_x(self) -> WeightedRows:
        """The support points of X."""
        return self.joint.points_x

    @property
    def donors_x(self) -> WeightedRows:
        """Some rows of X, whose entries take the place of missing ones."""
        return self.joint.donors_x

    @property
    def seen(self) -> Seen | None:
        """The range and the novelty of the rows of X, if known."""
        return self.joint.seen

    def of_y(self, x: Rows) -> CellDistributions:
        """Return the distributions of Y given coded rows of X."""
        conditions, cells = self.joint.of_y(x).conditions, self.others[0].cells
        own = CellConditions(conditions, x, self, cells.mean, self.executor)
        return CellDistributions(cells, own)

    def weights(self, z: Array) -> Matrix:
        """Return the probabilities of the cells at rows of X, ``(b, K)``.

        Parameters
        ----------
        z : Array of shape (b, d)
            The rows, encoded.
        """
        pairs = zip(self.shares, self.others, strict=True)
        found = sum(share * member.model.weights(z) for share, member in pairs)
        rows = Rows(z, "", "x")
        doubt = self.detector.doubt(self.detector.novelty(rows))[:, None]
        both: Matrix = (1 - doubt) * found + doubt * self.others[0].cells.mean
        return both

    def given(self, x: Rows, X: object) -> CellDistributions:
        """Return the conditional distributions of Y given rows of X.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        X : array, DataFrame or sequence
            The same rows, as users give them.
        """
        del X
        return self.of_y(x)

    def of_y_averaged(self, x: Rows, groups: Groups) -> Distributions:
        """Return mixtures of the distributions of Y given rows of X, group by group."""
        return pooled(self.of_y(x), groups)

    def of_y_within(self, x: WeightedRows) -> Distributions:
        """Return the mixture of the distributions of Y given some rows of X."""
        return self.of_y_averaged(x.rows, Groups.of(np.array([x.rows.n]), x.weights))

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the observed outcomes at others."""
        return self.joint.marginal_scores(y)

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
