"""Support points: rows of a sample, their weights, their order along each column."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector, to_numpy
from jointdist._cached import Cached, cached
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.distributions.kde import KernelDensity, kernel_density
from jointdist.lowrank.leaf_sums import LeafSums

__all__ = [
    "Cells",
    "Merged",
    "Ordering",
    "SupportPoints",
    "groups",
    "most_values",
    "ordering",
    "standard_deviations",
]

_MOST_VALUES = 30  # distinct values of a discrete numeric variable; a round number
_MOST_CATEGORIES = 4096  # the same for rows with categories: a memory budget
_GROUP = 2048  # distributions worked on at a time: a memory budget
_ROUNDING = 8 * np.finfo(np.float64).eps  # a spread that is none, relative to the numbers
_REPEATED = 3  # times that a value of a discrete numeric variable is taken, on average


def most_values(n: int) -> int:
    """Return how many distinct values a discrete numeric variable has at most.

    Parameters
    ----------
    n : int
        The number of rows.
    """
    return max(min(_MOST_VALUES, n // _REPEATED), 1)


def standard_deviations(points: Vector, weights: Vector) -> Vector:
    """Return the weighted standard deviation of each column; one for a constant.

    Parameters
    ----------
    points : array of shape (k, d)
        The points.
    weights : array of shape (k,)
        Their weights.
    """
    share = weights / weights.sum()
    away = points - points[share.argmax()]  # zero for equal numbers, without rounding
    found: Vector = np.sqrt(share @ (away - share @ away) ** 2)
    rounding = _ROUNDING * np.abs(points[share > 0]).max(axis=0)
    return np.where(found > rounding, found, 1.0)


@dataclass(frozen=True, eq=False)
class Ordering(Cached):
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

    @cached
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


@dataclass(frozen=True, eq=False)
class Cells(Cached):
    """Cells of support points with the means of all rows in them.

    Attributes
    ----------
    cell : array of shape (n,)
        The cell of each support point.
    leaf : array of shape (K,)
        The leaf that each cell is.
    sums : LeafSums
        The sums over the rows of the leaves.
    """

    cell: Index
    leaf: Index
    sums: LeafSums

    @cached
    def shares(self) -> Vector:
        """The weights of the cells, of sum one."""
        weight = self.sums.weight[self.leaf]
        shares: Vector = weight / weight.sum()
        return shares

    @cached
    def powers(self) -> Vector:
        """The means of the powers of the rows about the origin of the features, ``(K, q)``."""
        return self._means(self.sums.powers)

    @cached
    def features(self) -> Vector:
        """The means of the features of the rows, ``(K, m)``."""
        return self._means(self.sums.features)

    @property
    def products(self) -> Vector | None:
        """The means of products of two of the first powers over all rows, if known."""
        sums = self.sums
        return None if sums.products is None else sums.products / sums.weight.sum()

    def _means(self, sums: Vector) -> Vector:
        means: Vector = sums[self.leaf] / self.sums.weight[self.leaf, None]
        return means


@dataclass(frozen=True, eq=False)
class Merged:
    """What is known of the rows that fewer support points stand for.

    Attributes
    ----------
    count : int
        The number of rows.
    equal : bool
        Whether all rows have the same weight.
    squared : array of shape (n,)
        For each point, the sum of the squared weights of its rows.
    variances : array of shape (n,), optional
        The variances of the rows of each point of one column.
    units : array of shape (d,)
        The standard deviations of the columns over all rows.
    exact : array of bool, of shape (n,)
        Whether all rows that a point stands for are equal to it.
    cells : Cells, optional
        The cells that the points are in, of several columns.
    """

    count: int
    equal: bool
    squared: Vector
    variances: Vector | None
    units: Vector
    exact: NDArray[np.bool_]
    cells: Cells | None = None


@dataclass(frozen=True, eq=False)
class SupportPoints(Cached):
    """Rows of a sample with their weights, or fewer points that stand for them.

    Attributes
    ----------
    rows : Rows
        The points, coded.
    encoding : Encoding
        How categories became numbers.
    weights : array of shape (n,), optional
        The weights of the points.
    executor : Executor
        Runs the row blocks.
    merged : Merged, optional
        What is known of the rows, if the points stand for more than one each.
    """

    rows: Rows
    encoding: Encoding
    weights: Vector | None
    executor: Executor
    merged: Merged | None = None

    @property
    def n(self) -> int:
        """The number of points."""
        return self.rows.n

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.rows.d

    @property
    def is_scalar(self) -> bool:
        """Whether the points are single numbers."""
        return self.width == 1 and self.encoding.numeric

    @property
    def count(self) -> int:
        """The number of rows of the sample."""
        return self.n if self.merged is None else self.merged.count

    @property
    def equal(self) -> bool:
        """Whether all rows of the sample have the same weight."""
        return self.weights is None if self.merged is None else self.merged.equal

    @cached
    def squared_shares(self) -> Vector:
        r"""For each point, the sum of the squared weights of its rows, these of sum one."""
        if self.merged is None or self.weights is None:
            return self.shares**2
        total = self.weights.sum()
        squared: Vector = self.merged.squared / total**2
        return squared

    @cached
    def shares(self) -> Vector:
        r"""The weights :math:`\omega` of the points, of sum one."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        shares: Vector = weights / weights.sum()
        return shares

    def table(self) -> Vector:
        """Return all points, coded, ``(n, d)``."""
        table: Vector = to_numpy(self.rows.read(0, self.n))
        return table

    def units(self) -> Vector:
        """Return the standard deviations of the columns."""
        if self.merged is not None:
            return np.where(self.merged.units > 0, self.merged.units, 1.0)
        return standard_deviations(self.table(), self.shares)

    def ordering(self, column: int) -> Ordering:
        """Return the points sorted by a column; sorted once."""
        if column not in self._orderings:
            values = np.concatenate([block[:, column] for block in self._blocks()])
            self._orderings[column] = ordering(values, self.shares)
        return self._orderings[column]

    @cached
    def _orderings(self) -> dict[int, Ordering]:
        return {}

    @cached
    def density(self) -> KernelDensity:
        """The kernel density estimate of the points; of continuous variables only."""
        size = 1 / max(float(np.sum(self.squared_shares)), np.finfo(float).tiny)
        return kernel_density(self.table(), self.shares, size)

    @cached
    def heights(self) -> Vector:
        """The kernel density estimate at the points themselves; zero without weight."""
        return np.where(self.shares > 0, self.density.at(self.table()), 0.0)

    @cached
    def is_discrete(self) -> bool:
        """Whether there is no density: categories, few distinct values, a constant column."""
        if not self.encoding.numeric or self.has_few_values:
            return True
        ends = [(block.min(axis=0), block.max(axis=0)) for block in self._counted()]
        low, high = (np.array(end) for end in zip(*ends, strict=True))
        return bool((low.min(axis=0) == high.max(axis=0)).any())

    @cached
    def has_few_values(self) -> bool:
        """Whether there are few distinct points: numbers taken many times, or categories."""
        limit = most_values(self.count) if self.encoding.numeric else _MOST_CATEGORIES
        seen: set[tuple[float, ...]] = set()
        for block in self._counted():
            seen.update(map(tuple, np.unique(block, axis=0)))
            if len(seen) > limit:
                return False
        return True

    def _blocks(self) -> Iterator[Vector]:
        """Yield the points, a block at a time."""
        step = self.executor.block_rows
        for start in range(0, self.n, step):
            yield to_numpy(self.rows.read(start, min(start + step, self.n)))

    def _counted(self) -> Iterator[Vector]:
        """Yield the points with positive weight, a block at a time."""
        start = 0
        for block in self._blocks():
            counted = block[self.shares[start : start + len(block)] > 0]
            start += len(block)
            if len(counted):
                yield counted


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
