"""Reliability curves: observed frequencies of outcomes up to quantiles."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Vector
from jointdist.data.table import as_weights
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import in_host_memory
from jointdist.scores.outcomes import column_of, or_nan

__all__ = ["Reliability", "reliability_curve"]


class Reliability(NamedTuple):
    """The observed frequencies of outcomes up to quantiles.

    Attributes
    ----------
    levels : array of shape (l,)
        The levels of the quantiles: the frequencies of calibrated distributions.
    observed : array of shape (l,)
        The observed frequencies.

    Examples
    --------
    >>> from jointdist import scores
    >>> found = scores.Reliability([0.1, 0.9], [0.12, 0.87])
    >>> found.observed[0] - found.levels[0] > 0  # too few outcomes expected below
    True
    """

    levels: Vector
    observed: Vector


def reliability_curve(
    dist: Conditional,
    y: object,
    levels: ArrayLike | None = None,
    *,
    sample_weight: object = None,
) -> Reliability:
    """Return the frequencies of outcomes up to quantiles, beside the levels of the quantiles.

    If the distributions are calibrated and continuous, ``observed`` is near ``levels``. It is
    above for discrete distributions, whose quantiles have at least the probability of their
    level; for these :func:`~jointdist.scores.pit` with a seed is sharper.

    Parameters
    ----------
    dist : Conditional
        Distributions of one column of numbers.
    y : array, Series or sequence of shape (q,)
        The observed outcomes.
    levels : float or array of shape (l,), optional
        The levels of the quantiles; by default 0.05, 0.1, ..., 0.95.
    sample_weight : array of shape (q,), optional
        The weights of the outcomes.

    Returns
    -------
    Reliability
        The levels, and the observed frequencies: NaN if a distribution does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.reliability_curve(dist[[0] * 4], [0.5, 1.5, 2.5, 4.5], [0.3, 0.9])
    Reliability(levels=array([0.3, 0.9]), observed=array([0.25, 0.75]))
    """
    pairs = column_of("reliability_curve", dist, y)
    weights = as_weights(sample_weight, pairs.rows)
    levels = np.linspace(0.05, 0.95, 19) if levels is None else np.atleast_1d(levels)
    quantiles = in_host_memory(dist).quantile(levels)
    upto = or_nan(pairs.points <= quantiles, quantiles)
    return Reliability(levels, np.average(upto, axis=0, weights=weights))
