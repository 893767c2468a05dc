r"""Criteria of selection: how well models without a fold predict the held-out rows.

* The *energy risk* is the mean energy score of the conditional distributions, the CRPS if Y
  has one column.
* The *ratio risk* is the squared distance of the ratio of the model to the true one over the
  product of the marginals, up to a constant:
  :math:`\langle H, S_Y H S_X \rangle - 2\, \overline{h(x_i, y_i)} + 2\, \overline{h}` with
  the second moments :math:`S` of the functions over the held-out rows.

Both are quadratic in H, and cost a few small products for each ridge; the energy risk is not
if distributions are divided by a mass that is not one. All other criteria are mean scores of
distributions and outcomes.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist import scores
from jointdist._array import Vector
from jointdist._cached import cached
from jointdist._rules import Text, require
from jointdist.distributions.arguments import decoded
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.energy import Energy, distances
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.signed import Signed
from jointdist.distributions.support import LEAST_MASS, Support
from jointdist.errors import SignedDistributionWarning

__all__ = ["Criterion", "Outcomes", "Risk", "Trial", "energy_risk", "ratio_risk", "risk_of"]

Criterion: TypeAlias = str | Callable[[Conditional, Any], ArrayLike]

_SCORES = ("crps", "energy_score", "interval_score", "log_score", "second_moment_loss")
_ROUNDING = 1e-10  # of means of centred functions, which are sums over all rows


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Held-out rows of Y, and the support points of the model that is fitted to the others.

    Attributes
    ----------
    support : Support
        The support points of the model.
    points : array of shape (q, d)
        The held-out rows of Y, as numbers.
    weights : array of shape (q,), optional
        Their weights.
    psi : array of shape (q, m_Y), optional
        The functions of Y at these rows, if the model is a joint distribution.
    kind : type of LinearDistributions, default=Signed
        The class of the distributions.
    divided : bool, default=True
        Whether distributions are divided by their mass.
    offset : float, default=0.0
        A number that is added to the coefficients of all distributions.
    rest : array of shape (d,), optional
        The point at which distributions that are not divided by their mass have the
        missing mass; by default zero, or no category.
    """

    support: Support
    points: Vector
    weights: Vector | None
    psi: Vector | None = None
    kind: Callable[..., LinearDistributions] = Signed
    divided: bool = True
    offset: float = 0.0
    rest: Vector | None = None

    @cached
    def shares(self) -> Vector:
        """The weights of the rows, with sum one."""
        w = np.ones(len(self.points)) if self.weights is None else self.weights
        shares: Vector = w / w.sum()
        return shares

    def mean(self, values: Vector) -> float:
        """Return the weighted mean of a value for each row."""
        return float(self.shares @ values)

    @cached
    def energy(self) -> Energy:
        """The sums of distances between support points."""
        return Energy.on(self.support, self._unit)

    @cached
    def near(self) -> Vector:
        """The sums of distances from support points to the outcomes."""
        return self.energy.to_points(self.points)

    @cached
    def form(self) -> tuple[float, Vector, Vector] | None:
        r"""The mean energy score as a quadratic form of the weights; None if it is not one.

        A distribution of mass one with the weights :math:`w = (1, t)` has the score
        :math:`w \cdot N(y) - \tfrac12 w^\top S w` with sums of distances N and S. One that
        is not divided by its mass m has the missing mass at a point: at zero that leaves
        means as they are. With the distances :math:`a` of the outcome and :math:`N_0` of the
        support points from that point the score is

        .. math:: a + w \cdot (N(y) - a f - N_0) - w^\top (\tfrac12 S - f N_0^\top) w,

        where :math:`w \cdot f = m`. The result is the mean of :math:`a`, the vectors of the
        linear term as rows, and the matrix.
        """
        energy, f = self.energy, self.energy.total
        if not self.divided:
            encoding = self.support.points.encoding
            categorical = [known is not None for known in encoding.categories]
            rest = np.zeros(encoding.width) if self.rest is None else self.rest
            nothing = np.where(categorical, -1.0, rest)[None, :]
            scalar = encoding.width == 1 and not any(categorical)
            unit = np.ones(1) if scalar else self._unit
            apart = distances(encoding, unit, self.points, nothing)
            N = energy.to_points(nothing)[0]
            linear = self.near - apart * f - N
            return self.mean(apart[:, 0]), linear, energy.spread / 2 - np.outer(f, N)
        one = np.zeros(len(f))
        one[0] = 1.0
        if np.abs(f - one).max() > _ROUNDING:  # the mass is not one
            return None
        return 0.0, self.near, energy.spread / 2

    @cached
    def known(self) -> Any:
        """The outcomes in the user's categories and columns."""
        return decoded(self.support.points.encoding, self.points)

    @cached
    def _unit(self) -> Vector:
        return self.support.sample.units()


