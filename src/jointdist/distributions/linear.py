r"""Distributions whose weights are linear in functions on support points.

All that such a distribution needs of the support points are sums :math:`F = \sum_j \omega_j
(1, \Psi(y_j)) f(y_j)`; its expectation of :math:`f` is :math:`(1, t) F / \text{mass}`.
Signed, projected, isotonic and recalibrated distributions and embeddings have this form. They
differ in where their coefficients come from, in how cdfs are searched, and in their density.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.distributions import weights as scan
from jointdist.distributions.conditions import by_parts
from jointdist.distributions.energy import Energy
from jointdist.distributions.probability_table import Table
from jointdist.distributions.protocols import LinearConditions, Projection
from jointdist.distributions.support import Support

__all__ = ["LinearDistributions"]


@dataclass(frozen=True, eq=False)
class LinearDistributions(ABC):
    """Distributions on the points of a support.

    Attributes
    ----------
    support : Support
        The support points.
    conditions : LinearConditions
        What the distributions are conditioned on, with their coefficients.
    divided : bool, default=True
        Whether weights are divided by their sum, the mass of the distribution.
    """

    support: Support
    conditions: LinearConditions
    divided: bool = True

    @property
    @abstractmethod
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""

    @abstractmethod
    def variances(self) -> Vector:
        """Return the variances of columns after division by the mass, ``(q, d)``."""

    @abstractmethod
    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""

    @abstractmethod
    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities of each distribution at its own points ``(q, k, d)``."""

    @abstractmethod
    def projection(self) -> Projection | None:
        """Return how far projected distributions moved; None if they are not projected."""

    @abstractmethod
    def _quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        """Return the lowest values at which cdfs of a column reach levels ``(q, l)``."""

    @abstractmethod
    def _cdfs(self, t: Vector, mass: Vector, at: Vector) -> Vector:
        """Return the cdfs of one column, of distribution i at value i, ``(q,)``."""

    @abstractmethod
    def _peaks(self) -> Index:
        """Return the numbers of the points of highest density, ``(q,)``."""

    @property
    def encoding(self) -> Encoding:
        """The columns: their names, and their categories."""
        return self.support.points.encoding

    @property
    def side(self) -> str:
        """Whose columns they are: ``"y"`` or ``"x"``."""
        return "x" if self.support.points.rows.name == "X" else "y"

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""
        return self.support.sample.is_discrete

    @property
    def n_points(self) -> int:
        """The number of support points."""
        return self.support.points.n

    @property
    def table(self) -> Table | None:
        """The probabilities of the distinct values; None unless these are few."""
        few = self.support.sample.has_few_values
        return Table(self, *self.support.distinct) if few else None

    @property
    def normalised(self) -> Self:
        """The same distributions, divided by their mass."""
        return self if self.divided else replace(self, divided=True)

    def take(self, rows: Any) -> Self:
        """Return the chosen distributions."""
        return replace(self, conditions=self.conditions.take(rows))

    def reweighted(
        self, how: "Callable[[LinearDistributions], LinearDistributions]"
    ) -> "LinearDistributions":
        """Return what takes the place of these distributions, ``how(self)``."""
        return how(self)

    def units(self) -> Vector:
        """Return the standard deviations of the columns in the sample."""
        return self.support.sample.units()

    def each(
        self,
        f: Callable[[Vector, Vector, slice], NDArray[Any]],
        *,
        exact: bool = False,
    ) -> NDArray[Any]:
        """Return the results of ``f(t, mass, which)``, a part of the distributions at a time.

        Masses are ones if weights are not divided by them; see :func:`by_parts`.

        Parameters
        ----------
        f : callable
            From coefficients ``(b, m)``, masses ``(b,)`` and the slice of distributions that
            they belong to, to results with a first axis of ``b``.
        exact : bool, default=False
            Whether masses are those over all rows, where support points stand for them.
        """
        mean = self.support.mean if exact else self.support.point_mean
        return by_parts(self.conditions, mean if self.divided else None, f)

    def masses(self) -> Vector:
        """Return the sums of the weights before any division, ``(q,)``."""
        mean = self.support.mean
        return np.concatenate([1 + t @ mean for t in self.conditions.parts()])

    def expected(self, F: Vector) -> Vector:
        """Return the expectations of functions given by their sums, ``(q, k)``."""
        return self._expected(F, exact=False)

    def moments(self, F: Vector) -> Vector:
        """Return the expectations of functions given by their sums over all rows, ``(q, k)``."""
        return self._expected(F, exact=True)

    def _expected(self, F: Vector, *, exact: bool) -> Vector:
        def work(t: Vector, mass: Vector, _: slice) -> Vector:
            found: Vector = (t @ F[1:] + F[0]) / mass[:, None]
            return found

        return self.each(work, exact=exact)

    def expected_in_pairs(self, sums: Callable[[slice], Vector]) -> Vector:
        """Return the expectation under distribution i of function i, ``(q,)``.

        Parameters
        ----------
        sums : callable
            From a slice of the distributions to the sums of their functions, as rows.
        """

        def pairs(t: Vector, mass: Vector, part: slice) -> Vector:
            F = sums(part)
            found: Vector = (F[:, 0] + np.einsum("qm,qm->q", t, F[:, 1:])) / mass
            return found

        return self.each(pairs)

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``."""
        return self.expected(self.support.expectations(f))

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""
        centred = self.moments(self.support.first_powers)
        return centred + np.multiply.outer(self._totals(), self.support.origin)

    def second_moments(self) -> Vector:
        """Return the means of products of two columns, ``(q, d, d)``."""
        o = self.support.origin
        cross = self.moments(self.support.first_powers)[:, :, None] * o
        found: Vector = (
            _symmetric(self.moments(self.support.second_powers), len(o))
            + cross
            + np.swapaxes(cross, 1, 2)
            + np.multiply.outer(self._totals(), np.multiply.outer(o, o))
        )
        return found

    def covariances(self) -> Vector:
        """Return the covariances after division by the mass, ``(q, d, d)``."""
        dists, support = self.normalised, self.support
        v = dists.moments(support.first_powers)
        products = _symmetric(dists.moments(support.second_powers), support.points.width)
        found: Vector = products - v[:, :, None] * v[:, None, :]
        return found

    def _signed_variances(self) -> Vector:
        """Return the variances of columns, which may be negative."""
        dists, support = self.normalised, self.support
        squares = dists.moments(support.squared_powers)
        return squares - dists.moments(support.first_powers) ** 2

    def _totals(self) -> Vector:
        """Return the sums of the weights: ones if they are divided by the mass."""
        return np.ones(self.conditions.n) if self.divided else self.masses()

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""

        def of_column(column: int) -> Vector:
            def work(t: Vector, mass: Vector, _: slice) -> Vector:
                same = np.broadcast_to(levels, (len(t), len(levels)))
                return self._quantiles(column, t, mass, same)

            return self.each(work)

        return np.stack([of_column(i) for i in range(self.support.points.width)], axis=-1)

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs: of distribution i at point i ``(q,)``, or of all at all ``(q, k)``."""
        support = self.support
        if support.points.width == 1:
            at = points[:, 0]
            if paired:
                return self.each(lambda t, mass, part: self._cdfs(t, mass, at[part]))
            return self.expected(support.prefix_sums(0).prefix(at)[0].T)
        if paired:
            return self.each(
                lambda t, m, part: scan.paired_cdfs(support, t, m, points[part])
            )
        return self.expected(scan.cdf_sums(support, points))

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""

        def work(t: Vector, mass: Vector, part: slice) -> Vector:
            own = points[part].T
            return np.stack([self._cdfs(t, mass, at) for at in own], axis=1)

        return self.each(work)

    def draws(self, uniform: Vector) -> Vector:
        """Return draws ``(q, size, d)`` made from uniform numbers ``(q, size)``.

        Of one column of numbers, the quantiles at these levels; else support points, drawn
        after negative weights are set to zero.
        """
        support = self.support
        if support.points.is_scalar:
            drawn = self.each(lambda t, m, part: self._quantiles(0, t, m, uniform[part]))
            return drawn[..., None]
        return self._picked(
            self.each(lambda t, m, part: scan.clipped_draws(support, t, m, uniform[part]))
        )

    def modes(self) -> Vector:
        """Return the most likely points, ``(q, d)``; NaN where there is no distribution."""
        support = self.support
        if support.sample.has_few_values:
            points, sums = support.distinct
            likely = self.each(lambda t, _mass, _: scan.likeliest(sums, t))
            return _blank(points[likely], likely < 0)
        if not self.is_discrete:
            return self._picked(self._peaks())
        shares = support.points.shares
        return self._picked(self.each(lambda t, m, _: scan.largest(support, t, m, shares)))

    def points(self) -> Vector:
        """Return the support points, ``(n, d)``."""
        return self.support.points.table()

    def weights(self) -> Vector:
        """Return the weights of all support points, ``(q, n)``."""
        return self.each(lambda t, m, _: scan.all_weights(self.support, t, m))

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""
        dists = self.normalised
        return dists.each(lambda t, m, _: scan.negative_share(self.support, t, m))

    def negative_ratios(self, below: float) -> Vector:
        """Return the share of the sample whose ratio to the marginal is below a limit."""
        return self.each(lambda t, _m, _: scan.negative_ratios(self.support, t, below))

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights, ``(q,)``."""
        squared = self.support.squared_weights
        return self.normalised.each(lambda t, mass, _: mass**2 / squared(t))

    def energy_scores(
        self, points: Vector, *, unit: Vector | None = None
    ) -> tuple[Vector, Vector]:
        r"""Return the energy scores at a point each, and those of the marginal distribution.

        One column of numbers costs :math:`O(\sqrt n\, m)` a distribution.
        """
        energy, executor = Energy.on(self.support, unit), self.support.points.executor

        def scores(t: Vector, _: Vector, part: slice) -> Vector:
            own, step = points[part], energy.step
            slices = [slice(i, i + step) for i in range(0, len(t), step)]
            work = lambda s: energy.both_scores(t[s], own[s])  # noqa: E731
            return np.concatenate(list(executor.each(work, slices)))

        found = self.normalised.each(scores)
        return found[:, 0], found[:, 1]

    def _picked(self, which: Index) -> Vector:
        """Return the points of given numbers, coded; NaN for -1."""
        flat = which.ravel()
        points = to_numpy(self.support.points.rows.take(np.maximum(flat, 0)))
        return _blank(points, flat < 0).reshape(*which.shape, points.shape[1])


def _blank(points: Vector, bad: NDArray[np.bool_]) -> Vector:
    """Return points, NaN where there is none."""
    return np.where(bad[..., None], np.nan, points) if bad.any() else points


def _symmetric(upper: Vector, d: int) -> Vector:
    """Return symmetric matrices, given their elements on and above the diagonal."""
    which = np.zeros((d, d), dtype=np.intp)
    which[np.triu_indices(d)] = np.arange(upper.shape[1])
    return upper[:, np.maximum(which, which.T)]
