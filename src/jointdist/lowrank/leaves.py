r"""Leaves of a partition of several columns: the frame of sums that stand for many rows.

Rows are located by a few functions of a small feature map, the leading ones over a sample, and
a partition tree of these coordinates. Cuts lie between the coordinates of the sample, away
from them, so that rounding does not move equal rows into different leaves.
"""

import math
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from jointdist._array import (
    Array,
    Index,
    Matrix,
    Vector,
    array_namespace,
    device,
    like,
    to_numpy,
)
from jointdist._cached import Cached, cached
from jointdist.data.row_keys import END, row_keys
from jointdist.lowrank.features import FeatureMap, fingerprint
from jointdist.lowrank.leaf_sums import LeafSums, block_sums
from jointdist.lowrank.partition_tree import PartitionTree, grow_tree
from jointdist.lowrank.polynomial_map import PolynomialMap
from jointdist.lowrank.protocols import Features

__all__ = ["Leaves", "propose_leaves"]

# Features by which rows are located, and directions of cuts. Measured on normal and t3 data of
# 2 to 10 columns: 64 features lower the variance within leaves by at most 3 %, of 81 features
# by 9 %; 16 features raise it by up to 40 %, as do 8 directions.
_MAP_FEATURES = 32
_DIRECTIONS = 16
# The amplification of rounding up to which features locate rows: coordinates then err by about
# 1e-16 times its root, 1e-12, against the grid below.
_AMPLIFICATION = 1e8
# The grid that coordinates of the sample are rounded to before they are cut, relative to the
# standard deviation of the first: coordinates that should be equal then are.
_GRID = 2.0**-24
# Where a cut lies in the gap between two rows: the golden section. In data on a lattice, half
# the way would be the place of rows in the middle.
_CUT = 0.381966
# Leaves, and distinct rows of a sample up to which data are discrete: as many as the cells
# of projections.
_MOST_LEAVES = 1024
# Rows of each leaf in the support: 1,024 leaves have 2^14 then, as many as a column has bins.
_KEPT = 16
# The expected number of rows below the first limit of a leaf, as a multiple of those that are
# kept: leaves that turn out half as large as expected are full, but for one in 10^4.
_MARGIN = 4


@dataclass(frozen=True, eq=False)
class Leaves(Cached):
    r"""The leaves that rows are summed in.

    Attributes
    ----------
    map : Features
        A small feature map.
    directions : array of shape (r, L)
        The leading functions, in terms of the features.
    offset : array of shape (L,)
        Coordinates are :math:`\phi(z)^\top` ``directions - offset``.
    tree : PartitionTree
        The partition of the coordinates into K leaves.
    origin : array of shape (d,)
        The point that powers are taken about.
    seed : int
        The seed of the keys of rows.
    kept : int
        The largest number of distinct rows of a leaf in the sample.
    limits : array of int, of shape (K,)
        The first limits of the keys of the sample.
    """

    map: Features
    directions: Matrix = field(repr=False)
    offset: Vector = field(repr=False)
    tree: PartitionTree = field(repr=False)
    origin: Vector
    seed: int
    kept: int
    limits: Index = field(repr=False)

    @property
    def count(self) -> int:
        """The number of leaves K."""
        return len(self.limits)

    @cached
    def key(self) -> str:
        """A fingerprint: leaves with the same key are the same."""
        tree = (self.tree.direction, self.tree.at, self.tree.left)
        arrays = (self.directions, self.offset, self.origin, self.limits, *tree)
        return fingerprint(f"{self.map.key} {self.seed} {self.kept}", *arrays)

    def locate(self, z: Array, prefix_columns: Array | None = None) -> Array:
        """Return the number of the leaf that each row is in.

        Parameters
        ----------
        z : Array of shape (n, d)
            The rows, of any array library.
        prefix_columns : Array of shape (r, n), optional
            The kernel columns of the small map, if they are known.
        """
        if self.count == 1:
            xp = array_namespace(z)
            return xp.zeros(z.shape[0], dtype=xp.int64, device=device(z))
        columns = self.map.columns(z) if prefix_columns is None else prefix_columns
        turned, offset = (like(part, z) for part in (self._on_columns, self.offset))
        Z = turned @ columns
        Z -= offset[:, None]
        return self.tree.locate(Z.T)

    def zero(self, rank: int) -> LeafSums:
        """Return the sums of no rows.

        Parameters
        ----------
        rank : int
            The number of features that are summed.
        """
        z, columns = np.empty((0, len(self.origin))), np.empty((rank, 0))
        return block_sums(self, z, None, columns, np.empty(0, dtype=np.int64))

    def add(
        self,
        z: Array,
        w: Array | None,
        columns: Array,
        *,
        prefix_columns: Array | None = None,
        powers: Array | None = None,
    ) -> LeafSums:
        """Return the sums of a block of rows.

        Parameters
        ----------
        z : Array of shape (n, d)
            The rows, of any array library.
        w : Array of shape (n,), optional
            Their weights.
        columns : Array of shape (m, n)
            The features that are summed, or any functions they are linear in. The
            transpose of an array of shape ``(n, m)`` is summed fastest.
        prefix_columns : Array of shape (r, n), optional
            The kernel columns of the small map, if they are known.
        powers : Array of shape (q, n), optional
            The powers of the rows about the origin, if they are known.
        """
        return block_sums(self, z, w, columns, self.locate(z, prefix_columns), p=powers)

    @cached
    def _on_columns(self) -> Matrix:
        """The leading functions in terms of kernel columns, of shape ``(L, r)``."""
        return _turned(self.map, self.directions)


