r"""Positivity everywhere by sums of squares, for polynomials.

With polynomials :math:`p` that are orthonormal under the sample, :math:`p_0 = 1`, the
objective of Eq. `eq:polynomial` is :math:`c |H|^2 - 2 \langle M, H \rangle`, and
:math:`1 + h = p_Y H p_X^\top + 1` is positive everywhere if it is a sum of squares,
Eq. `eq:semdefcone`: :math:`1 + h = z Q z^\top` with a positive semidefinite Gram matrix
:math:`Q`. Since h has degree q in x and in y, only products :math:`z` of functions of
degree q / 2 in x and in y can occur, and with the structure constants
:math:`p_i p_j = \sum_k C_{kij} p_k` of both sides

.. math:: H + e_{00} = L(Q), \qquad
    L(Q)_{kl} = \sum_{abij} C_{Y,kab}\, C_{X,lij}\, Q_{(a,i),(b,j)}.

A multiplier Y of this equation is feasible if :math:`L^*(Y)` is positive semidefinite,
and :math:`L^*(e_{00}) = I` makes any feasible: what is found is proven, however it was
found. Large programs are tried by cheap steps first; what these leave, which is much for
heavy tails or weak dependence, an interior-point method does.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.executor import one_blas_thread
from jointdist.programs._anderson import iterate
from jointdist.programs._sos_interior import interior
from jointdist.programs._sos_map import Products, Squares
from jointdist.programs._sos_splitting import Projected
from jointdist.programs._splitting import finished
from jointdist.programs.objective import Objective
from jointdist.programs.solution import Solution

__all__ = ["SumOfSquares", "sum_of_squares"]

# Coefficients above which there are no interior-point steps: each factors a square matrix of
# that size, 200 MB.
_LARGE = 5_000
# Rows of a Gram matrix up to which the cheaper splitting saves nothing, and its most steps
# before the interior-point method.
_SMALL, _CHEAP_STEPS = 50, 200


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SumOfSquares(Solution):
    r"""The solution of the sum-of-squares program.

    Attributes
    ----------
    gram : array of shape (k_Y k_X, k_Y k_X)
        The Gram matrix :math:`Q`, positive semidefinite, with
        :math:`H + e_{00} = L(Q)`. Its rows belong to the products of the first functions
        of y and of x, those of x running fastest.
    """

    gram: Matrix = field(kw_only=True)


def sum_of_squares(
    objective: Objective,
    C_y: Any,
    C_x: Any,
    *,
    tol: float = 1e-6,
    max_iter: int = 500,
) -> SumOfSquares:
    r"""Minimise under :math:`1 + h` being a sum of squares, Eq. `eq:semdefcone`.

    It ends when a feasible point and a lower bound agree. The Gram matrix has
    :math:`k_Y k_X` rows. If these are many, up to 200 steps with one eigendecomposition
    of it come first. Then 5 to 20 steps of an interior-point method follow, with a
    factorisation of a matrix that has a row for each of the :math:`m_Y m_X`
    coefficients; with more than 5,000 of them, there are no such steps.

    Parameters
    ----------
    objective : Objective
        The objective with a constant quadratic term: functions that are orthonormal
        under the sample, the first of which is one. With the normalisation
        :math:`H_{00} = 0`, or none.
    C_y, C_x : arrays of shape (m_Y, k_Y, k_Y) and (m_X, k_X, k_X)
        The structure constants: :math:`p_i p_j = \sum_k C_{kij} p_k` for the first
        functions, those of at most half the degree.
    tol : float, default=1e-6
        The relative duality gap to reach. Where the optimum is next to zero, it is
        relative to a thousandth of a simple bound: the unconstrained objective, or the
        most that :math:`2 \langle M, H \rangle` can be.
    max_iter : int, default=500
        The most steps, of both kinds together.

    Returns
    -------
    SumOfSquares
        With the multipliers ``"squares"``, a matrix Y of which :math:`L^*(Y)` is
        positive semidefinite, and ``"normalisation"`` if there is one. The constraints
        hold in any case.

    Examples
    --------
    Hermite polynomials up to degree two on both sides: a covariance of one half would
    make the density negative.

    >>> import numpy as np
    >>> from jointdist.programs import Objective, sum_of_squares
    >>> C = np.zeros((3, 2, 2))
    >>> C[0], C[1], C[2, 1, 1] = np.eye(2), np.eye(2)[::-1], np.sqrt(2)
    >>> one = np.eye(3)[0]
    >>> M = np.diag([0.0, 0.5, 0.0])
    >>> objective = Objective(M, np.ones(3), np.ones(3), 0.1, one, one)
    >>> solution = sum_of_squares(objective, C, C)
    >>> print(f"{M[1, 1] / 1.1:.3f} becomes {solution.value[1, 1]:.3f}")
    0.455 becomes 0.388
    """
    where = "sum_of_squares"
    a = objective.a
    require(
        a.size and a.min() > 0 and np.ptp(a) <= 1e-12 * a.max(),
        where,
        "objective",
        "one with a positive, constant quadratic term",
        Text(f"terms from {a.min(initial=np.inf):.6g} to {a.max(initial=0.0):.6g}"),
    )
    _require_unit(where, "mean_y", objective.mean_y)
    _require_unit(where, "mean_x", objective.mean_x)
    m_y, m_x = objective.b.shape
    products = Products(
        _constants(where, "C_y", C_y, m_y), _constants(where, "C_x", C_x, m_x)
    )
    require(is_number(tol, least=0.0), where, "tol", "a number of at least zero", tol)
    whole = is_whole(max_iter, least=1)
    require(whole, where, "max_iter", "a whole number of at least one", max_iter)
    program = Squares(objective, products)
    with one_blas_thread() as one, one:  # the matrices are small
        steps = _solved(program, tol, max_iter)
        return _solution(program, objective, steps, tol)


def _require_unit(where: str, name: str, mean: Vector | None) -> None:
    """Require means that are those of orthonormal functions, the first of which is one."""
    if mean is not None:
        unit = np.allclose(mean, np.eye(len(mean))[0], rtol=0, atol=1e-8)
        require(unit, where, f"objective.{name}", "the first unit vector, or None", mean)


def _constants(where: str, name: str, value: Any, m: int) -> Matrix:
    """Return structure constants after checking what they say of products with one."""
    C: Matrix = np.asarray(value, np.float64)
    square = C.ndim == 3 and C.shape[0] == m and 1 <= C.shape[1] == C.shape[2] <= m
    rule = f"of shape ({m}, k, k) with k from 1 to {m}"
    require(square, where, name, rule, Text(f"an array of shape {C.shape}"))
    require(np.isfinite(C).all(), where, name, "finite", Text("values that are not"))
    known = (C + C.transpose(0, 2, 1)) / 2
    known[0] = np.eye(C.shape[1])  # orthonormal
    known[:, 0] = known[:, :, 0] = np.eye(*C.shape[:2])  # products with one
    rule = "symmetric constants of orthonormal functions, the first of which is one"
    off = float(np.abs(C - known).max())
    got = Text(f"constants that are off by {off:.1g}")
    require(off <= 1e-6 * max(1.0, float(np.abs(C).max())), where, name, rule, got)
    return known


def _solved(program: Squares, tol: float, max_iter: int) -> int:
    """Solve a program; return the number of steps."""
    if program.reach == 0:  # no sum of squares is of use
        program.lower = 0.0
        return 0
    steps = 0
    large = program.e.size > _LARGE
    if program.products.size > _SMALL:
        splitting = Projected(program, tol)
        most = max_iter if large else min(_CHEAP_STEPS, max_iter)
        steps = iterate(splitting, splitting.first, most)
    return steps if large else steps + interior(program, tol, max_iter - steps)


def _solution(
    program: Squares, objective: Objective, steps: int, tol: float
) -> SumOfSquares:
    gram, Y = program.gram, program.c * program.Y
    H = program.products(gram) - program.e
    if not objective.b.any():
        return SumOfSquares(H, 0.0, multipliers={"squares": Y}, gram=gram)
    slack = abs(float(np.sum(gram * program.products.adjoint(program.Y))))
    found = finished(
        objective,
        H,
        Y,
        violation=-float(np.linalg.eigvalsh(gram)[0]),
        complementarity=slack / program.scale,
        gap=program.gap,
        optimal=program.gap <= tol,
        multipliers={"squares": Y},
        iterations=steps,
    )
    return SumOfSquares(
        found.value,
        found.objective,
        found.status,
        found.certificate,
        found.multipliers,
        steps,
        gram=gram,
    )
