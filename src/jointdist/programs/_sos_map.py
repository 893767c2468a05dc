r"""The sum-of-squares program: its linear map, and what is known of its optimum."""

import numpy as np

from jointdist._array import Matrix
from jointdist.programs.objective import Objective

__all__ = ["Products", "Squares"]

_EPS = float(np.finfo(np.float64).eps)
# Gaps are relative to the objective, or to this share of a bound of it if that is more: an
# optimum next to zero needs no digits.
_FLOOR = 1e-3
_NEGLIGIBLE = 1e-16  # objective of coefficients that are rounding beside one


class Products:
    """The linear map L from Gram matrices to coefficients of their polynomials."""

    def __init__(self, C_y: Matrix, C_x: Matrix) -> None:
        self.C_y, self.C_x = C_y, C_x
        self.shape = len(C_y), len(C_x)
        self.sides = C_y.shape[1], C_x.shape[1]
        self.size = C_y.shape[1] * C_x.shape[1]
        self.flat_y = C_y.reshape(len(C_y), -1)
        self.flat_x = C_x.reshape(len(C_x), -1)

    def __call__(self, Q: Matrix) -> Matrix:
        """Return L(Q), the coefficients of z Q z'."""
        y, x = self.sides
        B = Q.reshape(y, x, y, x).transpose(0, 2, 1, 3).reshape(y * y, x * x)
        return self.flat_y @ B @ self.flat_x.T

    def adjoint(self, Y: Matrix) -> Matrix:
        """Return the symmetric matrix of the form Q -> <Y, L(Q)>."""
        y, x = self.sides
        B = (self.flat_y.T @ Y @ self.flat_x).reshape(y, y, x, x)
        return B.transpose(0, 2, 1, 3).reshape(self.size, self.size)

    def curvature(self, W: Matrix) -> Matrix:
        """Return the matrix of Y -> L(W L*(Y) W): what is on and above its diagonal.

        For each pair of functions of y, first the sum over their indices, then that
        over the indices of x; nothing larger than the result is formed.
        """
        (m_y, m_x), (y, x) = self.shape, self.sides
        U = np.tensordot(self.C_y, W.reshape(y, x, y, x), (2, 0))  # k, a, j, b, i
        left = U.transpose(0, 4, 2, 1, 3).reshape(m_y, x * x, y * y)
        right = U.transpose(3, 1, 0, 4, 2).reshape(y * y, m_y * x * x)
        result = np.zeros((m_y, m_x, m_y, m_x))
        for k in range(m_y):
            V = left[k] @ right[:, k * x * x :]  # (i', j), (k', i, j')
            V = V.reshape(x, x, -1, x, x).transpose(3, 1, 2, 0, 4).reshape(x * x, -1)
            V = (self.flat_x @ V).reshape(m_x, -1, x * x)
            result[k, :, k:] = V @ self.flat_x.T
        return result.reshape(m_y * m_x, m_y * m_x)


class Squares:
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
        self.one = np.zeros((products.size, products.size))
        self.one[0, 0] = 1.0
        self.reach = float(np.linalg.norm(products.adjoint(self.M), 2))
        bound = min(float(np.sum(self.M**2)), 2 * self.reach)
        self.floor = max(_FLOOR * bound, _NEGLIGIBLE)
        self.gram, self.upper = self.one, 0.0
        self.Y, self.lower = np.zeros_like(self.M), -np.inf

    def offer(self, Q: Matrix, Y: Matrix) -> None:
        """Take what Q and Y improve, after making them feasible.

        Shares of Q and of the one are sums of squares too; the multiple of e00 that
        is missing from, or too much in Y is known from the least eigenvalue.
        """
        gram = (Q + Q.T) / 2
        if self.total and (trace := float(np.trace(Q))) > 0:
            gram /= trace
        H = self.products(gram) - self.e
        inner, square = float(np.sum(self.M * H)), float(np.sum(H * H))
        share = min(1.0, inner / square) if inner > 0 else 0.0
        value = share * (share * square - 2 * inner)
        if value < self.upper:
            self.upper, self.gram = value, share * gram + (1 - share) * self.one
        w = np.linalg.eigvalsh(self.products.adjoint(Y))
        missing = len(w) * _EPS * float(np.abs(w).max()) - float(w[0])
        Y = Y + (missing if self.total else max(missing, 0.0)) * self.e
        bound = -float(np.sum(self.weight * (self.M + Y) ** 2)) - 2 * float(Y[0, 0])
        if bound > self.lower:
            self.lower, self.Y = bound, Y

    @property
    def scale(self) -> float:
        """What gaps are relative to."""
        return max(-self.upper, self.floor)

    @property
    def gap(self) -> float:
        """The relative gap that is proven."""
        return max(self.upper - self.lower, 0.0) / self.scale
