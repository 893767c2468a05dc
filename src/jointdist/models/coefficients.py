r"""From two bases and the moments to the coefficients: which program is solved.

The objective is diagonal in the double-orthogonal basis. What ``positivity`` means is
decided here, and nowhere else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.errors import Text, is_number, is_whole, require
from jointdist.kernels.bounds import upper_bound
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.features import kernel_matrix
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.polynomials import PolynomialMap, structure
from jointdist.programs import (
    Objective,
    Solution,
    SumOfSquares,
    closed_form,
    grid_positive,
    pivot_positive,
    product_bounds,
    spectral_ball,
    sum_of_squares,
    tightened,
)

__all__ = [
    "Marginals",
    "PolynomialPositivity",
    "Positivity",
    "Problem",
    "objective",
    "path",
    "require_arguments",
    "require_ridges",
    "solve",
    "solve_squares",
]

_CHECKED = 256  # rows on whose kernel matrix a bound is checked

Marginals: TypeAlias = Literal["free", "total", "exact"]
Positivity: TypeAlias = Literal[
    "projected",
    "isotonic",
    "none",
    "tightened",
    "pointwise",
    "rotated",
    "pivot",
    "grid",
]
PolynomialPositivity: TypeAlias = Literal[
    "projected", "isotonic", "none", "tightened", "grid", "sos"
]
Factors: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


def require_arguments(where: str, **arguments: object) -> None:
    """Raise unless arguments of an estimator obey their rules.

    Parameters
    ----------
    where : str
        The estimator.
    **arguments
        Some of those that estimators have in common.
    """
    for name, value in arguments.items():
        rule, obeys = _RULES[name]
        require(obeys(value), where, name, rule, value)


def require_ridges(where: str, regularization: object) -> None:
    """Raise unless an argument is a ridge, or one for each function of Y, or says how.

    Parameters
    ----------
    where : str
        The estimator.
    regularization : float, array, "auto" or "loo"
        The argument.
    """
    if isinstance(regularization, np.ndarray):
        numbers = regularization.ndim == 1 and regularization.dtype.kind in "fiu"
        good = numbers and bool((regularization >= 0).all())
    else:
        loo = isinstance(regularization, str) and regularization == "loo"
        good = loo or _is_ridge(regularization)
    rule = 'a number of at least 0, an array of such, "auto" or "loo"'
    require(good, where, "regularization", rule, regularization)


def _is_ridge(value: object) -> bool:
    return (isinstance(value, str) and value == "auto") or is_number(value, least=0)


_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "regularization": ('a number of at least 0, or "auto"', _is_ridge),
    "tol": ("a number from 0 to below 1", lambda tol: is_number(tol, least=0, below=1)),
    "grid_rows": ("an integer of at least 1", lambda rows: is_whole(rows, least=1)),
}


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
        The rows, for constraints on them.
    marginals : {"free", "total", "exact"}
        What is normalised.
    executor : Executor
        How row blocks are worked on.
    """

    x: Basis
    y: Basis
    moments: Moments
    sample: Sample
    marginals: Marginals
    executor: Executor


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
    positivity: Positivity,
    *,
    grid: NDArray[np.intp],
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
    goal = objective(problem, regularization)
    match positivity:
        case "none" | "projected" | "isotonic":
            return closed_form(goal)
        case "tightened":
            return tightened(goal, *_sample_bounds(problem))
        case "pointwise":
            return spectral_ball(goal, 1 / _norm_bound(problem))
        case "rotated":
            most = np.asarray(_norm_bound(problem))
            return tightened(goal, -most, most)
        case "pivot":
            (T_y, low_y, top_y), (T_x, low_x, top_x) = map(
                _pivot_features, *_sides(problem)
            )
            bounds = product_bounds(low_y, top_y, low_x, top_x)
            return pivot_positive(goal, T_y, T_x, *bounds)
        case "grid":
            rows = problem.sample.take(grid)
            F_y = host_features(problem.y, rows.y.read(0, len(grid)))
            F_x = host_features(problem.x, rows.x.read(0, len(grid)))
            return grid_positive(goal, F_y, F_x)


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
    goal = objective(problem, 0.0)
    if positivity == "tightened":
        bounds = _sample_bounds(problem)
        return lambda ridge: tightened(goal.at(ridge), *bounds).value
    if positivity == "rotated":
        most = np.asarray(_norm_bound(problem))
        return lambda ridge: tightened(goal.at(ridge), -most, most).value
    return lambda ridge: closed_form(goal.at(ridge)).value


