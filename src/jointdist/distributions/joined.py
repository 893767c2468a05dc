"""Distributions of several kinds next to each other: the components of pools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.encoding import Encoding
from jointdist.distributions.groups import Groups
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.mixture import Mixture
from jointdist.distributions.protocols import (
    Conditions,
    Distributions,
    ProbabilityTable,
    Projection,
)

__all__ = ["Joined", "JoinedTable", "pool"]


def pool(
    parts: Sequence[Distributions], shares: Vector, conditions: Conditions
) -> Distributions:
    """Return the linear pools of distributions given the same conditions.

    Parameters
    ----------
    parts : sequence of Distributions
        The distributions of each member, ``q`` of them.
    shares : array of shape (k,) or (q, k)
        The weights of the members: zero or positive, of sum one.
    conditions : Conditions
        What all are conditioned on.
    """
    if len(parts) == 1:
        return parts[0]
    k, q = len(parts), conditions.n
    order = np.arange(k * q).reshape(k, q).T.ravel()
    groups = Groups.of(np.full(q, k), np.broadcast_to(shares, (q, k)).ravel())
    return Mixture(Joined(tuple(parts), order), groups, conditions)


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """Probabilities of the distinct values of a variable that has few.

    Attributes
    ----------
    tables : tuple of ProbabilityTable
        Those of the parts, of the same values.
    dists : Joined
        The distributions.
    """

    tables: tuple[ProbabilityTable, ...]
    dists: "Joined"

    @property
    def points(self) -> Vector:
        """The distinct values, coded, ``(k, d)``."""
        return self.tables[0].points

    @property
    def marginal(self) -> Vector:
        """Their shares of the sample, ``(k,)``."""
        return self.tables[0].marginal

    def probabilities(self) -> Vector:
        """Return their probabilities under each distribution, ``(q, k)``."""
        found = [table.probabilities() for table in self.tables]
        return np.concatenate(found)[self.dists.order]

    def at(self, points: Vector) -> Vector:
        """Return the probability under distribution i of point i; zero of other values."""
        own = self.dists.split(points)
        pairs = zip(self.tables, own, strict=True)
        return np.concatenate([table.at(some) for table, some in pairs])[self.dists.order]


@dataclass(frozen=True, eq=False)
class Joined:
    """Distributions of several kinds as one sequence.

    Attributes
    ----------
    parts : tuple of Distributions
        The distributions of each kind, of the same columns.
    order : array of int, of shape (q,)
        Which of all parts, one after the other, each distribution is.
    """

    parts: tuple[Distributions, ...]
    order: Index

    @property
    def conditions(self) -> Conditions:
        """The conditions of the first kind, as these tell all others, too."""
        return self.parts[0].conditions

    @property
    def encoding(self) -> Encoding:
        """The columns: their names, and their categories."""
        return self.parts[0].encoding

    @property
    def side(self) -> str:
        """Whose columns they are: ``"y"`` or ``"x"``."""
        return self.parts[0].side

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""
        return any(part.is_discrete for part in self.parts)

    @property
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""
        return all(part.is_proper for part in self.parts)

    @property
    def n_points(self) -> int:
        """The number of support points of the distributions that have most."""
        return max(part.n_points for part in self.parts)

    @property
    def table(self) -> JoinedTable | None:
        """The probabilities of the distinct values; None unless these are few."""
        tables = [part.table for part in self.parts]
        known = tuple(table for table in tables if table is not None)
        return JoinedTable(known, self) if len(known) == len(tables) else None

    @property
    def normalised(self) -> "Joined":
        """The same distributions, divided by their mass."""
        parts = tuple(part.normalised for part in self.parts)
        same = all(a is b for a, b in zip(parts, self.parts, strict=True))
        return self if same else Joined(parts, self.order)

    def take(self, rows: Any) -> "Joined":
        """Return the chosen distributions."""
        chosen, ends = self.order[rows], self._ends()
        kind = np.searchsorted(ends, chosen, side="right")
        starts = np.append(0, ends[:-1])
        own = [np.flatnonzero(kind == i) for i in range(len(self.parts))]
        pairs = [(i, some) for i, some in enumerate(own) if len(some)]
        if not pairs:
            return Joined((self.parts[0].take(chosen),), np.arange(0))
        parts = tuple(self.parts[i].take(chosen[some] - starts[i]) for i, some in pairs)
        order = np.empty(len(chosen), dtype=np.intp)
        order[np.concatenate([some for _, some in pairs])] = np.arange(len(chosen))
        return Joined(parts, order)

    def reweighted(
        self, how: Callable[[LinearDistributions], LinearDistributions]
    ) -> "Joined":
        """Return the same with other weights on support points.

        Parameters
        ----------
        how : callable
            From the distributions on support points to those that take their place.
        """
        return Joined(tuple(part.reweighted(how) for part in self.parts), self.order)

    def units(self) -> Vector:
        """Return the standard deviations of the columns in the sample, ``(d,)``."""
        return self.parts[0].units()

    def masses(self) -> Vector:
        """Return the sums of the weights before any division, ``(q,)``."""
        return self._each(lambda part: part.masses())

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``."""
        return self._each(lambda part: part.expect(f))

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""
        return self._each(lambda part: part.means())

    def second_moments(self) -> Vector:
        """Return the means of products of two columns, ``(q, d, d)``."""
        return self._each(lambda part: part.second_moments())

    def covariances(self) -> Vector:
        """Return the covariances after division by the mass, ``(q, d, d)``."""
        return self._each(lambda part: part.covariances())

    def variances(self) -> Vector:
        """Return the variances of columns after division by the mass, ``(q, d)``."""
        return self._each(lambda part: part.variances())

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""
        return self._each(lambda part: part.quantile(levels))

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        if not paired:
            return self._each(lambda part: part.cdf(points, paired=False))
        return self._paired(lambda part, own: part.cdf(own, paired=True), points)

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""
        return self._paired(lambda part, own: part.cdfs(own), points)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        if not paired:
            return self._each(lambda part: part.density(points, paired=False, log=log))
        return self._paired(
            lambda part, own: part.density(own, paired=True, log=log), points
        )

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, d)`` made from uniform numbers ``(q, size)``."""
        return self._paired(lambda part, own: part.draws(own), uniform)

    def modes(self) -> Vector:
        """Return the most likely points, ``(q, d)``."""
        return self._each(lambda part: part.modes())

    def points(self) -> Vector:
        """Return the support points of each, ``(q, n, d)``; the last one repeated."""
        most = self.n_points

        def padded(part: Distributions) -> Vector:
            found = part.points()
            q = self._size(part)
            if found.ndim == 2:
                found = np.broadcast_to(found, (q, *found.shape))
            places = np.minimum(np.arange(most), found.shape[1] - 1)
            return found[:, places]

        return self._each(padded)

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        most = self.n_points

        def padded(part: Distributions) -> Vector:
            found = part.weights()
            return np.pad(found, [(0, 0), (0, most - found.shape[1])])

        return self._each(padded)

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""
        return self._each(lambda part: part.negative_share())

    def negative_ratios(self, below: float) -> Vector:
        """Return the share of the sample whose ratio to the marginal is below a limit."""
        return self._each(lambda part: part.negative_ratios(below))

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights, ``(q,)``."""
        return self._each(lambda part: part.effective_size())

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        """Return the energy scores at a point each, and those of the marginal distribution.

        Parameters
        ----------
        points : array of shape (q, d)
            The observed outcomes, coded.
        unit : array of shape (d,), optional
            The units of distances along each of several columns.
        """
        both = self._paired(
            lambda part, own: np.stack(part.energy_scores(own, unit=unit), axis=1), points
        )
        return both[:, 0], both[:, 1]

    def projection(self) -> Projection | None:
        """Return None: not all of these are projected."""

    def split(self, values: Vector) -> list[Vector]:
        """Return values of all distributions as those of each part, in its order."""
        found = np.empty_like(values)
        found[self.order] = values
        return np.split(found, self._ends()[:-1])

    def _ends(self) -> Index:
        return np.cumsum([self._size(part) for part in self.parts])

    @staticmethod
    def _size(part: Distributions) -> int:
        return part.conditions.n

    def _each(self, answer: Callable[[Distributions], Vector]) -> Vector:
        """Return the answers of all parts, in order."""
        found: Vector = np.concatenate([answer(part) for part in self.parts])[self.order]
        return found

    def _paired(
        self, answer: Callable[[Distributions, Vector], Vector], values: Vector
    ) -> Vector:
        """Return the answers of all parts to values of their own, in order."""
        pairs = zip(self.parts, self.split(values), strict=True)
        found: Vector = np.concatenate([answer(*pair) for pair in pairs])[self.order]
        return found
