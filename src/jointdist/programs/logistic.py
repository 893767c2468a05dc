r"""Logistic regression on the features of a kernel (paper, section `sec:klr`).

Of rows with features :math:`F_i`, weights :math:`w_i` and classes :math:`y_i`,

.. math:: \min_{c, b}\; \sum_i w_i\, \ell(y_i, F_i c + b) + \lambda |c|_2^2,

with the logistic loss for two classes and the symmetric softmax for more. Features are
orthonormal in the kernel's space, so that the ridge is the norm there; the intercept
:math:`b`, if there is one, is free.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.executor import one_blas_thread
from jointdist.programs._likelihood import Likelihood, Point
from jointdist.programs._logistic_loss import Codes
from jointdist.programs._logistic_newton import Newton
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.solution import Certificate, Solution, Status

__all__ = ["LogisticSolution", "logistic"]

# The relative gap that counts as optimal where rounding does not allow the one to reach.
_ENOUGH = 1e-10


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
    with (
        one_blas_thread() as one,
        one,
    ):  # passes have a thread for each core, and the rest is small
        newton = Newton(problem, _started(problem, start), precision, tol)
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
