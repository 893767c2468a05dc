r"""Support points in cells: weights may be any on the cells, and are shared inside them.

A distribution is a weight :math:`W_k` on each cell, spread over its points in proportion to
the weights :math:`\omega` of the sample. It has the form :math:`\omega_j (1 + \Psi(y_j) \cdot
t)` of all distributions: the functions :math:`\Psi` are the indicators of the cells, and
:math:`t_k = W_k / p_k - 1` with the weights :math:`p` of the sample. Every question is
answered by all points, and the mean of any function is that of its means over the cells,
exactly. Embeddings have a cell for each of their points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist._cached import cached
from jointdist.distributions.sorted_cells import CellPrefixSums, indicator_rows
from jointdist.distributions.support import Distinct, Support
from jointdist.distributions.support_points import Cells, SupportPoints

__all__ = ["CellSupport"]


@dataclass(frozen=True, eq=False, kw_only=True)
class CellSupport(Support):
    """Support points in cells.

    Attributes
    ----------
    cell : array of shape (n,)
        The cell of each point; each cell has weight.
    """

    cell: Index

    @staticmethod
    def of(
        points: SupportPoints, sample: SupportPoints, cell: Index, origin: Vector
    ) -> "CellSupport":
        """Return points in cells as a support.

        Parameters
        ----------
        points : SupportPoints
            The points.
        sample : SupportPoints
            The whole sample, which tells what kind of variable it is.
        cell : array of shape (n,)
            The cell of each point; each cell has weight.
        origin : array of shape (d,)
            The point about which powers are taken.
        """
        shares: Vector = np.bincount(cell, points.shares).astype(np.float64)
        shares /= shares.sum()
        powers = None
        if points.merged is not None and points.merged.variances is not None:
            powers = _powers_of_bins(points, points.merged.variances, cell, origin)
        return CellSupport(
            points=points,
            sample=sample,
            origin=origin,
            mean=shares,
            powers=powers,
            cell=cell,
        )

    @staticmethod
    def of_cells(points: SupportPoints, cells: Cells, origin: Vector) -> "CellSupport":
        """Return points in given cells, with the means of all rows in these.

        Parameters
        ----------
        points : SupportPoints
            The points.
        cells : Cells
            The cells.
        origin : array of shape (d,)
            The point about which powers are taken.
        """
        sums = cells.shares[:, None] * cells.powers
        return CellSupport(
            points=points,
            sample=points,
            origin=origin,
            mean=cells.shares,
            powers=np.concatenate([sums.sum(axis=0)[None, :], sums]),
            cell=cells.cell,
        )

    @staticmethod
    def of_each(points: SupportPoints, sample: SupportPoints) -> "CellSupport":
        """Return distinct points with a cell for each.

        Parameters
        ----------
        points : SupportPoints
            The points, each with weight.
        sample : SupportPoints
            The whole sample.
        """
        return CellSupport.of(points, sample, np.arange(points.n), points.table()[0])

    @property
    def cells(self) -> "CellSupport":
        """The support itself, whose functions are indicators."""
        return self

    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + t_k` of a block of points, ``(b, q)``."""
        found: Vector = 1 + t.T[self.cell[start : start + z.shape[0]]]
        return found

    def weighted(self, rows: Index) -> Any:
        r"""Return :math:`\omega (1, \Psi)` of points, as rows of a sparse array."""
        return indicator_rows(self.cell[rows], self.points.shares[rows], self.rank)

    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the sums of :math:`\omega f` over all points and over each cell."""
        shares = self.points.shares

        def block(start: int, z: Array) -> Vector:
            values = f(to_numpy(z)) * shares[start : start + z.shape[0], None]
            return self.added(self.cell[start : start + len(values)], values)

        sums = self.points.executor.reduce(add, block, self.points.rows)
        return np.concatenate([sums.sum(axis=0)[None, :], sums])

    def added(self, cell: Index, values: Any) -> Vector:
        """Return the sums of rows of values over each cell, ``(K, k)``.

        Parameters
        ----------
        cell : array of shape (b,)
            The cell of each row.
        values : array of shape (b, k)
            The values, dense or sparse.
        """
        places = csr_array(
            (np.ones(len(cell)), cell, np.arange(len(cell) + 1)),
            shape=(len(cell), self.rank),
        )
        sums = places.T @ values
        found: Vector = sums.toarray() if issparse(sums) else np.asarray(sums)
        return found

    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights, before they are divided by the mass."""
        squares = np.bincount(self.cell, self.points.squared_shares, self.rank)
        found: Vector = (1 + t) ** 2 @ squares
        return found

    def grouped(self) -> Index:
        """Return the numbers of all points, those of a cell next to each other."""
        return np.argsort(self.cell, kind="stable")

    def prefix_sums(self, column: int) -> CellPrefixSums:
        """Return the sums over the points sorted by a column."""
        if column not in self._prefix_sums:
            at = self.points.ordering(column)
            cell, executor = self.cell[at.order], self.points.executor
            self._prefix_sums[column] = CellPrefixSums(at, cell, self.mean, executor)
        return self._prefix_sums[column]

    @cached
    def _prefix_sums(self) -> dict[int, CellPrefixSums]:
        return {}

    @cached
    def distinct(self) -> Distinct:
        """The distinct points; equal ones are in the same cell."""
        points, which = np.unique(self.points.table(), axis=0, return_inverse=True)
        sums = np.bincount(which.ravel(), self.points.shares, len(points))
        shares: Vector = sums.astype(np.float64)
        cell = np.zeros(len(points), dtype=np.intp)
        cell[which.ravel()] = self.cell
        return Distinct(points, indicator_rows(cell, shares, self.rank).toarray())

    def cell_of(self, points: SupportPoints) -> Index:
        """Return the cells of other points, which are among these as rows.

        Parameters
        ----------
        points : SupportPoints
            The other points.
        """
        wanted, step = _keys(points.table()), self.points.executor.block_rows
        order = np.argsort(wanted)
        cell = np.zeros(len(wanted), dtype=np.intp)
        for start in range(0, self.points.n, step):
            stop = min(start + step, self.points.n)
            keys = _keys(to_numpy(self.points.rows.read(start, stop)))
            at = np.minimum(np.searchsorted(wanted[order], keys), len(order) - 1)
            same = wanted[order[at]] == keys
            cell[order[at[same]]] = self.cell[start:stop][same]
        return cell

    @cached
    def centres(self) -> Vector:
        """The mean of the points of each cell, coded, ``(K, d)``."""
        return self.first_powers[1:] / self.mean[:, None] + self.origin

    @cached
    def variances(self) -> Vector:
        """The variances of the points of each cell, ``(K, d)``."""
        centre = self.centres - self.origin
        squares = self.squared_powers[1:]
        return np.maximum(squares / self.mean[:, None] - centre**2, 0.0)

    @cached
    def central(self) -> Index:
        """The point of each cell that is nearest to its mean, in bandwidths."""
        points, cell = self.points, self.cell
        widths = self.sample.density.widths
        away = (((points.table() - self.centres[cell]) / widths) ** 2).sum(axis=1)
        away[points.shares == 0] = np.inf
        order = np.lexsort((away, cell))
        found: Index = order[np.searchsorted(cell[order], np.arange(self.rank))]
        return found


def _powers_of_bins(
    points: SupportPoints, variances: Vector, cell: Index, origin: Vector
) -> Vector:
    """Return the means of the first two powers of all rows, over all and over each cell."""
    v = points.table() - origin
    both = np.concatenate([v, v * v + variances[:, None]], axis=1)
    values = points.shares[:, None] * both
    sums = np.stack([np.bincount(cell, column) for column in values.T], axis=1)
    return np.concatenate([sums.sum(axis=0)[None, :], sums])


def _keys(table: Vector) -> NDArray[np.void]:
    """Return each row as one value that can be sorted."""
    table = np.ascontiguousarray(table) + 0.0  # no negative zero
    return table.view([("row", np.void, table.shape[1] * 8)])["row"].ravel()
