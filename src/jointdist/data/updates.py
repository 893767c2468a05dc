"""Incremental updates and downdates of a sample: rows that are added and removed."""

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist._rules import Text, require
from jointdist.data.sample import Sample
from jointdist.data.table import Rows

__all__ = ["joined", "without"]


def joined(sample: Sample, other: Sample) -> Sample:
    """Return the rows of both samples, copied.

    Parameters
    ----------
    sample, other : Sample
        The samples.
    """
    weights = None
    if sample.weights is not None or other.weights is not None:
        weights = np.concatenate([sample.row_weights, other.row_weights])
    x = np.concatenate([sample.x.table(), other.x.table()])
    y = np.concatenate([sample.y.table(), other.y.table()])
    return Sample(_like(sample.x, x), _like(sample.y, y), weights, sample.categorical)


def without(sample: Sample, other: Sample) -> Sample:
    """Return the rows of a sample without those of another, each of which must be there.

    Parameters
    ----------
    sample : Sample
        The sample.
    other : Sample
        The rows to remove, with their weights.
    """
    have, gone = _keys(sample), _keys(other)
    order, back = np.argsort(have, kind="stable"), np.argsort(gone, kind="stable")
    have, gone = have[order], gone[back]
    first = np.searchsorted(have, gone, side="left")
    repeat = np.arange(len(gone)) - np.searchsorted(gone, gone, side="left")
    place = first + repeat
    present = place < np.searchsorted(have, gone, side="right")
    if not present.all():
        got = Text(f"row {back[~present].min()}, which is not, or not so often")
        rule = "rows that the model was fitted to, with their weights"
        require(False, other.x.where, "X, Y", rule, got)
    rest = np.delete(np.arange(sample.n), order[place])
    got = Text("all of them")
    left = rest.size and (sample.weights is None or sample.weights[rest].any())
    require(left, other.x.where, "X, Y", "not all rows of the model", got)
    return sample.take(rest)


def _like(rows: Rows, table: Vector) -> Rows:
    return Rows(table, rows.where, rows.name)


def _keys(sample: Sample) -> NDArray[np.void]:
    """Return each row with its weight as one value that can be sorted."""
    parts = [sample.x.table(), sample.y.table(), sample.row_weights[:, None]]
    table = np.ascontiguousarray(np.concatenate(parts, axis=1)) + 0.0  # no negative zero
    return table.view([("row", np.void, table.shape[1] * 8)])["row"].ravel()
