r"""The energy score of distributions, which for one column of numbers is the CRPS.

:math:`E |Y - y| - \frac12 E |Y - Y'|` under the distribution. It is a proper score: the lower
the better, and the distribution that the data follow has the lowest mean. It is exact for
signed distributions too: for one column it is the squared distance of the cdf to the step at
:math:`y`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.distributions.support import PrefixSums, Support
from jointdist.distributions.support_points import standard_deviations

__all__ = ["Energy", "distances"]

_MANY = 4096  # points of several columns that are compared with each other: 128 MB
_BLOCK = 256  # points whose distances to all support points are formed at a time: 8 MB
_CELLS = 1 << 21  # distributions times functions worked on at a time: 16 MB


class Energy(NamedTuple):
    r"""Sums of distances over the support points, with weights :math:`f = \omega (1, \Psi)`.

    Attributes
    ----------
    total : array of shape (1 + m,)
        The sum of :math:`f`.
    spread : array of shape (1 + m, 1 + m)
        The sum of :math:`|y - y'| f f'^\top`.
    to_points : callable
        Gives the sums of :math:`|y - z| f` for points :math:`z`, as rows.
    on_cells : bool, default=False
        Whether the functions are the indicators of cells, whose weights are then those of
        all points: where hardly any mass is left, nothing cancels.
    """

    total: Vector
    spread: Vector
    to_points: Callable[[Vector], Vector]
    on_cells: bool = False

    @staticmethod
    def on(
        support: Support, unit: Vector | None = None, *, most: int | None = None
    ) -> "Energy":
        """Return the sums over a support.

        One column of numbers is summed exactly. Several columns are measured in their
        standard deviations, and categories by whether they differ; of more than 4,096 points
        a fixed random choice of that many is compared.

        Parameters
        ----------
        support : Support
            The support points.
        unit : array of shape (d,), optional
            The units of distances along each of several columns.
        most : int, optional
            The largest number of points of several columns that are compared; by default
            4,096.
        """
        if support.points.is_scalar:
            found = _in_order(support.prefix_sums(0))
        else:
            found = _in_pairs(support, unit, _MANY if most is None else most)
        return found._replace(on_cells=support.cells is not None)

    def scores(self, t: Vector, near: Vector) -> Vector:
        """Return the scores of distributions, divided by their mass, at a point each.

        Parameters
        ----------
        t : array of shape (q, m)
            The coefficients of the distributions.
        near : array of shape (q, 1 + m)
            What ``to_points`` gives for the points.
        """
        first = 1 if self.on_cells else 0
        w = 1 + t if self.on_cells else np.insert(t, 0, 1.0, axis=1)
        w /= (w @ self.total[first:])[:, None]
        apart = np.einsum("qm,qm->q", w @ self.spread[first:, first:], w)
        found: Vector = np.einsum("qm,qm->q", w, near[:, first:]) - apart / 2
        return found

    def products(self, members: Sequence[Vector], near: Vector) -> Vector:
        r"""Return the products of the errors of several distributions at a point each.

        They are :math:`E|Y_k - y| + E|Y_l - y| - E|Y_k - Y_l|`, half of which is the score if
        k and l are equal.

        Parameters
        ----------
        members : sequence of arrays of shape (q, m)
            The weights of the functions under each member, of mass one.
        near : array of shape (q, 1 + m)
            What ``to_points`` gives for the points.

        Returns
        -------
        array of shape (q, k, k)
            The products.
        """
        first = 1 if self.on_cells else 0
        near, spread = near[:, first:], self.spread[first:, first:]
        to_point = np.stack([np.einsum("qm,qm->q", w, near) for w in members], axis=1)
        apart = [
            [np.einsum("qm,qm->q", a, b) for b in members]
            for a in (w @ spread for w in members)
        ]
        between = np.stack([np.stack(row, axis=1) for row in apart], axis=1)
        found: Vector = to_point[:, :, None] + to_point[:, None, :] - between
        return found

    def marginal_scores(self, near: Vector) -> Vector:
        """Return the scores of the distribution of the sample at points.

        Parameters
        ----------
        near : array of shape (q, 1 + m)
            What ``to_points`` gives for the points.
        """
        one = self.total[0]
        found: Vector = near[:, 0] / one - self.spread[0, 0] / one**2 / 2
        return found

    def both_scores(self, t: Vector, points: Vector) -> Vector:
        """Return the scores of distributions and of the sample at a point each, ``(q, 2)``.

        Parameters
        ----------
        t : array of shape (q, m)
            The coefficients of the distributions.
        points : array of shape (q, d)
            The points, coded.
        """
        near = self.to_points(points)
        return np.stack([self.scores(t, near), self.marginal_scores(near)], axis=1)

    @property
    def step(self) -> int:
        """Distributions that are scored at a time."""
        return max(_CELLS // len(self.total), 1)


def _in_order(sums: PrefixSums) -> Energy:
    """Return the distances along a column, from sums up to each point."""
    table, first = sums.tables.table[-1], sums.tables.first[-1]
    middle = sums.ordering.middle

    def to_points(points: Vector) -> Vector:
        upto, moved = sums.prefix(points[:, 0])
        v = (points[:, 0] - middle)[:, None]
        near: Vector = v * (2 * upto - table) - (2 * moved - first)
        return near

    return Energy(table, sums.spread, to_points)


def _in_pairs(support: Support, unit: Vector | None, most: int) -> Energy:
    """Return the distances between points of several columns or categories, one by one."""
    points, encoding = support.points, support.points.encoding
    if support.sample.has_few_values:
        chosen, sums = support.distinct
        shares = sums[:, 0]
    else:
        rows = np.flatnonzero(points.shares)
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
        chosen, sums = to_numpy(points.rows.take(rows)), support.weighted(rows)
        shares = points.shares[rows]
    scale = standard_deviations(chosen, shares) if unit is None else unit

    def near(part: Vector) -> Vector:
        found: Vector = distances(encoding, scale, part, chosen) @ sums
        return found

    def to_points(at: Vector) -> Vector:
        parts = (at[start : start + _BLOCK] for start in range(0, len(at), _BLOCK))
        return np.concatenate(list(points.executor.each(near, parts)))

    return Energy(sums.sum(axis=0), sums.T @ to_points(chosen), to_points)


def distances(encoding: Encoding, unit: Vector, a: Vector, b: Vector) -> Vector:
    """Return the distances of all pairs of points; categories that differ are one apart.

    Parameters
    ----------
    encoding : Encoding
        Which columns are categorical.
    unit : array of shape (d,)
        The units of the numeric columns.
    a, b : arrays of shape (k, d) and (l, d)
        The points, coded.
    """
    squared = np.zeros((len(a), len(b)))
    columns = zip(a.T, b.T, unit, encoding.categories, strict=True)
    for x, z, one, categories in columns:
        if categories is None:
            squared += ((x[:, None] - z) / one) ** 2
        else:
            squared += x[:, None] != z
    return np.sqrt(squared)
