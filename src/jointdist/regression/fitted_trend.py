r"""Trends: what forecasts of the location follow where rows are few or none.

A trend is linear in the columns of numbers. Along columns in which rows held out at the ends did
not follow it, it stays as it is at the ends of the rows seen.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.lowrank.features import FeatureMap
from jointdist.regression.settings import SETTINGS

__all__ = ["LinearTrend", "Sparsity"]


@dataclass(frozen=True, eq=False)
class Sparsity:
    r"""How little rows near a point can say about it, from zero to one.

    It is the share of the variance of a Gaussian process that remains at a point, given all
    rows with a noise of some rows: about :math:`\rho / (\rho + k)` if there are :math:`k` rows
    within a length scale.

    Attributes
    ----------
    map : FeatureMap
        The features at landmarks.
    remaining : array of shape (m, m)
        :math:`\rho (G + \rho I)^{-1}` for the sums of products :math:`G` of the features.
    low, high : float
        The sparsity from which on forecasts follow a trend, and that from which they do so
        alone.
    """

    map: FeatureMap
    remaining: Vector
    low: float
    high: float

    def at(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the sparsity at rows, ``(q,)``.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            Runs the row blocks.
        """

        def block(_start: int, z: Array) -> Vector:
            phi = self.map.features(z)
            missed = np.clip(to_numpy(self.map.novelty(phi, z)), 0.0, 1.0)
            F = to_numpy(phi)
            whole = np.einsum("ij,ij->i", F, F) / np.maximum(
                1 - missed, SETTINGS.tiny_share
            )
            left = np.einsum("ij,ij->i", F @ self.remaining, F)
            found: Vector = missed + left / np.maximum(whole, SETTINGS.tiny_share)
            return np.clip(found, 0.0, 1.0)

        return np.concatenate(list(executor_for(x, executor).map(block, x)))

    def doubt(self, sparsity: Vector) -> Vector:
        """Return by how much forecasts follow the trend: zero where rows are enough.

        Parameters
        ----------
        sparsity : array of shape (q,)
            The sparsity of rows.
        """
        found: Vector = np.clip((sparsity - self.low) / (self.high - self.low), 0.0, 1.0)
        return found


@dataclass(frozen=True, eq=False)
class LinearTrend:
    """A linear trend of outcomes in the numbers of X.

    Attributes
    ----------
    columns : array of int, of shape (p,)
        The columns.
    centre : array of shape (p,)
        Their means.
    slopes : array of shape (p, r)
        The slopes of each outcome.
    mean : array of shape (r,)
        The outcomes at the means.
    ends : array of shape (2, p)
        Between what the columns are taken; infinite where the trend goes on.
    seen : array of shape (2, p)
        The range of the rows seen.
    error : array of shape (r,)
        The mean squared error at rows held out at the ends of columns.
    sparsity : Sparsity, optional
        Tells where rows are few; None if forecasts follow the trend out of distribution alone.
    """

    columns: Index
    centre: Vector
    slopes: Vector
    mean: Vector
    ends: Vector
    seen: Vector
    error: Vector
    sparsity: Sparsity | None

    def at(self, x: Rows) -> Vector:
        """Return the trend at rows, ``(q, r)``."""
        found: Vector = (
            self.mean + (np.clip(self._read(x), *self.ends) - self.centre) @ self.slopes
        )
        return found

    def doubt(self, x: Rows, novel: Vector, executor: Executor | None = None) -> Vector:
        """Return by how much forecasts follow the trend, from zero to one, ``(q,)``.

        Parameters
        ----------
        x : Rows
            The rows.
        novel : array of shape (q,)
            By how much they are out of distribution.
        executor : Executor, optional
            Runs the row blocks.
        """
        if self.sparsity is None:
            return novel
        return np.maximum(novel, self.sparsity.doubt(self.sparsity.at(x, executor)))

    def unknown(self, x: Rows, known: Vector) -> Vector:
        """Return what is added to known variances where forecasts follow the trend, ``(q, r)``.

        The mean squared error beyond them, and the whole of it again for each range of the
        rows seen, squared, that a row is beyond them.

        Parameters
        ----------
        x : Rows
            The rows.
        known : array of shape (q, r)
            The variances of outcomes, but for errors of the location.
        """
        z = self._read(x)
        width = self.seen[1] - self.seen[0]
        away = np.abs(z - np.clip(z, *self.seen)) / np.where(width > 0, width, 1.0)
        farther = (away**2).sum(axis=1, keepdims=True)
        found: Vector = np.maximum(self.error - known, 0.0) + self.error * farther
        return found

    def _read(self, x: Rows) -> Vector:
        z: Vector = to_numpy(x.read(0, x.n))[:, self.columns]
        return z
