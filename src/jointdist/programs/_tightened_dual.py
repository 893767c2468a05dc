r"""The two-dimensional dual of the tightened program, on a few flat arrays.

With multipliers :math:`\mu` and :math:`\nu \ge 0` each coefficient is a shifted soft
threshold of :math:`r = b - \mu e`,

.. math:: h = \frac{(r + \nu \underline C)^+ - (r + \nu \overline C)^-}{a},

and :math:`\varphi(\mu, \nu) = \frac12 \sum a h^2 + \nu` is convex, with a continuous and
piecewise linear gradient. It is minimised by Newton's method. All evaluations are
relative to a base point, where :math:`r + \nu C` was rounded once: near the solution the
coefficients then are exact even where :math:`a` is tiny and the terms cancel.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector

__all__ = ["Point", "Terms", "coefficients", "minimise_dual", "threshold"]

_BLOCK = 1 << 13  # elements whose temporaries stay in cache; too few for BLAS threads
_SORTED = 1 << 16  # elements beyond which steps from zero are faster than a sort
_SMALL = 1e-14  # residual at which Newton's method stops
_ENOUGH = 1e-12  # residual at which nothing else is tried


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The data of some coefficients: ``weight`` is 1 / a, ``e`` is None without it."""

    b: Vector
    weight: Vector
    e: Vector | None
    lower: Vector
    upper: Vector


class Point(NamedTuple):
    """A pair of multipliers with the residuals of both constraints there."""

    mu: float
    nu: float
    residual: float = math.inf
    iterations: int = 0


class _Sums(NamedTuple):
    """The dual and its first two derivatives at a distance (mu, nu) from the base."""

    mu: float
    nu: float
    value: float
    ge: float  # <e, h>
    gc: float  # 1 + sum of min(lower h, upper h)
    ee: float
    ec: float
    cc: float
    size_e: float
    size_c: float

    @property
    def residual(self) -> float:
        of_e, of_c = self.ge / max(1.0, self.size_e), self.gc / self.size_c
        return max(abs(of_e), abs(of_c))


class _Base:
    """The dual of some terms around a base point."""

    def __init__(self, terms: Terms, mu: float, nu: float) -> None:
        r = terms.b if terms.e is None else terms.b - mu * terms.e
        self.terms, self.mu, self.nu = terms, mu, nu
        self.low, self.high = r + nu * terms.lower, r + nu * terms.upper

    def shifted(self, mu: float, nu: float, part: slice) -> tuple[Vector, Vector]:
        """Return :math:`(b - mu e + nu C)` for both bounds C."""
        if mu == nu == 0:
            return self.low[part], self.high[part]
        low, high = nu * self.terms.lower[part], nu * self.terms.upper[part]
        low += self.low[part]
        high += self.high[part]
        if self.terms.e is not None and mu != 0:
            shift = mu * self.terms.e[part]
            low -= shift
            high -= shift
        return low, high

    def __call__(self, mu: float, nu: float) -> _Sums:
        sums = np.zeros(8)
        for start in range(0, len(self.low), _BLOCK):
            sums += self._block(mu, nu, slice(start, start + _BLOCK))
        half, ge, gc, ee, ec, cc, size_e, size_c = sums.tolist()
        value = 0.5 * half + nu
        return _Sums(mu, nu, value, ge, 1 + gc, ee, ec, cc, size_e, 1 + size_c)

    def _block(self, mu: float, nu: float, part: slice) -> Vector:
        low, high = self.shifted(mu, nu, part)
        positive, negative = np.flatnonzero(low > 0), np.flatnonzero(high < 0)
        sums = self._active(low, self.terms.lower[part], positive, part)
        return sums + self._active(high, self.terms.upper[part], negative, part)

    def _active(
        self, z: Vector, t: Vector, places: NDArray[np.intp], part: slice
    ) -> Vector:
        """Return the sums over the coefficients of one sign."""
        sums = np.zeros(8)
        if len(places) == 0:
            return sums
        z, t, w = (x.take(places) for x in (z, t, self.terms.weight[part]))
        h, tw = z * w, t * w
        th = t * h
        sums[0], sums[2], sums[5], sums[7] = z @ h, th.sum(), t @ tw, np.abs(th).sum()
        if self.terms.e is not None:
            e = self.terms.e[part].take(places)
            eh = e * h
            sums[1], sums[3], sums[4], sums[6] = (
                eh.sum(),
                e @ (e * w),
                e @ tw,
                np.abs(eh).sum(),
            )
        return sums

    def h(self, mu: float, nu: float) -> Vector:
        low, high = self.shifted(mu, nu, slice(None))
        h = np.maximum(low, 0)
        h += np.minimum(high, 0)  # at most one of them is not zero
        h *= self.terms.weight
        return h


def coefficients(terms: Terms, mu: float, nu: float) -> Vector:
    """Return the coefficients at given multipliers."""
    return _Base(terms, mu, nu).h(0.0, 0.0)


def threshold(terms: Terms, mu: float) -> float:
    """Return the nu that solves the program for a fixed mu, or zero if that is slow.

    Coefficients whose bounds exclude zero are left out: a start, not a solution.
    """
    if len(terms.b) > _SORTED:
        return 0.0
    r = terms.b if terms.e is None else terms.b - mu * terms.e
    t = np.where(r > 0, terms.lower, terms.upper)
    use = r * t < 0
    r, t, weight = r[use], t[use], terms.weight[use]
    with np.errstate(over="ignore"):  # by a bound that is hardly any: never
        vanish = -r / t
    order = np.argsort(-vanish)  # the nu at which each vanishes, largest first
    r, t, weight = r[order], t[order], weight[order]
    linear, square = np.cumsum(t * r * weight), np.cumsum(t * t * weight)
    vanish = np.append(vanish[order], 0.0)[1:]
    slack = 1 + linear + vanish * square  # at the nu where the next one enters
    below = np.flatnonzero(slack <= 0)
    if len(below) == 0:
        return 0.0
    k = below[0]
    return float((-1 - linear[k]) / square[k])


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
        base = _Base(terms, best.mu, best.nu)
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


def _newton(base: _Base, max_iter: int) -> tuple[_Sums, int]:
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


def _stalled(at: _Sums, new: _Sums) -> bool:
    """Tell whether only rounding was moved; a fresh base will help."""
    mu, nu = abs(new.mu - at.mu), abs(new.nu - at.nu)
    still = mu <= 4e-16 * abs(at.mu) and nu <= 4e-16 * abs(at.nu)
    return still or (at.residual <= _ENOUGH and new.residual > 0.5 * at.residual)


def _at_zero(base: _Base, at: _Sums) -> bool:
    return base.nu + at.nu <= 0 and at.gc > 0


def _settled(base: _Base, at: _Sums) -> bool:
    if _at_zero(base, at):
        return abs(at.ge) <= _SMALL * max(1.0, at.size_e)
    return at.residual <= _SMALL


def _direction(base: _Base, at: _Sums) -> tuple[float, float]:
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


def _line_search(base: _Base, at: _Sums, d_mu: float, d_nu: float) -> _Sums | None:
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


def _nested(base: _Base, max_iter: int) -> tuple[_Sums, int]:
    """Solve for mu within a search for nu; slow, and certain to converge."""
    steps, mu = 0, 0.0

    def at_nu(nu: float) -> tuple[_Sums, float, float, float]:
        nonlocal steps, mu

        def at_mu(mu: float) -> tuple[_Sums, float, float, float]:
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
    f: Callable[[float], tuple[_Sums, float, float, float]],
    x: float,
    low: float,
    scale: float,
    max_iter: int,
) -> _Sums:
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
