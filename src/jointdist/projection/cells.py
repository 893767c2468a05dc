r"""The atoms of a side put together in cells, as the support of valid laws.

A law is a weight :math:`W_k \ge 0` on each cell, spread over its atoms in proportion to the
weights :math:`\omega` of the sample. It is one more law of the form :math:`\omega_j (1 +
\Psi(y_j) \cdot t)`: the functions :math:`\Psi` are the indicators of the cells, and :math:`t_k
= W_k / p_k - 1` with the weights :math:`p` of the sample. Whatever it is asked is answered by
all atoms, and the mean of any function is that of its means over the cells: exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.distributions.kde import Smoothed
from jointdist.distributions.signed import Support
from jointdist.distributions.sorted_support import Ordered
from jointdist.distributions.support_points import Atoms, Distinct
from jointdist.projection.partition import partition

__all__ = ["CellSupport", "Cells", "cells_of"]

_ROUNDING = 1e-12  # of a cdf
_TINY = 1e-15  # of the weight of the sample


@dataclass(frozen=True, eq=False)
class Cells(Atoms):
    """The atoms of a side in cells.

    Attributes
    ----------
    cell : array of shape (n,)
        The cell of each atom. Each has weight.
    sample : Atoms
        The atoms as the model sees them.
    """

    cell: Index = field(kw_only=True)
    sample: Atoms = field(kw_only=True)

    @property
    def rank(self) -> int:
        """The number of cells."""
        return len(self.mean)

    def features(self, z: Array) -> Vector:
        """Raise: a point may be in no cell."""
        raise NotImplementedError

    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + t_k` of a block of atoms, ``(b, laws)``."""
        found: Vector = 1 + t.T[self.cell[start : start + z.shape[0]]]
        return found

    def sums(self, rows: Index) -> Any:
        r"""Return :math:`\omega (1, \Psi)` of some atoms, as rows of a sparse array."""
        return self.indicators(self.cell[rows], self.shares[rows])

    def indicators(self, cell: Index, values: Vector) -> Any:
        """Return rows with a value in the first column and in that of a cell, sparse."""
        k = len(cell)
        columns = np.stack([np.zeros(k, dtype=np.intp), 1 + cell], axis=1)
        both = np.repeat(values, 2)
        starts = np.arange(0, 2 * k + 1, 2)
        return csr_array((both, columns.ravel(), starts), shape=(k, 1 + self.rank))

    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the sums of :math:`\omega f` over all atoms and over each cell.

        Parameters
        ----------
        f : callable
            From coded rows ``(b, d)`` to numbers ``(b, k)``.
        """

        def block(start: int, z: Array) -> Vector:
            values = f(to_numpy(z)) * self.shares[start : start + z.shape[0], None]
            return self.added(self.cell[start : start + len(values)], values)

        sums = self.executor.reduce(add, block, self.rows)
        return np.concatenate([sums.sum(axis=0)[None, :], sums])

    def added(self, cell: Index, values: Vector) -> Vector:
        """Return the sums of rows of values over each cell, ``(K, k)``.

        Parameters
        ----------
        cell : array of shape (b,)
            The cell of each row.
        values : array of shape (b, k)
            The values.
        """
        places = csr_array(
            (np.ones(len(cell)), cell, np.arange(len(cell) + 1)),
            shape=(len(cell), self.rank),
        )
        found: Vector = np.asarray(places.T @ values)
        return found

    def order(self) -> Index:
        """Return the numbers of all atoms, those of a cell next to each other."""
        return np.argsort(self.cell, kind="stable")

    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights of laws, before they are divided by their mass."""
        squares = np.bincount(self.cell, self.shares**2, self.rank)
        found: Vector = (1 + t) ** 2 @ squares
        return found

    @property
    def discrete(self) -> bool:
        """Whether the variable has no density."""
        return self.sample.discrete

    @property
    def few(self) -> bool:
        """Whether the variable has few distinct values."""
        return self.sample.few

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct atoms; equal ones are in the same cell."""
        known = self.sample.distinct
        table = to_numpy(self.rows.read(0, self.n))
        which = np.unique(table, axis=0, return_inverse=True)[1].ravel()
        cell = np.zeros(len(known.points), dtype=np.intp)
        cell[which] = self.cell
        return Distinct(known.points, self.indicators(cell, known.sums[:, 0]).toarray())

    def cell_of(self, atoms: Atoms) -> Index:
        """Return the cells of other atoms, which are among these as rows."""
        wanted, own = _keys(to_numpy(atoms.rows.read(0, atoms.n))), self.executor.block_rows
        order = np.argsort(wanted)
        cell = np.zeros(len(wanted), dtype=np.intp)
        for start in range(0, self.n, own):
            stop = min(start + own, self.n)
            keys = _keys(to_numpy(self.rows.read(start, stop)))
            at = np.minimum(np.searchsorted(wanted[order], keys), len(order) - 1)
            same = wanted[order[at]] == keys
            cell[order[at[same]]] = self.cell[start:stop][same]
        return cell

    @cached_property
    def centres(self) -> Vector:
        """The mean of the atoms of each cell, coded, ``(K, d)``."""
        sums = self.expectations(lambda z: z - self.origin)[1:]
        return sums / self.mean[:, None] + self.origin

    @cached_property
    def spreads(self) -> Vector:
        """The variances of the atoms of each cell, ``(K, d)``."""
        centre = self.centres - self.origin
        squares = self.expectations(lambda z: (z - self.origin) ** 2)[1:]
        return np.maximum(squares / self.mean[:, None] - centre**2, 0.0)


class CellSupport(Support):
    """Atoms in cells, with what laws on them share.

    Parameters
    ----------
    atoms : Cells
        The atoms.
    sample : Support
        The same as the model sees them.
    """

    atoms: Cells  # pyrefly: ignore[bad-override-mutable-attribute]

    def __init__(self, atoms: Cells, sample: Support) -> None:
        super().__init__(atoms)
        self._sample = sample

    def ordered(self, column: int) -> Ordered:
        """Return the atoms in the order of a column."""
        if column not in self._ordered:
            same = self._sample.ordered(column)
            self._ordered[column] = OrderedCells(
                self.atoms, same.order, same.values, same.edges
            )
        return self._ordered[column]

    def quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        """Return the lowest values at which cdfs of a column reach levels, ``(q, l)``.

        Parameters
        ----------
        column : int
            The column.
        t, mass : arrays of shape (q, K) and (q,)
            The laws.
        levels : array of shape (q, l)
            The levels, for each law its own.
        """
        if self.atoms.width > 1:
            return super().quantiles(column, t, mass, levels)
        line, found = self.line, np.empty(levels.shape)
        W = line.weights(t, mass)
        F = np.cumsum(W, axis=1)
        F[:, -1] = np.inf
        for own, p, w, cdf in zip(found, levels - _ROUNDING, W, F, strict=True):
            k = np.searchsorted(cdf, p)
            below = np.where(k > 0, cdf[k - 1], 0.0)
            share = np.divide(p - below, w[k], out=np.zeros_like(p), where=w[k] > 0)
            sought = line.before[k] + share * line.shares[k]
            j = np.searchsorted(line.reached, sought - _TINY)
            own[:] = line.values[np.clip(j, line.starts[k], line.starts[k + 1] - 1)]
        return found

    def cdfs(self, t: Vector, mass: Vector, points: Vector) -> Vector:
        """Return the cdfs of laws of one column at a point each, ``(q,)``.

        Parameters
        ----------
        t, mass : arrays of shape (q, K) and (q,)
            The laws.
        points : array of shape (q,)
            The points.
        """
        line = self.line
        W = line.weights(t, mass)
        F, which = np.cumsum(W, axis=1), np.arange(len(t))
        upto = np.searchsorted(line.values, points, side="right")
        k = line.rank[np.maximum(upto - 1, 0)]
        inside = (line.upto[upto] - line.before[k]) / line.shares[k]
        found: Vector = F[which, k] - W[which, k] * (1 - inside)
        return np.where(upto > 0, found, 0.0)

    @cached_property
    def line(self) -> "Line":
        """The cells of one column, from the lowest to the highest."""
        same, p = self._sample.ordered(0), self.atoms.mean
        cell = self.atoms.cell[same.order]
        starts = np.flatnonzero(np.diff(cell, prepend=-1))
        order = cell[starts]
        shares = same.shares
        upto = np.insert(np.cumsum(shares), 0, 0.0)
        rank = np.empty(len(p), dtype=np.intp)
        rank[order] = np.arange(len(order))
        return Line(
            same.values,
            order,
            p[order],
            np.append(starts, len(cell)),
            upto[starts],
            upto[1:],
            upto,
            rank[cell],
        )

    @property
    def density(self) -> Smoothed:
        """The smoothed density of the atoms."""
        return self._sample.density

    @property
    def heights(self) -> Vector:
        """The height of each atom before the law weighs it."""
        return self._sample.heights

    @cached_property
    def amid(self) -> Index:
        """The atom of each cell that is next to its mean."""
        atoms = self.atoms
        z, cell = to_numpy(atoms.rows.read(0, atoms.n)), atoms.cell
        away = (((z - atoms.centres[cell]) / self._sample.density.widths) ** 2).sum(axis=1)
        away[atoms.shares == 0] = np.inf
        order = np.lexsort((away, cell))
        found: Index = order[np.searchsorted(cell[order], np.arange(atoms.rank))]
        return found


class Line(NamedTuple):
    """Cells along one column, from the lowest to the highest.

    Attributes
    ----------
    values : array of shape (n,)
        The atoms, sorted.
    order : array of shape (K,)
        The numbers of the cells.
    shares : array of shape (K,)
        Their weights in the sample.
    starts : array of shape (K + 1,)
        The first sorted atom of each, and the number of atoms.
    before : array of shape (K,)
        The weight of the sample below each.
    reached : array of shape (n,)
        The weight of the sample up to each atom.
    upto : array of shape (n + 1,)
        The weight of the first so many atoms.
    rank : array of shape (n,)
        Which of the cells, in order, a sorted atom is in.
    """

    values: Vector
    order: Index
    shares: Vector
    starts: Index
    before: Vector
    reached: Vector
    upto: Vector
    rank: Index

    def weights(self, t: Vector, mass: Vector) -> Vector:
        """Return the weights of the cells in order under laws, ``(q, K)``."""
        found: Vector = (1 + t[:, self.order]) * (self.shares / mass[:, None])
        return found


class OrderedCells(Ordered):
    """Atoms in cells in the order of one column; cdfs of valid laws rise."""

    atoms: Cells

    @cached_property
    def cell(self) -> Index:
        """The cells of the sorted atoms."""
        return self.atoms.cell[self.order]

    def weighted_features(self, start: int, end: int) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of sorted atoms, as rows."""
        own = slice(start, end)
        found: Vector = self.atoms.indicators(self.cell[own], self.shares[own]).toarray()
        return found

    def _summed(self) -> tuple[Vector, Vector, Vector]:
        k, width = len(self.edges) - 1, 1 + self.atoms.rank
        block = np.repeat(np.arange(k), np.diff(self.edges))

        def table(values: Vector) -> Vector:
            found = np.zeros((k + 1, width))
            place = block * (width - 1) + self.cell
            within = np.bincount(place, values, k * (width - 1)).reshape(k, width - 1)
            found[1:, 1:] = np.cumsum(within, axis=0)
            found[1:, 0] = found[1:, 1:].sum(axis=1)
            return found

        moved = self.shares * (self.values - self.middle)
        return table(self.shares), table(moved), np.zeros(k)

    def prefix(self, points: Vector) -> tuple[Vector, Vector]:
        r"""Return the sums of :math:`\omega (1, \Psi)` and of :math:`\omega v (1, \Psi)`
        over the atoms up to each point, for cells one above the other.
        """
        upto = np.searchsorted(self.values, points, side="right")
        starts = np.flatnonzero(np.diff(self.cell, prepend=-1))
        order = self.cell[starts]
        k = np.searchsorted(starts, upto, side="left") - 1  # of the last atom, if any

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

        return sums(self.shares), sums(self.shares * (self.values - self.middle))

    @cached_property
    def spread(self) -> Vector:
        """The matrix of the mean distances of two draws, for cells one above the other."""
        p, cell = self.atoms.mean, self.cell
        v = self.values - self.middle
        centres = np.bincount(cell, self.shares * v, len(p)) / p
        D = np.multiply.outer(p, p) * np.abs(centres[:, None] - centres)
        start = np.flatnonzero(np.diff(cell, prepend=-1))
        below = np.cumsum(self.shares) - self.shares  # weights of lower atoms, in all cells
        below -= np.repeat(below[start], np.diff(np.append(start, len(cell))))
        above = p[cell] - below - self.shares
        inside = np.bincount(cell, self.shares * v * (below - above), len(p))
        D[np.diag_indices_from(D)] = 2 * inside
        whole = np.empty((1 + len(p), 1 + len(p)))
        whole[1:, 1:] = D
        whole[0, 1:] = whole[1:, 0] = D.sum(axis=0)
        whole[0, 0] = D.sum()
        return whole


def cells_of(support: Support, most: int) -> CellSupport:
    """Return the atoms in cells, at most so many if there is a density.

    Those of one column are one above the other and of about equal weight, and equal atoms are
    in the same cell. Others are cut where their features are widest apart.

    Parameters
    ----------
    support : Support
        The atoms.
    most : int
        The number of cells; few values or words have one each.
    """
    atoms, cell = support.atoms, partition(support, most)
    shares: Vector = np.bincount(cell, atoms.shares).astype(np.float64)
    shares /= shares.sum()
    cells = Cells(
        atoms.basis,
        atoms.encoding,
        atoms.rows,
        atoms.weights,
        shares,
        atoms.executor,
        cell=cell,
        sample=atoms,
    )
    return CellSupport(cells, support)


def _keys(table: Vector) -> NDArray[np.void]:
    """Return each row as one value that can be sorted."""
    table = np.ascontiguousarray(table) + 0.0  # no negative zero
    return table.view([("row", np.void, table.shape[1] * 8)])["row"].ravel()
