"""Cdfs of distributions that have a weight of their own on each support point."""

from collections.abc import Iterator

import numpy as np

from jointdist._array import Vector
from jointdist.distributions import weights as scan
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.quantiles import first_reached

__all__ = ["point_quantiles", "sorted_cdfs"]

_ROUNDING = 1e-12  # of a cdf


def sorted_cdfs(
    support: CellSupport, column: int, t: Vector, mass: Vector
) -> Iterator[tuple[slice, Vector]]:
    """Yield cdfs at the support points, sorted by a column, a part of the distributions at a time.

    Parameters
    ----------
    support : CellSupport
        The support points.
    column : int
        The column.
    t, mass : arrays of shape (q, m) and (q,)
        The coefficients and masses of distributions.
    """
    at = support.points.ordering(column)
    for part in scan.slices(len(at.order), len(t)):
        w = (1 + t[part][:, support.cell[at.order]]) * at.shares
        yield part, np.cumsum(w / mass[part, None], axis=1)


def point_quantiles(
    support: CellSupport, column: int, t: Vector, mass: Vector, levels: Vector
) -> Vector:
    """Return the lowest values at which cdfs of a column reach levels, ``(q, l)``.

    Parameters
    ----------
    support : CellSupport
        The support points.
    column : int
        The column.
    t, mass : arrays of shape (q, m) and (q,)
        The coefficients and masses of distributions.
    levels : array of shape (q, l)
        The levels of each distribution.
    """
    at = support.points.ordering(column)
    values, found = at.values[at.last], np.empty(levels.shape)
    for part, F in sorted_cdfs(support, column, t, mass):
        cdfs = F[:, at.last]
        cdfs[:, -1] = np.inf  # the last point reaches every level, but for rounding
        found[part] = values[first_reached(cdfs, levels[part] - _ROUNDING)]
    return found
