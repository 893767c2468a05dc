"""Out-of-fold forecasts that reveal their residuals, and the noise that hides them."""

import numpy as np

from jointdist._array import Vector
from jointdist.regression.settings import SETTINGS

__all__ = ["hide_residuals"]


def hide_residuals(
    forecasts: Vector,
    residuals: Vector,
    rng: np.random.Generator,
    weights: Vector | None = None,
) -> Vector:
    """Return out-of-fold forecasts with so much noise that residuals cannot be read off.

    The mean of all other rows is the lower, the higher the outcome of a row. Where X says
    little, or takes few values, out-of-fold forecasts differ by nothing else, and the
    distribution of residuals given them would know the outcome. So the least noise is added
    with which, among rows of nearly the same forecast, forecasts and residuals are
    uncorrelated. Usually that is none.

    Measured: without it the CRPS of a :class:`~jointdist.DistributionRegressor` is up to
    33 % higher where X says nothing (200 and 1,000 rows of noise) and 14 to 19 % higher where
    it takes two values (200 to 3,000 rows). On the UCI sets X says much, and the CRPS is the
    same within 1 %.

    Parameters
    ----------
    forecasts : array of shape (n, d)
        The out-of-fold forecasts.
    residuals : array of shape (n, d)
        The outcomes minus the forecasts.
    rng : Generator
        Draws the noise.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    found = forecasts.copy()
    w = np.ones(len(forecasts)) if weights is None else weights
    limit = max(
        SETTINGS.leakage_correlation,
        SETTINGS.leakage_standard_errors / np.sqrt(w.sum() ** 2 / (w @ w)),
    )
    for noisy, forecast, residual in zip(found.T, forecasts.T, residuals.T, strict=True):
        mean = np.average(residual, weights=w)
        unit = float(np.sqrt(np.average((residual - mean) ** 2, weights=w)))
        noise = rng.normal(size=len(noisy))
        for size in (0.0, *SETTINGS.leakage_noise):
            noisy[:] = forecast + size * unit * noise
            if _local_correlation(noisy, residual, w) < limit:
                break
        else:
            noisy[:] = np.average(forecast, weights=w)
    return found


def _local_correlation(p: Vector, residual: Vector, w: Vector) -> float:
    """Return the largest mean correlation among rows of nearly the same forecast.

    They may be few or many, up to all rows.
    """
    order, n, found = np.argsort(p, kind="stable"), len(p), 0.0
    width = n
    while width >= min(SETTINGS.leakage_window, n):
        rows = order[: n // width * width].reshape(-1, width)
        weights = w[rows]
        total = weights.sum(axis=1, keepdims=True)
        both = p[rows], residual[rows]
        a, b = (z - (weights * z).sum(axis=1, keepdims=True) / total for z in both)
        size = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
        cross = (weights * a * b).sum(axis=1)
        each = np.divide(cross, size, out=np.zeros_like(size), where=size > 0)
        found = max(found, abs(float(np.average(each, weights=total[:, 0]))))
        width //= 2
    return found
