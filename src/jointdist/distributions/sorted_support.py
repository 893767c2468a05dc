r"""Support points sorted by one column, for cdfs and quantiles of many distributions at once.

The sorted points are cut into blocks, and the sums of :math:`\omega (1, \Psi)` up to each
block are stored. The cdf of a distribution at a point is then one inner product with the sum
before its block, plus a short sum inside it; a quantile is a search over blocks, and then
inside one. With :math:`n` points a distribution costs :math:`O(\sqrt n\, m)`, not
:math:`O(n m)`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Index, Vector
from jointdist.data.executor import Executor
from jointdist.data.table import Rows

__all__ = ["KernelPrefixSums", "Ordering", "PrefixSums", "Tables", "groups", "ordering"]

_GROUP = 2048  # distributions worked on at a time: a memory budget


@dataclass(frozen=True, eq=False)
class Ordering:
    """The order of support points along one column, cut into blocks.

    Attributes
    ----------
    order : array of shape (n,)
        The numbers of the points, sorted by the column.
    values : array of shape (n,)
        The column, sorted.
    shares : array of shape (n,)
        The weights of the sorted points in the sample.
    edges : array of shape (k + 1,)
        The first point of each block, and the number of points. Points of equal value are in
        the same block.
    """

    order: Index
    values: Vector
    shares: Vector
    edges: Index

    @cached_property
    def last(self) -> NDArray[np.bool_]:
        """Whether a point is the last of those of equal value."""
        return np.append(self.values[1:] != self.values[:-1], True)

    @property
    def middle(self) -> float:
        """The median value, subtracted before values are summed: sums stay exact."""
        return float(self.values[len(self.values) // 2])

    def is_single(self, block: int) -> bool:
        """Tell whether all points of a block have the same value."""
        first, last = self.edges[block], self.edges[block + 1] - 1
        return bool(self.values[first] == self.values[last])


def ordering(values: Vector, shares: Vector) -> Ordering:
    """Return the order of values, in blocks of about the root of their number.

    Parameters
    ----------
    values : array of shape (n,)
        The values.
    shares : array of shape (n,)
        Their weights.
    """
    n = len(values)
    order = np.argsort(values, kind="stable")
    values = values[order]
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, n)
    size = max(64, int(np.sqrt(n / 3)))
    starts = np.append(0, ends[:-1])
    large = ends - starts > size
    regular = ends[np.searchsorted(ends, np.arange(size, n, size))]
    edges = np.unique(np.concatenate([[0, n], regular, starts[large], ends[large]]))
    return Ordering(order, values, shares[order], edges)


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    r"""Sums before each block of sorted points.

    Attributes
    ----------
    table : array of shape (k + 1, 1 + m)
        The sums of :math:`\omega (1, \Psi)`; the last row is over all points.
    first : array of shape (k + 1, 1 + m)
        The sums of :math:`\omega v (1, \Psi)`, of values :math:`v` less the middle one.
    slack : array of shape (k,)
        By how much a cdf may rise inside a block above both its ends, for t of norm one.
    """

    table: Vector
    first: Vector
    slack: Vector


class PrefixSums(Protocol):
    r"""Sums of :math:`\omega (1, \Psi)` over sorted support points.

    A cdf at :math:`v` is :math:`(1, t) \cdot P(v) / \text{mass}` with the sum :math:`P(v)`
    over all points up to :math:`v`; so are quantiles and the energy score linear or
    quadratic in what is stored here.
    """

    @property
    def ordering(self) -> Ordering:
        """The sorted points."""

    @property
    def executor(self) -> Executor:
        """How blocks are worked on."""

    @property
    def tables(self) -> Tables:
        """The sums before each block."""

    @property
    def spread(self) -> Vector:
        r"""The matrix :math:`D` with :math:`E |Y - Y'| = (1, t)^\top D (1, t)`."""

    def weighted(self, start: int, end: int) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of a range of sorted points, as rows."""

    def prefix(self, points: Vector) -> tuple[Vector, Vector]:
        r"""Return the sums of :math:`\omega (1, \Psi)` and of :math:`\omega v (1, \Psi)`
        over the points up to each value, of shape ``(k, 1 + m)``.
        """


@dataclass(frozen=True, eq=False)
class KernelPrefixSums:
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

    @cached_property
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

    @cached_property
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


def groups(items: Index, block: Index) -> Iterator[Index]:
    """Yield the items by block, a limited number at a time.

    Parameters
    ----------
    items : array of int
        Places in ``block``.
    block : array of int
        The block of each place.
    """
    items = items[np.argsort(block[items], kind="stable")]
    cuts = np.flatnonzero(np.diff(block[items])) + 1
    for group in np.split(items, cuts):
        for start in range(0, len(group), _GROUP):
            yield group[start : start + _GROUP]
