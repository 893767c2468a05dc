r"""The fitted joint distribution: two bases, the coefficients, and the sample it stands on.

:math:`Q = \sum_{ij} \omega_i \omega_j (1 + h(x_i, y_j)) \delta_{x_i} \otimes
\delta_{y_j}` on the grid of the sample, Eq. `Qhdef`: the product of the empirical marginals
times a ratio. Its deviation from one is :math:`h = \Psi_Y(\cdot) \tilde H
\Psi_X(\cdot)^\top`, Eq. `eq:state_ij_idlowR`, linear in both bases.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jointdist._array import Array, Index, Vector
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.distributions.linear import LinearDistributions
from jointdist.lowrank.basis import host_features
from jointdist.models.coefficients import Problem
from jointdist.models.direction import Direction
from jointdist.programs import Solution

__all__ = ["Joint"]


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint distribution on the grid of a sample.

    Attributes
    ----------
    problem : Problem
        The bases, the moments and the rows.
    encodings : tuple of Encoding
        The columns of X and Y.
    solution : Solution
        The coefficients, with their certificate.
    positivity : str
        Whether conditional distributions are ``"projected"``, ``"isotonic"`` or left signed.
    ridge : float or array of shape (m_Y,)
        The ridge of the model.
    grid : array of int
        The rows on whose grid positivity ``"grid"`` holds.
    """

    problem: Problem
    encodings: tuple[Encoding, Encoding]
    solution: Solution
    positivity: str
    ridge: float | Vector
    grid: Index

    @property
    def H(self) -> Vector:  # noqa: N802
        """The coefficients, of shape (m_Y, m_X)."""
        return self.solution.value

    @cached_property
    def y_given_x(self) -> "Direction":
        """The conditional distributions of Y given X."""
        problem, (encoding_x, encoding_y) = self.problem, self.encodings
        return Direction(
            support=problem.support_y(encoding_y),
            rows=problem.sample.y,
            given=problem.x,
            given_rows=problem.sample.x,
            given_encoding=encoding_x,
            H=self.H,
            ridge=np.reshape(self.ridge, (-1, 1)),
            positivity=self.positivity,
            sample=problem.sample,
            executor=problem.executor,
        )

    @cached_property
    def x_given_y(self) -> "Direction":
        """The conditional distributions of X given Y."""
        problem, (encoding_x, encoding_y) = self.problem, self.encodings
        return Direction(
            support=problem.support_x(encoding_x),
            rows=problem.sample.x,
            given=problem.y,
            given_rows=problem.sample.y,
            given_encoding=encoding_y,
            H=self.H.T,
            ridge=np.reshape(self.ridge, (1, -1)),
            positivity=self.positivity,
            sample=problem.sample,
            executor=problem.executor,
        )

    def of_y(self, x: Rows) -> LinearDistributions:
        """Return the distributions of Y given rows of X, Eq. `QXYYXcond`: Bayes' rule."""
        return self.y_given_x.at(x)

    def of_x(self, y: Rows) -> LinearDistributions:
        """Return the distributions of X given rows of Y, Eq. `QXYYXcond`: Bayes' rule."""
        return self.x_given_y.at(y)

    def marginal_y(self) -> LinearDistributions:
        r"""Return the marginal of Y, Eq. `QXYeq`: at the mean of :math:`\Psi_X`."""
        return self.y_given_x.at_mean(self.x_given_y.support.mean)

    def marginal_x(self) -> LinearDistributions:
        r"""Return the marginal of X, Eq. `QXYeq`: at the mean of :math:`\Psi_Y`."""
        return self.x_given_y.at_mean(self.y_given_x.support.mean)

    def energy_scores(self, x: Rows, y: Vector) -> tuple[Vector, Vector]:
        """Return the energy scores of the distributions at rows, and of the marginal."""
        return self.of_y(x).energy_scores(y)

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
        signed = replace(self.y_given_x.conditions(x), trusted=0.0)
        return np.concatenate([1 + t @ psi.T for t in signed.parts()])
