r"""The two-dimensional dual of the tightened program, on a few flat arrays.

With multipliers :math:`\mu` and :math:`\nu \ge 0` each coefficient is a shifted soft
threshold of :math:`r = b - \mu e`,

.. math:: h = \frac{(r + \nu \underline C)^+ - (r + \nu \overline C)^-}{a},

and :math:`\varphi(\mu, \nu) = \frac12 \sum a h^2 + \nu` is convex, with a continuous and
piecewise linear gradient. All evaluations are relative to a base point, where
:math:`r + \nu C` was rounded once: near the solution the coefficients are then exact even
where :math:`a` is tiny and the terms cancel.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector

__all__ = ["DualAround", "DualValue", "Point", "Terms", "coefficients", "threshold"]

_BLOCK = 1 << 13  # elements of a block: temporaries of 64 KiB stay in cache
_SORTED = 1 << 16  # elements beyond which Newton steps from zero are faster than a sort


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


class DualValue(NamedTuple):
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
        """The larger residual of the two constraints, each relative to its terms."""
        of_e, of_c = self.ge / max(1.0, self.size_e), self.gc / self.size_c
        return max(abs(of_e), abs(of_c))


class DualAround:
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

    def __call__(self, mu: float, nu: float) -> DualValue:
        """Return the dual at a distance from the base point."""
        sums = np.zeros(8)
        for start in range(0, len(self.low), _BLOCK):
            sums += self._block(mu, nu, slice(start, start + _BLOCK))
        half, ge, gc, ee, ec, cc, size_e, size_c = sums.tolist()
        value = 0.5 * half + nu
        return DualValue(mu, nu, value, ge, 1 + gc, ee, ec, cc, size_e, 1 + size_c)

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
        """Return the coefficients at a distance from the base point."""
        low, high = self.shifted(mu, nu, slice(None))
        h = np.maximum(low, 0)
        h += np.minimum(high, 0)  # at most one of them is not zero
        h *= self.terms.weight
        return h


def coefficients(terms: Terms, mu: float, nu: float) -> Vector:
    """Return the coefficients at given multipliers."""
    return DualAround(terms, mu, nu).h(0.0, 0.0)


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
