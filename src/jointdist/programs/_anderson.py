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

__all__ = ["Splitting", "iterate"]

# Differences that Anderson acceleration combines: 5 to 10 are usual.
_MEMORY = 8
# Steps between two certificates, which cost about as much as a step.
_CERTIFY = 5
# Steps between two changes of the splitting's weight: where a multiplier lags behind, and else.
_REWEIGHT_OFTEN, _REWEIGHT = 50, 150
# The largest sum of absolute weights of a combination: more is a wild extrapolation.
_MAX_WEIGHTS = 1e3


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
