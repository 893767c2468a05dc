"""Conditional quantiles along one column, as a fan."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jointdist._rules import require
from jointdist.distributions.device_answers import in_host_memory
from jointdist.distributions.drawing import axes, band
from jointdist.plots._axes import sample_points, scalar_distributions, titled
from jointdist.plots._line import along

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["fan"]


def fan(
    model: Any,
    X: object,
    Y: object = None,
    *,
    column: int | str = 0,
    at: object = None,
    levels: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95),
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw conditional quantiles of Y over one column of X, as a fan.

    Over the middle 99 % of the values in the sample; the other columns are fixed.

    Parameters
    ----------
    model : estimator
        A fitted model of one numeric column Y.
    X : array, DataFrame or sequence of shape (n, d_x)
        Rows of X, from which ranges and medians are taken.
    Y : array, DataFrame or sequence of shape (n,), optional
        The observed outcomes, shown as points: at most 2,000, of rows with the fixed
        categories.
    column : int or str, default=0
        The column of X, by number or name.
    at : sequence of d_x values, optional
        A row of X with the values at which the other columns are fixed. By default their
        medians, and the most frequent categories.
    levels : array of shape (l,), default=(0.05, 0.25, 0.5, 0.75, 0.95)
        The levels of the quantiles, symmetric about one half.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 2))
    >>> y = X[:, 0] * (1 + rng.normal(size=200))
    >>> ax = plots.fan(JointDistribution(random_state=0).fit(X, y), X, y, column=0)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['90 %', '50 %', 'median', 'sample']
    """
    where, p = "fan", np.unique(levels)
    inside = p.dtype.kind == "f" and p.size and p[0] > 0 and p[-1] < 1
    rule = "numbers between 0 and 1, symmetric about one half"
    require(inside and np.allclose(p + p[::-1], 1), where, "levels", rule, levels)
    line = along(where, X, column, at)
    dist = scalar_distributions(where, model, line)
    quantiles, half = in_host_memory(dist).quantile(p), len(p) // 2
    points = None if Y is None else sample_points(where, Y, line)
    ax = axes(where, ax)
    for i in range(half):
        ends, inside = (quantiles[:, i], quantiles[:, -1 - i]), p[-1 - i] - p[i]
        band(ax, line.values, ends, f"{100 * inside:.3g} %", alpha=0.2 + 0.3 * i / half)
    if len(p) % 2:
        ax.plot(line.values, quantiles[:, half], color="black", label="median")
    if points is not None:
        ax.plot(*points, ".", color="0.4", markersize=2.5, zorder=0.5, label="sample")
    ax.margins(x=0)
    ax.legend()
    return titled(ax, line, dist.encoding.titles("Y")[0])
