"""Proper distributions: weights on cells of support points, none of which is negative.

The density is a kernel density estimate of the distribution itself. Each cell becomes a
Gaussian at the mean of its points. Its variance is theirs plus that of a bandwidth, by
Silverman's rule for the spread and the effective size of the distribution: a narrow
distribution has a narrow density, wherever it is, and each integrates to one.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kde import mixture_density, silverman_widths, spread_between
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Projection
from jointdist.distributions.quantiles import quantiles
from jointdist.projection.settings import SETTINGS

__all__ = ["ProperDistributions"]

_WORKED = 1 << 20  # distances worked on at a time: 8 MB


class _Part(NamedTuple):
    """Some distributions: which, the weights of cells, and their squared bandwidths."""

    which: slice
    weights: Vector
    squares: Vector


@dataclass(frozen=True, eq=False)
class ProperDistributions(LinearDistributions):
    """Distributions on cells, with weights that are not negative."""

    support: CellSupport

    @abstractmethod
    def projection(self) -> Projection | None:
        """Return how far projected distributions moved; None if they are not projected."""

    @property
    def is_proper(self) -> bool:
        """True: no weight is negative."""
        return True

    def variances(self) -> Vector:
        """Return the variances of columns, ``(q, d)``; rounding leaves none negative."""
        return np.maximum(self._signed_variances(), 0.0)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        if paired:
            return self.densities(points[:, None, :], log=log)[:, 0]
        same = np.broadcast_to(points, (self.conditions.n, *points.shape))
        return self.densities(same, log=log)

    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities of each distribution at its own points ``(q, k, d)``."""
        found = np.empty(points.shape[:2])
        step = max(_WORKED // self.support.rank, 1)
        for part in self._parts():
            dists = zip(found[part.which], points[part.which], *part[1:], strict=True)
            for row, at, w, square in dists:
                for start in range(0, len(at), step):
                    some = slice(start, start + step)
                    row[some] = self._heights(at[some], w, square, log=log)
        return found

    def _quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        sums = self.support.prefix_sums(column)
        if self.support.points.width > 1:
            return quantiles(sums, t, mass, levels)
        return sums.intervals.quantiles(t, mass, levels)

    def _cdfs(self, t: Vector, mass: Vector, at: Vector) -> Vector:
        return self.support.prefix_sums(0).intervals.cdfs(t, mass, at)

    def cdfs(self, points: Vector) -> Vector:
        """Return the cdfs of one column, each at its own points ``(q, k)``."""
        cells = self.support.prefix_sums(0).intervals
        return self.each(lambda t, mass, part: cells.cdfs(t, mass, points[part]))

    def _peaks(self) -> Index:
        """Return the points next to the centres of cells of the highest density."""
        cells = self.support
        heights = cells.sample.density.at(cells.centres) / cells.mean
        most = min(SETTINGS.mode_candidates, cells.rank)
        found = []
        for part in self._parts():
            likely = np.argpartition(-part.weights * heights, most - 1)[:, :most]
            for which, w, square in zip(likely, *part[1:], strict=True):
                best = self._heights(cells.centres[which], w, square, log=True).argmax()
                found.append(which[best])
        return cells.central[np.array(found, dtype=np.intp)]

    def _parts(self) -> Iterator[_Part]:
        """Yield weights and squared bandwidths, a part of the distributions at a time."""
        squares, start = self._bandwidths() ** 2, 0
        for t in self.conditions.parts():
            which = slice(start, start + len(t))
            yield _Part(which, (1 + t) * self.support.mean, squares[which])
            start += len(t)

    def _heights(self, points: Vector, w: Vector, square: Vector, *, log: bool) -> Vector:
        """Return the density of one distribution at points, or its logarithm."""
        cells = self.support
        variances = square + cells.variances
        return mixture_density(points, cells.centres, variances, w, log=log)

    def _bandwidths(self) -> Vector:
        """Return the bandwidths of each distribution, ``(q, d)``."""
        spread = spread_between(self.quantile(np.array([0.25, 0.75])), self.variances())
        least = SETTINGS.least_bandwidth * self.support.sample.density.widths
        size = self.effective_size()[:, None]
        width = self.support.points.width
        return np.maximum(silverman_widths(spread, size, width), least)
