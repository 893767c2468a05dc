"""Mixtures of conditional distributions, each on support points of its own.

What is linear in a distribution is the average of the answers of its components: expectations,
cdfs, densities. Quantiles are searched between those of the components, draws choose a
component first.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.distributions.groups import Groups
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.location_scale import drawn_scores
from jointdist.distributions.mixture_search import (
    highest_densities,
    pooled_scores,
    quantiles_between,
    quantiles_of_pooled,
)
from jointdist.distributions.protocols import Conditions, Distributions, ProbabilityTable

__all__ = ["Mixture"]

_MANY = 16  # components whose quantiles are pooled: searches would take a minute
_CLOSE = 1e-9  # the relative error of a quantile that is searched for, at most
_DRAWN = 1 << 14  # draws of components worked on at a time: a memory budget


class MixtureTable(NamedTuple):
    """Probabilities of the distinct values of a variable that has few, averaged.

    Attributes
    ----------
    base : ProbabilityTable
        Those of the components.
    groups : Groups
        The groups and the shares of the components.
    """

    base: ProbabilityTable
    groups: Groups

    @property
    def points(self) -> Vector:
        """The distinct values, coded, ``(k, d)``."""
        return self.base.points

    @property
    def marginal(self) -> Vector:
        """Their shares of the sample, ``(k,)``."""
        return self.base.marginal

    def probabilities(self) -> Vector:
        """Return their probabilities under each distribution, ``(q, k)``."""
        return self.groups.average(self.base.probabilities())

    def at(self, points: Vector) -> Vector:
        """Return the probability under distribution i of point i; zero of other values."""
        return self.groups.average(self.base.at(points[self.groups.which]))


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mixtures of distributions, group by group.

    Attributes
    ----------
    base : Distributions
        The components.
    groups : Groups
        The groups and the shares of the components.
    conditions : Conditions
        What the mixtures are conditioned on.
    """

    base: Distributions
    groups: Groups
    conditions: Conditions

    @property
    def encoding(self) -> Encoding:
        """The columns: their names, and their categories."""
        return self.base.encoding

    @property
    def side(self) -> str:
        """Whose columns they are: ``"y"`` or ``"x"``."""
        return self.base.side

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""
        return self.base.is_discrete

    @property
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""
        return self.base.is_proper

    @property
    def n_points(self) -> int:
        """The number of support points of the mixture of most components."""
        return self.base.n_points * int(self.groups.sizes.max())

    @property
    def table(self) -> MixtureTable | None:
        """The probabilities of the distinct values; None unless these are few."""
        base = self.base.table
        return None if base is None else MixtureTable(base, self.groups)

    @property
    def normalised(self) -> "Mixture":
        """The same distributions, divided by their mass."""
        normalised = self.base.normalised
        if normalised is self.base:
            return self
        return replace(self, base=normalised, groups=self._by_mass())

    def _by_mass(self) -> Groups:
        """Return the groups with shares times the masses of the components."""
        return self.groups.reweighted(self.base.masses())

    def take(self, rows: Any) -> "Mixture":
        """Return the chosen distributions."""
        components, groups = self.groups.take(rows)
        return Mixture(self.base.take(components), groups, self.conditions.take(rows))

    def reweighted(
        self, how: Callable[[LinearDistributions], LinearDistributions]
    ) -> "Mixture":
        """Return the same with other weights on support points.

        Parameters
        ----------
        how : callable
            From the distributions on support points to those that take their place.
        """
        return replace(self, base=self.base.reweighted(how))

    def units(self) -> Vector:
        """Return the standard deviations of the columns in the sample, ``(d,)``."""
        return self.base.units()

    def masses(self) -> Vector:
        """Return the sums of the weights before any division, ``(q,)``."""
        return self.groups.average(self.base.masses())

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``."""
        return self.groups.average(self.base.expect(f))

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""
        return self.groups.average(self.base.means())

    def second_moments(self) -> Vector:
        """Return the means of products of two columns, ``(q, d, d)``."""
        return self.groups.average(self.base.second_moments())

    def covariances(self) -> Vector:
        """Return the covariances: inside components plus between their means."""
        both = self.normalised
        away = both.deviations()
        products = away[:, :, None] * away[:, None, :]
        return both.groups.average(both.base.covariances() + products)

    def variances(self) -> Vector:
        """Return the variances of columns, ``(q, d)``."""
        both = self.normalised
        return both.groups.average(both.base.variances() + both.deviations() ** 2)

    def deviations(self) -> Vector:
        """Return the means of the components less those of their mixtures, ``(N, d)``."""
        means = self.base.means()
        return means - self.groups.average(means)[self.groups.which]

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``.

        Of one column and less than 16 components they are exact up to rounding. Else
        quantiles of each component stand for it, at least 128, and levels are met within
        about a hundredth, the closer the further out and the more components there are.

        Parameters
        ----------
        levels : array of shape (l,)
            The levels.
        """
        if self.encoding.width == 1 and self.groups.sizes.max() < _MANY:
            found = quantiles_between(self.base, self.groups, levels)[..., None]
            if self.is_discrete:  # whole numbers stay whole: searches end close to them
                near = np.abs(found - np.round(found)) <= _CLOSE * np.abs(found)
                found = np.where(near, np.round(found), found)
            return found
        return quantiles_of_pooled(self.base, self.groups, levels)

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        at = points[self.groups.which] if paired else points
        return self.groups.average(self.base.cdf(at, paired=paired))

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""
        return self.groups.average(self.base.cdfs(points[self.groups.which]))

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        at = points[self.groups.which] if paired else points
        if not log:
            return self.groups.average(self.base.density(at, paired=paired))
        found = self.base.density(at, paired=paired, log=True)
        top = np.maximum.reduceat(found, self.groups.starts, axis=0)
        top = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            sums = np.log(self.groups.average(np.exp(found - top[self.groups.which])))
        return sums + top

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, d)`` made from uniform numbers ``(q, size)``.

        A number chooses the component; what is left of it, the draw from the component.

        Parameters
        ----------
        uniform : array of shape (q, size)
            The numbers, from zero to below one.
        """
        groups, (q, size) = self.groups, uniform.shape
        below_one = np.nextafter(1.0, 0.0)
        ends = np.cumsum(groups.shares)  # those of group i from i to i + 1
        place = np.arange(q)[:, None] + np.minimum(uniform, below_one)
        last = groups.starts + groups.sizes - 1
        which = np.searchsorted(ends, place, side="right")
        which = np.clip(which, groups.starts[:, None], last[:, None]).ravel()
        share = groups.shares[which]
        left = place.ravel() - (ends[which] - share)
        left = np.divide(left, share, out=np.zeros_like(left), where=share > 0)
        inside = np.clip(left, 0.0, below_one)[:, None]
        parts = [slice(i, i + _DRAWN) for i in range(0, len(which), _DRAWN)]
        drawn = [self.base.take(which[part]).draws(inside[part]) for part in parts]
        return np.concatenate(drawn).reshape(q, size, -1)

    def modes(self) -> Vector:
        """Return the most likely points, ``(q, d)``.

        Those of the highest density among the modes of components, or of the largest
        probability; without either, the mode of the largest component.
        """
        table = self.table
        if table is not None:
            likely: Vector = table.points[table.probabilities().argmax(axis=1)]
            return likely
        modes = self.base.modes()
        if not self.is_discrete:
            return highest_densities(self.base, self.groups, modes)
        ends = np.append(self.groups.starts[1:], len(self.groups.shares))
        pairs = zip(self.groups.starts, ends, strict=True)
        found: Vector = modes[[a + self.groups.shares[a:b].argmax() for a, b in pairs]]
        return found

    def points(self) -> Vector:
        """Return the support points of all components, ``(n, d)`` or ``(q, n, d)``.

        A mixture of fewer components than another repeats its last one, without weight.
        """
        base = self.base.points()
        if base.ndim == 2:
            return base
        found: Vector = base[self._padded()]
        return found.reshape(self.groups.n, -1, base.shape[-1])

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        base = self.base.weights()
        if self.base.points().ndim == 2:
            return self.groups.average(base)
        padded, most = self._padded(), int(self.groups.sizes.max())
        some = np.arange(most) < self.groups.sizes[:, None]
        found: Vector = (
            np.where(some, self.groups.shares[padded], 0.0)[..., None] * base[padded]
        )
        return found.reshape(self.groups.n, -1)

    def _padded(self) -> Any:
        """Return the components of each group, ``(q, most)``; the last one repeated."""
        inside = np.arange(int(self.groups.sizes.max()))
        beyond = self.groups.sizes[:, None] - 1
        return self.groups.starts[:, None] + np.minimum(inside, beyond)

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""
        both = self.normalised
        share = both.base.negative_share()
        whole = 1 / np.maximum(1 - 2 * share, np.finfo(np.float64).tiny)  # of mass one
        found: Vector = both.groups.average(share * whole) / both.groups.average(whole)
        return found

    def negative_ratios(self, below: float) -> Vector:
        """Return the share of the sample whose ratio to the marginal is below a limit."""
        return self.groups.average(self.base.negative_ratios(below))

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights, ``(q,)``.

        Components on points of their own share the rows that these are made of: their
        average.
        """
        both = self.normalised
        if both.base.points().ndim == 2:
            found: Vector = 1 / (both.weights() ** 2).sum(axis=1)
            return found
        return both.groups.average(both.base.effective_size())

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and NaN in place of the marginal's.

        Of one column, quantiles of each component at equidistant levels stand for it: at
        least 2,048 of a mixture, with errors below a thousandth of a standard deviation. Of
        several, 512 support points do.

        Parameters
        ----------
        points : array of shape (q, d)
            The observed outcomes, coded.
        unit : array of shape (d,), optional
            The units of distances along each of several columns.
        """
        both = self.normalised
        if self.encoding.width == 1:
            found = pooled_scores(both.base, both.groups, points[:, 0])
        else:
            draws = lambda rows, u: both.take(rows).draws(u)  # noqa: E731
            found = drawn_scores(draws, points, self.units() if unit is None else unit)
        return found, np.full_like(found, np.nan)

    def projection(self) -> None:
        """Return None: mixtures are not projected."""
