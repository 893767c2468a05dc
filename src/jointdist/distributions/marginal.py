"""The distribution of the sample itself, which conditional ones are compared with."""

import numpy as np

from jointdist._array import Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.energy import Energy
from jointdist.distributions.support_points import SupportPoints

__all__ = ["marginal_scores"]


def marginal_scores(
    sample: SupportPoints, points: Vector, unit: Vector | None = None
) -> Vector:
    """Return the energy scores of the weighted sample at points; of one column the CRPS.

    Those of one column of numbers are exact; see
    :class:`~jointdist.distributions.energy.Energy`.

    Parameters
    ----------
    sample : SupportPoints
        The sample.
    points : array of shape (q, d)
        The points, coded.
    unit : array of shape (d,), optional
        The units of distances along each of several columns; by default their standard
        deviations.
    """
    whole = np.zeros(sample.n, dtype=np.intp)  # one cell: no function but the constant
    origin = np.zeros(sample.width)
    energy = Energy.on(CellSupport.of(sample, sample, whole, origin), unit)
    return energy.marginal_scores(energy.to_points(points))
