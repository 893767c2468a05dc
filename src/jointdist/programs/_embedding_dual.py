r"""Multipliers and certificates of conditional mean embeddings with constraints.

The letters are those of :mod:`jointdist.programs.embedding`.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Matrix
from jointdist.programs._embedding_problem import Problem, largest
from jointdist.programs.solution import Certificate, Solution, Status

__all__ = ["Dual", "finished", "infeasible", "unbound"]

_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """The multipliers of positivity, and what follows from them.

    ``forces`` are their part of stationarity, in values at the pivots; ``slack`` is the
    sum of multipliers times weights; ``gap`` bounds what is missing of the optimum.
    """

    multipliers: dict[str, object]
    forces: Matrix
    slack: float = 0.0
    gap: float = 0.0


def unbound(problem: Problem) -> Dual:
    """Return the multipliers where positivity does not bind."""
    multipliers: dict[str, object] = {}
    if problem.positivity == "average":
        multipliers = {"positivity": np.zeros(len(problem.S))}
    elif problem.positivity == "sample":
        rows = np.empty(0, dtype=np.intp)
        multipliers = {"rows": rows, "positivity": np.empty((len(problem.S), 0))}
    return Dual(multipliers, np.zeros_like(problem.objective.b))


def finished(
    problem: Problem, F: Matrix, dual: Dual, tol: float, iterations: int = 0
) -> Solution:
    r"""Return the solution with its certificate, recomputed from the coefficients.

    Stationarity is :math:`S (a F - M) = Z - 1 \mu^\top` with the ``forces`` Z: in values
    at the pivots, as multipliers are, where nothing is enlarged by :math:`S^{-1}`.
    """
    goal, b, mass, off = problem.objective, problem.b, F.T @ problem.t, 0.0
    multipliers, pull = dual.multipliers, np.zeros_like(b)
    residual = dual.forces - problem.S @ (goal.a * F - goal.b)
    if problem.normalization == "average":
        mu = float(residual.mean(axis=0) @ b / (b @ b))
        pull, off = mu * b, abs(float(mass @ b) - 1)
        multipliers = {**multipliers, "normalisation": mu}
    elif problem.normalization == "sample":
        pull = residual.mean(axis=0)
        off = float(np.abs(problem.rows @ mass - 1).max())
        multipliers = {**multipliers, "normalisation": pull}
    size = max(largest(problem.S @ goal.b), largest(dual.forces), _TINY)
    value = goal(F)
    scale = max(abs(value), _TINY)
    certificate = Certificate(
        stationarity=largest((residual - pull)[:, problem.inverse > 0]) / size,
        feasibility=max(off, -problem.lowest(F), 0.0),
        complementarity=dual.slack / scale,
        gap=max(dual.gap, 0.0) / scale,
    )
    status = Status.OPTIMAL if certificate.gap <= tol else Status.INEXACT
    return Solution(F, value, status, certificate, multipliers, iterations)


def infeasible(problem: Problem, missing: float) -> Solution:
    nothing = np.full_like(problem.objective.b, np.nan)
    certificate = Certificate(feasibility=missing, gap=np.inf)
    return Solution(nothing, np.inf, Status.INFEASIBLE, certificate)
