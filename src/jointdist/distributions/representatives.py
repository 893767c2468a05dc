"""Few support points that stand for all of a distribution."""

from collections.abc import Iterator

import numpy as np

from jointdist._array import Vector
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.weights import slices

__all__ = ["representatives"]


def representatives(
    dists: LinearDistributions, most: int
) -> Iterator[tuple[slice, Vector, Vector]]:
    """Yield distributions, weights on points that stand for all, and these points.

    Parameters
    ----------
    dists : LinearDistributions
        The distributions.
    most : int
        The number of points. Of more, quantiles of the sample stand for all, and each takes
        the ratio of its point.

    Yields
    ------
    tuple of slice and arrays of shape (b, k) and (k, d)
        Which distributions, their weights, and the points.
    """
    support, start = dists.support, 0
    shares = support.points.shares
    one = support.points.width == 1
    rows = support.points.ordering(0).order if one else support.grouped()
    rows = rows[shares[rows] > 0]
    times = np.ones(len(rows))
    if len(rows) > most:
        share = shares[rows]
        places = (np.arange(most) + 0.5) / most * share.sum()
        found = np.searchsorted(np.cumsum(share), places)
        which, count = np.unique(found, return_counts=True)
        rows, times = rows[which], count / share[which]
    sums, points = support.weighted(rows), support.points.table()[rows]
    sums *= times[:, None]
    for t in dists.conditions.parts():
        for part in slices(2 * len(rows), len(t)):
            w = np.asarray((sums @ np.insert(t[part], 0, 1.0, axis=1).T).T)
            w /= w.sum(axis=1)[:, None]
            yield slice(start + part.start, start + part.stop), w, points
        start += len(t)
