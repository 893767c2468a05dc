r"""The I-projection of the sample onto given means of features.

Of all distributions on cells, it has the least Kullback-Leibler divergence from that of the
sample among those whose features have given means, up to a ridge. It is an exponential tilt,
:math:`w_k \propto p_k e^{\theta \cdot u_k}` with

.. math:: \theta = \arg\min_\theta\; \log \sum_k p_k e^{\theta \cdot u_k} - \theta \cdot t
    + \tfrac12 \sum_i \delta_i \theta_i^2,

so that its weights are positive, of sum one, and smooth in :math:`t`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector

__all__ = ["Exponential", "Tilts"]

# The most steps of Newton's method, which converges quadratically: as good as no limit.
_MAX_STEPS = 50
# Where it does not converge, the ridge is raised by this factor, so many times at most.
_RAISE_FACTOR, _MAX_RAISES = 10.0, 3
# The largest entry of the gradient at convergence: features have variance one.
_GRADIENT = 1e-9
# The line search (Armijo's rule with its usual constant): a step must reach this share of the
# decrease that the slope promises, or else is shortened by the second, so many times at most.
_SUFFICIENT, _SHORTEN, _MAX_SHORTENED = 1e-4, 0.4, 30
# A promised decrease below which values differ by rounding only: whole steps are taken.
_ROUNDING = 1e-8


class Tilts(NamedTuple):
    r"""Exponential tilts, and how they were found.

    Attributes
    ----------
    theta : array of shape (q, m)
        The tilts :math:`\theta`.
    raised : array of shape (q,)
        The factor by which the ridge was raised until Newton's method converged; infinite
        if it never did, and the tilt is zero: the distribution of the sample.
    steps : array of shape (q,)
        The steps of Newton's method.
    """

    theta: Vector
    raised: Vector
    steps: Index


@dataclass(frozen=True, eq=False)
class Exponential:
    r"""The exponential family of tilts of a distribution on cells.

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
    _place: Index = None  # type: ignore[assignment]
    _logs: Vector = None  # type: ignore[assignment]

    def weights(self, theta: Vector) -> Vector:
        """Return the weights of the cells, ``(q, K)``; each row has sum one."""
        return self._tilted(theta)[1]

    def solve(self, t: Vector) -> Tilts:
        """Return the tilts under which the features have given means, up to the ridge.

        Where Newton's method does not converge, the ridge is raised; at last the tilt is zero.

        Parameters
        ----------
        t : array of shape (q, m)
            The means :math:`t`.
        """
        theta, raised = np.zeros_like(t), np.full(len(t), np.inf)
        steps, left, factor = np.zeros(len(t), dtype=np.intp), np.arange(len(t)), 1.0
        for _ in range(1 + _MAX_RAISES):
            found, good, taken = self._newton(t[left], factor * self.ridge)
            steps[left] += taken
            theta[left[good]], raised[left[good]] = found[good], factor
            left, factor = left[~good], factor * _RAISE_FACTOR
            if not left.size:
                break
        return Tilts(theta, raised, steps)

    def _newton(self, t: Vector, ridge: Vector) -> tuple[Vector, NDArray[np.bool_], Index]:
        """Return tilts, whether they converged, and the steps that they took.

        The first step is free: at zero the Hessian is the covariance of the features over
        the sample, which is the identity up to the variance within cells, plus the ridge.
        """
        theta = t / (1 + ridge)
        good, steps = np.zeros(len(t), dtype=bool), np.ones(len(t), dtype=np.intp)
        active = np.arange(len(t))
        log_sum, w = self._tilted(theta)
        value = self._value(theta, log_sum, t, ridge)
        for _ in range(_MAX_STEPS):
            here = theta[active]
            mean = w @ self.features
            slope = mean - t[active] + ridge * here
            done = np.abs(slope).max(axis=1, initial=0.0) < _GRADIENT
            good[active[done]] = True
            if done.all():
                break
            keep = ~done
            active, here, mean, slope = active[keep], here[keep], mean[keep], slope[keep]
            w, value = w[keep], value[keep]
            step = -self._solved(w, mean, slope, ridge)
            descent = np.einsum("qm,qm->q", slope, step)
            here, w, value = self._searched((here, value), step, descent, t[active], ridge)
            theta[active] = here
            steps[active] += 1
        return theta, good & np.isfinite(theta).all(axis=1), steps

    def _solved(self, w: Vector, mean: Vector, slope: Vector, ridge: Vector) -> Vector:
        """Return the inverse of the Hessian, covariance plus ridge, times the slope."""
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
        """Shorten steps until the values fall enough; return the new points."""
        theta, value = start
        length, new = np.ones(len(theta)), theta + step
        log_sum, w = self._tilted(new)
        found = self._value(new, log_sum, t, ridge)
        near = descent > -_ROUNDING
        for _ in range(_MAX_SHORTENED):
            short = ~(near | (found <= value + _SUFFICIENT * length * descent))
            if not short.any():
                break
            length[short] *= _SHORTEN
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
