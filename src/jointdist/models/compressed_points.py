"""Support points that stand for many rows, from the sums over bins or leaves."""

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.distributions.support_points import Cells, Merged, SupportPoints
from jointdist.lowrank.bins import BinSums
from jointdist.lowrank.leaf_sums import LeafSums
from jointdist.lowrank.moments import square_columns
from jointdist.lowrank.support_sums import SideSums

__all__ = ["compressed_points"]

_EQUAL = (
    1e-9  # by how much weights that are equal may differ: rounding of sums of 10^9 rows
)


def compressed_points(
    sums: SideSums, encoding: Encoding, named: tuple[str, str], executor: Executor
) -> SupportPoints:
    """Return the support points of one side of a sample.

    Parameters
    ----------
    sums : BinSums or LeafSums
        The sums over the bins of one column, or the leaves of several.
    encoding : Encoding
        The columns.
    named : tuple of str
        The estimator and the name of the side, for messages.
    executor : Executor
        Runs the row blocks.
    """
    of = _of_bins if isinstance(sums, BinSums) else _of_leaves
    table, weights, merged = of(sums)  # type: ignore[arg-type]
    rows = Rows(np.ascontiguousarray(table), *named)
    return SupportPoints(rows, encoding, weights, executor, merged)


def _of_bins(sums: BinSums) -> tuple[Vector, Vector, Merged]:
    found = sums.finish()
    share = found.weights / found.weights.sum()
    away = found.points[:, 0] - share @ found.points[:, 0]
    unit = np.sqrt(share @ (away**2 + found.variances))
    merged = Merged(
        int(sums.count.sum()),
        _are_equal(sums),
        found.squared,
        found.variances,
        np.array([unit]),
        found.single | (found.variances == 0),
    )
    return found.points, found.weights, merged


def _of_leaves(sums: LeafSums) -> tuple[Vector, Vector, Merged]:
    found, (d,) = sums.finish(), sums.leaves.origin.shape
    mean = found.cell_weights @ found.cell_powers / found.cell_weights.sum()
    squares = mean[square_columns(d, len(mean))] - mean[:d] ** 2
    cells = None
    if sums.leaves.count > 1 and not found.exact.all():
        cells = Cells(found.cell, found.leaf, sums)
    merged = Merged(
        int(sums.count.sum()),
        _are_equal(sums),
        found.squared,
        None,
        np.sqrt(np.maximum(squares, 0.0)),
        found.exact[found.cell],
        cells,
    )
    return found.points, found.weights, merged


def _are_equal(sums: SideSums) -> bool:
    """Tell whether all rows have the same weight."""
    count, weight = float(sums.count.sum()), float(sums.weight.sum())
    return bool(count * sums.squared.sum() <= (1 + _EQUAL) * weight**2)
