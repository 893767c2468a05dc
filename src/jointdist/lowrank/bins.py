r"""Bins of one numeric column, and sums over them that stand for many rows.

Bin :math:`b` holds the values :math:`t_{b-1} < y \le t_b` between thresholds. A value that
repeats has a bin of its own, whose sums are exact. Sums add and subtract: they do not depend
on the order of the rows or on where they are read.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jointdist._array import (
    Array,
    Index,
    Matrix,
    Vector,
    array_namespace,
    gather,
    group_sums,
    group_weights,
    like,
    to_numpy,
)
from jointdist._cached import Cached, cached
from jointdist._rules import Text, require
from jointdist.lowrank.features import fingerprint

__all__ = [
    "BinSums",
    "BinnedPoints",
    "Bins",
    "are_moments",
    "propose_bins",
    "subtracted_weights",
]

# Bins at most, by default: five sums of 2^14 bins are 640 KiB, a small model, and a bin of a
# continuous variable has a share of 1 / 2^14 = 6e-5 of the weight.
_MOST_BINS = 1 << 14
# The share of the total weight below zero that is rounding: sums of 10^9 rows err by less.
_ROUNDING = 1e-9
# The share of a sum of squares by which a variance may be negative: rounding of differences.
_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Bins(Cached):
    """The bins between thresholds, open at both ends.

    Attributes
    ----------
    thresholds : array of shape (B,)
        The thresholds, ascending; there are B + 1 bins.
    """

    thresholds: Vector

    @property
    def count(self) -> int:
        """The number of bins."""
        return len(self.thresholds) + 1

    @cached
    def key(self) -> str:
        """A fingerprint: bins with the same key are the same."""
        return fingerprint("bins", self.thresholds)

    @cached
    def single(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether a bin holds one value only, of shape ``(B + 1,)``."""
        t = self.thresholds
        inner = np.nextafter(t[:-1], np.inf) == t[1:]
        return np.concatenate([[False], inner, [False]])[: self.count]

    @cached
    def centres(self) -> Vector:
        """A point of each bin that sums are taken about, against cancellation."""
        t = self.thresholds
        if not t.size:
            return np.zeros(1)
        inner = np.where(self.single[1:-1], t[1:], t[:-1] / 2 + t[1:] / 2)
        return np.concatenate([t[:1], inner, t[-1:]])

    def zero(self) -> "BinSums":
        """Return the sums of no rows."""
        none = np.zeros(self.count)
        return BinSums(self, none, none, none, none, none.astype(np.intp))

    def add(self, y: Array, w: Array | None = None) -> "BinSums":
        """Return the sums of a block of rows.

        Parameters
        ----------
        y : Array of shape (n,) or (n, 1)
            The values, of any array library.
        w : Array of shape (n,), optional
            Their weights.
        """
        xp, k = array_namespace(y), self.count
        y = xp.reshape(y, (-1,)) + 0.0  # contiguous, as searches want it
        which = xp.searchsorted(like(self.thresholds, y), y)
        v = y - gather(like(self.centres, y), which)
        weight, squared, count = group_weights(which, k, w)
        [sums] = group_sums(which, k, w, xp.stack([v, v * v]))
        return BinSums(self, weight, squared, sums[:, 0], sums[:, 1], count)


@dataclass(frozen=True, eq=False)
class BinSums:
    """Sums over the rows of each bin.

    Attributes
    ----------
    bins : Bins
        The bins.
    weight, squared : arrays of shape (B + 1,)
        The sums of the weights and of their squares.
    first, second : arrays of shape (B + 1,)
        The weighted sums of the distances from the centre of the bin and of their squares.
    count : array of int, of shape (B + 1,)
        The numbers of rows.
    """

    bins: Bins
    weight: Vector = field(repr=False)
    squared: Vector = field(repr=False)
    first: Vector = field(repr=False)
    second: Vector = field(repr=False)
    count: Index = field(repr=False)

    def combine(self, other: "BinSums") -> "BinSums":
        """Return the sums of the rows of both.

        Parameters
        ----------
        other : BinSums
            Sums of the same bins.
        """
        self._require_same(other)
        return BinSums(
            self.bins,
            self.weight + other.weight,
            self.squared + other.squared,
            self.first + other.first,
            self.second + other.second,
            self.count + other.count,
        )

    def without(self, other: "BinSums") -> "BinSums":
        """Return the sums of the rows less those of ``other``.

        Parameters
        ----------
        other : BinSums
            Sums of rows that are there; more rows than there are in a bin are refused.
        """
        self._require_same(other)
        count, weight, squared = subtracted_weights(self, other)
        left = count > 0
        first, second = self.first - other.first, self.second - other.second
        rule, seen = "sums of rows that are there", Text("values that no row of a bin has")
        possible = are_moments(weight, first, second, self.second)
        require(possible.all(), "BinSums", "other", rule, seen)
        return BinSums(
            self.bins,
            weight,
            squared,
            np.where(left, first, 0.0),
            np.where(left, np.maximum(second, 0.0), 0.0),
            count,
        )

    def finish(self) -> "BinnedPoints":
        """Return the means of the bins that have weight, as support points."""
        used = np.flatnonzero(self.weight > 0)
        t, weight, single = self.bins.thresholds, self.weight[used], self.bins.single[used]
        moved = np.where(single, 0.0, self.first[used] / weight)
        lower, upper = np.append(-np.inf, t)[used], np.append(t, np.inf)[used]
        means = np.clip(self.bins.centres[used] + moved, lower, upper)
        spread = np.maximum(self.second[used] / weight - moved**2, 0.0)
        return BinnedPoints(
            means[:, None],
            weight,
            self.squared[used],
            np.where(single, 0.0, spread),
            single,
            self.count[used],
        )

    def _require_same(self, other: "BinSums") -> None:
        same = self.bins.key == other.bins.key
        require(same, "BinSums", "other", "sums of the same bins", Text("others"))


