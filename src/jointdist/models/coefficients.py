r"""From two bases and the moments to the coefficients.

The objective is diagonal in the double-orthogonal basis. Here ``positivity`` names a
constraint of the program; whether distributions are projected when they are evaluated is
up to the fitted model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.moments import Moments
from jointdist.models.positivity_bounds import (
    bounded_sides,
    norm_bound,
    pivot_features,
    sample_bounds,
)
from jointdist.programs import (
    Objective,
    Solution,
    closed_form,
    grid_positive,
    pivot_positive,
    product_bounds,
    spectral_ball,
    tightened,
)

__all__ = [
    "LinearPositivity",
    "Marginals",
    "PolynomialPositivity",
    "Positivity",
    "Problem",
    "objective",
    "path",
    "solve",
]

Marginals: TypeAlias = Literal["free", "total", "exact"]
LinearPositivity: TypeAlias = Literal[
    "projected",
    "isotonic",
    "none",
    "tightened",
    "pointwise",
    "rotated",
    "pivot",
    "grid",
]
Positivity: TypeAlias = Literal[LinearPositivity, "exponential"]
PolynomialPositivity: TypeAlias = Literal[
    "projected", "isotonic", "none", "tightened", "grid", "sos"
]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is to be solved.

    Attributes
    ----------
    x, y : Basis
        The bases of both sides.
    moments : Moments
        The moments of the features.
    sample : Sample
        Paired rows, for constraints on them.
    marginals : {"free", "total", "exact"}
        What is normalised.
    executor : Executor
        Runs the row blocks.
    few : Sample, optional
        Fewer paired rows, by which ridges are chosen.
    points : tuple of Rows, optional
        The support points of X and Y, if these are not the rows.
    """

    x: Basis
    y: Basis
    moments: Moments
    sample: Sample
    marginals: Marginals
    executor: Executor
    few: Sample | None = None
    points: tuple[Rows, Rows] | None = None

    @property
    def judged(self) -> Sample:
        """Paired rows by whose leave-one-out errors ridges are chosen."""
        return self.sample if self.few is None else self.few

    @property
    def grid_sides(self) -> tuple[Rows, Rows]:
        """The points of X and Y on whose grid bounds of the functions hold."""
        if self.points is not None:
            return self.points
        rows = self.sample.counted
        return rows.x, rows.y

    def support_x(self, points: SupportPoints) -> KernelSupport:
        """Return points of X as a support, with the means of the functions of X."""
        sums, powers = self.moments, None
        if points.merged is not None and sums.powers_x is not None:
            powers = _rotated(self.x, to_numpy(sums.powers_x) / sums.weight)
        return self._support(self.x, points, sums.sum_x, powers)

    def support_y(self, points: SupportPoints) -> KernelSupport:
        """Return points of Y as a support, with the sums of their powers."""
        sums = self.moments
        powers = _rotated(self.y, to_numpy(sums.powers_y) / sums.weight)
        return self._support(self.y, points, sums.sum_y, powers)

    def sample_y(self, encoding: Encoding) -> KernelSupport:
        """Return the sample of Y as a support."""
        sample = self.sample
        points = SupportPoints(sample.y, encoding, sample.weights, self.executor)
        return self.support_y(points)

    def _support(
        self, basis: Basis, points: SupportPoints, sums: Array, powers: Vector | None
    ) -> KernelSupport:
        ones = np.insert(to_numpy(sums) / self.moments.weight, 0, 1.0)
        mean = _rotated(basis, ones[:, None])[1:, 0]
        return KernelSupport.of(points, basis, mean, powers)


def _rotated(basis: Basis, sums: Vector) -> Vector:
    """Return means of ``(1, features)`` times functions, for the rotated features."""
    rest = sums[1:] - np.multiply.outer(to_numpy(basis.mean), sums[0])
    rotated: Vector = to_numpy(basis.rotation).T @ rest
    return np.concatenate([sums[:1], rotated])


