"""Searches over mixtures: quantiles, energy scores and modes."""

from collections.abc import Callable, Iterator

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.groups import Groups
from jointdist.distributions.protocols import Distributions

__all__ = [
    "halved",
    "highest_densities",
    "pooled_scores",
    "quantiles_between",
    "quantiles_of_pooled",
]

_HALVINGS = 60  # of a bracket, at most: the digits of a float
_ROUNDING = 1e-12  # of a cdf, and of a bracket
_QUANTILES, _FINEST = 128, 2048  # of a component that stand for it, of many and of few
_TAIL = 9.0  # log odds of the lowest level of these: one in eight thousand
_POINTS = 2048  # of a mixture that stand for it, at least
_WORKED = 1 << 21  # quantiles worked on at a time: 16 MB
_CANDIDATES = 32  # components whose modes may be that of their mixture


def quantiles_between(base: Distributions, groups: Groups, levels: Vector) -> Vector:
    """Return the quantiles of mixtures of one column, ``(q, l)``.

    They are between the lowest and the highest quantile of the components, where the cdf of
    the mixture is searched by halving the bracket.

    Parameters
    ----------
    base : Distributions
        The components.
    groups : Groups
        The groups and the shares of the components.
    levels : array of shape (l,)
        The levels.
    """
    each = base.quantile(levels)[..., 0]
    low = np.minimum.reduceat(each, groups.starts, axis=0)
    high = np.maximum.reduceat(each, groups.starts, axis=0)

    def cdfs(rows: Index, at: Vector) -> Vector:
        components, part = groups.take(rows)
        return part.average(base.take(components).cdfs(at[part.which]))

    return halved(cdfs, low, high, levels)


def halved(
    cdfs: Callable[[Index, Vector], Vector], low: Vector, high: Vector, levels: Vector
) -> Vector:
    """Return where cdfs reach levels, by halving brackets, ``(q, l)``.

    Parameters
    ----------
    cdfs : callable
        From distributions and their own points ``(b, l)`` to the cdfs there.
    low, high : array of shape (q, l)
        The brackets; the level is reached at the upper end. They are overwritten.
    levels : array of shape (l,)
        The levels.
    """
    enough = _ROUNDING * np.maximum(np.abs(low), np.abs(high))
    for _ in range(_HALVINGS):
        rows = np.flatnonzero((high - low > enough).any(axis=1))
        if not len(rows):
            break
        a, b = low[rows], high[rows]
        middle = a + (b - a) / 2
        reached = cdfs(rows, middle) >= levels - _ROUNDING
        low[rows], high[rows] = np.where(reached, a, middle), np.where(reached, middle, b)
    return high


def quantiles_of_pooled(base: Distributions, groups: Groups, levels: Vector) -> Vector:
    """Return the quantiles of mixtures of many components or columns, ``(q, l, d)``.

    Quantiles of each component stand for it, the denser the further out.

    Parameters
    ----------
    base, groups, levels
        As in :func:`quantiles_between`.
    """
    found = []
    most = int(groups.sizes.max())
    count = int(np.clip(_POINTS * 16 // most, _QUANTILES, _FINEST))
    odds = np.linspace(-_TAIL, _TAIL, count - 1)
    edges = np.concatenate([[0.0], 1 / (1 + np.exp(-odds)), [1.0]])
    for values, weights in _pooled(base, groups, edges):
        order = np.argsort(values, axis=0, kind="stable")
        columns = zip(values.T, order.T, strict=True)
        sums = [(z[o], np.cumsum(weights[o])) for z, o in columns]
        at = [z[np.searchsorted(F[:-1], levels - _ROUNDING)] for z, F in sums]
        found.append(np.stack(at, axis=-1))
    return np.stack(found)


def pooled_scores(base: Distributions, groups: Groups, points: Vector) -> Vector:
    """Return the energy scores of mixtures of one column at a point each, ``(q,)``.

    Parameters
    ----------
    base : Distributions
        The components, divided by their mass.
    groups : Groups
        The groups and the shares of the components.
    points : array of shape (q,)
        The observed outcomes.
    """
    found = np.empty(groups.n)
    for count in np.unique(_counts(groups)):
        some = np.flatnonzero(_counts(groups) == count)
        components, part = groups.take(some)
        edges = np.linspace(0.0, 1.0, int(count) + 1)
        dists = _pooled(base.take(components), part, edges)
        for i, (values, weights) in zip(some, dists, strict=True):
            order = np.argsort(values[:, 0])
            z, w = values[order, 0], weights[order]
            F = np.cumsum(w)[:-1]
            found[i] = w @ np.abs(z - points[i]) - (F * (1 - F)) @ np.diff(z)
    return found


def highest_densities(base: Distributions, groups: Groups, modes: Vector) -> Vector:
    """Return, of the modes of components, that of the highest density of the mixture.

    Parameters
    ----------
    base : Distributions
        The components.
    groups : Groups
        The groups and the shares of the components.
    modes : array of shape (N, d)
        The modes of the components. Those whose own density times their share is large are
        compared.
    """
    own = groups.shares * base.density(modes, paired=True)
    found = np.empty((groups.n, modes.shape[1]))
    for i, (start, size) in enumerate(zip(groups.starts, groups.sizes, strict=True)):
        part = slice(start, start + size)
        likely = start + np.argsort(-own[part], kind="stable")[:_CANDIDATES]
        heights = base.take(part).density(modes[likely], paired=False)
        found[i] = modes[likely[(groups.shares[part] @ heights).argmax()]]
    return found


def _counts(groups: Groups) -> Vector:
    """Return how many quantiles stand for a component: the fewer, the more components."""
    return np.maximum(_POINTS // groups.sizes, 8)


def _pooled(
    base: Distributions, groups: Groups, edges: Vector
) -> Iterator[tuple[Vector, Vector]]:
    """Yield quantiles of the components of each mixture, ``(k, d)``, and their weights.

    They are at the middle levels between edges.
    """
    levels, each = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    step = max(_WORKED // (len(levels) * int(groups.sizes.max())), 1)
    for start in range(0, groups.n, step):
        rows = np.arange(start, min(start + step, groups.n))
        components, part = groups.take(rows)
        values = base.take(components).quantile(levels)
        ends = [*part.starts[1:].tolist(), len(components)]
        for a, b in zip(part.starts, ends, strict=True):
            weights = np.multiply.outer(part.shares[a:b], each).ravel()
            yield values[a:b].reshape(-1, values.shape[-1]), weights
