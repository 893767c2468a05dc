r"""Questions that need the weight of every support point: scans over the points, in blocks.

A distribution costs :math:`O(n m)` here. Blocks of points meet blocks of distributions, so
that no array of all distributions by all points is formed.
"""

from collections.abc import Callable
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.distributions.support import Support
from jointdist.distributions.support_points import groups

__all__ = [
    "all_weights",
    "cdf_sums",
    "clipped_draws",
    "largest",
    "likeliest",
    "negative_ratios",
    "negative_share",
    "paired_cdfs",
    "slices",
]

_CELLS = 1 << 21  # points times distributions worked on at a time: 16 MB


def all_weights(support: Support, t: Vector, mass: Vector) -> Vector:
    """Return the weights of all support points, of shape ``(q, n)``."""
    weights = np.empty((len(t), support.points.n))

    def block(start: int, z: Array) -> None:
        part = slice(start, start + z.shape[0])
        weights[:, part] = _weights(support, start, z, t, mass).T

    for _ in support.points.executor.map(block, support.points.rows):
        pass
    return weights


def negative_share(support: Support, t: Vector, mass: Vector) -> Vector:
    """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""

    def share(t: Vector, mass: Vector) -> Vector:
        def block(start: int, z: Array) -> Vector:
            w = _weights(support, start, z, t, mass)
            below = -np.minimum(w, 0).sum(axis=0)
            return np.stack([below, np.abs(w, out=w).sum(axis=0)])

        below, whole = support.points.executor.reduce(add, block, support.points.rows)
        ratio: Vector = below / whole + 0.0  # no negative zero
        return ratio

    return _by_part(share, support, t, mass)


def negative_ratios(support: Support, t: Vector, below: float) -> Vector:
    """Return the share of the sample at which each ratio is below a limit, ``(q,)``.

    Parameters
    ----------
    support : Support
        The support points.
    t : array of shape (q, m)
        The coefficients of distributions.
    below : float
        The limit.
    """

    def share(t: Vector) -> Vector:
        def block(start: int, z: Array) -> Vector:
            negative = support.ratio(start, z, t) < below
            found: Vector = support.points.shares[start : start + len(negative)] @ negative
            return found

        return support.points.executor.reduce(add, block, support.points.rows)

    return np.concatenate([share(t[part]) for part in _slices(support, len(t))])


def paired_cdfs(support: Support, t: Vector, mass: Vector, points: Vector) -> Vector:
    """Return the cdf of several columns, of distribution i at point i, ``(q,)``.

    Parameters
    ----------
    support : Support
        The support points.
    t, mass : arrays of shape (q, m) and (q,)
        The coefficients and masses of distributions.
    points : array of shape (q, d)
        The points, coded.
    """

    def cdfs(t: Vector, mass: Vector, at: Vector) -> Vector:
        def block(start: int, z: Array) -> Vector:
            w = _weights(support, start, z, t, mass)
            total: Vector = (w * _below(to_numpy(z), at)).sum(axis=0)
            return total

        return support.points.executor.reduce(add, block, support.points.rows)

    parts = _slices(support, len(t))
    return np.concatenate([cdfs(t[p], mass[p], points[p]) for p in parts])


def cdf_sums(support: Support, points: Vector) -> Vector:
    r"""Return the sums of :math:`\omega (1, \Psi)` over support points below each point.

    Parameters
    ----------
    support : Support
        The support points.
    points : array of shape (k, d)
        The points, coded.

    Returns
    -------
    array of shape (1 + m, k)
        The sums: cdfs of several columns are linear in them.
    """

    def sums(part: slice) -> Vector:
        return support.expectations(lambda z: _below(z, points[part]))

    parts = slices(support.points.executor.block_rows, len(points))
    return np.concatenate([sums(part) for part in parts], axis=1)


def _below(z: Vector, limits: Vector) -> Vector:
    """Return whether each point is below each limit in all columns, ``(b, k)``."""
    found = np.ones((len(z), len(limits)))
    for column, limit in zip(z.T, limits.T, strict=True):
        found *= column[:, None] <= limit
    return found


def largest(support: Support, t: Vector, mass: Vector, factor: Vector) -> Index:
    """Return the point at which the ratio times a factor of the point is largest, ``(q,)``."""

    class Best(NamedTuple):
        value: Vector
        point: Index

        def or_later(self, other: "Best") -> "Best":
            better = other.value > self.value
            return Best(
                np.where(better, other.value, self.value),
                np.where(better, other.point, self.point),
            )

    def best(t: Vector, mass: Vector) -> Index:
        def block(start: int, z: Array) -> Best:
            value = support.ratio(start, z, t) / mass
            value *= factor[start : start + z.shape[0], None]
            return Best(value.max(axis=0), start + value.argmax(axis=0))

        return support.points.executor.reduce(
            Best.or_later, block, support.points.rows
        ).point

    return _by_part(best, support, t, mass)


def likeliest(sums: Vector, t: Vector) -> Index:
    r"""Return which of given sums of :math:`\omega (1, \Psi)` has the largest weight.

    Parameters
    ----------
    sums : array of shape (k, 1 + m)
        The sums.
    t : array of shape (q, m)
        The coefficients and masses of distributions.
    """
    parts = (t[part] for part in slices(len(sums), len(t)))
    return np.concatenate([(p @ sums[:, 1:].T + sums[:, 0]).argmax(axis=1) for p in parts])


def clipped_draws(support: Support, t: Vector, mass: Vector, uniform: Vector) -> Index:
    """Return support points drawn after negative weights are set to zero.

    Parameters
    ----------
    support : Support
        The support points.
    t, mass : arrays of shape (q, m) and (q,)
        The coefficients and masses of distributions.
    uniform : array of shape (q, size)
        Uniform numbers from zero to below one: the point where the sum of the clipped
        weights, in the order of the points, first exceeds that share of the whole.
    """
    parts = _slices(support, len(t))
    return np.concatenate([_draws(support, t[p], mass[p], uniform[p]) for p in parts])


def _draws(support: Support, t: Vector, mass: Vector, uniform: Vector) -> Index:
    def total(start: int, z: Array) -> Vector:
        clipped: Vector = np.maximum(_weights(support, start, z, t, mass), 0).sum(axis=0)
        return clipped

    points = support.points
    by_block = np.cumsum(list(points.executor.map(total, points.rows)), axis=0)
    before = np.concatenate([np.zeros((1, len(t))), by_block])
    sought = (uniform * by_block[-1][:, None]).ravel()
    which = np.repeat(np.arange(len(t)), uniform.shape[1])
    columns = zip(by_block.T, np.split(sought, len(t)), strict=True)
    block = np.concatenate([np.searchsorted(sums, u, side="right") for sums, u in columns])
    block = np.minimum(block, len(by_block) - 1)
    drawn = np.zeros(len(sought), dtype=np.intp)

    def work(group: Index) -> tuple[Index, Index]:
        b = int(block[group[0]])
        part, first = np.unique(which[group], return_index=True)
        start, rows = b * points.executor.block_rows, points.rows
        z = rows.read(start, min(start + points.executor.block_rows, points.n))
        w = np.maximum(_weights(support, start, z, t[part], mass[part]), 0)
        sums = np.cumsum(w, axis=0) + before[b, part]
        last = len(w) - 1 - (w[::-1] > 0).argmax(axis=0)  # of positive weight: rounding
        each = zip(sums.T, np.split(sought[group], first[1:]), last, strict=True)
        found = [np.minimum(np.searchsorted(c, u, side="right"), k) for c, u, k in each]
        return group, start + np.concatenate(found)

    items = groups(np.arange(len(sought)), block)
    for group, found in points.executor.each(work, items):
        drawn[group] = found
    return drawn.reshape(uniform.shape)


def _weights(support: Support, start: int, z: Array, t: Vector, mass: Vector) -> Vector:
    """Return the weights of a block of points, of shape ``(b, q)``."""
    w = support.ratio(start, z, t)
    w *= support.points.shares[start : start + len(w), None] / mass
    return w


def _by_part(
    f: Callable[[Vector, Vector], NDArray[Any]], support: Support, t: Vector, mass: Vector
) -> NDArray[Any]:
    return np.concatenate([f(t[part], mass[part]) for part in _slices(support, len(t))])


def _slices(support: Support, n: int) -> list[slice]:
    """Return slices of distributions whose weights on a block of points fit in memory."""
    return slices(min(support.points.executor.block_rows, support.points.n), n)


def slices(width: int, n: int) -> list[slice]:
    """Return slices of ``n`` rows, such that each part of a table fits in memory.

    Parameters
    ----------
    width : int
        The number of columns of the table.
    n : int
        The number of its rows.
    """
    step = max(_CELLS // width, 1)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
