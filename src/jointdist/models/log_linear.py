r"""The fitted joint distribution of a log-linear ratio, by maximum likelihood.

:math:`Q = \sum_{ik} \omega_i p(k \mid x_i) \delta_{x_i} \otimes \mu_k` on the support points of X
and the cells of Y, :math:`\mu_k` being the distribution of the sample inside a cell. Weights are
positive. The marginal of X is that of the sample by construction, that of Y by the intercepts.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Index, Matrix, Vector, to_numpy
from jointdist._cached import cached
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.groups import Groups
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import LinearConditions
from jointdist.distributions.support_points import SupportPoints
from jointdist.likelihood.log_ratio import CellQueries, LogRatio, TiltQueries
from jointdist.likelihood.outcome_cells import (
    CellsOfLeaves,
    Intervals,
    Locator,
    Regions,
)
from jointdist.likelihood.posterior import Posterior, RatioSupport
from jointdist.likelihood.tilted import LogRatios, Tilted
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.novelty import TRUSTED
from jointdist.lowrank.protocols import Features
from jointdist.models.dependence import Dependence, permutation_test
from jointdist.models.event_rows import WeightedRows
from jointdist.models.fitted_joint import FittedJoint
from jointdist.programs import LogRatioSolution
from jointdist.projection.pooled import Pooled, pooled

__all__ = ["LogLinearJoint"]

_NONE: Matrix = np.empty((0, 0))  # coefficients of conditions that have others


@dataclass(frozen=True, eq=False)
class LogLinearJoint(FittedJoint):
    """A fitted joint distribution whose log-ratio is linear in both bases.

    Attributes
    ----------
    problem, kept, ridge, grid, seen
        As in :class:`FittedJoint`. From the moments, models with other positivity are
        refitted; the grid is empty.
    solution : LogRatioSolution
        The coefficients and intercepts, with their certificate.
    log_ratio : LogRatio
        The log-ratio, as a function of both sides.
    cells : CellSupport
        The support points of Y in cells.
    edges : array of shape (K - 1,)
        The upper ends of all cells but the last, of one column; empty of several.
    most : tuple of float
        The largest kernels of rows of X and of Y.
    errors : tuple of float, default=(0, 0)
        By how much cdfs of Y given X, and of X given Y, differ from those on all rows.
    regions : Regions, optional
        The cells of several columns, unless they are those of sums.
    nearby : FeatureMap, optional
        The features of the log-ratio, or the first of many, by which novelty is measured; None
        if they are those of the moments.
    surest : float, default=1
        The largest trust: the marginal has the rest of the weight everywhere.
    least_y : float, default=1
        The least share of the kernel of a support point of Y that the functions of the moments
        represent. X given Y reverts to the marginal only below it: not at the sample, whatever
        their rank.
    """

    solution: LogRatioSolution
    ridge: float
    log_ratio: LogRatio
    cells: CellSupport
    edges: Vector
    most: tuple[float, float]
    errors: tuple[float, float] = (0.0, 0.0)
    regions: Regions | None = None
    nearby: FeatureMap | None = None
    surest: float = 1.0
    least_y: float = 1.0

    @property
    def features_nearby(self) -> Features:
        """The features of X by which novelty is measured."""
        return self.problem.x.map if self.nearby is None else self.nearby

    @property
    def tuned(self) -> tuple[None, None]:
        """No ridges, as there are no projections."""
        return None, None

    @property
    def support_errors(self) -> tuple[float, float]:
        """By how much cdfs of Y given X, and of X given Y, differ from those on all rows."""
        return self.errors

    @property
    def sides(self) -> tuple[SupportPoints, SupportPoints]:
        """The support points of X and Y."""
        return self.kept.points_x(self.problem.executor), self.cells.points

    def of_y(self, x: Rows) -> Tilted:
        """Return the distributions of Y given rows of X."""
        return self._tilted(self.conditions(x))

    def of_x(self, y: Rows) -> Posterior:
        """Return the distributions of X given rows of Y, by Bayes' rule."""
        basis, encoding = self.problem.y, self.kept.encodings[1]
        conditions = CellQueries(
            y,
            basis,
            _NONE,
            self.problem.executor,
            encoding,
            trusted=min(TRUSTED * (1 - basis.relative_error), self.least_y),
            most=self.most[1],
            locator=self._locator,
            count=self.cells.rank,
        )
        return Posterior(self._support_x, conditions)

    def marginal_y(self) -> Tilted:
        """Return the marginal of Y: that of the sample."""
        return self._tilted(Fixed(np.zeros((1, 1 + len(self.log_ratio.shift)))))

    def marginal_x(self) -> Posterior:
        """Return the marginal of X: that of the sample."""
        return Posterior(self._support_x, Fixed(np.zeros((1, len(self.log_ratio.shares)))))

    def of_y_averaged(self, x: Rows, groups: Groups) -> LinearDistributions:
        """Return mixtures of the distributions of Y given rows of X, group by group."""
        found = pooled(self.of_y(x), groups)
        assert isinstance(found, Pooled)  # noqa: S101  # for type checkers
        return found

    def of_y_within(self, x: WeightedRows) -> LinearDistributions:
        """Return the distribution of Y given that X is one of some rows: a mixture."""
        return self.of_y_averaged(x.rows, Groups.of(np.array([x.rows.n]), x.weights))

    def ratio(self, x: Rows, y: Rows) -> Vector:
        """Return the ratio of the joint density to the product of the marginals at pairs."""
        cell = self._cell_of(y)
        conditions, start, found = self.conditions(x), 0, np.empty(x.n)
        for part in LogRatios(conditions, self.log_ratio).parts():
            own = slice(start, start + len(part))
            found[own] = 1 + part[np.arange(len(part)), cell[own]]
            start += len(part)
        return found

    def ratio_on_grid(self, x: Rows, y: Rows) -> Vector:
        """Return the ratio at all pairs of rows, ``(k_x, k_y)``."""
        cell = self._cell_of(y)
        parts = LogRatios(self.conditions(x), self.log_ratio).parts()
        return np.concatenate([1 + part[:, cell] for part in parts])

    def dependence(
        self, ridge: float, permutations: int, rng: np.random.Generator
    ) -> Dependence:
        """Measure the dependence that the model implies, and test it.

        The test is that of the closed form with the same kernels.
        """
        statistic, p_value = permutation_test(self.problem, ridge, permutations, rng)
        shares, p = self.sides[0].shares, self.log_ratio.shares
        chi2, information, start = 0.0, 0.0, 0
        conditions = LogRatios(self.conditions(self.sides[0].rows), self.log_ratio)
        for h in conditions.parts():
            own = shares[start : start + len(h)]
            chi2 += float(own @ (h * h) @ p)
            logs = np.log1p(h, out=np.zeros_like(h), where=h > -1)
            information += float(own @ ((1 + h) * logs) @ p)
            start += len(h)
        return Dependence(chi2, information, statistic, p_value, permutations)

    def conditions(self, x: Rows) -> TiltQueries:
        """Return rows of X as conditions; out of distribution they revert to the marginal."""
        basis = self.problem.x
        return TiltQueries(
            x,
            basis,
            _NONE,
            self.problem.executor,
            self.kept.encodings[0],
            trusted=self._trusted,
            most=self.most[0],
            about=self.about_x,
            log_ratio=self.log_ratio,
            nearby=self.features_nearby,
            surest=self.surest,
        )

    def ratios(self, z: Array) -> Matrix:
        """Return the ratios of all cells of Y at rows of X, ``(b, K)``."""
        return self.log_ratio.ratios(self._at_rows.block(z)[0])

    @cached
    def _at_rows(self) -> TiltQueries:
        """The map from rows of X to trust times tilts."""
        return self.conditions(self.sides[0].rows.subset(np.zeros(1, dtype=np.intp)))

    @property
    def _trusted(self) -> float:
        """The share of the kernel of a row of X below which it is out of distribution.

        All but one in a hundred rows of the sample have more of theirs reproduced by the
        others. Log-ratios are large, and not shrunk by a ridge where there are no rows: they
        must be faded from there on.
        """
        least = TRUSTED * (1 - self.problem.x.relative_error)
        return least if self.seen is None else max(1 - self.seen.limit, least)

    def _cell_of(self, y: Rows) -> Index:
        """Return the cells of rows of Y."""
        return self._locator.locate(y.read(0, y.n))

    @cached
    def _locator(self) -> Locator:
        """Tells which cell a row of Y is in."""
        merged = self.cells.points.merged
        if self.regions is not None:
            return self.regions
        if merged is not None and merged.cells is not None:
            return CellsOfLeaves.of(merged.cells)
        return Intervals(self.edges)

    def _tilted(self, conditions: LinearConditions) -> Tilted:
        return Tilted(self.cells, LogRatios(conditions, self.log_ratio))

    @cached
    def _support_x(self) -> RatioSupport:
        """The support points of X, with the ratios of all cells of Y."""
        points = self.sides[0]
        zero = np.zeros(len(self.log_ratio.shares))
        return RatioSupport(
            points=points,
            sample=points,
            origin=to_numpy(self.problem.x.map.origin),
            mean=zero,
            ratios=self.ratios,
        )
