r"""Logistic regression on the features of a kernel (paper, section `sec:klr`).

Of rows with features :math:`F_i`, weights :math:`w_i` and classes :math:`y_i`,

.. math:: \min_{c, b}\; \sum_i w_i\, \ell(y_i, F_i c + b) + \lambda |c|_2^2,

with the logistic loss for two classes and the symmetric softmax for more. Features are
orthonormal in the kernel's space, so that the ridge is the norm there; the intercept
:math:`b`, if there is one, is free.

Newton's method, its systems solved by conjugate gradients that are preconditioned with
a factor of :math:`F^\top \operatorname{diag}(w v) F + 2 \lambda`. There :math:`v` is one
curvature of each row, so that the factor is exact for two classes; for more there is one
for each. A factor takes the time of ten or twenty gradients, and serves several steps.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import Matrix, Vector
from jointdist.data.executor import one_blas_thread
from jointdist.errors import Text, is_number, is_whole, require
from jointdist.programs._likelihood import Codes, Likelihood, Point
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.solution import Certificate, Solution, Status

__all__ = ["LogisticSolution", "logistic"]

# A preconditioner is factored anew when a system takes so many more passes over the rows than
# after the last factorisation, which costs ten or twenty passes.
_AGED = 3
# Passes with a new factor above which float32 is too inexact for it.
_SLOW = 20
# The most passes for one system, and the most halvings of a step: as good as no limit.
_MAX_PASSES, _MAX_HALVINGS = 200, 40
# The least relative gap that is worth another step, and the rounding of the objective.
_ENOUGH, _ROUNDING = 1e-10, 1e-13


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LogisticSolution(Solution):
    """The solution of a logistic regression, with its intercepts.

    Attributes
    ----------
    value : array of shape (1, m) or (K, m)
        The coefficients: for two classes those of the second, otherwise of each.
    objective, status, certificate, multipliers, iterations
        As in :class:`Solution`; the iterations are steps of Newton's method.
    intercept : array of shape (1,) or (K,)
        The intercepts; zero if there is none.
    """

    intercept: Vector = field(default_factory=lambda: np.zeros(1))


def logistic(
    blocks: Blocks,
    codes: Codes,
    regularization: float,
    *,
    classes: int = 2,
    weights: Vector | None = None,
    tol: float = 1e-16,
    precision: Literal["float64", "float32"] = "float64",
    start: LogisticSolution | None = None,
    max_iter: int = 100,
) -> LogisticSolution:
    r"""Minimise the logistic loss plus a ridge.

    A step costs one factor or less, :math:`n m^2` multiplications, and some passes of
    :math:`n m K`.

    Parameters
    ----------
    blocks : Blocks
        The features, with a column of ones if there is an intercept.
    codes : array of shape (n,)
        The class of each row, from zero; none may be empty.
    regularization : float
        The ridge :math:`\lambda`, positive.
    classes : int, default=2
        The number K of classes.
    weights : array of shape (n,), optional
        The weights of the rows.
    tol : float, default=1e-16
        The gap to reach, relative to the objective. Where rounding does not allow it, 1e-10
        counts as optimal too.
    precision : {"float64", "float32"}, default="float64"
        In which factors are computed. The optimum is the same: gradients and objective
        are always in float64.
    start : LogisticSolution, optional
        The solution of a similar problem, such as that of the last :math:`\lambda` of a
        path.
    max_iter : int, default=100
        The most steps.

    Returns
    -------
    LogisticSolution
        The certified gap bounds by how much the objective exceeds the optimum, and with it
        the squared distance to the optimal coefficients, times :math:`\lambda`.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.feature_blocks import Blocks
    >>> from jointdist.programs.logistic import logistic
    >>> F = np.array([[-1.0], [0.0], [1.0], [1.0]])
    >>> blocks = Blocks(4, 1, lambda rows: F[rows])
    >>> logistic(blocks, np.array([0, 0, 0, 1]), 0.5).value.round(3)
    array([[0.287]])
    """
    where = "logistic"
    positive = is_number(regularization, least=0.0) and regularization > 0
    require(positive, where, "regularization", "a positive number", regularization)
    require(is_number(tol, least=0.0), where, "tol", "a number of at least zero", tol)
    whole = is_whole(max_iter, least=1)
    require(whole, where, "max_iter", "a whole number of at least one", max_iter)
    allowed = ("float64", "float32")
    require(precision in allowed, where, "precision", f"one of {allowed}", precision)
    problem = Likelihood(blocks, codes, weights, classes, float(regularization))
    fits = start is None or start.value.shape == (problem.k, blocks.m)
    got = Text("none" if start is None else f"shape {start.value.shape}")
    require(fits, where, "start", f"of shape {(problem.k, blocks.m)}", got)
    with one_blas_thread:  # passes have a thread for each core, and the rest is small
        newton = _Newton(problem, _started(problem, start), precision, tol)
        steps = newton.run(max_iter)
        return _solution(problem, newton.point, tol, steps)


def _started(problem: Likelihood, start: LogisticSolution | None) -> Matrix:
    """Return the first coefficients: those of a solution, or of no features at all."""
    C = np.zeros((problem.k, problem.blocks.width))
    if start is not None:
        C[:, : problem.blocks.m] = start.value
    if problem.blocks.intercept:
        C[:, -1] = problem.prior() if start is None else start.intercept
    return problem.centred(C)


def _solution(
    problem: Likelihood, point: Point, tol: float, steps: int
) -> LogisticSolution:
    """Return a point with its certificate."""
    C, blocks, gap = point.C, problem.blocks, problem.gap(point)
    terms = 2 * float(np.abs(problem.penalty * C).max(initial=0.0))
    steepest = float(np.abs(point.gradient).max(initial=0.0))
    stationarity = steepest / max(terms, steepest, np.finfo(float).tiny)
    return LogisticSolution(
        C[:, : blocks.m],
        problem.unit * point.value,
        status=Status.OPTIMAL if gap <= max(tol, _ENOUGH) else Status.INEXACT,
        certificate=Certificate(stationarity=stationarity, gap=gap),
        iterations=steps,
        intercept=C[:, -1] if blocks.intercept else np.zeros(problem.k),
    )


class _Newton:
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
