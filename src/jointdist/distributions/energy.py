r"""How good laws are: the energy score, which for one column of numbers is the CRPS.

:math:`E |Y - y| - \frac12 E |Y - Y'|` under the law; the lower the better, and the law
that the data follow has the lowest mean. It is exact for signed laws too: for one column
it is the squared distance of the cdf to the step at :math:`y`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.distributions.location_scale import Moved
from jointdist.distributions.signed import Laws, Support, units_of
from jointdist.distributions.sorted_support import Ordered
from jointdist.distributions.support_points import Atoms

__all__ = ["Energy", "distances", "energy_scores"]

_MANY = 4096  # atoms of several columns that are compared with each other
_CELLS = 1 << 23  # of laws by features that are worked on at a time
_POINTS = 256  # whose distances to all atoms are formed at a time


class Energy(NamedTuple):
    r"""Sums of distances over the atoms, with weights :math:`f = \omega (1, \Psi)`.

    Attributes
    ----------
    total : array of shape (1 + m,)
        The sum of :math:`f`.
    spread : array of shape (1 + m, 1 + m)
        The sum of :math:`|y - y'| f f'^\top`.
    to_points : callable
        Gives the sums of :math:`|y - z| f` for points :math:`z`, as rows.
    """

    total: Vector
    spread: Vector
    to_points: Callable[[Vector], Vector]

    @staticmethod
    def on(support: Support, unit: Vector | None = None) -> "Energy":
        """Return the sums over the atoms of a support.

        Parameters
        ----------
        support : Support
            The atoms.
        unit : array of shape (d,), optional
            In what distances along each of several columns are measured.
        """
        atoms = support.atoms
        scalar = atoms.width == 1 and atoms.encoding.numeric
        return _in_order(support.ordered(0)) if scalar else _in_pairs(atoms, unit)

    def scores(self, t: Vector, near: Vector) -> Vector:
        """Return the scores of laws, divided by their mass, at a point each.

        Parameters
        ----------
        t : array of shape (q, m)
            The coefficients of the laws.
        near : array of shape (q, 1 + m)
            What ``to_points`` gives for the points.
        """
        w = np.insert(t, 0, 1.0, axis=1)
        w /= (w @ self.total)[:, None]
        apart = np.einsum("qm,qm->q", w @ self.spread, w)
        found: Vector = np.einsum("qm,qm->q", w, near) - apart / 2
        return found

    def marginal_scores(self, near: Vector) -> Vector:
        """Return the scores of the law of all atoms at points.

        Parameters
        ----------
        near : array of shape (q, 1 + m)
            What ``to_points`` gives for the points.
        """
        one = self.total[0]
        found: Vector = near[:, 0] / one - self.spread[0, 0] / one**2 / 2
        return found


def energy_scores(
    dists: Laws, points: Vector, *, unit: Vector | None = None
) -> tuple[Vector, Vector]:
    r"""Return the scores of the laws at points, and those of the law of all atoms.

    One column of numbers costs :math:`O(\sqrt n\, m)` a law. Several columns are measured
    in their standard deviations, words by whether they differ; of more than 4,096 atoms
    a fixed random choice of that many is compared.

    Parameters
    ----------
    dists : Laws
        The laws.
    points : array of shape (q, d)
        For each law a point, coded.
    unit : array of shape (d,), optional
        In what distances along each of several columns are measured.

    Returns
    -------
    tuple of arrays of shape (q,)
        The scores of the laws, and of the marginal law.
    """
    if isinstance(dists, Moved):
        return _moved_scores(dists, points, dists.units if unit is None else unit)
    energy = Energy.on(dists.support, unit)

    def score(t: Vector, _mass: Vector, own: slice) -> Vector:
        found, step = np.empty((len(t), 2)), _CELLS // len(energy.total)
        for start in range(0, len(t), step):
            part = slice(start, min(start + step, len(t)))
            near = energy.to_points(points[own][part])
            found[part, 0] = energy.scores(t[part], near)
            found[part, 1] = energy.marginal_scores(near)
        return found

    scores = dists.normalised.each(score)
    return scores[:, 0], scores[:, 1]


def _moved_scores(dists: Moved, points: Vector, unit: Vector) -> tuple[Vector, Vector]:
    """Return the scores of moved laws, and those of the law of all residuals, moved."""
    if points.shape[1] > 1:
        scores = dists.energy(points, unit)
        return scores, np.full_like(scores, np.nan)
    at = (points - dists.shift) / dists.stretch
    own, marginal = energy_scores(dists.base, at)
    return dists.stretch[:, 0] * own, dists.stretch[:, 0] * marginal


def _in_order(ordered: Ordered) -> Energy:
    """Return the distances along a column, from sums up to each point."""
    table, first = ordered.table[-1], ordered.first[-1]

    def to_points(points: Vector) -> Vector:
        sums, moved = ordered.prefix(points[:, 0])
        v = (points[:, 0] - ordered.middle)[:, None]
        near: Vector = v * (2 * sums - table) - (2 * moved - first)
        return near

    return Energy(table, ordered.spread, to_points)


def _in_pairs(atoms: Atoms, unit: Vector | None) -> Energy:
    """Return the distances between points of several columns or words, one by one."""
    if atoms.few:
        chosen, sums = atoms.distinct.points, atoms.distinct.sums
        shares = sums[:, 0]
    else:
        rows = np.flatnonzero(atoms.shares)
        if len(rows) > _MANY:
            rows = np.sort(np.random.default_rng(0).choice(rows, _MANY, replace=False))
        chosen, sums = to_numpy(atoms.rows.take(rows)), atoms.sums(rows)
        shares = atoms.shares[rows]
    unit = units_of(chosen, shares) if unit is None else unit

    def to_points(points: Vector) -> Vector:
        starts = range(0, len(points), _POINTS)
        parts = (points[start : start + _POINTS] for start in starts)
        return np.concatenate(
            [distances(atoms, unit, part, chosen) @ sums for part in parts]
        )

    return Energy(sums.sum(axis=0), sums.T @ to_points(chosen), to_points)


def distances(atoms: Atoms, unit: Vector, a: Vector, b: Vector) -> Vector:
    """Return the distances of all pairs: columns in their units, words that differ by one.

    Parameters
    ----------
    atoms : Atoms
        Which columns are words.
    unit : array of shape (d,)
        The units of columns of numbers.
    a, b : arrays of shape (k, d) and (l, d)
        The points, coded.
    """
    squared = np.zeros((len(a), len(b)))
    columns = zip(a.T, b.T, unit, atoms.encoding.categories, strict=True)
    for x, z, one, words in columns:
        if words is None:
            squared += ((x[:, None] - z) / one) ** 2
        else:
            squared += x[:, None] != z
    return np.sqrt(squared)
