"""Distributions of outcomes that are rounded to whole numbers, or moved to the next bound."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector
from jointdist._cached import cached
from jointdist.distributions.location_scale import drawn_scores
from jointdist.distributions.reshaped import Reshaped

__all__ = ["Mapped"]

_LEVELS = 2048  # that stand for a distribution of one column in its energy score
_FAR = 1e300  # beyond all outcomes, with room for sums


@dataclass(frozen=True, eq=False)
class Mapped(Reshaped):
    """Distributions of rounded outcomes, or of the points of a box next to them.

    Attributes
    ----------
    base : Distributions
        The distributions of the outcomes as they were, divided by their mass.
    low, high : array of shape (d,)
        The bounds of each column; infinite if there is none.
    whole : bool
        Whether outcomes are rounded to whole numbers.
    """

    low: Vector
    high: Vector
    whole: bool

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""
        return self.whole or self.base.is_discrete

    def at(self, z: Vector) -> Vector:
        """Return what becomes of outcomes ``(..., d)``."""
        rounded = np.floor(z + 0.5) if self.whole else z
        return np.clip(rounded, self.low, self.high)

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``."""
        return self.base.expect(lambda z: f(self.at(z)))

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""
        return self.base.means() if self._same else self.expect(lambda z: z)

    def second_moments(self) -> Vector:
        """Return the means of products of two columns, ``(q, d, d)``."""
        v = self.means()
        found: Vector = self.covariances() + v[:, :, None] * v[:, None, :]
        return found

    def covariances(self) -> Vector:
        """Return the covariances, ``(q, d, d)``."""
        if self._same:
            return self.base.covariances()
        means, d = self.means(), self.encoding.width
        centre = means.mean(axis=0)
        away = means - centre

        def products(z: Vector) -> Vector:
            rest = z - centre
            squares: Vector = rest[:, :, None] * rest[:, None, :]
            return squares.reshape(len(z), -1)

        between: Vector = away[:, :, None] * away[:, None, :]
        return self.expect(products).reshape(-1, d, d) - between

    def variances(self) -> Vector:
        """Return the variances of columns, ``(q, d)``."""
        found: Vector = np.einsum("qdd->qd", self.covariances())
        return np.maximum(found, 0.0)

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""
        return self.at(self.base.quantile(levels))

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        found = self.base.cdf(self._before(points), paired=paired)
        return np.where((points >= self.low).all(axis=1), found, 0.0)

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""
        found = self.base.cdfs(self._before(points[..., None])[..., 0])
        return np.where(points >= self.low, found, 0.0)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities inside the bounds, or their logarithms.

        What is moved to a bound has no density.
        """
        found = self.base.density(points, paired=paired, log=log)
        inside = ((points >= self.low) & (points <= self.high)).all(axis=1)
        return np.where(inside, found, -np.inf if log else 0.0)

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, d)`` made from uniform numbers ``(q, size)``."""
        return self.at(self.base.draws(uniform))

    def modes(self) -> Vector:
        """Return what becomes of the points of the highest density, ``(q, d)``."""
        return self.at(self.base.modes())

    def points(self) -> Vector:
        """Return the support points, ``(n, d)`` or ``(q, n, d)``."""
        return self.at(self.base.points())

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        return self.base.weights()

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights of the outcomes as they were."""
        return self.base.effective_size()

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and those of the marginal distribution.

        Of one column, 2,048 quantiles stand for a distribution, of several 512 support points.

        Parameters
        ----------
        points : array of shape (q, d)
            The observed outcomes.
        unit : array of shape (d,), optional
            The units of distances along each of several columns.
        """
        if self._same:
            return self.base.energy_scores(points, unit=unit)
        if self.encoding.width == 1:
            z = self.quantile((np.arange(_LEVELS) + 0.5) / _LEVELS)[..., 0]
            F = np.arange(1, _LEVELS) / _LEVELS
            found = np.abs(z - points).mean(axis=1) - np.diff(z, axis=1) @ (F * (1 - F))
        else:
            draws = lambda rows, u: self.take(rows).draws(u)  # noqa: E731
            found = drawn_scores(draws, points, self.units() if unit is None else unit)
        return found, np.full_like(found, np.nan)

    @cached
    def _same(self) -> bool:
        """Whether no outcome moves: all are within the bounds, and none is rounded."""
        if self.whole:
            return False
        ends = self.base.quantile(np.array([0.0, 1.0]))
        return bool((ends >= self.low).all() and (ends <= self.high).all())

    def _before(self, points: Vector) -> Vector:
        """Return up to where outcomes become at most given points."""
        upto = np.floor(points) + 0.5 if self.whole else points
        return np.where(points >= self.high, _FAR, upto)
