"""Conditional distributions of one side of a joint distribution given the other."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import one_blas_thread
from jointdist.data.table import Rows
from jointdist.distributions.averaged import Averaged
from jointdist.distributions.conditions import Fixed, Queries
from jointdist.distributions.groups import Groups
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.seen import About
from jointdist.distributions.signed import Signed
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.novelty import TRUSTED
from jointdist.lowrank.ridge import leave_one_out_residuals
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import Projector

__all__ = ["Direction", "Regression", "Typical", "calibrated", "is_projected"]


def is_projected(positivity: str) -> bool:
    """Tell whether distributions are projected when they are evaluated."""
    return positivity in ("projected", "isotonic")


@dataclass(frozen=True, eq=False)
class Typical:
    """Rows by which the ridge of a projection is chosen.

    Attributes
    ----------
    points : array of shape (k, d)
        The rows of the side whose distributions are asked, coded.
    given : array of shape (k, d_given)
        Those of the side that is given.
    weights : array of shape (k,)
        The weight of the rows that each of them represents.
    own : array of shape (k,)
        The weight that leaves the sample if one is left out.
    few : SupportPoints, optional
        Rows of the sample on which projections are compared, if not on all.
    left_out : callable, optional
        From a model to its coefficients at these rows if folds are left out, where rows
        cannot be left out one by one.
    """

    points: Vector
    given: Vector
    weights: Vector
    own: Vector
    few: SupportPoints | None = None
    left_out: Callable[["Regression"], Vector] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Direction:
    """The conditional distributions of one side given the other: a small value.

    Attributes
    ----------
    support : KernelSupport
        The support points of the distributions.
    given : Basis
        The basis of the side that is given.
    encoding : Encoding
        The columns of that side.
    H : array of shape (m, m_given)
        The coefficients.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    most : float
        The largest kernel of a row of the side that is given.
    projector : Projector or IsotonicProjector, optional
        What projects signed distributions, calibrated; None if they stay signed, or if they
        are isotonic and this side is not one column of numbers.
    support_error : float, default=0.0
        By how much cdfs differ from those on all rows of the sample, at most.
    """

    support: KernelSupport
    given: Basis
    encoding: Encoding
    H: Vector
    positivity: str
    most: float
    projector: Projector | IsotonicProjector | None = None
    support_error: float = 0.0

    def at(self, rows: Rows, about: About | None = None) -> LinearDistributions:
        """Return the distributions given rows of the other side."""
        return self._proper(Signed(self.support, self.conditions(rows, about)))

    def averaged(
        self, rows: Rows, groups: Groups, about: About | None = None
    ) -> LinearDistributions:
        """Return averages of the signed distributions given rows, group by group, projected.

        Parameters
        ----------
        rows : Rows
            Rows of the other side.
        groups : Groups
            Their groups and shares.
        about : About, optional
            What is known about such rows.
        """
        conditions = Averaged(self.conditions(rows, about), groups)
        return self._proper(Signed(self.support, conditions))

    def at_mean(self, mean: Vector) -> LinearDistributions:
        """Return the marginal distribution, where the other side's features are their mean."""
        t = self.H @ mean
        signed = Signed(self.support, Fixed(t[None, :]))
        return self._proper(signed) if t.any() else signed

    def conditions(self, rows: Rows, about: About | None = None) -> Queries:
        """Return rows as conditions; out of distribution they revert to the marginal.

        Signed distributions do not revert.
        """
        projected = is_projected(self.positivity)
        trusted = TRUSTED * (1 - self.given.relative_error) if projected else 0.0
        return Queries(
            rows,
            self.given,
            self.H.T,
            self.support.points.executor,
            self.encoding,
            trusted=trusted,
            most=self.most,
            about=about,
        )

    def _proper(self, signed: LinearDistributions) -> LinearDistributions:
        if not is_projected(self.positivity):
            return signed
        if self.projector is None:  # raises, as this side is not one column of numbers
            where = self.support.points.rows.where
            return IsotonicProjector.on(self.support, where).project(signed)
        return self.projector.project(signed)


@dataclass(frozen=True, eq=False)
class Regression:
    """A direction of a joint distribution as ridge regressions of its functions.

    Attributes
    ----------
    support : KernelSupport
        The support points of the distributions.
    given : Basis
        The basis of the side that is given.
    H : array of shape (m, m_given)
        The coefficients.
    ridge : array of shape (m, 1) or (1, m_given)
        The ridge of the model.
    size : float
        The weight of the sample.
    """

    support: KernelSupport
    given: Basis
    H: Vector
    ridge: Vector
    size: float

    def leave_one_out(self, typical: Typical) -> Vector:
        r"""Return the coefficients at rows of the model fitted without each, in closed form.

        The mean of a function of this side is a ridge regression on those of the other.

        Parameters
        ----------
        typical : Typical
            The rows.
        """
        basis, n = self.support.basis, self.size
        c, c_given = (to_numpy(side.eigenvalues) / n for side in (basis, self.given))
        a = np.multiply.outer(c, c_given) + self.ridge
        inverse = np.divide(1.0, a, out=np.zeros_like(a), where=a > 0)
        psi_given = host_features(self.given, typical.given)
        psi = host_features(basis, typical.points)
        leverage = (psi_given**2 @ inverse.T * c + 1) * (typical.own / n)[:, None]
        observed = psi * np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)
        residuals = observed - psi_given @ self.H.T
        found: Vector = observed - leave_one_out_residuals(residuals, leverage)
        return found


def calibrated(
    model: Regression, positivity: str, typical: Typical | float | None
) -> Projector | IsotonicProjector | None:
    """Return the projector whose ridge has the best leave-one-out score; None if signed.

    Parameters
    ----------
    model : Regression
        The signed distributions.
    positivity : str
        Whether distributions are ``"projected"``, ``"isotonic"`` or left signed.
    typical : Typical or float, optional
        The rows that are left out, or the ridge; by default that is the default one.
    """
    support = model.support
    if positivity == "isotonic" and support.points.is_scalar:
        return IsotonicProjector.on(support, support.points.rows.where)
    if positivity != "projected":
        return None
    projector = Projector.on(support, support)
    if isinstance(typical, float):
        return projector.with_ridge(typical)
    if typical is None or not len(typical.points):
        return projector
    with one_blas_thread() as one, one:  # the matrices are small
        judge = projector if typical.few is None else projector.on_fewer(typical.few)
        without = typical.left_out
        left_out = model.leave_one_out(typical) if without is None else without(model)
        best = judge.best_ridge(left_out, typical.points, typical.weights, follow=True)
    return projector.with_ridge(best)