def propose_leaves(
    feature_map: Features,
    z: Array,
    weights: Array | None,
    *,
    expected_rows: int,
    seed: int,
    most: int = _MOST_LEAVES,
    kept: int = _KEPT,
) -> Leaves:
    """Return leaves learned from a sample.

    If most rows of the sample repeat and few are distinct, the data are discrete: there is
    one leaf, which keeps as many distinct rows as all leaves together.

    Parameters
    ----------
    feature_map : Features
        The feature map of the model.
    z : Array of shape (n, d)
        The rows of the sample.
    weights : Array of shape (n,), optional
        Their weights.
    expected_rows : int
        The number of rows that are to be summed, about.
    seed : int
        The seed of the keys of rows.
    most : int, default=1024
        The largest number of leaves.
    kept : int, default=16
        The largest number of distinct rows of a leaf in the sample.
    """
    host = to_numpy(z)
    w = np.ones(len(host)) if weights is None else to_numpy(weights)
    small = _prefix(feature_map)
    origin = to_numpy(feature_map.origin).astype(np.float64)
    seen = np.unique(row_keys(host, seed), return_index=True, return_counts=True)
    discrete = len(seen[0]) <= most and 2 * len(seen[0]) <= len(host)
    if discrete or small.rank == 0:
        directions, offset = np.zeros((small.rank, 0)), np.zeros(0)
        tree = grow_tree(np.zeros((1, 1)), np.ones(1), 1)
        leaf = np.zeros(len(host), dtype=np.intp)
    else:
        columns = small.columns(z)
        directions, offset, unit = _leading(to_numpy(small.solve(columns)), w)
        Z = _turned(small, directions) @ to_numpy(columns) - offset[:, None]
        Z = np.round(Z.T / unit) * unit if unit > 0 else Z.T
        tree = grow_tree(Z[w > 0], w[w > 0], most, within=_CUT)
        leaf = tree.locate(Z)
        tree, cut = tree.compressed()
        directions, offset = directions[:, cut], offset[cut]
    kept = kept * most // tree.leaves
    expected = _expected_distinct(*seen[1:], leaf, tree.leaves, expected_rows)
    limits = _first_limits(_MARGIN * kept / np.maximum(expected, 1.0))
    return Leaves(small, directions, offset, tree, origin, seed, kept, limits)


def _prefix(feature_map: Features) -> Features:
    """Return the map to the first features, few enough and well enough conditioned."""
    rank = min(feature_map.rank, _MAP_FEATURES)
    while True:
        if rank == feature_map.rank:
            small = feature_map
        elif isinstance(feature_map, PolynomialMap):
            small = feature_map.corrected(np.arange(rank), np.eye(rank))
        else:
            small = cast("FeatureMap", feature_map).prefix(rank)
        if rank <= 1 or small.amplification <= _AMPLIFICATION:
            return small
        rank //= 2


def _leading(phi: Matrix, w: Vector) -> tuple[Matrix, Vector, float]:
    """Return the leading functions, their means, and the grid of coordinates."""
    share = w / w.sum()
    mean = phi @ share
    centred = phi - mean[:, None]
    variances, vectors = np.linalg.eigh((centred * share) @ centred.T)
    directions = np.ascontiguousarray(vectors[:, ::-1][:, :_DIRECTIONS])
    unit = _GRID * math.sqrt(max(variances[-1], 0.0))
    return directions, directions.T @ mean, unit


def _turned(small: Features, directions: Matrix) -> Matrix:
    """Return the leading functions in terms of kernel columns, of shape ``(L, r)``."""
    return np.ascontiguousarray(directions.T @ to_numpy(small.inverse_core))


def _expected_distinct(
    first: Index, times: Index, leaf: Index, leaves: int, rows: int
) -> Vector:
    """Return the expected number of distinct rows in each leaf, rather too low.

    A row that the sample has once stands for several new ones among all rows: at most as
    many as there are rows for each row of the sample, and at least as many as the sample
    repeats rows, by the lower bound of Chao (1984).
    """
    home, once = leaf[first], times == 1
    singles, pairs = np.count_nonzero(once), np.count_nonzero(times == 2)
    new = min(rows / len(leaf) - 1, (singles - 1) / (2 * (pairs + 1)))
    found = np.bincount(home, minlength=leaves)
    return found + max(new, 0.0) * np.bincount(home[once], minlength=leaves)


def _first_limits(share: Vector) -> Index:
    """Return the limits below which there is a share of all keys."""
    all_keys = share >= 1
    low = np.where(all_keys, 0.0, share) * 2.0**63
    return np.where(all_keys, END, low.astype(np.int64))
