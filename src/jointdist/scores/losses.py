"""Losses: one number for each law and its outcome, the lower the better.

All are proper but the second-moment loss, which is meant for true moments, and those that
are clipped where they are: on average over outcomes, no law beats the one they follow.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Vector, to_numpy
from jointdist.data.table import as_rows
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.energy import energy_scores
from jointdist.distributions.signed import Laws
from jointdist.distributions.support_points import Atoms
from jointdist.errors import Text, is_number, require
from jointdist.scores.outcomes import column_of, laws_of, outcomes_of

__all__ = [
    "brier_score",
    "crps",
    "energy_score",
    "interval_score",
    "log_score",
    "logistic_loss",
    "pinball_loss",
    "second_moment_loss",
]


def crps(dist: Conditional, y: object) -> Vector:
    r"""Return the continuous ranked probability scores; lower is better.

    :math:`\int (F(v) - 1\{y \le v\})^2 dv` with the cdf F of the law: exactly, and also for
    signed laws. It has the unit of Y, and is the absolute error of a law on one atom.

    Parameters
    ----------
    dist : Conditional
        Laws of one column of numbers.
    y : array, Series or sequence of shape (q,)
        What came of them.

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
    told = column_of("crps", dist, y)
    return energy_scores(told.dists, told.points)[0]


def energy_score(dist: Conditional, y: object, *, units: ArrayLike | None = None) -> Vector:
    r"""Return the energy scores, the CRPS of several columns or words; lower is better.

    :math:`E |Y - y| - \frac12 E |Y - Y'|` with the Euclidean distance of numbers in their
    units, where words that differ are one apart. Of more than 4,096 atoms of several
    columns, a fixed random choice of that many stands for all.

    Parameters
    ----------
    dist : Conditional
        The laws.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        What came of them.
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
    told = outcomes_of(where, dist, y)
    atoms = told.dists.atoms
    unit = _spread(told.dists) if units is None else _units(where, units, atoms.width)
    scores, _ = energy_scores(told.dists, told.points, unit=unit)
    return scores / unit if _is_plain(atoms) else scores


def pinball_loss(dist: Conditional, y: object, levels: ArrayLike) -> Vector:
    """Return the pinball losses of quantiles; lower is better.

    ``max(p * (y - v), (p - 1) * (y - v))`` for the quantile v at the level p. Twice the
    mean over all levels is the CRPS, if no weight is negative.

    Parameters
    ----------
    dist : Conditional
        Laws of one column of numbers.
    y : array, Series or sequence of shape (q,)
        What came of them.
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
    told = column_of("pinball_loss", dist, y)
    v, p = dist.quantile(levels), np.asarray(levels)
    away = (told.points if p.ndim else told.column) - v
    return np.maximum(p * away, (p - 1) * away)


def interval_score(dist: Conditional, y: object, level: float = 0.9) -> Vector:
    """Return the interval scores of central intervals, by Winkler; lower is better.

    The width, and ``2 / (1 - level)`` times the distance of ``y`` to the interval.

    Parameters
    ----------
    dist : Conditional
        Laws of one column of numbers.
    y : array, Series or sequence of shape (q,)
        What came of them.
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
    low, high = dist.interval(level).T
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    score: Vector = high - low + 2 / (1 - level) * outside
    return score


def log_score(dist: Conditional, y: object, *, floor: float = 0.0) -> Vector:
    """Return minus the logarithm of the density at the outcomes; lower is better.

    The density is smoothed, as in :meth:`~jointdist.Conditional.pdf`. For words, and for
    numbers of few values that are taken many times, it is the probability of the outcome.
    Where that of a signed law is not positive the score is infinite, unless there is a
    floor.

    Parameters
    ----------
    dist : Conditional
        The laws.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        What came of them.
    floor : float, default=0.0
        The density, or probability, that is taken where there is less.

    Returns
    -------
    array of shape (q,)
        The scores.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> from jointdist import scores
    >>> words = ["ash", "birch", "ash", "ash"]
    >>> dist = jd.JointDistribution().fit([[0.0], [1.0], [2.0], [3.0]], words).marginal("y")
    >>> np.exp(-scores.log_score(dist, ["ash"])).round(6)
    array([0.75])
    """
    where = "log_score"
    ok = is_number(floor, least=0)
    require(ok, where, "floor", "a number, zero or positive", floor)
    told = outcomes_of(where, dist, y)
    dists, points = told.dists.normalised, told.points
    few, smooth = dists.few and _is_few(dists.atoms), not dists.atoms.discrete
    got = Text("one of words beside numbers, or of many that are discrete")
    require(few or smooth, where, "law", "of a variable with a density or few values", got)
    with np.errstate(divide="ignore"):
        if few:
            likely = np.log(np.maximum(_chances(dists, points), 0.0))
        else:
            likely = dists.density(points, paired=True, log=True)
        scores: Vector = 0.0 - np.maximum(likely, np.log(floor))  # no negative zero
    return scores


def brier_score(dist: Conditional, y: object, event: Callable[[Any], ArrayLike]) -> Vector:
    """Return the squared errors of the probability of an event; lower is better.

    Parameters
    ----------
    dist : Conditional
        The laws; an embedding is not divided by its mass.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        What came of them.
    event : callable
        As in :meth:`~jointdist.Conditional.prob`. It is asked of the outcomes, too.

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
    told = outcomes_of("brier_score", dist, y)
    found: Vector = (dist.prob(event) - told.happened(event)) ** 2
    return found


