"""Which leaves rows fall into: nodes of decision trees, as they are followed.

Nodes are numbered so that the left child of a split is the node after it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index

__all__ = ["TreePaths", "paths_of"]

# Levels after which pairs that have reached a leaf are dropped: after two to four took the
# same time, within a tenth.
_LEVELS = 3


class TreePaths(NamedTuple):
    """The nodes of trees; a leaf is its own child.

    Attributes
    ----------
    column : array of int, of shape (nodes,)
        The column that a node splits by.
    threshold : array of shape (nodes,)
        Up to which values go left.
    child : array of int, of shape (2 * nodes,)
        The left and the right child of each node, in turn.
    is_leaf : array of bool, of shape (nodes,)
        Which nodes are leaves.
    missing_right : array of bool, of shape (nodes,)
        Whether missing values go right.
    subset : array of int, of shape (nodes,)
        The number of the subset of a split by category, else -1.
    subsets : array of shape (s, 8)
        The numbers of categories that go left, as bits.
    """

    column: Index
    threshold: NDArray[np.number]
    child: Index
    is_leaf: NDArray[np.bool_]
    missing_right: NDArray[np.bool_]
    subset: Index
    subsets: NDArray[np.uint32]

    def leaves(self, Z: NDArray[np.number], roots: Index) -> Index:
        """Return the leaf of each pair of a tree and a point, the first tree first.

        Parameters
        ----------
        Z : array of shape (b, d)
            The points; missing values are NaN.
        roots : array of int, of shape (trees,)
            The first node of each tree.
        """
        kind = np.issubdtype(Z.dtype, np.floating)
        missing, flat = kind and bool(np.isnan(Z).any()), Z.ravel()
        leaves = np.repeat(roots, len(Z))
        on_the_way, node = np.arange(len(leaves)), leaves
        place = np.tile(Z.shape[1] * np.arange(len(Z)), len(roots))
        while len(on_the_way):
            for _ in range(_LEVELS):
                node = self._next(node, flat, place, missing=missing)
            leaves[on_the_way] = node
            going = np.flatnonzero(~self.is_leaf.take(node))
            on_the_way, node = on_the_way.take(going), node.take(going)
            place = place.take(going)
        return leaves

    def _next(
        self, node: Index, flat: NDArray[np.number], place: Index, *, missing: bool
    ) -> Index:
        """Return the children that points fall into, whose rows start at a place."""
        z = flat.take(self.column.take(node) + place)
        right = z > self.threshold.take(node)
        if len(self.subsets):
            subset = self.subset.take(node)
            at = np.flatnonzero((subset >= 0) & ~np.isnan(z))
            number = z[at].astype(np.uint32)
            words = self.subsets[subset[at], number >> 5]
            right[at] = (words >> (number & 31)) & 1 == 0
        if missing:
            right |= np.isnan(z) & self.missing_right.take(node)
        return self.child.take(2 * node + right)


def paths_of(  # noqa: PLR0917
    column: NDArray[np.integer],
    threshold: NDArray[np.number],
    right: NDArray[np.integer],
    missing_right: NDArray[np.bool_] | None = None,
    subset: Index | None = None,
    subsets: NDArray[np.uint32] | None = None,
) -> TreePaths:
    """Return nodes as they are followed.

    Parameters
    ----------
    column : array of int, of shape (nodes,)
        The column that a node splits by; -1 for a leaf.
    threshold : array of shape (nodes,)
        Up to which values go left.
    right : array of int, of shape (nodes,)
        The right child of a split.
    missing_right : array of bool, of shape (nodes,), optional
        Whether missing values go right; by default none do.
    subset, subsets : array, optional
        As for :class:`TreePaths`; by default there are none.
    """
    nodes, leaf = np.arange(len(column)), column < 0
    subset = np.full(len(nodes), -1) if subset is None else subset
    left = np.where(leaf, nodes, nodes + 1)
    return TreePaths(
        np.where(leaf, 0, column).astype(np.intp),
        np.where(leaf | (subset >= 0), np.inf, threshold),
        np.stack([left, np.where(leaf, nodes, right)], axis=1).ravel(),
        leaf,
        np.zeros(len(nodes), dtype=bool) if missing_right is None else missing_right,
        subset,
        np.empty((0, 8), dtype=np.uint32) if subsets is None else subsets,
    )
