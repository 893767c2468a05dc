"""Densities of laws on cells: the law itself, smoothed as widely as it says.

Each cell becomes a Gaussian with the mean of its atoms. Its variance is theirs and that of a
smoothing, by Silverman's rule of the spread and the effective size of the law: a narrow law has
a narrow density, wherever it is, and each integrates to one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jointdist._array import Vector
from jointdist.distributions.kde import width_of
from jointdist.distributions.signed import Laws
from jointdist.projection.cells import CellSupport

__all__ = ["CellLaws"]

_QUARTILES = 1.349  # of a normal law, apart, in standard deviations
_NARROW = 1e-3  # the least width, beside that of the sample's density
_CANDIDATES = 32  # cells that may be the mode
_WORKED = 1 << 20  # numbers that are worked on at a time


class _Part(NamedTuple):
    """Some laws: which, the weights of cells, and the squares of their widths."""

    own: slice
    weights: Vector
    squares: Vector


@dataclass(frozen=True, eq=False)
class CellLaws(Laws):
    """Laws on cells, with weights that are not negative."""

    support: CellSupport

    def variances(self) -> Vector:
        """Return the variances of columns, which rounding may not make negative."""
        return np.maximum(super().variances(), 0.0)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities at points ``(k, d)``, paired or all, or their logarithms."""
        if paired:
            return self.densities(points[:, None, :], log=log)[:, 0]
        every = np.broadcast_to(points, (self.queries.n, *points.shape))
        return self.densities(every, log=log)

    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities at points of each law, ``(q, k, d)``, as ``(q, k)``."""
        found = np.empty(points.shape[:2])
        step = max(_WORKED // self.support.atoms.rank, 1)
        for part in self._parts():
            dists = zip(found[part.own], points[part.own], *part[1:], strict=True)
            for row, at, w, square in dists:
                for start in range(0, len(at), step):
                    some = slice(start, start + step)
                    row[some] = self._heights(at[some], w, square, log=log)
        return found

    def modes(self) -> Vector:
        """Return the atoms next to where densities are highest, ``(q, d)``."""
        if self.atoms.discrete:
            return super().modes()
        cells = self.support.atoms
        heights = self.support.density.at(cells.centres) / cells.mean
        most = min(_CANDIDATES, cells.rank)
        found = []
        for part in self._parts():
            likely = np.argpartition(-part.weights * heights, most - 1)[:, :most]
            for which, w, square in zip(likely, *part[1:], strict=True):
                best = self._heights(cells.centres[which], w, square, log=True).argmax()
                found.append(which[best])
        return self.picked(self.support.amid[np.array(found, dtype=np.intp)])

    def _parts(self) -> Iterator[_Part]:
        """Yield some laws at a time."""
        shares, squares, start = self.support.atoms.mean, self._widths() ** 2, 0
        for t in self.queries.parts():
            own = slice(start, start + len(t))
            yield _Part(own, (1 + t) * shares, squares[own])
            start += len(t)

    def _heights(self, points: Vector, w: Vector, square: Vector, *, log: bool) -> Vector:
        """Return the density of a law at points, smoothed so much, or its logarithm."""
        bells = self._bells(points, square)
        found: Vector
        if not log:
            found = np.exp(bells, out=bells) @ w
            return found
        with np.errstate(divide="ignore"):  # of no weight, and at infinity
            bells += np.log(w)
            top = bells.max(axis=1)
            top = np.where(np.isfinite(top), top, 0.0)
            found = np.log(np.exp(bells - top[:, None]).sum(axis=1)) + top
        return found

    def _bells(self, points: Vector, square: Vector) -> Vector:
        """Return the logarithms of densities of cells at points, ``(k, K)``."""
        cells = self.support.atoms
        away, unit = np.zeros((len(points), cells.rank)), np.zeros(cells.rank)
        columns = zip(points.T, cells.centres.T, cells.spreads.T, square, strict=True)
        for z, centre, spread, own in columns:
            both = own + spread
            away += (z[:, None] - centre) ** 2 / both
            unit += np.log(2 * np.pi * both)
        away += unit
        away *= -0.5
        return away

    def _widths(self) -> Vector:
        """Return how widely the atoms of each law are smoothed, ``(q, d)``."""
        low, high = np.moveaxis(self.quantile(np.array([0.25, 0.75])), 1, 0)
        apart, spread = (high - low) / _QUARTILES, np.sqrt(self.variances())
        spread = np.where(apart > 0, np.minimum(apart, spread), spread)
        least = _NARROW * self.support.density.widths
        size = self.effective_size()[:, None]
        return np.maximum(width_of(spread, size, self.atoms.width), least)
