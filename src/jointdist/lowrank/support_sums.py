"""The frame of the support of both sides, its sums, and a sample of paired rows.

A model of very many rows does not keep them. For each side it keeps sums over the bins of one
column, or over the leaves of a partition of several, and of the pairs a bottom-k sample. All of
these are collected in the pass that sums the moments; they add and subtract.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeAlias

import numpy as np

from jointdist._array import Array, Index, Matrix, array_namespace, to_numpy
from jointdist._cached import Cached, cached
from jointdist._rules import Text, require
from jointdist.data.row_keys import END, row_keys
from jointdist.lowrank.bins import Bins, BinSums
from jointdist.lowrank.bottom_k import BottomK, merge_samples
from jointdist.lowrank.features import fingerprint
from jointdist.lowrank.leaf_sums import LeafSums
from jointdist.lowrank.leaves import Leaves
from jointdist.lowrank.protocols import Features

__all__ = [
    "Frame",
    "SideSums",
    "SupportFrame",
    "SupportSums",
    "pair_limits",
    "sampled_pairs",
]

Frame: TypeAlias = Bins | Leaves
SideSums: TypeAlias = BinSums | LeafSums
Solve: TypeAlias = Callable[[Matrix], Matrix]

# Pairs that are kept: enough to choose ridges by leave-one-out errors (4,096 rows) and for a
# permutation test; 200 kB for six columns.
PAIRS = 4096
# The expected number of pairs below the first limit, in units of those that are kept.
_MARGIN = 4
# Pairs that wait to be merged, at most: as many as are kept.
_WAITING = 4096


class Summable(Protocol):
    """Sums over the frame of one side."""

    def combine(self, other: Self) -> Self:
        """Return the sums of the rows of both."""

    def without(self, other: Self) -> Self:
        """Return the sums of the rows less those of another part."""


def pair_limits(expected_rows: int) -> Index:
    """Return the first limit of the keys of pairs, of shape ``(1,)``.

    Parameters
    ----------
    expected_rows : int
        The number of rows that are expected.
    """
    share = _MARGIN * PAIRS / max(expected_rows, 1)
    return np.array([END if share >= 1 else int(share * END)], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SupportFrame(Cached):
    """Where the sums of the support are collected, chosen once.

    Attributes
    ----------
    x, y : Bins or Leaves
        The frames of both sides.
    seed : int
        The seed of the keys of pairs.
    limits : array of int, of shape (1,)
        The first limit of these keys.
    """

    x: Frame
    y: Frame
    seed: int
    limits: Index = field(repr=False)

    @cached
    def key(self) -> str:
        """A fingerprint: frames with the same key are the same."""
        return fingerprint(f"{self.x.key} {self.y.key} {self.seed}", self.limits)

    @property
    def small_maps(self) -> tuple[Features | None, Features | None]:
        """The features by which rows of X and of Y are located, if there are any."""
        return tuple(  # type: ignore[return-value]
            side.map if isinstance(side, Leaves) and side.count > 1 else None
            for side in (self.x, self.y)
        )

    def add_side(
        self,
        number: int,
        z: Array,
        w: Array | None,
        columns: Array,
        *,
        raw: Array | None = None,
        powers: Array | None = None,
    ) -> SideSums:
        """Return the sums of a block of rows of one side.

        Parameters
        ----------
        number : int
            Zero for X, one for Y.
        z : Array of shape (b, d)
            The rows.
        w : Array of shape (b,), optional
            Their weights.
        columns : Array of shape (m, b)
            The features, or functions that they are linear in.
        raw : Array of shape (r, b), optional
            Kernel columns, the first of which are those of the small map.
        powers : Array of shape (q, b), optional
            The powers of the rows about the origin of the leaves.
        """
        side = (self.x, self.y)[number]
        if isinstance(side, Bins):
            return side.add(z, w)
        first = None if raw is None else raw[: side.map.rank, :]
        return side.add(z, w, columns, prefix_columns=first, powers=powers)

    def joined(
        self, x: SideSums, y: SideSums, z: tuple[Array, Array], w: Array | None
    ) -> "SupportSums":
        """Return the sums of both sides of a block with a sample of its pairs.

        Parameters
        ----------
        x, y : BinSums or LeafSums
            The sums of both sides.
        z : tuple of Arrays of shape (b, d_x) and (b, d_y)
            The rows of X and Y.
        w : Array of shape (b,), optional
            Their weights.
        """
        return SupportSums(self, x, y, (self._pairs(*z, w),))

    def _pairs(self, x: Array, y: Array, w: Array | None) -> BottomK:
        """Return the pairs whose keys are below the limit, unsorted."""
        z = array_namespace(x, y).concat([x, y], axis=1)
        return _candidates(z, w, self.seed, self.limits)


@dataclass(frozen=True, eq=False)
class SupportSums(Cached):
    """Sums of the support of both sides, and a sample of pairs; they add and subtract.

    Attributes
    ----------
    frame : SupportFrame
        Where they are collected.
    x, y : BinSums or LeafSums
        The sums of both sides.
    parts : tuple of BottomK
        Samples of pairs, to be merged.
    """

    frame: SupportFrame
    x: SideSums
    y: SideSums
    parts: tuple[BottomK, ...] = field(repr=False)

    @cached
    def pairs(self) -> BottomK:
        """The distinct pairs with the smallest keys."""
        return merge_samples(self.parts)

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.y.count.sum())

    def combine(self, other: "SupportSums", *, reuse: bool = False) -> "SupportSums":
        """Return the sums of the rows of both.

        Parameters
        ----------
        other : SupportSums
            Sums of the same frame.
        reuse : bool, default=False
            Whether the memory of these sums may be used; they are lost then.
        """
        self._require_same(other)
        parts = self.parts + other.parts
        if sum(part.size for part in parts[1:]) > _WAITING:
            parts = (merge_samples(parts),)
        sides = (self.x, other.x), (self.y, other.y)
        x, y = (_combined(a, b, reuse=reuse) for a, b in sides)
        return SupportSums(self.frame, x, y, parts)

    def without(self, other: "SupportSums") -> "SupportSums":
        """Return the sums of the rows less those of ``other``, which must be among them.

        Parameters
        ----------
        other : SupportSums
            The sums of the rows that are taken out.
        """
        self._require_same(other)
        x, y = (_without(a, b) for a, b in ((self.x, other.x), (self.y, other.y)))
        return SupportSums(self.frame, x, y, (self.pairs.without(other.pairs),))

    def compact(self) -> "SupportSums":
        """Return the same with samples that are merged: as small as they get."""
        x, y = (
            side.compact() if isinstance(side, LeafSums) else side
            for side in (self.x, self.y)
        )
        return SupportSums(self.frame, x, y, (self.pairs,))

    def solved(self, solve_x: Solve | None, solve_y: Solve | None) -> "SupportSums":
        """Return the sums of other features, linear in those of these sums.

        Parameters
        ----------
        solve_x, solve_y : callable, optional
            From columns of the features to those of others; none leaves them as they are.
        """
        sides = (self.x, solve_x), (self.y, solve_y)
        x, y = (
            side.solved(solve) if isinstance(side, LeafSums) and solve else side
            for side, solve in sides
        )
        return SupportSums(self.frame, x, y, self.parts)

    def taken(self, rank_x: int, rank_y: int) -> "SupportSums":
        """Return the sums of the first features.

        Parameters
        ----------
        rank_x, rank_y : int
            Their numbers.
        """
        sides = (self.x, rank_x), (self.y, rank_y)
        x, y = (
            side.taken(rank) if isinstance(side, LeafSums) else side for side, rank in sides
        )
        return SupportSums(self.frame, x, y, self.parts)

    def _require_same(self, other: "SupportSums") -> None:
        same = self.frame is other.frame or self.frame.key == other.frame.key
        require(same, "SupportSums", "other", "sums of the same frame", Text("others"))


def sampled_pairs(z: Array, w: Array | None, seed: int) -> BottomK:
    """Return the distinct pairs with the smallest keys.

    Parameters
    ----------
    z : Array of shape (n, d_x + d_y)
        The pairs.
    w : Array of shape (n,), optional
        Their weights.
    seed : int
        The seed of the keys.
    """
    return merge_samples([_candidates(z, w, seed, pair_limits(z.shape[0]))])


def _candidates(z: Array, w: Array | None, seed: int, limits: Index) -> BottomK:
    """Return the pairs whose keys are below the limit, unsorted."""
    xp, keys = array_namespace(z), row_keys(z, seed)
    rows = xp.nonzero(keys < int(limits[0]))[0]
    points = to_numpy(xp.take(z, rows, axis=0)) + 0.0  # no negative zero
    weights = np.ones(len(points)) if w is None else to_numpy(xp.take(w, rows))
    group, counts = np.zeros(len(points), np.int64), np.ones(len(points), np.int64)
    found = to_numpy(xp.take(keys, rows))
    return BottomK(PAIRS, limits, found, group, points, weights, counts)


def _combined(a: SideSums, b: SideSums, *, reuse: bool) -> SideSums:
    if isinstance(a, BinSums) and isinstance(b, BinSums):
        return a.combine(b)
    assert isinstance(a, LeafSums)  # noqa: S101  # for type checkers
    assert isinstance(b, LeafSums)  # noqa: S101
    return a.combine(b, reuse=reuse)


def _without(a: SideSums, b: SideSums) -> SideSums:
    if isinstance(a, BinSums) and isinstance(b, BinSums):
        return a.without(b)
    assert isinstance(a, LeafSums)  # noqa: S101  # for type checkers
    assert isinstance(b, LeafSums)  # noqa: S101
    return a.without(b)
