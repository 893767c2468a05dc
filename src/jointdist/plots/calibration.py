"""Whether outcomes are spread as the laws said."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from jointdist._random import Seed
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.drawing import axes, band
from jointdist.errors import is_whole, require
from jointdist.scores import pit, reliability_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["pit_histogram", "reliability"]

_CHANCE = 0.95  # of what correct laws would give


def pit_histogram(
    dist: Conditional,
    y: object,
    *,
    bins: int = 10,
    random_state: Seed = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how often outcomes fell into each part of their laws.

    The histogram of the values of the cdfs at the outcomes (PIT), which is flat for laws
    that are right: each bar is in the band 95 times out of 100. It is high at both ends
    for laws that are too narrow, in the middle for those that are too wide, and slopes for
    those that are too high or too low. Values of signed laws outside zero and one count
    in the outer bars; laws without mass do not count.

    Parameters
    ----------
    dist : Conditional
        Laws of one column of numbers.
    y : array of shape (q,)
        The outcome of each.
    bins : int, default=10
        The number of bars.
    random_state : int, Generator, RandomState, default=0
        The seed that spreads outcomes that have a probability of their own.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(2, 1000))
    >>> X, y = X[:, None], X + noise
    >>> model = JointDistribution(random_state=0).fit(X[:500], y[:500])
    >>> ax = plots.pit_histogram(model.given(X[500:]), y[500:])
    >>> float(np.mean([bar.get_height() for bar in ax.containers[0]]).round(6))
    1.0
    """
    where = "pit_histogram"
    require(is_whole(bins, least=2), where, "bins", "an integer of at least 2", bins)
    values = pit(dist, y, random_state=random_state)
    values = np.clip(values[np.isfinite(values)], 0, 1)
    heights, edges = np.histogram(values, bins, (0, 1), density=True)
    counts = np.array(binom.interval(_CHANCE, len(values), 1 / bins))
    low, high = counts * bins / len(values)
    ax = axes(where, ax)
    ax.bar(edges[:-1], heights, 1 / bins, align="edge", color="C0", edgecolor="white")
    label = "95 % of bars, were the laws right"
    ax.axhspan(low, high, color="0.2", alpha=0.2, linewidth=0, label=label)
    ax.axhline(1, color="black", linestyle="--", linewidth=1)
    ax.set_xlim(0, 1)
    ax.margins(y=0.2)  # for the legend
    ax.set_xlabel("probability of values up to the outcome (PIT)")
    ax.set_ylabel("density")
    ax.legend()
    return ax


def reliability(
    dist: Conditional,
    y: object,
    *,
    levels: ArrayLike | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how often outcomes were below the quantiles of their laws, against the levels.

    On the diagonal for laws that are right: at each level, in the band 95 times out of
    100. Above it, outcomes are lower than the laws say.

    Parameters
    ----------
    dist : Conditional
        Laws of one column of numbers.
    y : array of shape (q,)
        The outcome of each.
    levels : array of shape (l,), optional
        The levels of the quantiles.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(2, 1000))
    >>> X, y = X[:, None], X + noise
    >>> model = JointDistribution(random_state=0).fit(X[:500], y[:500])
    >>> ax = plots.reliability(model.given(X[500:]), y[500:])
    >>> level, observed = ax.get_lines()[-1].get_data()
    >>> bool(np.abs(observed - level).max() < 0.1)
    True
    """
    where = "reliability"
    curve = reliability_curve(dist, y, levels=levels)
    ax = axes(where, ax)
    p = np.linspace(0, 1, 201)
    low, high = binom.interval(_CHANCE, len(dist), p)
    ends = low / len(dist), high / len(dist)
    band(ax, p, ends, "95 % of points, were the laws right", color="0.2")
    ax.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1)
    ax.plot(curve.levels, curve.observed, "o-", color="C0", markersize=4)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("level of the quantile")
    ax.set_ylabel("share of outcomes up to the quantile")
    ax.legend(loc="upper left")
    return ax