@dataclass(frozen=True, eq=False)
class BinnedPoints:
    """The means of bins, as support points.

    Attributes
    ----------
    points : array of shape (k, 1)
        The means, ascending.
    weights, squared : arrays of shape (k,)
        The sums of the weights and of their squares.
    variances : array of shape (k,)
        The variances within the bins.
    single : array of bool, of shape (k,)
        Whether a bin holds one value only, and so is exact.
    counts : array of int, of shape (k,)
        The numbers of rows.
    """

    points: Matrix
    weights: Vector
    squared: Vector
    variances: Vector
    single: np.ndarray[tuple[int], np.dtype[np.bool_]]
    counts: Index

    @property
    def largest_share(self) -> float:
        """The largest share of the weight in a bin of several values."""
        largest = self.weights[~self.single].max(initial=0.0)
        return float(largest / self.weights.sum()) if largest > 0 else 0.0


class Weighted(Protocol):
    """Sums of the weights of rows, of their squares, and the numbers of rows, by group."""

    @property
    def weight(self) -> Vector: ...

    @property
    def squared(self) -> Vector: ...

    @property
    def count(self) -> Index: ...


def subtracted_weights(sums: Weighted, other: Weighted) -> tuple[Index, Vector, Vector]:
    """Return counts, weights and squared weights less those of rows that are taken out.

    Raises if a count or a weight turns negative: these rows are not there.

    Parameters
    ----------
    sums, other : Weighted
        The sums of all rows, and of those that are taken out.
    """
    count, weight = sums.count - other.count, sums.weight - other.weight
    slack = _ROUNDING * max(sums.weight.sum(), 0.0)
    wrong = (weight < -slack) | ((count == 0) & (weight > slack))
    bad = np.flatnonzero((count < 0) | wrong)
    seen = Text(f"more rows or weight in {bad.size} groups")
    rule = "sums of rows that are there"
    require(not bad.size, type(sums).__name__, "other", rule, seen)
    squared, left = sums.squared - other.squared, count > 0
    weight, squared = (
        np.where(left, np.maximum(each, 0.0), 0.0) for each in (weight, squared)
    )
    return count, weight, squared


def are_moments(
    weight: Vector, first: Vector, second: Vector, before: Vector
) -> NDArray[np.bool_]:
    """Tell where sums of squares are possible: no variance is negative, and none is left alone.

    Parameters
    ----------
    weight, first, second : arrays
        The sums of weights, of values, and of their squares that are left.
    before : array
        The sums of squares before rows were taken out, by which rounding is measured.
    """
    size = _VARIANCE * np.abs(before)
    gone = (second <= size) & (second >= -size)
    return np.where(weight > 0, second * weight - first**2 >= -size * weight, gone)


def propose_bins(values: Array, weights: Array | None, most: int = _MOST_BINS) -> Bins:
    """Return bins of about equal weight, or one for each of few values.

    Between few values there are bins for all others. A value that takes up several of the
    equal parts has a bin of its own.

    Parameters
    ----------
    values : Array of shape (n,) or (n, 1)
        The values of a sample.
    weights : Array of shape (n,), optional
        Their weights.
    most : int, default=16384
        The largest number of bins.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.lowrank.bins import propose_bins
    >>> y = np.array([1.0, 2.0, 2.0, 5.0])
    >>> binned = propose_bins(y, None).add(y).finish()
    >>> binned.points[:, 0], binned.weights, binned.largest_share
    (array([1., 2., 5.]), array([1., 2., 1.]), 0.0)
    """
    y = to_numpy(values).reshape(-1).astype(np.float64) + 0.0
    w = np.ones(len(y)) if weights is None else to_numpy(weights)
    distinct, which = np.unique(y[w > 0], return_inverse=True)
    if 2 * len(distinct) < most:
        own = np.ones(len(distinct), dtype=bool)
    else:
        reached = np.cumsum(np.bincount(which.ravel(), w[w > 0]))
        levels = reached[-1] * np.arange(1, most) / most
        places = np.minimum(np.searchsorted(reached, levels), len(distinct) - 1)
        found, hits = np.unique(places, return_counts=True)
        distinct, own = distinct[found], hits > 1
    below = np.nextafter(distinct[own], -np.inf)
    return Bins(np.union1d(below, distinct))
