"""Losses of the probability of an event, the lower the better."""

import numpy as np

from jointdist._array import Vector
from jointdist._rules import is_number, require
from jointdist.data.events import Event
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import in_host_memory
from jointdist.scores.outcomes import outcomes_of

__all__ = ["brier_score", "logistic_loss"]


def brier_score(dist: Conditional, y: object, event: Event) -> Vector:
    """Return the squared errors of the probability of an event; lower is better.

    Parameters
    ----------
    dist : Conditional
        The distributions; an embedding is not divided by its mass.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        The observed outcomes.
    event : str or callable
        As in :meth:`~jointdist.Conditional.prob`. It is evaluated at the outcomes, too.

    Returns
    -------
    array of shape (q,)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.brier_score(dist, [4.0], lambda y: y > 2).round(6)
    array([0.36])
    """
    pairs = outcomes_of("brier_score", dist, y)
    found: Vector = (in_host_memory(dist).prob(event) - pairs.happened(event)) ** 2
    return found


def logistic_loss(
    dist: Conditional, y: object, event: Event, *, eta: float = 1e-12
) -> Vector:
    r"""Return the logistic losses of the probability of an event; lower is better.

    Minus the logarithm of the probability of what happened, the event or its complement,
    clipped to :math:`[\eta, 1]`. Their mean is Eq. `eq:logisticloss`, the logistic loss.

    Parameters
    ----------
    dist : Conditional
        The distributions; an embedding is not divided by its mass.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        The observed outcomes.
    event : str or callable
        As in :meth:`~jointdist.Conditional.prob`. It is evaluated at the outcomes, too.
    eta : float, default=1e-12
        The least probability, that of the paper by default.

    Returns
    -------
    array of shape (q,)
        The losses.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> np.exp(-scores.logistic_loss(dist, [4.0], lambda y: y > 2)).round(6)
    array([0.4])
    """
    where, rule = "logistic_loss", "a number between 0 and 1, both excluded"
    ok = is_number(eta, least=0, below=1) and eta > 0
    require(ok, where, "eta", rule, eta)
    pairs = outcomes_of(where, dist, y)
    chance = in_host_memory(dist).prob(event)
    happened = np.where(pairs.happened(event) > 0, chance, 1 - chance)
    losses: Vector = 0.0 - np.log(np.clip(happened, eta, 1.0))  # no negative zero
    return losses
