r"""The I-projection of the sample onto given means of features.

Of all distributions on cells, it has the least Kullback-Leibler divergence from that of the
sample among those whose features have given means, up to a ridge. It is an exponential tilt,
:math:`w_k \propto p_k e^{\theta \cdot u_k}` with

.. math:: \theta = \arg\min_\theta\; \log \sum_k p_k e^{\theta \cdot u_k} - \theta \cdot t
    + \tfrac12 \sum_i \delta_i \theta_i^2,

so that its weights are positive, of sum one, and smooth in :math:`t`.

Many distributions are solved at once, in any array library: rows that have converged leave
those that are worked on, and are put in order at the end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from jointdist._array import (
    Array,
    array_namespace,
    device,
    exp,
    is_numpy_array,
    like,
    to_numpy,
)
from jointdist._cached import Cached, cached

__all__ = ["Exponential", "Tilts"]

# The most steps of Newton's method, which converges quadratically: as good as no limit.
_MAX_STEPS = 50
# Where it does not converge, the ridge is raised by this factor, so many times at most.
_RAISE_FACTOR, _MAX_RAISES = 10.0, 3
# The largest entry of the gradient at convergence: features have variance one.
_GRADIENT = 1e-9
# The line search (Armijo's rule with its usual constant): a step must reach this share of the
# decrease that the slope promises, or else is shortened, by 0.4 up to 30 times.
_SUFFICIENT, _LENGTHS = 1e-4, np.cumprod([1.0] + 30 * [0.4])
# Weights up to which lengths are tried together where an array library queues its work: on an
# H200 this many take about as long as to launch the operations of one try; 2^22 is slower.
_LAUNCH = 1 << 25
# Steps whose Hessian is computed in single precision, in half the time. Distributions of three
# columns take 6 to 11 steps; up to 6 in single precision none took more, from 7 on tilts moved.
_SINGLE_STEPS = 5
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

    theta: Array
    raised: Array
    steps: Array


class _Rows(NamedTuple):
    """Distributions that are worked on: number, means, tilt, objective and weights of each."""

    number: Array
    t: Array
    theta: Array
    value: Array
    w: Array

    def take(self, rows: Array) -> "_Rows":
        return _Rows(*_taken(self, rows))

    def put(self, rows: Array, others: "_Rows") -> "_Rows":
        """Return these with the rows of ascending numbers replaced; they may be overwritten."""
        if is_numpy_array(rows):
            for own, other in zip(self[2:], others[2:], strict=True):
                own[rows] = other
            return self
        xp, count = array_namespace(rows), self.number.shape[0]
        every = xp.arange(count, device=device(rows))
        before, after = (xp.searchsorted(rows, every, side=e) for e in ("left", "right"))
        place = xp.where(before == after, every, count + before)
        both = (xp.concat(each) for each in zip(self, others, strict=True))
        return _Rows(*both).take(place)


# Distributions that took as many steps under the same ridge: their numbers and tilts, the
# factor by which the ridge was raised, and the steps.
_Found: TypeAlias = tuple[Array, Array, float, int]


@dataclass(frozen=True, eq=False)
class Exponential(Cached):
    r"""The exponential family of tilts of a distribution on cells.

    Its arrays, those that it is asked with, and its answers are of one library, on one device.

    Attributes
    ----------
    features : array of shape (K, m)
        The features :math:`u_k` of the cells, of mean zero.
    shares : array of shape (K,)
        The weights :math:`p_k` of the cells, positive and of sum one.
    ridge : array of shape (m,)
        The ridges :math:`\delta_i`, positive.
    """

    features: Array
    shares: Array
    ridge: Array

    def on(self, device_like: Array) -> "Exponential":
        """Return the same family in the library and on the device of another array.

        Parameters
        ----------
        device_like : array
            The other array.
        """
        here = array_namespace(self.features), device(self.features)
        if here == (array_namespace(device_like), device(device_like)):
            return self
        arrays = self.features, self.shares, self.ridge
        return Exponential(*(like(to_numpy(each), device_like) for each in arrays))

    def weights(self, theta: Array) -> Array:
        """Return the weights of the cells, ``(q, K)``; each row has sum one."""
        return self._tilted(theta)[1]

    def solve(self, t: Array, start: Array | None = None) -> Tilts:
        """Return the tilts under which the features have given means, up to the ridge.

        Where Newton's method does not converge, the ridge is raised; at last the tilt is zero.

        Parameters
        ----------
        t : array of shape (q, m)
            The means :math:`t`.
        start : array of shape (q, m), optional
            Tilts to start from, as those of a larger ridge.
        """
        xp = array_namespace(t, self.features)
        found: list[_Found] = []
        left, steps, factor = xp.arange(t.shape[0], device=device(t)), 0, 1.0
        for _ in range(1 + _MAX_RAISES):
            begin = None if start is None or factor > 1 else xp.take(start, left, axis=0)
            parts, left = self._newton(left, xp.take(t, left, axis=0), factor, begin)
            found += [(*part[:3], steps + part[3]) for part in parts]
            steps, factor = steps + 1 + _MAX_STEPS, factor * _RAISE_FACTOR
            if not left.shape[0]:
                break
        zero = xp.zeros((left.shape[0], t.shape[1]), dtype=t.dtype, device=device(t))
        return _in_order([*found, (left, zero, float("inf"), steps)])

    def _newton(
        self, number: Array, t: Array, factor: float, start: Array | None
    ) -> tuple[list[_Found], Array]:
        """Return the tilts that converge, and the numbers of the rows that do not.

        The first step is free: at zero the Hessian is the covariance of the features over
        the sample, which is the identity up to the variance within cells, plus the ridge.
        """
        xp, ridge = array_namespace(t), factor * self.ridge
        found: list[_Found] = []
        theta = t / (1 + ridge) if start is None else start
        log_sum, w = self._tilted(theta)
        rows = _Rows(number, t, theta, _objective(log_sum, theta, t, ridge), w)
        for steps in range(1, 1 + _MAX_STEPS):
            mean = rows.w @ self.features
            slope = mean - rows.t + ridge * rows.theta
            done = xp.all(xp.abs(slope) < _GRADIENT, axis=1)
            (left,) = xp.nonzero(~done)
            if left.shape[0] < done.shape[0]:
                (converged,) = xp.nonzero(done)
                number, theta = _taken((rows.number, rows.theta), converged)
                found.append((number, theta, factor, steps))
                rows, (mean, slope) = rows.take(left), _taken((mean, slope), left)
            if not left.shape[0]:
                break
            products = self._single if steps <= _SINGLE_STEPS else self._products
            step = -self._solved(rows.w, products, mean, slope, ridge)
            rows = self._searched(rows, step, xp.sum(slope * step, axis=1), ridge)
        return found, rows.number

    def _solved(
        self, w: Array, products: Array, mean: Array, slope: Array, ridge: Array
    ) -> Array:
        """Return the inverse of the Hessian, covariance plus ridge, times the slope."""
        xp, m = array_namespace(w), ridge.shape[0]
        second = xp.astype(w, products.dtype, copy=False) @ products.T
        hessian = xp.take(xp.astype(second, w.dtype, copy=False), self._place, axis=1)
        hessian = xp.reshape(hessian, (-1, m, m))
        hessian -= mean[:, :, None] * mean[:, None, :]
        hessian += xp.eye(m, dtype=ridge.dtype, device=device(ridge)) * ridge
        return xp.linalg.solve(hessian, slope[:, :, None])[:, :, 0]

    def _searched(self, start: _Rows, step: Array, descent: Array, ridge: Array) -> _Rows:
        """Shorten steps until the values fall enough; return the new points."""
        xp, tried, together = array_namespace(step), 1, 1
        found, enough = self._tried(start, (step, descent), like(_LENGTHS[:1], step), ridge)
        start = start._replace(w=start.value)  # old weights are not used
        (short,) = xp.nonzero(~enough)
        while short.shape[0] and tried < len(_LENGTHS):
            if not is_numpy_array(step):
                together = max(_LAUNCH // (short.shape[0] * self.shares.shape[0]), 1)
            lengths = like(_LENGTHS[tried : tried + together], step)
            own = _taken((step, descent), short)
            new, enough = self._tried(start.take(short), own, lengths, ridge)
            found = found.put(short, new)
            short, tried = xp.take(short, xp.nonzero(~enough)[0]), tried + together
        return found

    def _tried(
        self, start: _Rows, step: Sequence[Array], lengths: Array, ridge: Array
    ) -> tuple[_Rows, Array]:
        """Return points at the first length of step that suffices, and whether one does."""
        xp, (direction, descent) = array_namespace(lengths), step
        theta = start.theta + lengths[:, None, None] * direction
        count, q, m = theta.shape
        flat = xp.reshape(theta, (count * q, m))
        log_sum, w = self._tilted(flat)
        value = _objective(xp.reshape(log_sum, (count, q)), theta, start.t, ridge)
        falls = value <= start.value + _SUFFICIENT * lengths[:, None] * descent
        enough = falls | ~(descent < -_ROUNDING)  # or it is not a number: then none falls
        if count == 1:
            return start._replace(theta=flat, value=value[0, :], w=w), enough[0, :]
        some = xp.any(enough, axis=0)
        first = xp.where(some, xp.argmax(xp.astype(enough, xp.int8), axis=0), count - 1)
        chosen = first * q + xp.arange(q, device=device(w))
        flat, value, w = _taken((flat, xp.reshape(value, (-1,)), w), chosen)
        return start._replace(theta=flat, value=value, w=w), some

    def _tilted(self, theta: Array) -> tuple[Array, Array]:
        """Return the logarithms of the sums, and the weights."""
        xp = array_namespace(theta, self.features)
        w = theta @ self.features.T
        w += self._logs
        top = xp.max(w, axis=1)
        w -= top[:, None]
        w = exp(w)
        total = xp.sum(w, axis=1)
        w /= total[:, None]
        return top + xp.log(total), w

    @cached
    def _products(self) -> Array:
        """The products of two features, upper triangle, of shape ``(m (m + 1) / 2, K)``."""
        xp, U = array_namespace(self.features), self.features
        first, second = (like(each, U) for each in np.triu_indices(U.shape[1]))
        return xp.take(U.T, first, axis=0) * xp.take(U.T, second, axis=0)

    @cached
    def _single(self) -> Array:
        """The products in single precision."""
        xp = array_namespace(self._products)
        return xp.astype(self._products, xp.float32)

    @cached
    def _place(self) -> Array:
        """Where the entries of a symmetric matrix are in its upper triangle, ``(m * m,)``."""
        m = self.features.shape[1]
        rows, columns = np.triu_indices(m)
        place = np.zeros((m, m), dtype=np.int64)
        place[rows, columns] = place[columns, rows] = np.arange(len(rows))
        return like(place.ravel(), self.features)

    @cached
    def _logs(self) -> Array:
        """The logarithms of the shares."""
        return array_namespace(self.shares).log(self.shares)


def _objective(log_sum: Array, theta: Array, t: Array, ridge: Array) -> Array:
    xp = array_namespace(theta)
    return log_sum + xp.sum((ridge / 2 * theta - t) * theta, axis=-1)


def _taken(arrays: Sequence[Array], rows: Array) -> list[Array]:
    xp = array_namespace(rows)
    return [xp.take(each, rows, axis=0) for each in arrays]


def _in_order(found: list[_Found]) -> Tilts:
    """Return the tilts of all parts, in the order of their numbers."""
    numbers, tilts, *told = zip(*found, strict=True)
    xp, sizes = array_namespace(numbers[0]), [each.shape[0] for each in numbers]
    raised, steps = (like(np.repeat(each, sizes), numbers[0]) for each in told)
    order = xp.argsort(xp.concat(numbers))
    return Tilts(*_taken((xp.concat(tilts), raised, steps), order))
