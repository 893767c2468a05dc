"""Gross outliers: outcomes and residuals so far out that they would decide a regression."""

import numpy as np

from jointdist._array import Vector
from jointdist.regression.settings import SETTINGS

__all__ = ["fenced", "fences", "has_outliers"]


def fences(values: Vector, factor: float, weights: Vector | None = None) -> Vector:
    """Return the fences of each column, ``(2, r)``, beyond which values are gross outliers.

    They are so many times as far from the median as the outer one of two tail quantiles.

    Parameters
    ----------
    values : array of shape (n, r)
        The values; rows with NaN do not count.
    factor : float
        How many times.
    weights : array of shape (n,), optional
        The weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.regression.outliers import fences
    >>> fences(np.append(np.arange(100.0), 1e9)[:, None], 2.0).round()
    array([[-48.],
           [148.]])
    """
    known = np.isfinite(values).all(axis=1)
    levels = np.array([SETTINGS.tail, 0.5, 1 - SETTINGS.tail])
    w = None if weights is None else weights[known]
    low, middle, high = np.quantile(
        values[known], levels, axis=0, weights=w, method="inverted_cdf"
    )
    reach = factor * np.maximum(high - middle, middle - low)
    return np.stack([middle - reach, middle + reach])


def fenced(values: Vector, factor: float, weights: Vector | None = None) -> Vector:
    """Return values, of which gross outliers are moved to the fences.

    Parameters
    ----------
    values : array of shape (n, r)
        The values.
    factor : float
        The distance of the fences, as in :func:`fences`.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    low, high = fences(values, factor, weights)
    apart = high > low  # else most values are equal, and all others would be outliers
    found: Vector = np.where(apart, np.clip(values, low, high), values)
    return found


def has_outliers(values: Vector, factor: float, weights: Vector | None = None) -> bool:
    """Tell whether there are gross outliers.

    Parameters
    ----------
    values : array of shape (n, r)
        The values; rows with NaN do not count.
    factor : float
        The distance of the fences, as in :func:`fences`.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    known = np.isfinite(values).all(axis=1)
    return bool((fenced(values, factor, weights) != values)[known].any())
