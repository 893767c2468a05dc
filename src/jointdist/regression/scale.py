r"""The scale of outcomes given x: kernel ridge regression of the logarithms of residuals.

Of :math:`\log(e^2 + c^2)`, with a small :math:`c` so that no residual counts too much, on the
forecast itself and on x; half of it is the logarithm of the scale.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.regression.kernel_ridge import KernelFit, averaged, fit_kernel

__all__ = ["Spread", "blurred", "fit_spread", "near_forecasts"]

_SMALL = 0.1  # of the median residual: smaller ones are as large
_TAILS = 0.005, 0.995  # beyond these levels scales are cut
_RANK = 256
# Forecasts of rows left out know what they miss: the smaller a ridge, the more they tell.
_RIDGES = 10.0 ** np.arange(-4, 2.1, 0.5)
_WINDOW = 20  # rows of nearly the same forecast, at least
_TOLD = 0.1  # the mean correlation of forecasts and what they miss, among these
_BLURS = tuple((10.0 ** np.arange(-4, 1.1, 0.25)).tolist())  # of noise, in what is missed
_NARROW = 0.5  # of the median scale of forecasts


@dataclass(frozen=True, eq=False)
class Spread:
    """Scales given the forecast and x.

    Attributes
    ----------
    parts : list of KernelFit
        Regressions of logarithms: the first on the forecast, others on x.
    shares : array of shape (k, r)
        Their shares in the average for each column; the sum is one.
    ends : array of shape (2, r)
        The least and the largest logarithm.
    unit : array of shape (r,)
        What scales are multiplied by, so that residuals have standard deviation one.
    """

    parts: list[KernelFit]
    shares: Vector
    ends: Vector
    unit: Vector

    def at(self, x: Rows, p: Rows, executor: Executor | None = None) -> Vector:
        """Return the scales at rows, ``(q, r)``.

        Parameters
        ----------
        x, p : Rows
            The rows of x, and their forecasts.
        executor : Executor, optional
            How row blocks are worked on.
        """
        tables = [p] + [x] * (len(self.parts) - 1)
        found = [
            fit.regression.predict(table, fit.ridge, executor)
            for fit, table in zip(self.parts, tables, strict=True)
        ]
        logs = np.einsum("kr,kqr->qr", self.shares, np.stack(found))
        scales: Vector = self.unit * np.exp(np.clip(logs, *self.ends) / 2)
        return scales


def fit_spread(
    x: Rows,
    p: Rows,
    left: Vector,
    kernels: list[Kernel],
    weights: Vector | None = None,
    *,
    random_state: int = 0,
    executor: Executor | None = None,
) -> tuple[Spread, Vector]:
    """Return scales, and those of the rows themselves when each is left out.

    Parameters
    ----------
    x, p : Rows
        The rows of x, and their forecasts.
    left : array of shape (n, r)
        What the forecasts miss.
    kernels : list of Kernel
        Kernels of x to try, beside one of the forecast.
    weights : array of shape (n,), optional
        The weights of the rows.
    random_state : int, default=0
        The seed of pivots.
    executor : Executor, optional
        How row blocks are worked on.

    Returns
    -------
    tuple of Spread and array of shape (n, r)
        The scales.
    """
    middle = _quantiles(np.abs(left), np.array([0.5]), weights)[0]
    small = np.maximum(_SMALL * middle, np.finfo(float).tiny ** 0.5)
    logs = np.log(left**2 + small**2)
    options = {"max_rank": _RANK, "ridges": _RIDGES, "random_state": random_state}
    options |= {"executor": executor}
    tables = [p] + [x] * len(kernels)
    fits, missed = [], []
    for table, kernel in zip(tables, [near_forecasts(p, weights), *kernels], strict=True):
        fit = fit_kernel(kernel, table, logs, weights, **options)  # type: ignore[arg-type]
        fits.append(fit)
        missed.append(fit.regression.residuals(table, logs, weights, fit.ridge, executor))
    shares = averaged(np.stack(missed), weights)
    logs -= np.einsum("kr,knr->nr", shares, np.stack(missed))
    ends = _quantiles(logs, np.array(_TAILS), weights)
    scales = np.exp(np.clip(logs, *ends) / 2)
    unit = np.sqrt(np.average((left / scales) ** 2, axis=0, weights=weights))
    unit = np.where(unit > 0, unit, 1.0)  # residuals of a constant are zero
    return Spread(fits, shares, ends, unit), unit * scales


def _quantiles(values: Vector, levels: Vector, weights: Vector | None) -> Vector:
    """Return quantiles of columns, between the rows: of weights, those next to a level."""
    if weights is None:
        return np.quantile(values, levels, axis=0)
    found = np.empty((len(levels), values.shape[1]))
    for own, column in zip(found.T, values.T, strict=True):
        order = np.argsort(column, kind="stable")
        w = weights[order]
        middle = np.cumsum(w) - w / 2  # the first row is at zero, the last at one
        at = (middle - middle[0]) / max(middle[-1] - middle[0], np.finfo(float).tiny)
        own[:] = np.interp(levels, at, column[order])
    return found


def blurred(
    p: Vector, missed: Vector, rng: np.random.Generator, weights: Vector | None = None
) -> Vector:
    """Return forecasts of rows left out that do not tell what they miss.

    The mean of all others is the lower, the higher a row: where X says little, or takes few
    values, such forecasts differ by nothing else, and a law given them would know the outcome.
    So much noise is added that, among rows of nearly the same forecast, those that miss more
    are forecast neither higher nor lower.

    Parameters
    ----------
    p : array of shape (n, d)
        The forecasts.
    missed : array of shape (n, d)
        What they miss.
    rng : Generator
        The noise.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    found = p.copy()
    w = np.ones(len(p)) if weights is None else weights
    limit = max(_TOLD, 2.5 / np.sqrt(w.sum() ** 2 / (w @ w)))
    for own, given, left in zip(found.T, p.T, missed.T, strict=True):
        mean = np.average(left, weights=w)
        unit = float(np.sqrt(np.average((left - mean) ** 2, weights=w)))
        noise = rng.normal(size=len(own))
        for size in (0.0, *_BLURS):
            own[:] = given + size * unit * noise
            if _told(own, left, w) < limit:
                break
        else:
            own[:] = np.average(given, weights=w)
    return found


def _told(p: Vector, missed: Vector, w: Vector) -> float:
    """Return the largest mean correlation among rows of nearly the same forecast.

    They may be few or many, up to all rows.
    """
    order, n, found = np.argsort(p, kind="stable"), len(p), 0.0
    width = n
    while width >= min(_WINDOW, n):
        rows = order[: n // width * width].reshape(-1, width)
        own = w[rows]
        total = own.sum(axis=1, keepdims=True)

        both = p[rows], missed[rows]
        a, b = (z - (own * z).sum(axis=1, keepdims=True) / total for z in both)
        size = np.sqrt((own * a * a).sum(axis=1) * (own * b * b).sum(axis=1))
        cross = (own * a * b).sum(axis=1)
        each = np.divide(cross, size, out=np.zeros_like(size), where=size > 0)
        found = max(found, abs(float(np.average(each, weights=total[:, 0]))))
        width //= 2
    return found


def near_forecasts(p: Rows, weights: Vector | None) -> Kernel:
    """Return a kernel of forecasts.

    Parameters
    ----------
    p : Rows
        The forecasts.
    weights : array of shape (n,), optional
        Their weights.
    """
    encoding, rng = Encoding((None,) * p.d), np.random.default_rng(0)
    return family_of("x", "auto", encoding, p, weights=weights, rng=rng).at(_NARROW)
