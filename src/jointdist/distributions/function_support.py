r"""Support points with functions that can be evaluated anywhere.

The cdf of a distribution at a point is one inner product with the sum of :math:`\omega (1,
\Psi)` before its block of sorted points, plus a short sum inside it.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from operator import add

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist._cached import Cached, cached
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.distributions.support import Distinct, Support, Tables
from jointdist.distributions.support_points import Ordering, groups

__all__ = ["FunctionPrefixSums", "FunctionSupport"]


@dataclass(frozen=True, eq=False)
class FunctionPrefixSums(Cached):
    """Prefix sums of functions that are evaluated at the points, block by block.

    Attributes
    ----------
    ordering : Ordering
        The sorted points.
    rows : Rows
        The sorted points themselves.
    features : callable
        From rows to the functions there.
    executor : Executor
        How blocks are worked on.
    """

    ordering: Ordering
    rows: Rows
    features: Callable[[Array], Vector]
    executor: Executor

    @cached
    def tables(self) -> Tables:
        """The sums before each block.

        Were the functions constant in a block, a cdf would go straight from one end to the
        other; they differ from those of its middle point by at most a radius, which bounds
        the slack.
        """
        at = self.ordering
        middle = (at.edges[:-1] + at.edges[1:] - 1) // 2
        centres = self.features(self.rows.take(middle))
        k, m = centres.shape
        table, first = np.zeros((2, k + 1, 1 + m))
        radius = np.zeros(k)
        block_of = np.repeat(np.arange(k), np.diff(at.edges))

        def piece(start: int, z: Array) -> tuple[Index, Vector, Vector, Vector]:
            part = slice(start, start + z.shape[0])
            blocks = block_of[part]
            starts = np.flatnonzero(np.diff(blocks, prepend=-1))
            psi, share = self.features(z), at.shares[part]
            f = share[:, None] * np.concatenate([np.ones((len(psi), 1)), psi], axis=1)
            away = np.sqrt(((psi - centres[blocks]) ** 2).sum(axis=1))
            moved = f * (at.values[part] - at.middle)[:, None]
            return (
                blocks[starts],
                np.add.reduceat(f, starts),
                np.add.reduceat(moved, starts),
                np.maximum.reduceat(away, starts),
            )

        for blocks, sums, moved, away in self.executor.map(piece, self.rows):
            table[1 + blocks] += sums
            first[1 + blocks] += moved
            radius[blocks] = np.maximum(radius[blocks], away)
        weight = table[1:, 0].copy()
        return Tables(np.cumsum(table, axis=0), np.cumsum(first, axis=0), weight * radius)

    def weighted(self, start: int, end: int) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of a range of sorted points, as rows."""
        psi = self.features(self.rows.read(start, end))
        return self.ordering.shares[start:end, None] * np.insert(psi, 0, 1.0, axis=1)

    def prefix(self, points: Vector) -> tuple[Vector, Vector]:
        r"""Return the sums of :math:`\omega (1, \Psi)` and of :math:`\omega v (1, \Psi)`
        over the points up to each value, of shape ``(k, 1 + m)``.
        """
        at, tables = self.ordering, self.tables
        upto = np.searchsorted(at.values, points, side="right")
        block = np.searchsorted(at.edges, upto, side="right") - 1
        sums, moved = tables.table[block], tables.first[block]
        inside = np.flatnonzero(upto > at.edges[block])

        def work(group: Index) -> tuple[Index, Vector, Vector]:
            start = int(at.edges[block[group[0]]])
            end = int(upto[group].max())
            f = self.weighted(start, end)
            place = upto[group] - start - 1
            v = (at.values[start:end] - at.middle)[:, None]
            return group, np.cumsum(f, axis=0)[place], np.cumsum(f * v, axis=0)[place]

        for group, a, b in self.executor.each(work, groups(inside, block)):
            sums[group] += a
            moved[group] += b
        return sums, moved

    @cached
    def spread(self) -> Vector:
        r"""The matrix :math:`D` with :math:`E |Y - Y'| = (1, t)^\top D (1, t)`.

        :math:`D = \int P (S - P)^\top + (S - P) P^\top` with the sums :math:`P(v)` of
        :math:`\omega (1, \Psi)` up to :math:`v`, and :math:`S` over all points.
        """
        at, table = self.ordering, self.tables.table
        gaps = np.append(np.diff(at.values), 0.0)

        def work(b: int) -> Vector:
            start, end = int(at.edges[b]), int(at.edges[b + 1])
            if at.is_single(b):
                P, gap = table[b + 1, None], gaps[end - 1 : end]
            else:
                f = self.weighted(start, end)
                P, gap = np.cumsum(f, axis=0) + table[b], gaps[start:end]
            half: Vector = (P * gap[:, None]).T @ (table[-1] - P)
            return half

        D = sum(self.executor.each(work, range(len(at.edges) - 1)))
        spread: Vector = D + np.transpose(D)
        return spread


