"""Partition trees: the cuts of an obvious implementation, and rows found leaf by leaf."""

import heapq

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

from jointdist._array import to_numpy
from jointdist.lowrank.partition_tree import grow_tree


def slow_cuts(Z, w, most):
    """Return direction, place and parts of each cut, as projections have cut from the start."""
    tree, heap = [(-1, 0.0, 0, 0)], []

    def put(node, rows):
        z, share = Z[rows], w[rows]
        centre = share @ z / share.sum()
        spread = share @ (z - centre) ** 2
        differ = [i for i in range(z.shape[1]) if len(np.unique(z[:, i])) > 1]
        direction = max(differ or [0], key=lambda i: spread[i])
        order = np.argsort(z[:, direction])
        column, reached = z[order, direction], np.cumsum(share[order])
        at = column[np.searchsorted(reached, reached[-1] / 2)]
        if at == column[-1]:
            below = column[column < at]
            at = below[-1] if below.size else at
        if at < column[-1]:
            heapq.heappush(heap, (-float(spread[direction]), node, direction, at, rows))

    put(0, np.arange(len(Z)))
    while heap and len(tree) < 2 * most - 1:
        _, node, direction, at, rows = heapq.heappop(heap)
        low = Z[rows, direction] <= at
        left = len(tree)
        tree[node] = direction, float(at), left, left + 1
        tree += [(-1, 0.0, 0, 0)] * 2
        put(left, rows[low])
        put(left + 1, rows[~low])
    return tree


def slow_leaves(tree, Z):
    """Return the leaf of each row, descending one row at a time."""
    found = []
    for row in Z:
        node = 0
        while tree.direction[node] >= 0:
            low = row[tree.direction[node]] <= tree.at[node]
            node = tree.left[node] if low else tree.right[node]
        found.append(tree.leaf[node])
    return np.array(found)


def coordinates(kind, seed):
    rng = np.random.default_rng(seed)
    n, width = rng.integers(1, 200), rng.integers(1, 6)
    Z = rng.normal(size=(n, width)) * rng.random(width)
    if kind == "tied":
        Z = np.round(2 * Z)
    if kind == "adjacent":
        Z = 1 + np.finfo(float).eps * rng.integers(0, 5, Z.shape)
    if kind == "heavy":
        Z = rng.standard_cauchy(size=Z.shape)
    if kind == "constant":
        Z[:] = 1.5
    return Z, rng.integers(1, 4, n) / 4 if kind == "weighted" else np.ones(n), rng


kinds = st.sampled_from(["plain", "tied", "adjacent", "heavy", "constant", "weighted"])


@given(kind=kinds, seed=seeds, most=st.integers(1, 70))
def test_trees_have_the_cuts_of_the_slow_ones(kind, seed, most):
    Z, w, _ = coordinates(kind, seed)
    tree, slow = grow_tree(Z, w, most), slow_cuts(Z, w, most)
    found = zip(tree.direction, tree.at, tree.left, tree.right, strict=True)
    assert list(found) == slow
    assert tree.leaves == (len(slow) + 1) // 2 <= most
    assert_array_equal(tree.leaf[tree.direction < 0], np.arange(tree.leaves))


@given(kind=kinds, seed=seeds, most=st.integers(1, 70))
def test_rows_are_located_as_one_by_one(kind, seed, most):
    Z, w, rng = coordinates(kind, seed)
    tree = grow_tree(Z, w, most)
    new = np.concatenate([Z, Z + rng.normal(size=Z.shape)])
    leaves = slow_leaves(tree, new)
    for rows in (new, np.asfortranarray(new)):
        assert_array_equal(tree.locate(rows), leaves)
    shorter, cut = tree.compressed()
    assert_array_equal(shorter.locate(new[:, cut]) if cut.size else 0 * leaves, leaves)


@given(kind=kinds, seed=seeds, within=st.floats(0, 0.99))
def test_cuts_between_rows_part_the_same_rows(kind, seed, within):
    Z, w, _ = coordinates(kind, seed)
    tree, moved = grow_tree(Z, w, 16), grow_tree(Z, w, 16, within=within)
    assert_array_equal(moved.locate(Z), tree.locate(Z))
    assert (moved.at >= tree.at).all()


def test_rows_of_all_libraries_are_located(xp, rng):
    Z = rng.normal(size=(300, 4))
    tree = grow_tree(Z, np.ones(300), 40)
    assert_array_equal(to_numpy(tree.locate(xp.asarray(Z))), slow_leaves(tree, Z))
    assert tree.locate(xp.asarray(Z[:0])).shape == (0,)


@pytest.mark.parametrize("levels", [3, 40])
def test_deep_trees(levels):
    Z = np.arange(1.0, levels + 2)[:, None]
    tree = grow_tree(
        Z, 4.0 ** np.arange(len(Z)), levels + 1
    )  # one row is cut off at a time
    assert tree.depth == levels
    assert_array_equal(tree.locate(Z), slow_leaves(tree, Z))
    assert np.unique(tree.locate(Z)).size == levels + 1


def test_columns_of_equal_numbers_do_not_stop_the_cuts():
    """Their spread is rounding, which may be the largest."""
    rng = np.random.default_rng(0)
    Z = np.column_stack([1e-3 * rng.normal(size=300), np.full(300, 1e16 / 3)])
    assert grow_tree(Z, rng.random(300), 300).leaves == 300
