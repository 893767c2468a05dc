"""Distributions of numbers of which a few single values, such as zero, have a probability.

With some probability the outcome is one of these point masses, else it has a density. At a
point mass the "density" is its probability, so that it is a density with respect to length
plus the number of point masses, as of Tobit models.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.distributions.groups import Groups
from jointdist.distributions.joined import Joined
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.mixture import Mixture
from jointdist.distributions.protocols import Conditions, Distributions

__all__ = ["PointMasses", "WithPointMasses", "with_point_masses"]

_HALF = 0.5  # probability of point masses together, from which the mode is one of them
_ROUNDING = 1e-12  # of a cdf


@dataclass(frozen=True, eq=False)
class PointMasses:
    """Distributions on a few values.

    Attributes
    ----------
    values : array of shape (k,)
        The values, ascending.
    probabilities : array of shape (q, k)
        Their probabilities under each distribution, of sum one.
    conditions : Conditions
        What the distributions are conditioned on.
    encoding : Encoding
        The column.
    unit : array of shape (1,)
        The standard deviation of the column in the sample.
    """

    values: Vector
    probabilities: Vector
    conditions: Conditions
    encoding: Encoding
    unit: Vector
    side = "y"
    is_discrete = False
    is_proper = True
    table = None

    @property
    def n_points(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def normalised(self) -> "PointMasses":
        """The same distributions."""
        return self

    def take(self, rows: Any) -> "PointMasses":
        """Return the chosen distributions."""
        chosen = self.conditions.take(rows)
        return replace(self, probabilities=self.probabilities[rows], conditions=chosen)

    def reweighted(
        self, how: Callable[[LinearDistributions], LinearDistributions]
    ) -> "PointMasses":
        """Return the same distributions.

        Parameters
        ----------
        how : callable
            As for each :class:`Distributions`.
        """
        del how
        return self

    def units(self) -> Vector:
        """Return the standard deviation of the column in the sample, ``(1,)``."""
        return self.unit

    def masses(self) -> Vector:
        """Return ones."""
        return np.ones(self.conditions.n)

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, 1)`` to ``(b, k)``."""
        found: Vector = self.probabilities @ f(self.values[:, None])
        return found

    def means(self) -> Vector:
        """Return the means, ``(q, 1)``."""
        return self.expect(lambda z: z)

    def second_moments(self) -> Vector:
        """Return the means of squares, ``(q, 1, 1)``."""
        return self.expect(lambda z: z**2)[:, :, None]

    def covariances(self) -> Vector:
        """Return the variances, ``(q, 1, 1)``."""
        return self.variances()[:, :, None]

    def variances(self) -> Vector:
        """Return the variances, ``(q, 1)``."""
        away = self.values - self.means()
        found: Vector = (self.probabilities * away**2).sum(axis=1, keepdims=True)
        return found

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles, ``(q, l, 1)``."""
        return self.draws(np.broadcast_to(levels, (self.conditions.n, len(levels))))

    def draws(self, uniform: Vector) -> Vector:
        """Return quantiles ``(q, size, 1)`` at uniform numbers ``(q, size)``."""
        F = np.cumsum(self.probabilities, axis=1)[:, :-1]
        which = (F[:, None, :] < uniform[:, :, None] - _ROUNDING).sum(axis=2)
        found: Vector = self.values[which][..., None]
        return found

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        if paired:
            return self.cdfs(points)[:, 0]
        found: Vector = self.probabilities @ (self.values[:, None] <= points.T)
        return found

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs, each at its own points ``(q, k)``."""
        below = self.values[:, None] <= points[:, None, :]
        found: Vector = np.einsum("qv,qvk->qk", self.probabilities, below)
        return found

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return zeros: there is no density; or their logarithms."""
        shape = (len(points),) if paired else (self.conditions.n, len(points))
        return np.full(shape, -np.inf if log else 0.0)

    def modes(self) -> Vector:
        """Return the most likely values, ``(q, 1)``."""
        found: Vector = self.values[self.probabilities.argmax(axis=1)][:, None]
        return found

    def points(self) -> Vector:
        """Return the values, ``(k, 1)``."""
        return self.values[:, None]

    def weights(self) -> Vector:
        """Return the probabilities of the values, ``(q, k)``."""
        return self.probabilities

    def negative_share(self) -> Vector:
        """Return zeros."""
        return np.zeros(self.conditions.n)

    def negative_ratios(self, below: float) -> Vector:
        """Return zeros.

        Parameters
        ----------
        below : float
            As for each :class:`Distributions`.
        """
        del below
        return np.zeros(self.conditions.n)

    def effective_size(self) -> Vector:
        """Return one over the sum of squared probabilities, ``(q,)``."""
        found: Vector = 1 / (self.probabilities**2).sum(axis=1)
        return found

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and NaN in place of the marginal's.

        Parameters
        ----------
        points : array of shape (q, 1)
            The observed outcomes.
        unit : array of shape (1,), optional
            As for each :class:`Distributions`.
        """
        del unit
        F = np.cumsum(self.probabilities, axis=1)[:, :-1]
        near = (self.probabilities * np.abs(self.values - points)).sum(axis=1)
        found = near - (F * (1 - F)) @ np.diff(self.values)
        return found, np.full_like(found, np.nan)

    def projection(self) -> None:
        """Return None: these are not projected."""


