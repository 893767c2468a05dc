"""Which atoms are put together in a cell: those next to each other, or alike in features."""

import heapq

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.distributions.signed import Support
from jointdist.distributions.sorted_support import Ordered
from jointdist.distributions.support_points import Atoms

__all__ = ["partition"]

_DIRECTIONS = 16  # of features, the first ones, along which cells are cut
_LEARNED = 1 << 15  # rows that tell where
_WHOLE = 4  # times as many rows as cells, below which equal rows are looked for


def partition(support: Support, most: int) -> Index:
    """Return the cell of each atom; each cell has weight.

    Parameters
    ----------
    support : Support
        The atoms.
    most : int
        The number of cells; few values or words have one each.
    """
    atoms = support.atoms
    if atoms.few:
        table = to_numpy(atoms.rows.read(0, atoms.n))
        cell = np.unique(table, axis=0, return_inverse=True)[1].ravel()
    elif atoms.width == 1:
        cell = _in_order(support.ordered(0), most)
    else:
        cell = _apart(atoms, most)
    return _with_weight(cell, atoms.shares)


def _in_order(ordered: Ordered, most: int) -> Index:
    """Return cells of equal weight along a column."""
    first = np.append(True, ordered.last[:-1])
    value = np.cumsum(first) - 1
    weight = np.bincount(value, ordered.shares)
    if np.count_nonzero(weight) <= most:
        cell = np.arange(len(weight))
    else:
        middle = np.cumsum(weight) - weight / 2
        cell = np.minimum((most * middle).astype(np.intp), most - 1)
    found = np.empty(len(value), dtype=np.intp)
    found[ordered.order] = cell[value]
    return found


def _apart(atoms: Atoms, most: int) -> Index:
    """Return cells of several columns, by cuts of the features at medians."""
    if atoms.n <= _WHOLE * most:
        table = to_numpy(atoms.rows.read(0, atoms.n))
        points, which = np.unique(table, axis=0, return_inverse=True)
        if len(points) <= most:
            return which.ravel()
    few = min(_DIRECTIONS, atoms.rank)
    Z = np.concatenate(
        list(atoms.executor.map(lambda _, z: atoms.features(z)[:, :few], atoms.rows))
    )
    counted = np.flatnonzero(atoms.shares)
    if len(counted) > _LEARNED:
        rng = np.random.default_rng(0)
        counted = np.sort(rng.choice(counted, _LEARNED, replace=False))
    return _located(Z, _cuts(Z[counted], atoms.shares[counted], most))


def _cuts(Z: Vector, w: Vector, most: int) -> list[tuple[int, float, int, int]]:
    """Return a tree: the direction of each cut, its place, and the two parts.

    The part whose features are widest apart is cut next. A part that is not cut is a cell, of
    direction -1.
    """
    tree: list[tuple[int, float, int, int]] = [(-1, 0.0, 0, 0)]
    heap: list[tuple[float, int, int, float, Index]] = []

    def put(node: int, rows: Index) -> None:
        z, share = Z[rows], w[rows]
        centre = share @ z / share.sum()
        spread = share @ (z - centre) ** 2
        direction = int(spread.argmax()) if len(rows) > 1 else 0
        order = np.argsort(z[:, direction])
        column, reached = z[order, direction], np.cumsum(share[order])
        at = column[np.searchsorted(reached, reached[-1] / 2)]
        if at == column[-1]:  # more than half of the rows are there
            below = column[column < at]
            at = below[-1] if below.size else at
        if at < column[-1]:
            heapq.heappush(heap, (-float(spread[direction]), node, direction, at, rows))

    put(0, np.arange(len(Z)))
    cells = 1
    while heap and cells < most:
        _, node, direction, at, rows = heapq.heappop(heap)
        low = Z[rows, direction] <= at
        left = len(tree)
        tree[node] = direction, float(at), left, left + 1
        tree += [(-1, 0.0, 0, 0)] * 2
        put(left, rows[low])
        put(left + 1, rows[~low])
        cells += 1
    return tree


def _located(Z: Vector, tree: list[tuple[int, float, int, int]]) -> Index:
    """Return the leaf of a tree that each row is in."""
    direction, at, left, right = (np.array(part) for part in zip(*tree, strict=True))
    node = np.zeros(len(Z), dtype=np.intp)
    moving = np.arange(len(Z)) if direction[0] >= 0 else np.empty(0, dtype=np.intp)
    while moving.size:
        own = node[moving]
        low = Z[moving, direction[own]] <= at[own]
        node[moving] = np.where(low, left[own], right[own])
        moving = moving[direction[node[moving]] >= 0]
    return node


def _with_weight(cell: Index, shares: Vector) -> Index:
    """Return cells numbered without gaps; atoms without weight go to the next cell."""
    weight = np.bincount(cell, shares)
    used = np.flatnonzero(weight > 0)
    return np.minimum(np.searchsorted(used, cell), len(used) - 1)