def objective(problem: Problem, regularization: float | Vector) -> Objective:
    r"""Return the objective of Eq. `optgenClowR` in the rotated basis.

    :math:`a = \Lambda_Y \Lambda_X / n^2 + \lambda` and :math:`b = V_Y^\top (G_{YX} / n -
    s_Y s_X^\top / n^2) V_X`, with the constraint of Eq. `eq:normatilde` if the marginals
    are ``"total"``; ``"exact"`` ones are normalised by their basis.

    Parameters
    ----------
    problem : Problem
        Bases and moments.
    regularization : float or array of shape (m_Y,)
        The ridge :math:`\lambda`, or one for each function of Y.
    """
    sums, x, y = problem.moments, problem.x, problem.y
    n = sums.weight
    s_x, s_y = to_numpy(sums.sum_x) / n, to_numpy(sums.sum_y) / n
    V_x, V_y = to_numpy(x.rotation), to_numpy(y.rotation)
    b = V_y.T @ (to_numpy(sums.gram_yx) / n - np.multiply.outer(s_y, s_x)) @ V_x
    c_y, c_x = to_numpy(y.eigenvalues) / n, to_numpy(x.eigenvalues) / n
    if problem.marginals != "total":
        return Objective(b, c_y, c_x, regularization)
    return Objective(b, c_y, c_x, regularization, V_y.T @ s_y, V_x.T @ s_x)


def solve(
    problem: Problem,
    regularization: float | Vector,
    positivity: LinearPositivity,
    *,
    grid: Index,
) -> Solution:
    r"""Return the coefficients :math:`\tilde H` of the model.

    Parameters
    ----------
    problem : Problem
        Bases, moments and rows.
    regularization : float or array of shape (m_Y,)
        The ridge :math:`\lambda`, or one for each function of Y.
    positivity : str
        How negative weights are prevented; see :class:`~jointdist.JointDistribution`.
    grid : array of int
        The rows on whose grid ``"grid"`` holds.
    """
    goal, sides = objective(problem, regularization), (problem.y, problem.x, problem.sample)
    match positivity:
        case "none" | "projected" | "isotonic":
            return closed_form(goal)
        case "tightened":
            return tightened(goal, *_bounds(problem))
        case "pointwise":
            return spectral_ball(goal, 1 / norm_bound(*sides, problem.moments.weight))
        case "rotated":
            most = np.asarray(norm_bound(*sides, problem.moments.weight))
            return tightened(goal, -most, most)
        case "pivot":
            bounds = bounded_sides(*sides)
            (T_y, low_y, top_y), (T_x, low_x, top_x) = map(
                pivot_features, (problem.y, problem.x), bounds
            )
            return pivot_positive(
                goal, T_y, T_x, *product_bounds(low_y, top_y, low_x, top_x)
            )
        case "grid":
            rows = problem.sample.take(grid)
            F_y = host_features(problem.y, rows.y.read(0, len(grid)))
            F_x = host_features(problem.x, rows.x.read(0, len(grid)))
            return grid_positive(goal, F_y, F_x)


def _bounds(problem: Problem) -> tuple[Vector, Vector]:
    """Return the bounds of products of basis functions over the grid of support points."""
    x, y = problem.grid_sides
    return sample_bounds(problem.y, problem.x, y, x, problem.executor)


def path(problem: Problem, positivity: str) -> Callable[[float | Vector], Vector]:
    """Return the coefficients as a function of the ridge, for choosing it.

    Positivity takes part where it costs milliseconds, ``"tightened"`` and ``"rotated"``;
    the ridge of other models is that of the best signed one.

    Parameters
    ----------
    problem : Problem
        Bases, moments and rows.
    positivity : str
        How negative weights are prevented.
    """
    goal, sides = objective(problem, 0.0), (problem.y, problem.x, problem.sample)
    if positivity == "tightened":
        bounds = _bounds(problem)
        return lambda ridge: tightened(goal.at(ridge), *bounds).value
    if positivity == "rotated":
        most = np.asarray(norm_bound(*sides, problem.moments.weight))
        return lambda ridge: tightened(goal.at(ridge), -most, most).value
    return lambda ridge: closed_form(goal.at(ridge)).value
