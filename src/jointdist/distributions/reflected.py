r"""Distributions of one column, reflected at two bounds so that nothing is beyond them.

What was as far below the lower bound :math:`a` as :math:`y` is above it counts at :math:`y`:
:math:`G(y) = F(y) - F(2a - y)`, with the density :math:`f(y) + f(2a - y)`, and likewise at the
upper bound. As outcomes are never beyond a bound, what is reflected comes closer to them; kernel
density estimates are corrected at bounds in the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Vector
from jointdist._cached import cached
from jointdist.distributions.mixture_search import halved
from jointdist.distributions.reshaped import Reshaped

__all__ = ["Reflected"]

_ROUNDING = 1e-12  # of a cdf: less is nothing
_CLOSE = 1e-9  # of a standard deviation: bounds themselves are not beyond
_SEARCHED = 32  # levels whose quantiles are searched for: a time budget
_LEVELS = 2048  # that stand for a distribution in its energy score, as for mixtures


@dataclass(frozen=True, eq=False)
class Reflected(Reshaped):
    """Distributions of one column, reflected at bounds.

    What is beyond a bound by more than the distance of the bounds is moved to the other one.

    Attributes
    ----------
    base : Distributions
        The distributions without bounds, divided by their mass.
    low, high : float
        The bounds, which belong to the support; infinite if there is none.
    """

    low: float
    high: float

    def at(self, z: Vector) -> Vector:
        """Return what becomes of outcomes, of any shape."""
        found = z
        if np.isfinite(self.low):
            found = np.where(z < self.low, 2 * self.low - z, found)
        if np.isfinite(self.high):
            found = np.where(z > self.high, 2 * self.high - z, found)
        return np.clip(found, self.low, self.high)

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, 1)`` to ``(b, k)``."""
        return self.base.expect(lambda z: f(self.at(z)))

    def means(self) -> Vector:
        """Return the means, ``(q, 1)``."""
        found = self._changed(
            self.base.means(),
            lambda: self.base.take(self._some).expect(self.at),
        )
        return self.at(found)

    def second_moments(self) -> Vector:
        """Return the means of squares, ``(q, 1, 1)``."""
        v = self.means()
        found: Vector = self.covariances() + v[:, :, None] ** 2
        return found

    def covariances(self) -> Vector:
        """Return the variances, ``(q, 1, 1)``."""
        return self.variances()[:, :, None]

    def variances(self) -> Vector:
        """Return the variances, ``(q, 1)``."""

        def changed() -> Vector:
            means = self.means()[self._some]
            centre = means.mean(axis=0)
            few = self.base.take(self._some)
            squares = few.expect(lambda z: (self.at(z) - centre) ** 2)
            found: Vector = np.maximum(squares - (means - centre) ** 2, 0.0)
            return found

        return self._changed(self.base.variances(), changed)

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles, ``(q, l, 1)``.

        Those at up to 32 levels are searched for; at more, quantiles of the others at these
        levels stand for the distribution.

        Parameters
        ----------
        levels : array of shape (l,)
            The levels.
        """
        search = self._searched if len(levels) <= _SEARCHED else self._sorted
        found = self._changed(self.base.quantile(levels), lambda: search(levels)[..., None])
        return np.clip(found, self.low, self.high)

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, 1)`` made from uniform numbers ``(q, size)``."""
        return self.at(self.base.draws(uniform))

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        y = points[:, 0] if paired else points.T
        return self._summed(lambda z: self.base.cdf(_column(z), paired=paired), y)

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs, each at its own points ``(q, k)``."""
        return self._summed(self.base.cdfs, points)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        y = points[:, 0] if paired else points.T
        bounds = [bound for bound in (self.low, self.high) if np.isfinite(bound)]
        places = [points, *(2 * bound - points for bound in bounds)]
        each = [self.base.density(z, paired=paired, log=log) for z in places]
        total = np.logaddexp.reduce(each) if log else np.sum(each, axis=0)
        inside = (y >= self.low) & (y <= self.high)
        return np.where(inside, total, -np.inf if log else 0.0)

    def modes(self) -> Vector:
        """Return what becomes of the points of the highest density, ``(q, 1)``."""
        return self.at(self.base.modes())

    def points(self) -> Vector:
        """Return the support points, ``(n, 1)`` or ``(q, n, 1)``."""
        return self.at(self.base.points())

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        return self.base.weights()

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights, ``(q,)``."""
        return self.base.effective_size()

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and those of the marginal distribution.

        2,048 quantiles stand for a distribution that changes.

        Parameters
        ----------
        points : array of shape (q, 1)
            The observed outcomes.
        unit : array of shape (1,), optional
            As for each :class:`Distributions`.
        """
        found, marginal = self.base.energy_scores(points, unit=unit)

        def changed() -> Vector:
            even = (np.arange(_LEVELS) + 0.5) / _LEVELS
            F = np.arange(1, _LEVELS) / _LEVELS
            z = np.sort(self.at(self.base.take(self._some).quantile(even)[..., 0]), axis=1)
            near = np.abs(z - points[self._some]).mean(axis=1)
            score: Vector = near - np.diff(z, axis=1) @ (F * (1 - F))
            return score

        return self._changed(found, changed), marginal

    @cached
    def _some(self) -> Index:
        """The distributions that change: not all of them is between the bounds."""
        slack = _CLOSE * float(self.units()[0])
        beyond = np.zeros(self.conditions.n)
        if np.isfinite(self.low):
            beyond += self.base.cdf(np.array([[self.low - slack]]), paired=False)[:, 0]
        if np.isfinite(self.high):
            beyond += 1 - self.base.cdf(np.array([[self.high + slack]]), paired=False)[:, 0]
        return np.flatnonzero(beyond > _ROUNDING)

    def _changed(self, found: Vector, changed: Callable[[], Vector]) -> Vector:
        """Return answers of the others, changed for those that change."""
        if not len(self._some):
            return found
        found = np.array(found)
        found[self._some] = changed()
        return found

    def _summed(self, cdf: Callable[[Vector], Vector], y: Vector) -> Vector:
        """Return cdfs at points, from those of the others at points and their reflections."""
        slack = _CLOSE * float(self.units()[0])
        found = cdf(y)
        if np.isfinite(self.low):
            found = found - cdf(2 * self.low - y - slack)
        if np.isfinite(self.high):
            found = found + 1 - cdf(2 * self.high - y - slack)
        found = np.where(y < self.low - slack, 0.0, np.clip(found, 0.0, 1.0))
        return np.where(y >= self.high - slack, 1.0, found)

    def _searched(self, levels: Vector) -> Vector:
        """Return the quantiles ``(r, l)`` of those that change, by searches of their cdfs."""
        few = self.take(self._some)
        ends = few.base.quantile(np.array([0.0, 1.0]))[..., 0]
        both = self.at(ends)
        low = np.where(ends[:, 0] < self.low, self.low, both.min(axis=1))
        high = np.where(ends[:, 1] > self.high, self.high, both.max(axis=1))
        low, high = (np.tile(end[:, None], len(levels)) for end in (low, high))
        return halved(lambda rows, at: few.take(rows).cdfs(at), low, high, levels)

    def _sorted(self, levels: Vector) -> Vector:
        """Return the quantiles ``(r, l)`` of those that change, from quantiles of the others."""
        order = np.argsort(levels)
        ends = np.concatenate([[0.0], np.sort(levels), [1.0]])
        ends = (ends[1:] + ends[:-1]) / 2
        ends[0], ends[-1] = 0.0, 1.0
        z = self.at(self.base.take(self._some).quantile(levels[order])[..., 0])
        found = np.empty_like(z)
        for row, values in zip(found, z, strict=True):
            along = np.argsort(values, kind="stable")
            each = np.diff(ends)[along]
            row[order] = np.interp(levels[order], np.cumsum(each) - each / 2, values[along])
        return found


def _column(z: Vector) -> Vector:
    """Return points as a table of one column."""
    return z.reshape(-1, 1)
