"""Limited-memory BFGS for smooth convex functions, with few evaluations."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from jointdist._array import Vector

__all__ = ["Descent", "lbfgs"]

Inverse: TypeAlias = Callable[[Vector], Vector]
Function: TypeAlias = Callable[[Vector], tuple[float, Vector, Inverse | None]]

_PAIRS = 20  # steps that are remembered; more gain nothing on trials (10 cost 10 % more)
_ARMIJO = 1e-4  # the share of the promised decrease that a step must keep
_SHORTEST = (
    1e-12  # the shortest step, relative to the first: below it, only rounding is left
)
_ROUNDING = 1e-13  # of the value
_LEAST = 1e-20  # a decrease that a mean of logarithms cannot show, also where it is zero
_WINDOW = 4  # steps whose decrease is compared with that of as many steps before


class Descent(NamedTuple):
    """Where a descent ended.

    Attributes
    ----------
    at : array of shape (v,)
        The point.
    value : float
        The value there.
    slope : array of shape (v,)
        The gradient there.
    decrement : float
        The decrease that is still expected.
    evaluations : int
        The number of evaluations.
    converged : bool
        Whether that is below the tolerance.
    """

    at: Vector
    value: float
    slope: Vector
    decrement: float
    evaluations: int
    converged: bool


def lbfgs(
    f: Function, start: Vector, *, tol: float, most: int, zero: float | None = None
) -> Descent:
    """Minimise a smooth convex function.

    Each step is that of a quadratic model, learned from the last 20 steps, and is shortened
    until the value falls. Where nothing was learned, the inverse of the second derivatives is
    a multiple of what the function says, and without that of the identity. It ends when less
    than ``tol`` times the gain so far is expected: by the model, and by the last steps, whose
    decreases are continued as a geometric series. The model alone expects too little, as it
    knows nothing of directions that it has not seen.

    Parameters
    ----------
    f : callable
        From a point to the value, the gradient, and a function that multiplies a vector with
        nearly the inverse of the second derivatives: None for the last one again.
    start : array of shape (v,)
        Where to start.
    tol : float
        The share of the gain that may be missing.
    most : int
        The most evaluations.
    zero : float, optional
        The value from which gains are counted; by default that at the start.
    """
    at, evaluations = start, 1
    value, slope, inverse = f(at)
    inverse = inverse or np.copy
    zero = value if zero is None else max(zero, value)
    pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=_PAIRS)
    values = [value]
    while True:
        step = _step(slope, pairs, inverse)
        promise = -float(slope @ step) / 2
        missing = max(promise, _remaining(values))
        enough = missing <= tol * max(zero - value + promise, 0.0)
        rounding = max(_ROUNDING * abs(value), _LEAST)
        done = enough or promise <= rounding
        if done or evaluations >= most or not np.isfinite(promise):
            return Descent(at, value, slope, missing, evaluations, done)
        length = 1.0
        while True:
            new = at + length * step
            found, bend, other = f(new)
            evaluations += 1
            expected = value - 2 * _ARMIJO * length * promise
            if found <= expected + _ROUNDING * abs(value) or evaluations >= most:
                break
            if length < _SHORTEST:
                return Descent(at, value, slope, promise, evaluations, converged=False)
            length = _shortened(length, value, promise, found)
        if not found < value:  # no evaluation was left to shorten the step
            return Descent(at, value, slope, promise, evaluations, converged=False)
        moved, turned = new - at, bend - slope
        curvature = float(moved @ turned)
        if curvature > 0:
            pairs.append((moved, turned, 1 / curvature))
        at, value, slope, inverse = new, found, bend, other or inverse
        values.append(value)


def _remaining(values: list[float]) -> float:
    """Return the decrease to come if values go on falling at their last rate.

    It is Aitken's extrapolation over a few steps, since single ones are uneven.
    """
    w = min(_WINDOW, (len(values) - 1) // 3)
    if w == 0:  # too few to tell: as much as in the last step
        return values[-2] - values[-1] if len(values) > 1 else 0.0
    before, last = values[-1 - 2 * w] - values[-1 - w], values[-1 - w] - values[-1]
    return last * last / (before - last) if last < before else np.inf


def _shortened(length: float, value: float, promise: float, found: float) -> float:
    """Return the length where the parabola through what is known has its least value."""
    if not np.isfinite(found):
        return length / 10
    bend = found - value + 2 * length * promise
    return float(np.clip(length * length * promise / bend, 0.1 * length, 0.5 * length))


def _step(
    slope: Vector, pairs: deque[tuple[Vector, Vector, float]], multiplied: Inverse
) -> Vector:
    """Return minus the gradient times the inverse of the learned second derivatives."""
    step, shares = -slope, []
    for moved, turned, inverse in reversed(pairs):
        share = inverse * float(moved @ step)
        step -= share * turned
        shares.append(share)
    step = multiplied(step)
    if pairs:
        moved, turned, inverse = pairs[-1]
        step *= 1 / (inverse * float(turned @ multiplied(turned)))
    for (moved, turned, inverse), share in zip(pairs, reversed(shares), strict=True):
        step += (share - inverse * float(turned @ step)) * moved
    return step
