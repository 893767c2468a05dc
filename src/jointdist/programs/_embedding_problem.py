r"""The program of a conditional mean embedding: its objective and its constraints.

The letters are those of :mod:`jointdist.programs.embedding`.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._cached import cached
from jointdist.programs.grid_sweep import Grid
from jointdist.programs.objective import Objective

__all__ = ["Problem", "Scope", "largest"]

Scope: TypeAlias = Literal["none", "average", "sample"]
_MASS_TOLERANCE = 1e-6  # largest error of the mass at any row that counts as feasible
_VANISHING = 1e-10  # norm of a mean that is rounding, relative to the functions


@dataclass(frozen=True, eq=False)
class Problem:
    """The objective and the constraints, and what they share.

    The mean ``b`` and the ``rows`` are zero for functions that the objective leaves out.
    """

    objective: Objective
    S: Matrix
    b: Vector
    rows: Matrix
    normalization: Scope
    positivity: Scope

    @cached
    def t(self) -> Vector:
        """The coefficients of the function that is one at every pivot of Y."""
        return np.linalg.solve(self.S, np.ones(len(self.S))).astype(float)

    @cached
    def expansion(self) -> Matrix:
        """The map T from coefficients to weights."""
        T: Matrix = np.linalg.inv(self.S).T.astype(float)
        return T

    @cached
    def inverse(self) -> Vector:
        """One by the quadratic term, which is the same in every row."""
        inverse: Vector = self.objective.inverse[0]
        return inverse

    @cached
    def beta(self) -> float:
        r"""The sum :math:`\beta = \sum_j b_j^2 / a_j`."""
        return float(self.b**2 @ self.inverse)

    @cached
    def one(self) -> Vector:
        """The function of x that is nearest to one, at the rows and on average."""
        places = np.vstack([self.rows, self.b])
        return np.linalg.lstsq(places, np.ones(len(places)))[0].astype(float)

    @cached
    def missing(self) -> float:
        """What the best function of x lacks to be a mass; zero if nothing does."""
        off = float(self.normalization == "average" and self.empty)
        if self.normalization == "sample":
            off = largest(np.append(self.rows @ self.one, self.b @ self.one) - 1)
        return off if off > _MASS_TOLERANCE else 0.0

    @cached
    def empty(self) -> bool:
        """Whether the mean is zero, but for rounding."""
        least = _VANISHING * np.sqrt(self.objective.c_x.sum())
        return bool(np.linalg.norm(self.b) <= least)

    @cached
    def first(self) -> Matrix:
        r"""The optimum without positivity.

        The masses :math:`t^\top F` of the closed form are moved to the nearest that are
        normalised, in the metric of ``a``; for given masses, each column of F moves
        along :math:`t`, whatever the metric.
        """
        F, t = self.objective.b * self.inverse, self.t
        for _ in range(0 if self.normalization == "none" else 2):  # then without rounding
            mass = F.T @ t
            if self.normalization == "sample":
                move = self.one - mass
            else:
                move = (1 - mass @ self.b) / self.beta * self.b * self.inverse
            F = F + np.multiply.outer(t, move) / (t @ t)
        return F

    def through(self, g: Vector) -> Matrix:
        r"""Return the best coefficients with :math:`F b = g`."""
        F = self.first
        for _ in range(2):  # the second takes off what rounding has left
            F = F + np.multiply.outer(g - F @ self.b, self.b * self.inverse) / self.beta
        return F

    def lowest(self, F: Matrix) -> float:
        """Return the lowest of the weights that must not be negative."""
        if self.positivity == "sample":
            return Grid(self.expansion, self.rows).lowest(F).value
        if self.positivity == "none" or self.empty:
            return 0.0
        return float(np.linalg.solve(self.S.T, F @ self.b).min())


def largest(values: Matrix) -> float:
    return float(np.abs(values).max(initial=0.0))
