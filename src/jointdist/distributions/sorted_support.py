r"""Atoms in the order of one column, for cdfs and quantiles of many laws at once.

The sorted atoms are cut into blocks, and the sums of :math:`\omega (1, \Psi)` up to each
block are kept. The cdf of a law at an atom is then one inner product with the sum before
its block, plus a short sum inside it; a quantile is a search over blocks, and then
inside one. With :math:`n` atoms a law costs :math:`O(\sqrt n\, m)`, not :math:`O(n m)`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.table import Rows
from jointdist.distributions.support_points import Atoms

__all__ = ["Ordered", "groups", "order_by"]

_LAWS = 2048  # that are worked on at a time


@dataclass(frozen=True, eq=False)
class Ordered:
    """The atoms in the order of one column.

    Attributes
    ----------
    atoms : Atoms
        The atoms in their own order.
    order : array of shape (n,)
        Their numbers in the order of the column.
    values : array of shape (n,)
        The column, sorted.
    edges : array of shape (k + 1,)
        The first atom of each block, and the number of atoms. A block has all atoms of
        equal value, or none.
    """

    atoms: Atoms
    order: Index
    values: Vector
    edges: Index

    @cached_property
    def shares(self) -> Vector:
        """The weights of the sorted atoms."""
        return self.atoms.shares[self.order]

    @cached_property
    def rows(self) -> Rows:
        """The sorted atoms, copied."""
        return self.atoms.rows.subset(self.order)

    @cached_property
    def last(self) -> NDArray[np.bool_]:
        """Whether an atom is the last of those of equal value."""
        return np.append(self.values[1:] != self.values[:-1], True)

    @cached_property
    def centres(self) -> Vector:
        """The features of the middle atom of each block."""
        middle = (self.edges[:-1] + self.edges[1:] - 1) // 2
        return self.atoms.features(self.rows.take(middle))

    @cached_property
    def _tables(self) -> tuple[Vector, Vector, Vector]:
        return self._summed()

    @property
    def table(self) -> Vector:
        r"""The sums of :math:`\omega (1, \Psi)` before each block, ``(k + 1, 1 + m)``."""
        return self._tables[0]

    @property
    def first(self) -> Vector:
        r"""The sums of :math:`\omega v (1, \Psi)` before each block, of the values
        :math:`v` less the middle one.
        """
        return self._tables[1]

    @property
    def slack(self) -> Vector:
        """By how much a cdf may rise inside a block above both its ends, for t of norm one.

        Were the features constant in a block, the cdf would go straight from one end to
        the other; they differ from those of its middle by at most a radius.
        """
        return self._tables[2]

    @property
    def middle(self) -> float:
        """The value that is taken off before values are summed."""
        return float(self.values[len(self.values) // 2])

    def _summed(self) -> tuple[Vector, Vector, Vector]:
        k, m = len(self.edges) - 1, self.atoms.rank
        table, first = np.zeros((2, k + 1, 1 + m))
        weight, radius = np.zeros((2, k))
        block_of = np.repeat(np.arange(k), np.diff(self.edges))
        centres = self.centres

        def piece(start: int, z: Vector) -> tuple[Index, Vector, Vector, Vector]:
            own = slice(start, start + z.shape[0])
            blocks = block_of[own]
            starts = np.flatnonzero(np.diff(blocks, prepend=-1))
            psi, share = self.atoms.features(z), self.shares[own]
            f = share[:, None] * np.concatenate([np.ones((len(psi), 1)), psi], axis=1)
            away = np.sqrt(((psi - centres[blocks]) ** 2).sum(axis=1))
            moved = f * (self.values[own] - self.middle)[:, None]
            return (
                blocks[starts],
                np.add.reduceat(f, starts),
                np.add.reduceat(moved, starts),
                np.maximum.reduceat(away, starts),
            )

        for blocks, sums, moved, away in self.atoms.executor.map(piece, self.rows):
            table[1 + blocks] += sums
            first[1 + blocks] += moved
            radius[blocks] = np.maximum(radius[blocks], away)
        weight = table[1:, 0].copy()
        return np.cumsum(table, axis=0), np.cumsum(first, axis=0), weight * radius

    def is_single(self, block: int) -> bool:
        """Tell whether all atoms of a block have the same value."""
        first, last = self.edges[block], self.edges[block + 1] - 1
        return bool(self.values[first] == self.values[last])

    def weighted_features(self, start: int, end: int) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of sorted atoms, as rows."""
        psi = self.atoms.features(self.rows.read(start, end))
        return self.shares[start:end, None] * np.insert(psi, 0, 1.0, axis=1)

    def prefix(self, points: Vector) -> tuple[Vector, Vector]:
        r"""Return the sums of :math:`\omega (1, \Psi)` and of :math:`\omega v (1, \Psi)`
        over the atoms up to each point, of shape ``(k, 1 + m)``.
        """
        upto = np.searchsorted(self.values, points, side="right")
        block = np.searchsorted(self.edges, upto, side="right") - 1
        sums, moved = self.table[block], self.first[block]
        inside = np.flatnonzero(upto > self.edges[block])

        def work(group: Index) -> tuple[Index, Vector, Vector]:
            start = int(self.edges[block[group[0]]])
            end = int(upto[group].max())
            f = self.weighted_features(start, end)
            at = upto[group] - start - 1
            v = (self.values[start:end] - self.middle)[:, None]
            return group, np.cumsum(f, axis=0)[at], np.cumsum(f * v, axis=0)[at]

        for group, a, b in self.atoms.executor.each(work, groups(inside, block)):
            sums[group] += a
            moved[group] += b
        return sums, moved

    @cached_property
    def spread(self) -> Vector:
        r"""The matrix :math:`D` with :math:`E |Y - Y'| = (1, t)^\top D (1, t)`.

        :math:`D = \int P (S - P)^\top + (S - P) P^\top` with the sums :math:`P(v)` of
        :math:`\omega (1, \Psi)` up to :math:`v`, and :math:`S` over all atoms.
        """
        total = self.table[-1]
        gaps = np.append(np.diff(self.values), 0.0)

        def work(b: int) -> Vector:
            start, end = int(self.edges[b]), int(self.edges[b + 1])
            if self.is_single(b):
                P, gap = self.table[b + 1, None], gaps[end - 1 : end]
            else:
                f = self.weighted_features(start, end)
                P, gap = np.cumsum(f, axis=0) + self.table[b], gaps[start:end]
            half: Vector = (P * gap[:, None]).T @ (total - P)
            return half

        D = sum(self.atoms.executor.each(work, range(len(self.edges) - 1)))
        spread: Vector = D + np.transpose(D)
        return spread


