"""Sums over the rows of each leaf, with a sample of its distinct rows."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

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
from jointdist.data.row_keys import row_keys
from jointdist.lowrank.bins import are_moments, subtracted_weights
from jointdist.lowrank.bottom_k import BottomK, merge_samples
from jointdist.lowrank.leaf_points import LeafPoints, leaf_points
from jointdist.lowrank.moments import powers, square_columns

if TYPE_CHECKING:
    from jointdist.lowrank.leaves import Leaves

__all__ = ["PRODUCTS", "LeafSums", "block_sums"]

# Powers of which products of two are summed, at most: as many as a projection matches.
PRODUCTS = 64
# The share of a sum of squared powers that must be left, once rows are taken out, for it to be
# known still: nine digits then are. A far row, whose fourth power counts, may leave rounding.
_LEFT = 1e-6
# Rows of samples that wait to be merged, at most: as many as a merged sample has. A merger
# sorts them all, so that one after every block would cost more than the sums.
_WAITING = 1 << 14
# Rows of a block that may be below their limits before they are merged at once: data that
# repeat have few distinct rows.
_UNSORTED = 1 << 10


@dataclass(frozen=True, eq=False)
class LeafSums(Cached):
    """Sums over the rows of each of K leaves; they add and subtract.

    Attributes
    ----------
    leaves : Leaves
        The leaves.
    weight, squared : arrays of shape (K,)
        The sums of the weights and of their squares.
    count : array of int, of shape (K,)
        The numbers of rows.
    powers : array of shape (K, q)
        The weighted sums of the powers of the rows about the origin of the leaves.
    features : array of shape (K, m)
        The weighted sums of the features.
    parts : tuple of BottomK
        Samples of distinct rows, to be merged.
    products : array of shape (p, p), optional
        The weighted sums of products of two of the first powers over all rows, if known: with
        heavy tails one row may make up most of them, which a sample of the rows misses.
    """

    leaves: "Leaves"
    weight: Vector = field(repr=False)
    squared: Vector = field(repr=False)
    count: Index = field(repr=False)
    powers: Matrix = field(repr=False)
    features: Matrix = field(repr=False)
    parts: tuple[BottomK, ...] = field(repr=False)
    products: Matrix | None = field(default=None, repr=False)

    @cached
    def sample(self) -> BottomK:
        """The distinct rows of each leaf with the smallest keys."""
        return merge_samples(self.parts)

    def combine(self, other: "LeafSums", *, reuse: bool = False) -> "LeafSums":
        """Return the sums of the rows of both.

        Parameters
        ----------
        other : LeafSums
            Sums of the same leaves and features.
        reuse : bool, default=False
            Whether the memory of these sums may be used; they are lost then.
        """
        self._require_same(other)
        parts = self.parts + other.parts
        if sum(part.size for part in parts[1:]) > _WAITING:
            parts = (merge_samples(parts),)
        return LeafSums(
            self.leaves,
            self.weight + other.weight,
            self.squared + other.squared,
            self.count + other.count,
            self.powers + other.powers,
            np.add(self.features, other.features, out=self.features if reuse else None),
            parts,
            _products(self, other),
        )

    def without(self, other: "LeafSums") -> "LeafSums":
        """Return the sums of the rows less those of ``other``.

        Parameters
        ----------
        other : LeafSums
            Sums of rows that are there; rows that are not are refused.
        """
        self._require_same(other)
        count, weight, squared = subtracted_weights(self, other)
        rows, sums = (count > 0)[:, None], self.powers - other.powers
        d = len(self.leaves.origin)
        of = square_columns(d, sums.shape[1])
        possible = are_moments(
            weight[:, None], sums[:, :d], sums[:, of], self.powers[:, of]
        )
        rule, seen = "sums of rows that are there", Text("values that no row of a leaf has")
        require(possible.all(), "LeafSums", "other", rule, seen)
        return LeafSums(
            self.leaves,
            weight,
            squared,
            count,
            np.where(rows, sums, 0.0),
            np.where(rows, self.features - other.features, 0.0),
            (self.sample.without(other.sample),),
            _products_left(self, other, count),
        )

    def compact(self) -> "LeafSums":
        """Return the same with one sample of rows, in which all parts are merged."""
        return replace(self, parts=(self.sample,))

    def solved(self, solve: Callable[[Matrix], Matrix]) -> "LeafSums":
        """Return the sums of other features, linear in those of these sums.

        Parameters
        ----------
        solve : callable
            From columns of these features, of shape ``(m, K)``, to those of others.
        """
        return replace(self, features=np.ascontiguousarray(solve(self.features.T).T))

    def taken(self, rank: int) -> "LeafSums":
        """Return the sums of the first features.

        Parameters
        ----------
        rank : int
            Their number.
        """
        return replace(self, features=self.features[:, :rank].copy())

    def finish(self) -> LeafPoints:
        """Return the leaves that have weight as cells, with their support points."""
        return leaf_points(self)

    def _require_same(self, other: "LeafSums") -> None:
        same = self.leaves is other.leaves or self.leaves.key == other.leaves.key
        same &= self.features.shape == other.features.shape
        rule = "sums of the same leaves and features"
        require(same, "LeafSums", "other", rule, Text("others"))


def block_sums(
    leaves: "Leaves",
    z: Array,
    w: Array | None,
    columns: Array,
    leaf: Array,
    *,
    p: Array | None = None,
) -> LeafSums:
    """Return the sums of a block of rows that have been located.

    Parameters
    ----------
    leaves : Leaves
        The leaves.
    z : Array of shape (n, d)
        The rows.
    w : Array of shape (n,), optional
        Their weights.
    columns : Array of shape (m, n)
        The features that are summed.
    leaf : Array of int, of shape (n,)
        The leaf of each row.
    p : Array of shape (q, n), optional
        The powers of the rows about the origin of the leaves, if they are known.
    """
    k, p = leaves.count, powers(like(leaves.origin, z), z) if p is None else p
    weight, squared, count = group_weights(leaf, k, w)
    summed, features = group_sums(leaf, k, w, p, columns)
    few = p[: min(PRODUCTS, p.shape[0]), :]
    products = to_numpy((few if w is None else w * few) @ few.T)
    part = _candidates(leaves, z, w, leaf)
    if part.size > _UNSORTED:
        part = merge_samples([part])
    return LeafSums(leaves, weight, squared, count, summed, features, (part,), products)


def _products(sums: LeafSums, other: LeafSums) -> Matrix | None:
    """Return the products of the rows of both, if known."""
    if sums.products is None or other.products is None:
        return None
    return sums.products + other.products


def _products_left(sums: LeafSums, other: LeafSums, count: Index) -> Matrix | None:
    """Return the products less those of rows that are taken out, unless rounding is left."""
    if sums.products is None or other.products is None:
        return None
    if not count.any():
        return np.zeros_like(sums.products)
    left = sums.products - other.products
    known = np.diagonal(left) >= _LEFT * np.diagonal(sums.products)
    return left if known.all() else None


def _candidates(leaves: "Leaves", z: Array, w: Array | None, leaf: Array) -> BottomK:
    """Return the rows whose keys are below the limits of their leaves, unsorted."""
    xp, keys = array_namespace(z), row_keys(z, leaves.seed)
    low = keys < gather(like(leaves.limits, z), leaf)
    rows = xp.nonzero(low)[0]
    points = to_numpy(gather(z, rows)).astype(np.float64) + 0.0  # no negative zero
    weights = np.ones(len(points)) if w is None else to_numpy(gather(w, rows))
    keys, group = (to_numpy(gather(part, rows)) for part in (keys, leaf))
    counts = np.ones(len(points), dtype=np.int64)
    return BottomK(leaves.kept, leaves.limits, keys, group, points, weights, counts)
