"""Fitted scales of outcomes: constants, or functions of x and the forecast."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from jointdist._array import Vector
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.regression.kernel_smoother import KernelSmoother

__all__ = ["ConstantScale", "ScaleRegression", "constant_scale"]


@dataclass(frozen=True, eq=False)
class ConstantScale:
    """A scale for each column of outcomes, whatever x is.

    Attributes
    ----------
    value : array of shape (r,)
        The scales.
    """

    value: Vector

    def at(self, x: Rows, p: Rows, executor: Executor | None = None) -> Vector:
        """Return the scales at rows, ``(q, r)``.

        Parameters
        ----------
        x, p : Rows
            The rows of x, and their forecasts.
        executor : Executor, optional
            Runs the row blocks.
        """
        del p, executor
        return np.broadcast_to(self.value, (x.n, len(self.value)))


@dataclass(frozen=True, eq=False)
class ScaleRegression:
    """Scales by regressions of the logarithms of squared residuals.

    Attributes
    ----------
    on_forecast, on_x : KernelSmoother
        The regression on the forecast, and that on x.
    shares : array of shape (2, r)
        Their weights in the average for each column; the sum is one.
    ends : array of shape (2, r)
        The least and the largest logarithm.
    unit : array of shape (r,)
        The factor of the scales with which residuals have standard deviation one.
    """

    on_forecast: KernelSmoother
    on_x: KernelSmoother
    shares: Vector
    ends: Vector
    unit: Vector

    @property
    def value(self) -> Self:
        """The regression itself."""
        return self

    def at(self, x: Rows, p: Rows, executor: Executor | None = None) -> Vector:
        """Return the scales at rows, ``(q, r)``.

        Parameters
        ----------
        x, p : Rows
            The rows of x, and their forecasts.
        executor : Executor, optional
            Runs the row blocks.
        """
        found = [self.on_forecast.predict(p, executor), self.on_x.predict(x, executor)]
        logs = np.einsum("kr,kqr->qr", self.shares, np.stack(found))
        scales: Vector = self.unit * np.exp(np.clip(logs, *self.ends) / 2)
        return scales


def constant_scale(residuals: Vector, weights: Vector | None = None) -> ConstantScale:
    """Return the root mean square of the residuals of each column; one if it is zero.

    Parameters
    ----------
    residuals : array of shape (n, r)
        The out-of-fold residuals.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    s = np.sqrt(np.average(residuals**2, axis=0, weights=weights))
    return ConstantScale(np.where(s > 0, s, 1.0))
