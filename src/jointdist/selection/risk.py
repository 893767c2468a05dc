r"""By what models are judged, on rows that they were not fitted to.

* *Energy*: the energy score of the laws of Y, for one column the CRPS. It asks for good
  laws, whatever becomes of them.
* *Ratio*: the squared distance of the ratio of the model to the true one over the product
  of the marginals, up to a constant:
  :math:`\langle H, S_Y H S_X \rangle - 2\, \overline{h(x_i, y_i)} + 2\, \overline{h}` with
  the second moments :math:`S` of the functions over the rows held out. It asks for a good
  joint law.
* Any score of laws and outcomes.

The first two are quadratic in H, and cost a few small products for each ridge; the energy
score is not where laws are divided by a mass that is not one.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist import scores
from jointdist._array import Vector
from jointdist.distributions.arguments import decoded
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.energy import Energy, distances
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.signed import Signed
from jointdist.distributions.support import LEAST_MASS, Support
from jointdist.errors import SignedDistributionWarning, Text, require

__all__ = [
    "Criterion",
    "Outcomes",
    "Risk",
    "Trial",
    "energy_risk",
    "ratio_risk",
    "risk_of",
]

Criterion: TypeAlias = str | Callable[[Conditional, Any], ArrayLike]

_ROUNDING = 1e-10  # of means of functions that are centred
_SCORES = ("crps", "energy_score", "interval_score", "log_score", "second_moment_loss")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Rows of Y that are held out, as laws on the other rows see them.

    Attributes
    ----------
    support : Support
        The other rows.
    points : array of shape (q, d)
        The rows held out, coded.
    weights : array of shape (q,), optional
        Their weights.
    psi : array of shape (q, m_Y), optional
        The functions of Y at them, if there is a joint law.
    kind : type of LinearDistributions, default=Signed
        The kind of distributions on these rows.
    divided : bool, default=True
        Whether laws are divided by their mass.
    offset : float, default=0.0
        What is added to the coefficients of all laws.
    rest : array of shape (d,), optional
        Where laws that are not divided by their mass have the rest of it, coded; by default
        at zero, or at no word.
    """

    support: Support
    points: Vector
    weights: Vector | None
    psi: Vector | None = None
    kind: Callable[..., LinearDistributions] = Signed
    divided: bool = True
    offset: float = 0.0
    rest: Vector | None = None

    @cached_property
    def shares(self) -> Vector:
        """The weights of the rows, of sum one."""
        w = np.ones(len(self.points)) if self.weights is None else self.weights
        shares: Vector = w / w.sum()
        return shares

    def mean(self, values: Vector) -> float:
        """Return the weighted mean of a value for each row."""
        return float(self.shares @ values)

    @cached_property
    def energy(self) -> Energy:
        """The sums of distances between the atoms."""
        return Energy.on(self.support, self._unit)

    @cached_property
    def near(self) -> Vector:
        """The sums of distances of the atoms to the points."""
        return self.energy.to_points(self.points)

    @cached_property
    def form(self) -> tuple[float, Vector, Vector] | None:
        r"""The mean energy score as a quadratic form of the laws; None if it is not one.

        A law of mass one with the weights :math:`w = (1, t)` has the score
        :math:`w \cdot N(y) - \tfrac12 w^\top S w` with sums of distances N and S. One that
        is not divided by its mass m has the rest of it at some point: at zero that makes no
        difference for means. With the distances :math:`a` of the point and
        :math:`N_0` of the atoms to it the score is then

        .. math:: a + w \cdot (N(y) - a f - N_0) - w^\top (\tfrac12 S - f N_0^\top) w,

        where :math:`w \cdot f = m`. Returned are the mean of :math:`a`, the vectors of the
        linear term as rows, and the matrix.
        """
        energy, f = self.energy, self.energy.total
        if not self.divided:
            encoding = self.support.points.encoding
            words = [known is not None for known in encoding.categories]
            rest = np.zeros(encoding.width) if self.rest is None else self.rest
            nothing = np.where(words, -1.0, rest)[None, :]
            scalar = encoding.width == 1 and not any(words)
            unit = np.ones(1) if scalar else self._unit
            apart = distances(encoding, unit, self.points, nothing)
            N = energy.to_points(nothing)[0]
            linear = self.near - apart * f - N
            return self.mean(apart[:, 0]), linear, energy.spread / 2 - np.outer(f, N)
        one = np.zeros(len(f))
        one[0] = 1.0
        if (
            np.abs(f - one).max() > _ROUNDING
        ):  # a mass that is not one, or some of the atoms
            return None
        return 0.0, self.near, energy.spread / 2

    @cached_property
    def known(self) -> Any:
        """The outcomes as users know them."""
        return decoded(self.support.points.encoding, self.points)

    @cached_property
    def _unit(self) -> Vector:
        return self.support.sample.units()


