"""The sums of a compressed support that a file can hold: bins, leaves, samples of rows."""

import numpy as np

from jointdist._array import Index
from jointdist._rules import Text, require
from jointdist.data.codec import (
    Added,
    Floats,
    Indices,
    Integers,
    Schema,
    Sequence,
    Value,
    Whole,
)
from jointdist.data.files import require_weights
from jointdist.lowrank.bins import Bins, BinSums
from jointdist.lowrank.bottom_k import BottomK
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.leaf_sums import PRODUCTS, LeafSums
from jointdist.lowrank.leaves import Leaves
from jointdist.lowrank.moments import powers
from jointdist.lowrank.partition_tree import PartitionTree
from jointdist.lowrank.polynomial_map import PolynomialMap
from jointdist.lowrank.support_sums import SupportFrame, SupportSums

__all__ = ["count_powers", "register_support"]

# Rows of a group that are kept, at most: a memory budget far above that of any frame.
_MOST_KEPT = 1 << 30


def register_support(schema: Schema) -> None:
    """Register the sums of a compressed support.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    _register_bins(schema)
    _register_leaves(schema)
    sides, pairs = Value(BinSums, LeafSums), Sequence(Value(BottomK))
    schema.register(
        SupportFrame,
        "support_frame",
        x=Value(Bins, Leaves),
        y=Value(Bins, Leaves),
        seed=Whole(least=0),
        limits=Integers(1, least=0),
    )
    schema.register(
        SupportSums,
        "support_sums",
        check=_check_sums,
        frame=Value(SupportFrame),
        x=sides,
        y=sides,
        parts=pairs,
    )


def count_powers(d: int) -> set[int]:
    """Return how many powers of columns may be summed: all products, or squares alone.

    Parameters
    ----------
    d : int
        The number of columns.
    """
    return {2 * d, d + d * (d + 1) // 2}


def _register_bins(schema: Schema) -> None:
    sums = Floats("k", least=0)
    schema.register(Bins, "bins", check=_check_bins, thresholds=Floats("_"))
    schema.register(
        BinSums,
        "bin_sums",
        check=lambda found: require_weights("BinSums", found.weight),
        bins=Value(Bins, k="count"),
        weight=sums,
        squared=sums,
        first=Floats("k"),
        second=sums,
        count=Indices("k"),
    )
    schema.register(
        BottomK,
        "bottom_k",
        kept=Whole(least=1, most=_MOST_KEPT),
        limits=Integers("k", least=0),
        keys=Integers("s", least=0),
        group=Indices("s", below="k"),
        points=Floats("s", "d"),
        weights=Floats("s", least=0),
        counts=Integers("s", least=0),
    )


def _register_leaves(schema: Schema) -> None:
    schema.register(
        PartitionTree,
        "partition_tree",
        check=_check_tree,
        direction=Indices("n", least=-1),
        at=Floats("n"),
        left=Indices("n"),
        right=Indices("n"),
        leaf=Indices("n", least=-1),
    )
    schema.register(
        Leaves,
        "leaves",
        check=_check_leaves,
        map=Value(FeatureMap, PolynomialMap, r="rank", d="width"),
        directions=Floats("r", "l"),
        offset=Floats("l"),
        tree=Value(PartitionTree, k="leaves"),
        origin=Floats("d"),
        seed=Whole(least=0),
        kept=Whole(least=1, most=_MOST_KEPT),
        limits=Integers("k", least=0),
    )
    sums = Floats("k", least=0)
    schema.register(
        LeafSums,
        "leaf_sums",
        check=_check_leaf_sums,
        leaves=Value(Leaves, k="count"),
        weight=sums,
        squared=sums,
        count=Indices("k"),
        powers=Floats("k", "q"),
        features=Floats("k", "m"),
        parts=Sequence(Value(BottomK)),
        products=Added(Floats("p", "p")),
    )


def _check_bins(bins: Bins) -> None:
    t = bins.thresholds
    ascending = bool((t[1:] > t[:-1]).all())
    require(ascending, "Bins", "thresholds", "strictly ascending", Text("others"))


def _check_tree(tree: PartitionTree) -> None:
    """Raise unless each node but the first is the child of one before it."""
    where, n = "PartitionTree", len(tree.direction)
    require(n, where, "direction", "of some nodes", Text("none"))
    leaf = tree.direction < 0
    split = np.flatnonzero(~leaf)
    left, right = tree.left[split], tree.right[split]
    good = bool((left > split).all() and (right == left + 1).all())
    good = good and bool((right < n).all())
    children = np.concatenate([left, right]) if good else np.empty(0, np.intp)
    good = good and np.array_equal(np.sort(children), np.arange(1, n))
    require(good, where, "left, right", "the nodes of a tree", Text("others"))
    numbers = np.where(leaf, np.cumsum(leaf) - 1, -1)
    same = np.array_equal(tree.leaf, numbers)
    require(same, where, "leaf", "the numbers of leaves in their order", Text("others"))


def _check_leaves(leaves: Leaves) -> None:
    most, width = int(leaves.tree.direction.max()), leaves.directions.shape[1]
    rule = f"below {width}, the number of directions"
    require(most < width, "Leaves", "tree", rule, most)


def _check_leaf_sums(sums: LeafSums) -> None:
    where, leaves = "LeafSums", sums.leaves
    require_weights(where, sums.weight)
    d = len(leaves.origin)
    q = powers(leaves.origin, np.zeros((1, d))).shape[0]
    found = sums.powers.shape[1]
    require(found == q, where, "powers", f"of {q} columns", found)
    if sums.products is not None:
        most, found = min(q, PRODUCTS), len(sums.products)
        require(found == most, where, "products", f"of {most} powers", found)
    _require_parts(where, sums.parts, leaves.limits, d)
    same = all(part.kept == leaves.kept for part in sums.parts)
    require(same, where, "parts", "of as many rows as the leaves keep", Text("others"))


def _require_parts(where: str, parts: tuple[BottomK, ...], limits: Index, d: int) -> None:
    """Raise unless samples are of given groups and columns, with limits that were lowered."""
    require(parts, where, "parts", "at least one", Text("none"))
    k = len(limits)
    for part in parts:
        shape, rule = (len(part.limits), part.points.shape[1]), f"of shape {(k, d)}"
        require(shape == (k, d), where, "parts", rule, shape)
        lowered = bool((part.limits <= limits).all())
        require(lowered, where, "limits", "at least those of its sample", Text("others"))


def _check_sums(sums: SupportSums) -> None:
    where, widths = "SupportSums", 0
    sides = (sums.x, sums.frame.x), (sums.y, sums.frame.y)
    for side, frame in sides:
        own = side.bins if isinstance(side, BinSums) else side.leaves
        same = own is frame or (type(own) is type(frame) and own.key == frame.key)
        require(same, where, "frame", "that of the sums", Text("another"))
        widths += 1 if isinstance(side, BinSums) else len(side.leaves.origin)
    _require_parts(where, sums.parts, sums.frame.limits, widths)
    rows = [int(side.count.sum()) for side, _ in sides]
    require(rows[0] == rows[1] > 0, where, "count", "the same for both sides", rows)
    some = float(sums.pairs.weights.sum()) > 0
    require(some, where, "parts", "rows of positive weight", Text("none"))
