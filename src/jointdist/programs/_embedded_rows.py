r"""Weights of a conditional mean embedding that are positive at every row, Eq. `posCME`.

In :math:`F = F_c + N G` the centre :math:`F_c = S^\top 1 v^\top / m_Y` has the same weight
on all pivots and the mass :math:`s_i = v^\top \Psi_X(x_i) > 0`, so that

.. math:: 1 + m_Y \, T N G \, \Psi_X(x_i) / s_i \ge 0

is left. If masses are one at every row, N is orthogonal to :math:`t`, and they stay so.
Thousands of these constraints hold with equality, as laws use but a few pivots: too many
for a working set. But the map from G to all weights is diagonal in bases that also make
the objective :math:`|C|^2 - 2 \langle b, C \rangle`. A splitting has steps in closed form.
"""

import math

import numpy as np
from numpy.typing import NDArray

from jointdist.programs._embedded import Dual, Problem, finished, infeasible
from jointdist.programs._splitting import iterate
from jointdist.programs.nnls import nearest_in_hull
from jointdist.programs.objective import Matrix, Vector
from jointdist.programs.solution import Solution

__all__ = ["on_sample"]

_NOTHING = 1e-10  # a row that is zero but for rounding, relative to the longest
_MARGIN = 1e-3  # cosine from which on a function is positive enough to be a centre
_ZERO = 1e-6  # cosine that is none
_LOWEST = 100  # rows that join the search for a positive function at a time
_ROUNDS = 100  # and how often they do
_RELAXED = 1.7
_FIRST = 30.0  # times the geometric mean: the weight to begin with, measured
_INSIDE = 1 - 1e-10  # of the way to the border: what is feasible whatever the rounding


def on_sample(
    problem: Problem, tol: float, max_iter: int, start: Solution | None
) -> Solution:
    """Split into the objective and the inequalities, from a centre that meets them."""
    v = problem.one if problem.normalization == "sample" else _positive(problem)
    if v is None:
        return infeasible(problem, 1.0)
    weights = _Weights(problem, v, tol)
    steps = iterate(weights, weights.started(start), max_iter)
    return weights.solution(steps)


class _Weights:
    r"""The splitting :math:`z = K_Y C K_X^\top` with :math:`z \ge -1`.

    The point of the iteration is :math:`z + u`, where :math:`- \rho u` are multipliers.
    """

    def __init__(self, problem: Problem, v: Vector, tol: float) -> None:
        goal, rows, t, m = problem.objective, problem.rows, problem.t, len(problem.S)
        self.problem, self.tol = problem, tol
        self.scale = m / np.where(_vanishing(rows), np.inf, rows @ v)
        self.centre = np.multiply.outer(problem.S.mean(axis=0), v)
        self.first = goal(self.centre)
        everywhere = problem.normalization == "sample"
        N = np.linalg.qr(t[:, None], mode="complete")[0][:, 1:] if everywhere else np.eye(m)
        root = np.sqrt(problem.inverse)
        F_y, F_x = problem.expansion @ N, self.scale[:, None] * rows * root
        stretch_y, P = np.linalg.eigh(F_y.T @ F_y)
        stretch_x, Q = np.linalg.eigh(F_x.T @ F_x)
        self.left, self.right = N @ P, (root[:, None] * Q).T
        self.K_y, self.K_x = F_y @ P, F_x @ Q
        self.stretch = np.multiply.outer(stretch_y.clip(0), stretch_x.clip(0))
        self.e = np.zeros_like(self.stretch)
        if problem.normalization == "average":
            e = np.multiply.outer(self.left.T @ t, self.right @ problem.b)
            self.e = e / np.linalg.norm(e)
        slope = goal.b - goal.a * self.centre
        self.b = self.normalised(self.left.T @ slope @ self.right.T)
        self.upper, self.lower = math.inf, -math.inf
        self.best, self.Y = np.zeros_like(self.b), np.zeros((m, len(rows)))
        known = self.stretch[self.stretch > 1e-14 * self.stretch.max()]
        self.use_weight(_FIRST / math.sqrt(float(known.min()) * float(known.max())))

    def use_weight(self, rho: float) -> None:
        self.rho, self.shrink = rho, 1 / (1 + rho * self.stretch)
        self.pull = self.e * self.shrink
        self.pull /= max(float(np.sum(self.e * self.pull)), 1e-300)

    def normalised(self, C: Matrix) -> Matrix:
        new: Matrix = C - float(np.sum(self.e * C)) * self.e
        return new

    def started(self, start: Solution | None) -> Vector:
        """Return the fixed point that belongs to a solution, or that of the centre."""
        Y = None if start is None else start.multipliers.get("positivity")
        if start is None or Y is None or Y.shape != self.Y.shape:
            return np.zeros(self.Y.size)
        T, rows = self.problem.expansion, self.problem.rows
        u = -Y / np.where(self.scale > 0, self.scale, np.inf) / self.rho
        z = T @ (start.value - self.centre) @ rows.T * self.scale
        v: Matrix = z + u
        return v.ravel()

    def step(self, v: Vector) -> Vector:
        v = v.reshape(self.Y.shape)
        self.z = np.maximum(v, -1.0)
        self.u = v - self.z
        C = self.b + self.rho * (self.K_y.T @ ((self.z - self.u) @ self.K_x))
        C *= self.shrink
        self.C = C - float(np.sum(self.e * C)) * self.pull
        self.KC = (self.K_y @ self.C) @ self.K_x.T
        new: Matrix = v + _RELAXED * (self.KC - self.z)
        return new.ravel()

    def done(self) -> bool:
        """Improve the feasible point and the lower bound, from the last step."""
        C, b = self.C, self.b
        square, along, low = float(np.sum(C * C)), float(np.sum(b * C)), -self.KC.min()
        share = along / square if square > 0 else 0.0
        share = max(min(share, _INSIDE / low if low > 0 else math.inf), 0.0)
        value = (share * square - 2 * along) * share
        if value < self.upper:
            self.upper, self.best = value, share * C
        Y = -self.rho * self.u
        force, total = self.normalised(self.K_y.T @ (Y @ self.K_x)), float(Y.sum())
        size = float(np.sum(force * force))
        share = max(-(float(np.sum(b * force)) + total) / size, 0.0) if size > 0 else 0.0
        bound = -float(np.sum((b + share * force) ** 2)) - 2 * share * total
        if bound > self.lower:
            self.lower, self.Y = bound, share * Y
        here = square - 2 * along
        self.missing = abs(value - here), abs(here - bound)
        return self.gap <= self.tol * abs(self.first + self.upper)

    @property
    def gap(self) -> float:
        return max(self.upper - self.lower, 0.0)

    def reweighted(self, *, often: bool) -> Vector | None:  # noqa: ARG002
        """Balance what feasibility costs and what the dual lacks.

        The first falls with the weight, the second rises.
        """
        primal, dual = (max(part, 1e-300) for part in self.missing)
        factor = min(max(math.sqrt(primal / dual), 0.1), 10.0)
        if 0.5 < factor < 2:
            return None
        self.use_weight(self.rho * factor)
        return (self.z + self.u / factor).ravel()

    def solution(self, steps: int) -> Solution:
        F = self.centre + self.left @ self.best @ self.right
        Y, rows = self.Y * self.scale, self.problem.rows
        slack = float(np.sum(Y * np.abs(self.problem.expansion @ F @ rows.T)))
        dual = Dual({"positivity": Y}, Y @ rows, slack, self.gap)
        return finished(self.problem, F, dual, self.tol, steps)


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
