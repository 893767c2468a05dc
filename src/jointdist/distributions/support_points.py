"""Support points: rows of a sample, their weights, their order along each column."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.distributions.kde import KernelDensity, kernel_density

__all__ = [
    "Ordering",
    "SupportPoints",
    "groups",
    "most_values",
    "ordering",
    "standard_deviations",
]

_MOST_VALUES = (
    30  # distinct values of a discrete numeric variable; a round number, by taste
)
_MOST_CATEGORIES = 4096  # the same for rows with categories: a memory budget
_GROUP = 2048  # distributions worked on at a time: a memory budget
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
    found: Vector = np.sqrt(share @ (points - share @ points) ** 2)
    return np.where(found > 0, found, 1.0)


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


@dataclass(frozen=True, eq=False)
class SupportPoints:
    """Rows of a sample with their weights.

    Attributes
    ----------
    rows : Rows
        The points, coded; not copied.
    encoding : Encoding
        How categories became numbers.
    weights : array of shape (n,), optional
        The weights of the rows.
    executor : Executor
        Runs the row blocks.
    """

    rows: Rows
    encoding: Encoding
    weights: Vector | None
    executor: Executor
    _orderings: dict[int, Ordering] = field(default_factory=dict, init=False, repr=False)

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

    @cached_property
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
        return standard_deviations(self.table(), self.shares)

    def ordering(self, column: int) -> Ordering:
        """Return the points sorted by a column; sorted once."""
        if column not in self._orderings:
            values = np.concatenate([block[:, column] for block in self._blocks()])
            self._orderings[column] = ordering(values, self.shares)
        return self._orderings[column]

    @cached_property
    def density(self) -> KernelDensity:
        """The kernel density estimate of the points; of continuous variables only."""
        return kernel_density(self.table(), self.shares)

    @cached_property
    def heights(self) -> Vector:
        """The kernel density estimate at the points themselves; zero without weight."""
        return np.where(self.shares > 0, self.density.at(self.table()), 0.0)

    @cached_property
    def is_discrete(self) -> bool:
        """Whether there is no density: categories, few distinct values, a constant column."""
        if not self.encoding.numeric or self.has_few_values:
            return True
        ends = [(block.min(axis=0), block.max(axis=0)) for block in self._counted()]
        low, high = (np.array(end) for end in zip(*ends, strict=True))
        return bool((low.min(axis=0) == high.max(axis=0)).any())

    @cached_property
    def has_few_values(self) -> bool:
        """Whether there are few distinct points: numbers taken many times, or categories."""
        limit = most_values(self.n) if self.encoding.numeric else _MOST_CATEGORIES
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
