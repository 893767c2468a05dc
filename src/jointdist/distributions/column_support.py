"""Some columns of a support: the same weights on the same points, seen along fewer columns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array, issparse

from jointdist._array import Array, Index, Vector
from jointdist._cached import cached
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.distributions.support import Distinct, PrefixSums, Support
from jointdist.distributions.support_points import SupportPoints

__all__ = ["ColumnSupport", "Groups"]

_INTERVALS = 512  # groups along one column: as many as cells of projected distributions
_CANDIDATES = (
    2048  # points of several columns among which a mode is looked for: a time budget
)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Support points that are near each other, put together.

    Attributes
    ----------
    sums : array of shape (G, 1 + m)
        The sums of their weights, and of weights times functions.
    centres, variances : arrays of shape (G, d)
        The means and the variances of the columns in each group.
    central : array of shape (G,)
        The point of each that is nearest to its mean.
    """

    sums: Vector
    centres: Vector
    variances: Vector
    central: Index


@dataclass(frozen=True, eq=False, kw_only=True)
class ColumnSupport(Support):
    """Some columns of the points of a support, with its functions.

    Attributes
    ----------
    whole : Support
        The support with all columns.
    columns : tuple of int
        The columns that are seen.
    """

    whole: Support
    columns: tuple[int, ...]

    @staticmethod
    def of(whole: Support, columns: Sequence[int], encoding: Encoding) -> "ColumnSupport":
        """Return some columns of a support.

        Parameters
        ----------
        whole : Support
            The support.
        columns : sequence of int
            The columns.
        encoding : Encoding
            What they are.
        """
        columns = tuple(columns)
        points = _chosen(whole.points, columns, encoding)
        same = whole.sample is whole.points
        return ColumnSupport(
            points=points,
            sample=points if same else _chosen(whole.sample, columns, encoding),
            origin=whole.origin[list(columns)],
            mean=whole.mean,
            whole=whole,
            columns=columns,
        )

    @property
    def cells(self) -> None:
        """None: cells of all columns are none of some."""

    @property
    def point_mean(self) -> Vector:
        """The means of the functions over the support points."""
        return self.whole.point_mean

    @property
    def cell_means(self) -> Vector | None:
        """The means of the functions over the cells of merged rows, if known."""
        return self.whole.cell_means

    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + \Psi \cdot t` of a block of points, ``(b, q)``."""
        rows = self.whole.points.rows.read(start, start + z.shape[0])
        return self.whole.ratio(start, rows, t)

    def weighted(self, rows: Index) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of points, as rows; dense or sparse."""
        found: Vector = self.whole.weighted(rows)
        return found

    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the mean of :math:`(1, \Psi)^\top f` over the points, ``(1 + m, k)``."""
        columns = list(self.columns)
        return self.whole.expectations(lambda z: f(z[:, columns]))

    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights, before they are divided by the mass."""
        return self.whole.squared_weights(t)

    def grouped(self) -> Index:
        """Return the numbers of all points, those that are alike next to each other."""
        return self.whole.grouped()

    def prefix_sums(self, column: int) -> PrefixSums:
        """Return the sums over the points sorted by a column."""
        return self.whole.prefix_sums(self.columns[column])

    @cached
    def distinct(self) -> Distinct:
        """The distinct points; only for variables of few values."""
        points, which = np.unique(self.points.table(), axis=0, return_inverse=True)
        return Distinct(points, self._summed(which.ravel(), len(points)))

    @cached
    def first_powers(self) -> Vector:
        """The mean of the functions times the columns less the origin, ``(1 + m, d)``."""
        return self.whole.first_powers[:, list(self.columns)]

    @cached
    def second_powers(self) -> Vector:
        """The same for products of two columns, on and above the diagonal."""
        d, k = self.whole.points.width, len(self.columns)
        place = np.zeros((d, d), dtype=np.intp)
        place[np.triu_indices(d)] = np.arange(d * (d + 1) // 2)
        chosen = np.ix_(self.columns, self.columns)
        upper = np.maximum(place, place.T)[chosen][np.triu_indices(k)]
        return self.whole.second_powers[:, upper]

    @cached
    def squared_powers(self) -> Vector:
        """The same for squares of columns, ``(1 + m, d)``."""
        return self.whole.squared_powers[:, list(self.columns)]

    @cached
    def groups(self) -> Groups:
        """Points put together: intervals of one column, or the cells of several."""
        cells, one = self.whole.cells, len(self.columns) == 1
        which = self._intervals() if one or cells is None else cells.cell
        counted = self.points.shares > 0
        used, place = np.unique(which[counted], return_inverse=True)
        group = np.zeros(self.points.n, dtype=np.intp)
        group[counted] = place  # points without weight are in the first one
        z, shares, k = self.points.table() - self.origin, self.points.shares, len(used)
        weight = np.bincount(group, shares, k)[:, None]
        centres, squares = (
            np.stack([np.bincount(group, shares * v, k) for v in values.T], axis=1) / weight
            for values in (z, z * z)
        )
        away = (((z - centres[group]) / self.points.units()) ** 2).sum(axis=1)
        away[~counted] = np.inf
        order = np.lexsort((away, group))
        return Groups(
            self._summed(group, k),
            centres + self.origin,
            np.maximum(squares - centres**2, 0.0),
            order[np.searchsorted(group[order], np.arange(k))],
        )

    @cached
    def candidates(self) -> Index:
        """Points, spread over the sample, among which a mode is looked for."""
        if len(self.columns) == 1:
            return np.unique(self.groups.central)
        counted = np.flatnonzero(self.points.shares)
        most = min(_CANDIDATES, len(counted))
        return counted[np.linspace(0, len(counted) - 1, most).round().astype(np.intp)]

    def _intervals(self) -> Index:
        """Return the interval of the first column that each point is in."""
        at = self.points.ordering(0)
        reached = np.cumsum(at.shares) - at.shares / 2
        found = np.empty(self.points.n, dtype=np.intp)
        found[at.order] = np.floor(reached * _INTERVALS)
        return found

    def _summed(self, which: Index, k: int) -> Vector:
        r"""Return the sums of :math:`\omega (1, \Psi)` over groups of points, ``(k, 1 + m)``."""
        total = np.zeros((k, 1 + self.rank))
        for rows in self._blocks():
            ones, starts = np.ones(len(rows)), np.arange(len(rows) + 1)
            places = csr_array((ones, which[rows], starts), shape=(len(rows), k))
            sums = places.T @ self.whole.weighted(rows)
            total += sums.toarray() if issparse(sums) else sums
        return total

    def _blocks(self) -> Iterator[Index]:
        n, step = self.points.n, self.points.executor.block_rows
        return (np.arange(start, min(start + step, n)) for start in range(0, n, step))


def _chosen(
    points: SupportPoints, columns: Sequence[int], encoding: Encoding
) -> SupportPoints:
    """Return support points with some of their columns."""
    table = np.ascontiguousarray(points.table()[:, list(columns)])
    merged = points.merged
    if merged is not None:
        units = merged.units[list(columns)]
        merged = replace(merged, variances=None, units=units, cells=None)
    rows = Rows(table, points.rows.where, points.rows.name)
    return SupportPoints(rows, encoding, points.weights, points.executor, merged)
