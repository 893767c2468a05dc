r"""Fixed-point iterations of operator splittings, with Anderson acceleration.

A splitting maps :math:`v` to :math:`S(v)` with a fixed point that yields the solution.
Plain iterations take many steps where the objective is badly conditioned; combining the
last few so that their residuals cancel takes several times fewer. A combination that
makes the residual grow is taken back.
"""

import math
from typing import Protocol

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Certificate, Solution, Status

__all__ = [
    "RECENT",
    "RELAXATION",
    "Proximal",
    "Splitting",
    "finished",
    "first_weight",
    "iterate",
    "lagging",
    "moved",
]

# The over-relaxation of a step, in (0, 2): 1.5 to 1.8 are usual; solver trials used 1.7.
RELAXATION = 1.7
# Certificates over which the progress of both bounds is compared.
RECENT = 10
# Differences that Anderson acceleration combines: 5 to 10 are usual.
_MEMORY = 8
# Steps between two certificates, which cost about as much as a step.
_CERTIFY = 5
# Steps between two changes of the splitting's weight: where a multiplier lags behind, and else.
_REWEIGHT_OFTEN, _REWEIGHT = 50, 150
# The ratio of a multiplier to its part of the solution above which the weight is too small.
_LAGGING = 50.0
# The largest sum of absolute weights of a combination: more is a wild extrapolation.
_MAX_WEIGHTS = 1e3


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


class Splitting(Protocol):
    """A program split in two, each part of which has a closed form."""

    def step(self, v: Vector) -> Vector:
        """Return the image of ``v``."""
        ...

    def done(self) -> bool:
        """Certify the last step, and tell whether it is good enough."""
        ...

    def reweighted(self, *, often: bool) -> Vector | None:
        """Change the weight of the splitting; return the last point in its terms.

        None if it may stay. What is known after a few steps is looked at ``often``.
        """
        ...


class _Anderson:
    """The last residuals f and images g, as differences."""

    def __init__(self) -> None:
        self.f: list[Vector] = []
        self.g: list[Vector] = []
        self.last: tuple[Vector, Vector] | None = None

    def __call__(self, v: Vector, image: Vector) -> Vector:
        """Return the combination of images whose residual is least."""
        f = image - v
        if self.last is not None:
            self.f = [*self.f, f - self.last[0]][-_MEMORY:]
            self.g = [*self.g, image - self.last[1]][-_MEMORY:]
        self.last = (f, image)
        if not self.f:
            return image
        F: Matrix = np.array(self.f)
        gram = F @ F.T
        gram[np.diag_indices_from(gram)] += 1e-10 * np.trace(gram) + 1e-300
        weights = np.linalg.solve(gram, F @ f)
        if not float(np.abs(weights).sum()) <= _MAX_WEIGHTS:
            self.f, self.g = [], []
            return image
        for weight, g in zip(weights, self.g, strict=True):
            image = image - weight * g
        return image


def iterate(splitting: Splitting, v: Vector, max_iter: int) -> int:
    """Iterate until the splitting is done; return the number of steps."""
    anderson, safe, least = _Anderson(), None, math.inf
    for i in range(1, max_iter + 1):
        image = splitting.step(v)
        residual = float(np.linalg.norm(image - v))
        if (i % _CERTIFY == 0 or residual == 0 or i == max_iter) and splitting.done():
            return i
        tuned = (
            splitting.reweighted(often=i % _REWEIGHT > 0)
            if i % _REWEIGHT_OFTEN == 0
            else None
        )
        if tuned is not None:
            v, anderson, safe, least = tuned, _Anderson(), None, math.inf
        elif safe is not None and not residual <= least:
            v, anderson, safe, least = safe, _Anderson(), None, math.inf
        else:
            least = min(least, residual)
            v, safe = anderson(v, image), image
    return max_iter


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
