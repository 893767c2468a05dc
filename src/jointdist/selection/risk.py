"""Criteria of selection: risks in closed form, and scores of distributions and outcomes."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist import scores
from jointdist._array import Vector
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Fixed
from jointdist.errors import SignedDistributionWarning, Text, require
from jointdist.selection.trial import Trial, energy_risk, ratio_risk

__all__ = ["Criterion", "Risk", "risk_of"]

Criterion: TypeAlias = str | Callable[[Conditional, Any], ArrayLike]

_SCORES = ("crps", "energy_score", "interval_score", "log_score", "second_moment_loss")


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
    """Return the criterion of a name, or of a function.

    Parameters
    ----------
    where : str
        The caller, for messages.
    criterion : str or callable
        A name, or a function of distributions and outcomes.
    """
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
