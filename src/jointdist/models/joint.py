r"""The fitted joint distribution: two bases, the coefficients, and the sample it stands on.

:math:`Q = \sum_{ij} \omega_i \omega_j (1 + h(x_i, y_j)) \delta_{x_i} \otimes
\delta_{y_j}` on the grid of the sample, Eq. `Qhdef`: the product of the empirical marginals
times a ratio. Its deviation from one is :math:`h = \Psi_Y(\cdot) \tilde H
\Psi_X(\cdot)^\top`, Eq. `eq:state_ij_idlowR`, linear in both bases.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.signed import Signed
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.novelty import TRUSTED, largest_kernel
from jointdist.models.coefficients import Problem
from jointdist.programs import Solution
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import TUNING_ROWS, Projector

__all__ = ["Direction", "Joint"]

_ALONE = 1 - 1e-9  # the leverage of a row, at most


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Direction:
    """The conditional distributions of one side given the other.

    Attributes
    ----------
    support : KernelSupport
        The support points of the distributions.
    rows : Rows
        The sample of their side.
    given : Basis
        The basis of the side that is given.
    given_rows : Rows
        The sample of that side.
    given_encoding : Encoding
        The columns of that side.
    H : array of shape (m, m_given)
        The coefficients.
    ridge : array of shape (m, 1) or (1, m_given)
        The ridge of the model.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    sample : Sample
        The paired rows.
    executor : Executor
        Runs the row blocks.
    """

    support: KernelSupport
    rows: Rows
    given: Basis
    given_rows: Rows
    given_encoding: Encoding
    H: Vector
    ridge: Vector
    positivity: str
    sample: Sample
    executor: Executor

    def at(self, rows: Rows) -> LinearDistributions:
        """Return the distributions given rows of the other side."""
        return self._proper(Signed(self.support, self.conditions(rows)))

    def at_mean(self, mean: Vector) -> LinearDistributions:
        """Return the marginal distribution, where the other side's features are their mean."""
        t = self.H @ mean
        signed = Signed(self.support, Fixed(t[None, :]))
        return self._proper(signed) if t.any() else signed

    def conditions(self, rows: Rows) -> Queries:
        """Return rows as conditions; out of distribution they revert to the marginal.

        Signed distributions do not revert.
        """
        trusted = TRUSTED * (1 - self.given.relative_error) if self._is_projected else 0.0
        return Queries(
            rows,
            self.given,
            self.H.T,
            self.executor,
            self.given_encoding,
            trusted=trusted,
            most=self._largest_kernel,
        )

    @property
    def _is_projected(self) -> bool:
        return self.positivity in ("projected", "isotonic")

    def _proper(self, signed: LinearDistributions) -> LinearDistributions:
        return self.projector.project(signed) if self._is_projected else signed

    @cached_property
    def _largest_kernel(self) -> float:
        weights = self.sample.weights
        return largest_kernel(self.given.map, self.given_rows, weights, self.executor)

    @cached_property
    def projector(self) -> Projector | IsotonicProjector:
        """What projects signed distributions; its ridge has the best leave-one-out score."""
        if self.positivity == "isotonic":
            return IsotonicProjector.on(self.support, self.rows.where)
        typical = self.sample.representatives(TUNING_ROWS)
        points = to_numpy(self.rows.take(typical.rows))
        left_out = self._leave_one_out(typical.rows, typical.own)
        projector = Projector.on(self.support, self.support)
        return projector.tuned(left_out, points, typical.weights)

    def _leave_one_out(self, rows: Index, w: Vector) -> Vector:
        r"""Return the coefficients at rows of the model fitted without each, in closed form.

        The mean of a function of this side is a ridge regression on those of the other, so
        that without row k, of weight w, it is :math:`(\hat\psi - h \psi) / (1 - h)`, with the
        leverage h.
        """
        basis, n = self.support.basis, self.sample.size
        c, c_given = (to_numpy(side.eigenvalues) / n for side in (basis, self.given))
        a = np.multiply.outer(c, c_given) + self.ridge
        inverse = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0)
        psi_given = host_features(self.given, self.given_rows.take(rows))
        psi = host_features(basis, self.rows.take(rows))
        leverage = (psi_given**2 @ inverse.T * c + 1) * (w / n)[:, None]
        leverage = np.minimum(leverage, _ALONE)
        scale = np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)
        found: Vector = (psi_given @ self.H.T - leverage * psi * scale) / (1 - leverage)
        return found