def solve_squares(problem: Problem, regularization: float) -> tuple[SumOfSquares, Factors]:
    r"""Return the coefficients of a ratio that is a sum of squares, Eq. `eq:semdefcone`.

    Also the numbers of the polynomials of Y and of X whose products are squared.

    Parameters
    ----------
    problem : Problem
        With polynomials on both sides.
    regularization : float
        The ridge :math:`\lambda`.
    """
    weights, executor = problem.sample.weights, problem.executor
    (y, C_y), (x, C_x) = (
        structure(side, rows, weights, executor=executor)
        for side, rows in _polynomial_sides(problem)
    )
    return sum_of_squares(objective(problem, regularization), C_y, C_x), (y, x)


def _polynomial_sides(problem: Problem) -> Iterator[tuple[PolynomialMap, Rows]]:
    for basis, rows in (problem.y, problem.sample.y), (problem.x, problem.sample.x):
        if not isinstance(basis.map, PolynomialMap):
            msg = "sums of squares are of polynomials"
            raise TypeError(msg)
        yield basis.map, rows


def _sample_bounds(problem: Problem) -> tuple[Vector, Vector]:
    """Return the bounds of products of basis functions over the sample grid."""
    rows, executor = problem.sample.counted, problem.executor
    y = problem.y.bounds(rows.y, executor=executor)
    x = problem.x.bounds(rows.x, executor=executor)
    return product_bounds(*map(to_numpy, (*y, *x)))


def _sides(problem: Problem) -> tuple[tuple[Basis, Basis], tuple[float, float]]:
    """Return the bases of Y and X with the upper bounds of their kernels."""
    bounds = []
    some = problem.sample.choose(_CHECKED, 0)
    sides = (problem.y, problem.sample.y), (problem.x, problem.sample.x)
    for name, (basis, rows) in zip(("kernel_y", "kernel_x"), sides, strict=True):
        kernel, Z = basis.map.kernel, rows.take(some)
        bound = upper_bound(kernel)
        rule = (
            "of values from 0 to a bound, its attribute `bound`, for positivity everywhere"
        )
        got = Text(f"{kernel!r}, which is not known to be")
        require(np.isfinite(bound), "JointDistribution", name, rule, got)
        K = to_numpy(kernel_matrix(kernel, Z, Z))
        seen, slack = (float(K.min(initial=0.0)), float(K.max(initial=0.0))), 1e-12 * bound
        got = Text(f"values from {seen[0]:.3g} to {seen[1]:.3g} with bound {bound:g}")
        within = seen[0] >= -slack and seen[1] <= bound + slack
        require(within, "JointDistribution", name, rule, got)
        bounds.append(bound)
    return (problem.y, problem.x), (bounds[0], bounds[1])


def _norm_bound(problem: Problem) -> float:
    r"""Return a bound of :math:`|\Psi_Y(y)|_2 |\Psi_X(x)|_2` over all points.

    By Bessel's inequality :math:`|\Psi(z)|^2 \le k(z, z) \le \kappa`. Centred functions
    are projections of :math:`k(z, \cdot) - \bar k`, whose squared norm is
    :math:`k(z, z) - 2 \bar k(z) + |\bar k|^2 \le \kappa + |\bar k|^2` for a kernel that
    is not negative; what the low-rank features miss of :math:`|\bar k|^2` is at most the
    mean trace error.
    """
    squared, weight = 1.0, problem.moments.weight
    for basis, kappa in zip(*_sides(problem), strict=True):
        mean = to_numpy(basis.mean)
        rest = basis.error / weight if mean.any() else 0.0
        squared *= kappa + float(mean @ mean) + rest
    return float(np.sqrt(squared))


def _pivot_features(basis: Basis, kappa: float) -> tuple[Vector, Vector, Vector]:
    r"""Return the map from rotated to pivot coefficients, and bounds of pivot functions.

    :math:`\Psi = (k(\cdot, P) - \bar k(P)) T` with :math:`T = C^{-\top} V`, and each
    function :math:`k(\cdot, p) - \bar k(p)` lies from :math:`-\bar k(p)` to
    :math:`\kappa - \bar k(p)`.
    """
    mean = to_numpy(basis.map.core) @ to_numpy(basis.mean)
    T: Vector = to_numpy(basis.expansion)
    return T, -mean, kappa - mean
