"""A smooth density of the sample, for the densities of laws.

The density of a signed law is :math:`p(y) (1 + h(x, y)) / mass` with a smoothed marginal
density :math:`p`: a Gaussian at each atom, as wide as Silverman's rule says.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.distributions.support_points import Atoms

__all__ = ["Smoothed", "smoothed", "width_of"]

_MANY = 8192  # atoms of which each gets its own Gaussian
_CELLS = 50  # in the width of a Gaussian, where atoms are put together
_BLOCK = 256  # points at a time
_WIDTHS = 10.0  # beyond which a Gaussian is at most exp(-50)
_FAR = 1e-11  # and does not matter beside this


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """A mixture of Gaussians with independent columns.

    Attributes
    ----------
    centres : array of shape (k, d)
        The centres, in the order of the first column.
    shares : array of shape (k,)
        Their weights; the sum is one.
    widths : array of shape (d,)
        The standard deviations.
    """

    centres: Vector
    shares: Vector
    widths: Vector

    def at(self, points: Vector) -> Vector:
        """Return the density at points, of shape ``(k, d)``."""
        found = np.zeros(len(points))
        order = np.argsort(points[:, 0])
        for start in range(0, len(points), _BLOCK):
            own = order[start : start + _BLOCK]
            found[own] = self._sums(points[own], _near(self, points[own[[0, -1]], 0]))
        far = np.flatnonzero(found < _FAR)
        for start in range(0, len(far), _BLOCK):
            own = far[start : start + _BLOCK]
            found[own] = self._sums(points[own], slice(None))
        found /= self._unit
        return found

    def around(self, centres: Vector, points: Vector) -> Vector:
        """Return the density at points of a Gaussian around each centre, ``(k, c)``."""
        return self._bells(points, centres) / self._unit

    @property
    def _unit(self) -> float:
        return float(np.prod(np.sqrt(2 * np.pi) * self.widths))

    def _sums(self, points: Vector, some: slice) -> Vector:
        sums: Vector = self._bells(points, self.centres[some]) @ self.shares[some]
        return sums

    def _bells(self, points: Vector, centres: Vector) -> Vector:
        away = np.zeros((len(points), len(centres)))
        for z, centre, width in zip(points.T, centres.T, self.widths, strict=True):
            away += ((z[:, None] - centre) / width) ** 2
        away *= -0.5
        return np.exp(away, out=away)


def width_of(spread: Vector, size: Vector, d: int) -> Vector:
    """Return how far Gaussians reach by Silverman's rule: for one column, or several.

    Parameters
    ----------
    spread : array of shape (..., d)
        The standard deviations of columns.
    size : array of shape (..., 1), or number
        How many atoms there are.
    d : int
        The number of columns.
    """
    found: Vector
    if d == 1:
        found = 0.9 * spread * size ** (-1 / 5)
    else:
        found = spread * (size * (d + 2) / 4) ** (-1 / (d + 4))
    return found


def _near(density: Smoothed, ends: Vector) -> slice:
    """Return the centres that matter between two values of the first column."""
    reach = _WIDTHS * density.widths[0]
    first, last = np.searchsorted(density.centres[:, 0], [ends[0] - reach, ends[1] + reach])
    return slice(int(first), int(last))


def smoothed(atoms: Atoms) -> Smoothed:
    """Return the smoothed density of the atoms of columns of numbers.

    Of more than 8,192 atoms, those of one column are put together in cells of a fiftieth
    of a Gaussian's width; of several columns, 8,192 are chosen at random.

    Parameters
    ----------
    atoms : Atoms
        The atoms; not discrete.
    """
    z, w, d = to_numpy(atoms.rows.read(0, atoms.n)), atoms.shares, atoms.width
    size = 1 / float(np.sum(w * w))
    centre = w @ z
    spread = np.sqrt(w @ (z - centre) ** 2)
    spread = np.minimum(spread, [_quartiles_apart(column, w) / 1.349 for column in z.T])
    widths = width_of(spread, np.array(size), d)
    if atoms.n > _MANY and d == 1:
        z, w = _in_cells(z[:, 0], w, widths[0] / _CELLS)
    elif atoms.n > _MANY:
        chosen = np.random.default_rng(0).choice(atoms.n, _MANY, p=w)
        z, w = z[chosen], np.full(_MANY, 1 / _MANY)
    order = np.argsort(z[:, 0], kind="stable")
    return Smoothed(z[order], w[order], widths)


def _quartiles_apart(z: Vector, w: Vector) -> float:
    """Return the interquartile range, or the range without the ends if that is zero."""
    order = np.argsort(z)
    reached = np.cumsum(w[order])
    for tail in (0.25, 0.05, 0.0):
        low, high = np.searchsorted(reached, np.array([tail, 1 - tail]) - 1e-12)
        apart = float(z[order[min(high, len(z) - 1)]] - z[order[low]])
        if apart > 0:
            return apart
    return float("inf")


def _in_cells(z: Vector, w: Vector, width: float) -> tuple[Vector, Vector]:
    """Return the means and weights of the atoms in cells of equal width."""
    cell = np.unique(np.floor(z / width), return_inverse=True)[1]
    weight: Vector = np.bincount(cell, w).astype(np.float64)
    kept = weight > 0
    centres = np.bincount(cell, w * z)[kept] / weight[kept]
    return centres[:, None], weight[kept]
