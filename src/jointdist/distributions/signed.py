r"""The arithmetic of many laws at once.

All that a law needs of the atoms are sums :math:`F = \sum_j \omega_j (1, \Psi(y_j))
f(y_j)`; its expectation of :math:`f` is :math:`(1, t) F / \text{mass}`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.distributions import weights as scan
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.kde import Smoothed, smoothed
from jointdist.distributions.quantiles import quantiles
from jointdist.distributions.sorted_support import Ordered, order_by
from jointdist.distributions.support_points import Atoms, FewAtoms
from jointdist.errors import SignedDistributionWarning, warn_user

__all__ = ["FewSupport", "Laws", "Projection", "Support", "blank", "units_of"]

NO_MASS = 1e-8  # of which, less than one as it is, rounding leaves too few digits


class Support:
    """The atoms of a side, with what laws on them share; computed when first needed.

    Parameters
    ----------
    atoms : Atoms
        The atoms.
    """

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self._ordered: dict[int, Ordered] = {}

    def ordered(self, column: int) -> Ordered:
        """Return the atoms in the order of a column."""
        if column not in self._ordered:
            self._ordered[column] = order_by(self.atoms, column)
        return self._ordered[column]

    @cached_property
    def density(self) -> Smoothed:
        """The smoothed density of the atoms."""
        return smoothed(self.atoms)

    @cached_property
    def heights(self) -> Vector:
        """The height of each atom before the law weighs it: its density, or its share."""
        if self.atoms.discrete:
            return self.atoms.shares
        return np.where(self.atoms.shares > 0, self.density.at(self.points()), 0.0)

    def quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        """Return the lowest values at which cdfs of a column reach levels, ``(q, l)``.

        Parameters
        ----------
        column : int
            The column.
        t, mass : arrays of shape (q, m) and (q,)
            The laws.
        levels : array of shape (q, l)
            The levels, for each law its own.
        """
        return quantiles(self.ordered(column), t, mass, levels)

    def cdfs(self, t: Vector, mass: Vector, points: Vector) -> Vector:
        """Return the cdfs of laws of one column at a point each, ``(q,)``.

        Parameters
        ----------
        t, mass : arrays of shape (q, m) and (q,)
            The laws.
        points : array of shape (q,)
            The points.
        """
        F, _ = self.ordered(0).prefix(points)
        found: Vector = (F[:, 0] + np.einsum("qm,qm->q", t, F[:, 1:])) / mass
        return found

    def density_sums(self, points: Vector) -> Vector:
        r"""Return the sums :math:`p(y) (1, \Psi(y))` at points, whose law is the density.

        Parameters
        ----------
        points : array of shape (k, d)
            The points, coded.
        """
        sums = np.insert(self.atoms.features(points), 0, 1.0, axis=1)
        sums *= self.density.at(points)[:, None]
        return sums

    def peaks(self, t: Vector, mass: Vector) -> NDArray[np.intp]:
        """Return the atom of the highest density, or weight, of each law.

        Parameters
        ----------
        t, mass : arrays of shape (q, m) and (q,)
            The laws.
        """
        return scan.largest(self.atoms, t, mass, self.heights)

    def points(self) -> Vector:
        """Return all atoms, coded, ``(n, d)``."""

        def block(_start: int, z: Array) -> Vector:
            points: Vector = to_numpy(z)
            return points

        return np.concatenate(list(self.atoms.executor.map(block, self.atoms.rows)))


class FewSupport(Support):
    """Atoms so few that a function stands for each: any weights at all are a law.

    A density is a Gaussian around each atom, as wide as those of the whole sample are.

    Parameters
    ----------
    atoms : FewAtoms
        The atoms.
    """

    def __init__(self, atoms: FewAtoms) -> None:
        super().__init__(atoms)
        self.sample = atoms.sample

    @cached_property
    def density(self) -> Smoothed:
        """The smoothed density of the sample."""
        return smoothed(self.sample)

    def density_sums(self, points: Vector) -> Vector:
        r"""Return the sums :math:`\sum_j \omega_j (1, \Psi(y_j)) g(y - y_j)` at points.

        Parameters
        ----------
        points : array of shape (k, d)
            The points, coded.
        """
        sums = self.atoms.expectations(lambda z: self.density.around(z, points).T)
        return sums.T

    def peaks(self, t: Vector, mass: Vector) -> NDArray[np.intp]:
        """Return the atom of the highest density, or weight, of each law.

        Parameters
        ----------
        t, mass : arrays of shape (q, m) and (q,)
            The laws.
        """
        if self.atoms.discrete:
            return super().peaks(t, mass)
        return scan.likeliest(self.density_sums(self.points()), t)


@dataclass(frozen=True, eq=False)
class Projection:
    """How far valid laws are from the signed ones that they stand for, one number a law.

    Attributes
    ----------
    kind : {"projected", "isotonic"}
        How they were made.
    missed : array of shape (q,)
        By how much a mean that is kept was missed at most, in standard deviations of the
        sample: of the moments and features, or of an isotonic law the mean alone.
    moved : array of shape (q,)
        The weight that is elsewhere than under the signed law, the total variation.
    information : array of shape (q,)
        The Kullback-Leibler divergence to the law of the sample: zero if the condition says
        nothing.
    effective_size : array of shape (q,)
        How many atoms a law is worth.
    converged : array of shape (q,)
        Whether the projection was found with the ridge that was asked for; if not, the law
        is that of a larger ridge.
    """

    kind: str
    missed: Vector
    moved: Vector
    information: Vector
    effective_size: Vector
    converged: NDArray[np.bool_]

    def __repr__(self) -> str:
        """Tell the worst and the typical."""
        q = len(self.missed)
        return (
            f"Projection({self.kind}, {q:,} law{'s' * (q != 1)}; a mean missed by "
            f"{np.median(self.missed):.2g}, at most {self.missed.max():.2g}; weight moved "
            f"{np.median(self.moved):.2g}, at most {self.moved.max():.2g}; effective size "
            f"{np.median(self.effective_size):.3g}; {self.converged.sum():,} converged)"
        )


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws on the atoms of a side.

    Attributes
    ----------
    support : Support
        The atoms.
    queries : Queries or Fixed
        The coefficients of the laws.
    divided : bool, default=True
        Whether weights are divided by their sum, the mass of the law.
    """

    support: Support
    queries: Queries | Fixed
    divided: bool = True

    @property
    def atoms(self) -> Atoms:
        """The atoms."""
        return self.support.atoms

    @property
    def encoding(self) -> Encoding:
        """What the columns are."""
        return self.atoms.encoding

    @property
    def origin(self) -> Vector:
        """The point that moments are taken around."""
        return self.atoms.origin

    @property
    def units(self) -> Vector:
        """The standard deviations of the columns in the sample."""
        atoms = self.atoms.sample if isinstance(self.atoms, FewAtoms) else self.atoms
        return units_of(to_numpy(atoms.rows.read(0, atoms.n)), atoms.shares)

    @property
    def few(self) -> bool:
        """Whether there are few distinct values, that laws are weights of."""
        return self.atoms.few

    def take(self, rows: Any) -> "Laws":
        """Return the chosen laws.

        Parameters
        ----------
        rows : index
            Which.
        """
        return replace(self, queries=self.queries.take(rows))

    def each(self, f: Callable[[Vector, Vector, slice], NDArray[Any]]) -> NDArray[Any]:
        """Return the results of ``f(t, mass, which)`` for all laws, a part at a time.

        If they are divided by it, there is no law without a mass to speak of, and the result
        is NaN (-1 for integers). If not, ``f`` gets ones.
        """
        results, start, none = [], 0, 0
        for t in self.queries.parts():
            mass = 1 + t @ self.atoms.mean if self.divided else np.ones(len(t))
            bad = ~(mass > NO_MASS)
            if bad.any():
                none += int(bad.sum())
                t, mass = np.where(bad[:, None], 0.0, t), np.where(bad, 1.0, mass)  # noqa: PLW2901
            found = f(t, mass, slice(start, start + len(t)))
            if bad.any():
                found[bad] = np.nan if found.dtype.kind == "f" else -1
            results.append(found)
            start += len(t)
        if none:
            msg = (
                f"Conditional: {none} of {start} conditions have no law, as its mass is not "
                "positive; what they are asked is NaN. Raise `regularization`, or see by "
                "`novelty` whether they are unlike the sample."
            )
            warn_user(msg, SignedDistributionWarning)
        return results[0] if len(results) == 1 else np.concatenate(results)

    @property
    def normalised(self) -> "Laws":
        """The same laws, divided by their mass."""
        return self if self.divided else replace(self, divided=True)

    def masses(self) -> Vector:
        """Return the masses of the laws, before any division."""
        return np.concatenate([1 + t @ self.atoms.mean for t in self.queries.parts()])

    def totals(self) -> Vector:
        """Return the sums of the weights: ones if they are divided by the mass."""
        return np.ones(self.queries.n) if self.divided else self.masses()

    def expected(self, F: Vector) -> Vector:
        """Return the expectations of functions given by their sums, ``(q, k)``."""
        return self.each(lambda t, mass, _: (t @ F[1:] + F[0]) / mass[:, None])

    def expected_in_pairs(self, sums: Callable[[slice], Vector]) -> Vector:
        """Return the expectation under law i of function i, ``(q,)``.

        The sums of the functions of some laws are asked for as rows.
        """

        def pairs(t: Vector, mass: Vector, own: slice) -> Vector:
            F = sums(own)
            found: Vector = (F[:, 0] + np.einsum("qm,qm->q", t, F[:, 1:])) / mass
            return found

        return self.each(pairs)

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations of functions, ``(q, k)``.

        Parameters
        ----------
        f : callable
            From atoms, coded, ``(b, d)`` to numbers ``(b, k)``.
        """
        return self.expected(self.atoms.expectations(f))

    def means(self) -> Vector:
        """Return the means less the origin, ``(q, d)``."""
        return self.expected(self.atoms.first_powers)

    def products(self) -> Vector:
        """Return the means of products of columns less the origin, ``(q, d, d)``."""
        upper = self.expected(self.atoms.second_powers)
        d = self.atoms.width
        which = np.zeros((d, d), dtype=np.intp)
        which[np.triu_indices(d)] = np.arange(upper.shape[1])
        return upper[:, np.maximum(which, which.T)]

    def squares(self) -> Vector:
        """Return the means of squares of columns less the origin, ``(q, d)``."""
        return self.expected(self.atoms.squared_powers)

    def covariances(self) -> Vector:
        """Return the covariances of the laws divided by their mass, ``(q, d, d)``."""
        dists = self.normalised
        v = dists.means()
        found: Vector = dists.products() - v[:, :, None] * v[:, None, :]
        return found

    def variances(self) -> Vector:
        """Return the variances of columns, of the laws divided by their mass, ``(q, d)``."""
        dists = self.normalised
        return dists.squares() - dists.means() ** 2

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""

        def of_column(column: int) -> Vector:
            def work(t: Vector, mass: Vector, _: slice) -> Vector:
                every = np.broadcast_to(levels, (len(t), len(levels)))
                return self.support.quantiles(column, t, mass, every)

            return self.each(work)

        return np.stack([of_column(i) for i in range(self.atoms.width)], axis=-1)

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs at points ``(k, d)``: law i at point i, or all laws at all points."""
        if self.atoms.width == 1:
            if paired:
                at = points[:, 0]
                return self.each(lambda t, mass, own: self.support.cdfs(t, mass, at[own]))
            return self.expected(self.support.ordered(0).prefix(points[:, 0])[0].T)

        def below(z: Vector, at: Vector) -> Vector:
            found = np.ones((len(z), len(at)))
            for column, limit in zip(z.T, at.T, strict=True):
                found *= column[:, None] <= limit
            return found

        if not paired:

            def expectations(own: slice) -> Vector:
                return self.atoms.expectations(lambda z: below(z, points[own]))

            slices = scan.slices(self.atoms.executor.block_rows, len(points))
            return self.expected(np.concatenate([*map(expectations, slices)], axis=1))

        def pairs(t: Vector, mass: Vector, own: slice) -> Vector:
            at = points[own]
            f = lambda z, dists: below(z, at[dists])  # noqa: E731
            return scan.paired_sums(self.atoms, t, mass, f)

        return self.each(pairs)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities at points ``(k, d)``, paired or all, or their logarithms."""
        if paired:
            found = self.expected_in_pairs(
                lambda own: self.support.density_sums(points[own])
            )
        else:
            found = self.expected(self.support.density_sums(points).T)
        if not log:
            return found
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(found, 0))

    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities at points of each law, ``(q, k, d)``, as ``(q, k)``."""
        points = np.swapaxes(points, 0, 1)
        return np.stack([self.density(at, paired=True, log=log) for at in points], axis=1)

    def projection(self) -> Projection | None:
        """Return how far valid laws are from signed ones; None if these are signed."""
        return None

    def effective_size(self) -> Vector:
        """Return one over the sum of squared weights."""
        squared = self.atoms.squared_weights
        return self.each(lambda t, mass, _: mass**2 / squared(t))

    def draws(self, uniform: Vector) -> NDArray[Any]:
        """Return draws made from uniform numbers ``(q, size)``, as points ``(..., d)``."""
        atoms = self.atoms
        if atoms.width == 1 and atoms.encoding.numeric:
            found = self.support.quantiles
            drawn = self.each(lambda t, m, own: found(0, t, m, uniform[own]))
            return drawn[..., None]
        which = self.each(lambda t, m, own: scan.clipped_draws(atoms, t, m, uniform[own]))
        return self.picked(which)

    def modes(self) -> Vector:
        """Return the most likely atoms, coded, ``(q, d)``; NaN where there is no law."""
        if self.few:
            points, sums = self.atoms.distinct.points, self.atoms.distinct.sums
            likely = self.each(lambda t, _mass, _: scan.likeliest(sums, t))
            return blank(points[likely], likely < 0)
        return self.picked(self.each(lambda t, m, _: self.support.peaks(t, m)))

    def points(self) -> Vector:
        """Return all atoms, coded, ``(n, d)``."""
        return self.support.points()

    def in_order(self) -> NDArray[np.intp]:
        """Return the numbers of all atoms with weight, those of a cell next to each other."""
        atoms = self.atoms
        order = self.support.ordered(0).order if atoms.width == 1 else atoms.order()
        kept: NDArray[np.intp] = order[atoms.shares[order] > 0]
        return kept

    def picked(self, which: NDArray[np.intp]) -> Vector:
        """Return the atoms of given numbers, coded; NaN for -1."""
        flat = which.ravel()
        points = to_numpy(self.atoms.rows.take(np.maximum(flat, 0)))
        return blank(points, flat < 0).reshape(*which.shape, self.atoms.width)


def blank(points: Vector, bad: NDArray[np.bool_]) -> Vector:
    """Return points, NaN where there is none."""
    return np.where(bad[..., None], np.nan, points) if bad.any() else points


def units_of(points: Vector, weights: Vector) -> Vector:
    """Return the standard deviation of each column; one for a constant.

    Parameters
    ----------
    points : array of shape (k, d)
        The points.
    weights : array of shape (k,)
        Their weights.
    """
    share = weights / weights.sum()
    unit: Vector = np.sqrt(share @ (points - share @ points) ** 2)
    return np.where(unit > 0, unit, 1.0)
