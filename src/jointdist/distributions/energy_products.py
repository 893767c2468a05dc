r"""Products of the errors of distributions at outcomes, by energy distances.

.. math:: \langle k, l \rangle = E|Y_k - y| + E|Y_l - y| - E|Y_k - Y_l|

is a scalar product of :math:`F_k - \delta_y` and :math:`F_l - \delta_y`; half the product of a
distribution with itself is its energy score. Of one column it is :math:`2 \int (F_k - 1_{\ge
y}) (F_l - 1_{\ge y})`. Points at equidistant levels stand for each distribution.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from jointdist._array import Vector
from jointdist.distributions.protocols import Distributions

__all__ = ["energy_products"]

_LEVELS = 200  # points of one column: errors of a percent of a standard deviation
_DRAWS = 96  # points of several columns: a time budget
_ROWS = 512  # rows worked on at a time: 16 MB for ten members


def energy_products(dists: Sequence[Distributions], points: Vector, unit: Vector) -> Vector:
    """Return the products of errors, ``(n, k, k)``.

    Parameters
    ----------
    dists : sequence of Distributions
        The distributions of each member, ``n`` of them.
    points : array of shape (n, d)
        The observed outcomes.
    unit : array of shape (d,)
        The units of distances along each of several columns.
    """
    n, d = points.shape
    work = _of_numbers if d == 1 else _of_several
    parts = [slice(start, start + _ROWS) for start in range(0, n, _ROWS)]
    return np.concatenate([work(dists, part, points[part] / unit, unit) for part in parts])


def _of_numbers(
    dists: Sequence[Distributions], part: slice, y: Vector, unit: Vector
) -> Vector:
    """Return the products of one column, from merged quantiles."""
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    each = [dist.take(part).quantile(levels)[..., 0] / unit for dist in dists]
    z = np.concatenate([*each, y], axis=1)
    order = np.argsort(z, axis=1)
    gaps = np.diff(np.take_along_axis(z, order, axis=1), axis=1)
    owner = np.append(np.repeat(np.arange(len(dists)), _LEVELS), len(dists))[order]
    above = np.cumsum(owner == len(dists), axis=1)[:, :-1]
    errors = [
        np.cumsum(owner == k, axis=1)[:, :-1] / _LEVELS - above for k in range(len(dists))
    ]
    E = np.stack(errors)
    found: Vector = 2 * np.einsum("knz,lnz,nz->nkl", E, E, gaps, optimize=True)
    return found


def _of_several(
    dists: Sequence[Distributions], part: slice, y: Vector, unit: Vector
) -> Vector:
    """Return the products of several columns, from distances between points."""
    levels = (np.arange(_DRAWS) + 0.5) / _DRAWS
    even = np.broadcast_to(levels, (len(y), _DRAWS))
    drawn = np.stack([dist.take(part).draws(even) for dist in dists], axis=1) / unit
    k = len(dists)
    found = np.empty((len(y), k, k))
    for row, points, outcome in zip(found, drawn, y, strict=True):
        flat = points.reshape(k * _DRAWS, -1)
        apart = cdist(flat, flat).reshape(k, _DRAWS, k, _DRAWS).mean(axis=(1, 3))
        near = cdist(flat, outcome[None]).reshape(k, _DRAWS).mean(axis=1)
        row[:] = near[:, None] + near - apart
    return found
