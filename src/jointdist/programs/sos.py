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
and :math:`L^*(e_{00}) = I`. The program is solved by a primal-dual interior-point method
in the scaling of Nesterov and Todd, with Mehrotra's corrector. It does not depend on the
scale of data and functions; splittings did, by factors of hundreds for data with heavy
tails or weak dependence.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from jointdist.errors import Words, is_number, is_whole, require
from jointdist.executor import one_blas_thread
from jointdist.programs._checks import require_start
from jointdist.programs._products import Products
from jointdist.programs._splitting import finished
from jointdist.programs.objective import Matrix, Objective, Vector
from jointdist.programs.solution import Solution

__all__ = ["SumOfSquares", "sum_of_squares"]

_EPS = float(np.finfo(np.float64).eps)
_FLOOR = 1e-3  # part of the unconstrained objective that gaps are relative to at least
_NOTHING = 1e-16  # objective of coefficients that are nothing beside one


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
    start: Solution | None = None,
    max_iter: int = 100,
) -> SumOfSquares:
    r"""Minimise under :math:`1 + h` being a sum of squares, Eq. `eq:semdefcone`.

    A step factorises a matrix with a row for each of the :math:`m_Y m_X` coefficients;
    10 to 20 of them are usual, whatever the data. It ends when a feasible point and a
    lower bound agree.

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
        The relative duality gap to reach. It is relative to the objective, or to a
        thousandth of the unconstrained one where that is more: the optimum may be zero.
    start : Solution, optional
        The solution of a similar program, such as that of the last :math:`\lambda` of a
        path.
    max_iter : int, default=100
        The most steps.

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
        Words(f"terms from {a.min(initial=np.inf):.6g} to {a.max(initial=0.0):.6g}"),
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
    require_start(where, start, objective)
    program = _Program(objective, products)
    with one_blas_thread:  # the matrices are small
        steps = program.run(start, tol, max_iter)
        return program.solution(objective, steps, tol)


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
    require(square, where, name, rule, Words(f"an array of shape {C.shape}"))
    require(np.isfinite(C).all(), where, name, "finite", Words("values that are not"))
    known = (C + C.transpose(0, 2, 1)) / 2
    known[0] = np.eye(C.shape[1])  # orthonormal
    known[:, 0] = known[:, :, 0] = np.eye(*C.shape[:2])  # products with one
    rule = "symmetric constants of orthonormal functions, the first of which is one"
    off = float(np.abs(C - known).max())
    got = Words(f"constants that are off by {off:.1g}")
    require(off <= 1e-6 * max(1.0, float(np.abs(C).max())), where, name, rule, got)
    return known


class _Program:
    """The program divided by c, its best feasible point and its best lower bound.

    Minimise :math:`|H|^2 - 2 <M, H>`. With the normalisation, the coefficient of one is
    fixed and its weight is zero.
    """

    def __init__(self, objective: Objective, products: Products) -> None:
        self.products, self.c = products, float(objective.a[0, 0])
        self.e = np.zeros(products.shape)
        self.e[0, 0] = 1.0
        self.total = objective.e is not None
        self.weight = 1.0 - self.e if self.total else np.ones(products.shape)
        self.M: Matrix = self.weight * objective.b / self.c
        one: Vector = np.zeros(products.size)
        one[0] = 1.0
        self.one = np.outer(one, one)
        self.gram, self.upper = self.one, 0.0
        self.Y, self.lower = np.zeros_like(self.M), -np.inf

    def run(self, start: Solution | None, tol: float, max_iter: int) -> int:
        """Improve both bounds until they agree; return the number of steps."""
        size = float(np.linalg.norm(self.products.adjoint(self.M), 2))
        if size == 0:  # no sum of squares is of use
            self.lower = 0.0
            return 0
        Q, Y = np.eye(self.products.size) / self.products.size, size * self.e
        if isinstance(start, SumOfSquares) and start.gram.shape == Q.shape:
            Q, Y = self.inside(start, Q, Y)
        self.offer(Q, Y)
        for i in range(max_iter):
            if self.gap <= tol:
                return i
            try:
                Q, Y = _Step(self, Q, Y).taken()
                self.offer(Q, Y)
            except np.linalg.LinAlgError:  # as far as rounding allows
                return i
        return max_iter

    def inside(self, start: SumOfSquares, Q: Matrix, Y: Matrix) -> tuple[Matrix, Matrix]:
        """Move a solution into the interior, by as much as it is off here."""
        old: Matrix = start.multipliers["squares"] / self.c
        self.offer(start.gram, old)
        S = self.products.adjoint(old)
        size = float(np.trace(S))
        if not self.upper - self.lower < size:
            return Q, Y
        share = (self.upper - self.lower) / size
        return start.gram + share * Q, old + (self.upper - self.lower) * self.e

    def offer(self, Q: Matrix, Y: Matrix) -> None:
        """Take what Q and Y improve, after making them feasible.

        Shares of Q and of the one are sums of squares too.
        """
        gram = Q / np.trace(Q) if self.total else Q
        H = self.products(gram) - self.e
        inner, square = float(np.sum(self.M * H)), float(np.sum(H * H))
        if inner > 0:
            share = min(1.0, inner / square)
            value = share * (share * square - 2 * inner)
            if value < self.upper:
                self.upper, self.gram = value, share * gram + (1 - share) * self.one
        S = self.products.adjoint(Y)
        w = np.linalg.eigvalsh(S)
        missing = max(0.0, len(w) * _EPS * float(np.abs(w).max()) - float(w[0]))
        Y = Y + missing * self.e
        bound = -float(np.sum(self.weight * (self.M + Y) ** 2)) - 2 * float(Y[0, 0])
        if bound > self.lower:
            self.lower, self.Y = bound, Y

    @property
    def scale(self) -> float:
        """What gaps are relative to."""
        return max(-self.upper, _FLOOR * float(np.sum(self.M**2)), _NOTHING)

    @property
    def gap(self) -> float:
        return max(self.upper - self.lower, 0.0) / self.scale

    def solution(self, objective: Objective, steps: int, tol: float) -> SumOfSquares:
        gram, Y = self.gram, self.c * self.Y
        H = self.products(gram) - self.e
        if not objective.b.any():
            return SumOfSquares(H, 0.0, multipliers={"squares": Y}, gram=gram)
        slack = abs(float(np.sum(gram * self.products.adjoint(self.Y))))
        found = finished(
            objective,
            H,
            Y,
            violation=-float(np.linalg.eigvalsh(gram)[0]),
            complementarity=slack / self.scale,
            gap=self.gap,
            optimal=self.gap <= tol,
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


class _Step:
    r"""A step of the interior-point method from Q and Y, with :math:`S = L^*(Y)`.

    In the coordinates G of Nesterov and Todd, :math:`G^\top S G = G^{-1} Q G^{-\top} =
    \mathrm{diag}(s)`, both change alike.
    """

    def __init__(self, program: _Program, Q: Matrix, Y: Matrix) -> None:
        self.program, self.Q, self.Y = program, Q, Y
        root_q = np.linalg.cholesky(Q)
        root_s = np.linalg.cholesky(program.products.adjoint(Y))
        _, self.s, V = np.linalg.svd(root_s.T @ root_q)
        self.G = root_q @ V.T / np.sqrt(self.s)
        K = program.products.curvature(self.G @ self.G.T)
        K[np.diag_indices_from(K)] += program.weight.ravel()
        self.factor = cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)

    def taken(self) -> tuple[Matrix, Matrix]:
        """Return the next Q and Y: Mehrotra's predictor, then his corrector."""
        s, n = self.s, len(self.s)
        _, dS, dQ = self.direction(np.zeros((n, n)))
        t_s, t_q = min(1.0, self.longest(dS)), min(1.0, self.longest(dQ))
        ahead = float(np.sum((np.diag(s) + t_q * dQ) * (np.diag(s) + t_s * dS)))
        mean = float(np.sum(s * s))
        centre = min(1.0, max(ahead / mean, 0.0)) ** 3 * mean / n
        second = dS @ dQ
        target = centre * np.eye(n) - (second + second.T) / 2
        dY, dS, dQ = self.direction(2 * target / np.add.outer(s, s))
        t_s, t_q = self.longest(dS), self.longest(dQ)
        share = 0.9 + 0.09 * min(1.0, t_s, t_q)
        t_s, t_q = min(1.0, share * t_s), min(1.0, share * t_q)
        Q = self.Q + t_q * self.G @ dQ @ self.G.T
        return (Q + Q.T) / 2, self.Y + t_s * dY

    def direction(self, target: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Return the changes of Y, S and Q, the latter two in scaled coordinates.

        They sum up to target - diag(s), and a full step makes H + e00 = L(Q) hold.
        """
        p = self.program
        residual = p.products(self.G @ target @ self.G.T) - p.e
        residual -= p.weight * (p.M + self.Y)
        solved = cho_solve(self.factor, residual.ravel(), check_finite=False)
        dY = np.asarray(solved).reshape(p.M.shape)
        dS = self.G.T @ p.products.adjoint(dY) @ self.G
        return dY, dS, target - np.diag(self.s) - dS

    def longest(self, change: Matrix) -> float:
        """Return the longest step that keeps diag(s) plus the change semidefinite."""
        root = np.sqrt(self.s)
        least = float(np.linalg.eigvalsh(change / np.multiply.outer(root, root))[0])
        return 1 / max(-least, 1e-300)
