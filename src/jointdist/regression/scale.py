r"""The scale of outcomes given x: kernel ridge regression of the logarithms of residuals.

The targets are :math:`\log(e^2 + c^2)` for out-of-fold residuals :math:`e`, with a small
:math:`c` so that no residual counts too much. They are regressed on the forecast and on x;
half of the prediction is the logarithm of the scale.
"""

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.folds import Folds
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.regression.fitted_scale import ScaleRegression
from jointdist.regression.kernel_fit import fit_kernel
from jointdist.regression.kernel_smoother import KernelSmoother
from jointdist.regression.outliers import fenced
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.settings import SETTINGS
from jointdist.regression.stacking import stacking_weights

__all__ = ["fit_scale", "forecast_kernel"]


def fit_scale(
    kernel: Kernel,
    x: Rows,
    p: Rows,
    residuals: Vector,
    weights: Vector | None = None,
    *,
    folds: Folds | None = None,
    random_state: int = 0,
    executor: Executor | None = None,
) -> tuple[ScaleRegression, Vector]:
    """Return the scale as a function of x and the forecast, and its leave-one-out values.

    Parameters
    ----------
    kernel : Kernel
        The kernel of x.
    x, p : Rows
        The rows of x, and their out-of-fold forecasts.
    residuals : array of shape (n, r)
        The out-of-fold residuals.
    weights : array of shape (n,), optional
        The weights of the rows.
    folds : Folds, optional
        How rows are held out, if they are not left out one by one.
    random_state : int, default=0
        The seed of pivots.
    executor : Executor, optional
        Runs the row blocks.

    Returns
    -------
    tuple of ScaleRegression and array of shape (n, r)
        The scale, and its values at the rows, each left out in turn; NaN where rows are
        never held out.
    """
    middle = _quantiles(np.abs(residuals), np.array([0.5]), weights)[0]
    small = np.maximum(SETTINGS.residual_floor * middle, np.finfo(float).tiny ** 0.5)
    logs = np.log(residuals**2 + small**2)

    def fitted(kernel: Kernel, table: Rows) -> tuple[KernelSmoother, Vector]:
        data = RegressionData(table, logs, weights, folds)
        fit = fit_kernel(
            kernel,
            data,
            max_rank=SETTINGS.scale_max_rank,
            ridges=SETTINGS.scale_ridges,
            random_state=random_state,
            executor=executor,
        )
        return fit.smoother(), fit.residuals(data, executor)

    on_forecast, first = fitted(forecast_kernel(p, weights), p)
    on_x, second = fitted(kernel, x)
    left = np.stack([first, second])
    shares = stacking_weights(left, weights)
    logs = logs - np.einsum("kr,knr->nr", shares, left)
    known = np.isfinite(logs).all(axis=1)
    rows = slice(None) if known.all() else known
    w = None if weights is None else weights[rows]
    ends = _quantiles(logs[rows], np.array(SETTINGS.scale_levels), w)
    scales = np.exp(np.clip(logs, *ends) / 2)
    usual = fenced(residuals[rows] / scales[rows], SETTINGS.residual_fence, w)
    squares = usual**2
    unit = np.sqrt(np.average(squares, axis=0, weights=w))
    unit = np.where(unit > 0, unit, 1.0)  # residuals of a constant are zero
    return ScaleRegression(on_forecast, on_x, shares, ends, unit), unit * scales


def forecast_kernel(p: Rows, weights: Vector | None) -> Kernel:
    """Return the Gaussian kernel of forecasts, of half the length scale of the heuristic.

    Parameters
    ----------
    p : Rows
        The forecasts.
    weights : array of shape (n,), optional
        Their weights.
    """
    encoding, rng = Encoding((None,) * p.d), np.random.default_rng(0)
    family = family_of("x", "auto", encoding, p, weights=weights, rng=rng)
    return family.at(SETTINGS.forecast_scale_factor)


def _quantiles(values: Vector, levels: Vector, weights: Vector | None) -> Vector:
    """Return quantiles of columns, ``(l, r)``, interpolated between the rows.

    NumPy knows no weights for these. The first row is at level zero, the last at one, and
    those between are at the middle of their weights.
    """
    if weights is None:
        return np.quantile(values, levels, axis=0)
    found = np.empty((len(levels), values.shape[1]))
    for quantiles, column in zip(found.T, values.T, strict=True):
        order = np.argsort(column, kind="stable")
        w = weights[order]
        middle = np.cumsum(w) - w / 2
        at = (middle - middle[0]) / max(middle[-1] - middle[0], np.finfo(float).tiny)
        quantiles[:] = np.interp(levels, at, column[order])
    return found
