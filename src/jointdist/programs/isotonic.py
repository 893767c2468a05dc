r"""The isotonic projection of signed distributions of one variable.

It is the cdf nearest to a signed one in :math:`L^2`. The CRPS is a squared distance to the
step function of the outcome. Step functions are cdfs, and cdfs are a convex set; so the
projection does not raise the CRPS at any outcome.
"""

import numpy as np
from scipy.optimize import isotonic_regression

from jointdist._array import Vector

__all__ = ["isotonic"]

# Cdfs that are projected by one call of the isotonic regression: enough to make its overhead
# small, few enough for temporaries of a few MiB.
_TOGETHER = 256


def isotonic(weights: Vector, points: Vector) -> Vector:
    """Return the weights of the cdfs nearest to those of signed distributions.

    Parameters
    ----------
    weights : array of shape (q, K)
        The weights of the support points; each row has sum one.
    points : array of shape (K,)
        The support points, increasing.

    Returns
    -------
    array of shape (q, K)
        Weights that are not negative, of sum one.
    """
    q, K = weights.shape
    if K == 1:
        return np.ones_like(weights)
    found, gaps = np.empty_like(weights), np.tile(np.diff(points), min(_TOGETHER, q))
    for start in range(0, q, _TOGETHER):
        rows = slice(start, min(start + _TOGETHER, q))
        cdf = np.cumsum(weights[rows, :-1], axis=1)
        low, high = cdf.min(axis=1), cdf.max(axis=1)
        above = np.cumsum(np.append(0.0, high[:-1] - low[1:] + 1))[:, None]
        cdf += above  # one after the other, each above all before it
        cdf = isotonic_regression(cdf.ravel(), weights=gaps[: cdf.size]).x.reshape(
            cdf.shape
        )
        cdf -= above
        np.clip(cdf, 0.0, 1.0, out=cdf)
        part = found[rows]
        part[:, 0], part[:, -1] = cdf[:, 0], 1 - cdf[:, -1]
        np.subtract(cdf[:, 1:], cdf[:, :-1], out=part[:, 1:-1])
    return np.maximum(found, 0.0, out=found)
