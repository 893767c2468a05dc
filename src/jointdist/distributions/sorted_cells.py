r"""Prefix sums of indicators of cells, and cells that lie along one column.

A distribution on cells is a weight on each cell, spread over its points in proportion to the
weights :math:`\omega` of the sample. With cells that are intervals of one column, cdfs and
quantiles need the weights of the cells and the share of one cell that lies below a point.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from jointdist._array import Index, Vector
from jointdist._cached import Cached, cached
from jointdist.data.executor import Executor
from jointdist.distributions.support import Tables
from jointdist.distributions.support_points import Ordering, groups

__all__ = ["CellPrefixSums", "Intervals", "indicator_rows"]

_ROUNDING = 1e-12  # of a cdf
_TINY = 1e-15  # of the weight of the sample


def indicator_rows(cell: Index, values: Vector, rank: int) -> csr_array:
    """Return rows with a value in the first column and in that of a cell, sparse.

    Parameters
    ----------
    cell : array of shape (k,)
        The cell of each row.
    values : array of shape (k,)
        The value of each row.
    rank : int
        The number of cells.
    """
    k = len(cell)
    columns = np.stack([np.zeros(k, dtype=np.intp), 1 + cell], axis=1)
    both = np.repeat(values, 2)
    starts = np.arange(0, 2 * k + 1, 2)
    return csr_array((both, columns.ravel(), starts), shape=(k, 1 + rank))


class Intervals(NamedTuple):
    """Cells that are intervals of one column, from the lowest to the highest.

    Attributes
    ----------
    values : array of shape (n,)
        The support points, sorted.
    order : array of shape (K,)
        The numbers of the cells.
    shares : array of shape (K,)
        Their weights in the sample.
    starts : array of shape (K + 1,)
        The first sorted point of each, and the number of points.
    upto : array of shape (n + 1,)
        The weight of the first so many points.
    place : array of shape (n,)
        The position, in order, of the cell of each sorted point.
    """

    values: Vector
    order: Index
    shares: Vector
    starts: Index
    upto: Vector
    place: Index

    @property
    def before(self) -> Vector:
        """The weight of the sample below each cell."""
        return self.upto[self.starts[:-1]]

    def weights(self, t: Vector, mass: Vector) -> Vector:
        """Return the weights of the cells in order, ``(q, K)``.

        Parameters
        ----------
        t, mass : arrays of shape (q, K) and (q,)
            The coefficients and the masses of distributions.
        """
        found: Vector = (1 + t[:, self.order]) * (self.shares / mass[:, None])
        return found

    def quantiles(self, t: Vector, mass: Vector, levels: Vector) -> Vector:
        """Return the lowest values at which cdfs reach levels, ``(q, l)``.

        Parameters
        ----------
        t, mass : arrays of shape (q, K) and (q,)
            Distributions without negative weights.
        levels : array of shape (q, l)
            The levels, for each distribution its own.
        """
        W, found = self.weights(t, mass), np.empty(levels.shape)
        F, reached, before = np.cumsum(W, axis=1), self.upto[1:], self.before
        F[:, -1] = np.inf
        for row, p, w, cdf in zip(found, levels - _ROUNDING, W, F, strict=True):
            k = np.searchsorted(cdf, p)
            below = np.where(k > 0, cdf[k - 1], 0.0)
            share = np.divide(p - below, w[k], out=np.zeros_like(p), where=w[k] > 0)
            sought = before[k] + share * self.shares[k]
            j = np.searchsorted(reached, sought - _TINY)
            row[:] = self.values[np.clip(j, self.starts[k], self.starts[k + 1] - 1)]
        return found

    def cdfs(self, t: Vector, mass: Vector, points: Vector) -> Vector:
        """Return the cdf of each distribution at its own points, ``(q,)`` or ``(q, k)``.

        Parameters
        ----------
        t, mass : arrays of shape (q, K) and (q,)
            The distributions.
        points : array of shape (q,) or (q, k)
            The points.
        """
        W = self.weights(t, mass)
        F, which = np.cumsum(W, axis=1), np.arange(len(t))
        if points.ndim > 1:
            which = which[:, None]
        upto = np.searchsorted(self.values, points, side="right")
        k = self.place[np.maximum(upto - 1, 0)]
        inside = (self.upto[upto] - self.before[k]) / self.shares[k]
        found: Vector = F[which, k] - W[which, k] * (1 - inside)
        return np.where(upto > 0, found, 0.0)


@dataclass(frozen=True, eq=False)
class CellPrefixSums(Cached):
    """Prefix sums of the indicators of cells over sorted support points.

    Attributes
    ----------
    ordering : Ordering
        The sorted points.
    cell : array of shape (n,)
        The cell of each sorted point.
    mean : array of shape (K,)
        The weights of the cells in the sample.
    executor : Executor
        How blocks are worked on.
    """

    ordering: Ordering
    cell: Index
    mean: Vector
    executor: Executor

    @cached
    def tables(self) -> Tables:
        """The sums before each block; without slack, as cdfs on cells do not fall."""
        at = self.ordering
        k, rank = len(at.edges) - 1, len(self.mean)
        block = np.repeat(np.arange(k), np.diff(at.edges))

        def table(values: Vector) -> Vector:
            found = np.zeros((k + 1, 1 + rank))
            within = np.bincount(block * rank + self.cell, values, k * rank)
            found[1:, 1:] = np.cumsum(within.reshape(k, rank), axis=0)
            found[1:, 0] = found[1:, 1:].sum(axis=1)
            return found

        moved = at.shares * (at.values - at.middle)
        return Tables(table(at.shares), table(moved), np.zeros(k))

    def weighted(self, start: int, end: int) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of a range of sorted points, as rows."""
        cell, shares = self.cell[start:end], self.ordering.shares[start:end]
        found: Vector = indicator_rows(cell, shares, len(self.mean)).toarray()
        return found

    def prefix(self, points: Vector) -> tuple[Vector, Vector]:
        r"""Return the sums of :math:`\omega (1, \Psi)` and of :math:`\omega v (1, \Psi)`
        over the points up to each value, of shape ``(k, 1 + K)``.
        """
        if not self.in_order:
            return self._prefix_of_points(points)
        at = self.ordering
        upto = np.searchsorted(at.values, points, side="right")
        starts = np.flatnonzero(np.diff(self.cell, prepend=-1))
        order = self.cell[starts]
        k = np.searchsorted(starts, upto, side="left") - 1  # of the last point, if any

        def sums(values: Vector) -> Vector:
            total = np.insert(np.cumsum(values), 0, 0.0)
            whole = np.diff(total[np.append(starts, len(values))])
            found = np.zeros((len(points), 1 + len(order)))
            found[:, 0] = total[upto]
            found[:, 1 + order] = np.where(np.arange(len(order)) < k[:, None], whole, 0.0)
            some = np.flatnonzero(k >= 0)
            inside = total[upto[some]] - total[starts[k[some]]]
            found[some, 1 + order[k[some]]] = inside
            return found

        return sums(at.shares), sums(at.shares * (at.values - at.middle))

    @cached
    def spread(self) -> Vector:
        """The matrix of mean distances between two draws from cells, ``(1 + K, 1 + K)``."""
        if not self.in_order:
            return self._spread_of_points()
        at, p, cell = self.ordering, self.mean, self.cell
        v = at.values - at.middle
        centres = np.bincount(cell, at.shares * v, len(p)) / p
        D = np.multiply.outer(p, p) * np.abs(centres[:, None] - centres)
        start = np.flatnonzero(np.diff(cell, prepend=-1))
        below = np.cumsum(at.shares) - at.shares  # weights of lower points, in all cells
        below -= np.repeat(below[start], np.diff(np.append(start, len(cell))))
        above = p[cell] - below - at.shares
        inside = np.bincount(cell, at.shares * v * (below - above), len(p))
        D[np.diag_indices_from(D)] = 2 * inside
        whole = np.empty((1 + len(p), 1 + len(p)))
        whole[1:, 1:] = D
        whole[0, 1:] = whole[1:, 0] = D.sum(axis=0)
        whole[0, 0] = D.sum()
        return whole

    @cached
    def in_order(self) -> bool:
        """Whether the cells are intervals of the column, one behind the other."""
        return int((np.diff(self.cell) != 0).sum()) + 1 == len(self.mean)

    def _prefix_of_points(self, points: Vector) -> tuple[Vector, Vector]:
        """Return the sums up to each value for cells that lie anywhere along the column."""
        at, tables = self.ordering, self.tables
        upto = np.searchsorted(at.values, points, side="right")
        block = np.searchsorted(at.edges, upto, side="right") - 1
        sums, moved = tables.table[block], tables.first[block]
        inside = np.flatnonzero(upto > at.edges[block])
        for group in groups(inside, block):
            part = slice(int(at.edges[block[group[0]]]), int(upto[group].max()))
            below = np.arange(part.start, part.stop) < upto[group, None]
            rows = indicator_rows(self.cell[part], at.shares[part], len(self.mean))
            sums[group] += below @ rows
            moved[group] += (below * (at.values[part] - at.middle)) @ rows
        return sums, moved

    def _spread_of_points(self) -> Vector:
        """Return the mean distances between cells that lie anywhere along the column."""
        at, tables, rank = self.ordering, self.tables, len(self.mean)

        def work(b: int) -> Vector:
            part = slice(int(at.edges[b]), int(at.edges[b + 1]))
            f, v = self.weighted(part.start, part.stop), at.values[part] - at.middle
            upto = np.cumsum(f, axis=0) + tables.table[b]
            moved = np.cumsum(f * v[:, None], axis=0) + tables.first[b]
            near = v[:, None] * (2 * upto - tables.table[-1])
            near -= 2 * moved - tables.first[-1]
            rows = indicator_rows(self.cell[part], at.shares[part], rank)
            found: Vector = rows.T @ near
            return found

        D = sum(self.executor.each(work, range(len(at.edges) - 1)))
        spread: Vector = (D + np.transpose(D)) / 2
        return spread

    @cached
    def intervals(self) -> Intervals:
        """The cells from the lowest to the highest; each is an interval of the column."""
        at = self.ordering
        starts = np.flatnonzero(np.diff(self.cell, prepend=-1))
        order = self.cell[starts]
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        upto = np.insert(np.cumsum(at.shares), 0, 0.0)
        ends = np.append(starts, len(self.cell))
        return Intervals(at.values, order, self.mean[order], ends, upto, place[self.cell])