@dataclass(frozen=True, eq=False)
class Trial:
    r"""A model of some rows, for any ridge, and the rows held out, which judge it.

    Attributes
    ----------
    solve : callable
        From the ridge to the coefficients :math:`H`, from functions of X to those of the
        atoms.
    psi : array of shape (q, m_X)
        The functions of X at the rows held out.
    outcomes : Outcomes
        What came of them.
    """

    solve: Callable[[float], Vector]
    psi: Vector
    outcomes: Outcomes

    def dists(self, H: Vector) -> Vector:
        """Return the coefficients of the laws at the rows held out, ``(q, m)``."""
        t: Vector = self.psi @ H.T
        return t + self.outcomes.offset if self.outcomes.offset else t

    def affine(self, H: Vector) -> Vector:
        r"""Return the matrix that maps :math:`(1, \Psi_X)` to :math:`(1, t)`."""
        whole = np.zeros((1 + H.shape[0], 1 + H.shape[1]))
        whole[0, 0], whole[1:, 0], whole[1:, 1:] = 1.0, self.outcomes.offset, H
        return whole

    @cached_property
    def gram(self) -> Vector:
        r"""The mean of :math:`(1, \Psi_X)^\top (1, \Psi_X)` over the rows held out."""
        return self.mean_with(np.insert(self.psi, 0, 1.0, axis=1))

    @cached_property
    def linear(self) -> Vector:
        """The mean of the linear term of the energy score times the functions of X."""
        form = self.outcomes.form
        assert form is not None  # noqa: S101  # for type checkers
        return self.mean_with(form[1])

    def mean_with(self, values: Vector) -> Vector:
        r"""Return the mean of vectors, given as rows, times :math:`(1, \Psi_X)`.

        Parameters
        ----------
        values : array of shape (q, k)
            The vectors.
        """
        w = self.outcomes.shares
        found: Vector = values.T @ (w[:, None] * np.insert(self.psi, 0, 1.0, axis=1))
        return found


@dataclass(frozen=True, eq=False)
class Risk:
    """What is minimised.

    Attributes
    ----------
    name : str
        What it is called.
    of : callable
        From a trial and its coefficients to a number, the lower the better.
    ours : bool
        Whether it may be asked from several threads.
    """

    name: str
    of: Callable[[Trial, Vector], float]
    ours: bool


def risk_of(where: str, criterion: Criterion) -> Risk:
    """Return the risk that a criterion stands for.

    Parameters
    ----------
    where : str
        The caller, for messages.
    criterion : str or callable
        A name, or a function of laws and outcomes.
    """
    if callable(criterion):
        name = getattr(criterion, "__name__", None) or repr(criterion)
        return Risk(name, _by_laws(where, criterion), ours=False)
    names = ["energy", "ratio", *_SCORES]
    known = criterion in names
    rule = f"one of {names}, or a function of laws and outcomes"
    require(known, where, "criterion", rule, criterion)
    if criterion in _SCORES:
        judged = _not_zero if criterion == "second_moment_loss" else None
        by_laws = _by_laws(where, getattr(scores, criterion), judged)
        return Risk(criterion, _quickly(criterion, by_laws), ours=False)
    return Risk(criterion, energy_risk if criterion == "energy" else ratio_risk, ours=True)


def energy_risk(trial: Trial, H: Vector) -> float:
    """Return the mean energy score; NaN if a law has no mass."""
    held = trial.outcomes
    if held.form is not None:
        constant, _, Q = held.form
        W = trial.affine(H)
        return constant + float(np.sum(W * (trial.linear - Q @ W @ trial.gram)))
    t = trial.dists(H)
    if not (1 + t @ held.support.mean > LEAST_MASS).all():
        return np.nan
    return held.mean(held.energy.scores(t, held.near))


def ratio_risk(trial: Trial, H: Vector) -> float:
    """Return the squared distance to the true ratio, up to a constant."""
    held = trial.outcomes
    if held.psi is None:
        msg = "the ratio is that of a joint law"
        raise TypeError(msg)
    w, y, S = held.shares, held.psi, trial.gram
    S_x, S_y, mean_y = S[1:, 1:], y.T @ (w[:, None] * y), w @ y
    joint = trial.mean_with(y)[:, 1:] - np.multiply.outer(mean_y, S[0, 1:])
    return float(np.sum(H * (S_y @ H @ S_x - 2 * joint)))


def _quickly(
    name: str, by_laws: Callable[[Trial, Vector], float]
) -> Callable[[Trial, Vector], float]:
    """Return a risk that takes the short way where a score is the energy score."""

    def risk(trial: Trial, H: Vector) -> float:
        held = trial.outcomes
        scalar = held.support.points.is_scalar
        same = name == "energy_score" or (name == "crps" and scalar)
        return energy_risk(trial, H) if same and held.divided else by_laws(trial, H)

    return risk


def _not_zero(y: Any) -> NDArray[np.bool_]:
    """Tell which outcomes have a second moment to divide by."""
    found: NDArray[np.bool_] = (np.reshape(y, (len(y), -1)) != 0).any(axis=1)
    return found


def _by_laws(
    where: str,
    f: Callable[[Conditional, Any], ArrayLike],
    judged: Callable[[Any], NDArray[np.bool_]] | None = None,
) -> Callable[[Trial, Vector], float]:
    """Return the mean of a score of laws and outcomes, or of those that can be judged."""

    def risk(trial: Trial, H: Vector) -> float:
        held, t, known = trial.outcomes, trial.dists(H), trial.outcomes.known
        some = np.ones(len(t), dtype=bool) if judged is None else judged(known)
        if not some.any():
            return np.nan
        dist = Conditional(held.kind(held.support, Fixed(t[some]), held.divided))
        with warnings.catch_warnings():  # a law without mass has no score: that is enough
            warnings.simplefilter("ignore", SignedDistributionWarning)
            found = np.asarray(f(dist, known[some]))
        q = len(dist)
        numbers = found.dtype.kind in "fiub" and found.shape[:1] in ((), (q,))
        got = Text(f"{found.dtype} of shape {found.shape}")
        rule = f"a function that returns a number, or one for each of {q} laws"
        require(numbers, where, "criterion", rule, got)
        if found.ndim == 0:
            return float(found)
        each = found.reshape(q, -1).mean(axis=1)
        return float(np.average(each, weights=held.shares[some]))

    return risk