@dataclass(frozen=True, eq=False)
class Trial:
    r"""A model without a fold, as a function of the ridge, and the held-out rows.

    Attributes
    ----------
    solve : callable
        From the ridge to the coefficients :math:`H`.
    psi : array of shape (q, m_X)
        The functions of X at the held-out rows.
    outcomes : Outcomes
        The observed outcomes of these rows.
    """

    solve: Callable[[float], Vector]
    psi: Vector
    outcomes: Outcomes

    def coefficients(self, H: Vector) -> Vector:
        """Return the coefficients of the distributions at held-out rows, ``(q, m)``."""
        t: Vector = self.psi @ H.T
        return t + self.outcomes.offset if self.outcomes.offset else t

    def affine(self, H: Vector) -> Vector:
        r"""Return the matrix that maps :math:`(1, \Psi_X)` to :math:`(1, t)`."""
        whole = np.zeros((1 + H.shape[0], 1 + H.shape[1]))
        whole[0, 0], whole[1:, 0], whole[1:, 1:] = 1.0, self.outcomes.offset, H
        return whole

    @cached
    def gram(self) -> Vector:
        r"""The mean of :math:`(1, \Psi_X)^\top (1, \Psi_X)` over the held-out rows."""
        return self.mean_with(np.insert(self.psi, 0, 1.0, axis=1))

    @cached
    def linear(self) -> Vector:
        """The mean of the linear term of the energy score times the functions of X."""
        form = self.outcomes.form
        assert form is not None  # noqa: S101  # for type checkers
        return self.mean_with(form[1])

    def mean_with(self, values: Vector) -> Vector:
        r"""Return the mean of vectors, given as rows, times :math:`(1, \Psi_X)`."""
        w = self.outcomes.shares
        found: Vector = values.T @ (w[:, None] * np.insert(self.psi, 0, 1.0, axis=1))
        return found


def energy_risk(trial: Trial, H: Vector) -> float:
    """Return the mean energy score; NaN if a distribution has no mass."""
    held = trial.outcomes
    if held.form is not None:
        constant, _, Q = held.form
        W = trial.affine(H)
        return constant + float(np.sum(W * (trial.linear - Q @ W @ trial.gram)))
    t = trial.coefficients(H)
    if not (1 + t @ held.support.mean > LEAST_MASS).all():
        return np.nan
    return held.mean(held.energy.scores(t, held.near))


def ratio_risk(trial: Trial, H: Vector) -> float:
    """Return the squared distance to the true ratio, up to a constant."""
    held = trial.outcomes
    if held.psi is None:
        msg = "the ratio is that of a joint distribution"
        raise TypeError(msg)
    w, y, S = held.shares, held.psi, trial.gram
    S_x, S_y, mean_y = S[1:, 1:], y.T @ (w[:, None] * y), w @ y
    joint = trial.mean_with(y)[:, 1:] - np.multiply.outer(mean_y, S[0, 1:])
    return float(np.sum(H * (S_y @ H @ S_x - 2 * joint)))


@dataclass(frozen=True, eq=False)
class Risk:
    """A criterion of selection.

    Attributes
    ----------
    name : str
        Its name.
    of : callable
        From a trial and its coefficients to a number, the lower the better.
    ours : bool
        Whether several threads may evaluate it: functions of users may not be safe.
    """

    name: str
    of: Callable[[Trial, Vector], float]
    ours: bool


def risk_of(where: str, criterion: Criterion) -> Risk:
    """Return the criterion of a name, or of a function; ``where`` is the caller."""
    if callable(criterion):
        name = getattr(criterion, "__name__", None) or repr(criterion)
        return Risk(name, _by_score(where, criterion), ours=False)
    names = ["energy", "ratio", *_SCORES]
    known = criterion in names
    rule = f"one of {names}, or a function of distributions and outcomes"
    require(known, where, "criterion", rule, criterion)
    if criterion in _SCORES:
        applies = _not_zero if criterion == "second_moment_loss" else None
        by_score = _by_score(where, getattr(scores, criterion), applies)
        return Risk(criterion, _in_closed_form(criterion, by_score), ours=False)
    return Risk(criterion, energy_risk if criterion == "energy" else ratio_risk, ours=True)


def _in_closed_form(
    name: str, by_score: Callable[[Trial, Vector], float]
) -> Callable[[Trial, Vector], float]:
    """Return a criterion that is computed in closed form where it is the energy score."""

    def risk(trial: Trial, H: Vector) -> float:
        held = trial.outcomes
        scalar = held.support.points.is_scalar
        same = name == "energy_score" or (name == "crps" and scalar)
        return energy_risk(trial, H) if same and held.divided else by_score(trial, H)

    return risk


def _not_zero(y: Any) -> NDArray[np.bool_]:
    """Tell which outcomes are not zero, so that losses can be relative to them."""
    found: NDArray[np.bool_] = (np.reshape(y, (len(y), -1)) != 0).any(axis=1)
    return found


def _by_score(
    where: str,
    f: Callable[[Conditional, Any], ArrayLike],
    applies: Callable[[Any], NDArray[np.bool_]] | None = None,
) -> Callable[[Trial, Vector], float]:
    """Return the mean of a score of distributions and outcomes, or of those it applies to."""

    def risk(trial: Trial, H: Vector) -> float:
        held, t, known = trial.outcomes, trial.coefficients(H), trial.outcomes.known
        some = np.ones(len(t), dtype=bool) if applies is None else applies(known)
        if not some.any():
            return np.nan
        dist = Conditional(held.kind(held.support, Fixed(t[some]), held.divided))
        with warnings.catch_warnings():  # a distribution without mass has no score
            warnings.simplefilter("ignore", SignedDistributionWarning)
            found = np.asarray(f(dist, known[some]))
        q = len(dist)
        numbers = found.dtype.kind in "fiub" and found.shape[:1] in ((), (q,))
        got = Text(f"{found.dtype} of shape {found.shape}")
        rule = f"a function that returns a number, or one for each of {q} distributions"
        require(numbers, where, "criterion", rule, got)
        if found.ndim == 0:
            return float(found)
        each = found.reshape(q, -1).mean(axis=1)
        return float(np.average(each, weights=held.shares[some]))

    return risk
