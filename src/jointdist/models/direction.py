"""Conditional distributions of one side of a joint distribution given the other."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.signed import Signed
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.kernel_range import largest_kernel
from jointdist.lowrank.novelty import TRUSTED
from jointdist.lowrank.ridge import leave_one_out_residuals
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import Projector
from jointdist.projection.settings import SETTINGS

__all__ = ["Direction"]


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
        typical = self.sample.representatives(SETTINGS.tuning_rows)
        points = to_numpy(self.rows.take(typical.rows))
        left_out = self._leave_one_out(typical.rows, typical.own)
        projector = Projector.on(self.support, self.support)
        return projector.tuned(left_out, points, typical.weights)

    def _leave_one_out(self, rows: Index, w: Vector) -> Vector:
        r"""Return the coefficients at rows of the model fitted without each, in closed form.

        The mean of a function of this side is a ridge regression on those of the other.
        """
        basis, n = self.support.basis, self.sample.size
        c, c_given = (to_numpy(side.eigenvalues) / n for side in (basis, self.given))
        a = np.multiply.outer(c, c_given) + self.ridge
        inverse = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0)
        psi_given = host_features(self.given, self.given_rows.take(rows))
        psi = host_features(basis, self.rows.take(rows))
        leverage = (psi_given**2 @ inverse.T * c + 1) * (w / n)[:, None]
        observed = psi * np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)
        residuals = observed - psi_given @ self.H.T
        found: Vector = observed - leave_one_out_residuals(residuals, leverage)
        return found
