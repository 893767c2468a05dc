r"""Location-scale distributions: those of :math:`a(x) + s(x) u` with distributions of :math:`u`.

Forecasts of the location and of the scale of Y take the peak out of its distribution; what
remains is a distribution of standardised residuals. Every question is put to that
distribution at standardised points, or to its support points, shifted and stretched.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist

from jointdist._array import Index, Vector
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.distributions.conditions import differing_columns
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Conditions, Projection
from jointdist.distributions.representatives import representatives
from jointdist.distributions.seen import About, columns_outside

__all__ = ["ForecastConditions", "LocationScale", "drawn_scores"]

_REPRESENTATIVES = 4096  # support points that stand for all in expectations: 32 KB a row
_DRAWS = 512  # of each distribution of several columns, in its energy score: 1 MB of pairs
_WORKED = 1 << 20  # draws worked on at a time: 8 MB a column
_ROUNDING = 4 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class ForecastConditions:
    """Rows of X, which forecasts of location and scale were made for.

    Attributes
    ----------
    rows : Rows
        The conditions, coded.
    encoding : Encoding
        How categories of the conditions became numbers.
    novelties : array of shape (q,)
        How far out of distribution they are.
    inner : Conditions
        The forecasts, as conditions of the residuals.
    about : About, optional
        What the model has seen of such rows.
    """

    rows: Rows
    encoding: Encoding
    novelties: Vector
    inner: Conditions
    about: About | None = None

    @property
    def n(self) -> int:
        """The number of conditions."""
        return self.rows.n

    def novelty(self) -> Vector:
        """Return how far out of distribution each condition is, from zero to one."""
        return self.novelties

    def leverage(self) -> Vector:
        """Return the weight of a residual at each condition in the distribution there."""
        return self.inner.leverage()

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns of each condition that are outside the range seen."""
        return columns_outside(self.rows, self.encoding, self.about)

    def labels(self) -> tuple[str, list[str]]:
        """Return the names of the columns that tell conditions apart, and their values."""
        return differing_columns(self.rows, self.encoding)

    def take(self, rows: Any) -> "ForecastConditions":
        """Return the chosen conditions."""
        chosen = self.rows.subset(np.arange(self.n)[rows])
        novelties, inner = self.novelties[rows], self.inner.take(rows)
        return replace(self, rows=chosen, novelties=novelties, inner=inner)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocationScale:
    """Distributions of location plus scale times a residual.

    Attributes
    ----------
    residuals : LinearDistributions
        The distributions of the standardised residuals, of numbers, divided by their mass.
    conditions : Conditions
        What the distributions are conditioned on.
    location : array of shape (q, d)
        The locations.
    scale : array of shape (q, d)
        The scales, positive.
    encoding : Encoding
        The columns.
    unit : array of shape (d,)
        The units of distances along each of several columns.
    """

    residuals: LinearDistributions
    conditions: Conditions
    location: Vector
    scale: Vector
    encoding: Encoding
    unit: Vector

    @property
    def side(self) -> str:
        """Whose columns they are: those of Y."""
        return "y"

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""
        return self.residuals.is_discrete

    @property
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""
        return self.residuals.is_proper

    @property
    def n_points(self) -> int:
        """The number of support points of each distribution."""
        return self.residuals.n_points

    @property
    def table(self) -> None:
        """None: each distribution has values of its own."""

    @property
    def normalised(self) -> "LocationScale":
        """The same distributions."""
        return self

    def take(self, rows: Any) -> "LocationScale":
        """Return the chosen distributions."""
        return replace(
            self,
            residuals=self.residuals.take(rows),
            conditions=self.conditions.take(rows),
            location=self.location[rows],
            scale=self.scale[rows],
        )

    def reweighted(
        self, how: Callable[[LinearDistributions], LinearDistributions]
    ) -> "LocationScale":
        """Return the same with other distributions of the residuals.

        Parameters
        ----------
        how : callable
            From the distributions of the residuals to others.
        """
        return replace(self, residuals=how(self.residuals))

    def units(self) -> Vector:
        """Return the units of distances along each of several columns."""
        return self.unit

    def masses(self) -> Vector:
        """Return the sums of the weights of the residuals before any division, ``(q,)``."""
        return self.residuals.masses()

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``.

        Of more than 4,096 support points, that many quantiles of the sample stand for all.

        Parameters
        ----------
        f : callable
            From points to numbers.
        """
        found = []
        for part, w, u in representatives(self.residuals, _REPRESENTATIVES):
            at = self.location[part, None] + self.scale[part, None] * u
            values = f(at.reshape(-1, at.shape[-1])).reshape(*w.shape, -1)
            found.append(np.einsum("qr,qrk->qk", w, values))
        return np.concatenate(found)

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""
        return self.location + self.scale * self.residuals.means()

    def second_moments(self) -> Vector:
        """Return the means of products of two columns, ``(q, d, d)``."""
        v = self.means()
        found: Vector = self.covariances() + v[:, :, None] * v[:, None, :]
        return found

    def covariances(self) -> Vector:
        """Return the covariances, ``(q, d, d)``."""
        both = self.scale[:, :, None] * self.scale[:, None, :]
        found: Vector = both * self.residuals.covariances()
        return found

    def variances(self) -> Vector:
        """Return the variances of columns, ``(q, d)``."""
        return self.scale**2 * self.residuals.variances()

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""
        return self._forward(self.residuals.quantile(levels))

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        if paired:
            return self.residuals.cdf(self._standardised(points), paired=True)
        at = (self._standardised(point) for point in points)
        return np.stack([self.residuals.cdf(each, paired=True) for each in at], axis=1)

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""
        size = _ROUNDING * np.maximum(np.abs(points), np.abs(self.location))
        return self.residuals.cdfs((points - self.location + size) / self.scale)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        if paired:
            at = self._standardised(points)
            found = self.residuals.density(at, paired=True, log=log)[:, None]
        else:
            at = (points - self.location[:, None, :]) / self.scale[:, None, :]
            found = self.residuals.densities(at, log=log)
        unit = np.log(self.scale).sum(axis=1, keepdims=True)
        found = found - unit if log else found * np.exp(-unit)
        one: Vector = found[:, 0]
        return one if paired else found

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, d)`` made from uniform numbers ``(q, size)``."""
        return self._forward(self.residuals.draws(uniform))

    def modes(self) -> Vector:
        """Return the points of the highest density, ``(q, d)``."""
        found: Vector = self.location + self.scale * self.residuals.modes()
        return found

    def points(self) -> Vector:
        """Return the support points of each distribution, ``(q, n, d)``."""
        return self._forward(self.residuals.points()[None])

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        return self.residuals.weights()

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""
        return self.residuals.negative_share()

    def negative_ratios(self, below: float) -> Vector:
        """Return the share of the residuals whose ratio to the marginal is below a limit."""
        return self.residuals.negative_ratios(below)

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights, ``(q,)``."""
        return self.residuals.effective_size()

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and those of the sample of residuals.

        Of one column both are exact. Of several, the first are those of 512 support points of
        each distribution, at equidistant levels; the second are NaN.

        Parameters
        ----------
        points : array of shape (q, d)
            The observed outcomes.
        unit : array of shape (d,), optional
            The units of distances along each of several columns.
        """
        if points.shape[1] > 1:
            draws = lambda rows, u: self.take(rows).draws(u)  # noqa: E731
            found = drawn_scores(draws, points, self.unit if unit is None else unit)
            return found, np.full_like(found, np.nan)
        at, scale = (points - self.location) / self.scale, self.scale[:, 0]
        found, marginal = self.residuals.energy_scores(at)
        return scale * found, scale * marginal

    def projection(self) -> Projection | None:
        """Return how far the distributions of the residuals moved, if projected."""
        return self.residuals.projection()

    def _standardised(self, points: Vector) -> Vector:
        """Return standardised points, moved up by rounding: a support point is not below."""
        size = _ROUNDING * np.maximum(np.abs(points), np.abs(self.location))
        found: Vector = (points - self.location + size) / self.scale
        return found

    def _forward(self, residuals: Vector) -> Vector:
        """Return the points ``(q, k, d)`` of given residuals."""
        found: Vector = self.location[:, None, :] + self.scale[:, None, :] * residuals
        return found


def drawn_scores(
    draws: Callable[[Index, Vector], Vector], points: Vector, unit: Vector
) -> Vector:
    """Return the energy scores of several columns, by points at equidistant levels.

    Parameters
    ----------
    draws : callable
        From numbers of distributions, and uniform numbers ``(b, size)``, to draws.
    points : array of shape (q, d)
        The observed outcomes.
    unit : array of shape (d,)
        The units of distances along each column.
    """
    levels = (np.arange(_DRAWS) + 0.5) / _DRAWS
    found = np.empty(len(points))
    step = max(_WORKED // _DRAWS, 1)
    for start in range(0, len(points), step):
        part = slice(start, min(start + step, len(points)))
        even = np.broadcast_to(levels, (part.stop - start, _DRAWS))
        drawn = draws(np.arange(part.start, part.stop), even) / unit
        for i, (y, z) in enumerate(zip(points[part] / unit, drawn, strict=True)):
            apart = pdist(z).sum() / _DRAWS**2  # each pair once: half the mean
            found[start + i] = cdist(z, y[None]).mean() - apart
    return found
