r"""Weights of a conditional mean embedding that are positive at every row, Eq. `posCME`.

The letters are those of :mod:`jointdist.programs.embedding`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jointdist.errors import Words, require
from jointdist.programs._embedded import Dual, Problem, finished, infeasible
from jointdist.programs.grid import grid_positive
from jointdist.programs.nnls import nearest_in_hull
from jointdist.programs.objective import Matrix, Objective, Vector
from jointdist.programs.solution import Solution
from jointdist.programs.sweep import Grid

__all__ = ["on_sample"]

_NOTHING = 1e-10  # a row that is zero but for rounding, relative to the longest
_MARGIN = 1e-3  # cosine from which on a function is positive enough to be a centre
_ZERO = 1e-6  # cosine that is none
_LOWEST = 100  # rows that join the search for a positive function at a time
_ROUNDS = 100  # and how often they do


def on_sample(problem: Problem, tol: float, start: Solution | None) -> Solution:
    """Solve on the grid, more exactly if the gap is large by the objective proper."""
    v = problem.one if problem.normalization == "sample" else _positive(problem)
    if v is None:
        return infeasible(problem, 1.0)
    shift, accuracy, sweeps = _Shift(problem, v), tol, 0
    found = None if start is None else shift.started(start)
    for _ in range(3):
        found = grid_positive(shift.objective, *shift.tables, tol=accuracy, start=found)
        sweeps += found.iterations
        F, dual = shift.solved(found)
        short = dual.gap / (tol * abs(problem.objective(F)))
        if short <= 1 or not found.status.ok:
            break
        accuracy *= 0.5 / short
    return finished(problem, F, dual, tol, sweeps)


@dataclass(frozen=True, eq=False)
class _Shift:
    r"""The program for G in :math:`F = F_c + N G`.

    The centre :math:`F_c = S^\top 1 v^\top / m_Y` has the same weight on all pivots and the
    mass :math:`s = v^\top \Psi_X(x) > 0`: what is left is
    :math:`1 + m_Y T N G \Psi_X(x) / s \ge 0`. If masses are one at every row, N is
    orthogonal to :math:`t`, so that they stay so.
    """

    problem: Problem
    v: Vector

    @cached_property
    def scale(self) -> Vector:
        """The multiple of each row that has mass one; zero where there is no law."""
        rows = self.problem.rows
        s = np.where(_vanishing(rows), np.inf, rows @ self.v)
        scale: Vector = len(self.problem.S) / s
        return scale

    @cached_property
    def centre(self) -> Matrix:
        S = self.problem.S
        return np.multiply.outer(S.mean(axis=0), self.v)

    @cached_property
    def complement(self) -> Matrix:
        if self.problem.normalization != "sample":
            return np.eye(len(self.problem.S))
        return np.linalg.qr(self.problem.t[:, None], mode="complete")[0][:, 1:]

    @property
    def tables(self) -> tuple[Matrix, Matrix]:
        return self.problem.expansion @ self.complement, self.scale[
            :, None
        ] * self.problem.rows

    @property
    def objective(self) -> Objective:
        goal = self.problem.objective
        b = self.complement.T @ (goal.b - goal.a * self.centre)
        shifted = Objective(b, np.ones(len(b)), goal.c_x, goal.regularization)
        if self.problem.normalization != "average":
            return shifted
        return replace(shifted, mean_y=self.problem.t, mean_x=self.problem.b)

    def started(self, start: Solution) -> Solution | None:
        """Return the earlier solution in terms of this program."""
        pairs = start.multipliers.get("pairs")
        if pairs is None:
            return None
        sizes = len(self.problem.S), len(self.problem.rows)
        got = Words(f"pairs up to {tuple(pairs.max(axis=0, initial=0))}")
        fits = (pairs < sizes).all()
        require(fits, "embedding", "start", f"of {sizes} pivots and rows", got)
        scale = self.scale[pairs[:, 1]]
        w = start.multipliers["positivity"] / np.where(scale > 0, scale, np.inf)
        return replace(start, multipliers={"pairs": pairs, "positivity": w})

    def solved(self, found: Solution) -> tuple[Matrix, Dual]:
        """Return the coefficients and multipliers of the program proper."""
        F, rows = self.centre + self.complement @ found.value, self.problem.rows
        pairs = found.multipliers["pairs"]
        z = found.multipliers["positivity"] * self.scale[pairs[:, 1]]
        forces = np.zeros_like(F)
        np.add.at(forces, pairs[:, 0], z[:, None] * rows[pairs[:, 1]])
        slack = float(z @ np.abs(Grid(self.problem.expansion, rows).at(F, pairs)))
        gap = found.certificate.gap  # infinite if the value is zero and not optimal
        gap = gap * abs(found.objective) if found.objective else gap
        return F, Dual({"pairs": pairs, "positivity": z}, forces, slack, gap)


def _vanishing(rows: Matrix) -> NDArray[np.bool_]:
    """Tell which rows are zero but for rounding: all weights are zero there."""
    size = np.linalg.norm(rows, axis=1)
    return np.asarray(size <= _NOTHING * size.max())


def _positive(problem: Problem) -> Vector | None:
    """Return a function of x of mean one, positive at the rows; None if there is none.

    The ridge regression of one, or the kernel mean, most often are. Else the point
    nearest to zero of the hull of all rows, by length one, is such a function; there is
    none if it is zero (Gordan).
    """
    if problem.empty:
        return None
    b, rows = problem.b, problem.rows[~_vanishing(problem.rows)]
    unit = np.vstack([rows, b])
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    for v in (b * problem.inverse, b):
        if (unit @ v).min() >= _MARGIN * np.linalg.norm(v):
            return v / (v @ b)
    chosen, v = np.empty(0, dtype=np.intp), b
    for _ in range(_ROUNDS):
        values = unit @ v
        if values.min() >= 0.5 * v @ v:
            break
        chosen = np.union1d(chosen, np.argsort(values)[:_LOWEST])
        weights = nearest_in_hull(unit[chosen])
        chosen, v = chosen[weights > 0], weights @ unit[chosen]
        if np.linalg.norm(v) <= _ZERO:
            return None
    return v / (v @ b) if (unit @ v).min() > 0 else None