def order_by(atoms: Atoms, column: int) -> Ordered:
    """Return the atoms in the order of a column, in blocks of about the root of n.

    Parameters
    ----------
    atoms : Atoms
        The atoms.
    column : int
        The column.
    """
    n = atoms.n
    values = np.concatenate(
        [to_numpy(z)[:, column] for z in atoms.executor.map(lambda _, z: z, atoms.rows)]
    )
    order = np.argsort(values, kind="stable")
    values = values[order]
    ends = np.append(np.flatnonzero(values[1:] != values[:-1]) + 1, n)
    size = max(64, int(np.sqrt(n / 3)))
    starts = np.append(0, ends[:-1])
    large = ends - starts > size
    regular = ends[np.searchsorted(ends, np.arange(size, n, size))]
    edges = np.unique(np.concatenate([[0, n], regular, starts[large], ends[large]]))
    return Ordered(atoms, order, values, edges)


def groups(items: Index, block: Index) -> Iterator[Index]:
    """Yield the items by block, a limited number at a time.

    Parameters
    ----------
    items : array of int
        Some places in ``block``.
    block : array of int
        The block of each place.
    """
    items = items[np.argsort(block[items], kind="stable")]
    cuts = np.flatnonzero(np.diff(block[items])) + 1
    for group in np.split(items, cuts):
        for start in range(0, len(group), _LAWS):
            yield group[start : start + _LAWS]
