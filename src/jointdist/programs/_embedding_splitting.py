r"""The splitting for weights of a conditional mean embedding that are positive at many rows.

In :math:`F = F_c + N G` the centre :math:`F_c = S^\top 1 v^\top / m_Y` has the same weight
on all pivots and the mass :math:`s_i = v^\top \Psi_X(x_i) > 0`, so that

.. math:: 1 + m_Y \, T N G \, \Psi_X(x_i) / s_i \ge 0

is left. If masses are one at every row, N is orthogonal to :math:`t`, and they stay so.
The map from G to all weights is diagonal in bases that also make the objective
:math:`|C|^2 - 2 \langle b, C \rangle`: a splitting has steps in closed form.
"""

import math

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Matrix, Vector
from jointdist.programs._embedding_problem import Problem
from jointdist.programs._splitting import RELAXATION
from jointdist.programs.grid_sweep import Grid

__all__ = ["INSIDE", "Numbers", "Shift", "WeightSplitting", "vanishing"]

Numbers = NDArray[np.intp]  # of rows
# The norm of a row below which it counts as zero, relative to the longest: rounding.
_VANISHING = 1e-10
# The first weight of the splitting, in geometric means of the curvature: measured.
_FIRST_WEIGHT = 30.0
# The share of the way to the border at which points are feasible whatever the rounding.
INSIDE = 1 - 1e-10


class Shift:
    r"""The program in terms of the change from the centre.

    The change is :math:`N \hat G` times the root of ``1 / a``, so that its quadratic term
    is one.
    """

    def __init__(self, problem: Problem, v: Vector) -> None:
        goal, rows, t, m = problem.objective, problem.rows, problem.t, len(problem.S)
        self.problem = problem
        self.scale = m / np.where(vanishing(rows), np.inf, rows @ v)
        self.every = Grid(self.scale[:, None] * rows, problem.expansion)
        self.centre = np.multiply.outer(problem.S.mean(axis=0), v)
        self.constant = goal(self.centre)
        self.N = np.eye(m)
        if problem.normalization == "sample":
            self.N = np.linalg.qr(t[:, None], mode="complete")[0][:, 1:]
        self.root = np.sqrt(problem.inverse)
        self.b = self.N.T @ (goal.b - goal.a * self.centre) * self.root
        self.e = np.zeros_like(self.b)
        if problem.normalization == "average":
            e = np.multiply.outer(t, problem.b * self.root)
            self.e = e / np.linalg.norm(e)


class WeightSplitting:
    r"""The splitting :math:`z = K_Y C K_X^\top` with :math:`z \ge -1`, for some rows.

    The point of the iteration is :math:`z + u`, where :math:`- \rho u` are multipliers.
    It starts from given multipliers ``Y`` and a given change of the coefficients.
    """

    def __init__(
        self,
        shift: Shift,
        rows: Numbers,
        Y: Matrix,
        change: Matrix,
        *,
        rho: float | None = None,
    ) -> None:
        self.shift, self.rows, self.tol = shift, rows, 0.0
        T, F_x = shift.problem.expansion, shift.every.F_y[rows]
        F_y, X = T @ shift.N, F_x * shift.root
        stretch_y, P = np.linalg.eigh(F_y.T @ F_y)
        stretch_x, Q = np.linalg.eigh(X.T @ X)
        self.K_y, self.K_x = F_y @ P, X @ Q
        self.left, self.right = shift.N @ P, (shift.root[:, None] * Q).T
        self.stretch = np.multiply.outer(stretch_y.clip(0), stretch_x.clip(0))
        self.e = P.T @ shift.e @ Q
        self.b = self.normalised(P.T @ shift.b @ Q)
        self.upper, self.lower = math.inf, -math.inf
        self.best, self.Y = change, Y
        if rho is None:
            known = self.stretch[self.stretch > 1e-14 * self.stretch.max()]
            rho = _FIRST_WEIGHT / math.sqrt(float(known.min()) * float(known.max()))
        self.use_weight(rho)
        self.first: Vector = (T @ change @ F_x.T - Y / rho).ravel()

    def use_weight(self, rho: float) -> None:
        self.rho, self.shrink = rho, 1 / (1 + rho * self.stretch)
        self.pull = self.e * self.shrink
        self.pull /= max(float(np.sum(self.e * self.pull)), 1e-300)

    def normalised(self, C: Matrix) -> Matrix:
        new: Matrix = C - float(np.sum(self.e * C)) * self.e
        return new

    def joined(self, more: Numbers) -> "WeightSplitting":
        """Return the splitting with further rows, from where this one is."""
        more = np.setdiff1d(more, self.rows)
        Y = np.pad(-self.rho * self.u, ((0, 0), (0, len(more))))
        change = self.left @ self.C @ self.right
        rows = np.concatenate([self.rows, more])
        return WeightSplitting(self.shift, rows, Y, change, rho=self.rho)

    def step(self, v: Vector) -> Vector:
        v = v.reshape(self.Y.shape)
        self.z = np.maximum(v, -1.0)
        self.u = v - self.z
        C = self.b + self.rho * (self.K_y.T @ ((self.z - self.u) @ self.K_x))
        C *= self.shrink
        self.C = C - float(np.sum(self.e * C)) * self.pull
        self.KC = (self.K_y @ self.C) @ self.K_x.T
        new: Matrix = v + RELAXATION * (self.KC - self.z)
        return new.ravel()

    def done(self) -> bool:
        """Improve the feasible point and the lower bound, from the last step."""
        C, b, constant = self.C, self.b, self.shift.constant
        square, along, low = float(np.sum(C * C)), float(np.sum(b * C)), -self.KC.min()
        share = along / square if square > 0 else 0.0
        share = max(min(share, INSIDE / low if low > 0 else math.inf), 0.0)
        value = constant + (share * square - 2 * along) * share
        if value < self.upper:
            self.upper, self.best = value, share * (self.left @ C @ self.right)
        Y = -self.rho * self.u
        force, total = self.normalised(self.K_y.T @ (Y @ self.K_x)), float(Y.sum())
        size = float(np.sum(force * force))
        share = max(-(float(np.sum(b * force)) + total) / size, 0.0) if size > 0 else 0.0
        bound = constant - float(np.sum((b + share * force) ** 2)) - 2 * share * total
        if bound > self.lower:
            self.lower, self.Y = bound, share * Y
        here = constant + square - 2 * along
        self.missing = abs(value - here), abs(here - bound)
        return self.upper - self.lower <= self.tol * abs(self.upper)

    def reweighted(self, *, often: bool) -> Vector | None:  # noqa: ARG002
        """Balance what feasibility costs and what the dual lacks.

        The first falls with the weight, the second rises.
        """
        primal, dual = (max(part, 1e-300) for part in self.missing)
        factor = min(max(math.sqrt(primal / dual), 0.1), 10.0)
        if 0.5 < factor < 2:
            return None
        self.use_weight(self.rho * factor)
        v: Matrix = self.z + self.u / factor
        return v.ravel()


def vanishing(rows: Matrix) -> NDArray[np.bool_]:
    """Tell which rows are zero but for rounding: all weights are zero there."""
    size = np.linalg.norm(rows, axis=1)
    return np.asarray(size <= _VANISHING * size.max())
