r"""Weights of a conditional mean embedding that are positive at every row, Eq. `posCME`.

Thousands of these constraints are active, as each distribution uses few pivots: too many for a
working set of pairs. A splitting has steps in closed form. Most rows are implied by others, and
only some of them are worked on.
"""

import math
from dataclasses import replace

import numpy as np

from jointdist._array import Vector
from jointdist.programs._anderson import iterate
from jointdist.programs._embedding_dual import Dual, finished, infeasible, unbound
from jointdist.programs._embedding_problem import Problem
from jointdist.programs._embedding_splitting import (
    INSIDE,
    Shift,
    WeightSplitting,
    vanishing,
)
from jointdist.programs.nnls import nearest_in_hull
from jointdist.programs.solution import Solution

__all__ = ["on_sample"]

# The least cosine with all rows of a function that is positive enough to be a centre, and the
# one below which the hull of the rows contains zero, so that there is no such function.
_MARGIN, _NO_MARGIN = 1e-3, 1e-6
# Rows that join the search for a positive function at a time, and how often at most.
_LOWEST, _MAX_ROUNDS = 100, 100
# Rows that are worked on first, and that join at a time: most rows are implied by others.
SOME = 1000


def on_sample(problem: Problem, tol: float, max_iter: int) -> Solution:
    """Solve for some rows, and add those at which some weight is then negative.

    The dual of some rows is a lower bound for all. The feasible point is on the way from
    the centre to the solution, as far as all rows allow.
    """
    v = problem.one if problem.normalization == "sample" else _positive(problem)
    if v is None and problem.normalization == "none":  # zero is all that is known to do
        below = -problem.objective(problem.first)
        nothing = np.zeros_like(problem.first)
        return finished(problem, nothing, replace(unbound(problem), gap=below), tol)
    if v is None:
        return infeasible(problem, 1.0)
    shift = Shift(problem, v)
    rows = np.sort(np.random.default_rng(0).permutation(len(shift.scale))[:SOME])
    Y = np.zeros((len(problem.S), len(rows)))
    some = WeightSplitting(shift, rows, Y, np.zeros_like(shift.centre))
    F, upper, lower, gap, steps = shift.centre, math.inf, -math.inf, 0.1, 0
    while True:
        some.tol = max(gap / 10, tol / 2)
        steps += iterate(some, some.first, max_iter - steps)
        seen = shift.every.lowest(some.best.T)
        share = min(INSIDE / -seen.value, 1.0) if seen.value < 0 else 1.0
        value = problem.objective(shift.centre + share * some.best)
        if value < upper:
            upper, F = value, shift.centre + share * some.best
        if some.lower > lower:
            lower, rows, Y = some.lower, some.rows, some.Y
        gap = max(upper - lower, 0.0) / max(abs(upper), 1e-300)
        if gap <= tol or steps >= max_iter:
            break
        some = some.joined(seen.pairs[np.argsort(seen.values)[:SOME], 0])
    Y = Y * shift.scale[rows]
    at = problem.rows[rows]
    slack = float(np.sum(Y * np.abs(problem.expansion @ F @ at.T)))
    dual = Dual({"rows": rows, "positivity": Y}, Y @ at, slack, upper - lower)
    return finished(problem, F, dual, tol, steps)


def _positive(problem: Problem) -> Vector | None:
    """Return a function of x of mean one, positive at the rows; None if there is none.

    The ridge regression of one, or the kernel mean, most often are. Else the point
    nearest to zero of the hull of all rows, by length one, is such a function; there is
    none if it is zero (Gordan).
    """
    if problem.empty:
        return None
    b, rows = problem.b, problem.rows[~vanishing(problem.rows)]
    unit = np.vstack([rows, b])
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    for v in (b * problem.inverse, b):
        if (unit @ v).min() >= _MARGIN * np.linalg.norm(v):
            return v / (v @ b)
    chosen, v = np.empty(0, dtype=np.intp), b
    for _ in range(_MAX_ROUNDS):
        values = unit @ v
        if values.min() >= 0.5 * v @ v:
            break
        chosen = np.union1d(chosen, np.argsort(values)[:_LOWEST])
        weights = nearest_in_hull(unit[chosen])
        chosen, v = chosen[weights > 0], weights @ unit[chosen]
        if np.linalg.norm(v) <= _NO_MARGIN:
            return None
    return v / (v @ b) if (unit @ v).min() > 0 else None
