"""Quantiles of many laws at once: a search over blocks of sorted atoms, then in one.

A signed law has a cdf that is not monotone. Its quantiles are those of the running
maximum of the cdf, which reaches a level where the cdf itself first does.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.sorted_support import Ordered, groups

__all__ = ["quantiles"]

_ROUNDING = 1e-12  # of a cdf
_CELLS = 1 << 18  # of laws by blocks that are worked on at a time: they stay in cache
_FEW_LEVELS = 8


class _Sought(NamedTuple):
    """Levels of laws that are sought, each in a block that may have it."""

    dists: Index
    level: Vector
    block: Index


def quantiles(ordered: Ordered, t: Vector, mass: Vector, levels: Vector) -> Vector:
    r"""Return the lowest values at which cdfs reach given levels.

    Costs :math:`O(\sqrt n\, m)` a law and a pass over the features of the atoms at most.

    Parameters
    ----------
    ordered : Ordered
        The atoms in the order of the column.
    t : array of shape (q, m)
        The coefficients of the laws.
    mass : array of shape (q,)
        Their masses, positive.
    levels : array of shape (q, l)
        The levels, for each law its own.

    Returns
    -------
    array of shape (q, l)
        The quantiles.
    """
    reach = levels - _ROUNDING
    found = np.zeros(levels.size, dtype=np.intp)
    places = np.arange(levels.size)
    dists, level = places // max(levels.shape[1], 1), reach.ravel()
    block = _first_blocks(ordered, t, mass, reach)
    while len(places):
        atom = _inside(ordered, t, mass, _Sought(dists, level, block))
        found[places[atom >= 0]] = atom[atom >= 0]
        rest = atom < 0
        places, dists, level, after = places[rest], dists[rest], level[rest], block[rest]
        block = _next_blocks(ordered, t[dists], mass[dists], level, after)
    return ordered.values[found].reshape(levels.shape)


def _bounds(ordered: Ordered, t: Vector, mass: Vector) -> Vector:
    """Return upper bounds of cdfs inside each block, from their values at its ends."""
    F = (t @ ordered.table[:, 1:].T + ordered.table[:, 0]) / mass[:, None]
    F[:, -1] = np.inf  # the last atom reaches every level, but for rounding
    top = np.maximum(F[:, :-1], F[:, 1:])
    top += np.multiply.outer(np.sqrt((t * t).sum(axis=1)) / mass, ordered.slack)
    return top


def _first_blocks(ordered: Ordered, t: Vector, mass: Vector, reach: Vector) -> Index:
    """Return the first block in which each level may be reached."""

    def work(own: slice) -> Index:
        top = _bounds(ordered, t[own], mass[own])
        if reach.shape[1] <= _FEW_LEVELS:
            block = np.stack([(top >= p[:, None]).argmax(axis=1) for p in reach[own].T], 1)
        else:
            np.maximum.accumulate(top, axis=1, out=top)
            pairs = zip(top, reach[own], strict=True)
            block = np.stack([np.searchsorted(bound, p) for bound, p in pairs])
        return block.ravel()

    return np.concatenate([*ordered.atoms.executor.each(work, _slices(ordered, len(t)))])


def _next_blocks(
    ordered: Ordered, t: Vector, mass: Vector, level: Vector, after: Index
) -> Index:
    """Return the same for one level of each law, beyond given blocks."""
    block = np.zeros(len(t), dtype=np.intp)
    numbers = np.arange(len(ordered.edges) - 1)
    for own in _slices(ordered, len(t)):
        possible = _bounds(ordered, t[own], mass[own]) >= level[own, None]
        block[own] = (possible & (numbers > after[own, None])).argmax(axis=1)
    return block


def _inside(ordered: Ordered, t: Vector, mass: Vector, sought: _Sought) -> Index:
    """Return the atoms that reach the levels; -1 where the block does not."""
    atom = np.full(len(sought.dists), -1)
    n = len(ordered.values)

    def work(group: Index) -> tuple[Index, Index]:
        b = int(sought.block[group[0]])
        start, end = int(ordered.edges[b]), int(ordered.edges[b + 1])
        dists = sought.dists[group]
        if ordered.is_single(b):
            P, at = ordered.table[b + 1, None], np.arange(end - 1, end)
        else:
            P, at = ordered.weighted_features(start, end), np.arange(start, end)
            np.cumsum(P, axis=0, out=P)
            P += ordered.table[b]
        F = P[:, 1:] @ t[dists].T
        F += P[:, :1]
        F /= mass[dists]
        if end == n:
            F[-1] = np.inf
        reached = (sought.level[group] <= F) & ordered.last[at, None]
        return group, np.where(reached.any(axis=0), at[reached.argmax(axis=0)], -1)

    by_block = groups(np.arange(len(atom)), sought.block)
    for group, found in ordered.atoms.executor.each(work, by_block):
        atom[group] = found
    return atom


def _slices(ordered: Ordered, n: int) -> Iterator[slice]:
    dists = max(_CELLS // len(ordered.edges), 1)
    return (slice(start, min(start + dists, n)) for start in range(0, n, dists))
