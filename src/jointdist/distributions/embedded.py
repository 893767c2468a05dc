"""Distributions of a conditional mean embedding: any weights on a few rows, the pivots."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions import weights as scan
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.point_cdfs import point_quantiles, sorted_cdfs
from jointdist.distributions.signed import linear_densities, linear_density

__all__ = ["Embedded"]


@dataclass(frozen=True, eq=False)
class Embedded(LinearDistributions):
    """Distributions on distinct points that each have a weight of their own.

    Weights may be negative, and their sum need not be one. The density is a Gaussian around
    each point, with the bandwidth of the whole sample, times its weight. Quantiles are those
    of the running maximum of the cdf.
    """

    support: CellSupport

    @property
    def is_proper(self) -> bool:
        """False: weights may be negative."""
        return False

    def variances(self) -> Vector:
        """Return the variances of columns, perhaps negative, ``(q, d)``."""
        return self._signed_variances()

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        return linear_density(self, self._density_sums, points, paired=paired, log=log)

    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities of each distribution at its own points ``(q, k, d)``."""
        return linear_densities(self, self._density_sums, points, log=log)

    def projection(self) -> None:
        """Return None: these are not projected."""

    def _density_sums(self, points: Vector) -> Vector:
        r"""Return :math:`\sum_j \omega_j (1, \Psi(y_j)) g(y - y_j)` at points, as rows."""
        around = self.support.sample.density.around
        return self.support.expectations(lambda z: around(z, points).T).T

    def _quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        return point_quantiles(self.support, column, t, mass, levels)

    def _cdfs(self, t: Vector, mass: Vector, at: Vector) -> Vector:
        values, found = self.support.points.ordering(0).values, np.zeros(len(t))
        upto = np.searchsorted(values, at, side="right")
        for part, F in sorted_cdfs(self.support, 0, t, mass):
            reached = F[np.arange(len(F)), np.maximum(upto[part] - 1, 0)]
            found[part] = np.where(upto[part] > 0, reached, 0.0)
        return found

    def _peaks(self) -> Index:
        sums = self._density_sums(self.support.points.table())
        return self.each(lambda t, _mass, _: scan.likeliest(sums, t))
