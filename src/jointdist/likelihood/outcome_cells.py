"""Cells of outcomes, and which of them a row of Y is in.

Cells of one column are its values, or intervals of about equal weight. Those of several columns
are the leaves of a tree that cuts where outcomes are widest apart: the distinct outcomes, if they
are not too many.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from jointdist._array import Array, Index, Matrix, Vector, array_namespace, like, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.support_points import Cells, SupportPoints, standard_deviations
from jointdist.lowrank.leaves import Leaves
from jointdist.lowrank.partition_tree import PartitionTree, grow_tree

__all__ = [
    "CellsOfLeaves",
    "Intervals",
    "Locator",
    "Regions",
    "cells_of_regions",
    "coordinates",
    "interval_edges",
    "regions_of",
    "safe_units",
]

_WITHIN = 0.5  # where a cut lies in the gap between two outcomes


class Locator(Protocol):
    """Tells which cell a row of Y is in."""

    def locate(self, z: Array) -> Index:
        """Return the numbers of the cells of rows, coded."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Cells of one column.

    Attributes
    ----------
    edges : array of shape (K - 1,)
        The upper ends of all cells but the last.
    """

    edges: Vector

    def locate(self, z: Array) -> Index:
        """Return the numbers of the cells of rows, coded."""
        xp = array_namespace(z)
        values = xp.astype(z[:, 0], xp.float64, copy=False)
        found: Index = to_numpy(xp.searchsorted(like(self.edges, z), values))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Cells of several columns: the leaves of a tree.

    Attributes
    ----------
    encoding : Encoding
        The columns.
    units : array of shape (d,)
        The standard deviations of the columns.
    tree : PartitionTree
        The tree of cuts of the coordinates.
    """

    encoding: Encoding
    units: Vector
    tree: PartitionTree

    def locate(self, z: Array) -> Index:
        """Return the numbers of the cells of rows, coded."""
        found = self.tree.locate(coordinates(self.encoding, self.units, to_numpy(z)))
        return np.asarray(found, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class CellsOfLeaves:
    """Cells that the sums of many rows are collected in.

    Attributes
    ----------
    leaves : Leaves
        The leaves.
    cell : array of int, of shape (count,)
        The cell that each leaf is.
    """

    leaves: Leaves
    cell: Index

    @staticmethod
    def of(cells: Cells) -> "CellsOfLeaves":
        """Return the cells of support points that stand for many rows."""
        leaves = cells.sums.leaves
        cell = np.zeros(leaves.count, dtype=np.intp)
        cell[cells.leaf] = np.arange(len(cells.leaf))
        return CellsOfLeaves(leaves, cell)

    def locate(self, z: Array) -> Index:
        """Return the numbers of the cells of rows, coded."""
        found: Index = self.cell[to_numpy(self.leaves.locate(z))]
        return found


def cells_of_regions(
    points: SupportPoints, most: int, origin: Vector
) -> tuple[CellSupport, Regions]:
    """Return points of several columns in cells.

    Parameters
    ----------
    points : SupportPoints
        The points.
    most : int
        The largest number of cells.
    origin : array of shape (d,)
        The point about which powers are taken.
    """
    found = regions_of(points, most)
    return CellSupport.of(points, points, found.locate(points.table()), origin), found


def coordinates(encoding: Encoding, units: Vector, z: Matrix) -> Matrix:
    """Return numbers in their standard deviations, and an indicator of each category.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    units : array of shape (d,)
        The standard deviations of the columns.
    z : array of shape (n, d)
        The rows, coded.
    """
    parts = [
        z[:, [i]] / units[i] if known is None else z[:, [i]] == np.arange(len(known))
        for i, known in enumerate(encoding.categories)
    ]
    return np.concatenate(parts, axis=1, dtype=np.float64)


def safe_units(table: Matrix, shares: Vector) -> Vector:
    """Return the standard deviations of columns of any unit; one for a constant.

    Parameters
    ----------
    table : array of shape (k, d)
        The rows.
    shares : array of shape (k,)
        Their weights.
    """
    largest = np.abs(table).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    return standard_deviations(table / largest, shares) * largest


def regions_of(points: SupportPoints, most: int) -> Regions:
    """Return cells of the points of several columns.

    Parameters
    ----------
    points : SupportPoints
        The points.
    most : int
        The largest number of cells; fewer distinct points have a cell each.
    """
    counted = points.shares > 0
    table, shares = points.table()[counted], points.shares[counted]
    units = safe_units(table, shares)
    Z = coordinates(points.encoding, units, table)
    return Regions(points.encoding, units, grow_tree(Z, shares, most, within=_WITHIN))


def interval_edges(cells: CellSupport, thresholds: Vector | None = None) -> Vector:
    """Return the upper ends of all cells of one column but the last.

    They are halfway between the points of neighbouring cells.

    Parameters
    ----------
    cells : CellSupport
        The cells, in the order of the column.
    thresholds : array of shape (B,), optional
        The ends of the bins that the points stand for, if they do: cells end where bins do.
    """
    values = cells.points.table()[:, 0]
    counted = cells.points.shares > 0
    low, high = np.full(cells.rank, np.inf), np.full(cells.rank, -np.inf)
    np.minimum.at(low, cells.cell[counted], values[counted])
    np.maximum.at(high, cells.cell[counted], values[counted])
    if thresholds is not None and len(thresholds):
        place = np.searchsorted(thresholds, high[:-1])
        found: Vector = thresholds[np.minimum(place, len(thresholds) - 1)]
        return found
    middle = high[:-1] / 2 + low[1:] / 2
    return np.where((middle >= high[:-1]) & (middle < low[1:]), middle, high[:-1])
