"""Newton's method for the two-dimensional dual of the tightened program."""

import math
from collections.abc import Callable

import numpy as np

from jointdist._array import Vector
from jointdist.programs._tightened_dual import DualAround, DualValue, Point, Terms

__all__ = ["minimise_dual"]

_SMALL = 1e-14  # residual at which Newton's method stops: some fifty times the rounding
_ENOUGH = 1e-12  # residual at which no further method is tried


def minimise_dual(
    terms: Terms, mu: float, nu: float, max_iter: int
) -> tuple[Point, Vector]:
    """Minimise the dual from a start, and return the coefficients at the minimum.

    Newton's method from a fresh base until rounding stops it, then one coordinate
    within the other. The better of both counts.
    """
    best, h = Point(mu, nu), np.zeros(len(terms.b))
    iterations = 0
    for search in (_newton, _newton, _newton, _nested, _newton, _newton):
        base = DualAround(terms, best.mu, best.nu)
        found, steps = search(base, max_iter)
        iterations += steps
        if found.residual < best.residual:
            mu, nu = base.mu + found.mu, max(base.nu + found.nu, 0.0)
            best, h = Point(mu, nu, found.residual), base.h(found.mu, found.nu)
            if best.residual <= _SMALL:
                break
        elif best.residual <= _ENOUGH:
            break
    return best._replace(iterations=iterations), h


def _newton(base: DualAround, max_iter: int) -> tuple[DualValue, int]:
    """Take damped Newton steps until the residual is small, or no step makes it so."""
    at = base(0.0, 0.0)
    for i in range(max_iter):
        if _settled(base, at):
            return at._replace(gc=min(at.gc, 0.0)) if _at_zero(base, at) else at, i
        new = _line_search(base, at, *_direction(base, at))
        if new is None or _stalled(at, new):
            return at, i
        at = new
    return at, max_iter


def _stalled(at: DualValue, new: DualValue) -> bool:
    """Tell whether only rounding was moved; a fresh base will help."""
    mu, nu = abs(new.mu - at.mu), abs(new.nu - at.nu)
    still = mu <= 4e-16 * abs(at.mu) and nu <= 4e-16 * abs(at.nu)
    return still or (at.residual <= _ENOUGH and new.residual > 0.5 * at.residual)


def _at_zero(base: DualAround, at: DualValue) -> bool:
    return base.nu + at.nu <= 0 and at.gc > 0


def _settled(base: DualAround, at: DualValue) -> bool:
    if _at_zero(base, at):
        return abs(at.ge) <= _SMALL * max(1.0, at.size_e)
    return at.residual <= _SMALL


def _direction(base: DualAround, at: DualValue) -> tuple[float, float]:
    """Return Newton's direction, with the constraint nu >= 0."""
    d_mu = at.ge / at.ee if at.ee > 0 else 0.0
    if _at_zero(base, at):
        return d_mu, 0.0
    if at.cc <= 0:  # no coefficient meets the constraint: nu is too large
        return d_mu, -0.9 * (base.nu + at.nu)
    ee, cc = at.ee, at.cc
    if ee * cc - at.ec**2 <= 1e-13 * ee * cc:
        ee, cc = ee * (1 + 1e-10), cc * (1 + 1e-10)
    det = ee * cc - at.ec**2
    if det > 0:
        d_mu = (cc * at.ge - at.ec * at.gc) / det
        d_nu = (at.ec * at.ge - ee * at.gc) / det
    else:
        d_nu = -at.gc / cc
    room = base.nu + at.nu
    if room + d_nu < 0:
        if room <= 0:
            return d_mu, -at.gc / cc
        return 0.9 * d_mu * room / -d_nu, -0.9 * room
    return d_mu, d_nu


def _line_search(
    base: DualAround, at: DualValue, d_mu: float, d_nu: float
) -> DualValue | None:
    """Return the point after a step that halves the slope along it, or None.

    The slope is increasing, and jumps where a coefficient with a tiny ``a`` enters: a
    bracket of its root is kept, and cut alternately by the secant and in the middle.
    """
    slope = at.gc * d_nu - at.ge * d_mu
    if not slope < 0 or not math.isfinite(slope):
        return None
    low, high, t = (0.0, slope), (1.0, 0.0), 1.0
    for i in range(60):
        new = base(at.mu + t * d_mu, at.nu + t * d_nu)
        there = new.gc * d_nu - new.ge * d_mu
        if abs(there) <= 0.5 * abs(slope) or (t == 1 and there < 0):
            return new
        low, high = ((t, there), high) if there < 0 else (low, (t, there))
        width = high[0] - low[0]
        share = low[1] / (low[1] - high[1])
        t = low[0] + width * (min(max(share, 1e-3), 0.5) if i % 2 == 0 else 0.5)
        if not low[0] < t < high[0]:
            break
    return None


def _nested(base: DualAround, max_iter: int) -> tuple[DualValue, int]:
    """Solve for mu within a search for nu; slow, and certain to converge."""
    steps, mu = 0, 0.0

    def at_nu(nu: float) -> tuple[DualValue, float, float, float]:
        nonlocal steps, mu

        def at_mu(mu: float) -> tuple[DualValue, float, float, float]:
            nonlocal steps
            steps += 1
            at = base(mu, nu)
            return at, -at.ge, at.ee, _SMALL * max(1.0, at.size_e)

        best = _root(at_mu, mu, -math.inf, abs(base.mu), max_iter)
        mu = best.mu
        slope = best.cc - (best.ec**2 / best.ee if best.ee > 0 else 0.0)
        return best, best.gc, slope, _SMALL * best.size_c

    found = _root(at_nu, 0.0, -base.nu, abs(base.nu), max_iter)
    return found, steps


def _root(
    f: Callable[[float], tuple[DualValue, float, float, float]],
    x: float,
    low: float,
    scale: float,
    max_iter: int,
) -> DualValue:
    """Find the root of an increasing function: Newton's steps kept within a bracket."""
    high, stride = math.inf, max(scale, 1e-300)
    floor = low
    best, least = None, math.inf
    for i in range(max_iter):
        at, value, slope, small = f(x)
        if best is None or abs(value) < least:
            best, least = at, abs(value)
        if abs(value) <= small:
            break
        low, high = (low, x) if value > 0 else (x, high)
        new = x - value / slope if slope > 0 else math.nan
        if not low < new < high or i % 3 == 2:
            if math.isinf(high):
                new, stride = x + stride, 4 * stride
            elif math.isinf(low):
                new, stride = x - stride, 4 * stride
            else:
                new = 0.5 * (low + high)
        if new in {low, high} or (new == x and low > floor):
            break
        x = new
    assert best is not None  # noqa: S101
    return best
