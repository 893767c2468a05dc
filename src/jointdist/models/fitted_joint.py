"""What fitted joint distributions share: the sample, and what is known about rows of X."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist._cached import Cached, cached
from jointdist.data.design import Design
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.seen import About, Seen
from jointdist.distributions.support_points import SupportPoints
from jointdist.models.coefficients import Problem
from jointdist.models.dependence import Dependence
from jointdist.models.event_rows import WeightedRows
from jointdist.models.kept_sample import KeptSample
from jointdist.programs import Solution

__all__ = ["FittedJoint"]


@dataclass(frozen=True, eq=False)
class FittedJoint(Cached, ABC):
    """A fitted joint distribution: a small value that is never changed, only read.

    Attributes
    ----------
    problem : Problem
        The bases and the moments.
    kept : KeptSample
        What is kept of the sample.
    solution : Solution
        The coefficients, with their certificate.
    ridge : float or array of shape (m_Y,)
        The ridge of the model.
    grid : array of int
        The rows on whose grid positivity ``"grid"`` holds.
    seen : Seen, optional
        The range and the novelty of the rows of X; None if not known.
    """

    problem: Problem
    kept: KeptSample
    solution: Solution
    ridge: float | Vector
    grid: Index
    seen: Seen | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def tuned(self) -> tuple[float | None, float | None]:
        """The ridges of the projections of Y given X, and of X given Y."""

    @property
    @abstractmethod
    def support_errors(self) -> tuple[float, float]:
        """By how much cdfs of Y given X, and of X given Y, differ from those on all rows."""

    @property
    @abstractmethod
    def sides(self) -> tuple[SupportPoints, SupportPoints]:
        """The support points of X and Y."""

    @abstractmethod
    def of_y(self, x: Rows) -> LinearDistributions:
        """Return the distributions of Y given rows of X, Eq. `QXYYXcond`: Bayes' rule."""

    @abstractmethod
    def of_x(self, y: Rows) -> LinearDistributions:
        """Return the distributions of X given rows of Y, Eq. `QXYYXcond`: Bayes' rule."""

    @abstractmethod
    def marginal_y(self) -> LinearDistributions:
        """Return the marginal of Y, Eq. `QXYeq`."""

    @abstractmethod
    def marginal_x(self) -> LinearDistributions:
        """Return the marginal of X, Eq. `QXYeq`."""

    @abstractmethod
    def of_y_averaged(self, x: Rows, groups: Groups) -> LinearDistributions:
        """Return averages of the distributions of Y given rows of X, group by group."""

    @abstractmethod
    def of_y_within(self, x: WeightedRows) -> LinearDistributions:
        """Return the distribution of Y given that X is one of some rows."""

    @abstractmethod
    def ratio(self, x: Rows, y: Rows) -> Vector:
        """Return the ratio of the joint density to the product of the marginals at pairs."""

    @abstractmethod
    def ratio_on_grid(self, x: Rows, y: Rows) -> Vector:
        """Return the ratio at all pairs of rows, ``(k_x, k_y)``."""

    @abstractmethod
    def dependence(
        self, ridge: float, permutations: int, rng: np.random.Generator
    ) -> Dependence:
        """Measure the dependence that the model implies, and test it."""

    @cached
    def about_x(self) -> About:
        """What is known about rows of X: their range, and the leverage of the leading
        function of Y.
        """
        x, y, n = self.problem.x, self.problem.y, self.kept.size
        c, leading = (
            to_numpy(x.eigenvalues) / n,
            float(to_numpy(y.eigenvalues)[:1].sum()) / n,
        )
        ridge = np.ravel(self.ridge)[0] / leading if leading > 0 else np.inf
        inverse = np.divide(1.0, n * (c + ridge), out=np.zeros_like(c), where=c + ridge > 0)
        return About(self.seen, inverse, 1 / n)

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""
        return self.kept.design

    @property
    def points_x(self) -> WeightedRows:
        """The support points of X."""
        points = self.sides[0]
        return WeightedRows(points.rows, points.shares)

    @property
    def donors_x(self) -> WeightedRows:
        """Some rows of X, whose entries take the place of missing ones."""
        return self.kept.donors

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the marginal distribution of Y at outcomes."""
        return marginal_scores(self.sides[1], y)

    def energy_scores(self, dists: LinearDistributions, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of distributions of Y, and of the marginal."""
        return dists.energy_scores(y)
