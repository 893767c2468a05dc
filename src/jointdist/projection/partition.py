"""Partitions of support points into cells: intervals of a column, or alike in features."""

import numpy as np

from jointdist._array import Array, Index, Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support import Support
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.partition_tree import grow_tree
from jointdist.projection.settings import SETTINGS

__all__ = ["cells_by_features", "cells_of_points", "cells_of_values"]


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
    return cells_of_points(support.points, support.sample, most, support.origin)


def cells_of_points(
    points: SupportPoints, sample: SupportPoints, most: int, origin: Vector
) -> CellSupport:
    """Return points of one column, or of few values, in cells.

    Parameters
    ----------
    points : SupportPoints
        The points.
    sample : SupportPoints
        The whole sample, which tells what kind of variable it is.
    most : int
        The largest number of cells of a continuous variable.
    origin : array of shape (d,)
        The point about which powers are taken.
    """
    if sample.has_few_values:
        cell = np.unique(points.table(), axis=0, return_inverse=True)[1].ravel()
    else:
        cell = _intervals(points, most)
    return CellSupport.of(points, sample, _used(cell, points.shares), origin)


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
    merged = support.points.merged
    if merged is not None and merged.cells is not None:
        return CellSupport.of_cells(support.points, merged.cells, support.origin)
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

    def block(_start: int, z: Array) -> Vector:
        return support.features(z)[:, :leading]

    Z = np.concatenate(list(points.executor.map(block, points.rows)))
    counted = np.flatnonzero(points.shares)
    if len(counted) > SETTINGS.cut_rows:
        rng = np.random.default_rng(0)
        counted = np.sort(rng.choice(counted, SETTINGS.cut_rows, replace=False))
    tree = grow_tree(Z[counted], points.shares[counted], most)
    return np.asarray(tree.locate(Z))


def _used(cell: Index, shares: Vector) -> Index:
    """Return cells numbered without gaps; points without weight go to the next cell."""
    weight = np.bincount(cell, shares)
    used = np.flatnonzero(weight > 0)
    return np.minimum(np.searchsorted(used, cell), len(used) - 1)
