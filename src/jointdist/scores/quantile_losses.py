"""Proper scores of quantiles and of central intervals, the lower the better."""

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Vector
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import in_host_memory
from jointdist.scores.outcomes import column_of, loss_not_scorer

__all__ = ["interval_score", "pinball_loss"]


@loss_not_scorer("`make_distribution_scorer(pinball_loss, levels=...)`")
def pinball_loss(dist: Conditional, y: object, levels: ArrayLike) -> Vector:
    """Return the pinball losses of quantiles; lower is better.

    ``max(p * (y - v), (p - 1) * (y - v))`` for the quantile v at the level p. Twice the
    mean over all levels is the CRPS, if no weight is negative.

    Parameters
    ----------
    dist : Conditional
        Distributions of one column of numbers.
    y : array, Series or sequence of shape (q,)
        The observed outcomes.
    levels : float or array of shape (l,)
        Levels between zero and one.

    Returns
    -------
    array of shape (q,) or (q, l)
        The losses.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.pinball_loss(dist, [4.0], [0.1, 0.5]).round(6)
    array([[0.4, 1. ]])
    """
    pairs = column_of("pinball_loss", dist, y)
    v, p = in_host_memory(dist).quantile(levels), np.asarray(levels)
    away = (pairs.points if p.ndim else pairs.column) - v
    return np.maximum(p * away, (p - 1) * away)


@loss_not_scorer('"neg_interval_score"')
def interval_score(dist: Conditional, y: object, level: float = 0.9) -> Vector:
    """Return the interval scores of central intervals, by Winkler; lower is better.

    The width, and ``2 / (1 - level)`` times the distance of ``y`` to the interval.

    Parameters
    ----------
    dist : Conditional
        Distributions of one column of numbers.
    y : array, Series or sequence of shape (q,)
        The observed outcomes.
    level : float, default=0.9
        The probability inside; half of the rest is on either side.

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
    >>> scores.interval_score(dist, [5.0], 0.5).round(6)  # two beyond [1, 3]
    array([10.])
    """
    y = column_of("interval_score", dist, y).column
    low, high = in_host_memory(dist).interval(level).T
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    score: Vector = high - low + 2 / (1 - level) * outside
    return score
