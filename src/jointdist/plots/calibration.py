"""Calibration: whether outcomes are distributed as the forecasts say."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from jointdist._rules import Seed, is_whole, require
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.drawing import axes, band
from jointdist.scores import pit, reliability_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["pit_histogram", "reliability"]

_COVERAGE = 0.95  # of the bands that calibrated forecasts stay in


def pit_histogram(
    dist: Conditional,
    y: object,
    *,
    bins: int = 10,
    random_state: Seed = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the histogram of the probability integral transform (PIT).

    The PIT is the predictive cdf at the outcome. Its histogram is flat for calibrated
    forecasts: each bar is within the band with probability 95 %. It is high at both ends if
    the distributions are too narrow, high in the middle if they are too wide, and sloped if
    they are biased. Values outside zero and one, of signed distributions, count in the outer
    bars; distributions without mass do not count.

    Parameters
    ----------
    dist : Conditional
        Distributions of one numeric column.
    y : array of shape (q,)
        The outcome of each.
    bins : int, default=10
        The number of bars.
    random_state : int, Generator, RandomState, default=0
        The seed that randomises the PIT of outcomes of positive probability.
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
    counts = np.array(binom.interval(_COVERAGE, len(values), 1 / bins))
    low, high = counts * bins / len(values)
    ax = axes(where, ax)
    ax.bar(edges[:-1], heights, 1 / bins, align="edge", color="C0", edgecolor="white")
    label = "95 % band if calibrated"
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
    """Draw the share of outcomes below predictive quantiles, against the levels.

    Calibrated forecasts are on the diagonal: at each level within the band with probability
    95 %. Above the diagonal, outcomes are lower than forecast.

    Parameters
    ----------
    dist : Conditional
        Distributions of one numeric column.
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
    low, high = binom.interval(_COVERAGE, len(dist), p)
    ends = low / len(dist), high / len(dist)
    band(ax, p, ends, "95 % band if calibrated", color="0.2")
    ax.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=1)
    ax.plot(curve.levels, curve.observed, "o-", color="C0", markersize=4)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set_xlabel("level of the quantile")
    ax.set_ylabel("share of outcomes up to the quantile")
    ax.legend(loc="upper left")
    return ax
