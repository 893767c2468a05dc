r"""Signed distributions: those of a kernel model, on all points of its sample.

Weights are :math:`\omega_j (1 + h(x, y_j)) / \text{mass}(x)`, Eq. `QXYYXcond`, where
:math:`h(x, y) = t(x) \cdot \Psi(y)` may be below minus one: weights may be negative.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions import weights as scan
from jointdist.distributions.function_support import FunctionSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.quantiles import quantiles

__all__ = ["Signed", "linear_densities", "linear_density"]


@dataclass(frozen=True, eq=False)
class Signed(LinearDistributions):
    """Distributions of a kernel model, whose weights may be negative.

    The density is a kernel density estimate of the sample times the ratio of the model.
    Quantiles are those of the running maximum of the cdf.
    """

    support: FunctionSupport

    @property
    def is_proper(self) -> bool:
        """False: weights may be negative."""
        return False

    def variances(self) -> Vector:
        """Return the variances of columns, perhaps negative, ``(q, d)``."""
        return self._signed_variances()

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities, paired ``(q,)`` or all ``(q, k)``, or their logarithms."""
        sums = self.support.density_sums
        return linear_density(self, sums, points, paired=paired, log=log)

    def densities(self, points: Vector, *, log: bool = False) -> Vector:
        """Return densities of each distribution at its own points ``(q, k, d)``."""
        return linear_densities(self, self.support.density_sums, points, log=log)

    def projection(self) -> None:
        """Return None: these are not projected."""

    def _quantiles(self, column: int, t: Vector, mass: Vector, levels: Vector) -> Vector:
        return quantiles(self.support.prefix_sums(column), t, mass, levels)

    def _cdfs(self, t: Vector, mass: Vector, at: Vector) -> Vector:
        F, _ = self.support.prefix_sums(0).prefix(at)
        found: Vector = (F[:, 0] + np.einsum("qm,qm->q", t, F[:, 1:])) / mass
        return found

    def _peaks(self) -> Index:
        heights = self.support.points.heights
        return self.each(lambda t, m, _: scan.largest(self.support, t, m, heights))


def linear_density(
    dists: LinearDistributions,
    sums: Callable[[Vector], Vector],
    points: Vector,
    *,
    paired: bool,
    log: bool,
) -> Vector:
    """Return densities that are linear in the coefficients, or their logarithms.

    Parameters
    ----------
    dists : LinearDistributions
        The distributions.
    sums : callable
        From points ``(k, d)`` to what densities are linear in, ``(k, 1 + m)``.
    points : array of shape (k, d)
        The points.
    paired : bool
        Whether distribution i is evaluated at point i, or all at all.
    log : bool
        Whether logarithms are returned: minus infinity where a density is not positive.
    """
    if paired:
        found = dists.expected_in_pairs(lambda part: sums(points[part]))
    else:
        found = dists.expected(sums(points).T)
    if not log:
        return found
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(found, 0))


def linear_densities(
    dists: LinearDistributions,
    sums: Callable[[Vector], Vector],
    points: Vector,
    *,
    log: bool,
) -> Vector:
    """Return the same for each distribution at its own points, ``(q, k)``.

    Parameters
    ----------
    dists : LinearDistributions
        The distributions.
    sums : callable
        From points ``(k, d)`` to what densities are linear in, ``(k, 1 + m)``.
    points : array of shape (q, k, d)
        The points of each distribution.
    log : bool
        Whether logarithms are returned.
    """
    columns = np.swapaxes(points, 0, 1)
    found = [linear_density(dists, sums, at, paired=True, log=log) for at in columns]
    return np.stack(found, axis=1)
