"""Calibration: whether events happen as often as distributions say."""

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Seed, generator
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.device_answers import in_host_memory
from jointdist.scores.outcomes import column_of, or_nan, require_column

__all__ = ["coverage", "pit", "width"]


def pit(dist: Conditional, y: object, *, random_state: Seed = None) -> Vector:
    """Return the cdfs at the outcomes, the probability integral transform.

    If the distributions are calibrated and continuous, these are uniform from zero to one.
    Where an outcome has a positive probability the cdf jumps: the middle of the jump is
    returned or, with a seed, a random point of it, which is uniform for discrete distributions
    too. Signed distributions may give values outside of zero to one, which are not clipped.

    Parameters
    ----------
    dist : Conditional
        Distributions of one column of numbers.
    y : array, Series or sequence of shape (q,)
        The observed outcomes.
    random_state : int, Generator, RandomState, optional
        The seed of the random points; without one, none are drawn.

    Returns
    -------
    array of shape (q,)
        The values.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.pit(dist, [2.0]).round(6)
    array([0.5])
    """
    pairs = column_of("pit", dist, y)
    dists, points = pairs.dists.normalised, pairs.points
    upto = dists.cdf(points, paired=True)
    below = dists.cdf(np.nextafter(points, -np.inf), paired=True)
    share: Vector | float = 0.5
    if random_state is not None:
        share = generator("pit", random_state).random(len(dist))
    return below + share * (upto - below)


def coverage(dist: Conditional, y: object, level: float = 0.9) -> Vector:
    """Return whether outcomes are in the central intervals: one if so, else zero.

    The mean should be the level; that of discrete distributions may be more.

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
        Ones and zeros.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.coverage(dist[[0, 0]], [2.0, 5.0], 0.5)
    array([1., 0.])
    """
    y = column_of("coverage", dist, y).column
    low, high = in_host_memory(dist).interval(level).T
    return or_nan((low <= y) & (y <= high), low)


def width(dist: Conditional, level: float = 0.9) -> Vector:
    """Return the widths of central intervals; lower is better among those that cover.

    Parameters
    ----------
    dist : Conditional
        Distributions of one column of numbers.
    level : float, default=0.9
        The probability inside; half of the rest is on either side.

    Returns
    -------
    array of shape (q,)
        The widths.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> y = np.arange(5.0)
    >>> dist = jd.JointDistribution().fit(y[:, None], y).marginal("y")
    >>> scores.width(dist, 0.5)
    array([2.])
    """
    require_column("width", dist)
    low, high = in_host_memory(dist).interval(level).T
    wide: Vector = high - low
    return wide
