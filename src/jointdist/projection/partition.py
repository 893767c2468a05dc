"""Partitions of support points into cells: intervals of a column, or alike in features."""

import heapq

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support import Support
from jointdist.distributions.support_points import SupportPoints
from jointdist.projection.settings import SETTINGS

__all__ = ["cells_by_features", "cells_of_values"]


def cells_of_values(support: Support, most: int) -> CellSupport:
    """Return the support points of one column, or of few values, in cells.

    Cells of one column are intervals of about equal weight, and equal points are in the same
    cell. Few values, of any number of columns, have a cell each.

    Parameters
    ----------
    support : Support
        The support points.
    most : int
        The largest number of cells of a continuous variable.
    """
    points, sample = support.points, support.sample
    if sample.has_few_values:
        cell = np.unique(points.table(), axis=0, return_inverse=True)[1].ravel()
    else:
        cell = _intervals(points, most)
    return CellSupport.of(points, sample, _used(cell, points.shares), support.origin)


def cells_by_features(support: KernelSupport, most: int) -> CellSupport:
    """Return the support points of several columns in cells.

    They are cut where their leading functions are widest apart.

    Parameters
    ----------
    support : KernelSupport
        The support points.
    most : int
        The largest number of cells.
    """
    cell = _used(_cut(support, most), support.points.shares)
    return CellSupport.of(support.points, support.sample, cell, support.origin)


def _intervals(points: SupportPoints, most: int) -> Index:
    """Return cells of equal weight along a column."""
    at = points.ordering(0)
    first = np.append(True, at.last[:-1])
    value = np.cumsum(first) - 1
    weight = np.bincount(value, at.shares)
    if np.count_nonzero(weight) <= most:
        cell = np.arange(len(weight))
    else:
        middle = np.cumsum(weight) - weight / 2
        cell = np.minimum((most * middle).astype(np.intp), most - 1)
    found = np.empty(len(value), dtype=np.intp)
    found[at.order] = cell[value]
    return found


def _cut(support: KernelSupport, most: int) -> Index:
    """Return cells of several columns, by cuts of the functions at medians."""
    points = support.points
    if points.n <= SETTINGS.distinct_search_rows * most:
        distinct, which = np.unique(points.table(), axis=0, return_inverse=True)
        if len(distinct) <= most:
            return which.ravel()
    leading = min(SETTINGS.cut_directions, support.rank)
    blocks = points.executor.map(lambda _, z: support.features(z)[:, :leading], points.rows)
    Z = np.concatenate(list(blocks))
    counted = np.flatnonzero(points.shares)
    if len(counted) > SETTINGS.cut_rows:
        rng = np.random.default_rng(0)
        counted = np.sort(rng.choice(counted, SETTINGS.cut_rows, replace=False))
    return _located(Z, _cuts(Z[counted], points.shares[counted], most))


def _cuts(Z: Vector, w: Vector, most: int) -> list[tuple[int, float, int, int]]:
    """Return a tree: the direction of each cut, its place, and the two parts.

    The part with the largest spread is cut next. A part that is not cut is a cell, of
    direction -1.
    """
    tree: list[tuple[int, float, int, int]] = [(-1, 0.0, 0, 0)]
    heap: list[tuple[float, int, int, float, Index]] = []

    def put(node: int, rows: Index) -> None:
        z, share = Z[rows], w[rows]
        centre = share @ z / share.sum()
        spread = share @ (z - centre) ** 2
        direction = int(spread.argmax()) if len(rows) > 1 else 0
        order = np.argsort(z[:, direction])
        column, reached = z[order, direction], np.cumsum(share[order])
        at = column[np.searchsorted(reached, reached[-1] / 2)]
        if at == column[-1]:  # more than half of the rows are there
            below = column[column < at]
            at = below[-1] if below.size else at
        if at < column[-1]:
            heapq.heappush(heap, (-float(spread[direction]), node, direction, at, rows))

    put(0, np.arange(len(Z)))
    cells = 1
    while heap and cells < most:
        _, node, direction, at, rows = heapq.heappop(heap)
        low = Z[rows, direction] <= at
        left = len(tree)
        tree[node] = direction, float(at), left, left + 1
        tree += [(-1, 0.0, 0, 0)] * 2
        put(left, rows[low])
        put(left + 1, rows[~low])
        cells += 1
    return tree


def _located(Z: Vector, tree: list[tuple[int, float, int, int]]) -> Index:
    """Return the leaf of a tree that each row is in."""
    direction, at, left, right = (np.array(part) for part in zip(*tree, strict=True))
    node = np.zeros(len(Z), dtype=np.intp)
    moving = np.arange(len(Z)) if direction[0] >= 0 else np.empty(0, dtype=np.intp)
    while moving.size:
        here = node[moving]
        low = Z[moving, direction[here]] <= at[here]
        node[moving] = np.where(low, left[here], right[here])
        moving = moving[direction[node[moving]] >= 0]
    return node


def _used(cell: Index, shares: Vector) -> Index:
    """Return cells numbered without gaps; points without weight go to the next cell."""
    weight = np.bincount(cell, shares)
    used = np.flatnonzero(weight > 0)
    return np.minimum(np.searchsorted(used, cell), len(used) - 1)
