r"""The probability law nearest to a signed one, by two projections.

*Information projection*: among all weights on cells the ones of least divergence to those of
the sample whose features have given means, up to a ridge. They are a tilt,
:math:`w_k \propto p_k e^{\theta \cdot u_k}` with

.. math:: \theta = \arg\min_\theta\; \log \sum_k p_k e^{\theta \cdot u_k} - \theta \cdot t
    + \tfrac12 \sum_i \delta_i \theta_i^2,

positive, of sum one, and smooth in :math:`t`. *Isotonic projection*, in one dimension: the cdf
nearest to a signed one in :math:`L^2`. A step at any outcome is a cdf, and these are a convex
set, so that the CRPS, a squared distance to the step, does not rise at any outcome.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

__all__ = ["Exponential", "Tilts", "isotonic"]

Vector = NDArray[np.float64]

_STEPS = 50  # of Newton's method with one ridge
_RAISED = 10.0  # the ridge of laws that did not converge
_RAISES = 3  # times that it is
_GRADIENT = 1e-9  # at which a law has converged
_SLOPE = 1e-4  # the share of the decrease promised by the slope that is asked for
_SHORTER = 0.4  # a step that failed
_NEAR = 1e-8  # a solution: values are but rounding there, and a whole step is taken
_SHORTENED = 30  # times at most
_TOGETHER = 256  # cdfs that are projected in one go


class Tilts(NamedTuple):
    r"""Tilts, and how they were found.

    Attributes
    ----------
    theta : array of shape (q, m)
        The tilts :math:`\theta`.
    raised : array of shape (q,)
        By what the ridge was multiplied to find each; infinite if the law is that of the
        sample, as none was found.
    steps : array of shape (q,)
        The steps of Newton's method.
    """

    theta: Vector
    raised: Vector
    steps: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Exponential:
    r"""Laws on cells that are tilts of a given one.

    Attributes
    ----------
    features : array of shape (K, m)
        The features :math:`u_k` of the cells, of mean zero.
    shares : array of shape (K,)
        The weights :math:`p_k` of the cells, positive and of sum one.
    ridge : array of shape (m,)
        The ridges :math:`\delta_i`, positive.
    """

    features: Vector
    shares: Vector
    ridge: Vector

    def __post_init__(self) -> None:
        m = self.features.shape[1]
        rows, columns = np.triu_indices(m)
        place = np.zeros((m, m), dtype=np.intp)
        place[rows, columns] = place[columns, rows] = np.arange(len(rows))
        products = self.features[:, rows] * self.features[:, columns]
        object.__setattr__(self, "_products", products)
        object.__setattr__(self, "_place", place)
        object.__setattr__(self, "_logs", np.log(self.shares))

    _products: Vector = None  # type: ignore[assignment]  # of two features, upper triangle
    _place: NDArray[np.intp] = None  # type: ignore[assignment]
    _logs: Vector = None  # type: ignore[assignment]

    def weights(self, theta: Vector) -> Vector:
        """Return the weights of the cells, ``(q, K)``; each row has sum one."""
        return self._tilted(theta)[1]

    def solve(self, t: Vector) -> Tilts:
        """Return the tilts whose features have given means, up to the ridge.

        The ridge of laws that do not converge is raised; at last they are the sample's.

        Parameters
        ----------
        t : array of shape (q, m)
            The means :math:`t`.
        """
        theta, raised = np.zeros_like(t), np.full(len(t), np.inf)
        steps, left, factor = np.zeros(len(t), dtype=np.intp), np.arange(len(t)), 1.0
        for _ in range(1 + _RAISES):
            found, good, taken = self._newton(t[left], factor * self.ridge)
            steps[left] += taken
            theta[left[good]], raised[left[good]] = found[good], factor
            left, factor = left[~good], factor * _RAISED
            if not left.size:
                break
        return Tilts(theta, raised, steps)

    def _newton(
        self, t: Vector, ridge: Vector
    ) -> tuple[Vector, NDArray[np.bool_], NDArray[np.intp]]:
        """Return tilts, whether they converged, and the steps that they took.

        The first step is free: at no tilt the Hessian is the covariance of the features
        over the sample, which is one but for what cells leave out, plus the ridge.
        """
        theta = t / (1 + ridge)
        good, steps = np.zeros(len(t), dtype=bool), np.ones(len(t), dtype=np.intp)
        active = np.arange(len(t))
        log_sum, w = self._tilted(theta)
        value = self._value(theta, log_sum, t, ridge)
        for _ in range(_STEPS):
            own = theta[active]
            mean = w @ self.features
            slope = mean - t[active] + ridge * own
            done = np.abs(slope).max(axis=1, initial=0.0) < _GRADIENT
            good[active[done]] = True
            if done.all():
                break
            keep = ~done
            active, own, mean, slope = active[keep], own[keep], mean[keep], slope[keep]
            w, value = w[keep], value[keep]
            step = -self._solved(w, mean, slope, ridge)
            descent = np.einsum("qm,qm->q", slope, step)
            own, w, value = self._searched((own, value), step, descent, t[active], ridge)
            theta[active] = own
            steps[active] += 1
        return theta, good & np.isfinite(theta).all(axis=1), steps

    def _solved(self, w: Vector, mean: Vector, slope: Vector, ridge: Vector) -> Vector:
        """Return the inverse of the Hessian, that of a law's covariance, times the slope."""
        hessian = (w @ self._products)[:, self._place]
        hessian -= mean[:, :, None] * mean[:, None, :]
        m = len(ridge)
        hessian[:, np.arange(m), np.arange(m)] += ridge
        found = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
        return found.astype(np.float64, copy=False)

    def _searched(
        self,
        start: tuple[Vector, Vector],
        step: Vector,
        descent: Vector,
        t: Vector,
        ridge: Vector,
    ) -> tuple[Vector, Vector, Vector]:
        """Go along steps so far that the values fall enough; return where that led."""
        theta, value = start
        length, new = np.ones(len(theta)), theta + step
        log_sum, w = self._tilted(new)
        found = self._value(new, log_sum, t, ridge)
        near = descent > -_NEAR
        for _ in range(_SHORTENED):
            short = ~(near | (found <= value + _SLOPE * length * descent))
            if not short.any():
                break
            length[short] *= _SHORTER
            new[short] = theta[short] + length[short, None] * step[short]
            log_sum, w[short] = self._tilted(new[short])
            found[short] = self._value(new[short], log_sum, t[short], ridge)
        return new, w, found

    def _tilted(self, theta: Vector) -> tuple[Vector, Vector]:
        """Return the logarithms of the sums, and the weights."""
        w = theta @ self.features.T
        w += self._logs
        top = w.max(axis=1)
        w -= top[:, None]
        np.exp(w, out=w)
        total = w.sum(axis=1)
        w /= total[:, None]
        return top + np.log(total), w

    def _value(self, theta: Vector, log_sum: Vector, t: Vector, ridge: Vector) -> Vector:
        found: Vector = log_sum + ((ridge / 2 * theta - t) * theta).sum(axis=1)
        return found


def isotonic(weights: Vector, points: Vector) -> Vector:
    """Return the weights of the cdfs nearest to those of signed laws.

    Parameters
    ----------
    weights : array of shape (q, K)
        The weights of the atoms; each row has sum one.
    points : array of shape (K,)
        The atoms, rising.

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
        own = slice(start, min(start + _TOGETHER, q))
        cdf = np.cumsum(weights[own, :-1], axis=1)
        low, high = cdf.min(axis=1), cdf.max(axis=1)
        above = np.cumsum(np.append(0.0, high[:-1] - low[1:] + 1))[:, None]
        cdf += above  # in a row, each above all before it
        cdf = isotonic_regression(cdf.ravel(), weights=gaps[: cdf.size]).x.reshape(
            cdf.shape
        )
        cdf -= above
        np.clip(cdf, 0.0, 1.0, out=cdf)
        part = found[own]
        part[:, 0], part[:, -1] = cdf[:, 0], 1 - cdf[:, -1]
        np.subtract(cdf[:, 1:], cdf[:, :-1], out=part[:, 1:-1])
    return np.maximum(found, 0.0, out=found)
