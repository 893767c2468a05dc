"""Bottom-k samples: of each group of rows, the distinct ones with the smallest keys.

Equal rows have equal keys, and the row of a key carries the weight and the count of all rows
that are equal to it. A group keeps all rows whose keys are below its limit; to keep at most k,
the limit is lowered. So samples merge exactly: that of all rows does not depend on their
order or on where they are read. Rows can be taken out again; the limit never rises, so that
the sample then shrinks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Matrix, Vector
from jointdist._rules import Text, require

__all__ = ["BottomK", "merge_samples"]

# The share of the weight of a row below zero that is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class BottomK:
    """Distinct rows of each group, sorted by group and key.

    Attributes
    ----------
    kept : int
        The largest number of rows of a group.
    limits : array of int, of shape (K,)
        The keys of the rows of a group are all below its limit.
    keys : array of int, of shape (s,)
        The keys of the rows.
    group : array of int, of shape (s,)
        The group of each row.
    points : array of shape (s, d)
        The rows.
    weights : array of shape (s,)
        The total weight of each row.
    counts : array of int, of shape (s,)
        How often there is such a row.
    """

    kept: int
    limits: Index
    keys: Index
    group: Index
    points: Matrix
    weights: Vector
    counts: Index

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.keys)

    def without(self, other: "BottomK") -> "BottomK":
        """Return the sample less the rows of another.

        Parameters
        ----------
        other : BottomK
            A sample of rows that are there, sorted. Rows that are not there are refused.
        """
        seen = _below(other, self.limits)
        places = _places(self, seen)
        found = places >= 0
        counts, weights = self.counts.copy(), self.weights.copy()
        counts[places[found]] -= seen.counts[found]
        weights[places[found]] -= seen.weights[found]
        known = found.all() and (counts >= 0).all()
        known &= bool((weights >= -_ROUNDING * self.weights).all())
        known &= bool((weights[counts == 0] <= _ROUNDING * self.weights[counts == 0]).all())
        known &= bool((other.limits >= self.limits).all())  # it is cut nowhere else
        rule, value = "a sample of rows that are there", Text("rows that are not")
        require(known, "BottomK", "other", rule, value)
        left = replace(self, weights=np.maximum(weights, 0.0), counts=counts)
        return _taken(left, counts > 0)


def merge_samples(parts: Sequence[BottomK]) -> BottomK:
    """Return the sample of the rows of all parts, which need not be sorted.

    Parameters
    ----------
    parts : sequence of BottomK
        Samples of the same groups, at least one.
    """
    limits = np.array(parts[0].limits)
    for other in {id(part.limits): part.limits for part in parts}.values():
        np.minimum(limits, other, out=limits)
    low = [_below(part, limits) for part in parts]
    keys = np.concatenate([part.keys for part in low])
    group = np.concatenate([part.group for part in low])
    order = _sorted(keys, group, len(limits))
    keys, group = keys[order], group[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (group[1:] != group[:-1])
    starts = np.flatnonzero(new)
    group = group[starts]
    rank = np.arange(len(starts)) - np.searchsorted(group, np.arange(len(limits)))[group]
    kept = parts[0].kept
    first_beyond = rank == kept
    limits[group[first_beyond]] = keys[starts[first_beyond]]
    stays = rank < kept
    weights = np.concatenate([part.weights for part in low])
    counts = np.concatenate([part.counts for part in low])
    if starts.size:
        weights = np.add.reduceat(weights[order], starts)[stays]
        counts = np.add.reduceat(counts[order], starts)[stays]
    starts = starts[stays]
    points = np.concatenate([part.points for part in low])[order[starts]]
    return BottomK(kept, limits, keys[starts], group[stays], points, weights, counts)


def _below(sample: BottomK, limits: Index) -> BottomK:
    """Return the rows whose keys are below limits."""
    low = sample.keys < limits[sample.group]
    return sample if low.all() else _taken(sample, low)


def _taken(sample: BottomK, which: NDArray[np.bool_]) -> BottomK:
    """Return some of the rows."""
    return replace(
        sample,
        keys=sample.keys[which],
        group=sample.group[which],
        points=sample.points[which],
        weights=sample.weights[which],
        counts=sample.counts[which],
    )


def _sorted(keys: Index, group: Index, groups: int) -> Index:
    """Return the order by group, then by key."""
    order = np.argsort(keys)
    small = groups <= np.iinfo(np.uint16).max  # few numbers are sorted by radix
    later = group[order].astype(np.uint16) if small else group[order]
    return order[np.argsort(later, kind="stable")]


def _places(sample: BottomK, other: BottomK) -> Index:
    """Return where each row of another sample is in a sample; -1 if nowhere."""
    keys = np.concatenate([sample.keys, other.keys])
    group = np.concatenate([sample.group, other.group])
    order = _sorted(keys, group, len(sample.limits))
    keys, group = keys[order], group[order]
    same = np.flatnonzero((keys[1:] == keys[:-1]) & (group[1:] == group[:-1]))
    pair = order[same], order[same + 1]
    where = np.full(other.size, -1)
    where[np.maximum(*pair) - sample.size] = np.minimum(*pair)
    return where
