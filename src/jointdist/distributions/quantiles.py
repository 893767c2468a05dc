"""Quantiles of many distributions: a search over blocks of sorted points, then in one.

A signed distribution has a cdf that is not monotone. Its quantiles are those of the running
maximum of the cdf, which reaches a level where the cdf itself first does.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.support import PrefixSums, Tables
from jointdist.distributions.support_points import groups

__all__ = ["first_reached", "quantiles"]

_ROUNDING = 1e-12  # of a cdf
_CELLS = 1 << 18  # distributions times blocks worked on at a time: they stay in cache
_FEW_LEVELS = 8  # up to which there is a pass for each level: a round number


class _Sought(NamedTuple):
    """Levels to be found, each with its distribution and a block that may reach it."""

    which: Index
    level: Vector
    block: Index


def quantiles(sums: PrefixSums, t: Vector, mass: Vector, levels: Vector) -> Vector:
    r"""Return the lowest values at which cdfs reach given levels.

    Costs :math:`O(\sqrt n\, m)` a distribution, and at most one pass over the functions.

    Parameters
    ----------
    sums : PrefixSums
        The support points sorted by the column.
    t : array of shape (q, m)
        The coefficients of the distributions.
    mass : array of shape (q,)
        Their masses, positive.
    levels : array of shape (q, l)
        The levels, for each distribution its own.

    Returns
    -------
    array of shape (q, l)
        The quantiles.
    """
    reach = levels - _ROUNDING
    found = np.zeros(levels.size, dtype=np.intp)
    places = np.arange(levels.size)
    which, level = places // max(levels.shape[1], 1), reach.ravel()
    block = _first_blocks(sums, t, mass, reach)
    while len(places):
        point = _inside(sums, t, mass, _Sought(which, level, block))
        found[places[point >= 0]] = point[point >= 0]
        rest = point < 0
        places, which, level, after = places[rest], which[rest], level[rest], block[rest]
        block = _next_blocks(sums, t[which], mass[which], level, after)
    return sums.ordering.values[found].reshape(levels.shape)


def first_reached(heights: Vector, levels: Vector) -> Index:
    """Return the first column in which each row reaches each of its levels, ``(q, l)``.

    Parameters
    ----------
    heights : array of shape (q, k)
        The rows, of which the last column reaches all levels; may be overwritten.
    levels : array of shape (q, l)
        The levels of each row.
    """
    if levels.shape[1] <= _FEW_LEVELS:
        return np.stack([(heights >= p[:, None]).argmax(axis=1) for p in levels.T], axis=1)
    np.maximum.accumulate(heights, axis=1, out=heights)
    pairs = zip(heights, levels, strict=True)
    return np.stack([np.searchsorted(row, p) for row, p in pairs])


def _bounds(tables: Tables, t: Vector, mass: Vector) -> Vector:
    """Return upper bounds of cdfs inside each block, from their values at its ends."""
    F = (t @ tables.table[:, 1:].T + tables.table[:, 0]) / mass[:, None]
    F[:, -1] = np.inf  # the last point reaches every level, but for rounding
    top = np.maximum(F[:, :-1], F[:, 1:])
    top += np.multiply.outer(np.sqrt((t * t).sum(axis=1)) / mass, tables.slack)
    return top


def _first_blocks(sums: PrefixSums, t: Vector, mass: Vector, reach: Vector) -> Index:
    """Return the first block in which each level may be reached."""
    tables = sums.tables

    def work(part: slice) -> Index:
        return first_reached(_bounds(tables, t[part], mass[part]), reach[part]).ravel()

    return np.concatenate([*sums.executor.each(work, _slices(tables, len(t)))])


def _next_blocks(
    sums: PrefixSums, t: Vector, mass: Vector, level: Vector, after: Index
) -> Index:
    """Return the same for one level of each distribution, beyond given blocks."""
    block, tables = np.zeros(len(t), dtype=np.intp), sums.tables
    numbers = np.arange(len(tables.slack))
    for part in _slices(tables, len(t)):
        possible = _bounds(tables, t[part], mass[part]) >= level[part, None]
        block[part] = (possible & (numbers > after[part, None])).argmax(axis=1)
    return block


def _inside(sums: PrefixSums, t: Vector, mass: Vector, sought: _Sought) -> Index:
    """Return the points that reach the levels; -1 where the block does not."""
    point, at, table = np.full(len(sought.which), -1), sums.ordering, sums.tables.table
    n = len(at.values)

    def work(group: Index) -> tuple[Index, Index]:
        b = int(sought.block[group[0]])
        start, end = int(at.edges[b]), int(at.edges[b + 1])
        which = sought.which[group]
        if at.is_single(b):
            P, rows = table[b + 1, None], np.arange(end - 1, end)
        else:
            P, rows = sums.weighted(start, end), np.arange(start, end)
            np.cumsum(P, axis=0, out=P)
            P += table[b]
        F = P[:, 1:] @ t[which].T
        F += P[:, :1]
        F /= mass[which]
        if end == n:
            F[-1] = np.inf
        reached = (sought.level[group] <= F) & at.last[rows, None]
        return group, np.where(reached.any(axis=0), rows[reached.argmax(axis=0)], -1)

    by_block = groups(np.arange(len(point)), sought.block)
    for group, found in sums.executor.each(work, by_block):
        point[group] = found
    return point


def _slices(tables: Tables, n: int) -> Iterator[slice]:
    step = max(_CELLS // len(tables.table), 1)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