@dataclass(frozen=True, eq=False, kw_only=True)
class FunctionSupport(Support):
    r"""Support points with functions :math:`\Psi` that can be evaluated anywhere."""

    @abstractmethod
    def features(self, z: Array) -> Vector:
        """Return the functions at points, as rows."""

    @property
    def cells(self) -> None:
        """None: the functions are not indicators."""

    @cached
    def point_mean(self) -> Vector:
        """The means of the functions over the support points, which stand for all rows."""
        if self.points.merged is None:
            return self.mean
        return self.expectations(lambda z: np.ones((len(z), 1)))[1:, 0]

    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + \Psi \cdot t` of a block of points, ``(b, q)``."""
        del start
        found: Vector = self.features(z) @ t.T
        found += 1.0
        return found

    def weighted(self, rows: Index) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of points, as rows."""
        psi = self.features(self.points.rows.take(rows))
        return self.points.shares[rows, None] * np.insert(psi, 0, 1.0, axis=1)

    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the mean of :math:`(1, \Psi)^\top f` over the points, in one pass."""
        shares = self.points.shares

        def block(start: int, z: Array) -> Vector:
            values = f(to_numpy(z)) * shares[start : start + z.shape[0], None]
            total = values.sum(axis=0)[None, :]
            return np.concatenate([total, self.features(z).T @ values])

        return self.points.executor.reduce(add, block, self.points.rows)

    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights, before they are divided by the mass."""
        S = self.squares
        found: Vector = S[0, 0] + 2 * t @ S[0, 1:] + ((t @ S[1:, 1:]) * t).sum(axis=1)
        return found

    @cached
    def squares(self) -> Vector:
        r"""The sum of :math:`\omega^2 (1, \Psi)^\top (1, \Psi)` over the points."""
        return self._sum_squares()

    def _sum_squares(self) -> Vector:
        points = self.points
        root = np.sqrt(points.squared_shares)

        def block(start: int, z: Array) -> Vector:
            share = root[start : start + z.shape[0], None]
            f = np.concatenate([share, share * self.features(z)], axis=1)
            product: Vector = f.T @ f
            return product

        return points.executor.reduce(add, block, points.rows)

    def grouped(self) -> Index:
        """Return the numbers of all points, as they are."""
        return np.arange(self.points.n)

    def prefix_sums(self, column: int) -> FunctionPrefixSums:
        """Return the sums over the points sorted by a column."""
        if column not in self._prefix_sums:
            at, points = self.points.ordering(column), self.points
            rows = points.rows.subset(at.order)
            sums = FunctionPrefixSums(at, rows, self.features, points.executor)
            self._prefix_sums[column] = sums
        return self._prefix_sums[column]

    @cached
    def _prefix_sums(self) -> dict[int, FunctionPrefixSums]:
        return {}

    @cached
    def distinct(self) -> Distinct:
        """The distinct points; only for variables of few values."""
        points, which = np.unique(self.points.table(), axis=0, return_inverse=True)
        sums = np.zeros((len(points), 1 + self.rank))
        psi = self.features(points)
        sums[:, 0] = np.bincount(which.ravel(), self.points.shares, len(points))
        sums[:, 1:] = sums[:, :1] * psi
        return Distinct(points, sums)

    def density_sums(self, at: Vector) -> Vector:
        r"""Return :math:`p(y) (1, \Psi(y))` at points: densities are linear in them.

        Parameters
        ----------
        at : array of shape (k, d)
            Where, coded.
        """
        sums = np.insert(self.features(at), 0, 1.0, axis=1)
        sums *= self.points.density.at(at)[:, None]
        return sums
