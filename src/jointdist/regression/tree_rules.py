"""Rules of ensembles of decision trees, which arrays from a file might break."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text, is_whole, require

if TYPE_CHECKING:
    from jointdist.regression.trees import TreeEnsemble

__all__ = ["MOST_CATEGORIES", "check_bounds", "check_children", "check_trees"]

# Categories that a split can tell apart, the bits of a subset: those of scikit-learn.
MOST_CATEGORIES = 256

_WHERE = "TreeEnsemble"
_KINDS = {
    "column": (np.int32, 1),
    "value": (np.float64, 1),
    "right": (np.int32, 1),
    "missing_left": (np.uint8, 1),
    "roots": (np.int64, 1),
    "members": (np.int64, 1),
    "baseline": (np.float64, 2),
    "categorical": (np.int32, 1),
    "codes": (np.int16, 3),
    "subsets": (np.uint32, 2),
}


def check_trees(trees: "TreeEnsemble") -> None:
    """Raise unless every row ends in a leaf of each tree, whatever its numbers are.

    Parameters
    ----------
    trees : TreeEnsemble
        The ensemble.
    """
    for name, (kind, dimensions) in _KINDS.items():
        array = getattr(trees, name)
        fine = isinstance(array, np.ndarray) and array.dtype == kind
        fine = fine and array.ndim == dimensions
        rule = f"an array of {np.dtype(kind)} of {dimensions} dimensions"
        require(fine, _WHERE, name, rule, Text(repr(array)[:100]))
    _check_shapes(trees)
    _check_columns(trees)
    check_children(_WHERE, trees.column, trees.right, trees.roots)
    _check_numbers(trees)


def _check_shapes(trees: "TreeEnsemble") -> None:
    n = len(trees.column)
    for name in ("value", "right", "missing_left"):
        found = len(getattr(trees, name))
        require(found == n, _WHERE, name, f"of {n} nodes, as `column` is", found)
    check_bounds(_WHERE, "roots", trees.roots, n, least=1)
    check_bounds(_WHERE, "members", trees.members, len(trees.roots) - 1, least=0)
    shape, count = trees.baseline.shape, len(trees.members) - 1
    fine = shape[0] * shape[1] == count > 0
    require(fine, _WHERE, "baseline", f"of {count} members, at least one", shape)
    shape = trees.codes.shape
    fine = shape[:2] == (trees.baseline.shape[1], len(trees.categorical))
    rule = "of the members of a target and the categorical columns"
    require(fine, _WHERE, "codes", rule, shape)


def check_bounds(
    where: str, name: str, bounds: NDArray[np.integer], end: int, *, least: int
) -> None:
    """Raise unless numbers ascend from zero to an end, each by at least so many.

    Parameters
    ----------
    where, name : str
        The class and its field, for messages.
    bounds : array of int
        The numbers.
    end : int
        The last of them.
    least : int
        Zero, or one if they ascend strictly.
    """
    fine = len(bounds) > 0 and bounds[0] == 0 and bounds[-1] == end
    # Neighbours are compared, as differences of large numbers overflow.
    ascend = bounds[1:] > bounds[:-1] if least else bounds[1:] >= bounds[:-1]
    fine = fine and bool(ascend.all())
    rule = f"{'strictly ' * least}ascending numbers from 0 to {end}"
    require(fine, where, name, rule, Text(repr(bounds)[:100]))


def _check_columns(trees: "TreeEnsemble") -> None:
    width, categorical = trees.width, trees.categorical
    require(is_whole(width, least=1), _WHERE, "width", "an integer of at least 1", width)
    fine = bool(((categorical >= 0) & (categorical < width)).all())
    fine = fine and bool((categorical[1:] > categorical[:-1]).all())
    rule = f"strictly ascending numbers of columns below {width}"
    require(fine, _WHERE, "categorical", rule, Text(repr(categorical)[:100]))
    fine = bool(((trees.column >= -1) & (trees.column < width)).all())
    rule = f"-1 for leaves, and numbers of columns below {width}"
    require(fine, _WHERE, "column", rule, Text("others"))
    fine = bool(((trees.codes >= -1) & (trees.codes < MOST_CATEGORIES)).all())
    rule = f"from -1 to {MOST_CATEGORIES - 1}"
    require(fine, _WHERE, "codes", rule, Text("others"))
    splits = int(np.isin(trees.column, categorical).sum())
    shape, rule = trees.subsets.shape, "of 8 integers for each split by category"
    require(shape == (splits, MOST_CATEGORIES // 32), _WHERE, "subsets", rule, shape)


def check_children(
    where: str,
    column: NDArray[np.integer],
    right: NDArray[np.integer],
    roots: NDArray[np.integer],
) -> None:
    """Raise unless each node but the roots is the child of one split of its tree before it.

    Parameters
    ----------
    where : str
        The class, for messages.
    column : array of int, of shape (nodes,)
        The column that a node splits by; -1 for a leaf.
    right : array of int, of shape (nodes,)
        The right child of a split; the left one is the next node.
    roots : array of int, of shape (trees + 1,)
        The first node of each tree, and the number of all nodes.
    """
    n, leaf = len(column), column < 0
    ends = np.repeat(roots[1:], np.diff(roots))
    split = np.flatnonzero(~leaf)
    children = right[split].astype(np.int64)
    fine = bool(((children > split + 1) & (children < ends[split])).all())
    fine = fine and not right[leaf].any()
    rule = "nodes after the left child in the same tree, and zero for leaves"
    require(fine, where, "right", rule, Text("others"))
    parents = np.bincount(np.concatenate([split + 1, children]), minlength=n)
    expected = np.ones(n, dtype=np.intp)
    expected[roots[:-1]] = 0
    fine = bool((parents == expected).all())
    rule = "such that each node is the child of one other"
    require(fine, where, "right", rule, Text("nodes with none or several"))


def _check_numbers(trees: "TreeEnsemble") -> None:
    leaf = trees.column < 0
    fine = bool(np.isfinite(trees.value[leaf]).all())
    require(fine, _WHERE, "value", "finite at leaves", Text("NaN or infinity"))
    # An infinite threshold separates all numbers from missing ones.
    fine = bool((trees.value[~leaf] > -np.inf).all())
    rule = "numbers at splits, above minus infinity"
    require(fine, _WHERE, "value", rule, Text("NaN or minus infinity"))
    fine = bool((trees.missing_left <= 1).all())
    require(fine, _WHERE, "missing_left", "zeros and ones", Text("others"))
    fine = bool(np.isfinite(trees.baseline).all())
    require(fine, _WHERE, "baseline", "finite", Text("NaN or infinity"))
