"""Partition trees: rows are cut in two where they are widest apart, again and again."""

import heapq
from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import (
    Array,
    Index,
    Vector,
    array_namespace,
    device,
    gather,
    is_numpy_array,
    like,
)
from jointdist._cached import Cached, cached

__all__ = ["PartitionTree", "grow_tree"]

# Levels below which rows that have reached their leaf are set aside: trees of 1,024 leaves
# that are cut at medians have 10 to 16, and setting aside costs as much as a level.
_COMMON_LEVELS = 16


@dataclass(frozen=True, eq=False)
class PartitionTree(Cached):
    """A tree of cuts; its leaves are the parts of a partition of space.

    Attributes
    ----------
    direction : array of int, of shape (nodes,)
        The coordinate that each node cuts; -1 for a leaf.
    at : array of shape (nodes,)
        Where: rows up to here go left.
    left, right : arrays of int, of shape (nodes,)
        The nodes of the two parts; the right one is the next after the left one.
    leaf : array of int, of shape (nodes,)
        The number of each leaf, in the order of the nodes; -1 for other nodes.
    """

    direction: Index
    at: Vector
    left: Index
    right: Index
    leaf: Index

    @property
    def leaves(self) -> int:
        """The number of leaves."""
        return int(np.count_nonzero(self.direction < 0))

    @cached
    def depth(self) -> int:
        """The largest number of cuts above a leaf."""
        depth, level = 0, np.array([0])
        while (level := level[self.direction[level] >= 0]).size:
            level = np.concatenate([self.left[level], self.right[level]])
            depth += 1
        return depth

    def compressed(self) -> tuple["PartitionTree", Index]:
        """Return the same tree on the coordinates that it cuts, and their numbers."""
        cut, which = np.unique(self.direction[self.direction >= 0], return_inverse=True)
        direction = self.direction.copy()
        direction[direction >= 0] = which
        return replace(self, direction=direction), cut

    def locate(self, Z: Array) -> Array:
        """Return the number of the leaf that each row is in.

        Parameters
        ----------
        Z : Array of shape (n, L)
            The coordinates of the rows, of any array library.
        """
        if is_numpy_array(Z):
            return self._locate_host(Z)
        xp, (n, width) = array_namespace(Z), Z.shape
        direction, at, left, leaf = (like(table, Z) for table in self._steps)
        flat = xp.reshape(Z, (-1,))
        rows = width * xp.arange(n, dtype=xp.int64, device=device(Z))
        node = xp.zeros(n, dtype=xp.int64, device=device(Z))
        for _ in range(self.depth):
            high = gather(flat, gather(direction, node) + rows) > gather(at, node)
            node = gather(left, node) + xp.astype(high, xp.int64)
        return gather(leaf, node)

    def _locate_host(self, Z: Vector) -> Index:
        """Return the leaves of rows in host memory, fastest for columns that are contiguous."""
        direction, at, left, leaf = self._steps
        n, width = Z.shape
        if Z.flags.f_contiguous:
            flat, direction, rows = Z.T.reshape(-1), direction * n, np.arange(n)
        else:
            flat, rows = Z.reshape(-1), np.arange(0, n * width, width)
        node = np.zeros(n, dtype=np.int64)
        for _ in range(min(self.depth, _COMMON_LEVELS)):
            high = flat.take(direction.take(node) + rows) > at.take(node)
            node = left.take(node) + high
        if self.depth > _COMMON_LEVELS:
            moving = np.flatnonzero(leaf[node] < 0)
            while moving.size:
                here = node[moving]
                high = flat[direction[here] + rows[moving]] > at[here]
                node[moving] = left[here] + high
                moving = moving[leaf[node[moving]] < 0]
        return leaf.take(node)

    @cached
    def _steps(self) -> tuple[Index, Vector, Index, Index]:
        """For each node the coordinate, the cut, the left part, which for a leaf is itself,
        and the number of the leaf.
        """
        is_leaf = self.direction < 0
        return (
            np.where(is_leaf, 0, self.direction).astype(np.int64),
            np.where(is_leaf, np.inf, self.at),
            np.where(is_leaf, np.arange(len(is_leaf)), self.left).astype(np.int64),
            self.leaf.astype(np.int64),
        )


def grow_tree(Z: Vector, w: Vector, most: int, *, within: float = 0.0) -> PartitionTree:
    """Return the tree that cuts the part with the largest spread next, at its median.

    Parameters
    ----------
    Z : array of shape (n, L)
        The coordinates of the rows.
    w : array of shape (n,)
        Their weights, positive.
    most : int
        The largest number of leaves.
    within : float, default=0.0
        How far a cut lies from the last row on its left, as a share of the gap to the first
        row on its right.
    """
    nodes: list[tuple[int, float, int, int]] = [(-1, 0.0, 0, 0)]
    heap: list[tuple[float, int, int, float, float, Vector, Vector]] = []
    counted = bool((w == 1).all())

    def put(node: int, z: Vector, share: Vector) -> None:
        away = z - share @ z / share.sum()
        away *= away
        spread = share @ away
        for direction in np.argsort(-spread, kind="stable"):
            ends = _halves(z[:, direction], None if counted else share)
            if ends is None:  # equal numbers, whose spread is rounding
                continue
            cut = _between(*ends, within)
            widest = -float(spread[direction])
            heapq.heappush(heap, (widest, node, int(direction), ends[0], cut, z, share))
            return

    put(0, Z, w)
    cells = 1
    while heap and cells < most:
        _, node, direction, at, cut, z, share = heapq.heappop(heap)
        low = z[:, direction] <= at
        left = len(nodes)
        nodes[node] = direction, cut, left, left + 1
        nodes += [(-1, 0.0, 0, 0)] * 2
        for child, part in enumerate((low, ~low), left):
            put(child, z[part], share[part])
        cells += 1
    direction_, at_, left_, right_ = (np.array(part) for part in zip(*nodes, strict=True))
    leaf = np.where(direction_ < 0, np.cumsum(direction_ < 0) - 1, -1)
    return PartitionTree(direction_, at_, left_, right_, leaf)


def _halves(column: Vector, w: Vector | None) -> tuple[float, float] | None:
    """Return the last value up to the median and the first after it; none if all are equal.

    If more than half of the rows are at the largest value, this is the first after. Without
    weights the median is found without sorting.
    """
    if w is None:
        middle = (len(column) - 1) // 2
        at = np.partition(column, middle)[middle]
    else:
        order = np.argsort(column)
        reached = np.cumsum(w[order])
        at = column[order[reached.searchsorted(reached[-1] / 2)]]
    above = column[column > at]
    if above.size:
        return float(at), float(above.min())
    below = column[column < at]
    return (float(below.max()), float(at)) if below.size else None


def _between(at: float, after: float, share: float) -> float:
    """Return a number from ``at`` to below ``after``."""
    cut = at + share * (after - at)
    return cut if at <= cut < after else at