def logistic_loss(
    dist: Conditional, y: object, event: Callable[[Any], ArrayLike], *, eta: float = 1e-12
) -> Vector:
    r"""Return the logistic losses of the probability of an event; lower is better.

    Minus the logarithm of the probability of what came true, clipped to
    :math:`[\eta, 1]`. Their mean is Eq. `eq:logisticloss`.

    Parameters
    ----------
    dist : Conditional
        The laws; an embedding is not divided by its mass.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        What came of them.
    event : callable
        As in :meth:`~jointdist.Conditional.prob`. It is asked of the outcomes, too.
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
    told = outcomes_of(where, dist, y)
    chance = dist.prob(event)
    came_true = np.where(told.happened(event) > 0, chance, 1 - chance)
    losses: Vector = 0.0 - np.log(np.clip(came_true, eta, 1.0))  # no negative zero
    return losses


def second_moment_loss(dist: Conditional, truth: Any) -> Vector:
    r"""Return the squared errors of second-moment matrices; lower is better.

    :math:`\|E[Y Y^\top] - M\|_F^2 / \|M\|_F^2` with the true :math:`M`. Their mean is
    Eq. `eq:secmomloss`, where the true moments are known. Outcomes that are near zero make
    it huge.

    Parameters
    ----------
    dist : Conditional
        Laws of numbers; an embedding is not divided by its mass.
    truth : array of shape (q, d, d), (q, d) or (q,)
        The true matrices M, or outcomes y with :math:`M = y y^\top`. Those of one column
        are outcomes too, unless of shape (q, 1, 1).

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
    >>> scores.second_moment_loss(dist, [[[8.0]]]).round(6)  # of a mean of squares of 6
    array([0.0625])
    """
    where = "second_moment_loss"
    width = laws_of(where, dist).atoms.width
    moments = dist.second_moment().reshape(-1, width, width)
    if np.ndim(truth) == 3:
        true = _matrices(where, truth, moments.shape)
    else:
        y = outcomes_of(where, dist, truth, "truth").points
        true = y[:, :, None] * y[:, None, :]
    size = (true**2).sum(axis=(1, 2))
    got = Text(f"zero at row {size.argmin()}")
    require(size.all(), where, "truth", "other than zero in each row", got)
    found: Vector = ((moments - true) ** 2).sum(axis=(1, 2)) / size
    return found


def _is_plain(atoms: Atoms) -> bool:
    """Tell whether laws are of one column of numbers."""
    return atoms.width == 1 and atoms.encoding.numeric


def _is_few(atoms: Atoms) -> bool:
    """Tell whether each value has a probability: few numbers or words, but not both."""
    kinds = {known is None for known in atoms.encoding.categories}
    return atoms.few and len(kinds) == 1


def _spread(dists: Laws) -> Vector:
    """Return the standard deviations in the sample; one for a single column."""
    return np.ones(1) if dists.atoms.width == 1 else dists.units


def _units(where: str, units: ArrayLike, width: int) -> Vector:
    """Return units of columns, checked."""
    found = np.asarray(units)
    ok = found.dtype.kind in "iuf" and found.shape in {(), (width,)}
    ok = ok and bool(np.all((found > 0) & np.isfinite(found)))
    require(ok, where, "units", f"a positive number, or {width} of them", units)
    return np.broadcast_to(found.astype(np.float64), width)


def _chances(dists: Laws, points: Vector) -> Vector:
    """Return the probability under law i of point i, where distinct atoms are few."""
    known = dists.atoms.distinct
    place = {tuple(point): i for i, point in enumerate(known.points.tolist())}
    at = np.array([place.get(tuple(point), -1) for point in points.tolist()])
    sums = np.append(known.sums, np.zeros_like(known.sums[:1]), axis=0)
    return dists.expected_in_pairs(lambda own: sums[at[own]])


def _matrices(where: str, truth: Any, shape: tuple[int, ...]) -> Vector:
    """Return true matrices, checked."""
    rule, got = f"of shape {shape}", Text(f"shape {np.shape(truth)}")
    require(np.shape(truth) == shape, where, "truth", rule, got)
    rows = as_rows(np.reshape(truth, (len(truth), -1)), where=where, name="truth")
    found: Vector = to_numpy(rows.read(0, rows.n)).reshape(shape)
    return found
