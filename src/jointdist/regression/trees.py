"""Fitted ensembles of decision trees as arrays, and their forecasts.

Nodes are numbered so that the left child of a split is the node after it. The forecast of a
member is its baseline plus the values of the leaves that a row falls into, added tree by tree;
that of the ensemble is the mean over its members.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist._cached import Cached, cached
from jointdist._rules import Text, require
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.regression.tree_paths import TreePaths, paths_of
from jointdist.regression.tree_rules import check_trees

__all__ = ["TreeEnsemble"]

# Pairs of a tree and a row that are followed at a time: a megabyte of node numbers. Between
# 25,000 and 100,000 pairs took the same time for trees of 15 and of 63 leaves.
_PAIRS = 1 << 16


@dataclass(frozen=True, eq=False, repr=False)
class TreeEnsemble(Cached):
    """Forecasts of several targets, each the mean of several sums of decision trees.

    Attributes
    ----------
    column : int32 array of shape (nodes,)
        The column of X that a node splits by; -1 for a leaf.
    value : array of shape (nodes,)
        The forecast of a leaf. The threshold of a split by a number, up to which rows go
        left; zero for a split by category.
    right : int32 array of shape (nodes,)
        The right child of a split, counted over the nodes of all trees; zero for a leaf. The
        left child is the next node.
    missing_left : uint8 array of shape (nodes,)
        Whether rows whose number is missing, or whose category is unknown, go left.
    roots : int64 array of shape (trees + 1,)
        The first node of each tree, and the number of all nodes.
    members : int64 array of shape (r * k + 1,)
        The first tree of each member, the k members of the first target first, and the
        number of all trees.
    baseline : array of shape (r, k)
        What the trees of each member add to.
    width : int
        The number of columns of X.
    categorical : int32 array of shape (c,)
        Which columns are categorical.
    codes : int16 array of shape (k, c, codes)
        How members number the codes of categories; -1 if unknown to them.
    subsets : uint32 array of shape (s, 8)
        For each split by category, in the order of nodes, the numbers that go left, as bits.
    """

    column: NDArray[np.int32]
    value: Vector
    right: NDArray[np.int32]
    missing_left: NDArray[np.uint8]
    roots: NDArray[np.int64]
    members: NDArray[np.int64]
    baseline: Vector
    width: int
    categorical: NDArray[np.int32]
    codes: NDArray[np.int16]
    subsets: NDArray[np.uint32]

    def __repr__(self) -> str:
        r, k = self.baseline.shape
        each = f"{k} members for each of {r} targets"
        return (
            f"TreeEnsemble({each}, {len(self.roots) - 1} trees, {len(self.column)} nodes)"
        )

    def check(self) -> None:
        """Raise unless the arrays fit together: every row ends in a leaf of each tree."""
        check_trees(self)

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        executor : Executor, optional
            Runs the row blocks.
        """

        def block(_start: int, z: Array) -> Vector:
            return self.at(to_numpy(z))

        return np.concatenate(list(executor_for(x, executor).map(block, x)))

    def at(self, Z: Vector) -> Vector:
        """Return the forecasts at points, ``(q, r)``.

        Parameters
        ----------
        Z : array of shape (q, d)
            The points. Missing numbers are NaN.
        """
        fine, rule = Z.shape[1:] == (self.width,), f"a table of {self.width} columns"
        require(fine, "TreeEnsemble.at", "Z", rule, Text(f"shape {Z.shape}"))
        r, k = self.baseline.shape
        found = np.empty((r, k, len(Z)))
        for fold in range(k):
            points = self._numbered(Z, fold)
            for target in range(r):
                member = found[target, fold]
                member[:] = self.baseline[target, fold]
                first, end = self.members[target * k + fold :][:2]
                for rows, values in self._values(points, self.roots[first:end]):
                    for tree in values:  # one by one: sums round as they did in the fit
                        member[rows] += tree
        return np.stack([folds.mean(axis=0) for folds in found], axis=1)

    def _numbered(self, Z: Vector, fold: int) -> Vector:
        """Return points with their categories numbered as a fold does; unknown ones are NaN."""
        if not len(self.categorical):
            return np.ascontiguousarray(Z, dtype=np.float64)
        points, count = np.array(Z, dtype=np.float64), self.codes.shape[2]
        for column, codes in zip(self.categorical, self.codes[fold], strict=True):
            z = points[:, column]
            known = (z >= 0) & (z < count) & (z == np.floor(z))
            numbers = codes[z[known].astype(np.intp)].astype(np.float64)
            z[~known] = np.nan
            z[known] = np.where(numbers < 0, np.nan, numbers)
        return points

    def _values(self, Z: Vector, roots: Index) -> Iterator[tuple[slice, Vector]]:
        """Yield slices of points, and the values of their leaves, ``(trees, b)``."""
        step = max(1, _PAIRS // max(1, len(roots)))
        for start in range(0, len(Z), step):
            points = Z[start : start + step]
            leaves = self._paths.leaves(points, roots).reshape(len(roots), len(points))
            yield slice(start, start + step), self.value.take(leaves)

    @cached
    def _paths(self) -> TreePaths:
        subset = np.full(len(self.column), -1)
        subset[np.isin(self.column, self.categorical)] = np.arange(len(self.subsets))
        missing = self.missing_left == 0
        return paths_of(self.column, self.value, self.right, missing, subset, self.subsets)
