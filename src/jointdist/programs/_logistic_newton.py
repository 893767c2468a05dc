r"""Newton's method for logistic regression, with preconditioned conjugate gradients.

The preconditioner is a factor of :math:`F^\top \operatorname{diag}(w v) F + 2 \lambda`.
There :math:`v` is one curvature of each row, so that the factor is exact for two classes; for
more there is one for each. A factor takes the time of ten or twenty gradients, and serves
several steps.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import Matrix
from jointdist.programs._likelihood import Likelihood, Point

__all__ = ["Newton"]

# A preconditioner is factored anew when a system takes so many more passes over the rows than
# after the last factorisation, which costs ten or twenty passes.
_AGED = 3
# Passes with a new factor above which float32 is too inexact for it.
_SLOW = 20
# The most passes for one system, and the most halvings of a step: as good as no limit.
_MAX_PASSES, _MAX_HALVINGS = 200, 40
# The rounding of the objective.
_ROUNDING = 1e-13


class Newton:
    """The iteration: a point, and a factor that was made there or at an earlier one."""

    def __init__(self, problem: Likelihood, C: Matrix, dtype: str, tol: float) -> None:
        self.problem, self.dtype, self.tol = problem, dtype, tol
        self.point = problem.at(C)
        self.gap = problem.gap(self.point)
        self.aged, self.passes = True, 0

    def run(self, max_iter: int) -> int:
        """Take steps until the gap is closed or nothing helps; return their number."""
        for steps in range(max_iter):
            if self.gap <= self.tol:
                return steps
            if not self.step():
                self.dtype, self.aged = "float64", True
                if not self.step():
                    return steps
        return max_iter

    def step(self) -> bool:
        """Take a step; return whether the point is better."""
        new = self.aged
        if new:
            self.renew()
        D, passes = self.direction()
        found = self.search(D)
        if found is None:
            return False
        self.point, self.gap = found, self.problem.gap(found)
        if new:
            self.passes = passes
            if passes > _SLOW:
                self.dtype = "float64"
        self.aged = passes > self.passes + _AGED
        return True

    def renew(self) -> None:
        """Factor the curvature at the point."""
        try:
            self.factors = [cho_factor(H) for H in self.curvature()]
        except (LinAlgError, ValueError):  # not positive, or not finite
            self.dtype = "float64"
            self.factors = [_lifted(H) for H in self.curvature()]

    def curvature(self) -> NDArray[np.float64]:
        return self.problem.curvature(self.point, self.dtype)

    def direction(self) -> tuple[Matrix, int]:
        """Return Newton's step, as exact as is worth it, and the passes it took."""
        R = -self.point.gradient
        D, P = np.zeros_like(R), self.solve(R)
        first = left = float(np.sum(R * P))
        enough, passes = min(0.1, first / self.point.value) * first, 0
        while left > enough and passes < _MAX_PASSES:
            HP = self.problem.times(self.point, P)
            bend = float(np.sum(P * HP))
            if bend <= 0:  # nothing but rounding
                break
            t = left / bend
            D, R = D + t * P, R - t * HP
            passes += 1
            if self.problem.gap(self.point, R) <= self.tol / 10:
                break
            Z, before = self.solve(R), left
            left = float(np.sum(R * Z))
            P = Z + left / before * P
        return D, passes

    def solve(self, R: Matrix) -> Matrix:
        """Return the factors' inverses times the rows of ``R``."""
        if len(self.factors) < len(R):
            return _solve(self.factors[0], R.T).T
        pairs = zip(self.factors, R, strict=True)
        return self.problem.centred(np.stack([_solve(*pair) for pair in pairs]))

    def search(self, D: Matrix) -> Point | None:
        """Return a better point in the direction of ``D``; None if there is none."""
        old, slope = self.point, float(np.sum(self.point.gradient * D))
        rounding = _ROUNDING * old.value
        for halvings in range(_MAX_HALVINGS):
            t = 0.5**halvings
            new = self.problem.at(old.C + t * D)
            if new.value <= old.value + 1e-4 * t * slope + rounding:
                hidden = -slope <= rounding  # then only the gradient tells
                return None if hidden and 2 * self.problem.gap(new) > self.gap else new
        return None


def _solve(factor: Any, r: Matrix) -> Matrix:
    solved: Matrix = np.asarray(cho_solve(factor, r, check_finite=False))
    return solved


def _lifted(H: Matrix) -> Any:
    """Return the Cholesky factor of a matrix that is positive but for rounding."""
    lift, step = np.zeros_like(H), np.eye(len(H)) * np.trace(H)
    for digits in range(16, 0, -1):
        try:
            return cho_factor(H + lift)
        except LinAlgError:
            lift = step / 10.0**digits
    return cho_factor(step)
