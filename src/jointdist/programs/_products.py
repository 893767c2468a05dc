r"""The algebra of Gram matrices of polynomials in y and x."""

import numpy as np

from jointdist.programs.objective import Matrix

__all__ = ["Products"]


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
