r"""What operator splittings share: proximal steps, weights of the splitting, certificates.

The iteration itself is in :mod:`jointdist.programs._anderson`.
"""

import math

import numpy as np

from jointdist._array import Matrix
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Certificate, Solution, Status

__all__ = [
    "RECENT",
    "RELAXATION",
    "Proximal",
    "finished",
    "first_weight",
    "lagging",
    "moved",
]

# The over-relaxation of a step, in (0, 2): 1.5 to 1.8 are usual; solver trials used 1.7.
RELAXATION = 1.7
# Certificates over which the progress of both bounds is compared.
RECENT = 10
# The ratio of a multiplier to its part of the solution above which the weight is too small.
_LAGGING = 50.0


def first_weight(objective: Objective) -> float:
    """Return the weight to begin with: measured, a bit below the geometric mean."""
    a = objective.a[objective.inverse > 0]
    return 0.3 * math.sqrt(float(a.min()) * float(a.max()))


class Proximal:
    r"""The step of half the objective: with :math:`\rho |H - v|^2 / 2` added, normalised."""

    def __init__(self, objective: Objective, rho: float) -> None:
        self.rho, self.b, self.e = rho, objective.b, objective.e
        self.inverse = np.where(objective.inverse > 0, 1 / (objective.a + rho), 0.0)
        square = 0.0 if self.e is None else float(np.sum(self.e**2 * self.inverse))
        self.square = square

    def __call__(self, v: Matrix) -> Matrix:
        h: Matrix = (self.b + self.rho * v) * self.inverse
        if self.e is not None and self.square > 0:
            h -= float(np.sum(self.e * h)) / self.square * (self.e * self.inverse)
        return h


def lagging(multiplier: float, size: float) -> float:
    """Return the change of weight for a multiplier far larger than what it moves.

    Each step moves both alike, so that it would take as many steps to grow.
    """
    ratio = multiplier / max(size, 1e-300)
    return min(ratio / 10, 1e3) if ratio > _LAGGING else 1.0


def moved(upper: float, lower: float) -> float:
    """Return the change of weight for recent improvements of both bounds."""
    return min(max(math.sqrt(max(upper, 1e-300) / max(lower, 1e-300)), 1 / 3), 3.0)


def finished(
    objective: Objective,
    H: Matrix,
    force: Matrix,
    *,
    violation: float,
    complementarity: float,
    gap: float,
    optimal: bool,
    multipliers: dict[str, object],
    iterations: int,
) -> Solution:
    """Return the solution of a splitting with its certificate.

    ``force`` is what the multipliers of the constraint add to ``b``: at the optimum
    ``a H = b + force - mu e``.
    """
    e, a, b = objective.e, objective.a, objective.b
    mu = objective.multiplier((b + force) * objective.inverse)
    drift = 0.0 if e is None else mu * e
    residual = (a * H - b - force + drift)[objective.inverse > 0]
    size = max(float((np.abs(b) + np.abs(drift) + np.abs(force)).max()), 1e-300)
    off = 0.0 if e is None else abs(float(np.sum(e * H)))
    stationarity = float(np.abs(residual).max(initial=0.0)) / size
    feasibility = max(violation, off, 0.0)
    return Solution(
        H,
        objective(H),
        status=Status.OPTIMAL if optimal else Status.INEXACT,
        certificate=Certificate(stationarity, feasibility, complementarity, gap),
        multipliers=multipliers if e is None else {**multipliers, "normalisation": mu},
        iterations=iterations,
    )
