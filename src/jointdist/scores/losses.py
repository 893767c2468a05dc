"""Proper scores of whole distributions at observed outcomes, the lower the better.

On average, no distribution has a lower proper score than the one that the outcomes follow.
"""

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Vector
from jointdist._rules import Text, is_number, require
from jointdist.distributions.conditional import Conditional
from jointdist.scores.outcomes import column_of, loss_not_scorer, outcomes_of

__all__ = ["crps", "energy_score", "log_score"]


@loss_not_scorer('"neg_crps"')
def crps(dist: Conditional, y: object) -> Vector:
    r"""Return the continuous ranked probability scores; lower is better.

    :math:`\int (F(v) - 1\{y \le v\})^2 dv` with the cdf F of the distribution: exactly, and
    also for signed distributions. It has the unit of Y, and is the absolute error of a
    distribution on a single point.

    Parameters
    ----------
    dist : Conditional
        Distributions of one column of numbers.
    y : array, Series or sequence of shape (q,)
        The observed outcomes.

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
    >>> scores.crps(dist, [2.0]).round(6)
    array([0.4])
    """
    pairs = column_of("crps", dist, y)
    return pairs.dists.energy_scores(pairs.points)[0]


@loss_not_scorer('"neg_energy_score"')
def energy_score(dist: Conditional, y: object, *, units: ArrayLike | None = None) -> Vector:
    r"""Return the energy scores, the CRPS of several columns or categories; lower is better.

    :math:`E |Y - y| - \frac12 E |Y - Y'|` with the Euclidean distance of numbers in their
    units, where categories that differ are one apart. Of more than 4,096 support points of
    several columns, a fixed random choice of that many stands for all.

    Parameters
    ----------
    dist : Conditional
        The distributions.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        The observed outcomes.
    units : float or array of shape (d,), optional
        What is one along each column of numbers; 1.0 is the plain distance. By default
        the standard deviation of the sample, but for a single column of numbers 1.0: the
        score is then the CRPS.

    Returns
    -------
    array of shape (q,)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> Y = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> dist = jd.JointDistribution().fit(Y, Y).marginal("y")
    >>> scores.energy_score(dist, [[3.0, 4.0]], units=1.0).round(6)  # 10 / 3 - 20 / 9
    array([1.111111])
    """
    where = "energy_score"
    pairs = outcomes_of(where, dist, y)
    dists, width = pairs.dists, pairs.dists.encoding.width
    if units is not None:
        unit = _units(where, units, width)
    else:
        unit = np.ones(1) if width == 1 else dists.units()
    scores, _ = dists.energy_scores(pairs.points, unit=unit)
    return scores / unit if width == 1 and dists.encoding.numeric else scores


@loss_not_scorer('"neg_log_score"')
def log_score(dist: Conditional, y: object, *, floor: float = 0.0) -> Vector:
    """Return minus the logarithm of the density at the outcomes; lower is better.

    The density is a kernel density estimate, as in :meth:`~jointdist.Conditional.pdf`. For
    categories, and for numbers of few values that are taken many times, it is the probability
    of the outcome. Where that of a signed distribution is not positive the score is infinite,
    unless there is a floor.

    Parameters
    ----------
    dist : Conditional
        The distributions.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        The observed outcomes.
    floor : float, default=0.0
        The least density, or probability, that counts; a lower one is raised to it.

    Returns
    -------
    array of shape (q,)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> trees = ["ash", "birch", "ash", "ash"]
    >>> dist = jd.JointDistribution().fit([[0.0], [1.0], [2.0], [3.0]], trees).marginal("y")
    >>> np.exp(-scores.log_score(dist, ["ash"])).round(6)
    array([0.75])
    """
    where = "log_score"
    require(is_number(floor, least=0), where, "floor", "a number, zero or positive", floor)
    pairs = outcomes_of(where, dist, y)
    dists, points = pairs.dists.normalised, pairs.points
    kinds = {categories is None for categories in dists.encoding.categories}
    table = dists.table if len(kinds) == 1 else None
    ok, rule = table is not None or not dists.is_discrete, "with a density or few values"
    got = Text("one of categories beside numbers, or of many that are discrete")
    require(ok, where, "dist", f"of a variable {rule}", got)
    with np.errstate(divide="ignore"):
        if table is not None:
            likely = np.log(np.maximum(table.at(points), 0.0))
        else:
            likely = dists.density(points, paired=True, log=True)
        scores: Vector = 0.0 - np.maximum(likely, np.log(floor))  # no negative zero
    return scores


def _units(where: str, units: ArrayLike, width: int) -> Vector:
    """Return units of columns, checked."""
    found = np.asarray(units)
    ok = found.dtype.kind in "iuf" and found.shape in {(), (width,)}
    ok = ok and bool(np.all((found > 0) & np.isfinite(found)))
    require(ok, where, "units", f"a positive number, or {width} of them", units)
    return np.broadcast_to(found.astype(np.float64), width)
