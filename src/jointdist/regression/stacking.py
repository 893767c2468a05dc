"""Stacking: the convex combination of regressions with the least leave-one-out error."""

import numpy as np

from jointdist._array import Vector
from jointdist.programs.pool import least_norm

__all__ = ["stacking_weights"]


def stacking_weights(residuals: Vector, weights: Vector | None = None) -> Vector:
    """Return the weights of the best average of several regressions, ``(k, r)``.

    They are zero or positive, have sum one for each target, and minimise the sum of squared
    out-of-fold residuals of the average (Breiman, 1996).

    Parameters
    ----------
    residuals : array of shape (k, n, r)
        The out-of-fold residuals of each regression; rows with NaN do not count.
    weights : array of shape (n,), optional
        The weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.regression.stacking import stacking_weights
    >>> residuals = np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, -2.0, -2.0]])
    >>> stacking_weights(residuals[:, :, None])[:, 0]
    array([0.8, 0.2])
    """
    known = np.isfinite(residuals).all(axis=(0, 2))
    if not known.all():
        residuals = residuals[:, known]
        weights = None if weights is None else weights[known]
    root = np.ones(residuals.shape[1]) if weights is None else np.sqrt(weights)
    shares = np.empty((len(residuals), residuals.shape[2]))
    for column in range(residuals.shape[2]):
        R = np.asarray(np.linalg.qr((residuals[:, :, column] * root).T, mode="r"))
        shares[:, column] = least_norm(R)
    return shares