@dataclass(frozen=True, eq=False)
class WithPointMasses(Mixture):
    """Mixtures of distributions that have a density with point masses.

    Attributes
    ----------
    masses_at : PointMasses
        The probabilities of the values given that the outcome is one of them.
    share : array of shape (q,)
        The probability that the outcome is one of them.
    """

    masses_at: PointMasses
    share: Vector

    @property
    def normalised(self) -> "WithPointMasses":
        """The same distributions: all components are divided by their mass."""
        return self

    def take(self, rows: Any) -> "WithPointMasses":
        """Return the chosen distributions."""
        components, groups = self.groups.take(rows)
        base, chosen = self.base.take(components), self.conditions.take(rows)
        own, share = self.masses_at.take(rows), self.share[rows]
        return WithPointMasses(base, groups, chosen, own, share)

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles, ``(q, l, 1)``: point masses without the rounding of searches."""
        found = super().quantile(levels)[..., 0]
        own, chances = (
            self.masses_at.values,
            self.share[:, None] * self.masses_at.probabilities,
        )
        upto = self.cdf(own[:, None], paired=False)
        for value, F, chance in zip(own, upto.T, chances.T, strict=True):
            reached = F[:, None] >= levels - _ROUNDING
            at = reached & ((F - chance)[:, None] < levels - _ROUNDING)
            found = np.where(at, value, found)
        return found[..., None]

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms.

        At a point mass it is its probability.
        """
        found = super().density(points, paired=paired, log=log)
        each = self.share[:, None] * self.masses_at.probabilities
        with np.errstate(divide="ignore"):
            each = np.log(each) if log else each
        own = self.masses_at.values
        for value, chance in zip(own, each.T, strict=True):
            at = points[:, 0] == value
            found = np.where(at, chance if paired else chance[:, None], found)
        return found

    def modes(self) -> Vector:
        """Return the most likely points, ``(q, 1)``.

        A point mass, if these have together a probability of one half; else the point of the
        highest density.
        """
        found = super().modes()
        return np.where(self.share[:, None] >= _HALF, self.masses_at.modes(), found)


def with_point_masses(
    own: PointMasses, share: Vector, rest: Distributions
) -> WithPointMasses:
    """Return mixtures of point masses with distributions that have a density.

    Parameters
    ----------
    own : PointMasses
        The probabilities of the values given that the outcome is one of them.
    share : array of shape (q,)
        The probability that it is.
    rest : Distributions
        The distributions given that it is not, divided by their mass. The components of pools
        become components of the whole.
    """
    parts, shares = _components(rest)
    q, k = len(share), len(parts) + 1
    order = np.arange(k * q).reshape(k, q).T.ravel()
    each = np.concatenate([share[:, None], (1 - share)[:, None] * shares], axis=1)
    groups = Groups.of(np.full(q, k), each.ravel())
    base = Joined((own, *parts), order)
    return WithPointMasses(base, groups, own.conditions, own, share)


def _components(dists: Distributions) -> tuple[tuple[Distributions, ...], Vector]:
    """Return the members of pools, and their weights ``(q, k)``; else what is given."""
    if isinstance(dists, Mixture) and isinstance(dists.base, Joined):
        parts, q, k = dists.base.parts, dists.groups.n, len(dists.base.parts)
        regular = np.arange(k * q).reshape(k, q).T.ravel()
        if np.array_equal(dists.base.order, regular):
            return parts, dists.groups.shares.reshape(q, k)
    return (dists,), np.ones((dists.conditions.n, 1))
