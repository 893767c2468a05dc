r"""A primal-dual interior-point method for sums of squares.

In the scaling of Nesterov and Todd, with Mehrotra's corrector. It takes 10 to 20 steps
whatever the scale of data and functions, each with a factorisation of a matrix that has a
row for each coefficient.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from jointdist._array import Matrix
from jointdist.programs._sos_map import Squares

__all__ = ["interior"]


def interior(program: Squares, tol: float, max_iter: int) -> int:
    """Improve both bounds of a program until they agree; return the number of steps."""
    Q, Y = _inside(program)
    for i in range(max_iter):
        if program.gap <= tol:
            return i
        try:
            Q, Y = _Step(program, Q, Y).taken()
            program.offer(Q, Y)
        except np.linalg.LinAlgError:  # as far as rounding allows
            return i
    return max_iter


def _inside(program: Squares) -> tuple[Matrix, Matrix]:
    """Return a point to begin with: the best one, moved inside by as much as it is off."""
    products, e = program.products, program.e
    Q = np.eye(products.size) / products.size
    Y = program.reach * e
    program.offer(Q, Y)
    off = program.upper - program.lower
    size = float(np.trace(products.adjoint(program.Y)))
    if off < size:
        return program.gram + off / size * Q, program.Y + off * e
    return Q, Y


class _Step:
    r"""A step of the interior-point method from Q and Y, with :math:`S = L^*(Y)`.

    In the coordinates G of Nesterov and Todd, :math:`G^\top S G = G^{-1} Q G^{-\top} =
    \mathrm{diag}(s)`, both change alike.
    """

    def __init__(self, program: Squares, Q: Matrix, Y: Matrix) -> None:
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
