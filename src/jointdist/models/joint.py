r"""The learned joint law: two bases, the coefficients, and the sample it stands on.

:math:`Q = \sum_{ij} \omega_i \omega_j (1 + h(x_i, y_j)) \delta_{x_i} \otimes
\delta_{y_j}` on the grid of the sample, Eq. `Qhdef`, with :math:`h = \Psi_Y(\cdot) \tilde
H \Psi_X(\cdot)^\top`, Eq. `eq:state_ij_idlowR`.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.signed import Laws, Support
from jointdist.distributions.support_points import Atoms
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.novelty import TRUSTED, largest_kernel
from jointdist.models.coefficients import Problem
from jointdist.projection.projector import TRIED, Isotonic, Projector
from jointdist.selection.risk import Outcomes

__all__ = ["Joint", "held_outcomes"]

_ALONE = 1 - 1e-9  # the leverage of a row, at most


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint law on the grid of a sample.

    Attributes
    ----------
    problem : Problem
        The bases, the moments and the rows.
    encoding_x, encoding_y : Encoding
        How words became numbers.
    H : array of shape (m_Y, m_X)
        The coefficients.
    positivity : str, default="none"
        Whether conditional laws are ``"projected"``, ``"isotonic"`` or left as they are.
    ridge : float or array of shape (m_Y,), default=0.0
        The ridge of the model.
    """

    problem: Problem
    encoding_x: Encoding
    encoding_y: Encoding
    H: Vector
    positivity: str = "none"
    ridge: float | Vector = 0.0

    @cached_property
    def support_x(self) -> Support:
        """The atoms of X."""
        sums, sample = self.problem.moments, self.problem.sample
        return self._support(self.problem.x, self.encoding_x, sample.x, sums.sum_x, None)

    @cached_property
    def support_y(self) -> Support:
        """The atoms of Y, with the sums of their powers."""
        sums, sample = self.problem.moments, self.problem.sample
        powers = _rotated(self.problem.y, to_numpy(sums.powers_y) / sums.weight)
        return self._support(self.problem.y, self.encoding_y, sample.y, sums.sum_y, powers)

    def of_y(self, x: Rows) -> Laws:
        """Return the laws of Y for rows of X, Eq. `QXYYXcond`."""
        return self._valid_y(Laws(self.support_y, self._asked(x, towards_y=True)))

    def of_x(self, y: Rows) -> Laws:
        """Return the laws of X for rows of Y, Eq. `QXYYXcond`."""
        return self._valid_x(Laws(self.support_x, self._asked(y, towards_y=False)))

    def marginal_y(self) -> Laws:
        r"""Return the law of Y, Eq. `QXYeq`: that at the mean of :math:`\Psi_X`."""
        t = self.H @ self.support_x.atoms.mean
        dists = Laws(self.support_y, Fixed(t[None, :]))
        return self._valid_y(dists) if t.any() else dists

    def marginal_x(self) -> Laws:
        r"""Return the law of X, Eq. `QXYeq`: that at the mean of :math:`\Psi_Y`."""
        t = self.support_y.atoms.mean @ self.H
        dists = Laws(self.support_x, Fixed(t[None, :]))
        return self._valid_x(dists) if t.any() else dists

    @property
    def is_valid(self) -> bool:
        """Whether laws are made valid when they are asked for."""
        return self.positivity in ("projected", "isotonic")

    @cached_property
    def projector_y(self) -> Projector | Isotonic:
        """What makes laws of Y valid."""
        return self._projector(self.support_y, towards_y=True)

    @cached_property
    def projector_x(self) -> Projector | Isotonic:
        """What makes laws of X valid."""
        return self._projector(self.support_x, towards_y=False)

    def _valid_y(self, dists: Laws) -> Laws:
        return self.projector_y.dists(dists) if self.is_valid else dists

    def _valid_x(self, dists: Laws) -> Laws:
        return self.projector_x.dists(dists) if self.is_valid else dists

    def _asked(self, rows: Rows, *, towards_y: bool) -> Queries:
        """Return conditions on a side; those unlike the sample say less, of valid laws."""
        problem = self.problem
        basis, H = (problem.x, self.H.T) if towards_y else (problem.y, self.H)
        encoding = self.encoding_x if towards_y else self.encoding_y
        trusted = TRUSTED * (1 - basis.relative_error) if self.is_valid else 0.0
        most = self._most_x if towards_y else self._most_y
        return Queries(
            rows, basis, H, problem.executor, encoding, trusted=trusted, most=most
        )

    @cached_property
    def _most_x(self) -> float:
        return self._most(self.problem.x, self.problem.sample.x)

    @cached_property
    def _most_y(self) -> float:
        return self._most(self.problem.y, self.problem.sample.y)

    def _most(self, basis: Basis, rows: Rows) -> float:
        weights = self.problem.sample.weights
        return largest_kernel(basis.map, rows, weights, self.problem.executor)

    def _projector(self, support: Support, *, towards_y: bool) -> Projector | Isotonic:
        rows = self.problem.sample.y if towards_y else self.problem.sample.x
        if self.positivity == "isotonic":
            return Isotonic.on(support, rows.where)
        some = self.problem.sample.typical(TRIED)
        points = to_numpy(rows.take(some.rows))
        left_out = self._left_out(some.rows, some.own, towards_y=towards_y)
        return Projector.on(support, support).tuned(left_out, points, some.weights)

    def _left_out(self, rows: NDArray[np.intp], w: Vector, *, towards_y: bool) -> Vector:
        r"""Return the laws at rows of the sample by the model without each, in closed form.

        The mean of a function of Y is a ridge regression on those of X, so that without row
        k, of weight w, it is :math:`(\hat\psi - h \psi) / (1 - h)`, with the leverage h.
        """
        problem, sample = self.problem, self.problem.sample
        n = problem.moments.weight
        psi_x = host_features(problem.x, sample.x.take(rows))
        psi_y = host_features(problem.y, sample.y.take(rows))
        c_x, c_y = (to_numpy(side.eigenvalues) / n for side in (problem.x, problem.y))
        a = np.multiply.outer(c_y, c_x) + np.reshape(self.ridge, (-1, 1))
        inverse = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0)
        H, given, own, c = self.H, psi_x, psi_y, c_y
        if not towards_y:
            H, inverse, given, own, c = H.T, inverse.T, psi_y, psi_x, c_x
        leverage = (given**2 @ inverse.T * c + 1) * (w / n)[:, None]
        leverage = np.minimum(leverage, _ALONE)
        t = given @ H.T
        scale = np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)
        found: Vector = (t - leverage * own * scale) / (1 - leverage)
        return found

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
        signed = replace(self._asked(x, towards_y=True), trusted=0.0)
        return np.concatenate([1 + t @ psi.T for t in signed.parts()])

    def _support(
        self,
        basis: Basis,
        encoding: Encoding,
        rows: Rows,
        sums: Array,
        powers: Vector | None,
    ) -> Support:
        ones = np.insert(to_numpy(sums) / self.problem.moments.weight, 0, 1.0)
        mean = _rotated(basis, ones[:, None])[1:, 0]
        weights, executor = self.problem.sample.weights, self.problem.executor
        return Support(Atoms(basis, encoding, rows, weights, mean, executor, powers))


def _rotated(basis: Basis, sums: Vector) -> Vector:
    """Return means of ``(1, features)`` times functions, for the rotated features."""
    rest = sums[1:] - np.multiply.outer(to_numpy(basis.mean), sums[0])
    rotated: Vector = to_numpy(basis.rotation).T @ rest
    return np.concatenate([sums[:1], rotated])


def held_outcomes(
    problem: Problem, encodings: tuple[Encoding, Encoding], held: Sample, psi: Vector
) -> Outcomes:
    """Return rows held out as the laws of a joint model of other rows see them.

    Parameters
    ----------
    problem : Problem
        The other rows, and the bases.
    encodings : tuple of Encoding
        How words of both sides became numbers.
    held : Sample
        The rows held out.
    psi : array of shape (q, m_Y)
        The functions of Y at them.
    """
    none = np.zeros((problem.y.rank, problem.x.rank))
    points = to_numpy(held.y.read(0, held.n))
    return Outcomes(Joint(problem, *encodings, none).support_y, points, held.weights, psi)
