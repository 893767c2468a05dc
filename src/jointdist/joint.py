r"""The learned joint law: two bases, the coefficients, and the sample it stands on.

:math:`Q = \sum_{ij} \omega_i \omega_j (1 + h(x_i, y_j)) \delta_{x_i} \otimes
\delta_{y_j}` on the grid of the sample, Eq. `Qhdef`, with :math:`h = \Psi_Y(\cdot) \tilde
H \Psi_X(\cdot)^\top`, Eq. `eq:state_ij_idlowR`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jointdist._array import Array, to_numpy
from jointdist.atoms import Atoms, Vector, host_features
from jointdist.basis import Basis
from jointdist.coding import Coding
from jointdist.fitting import Problem
from jointdist.laws import Laws, Support
from jointdist.queries import Fixed, Queries
from jointdist.rows import Rows

__all__ = ["Joint"]


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint law on the grid of a sample.

    Attributes
    ----------
    problem : Problem
        The bases, the moments and the rows.
    coding_x, coding_y : Coding
        How words became numbers.
    H : array of shape (m_Y, m_X)
        The coefficients.
    """

    problem: Problem
    coding_x: Coding
    coding_y: Coding
    H: Vector

    @cached_property
    def support_x(self) -> Support:
        """The atoms of X."""
        sums, sample = self.problem.moments, self.problem.sample
        return self._support(self.problem.x, self.coding_x, sample.x, sums.sum_x, None)

    @cached_property
    def support_y(self) -> Support:
        """The atoms of Y, with the sums of their powers."""
        sums, sample = self.problem.moments, self.problem.sample
        powers = _rotated(self.problem.y, to_numpy(sums.powers_y) / sums.weight)
        return self._support(self.problem.y, self.coding_y, sample.y, sums.sum_y, powers)

    def of_y(self, x: Rows) -> Laws:
        """Return the laws of Y for rows of X, Eq. `QXYYXcond`."""
        executor, coding = self.problem.executor, self.coding_x
        return Laws(self.support_y, Queries(x, self.problem.x, self.H.T, executor, coding))

    def of_x(self, y: Rows) -> Laws:
        """Return the laws of X for rows of Y, Eq. `QXYYXcond`."""
        executor, coding = self.problem.executor, self.coding_y
        return Laws(self.support_x, Queries(y, self.problem.y, self.H, executor, coding))

    def marginal_y(self) -> Laws:
        r"""Return the law of Y, Eq. `QXYeq`: that at the mean of :math:`\Psi_X`."""
        t = self.H @ self.support_x.atoms.mean
        return Laws(self.support_y, Fixed(t[None, :]))

    def marginal_x(self) -> Laws:
        r"""Return the law of X, Eq. `QXYeq`: that at the mean of :math:`\Psi_Y`."""
        t = self.support_y.atoms.mean @ self.H
        return Laws(self.support_x, Fixed(t[None, :]))

    def ratio(self, x: Rows, y: Rows) -> Vector:
        """Return 1 + h at pairs of rows."""

        def block(_start: int, a: Array, b: Array) -> Vector:
            t = host_features(self.problem.x, a) @ self.H.T
            h: Vector = np.einsum("qm,qm->q", t, host_features(self.problem.y, b))
            return 1 + h

        return np.concatenate(list(self.problem.executor.map(block, x, y)))

    def ratio_on_grid(self, x: Rows, y: Rows) -> Vector:
        """Return 1 + h at all pairs of rows, ``(k_x, k_y)``."""
        psi = host_features(self.problem.y, y.read(0, y.n))
        return np.concatenate([1 + t @ psi.T for t in self.of_y(x).queries.parts()])

    def _support(
        self, basis: Basis, coding: Coding, rows: Rows, sums: Array, powers: Vector | None
    ) -> Support:
        ones = np.insert(to_numpy(sums) / self.problem.moments.weight, 0, 1.0)
        mean = _rotated(basis, ones[:, None])[1:, 0]
        weights, executor = self.problem.sample.weights, self.problem.executor
        return Support(Atoms(basis, coding, rows, weights, mean, executor, powers))


def _rotated(basis: Basis, sums: Vector) -> Vector:
    """Return means of ``(1, features)`` times functions, for the rotated features."""
    rest = sums[1:] - np.multiply.outer(to_numpy(basis.mean), sums[0])
    rotated: Vector = to_numpy(basis.rotation).T @ rest
    return np.concatenate([sums[:1], rotated])
