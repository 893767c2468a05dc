r"""A splitting for sums of squares: steps that cost one eigendecomposition.

Coefficients of a Gram matrix that minimise the objective near another Gram matrix are
found in closed form, as :math:`L L^*` is a product of both sides; the semidefinite matrix
next to a symmetric one too. On ordinary data this takes a hundred cheap steps; with heavy
tails or next to no dependence it takes far too many.
"""

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist.programs._sos_map import Squares

__all__ = ["Projected"]

_RELAXATION = 1.6  # over-relaxation of a step, in (0, 2): 1.5 to 1.8 are usual
_BAND = 3.0  # factor by which the weight may differ from the best guess before it changes


class Projected:
    """The splitting into the normalised objective and the semidefinite matrices."""

    def __init__(self, program: Squares, tol: float) -> None:
        self.program, self.tol = program, tol
        flat_y, flat_x = program.products.flat_y, program.products.flat_x
        w_y, self.Q_y = np.linalg.eigh(flat_y @ flat_y.T)
        w_x, self.Q_x = np.linalg.eigh(flat_x @ flat_x.T)
        self.spread: Matrix = np.multiply.outer(w_y.clip(0), w_x.clip(0))
        S = program.products.adjoint(program.Y)
        usual = S if S.any() else program.products.adjoint(program.M)
        self.use_weight(float(np.linalg.norm(usual) / np.linalg.norm(program.gram)))
        self.first: Vector = (program.gram - S / self.rho).ravel()

    def use_weight(self, rho: float) -> None:
        self.rho, self.inverse = rho, 1 / (rho + self.spread)
        self.pull = self.diagonal(self.inverse, self.program.e)
        self.pulled = self.diagonal(self.spread, self.pull)

    def diagonal(self, D: Matrix, Y: Matrix) -> Matrix:
        """Return what a function of L L*, with eigenvalues D, makes of Y."""
        result: Matrix = self.Q_y @ (D * (self.Q_y.T @ Y @ self.Q_x)) @ self.Q_x.T
        return result

    def step(self, v: Vector) -> Vector:
        p, n = self.program, self.program.products.size
        V = v.reshape(n, n)
        G = p.products(V)
        Y = self.diagonal(self.inverse, p.M + p.e - G)
        G = G + self.diagonal(self.spread, Y)
        if p.total:
            mu = (G[0, 0] - 1) / self.pulled[0, 0]
            Y, G = Y - mu * self.pull, G - mu * self.pulled
        self.G, Q = G, V + p.products.adjoint(Y)
        self.split(2 * Q - V)
        new: Matrix = V + _RELAXATION * (self.Z - Q)
        return new.ravel()

    def split(self, W: Matrix) -> None:
        """Set the positive and the negative part of a matrix, from the smaller one."""
        w, P = np.linalg.eigh(W)
        below = int(np.searchsorted(w, 0.0))
        part = slice(below) if 2 * below < len(w) else slice(below, None)
        some = (P[:, part] * w[part]) @ P[:, part].T
        if part.start is None:
            self.Z, self.negative = W - some, some
        else:
            self.Z, self.negative = some, W - some

    def done(self) -> bool:
        """Improve both bounds from the last step."""
        p = self.program
        p.offer(self.Z, self.G - p.e - p.M)
        return p.gap <= self.tol

    def reweighted(self, *, often: bool) -> Vector | None:  # noqa: ARG002
        """Balance the parts, which multiplier and Gram matrix are at the optimum."""
        sizes = float(np.linalg.norm(self.negative)), float(np.linalg.norm(self.Z))
        factor = min(max(sizes[0] / max(sizes[1], 1e-300), 1e-3), 1e3)
        if 1 / _BAND <= factor <= _BAND:
            return None
        self.use_weight(self.rho * factor)
        v: Matrix = self.Z + self.negative / factor
        return v.ravel()
