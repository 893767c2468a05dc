"""Plots and data frames of conditional distributions."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jointdist._rules import Text, require
from jointdist.data.frames import to_frame
from jointdist.distributions.arguments import decoded
from jointdist.distributions.drawing import axes, bars, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jointdist.distributions.conditional import Conditional

__all__ = ["diagnostics_of", "frame_of", "plot"]

_MOST_PLOTTED = 8  # densities in one plot: more cannot be distinguished
_PLOTTED_RANGE = 0.002, 0.998  # quantiles of the support points between which to draw
_PLOTTED_POINTS = 400  # of a curve


def plot(dist: "Conditional", ax: "Axes | None") -> "Axes":
    """Draw densities, or bars of probabilities, of up to eight scalar distributions.

    Parameters
    ----------
    dist : Conditional
        The distributions.
    ax : Axes, optional
        Where to draw; by default on new axes.
    """
    where, dists = "Conditional.plot", dist.distributions
    encoding = dists.encoding
    got = Text(f"{len(dist)}; choose some, as dist[:8]")
    few = len(dist) <= _MOST_PLOTTED
    require(few, where, "the distribution", f"of at most {_MOST_PLOTTED} conditions", got)
    one, got = encoding.width == 1, Text(f"{encoding.width}")
    require(one, where, "the distribution", "of one column", got)
    table = dists.table
    drawn = table is not None or not dists.is_discrete
    rule, got = "of numbers or few categories", Text("many categories")
    require(drawn, where, "the distribution", rule, got)
    ax = axes(where, ax)
    title, labels = dists.conditions.labels()
    if table is not None:
        bars(ax, decoded(encoding, table.points), table.probabilities(), labels)
    else:
        low, high = np.quantile(dist.support_points(), _PLOTTED_RANGE)
        margin = 0.05 * (high - low)
        y = np.linspace(low - margin, high + margin, _PLOTTED_POINTS)
        curves(ax, y, dist.pdf(y, grid=True), labels)
    if encoding.names:
        ax.set_xlabel(encoding.names[0])
    if len(dist) > 1:
        ax.legend(title=title)
    return ax


def frame_of(dist: "Conditional", levels: ArrayLike, library: str | None = None) -> Any:
    """Return means, standard deviations and quantiles as a DataFrame, a row each.

    Parameters
    ----------
    dist : Conditional
        The distributions. Of a categorical column, the probability of each category.
    levels : array of shape (l,)
        The levels of the quantiles.
    library : str, optional
        The library of the DataFrame; by default the first that is installed.
    """
    how = {"index": dist.parts.index, "library": library}
    encoding, table = dist.encoding, dist.distributions.table
    if encoding.width == 1 and not encoding.numeric and table is not None:
        names = map(str, decoded(encoding, table.points))
        return to_frame(dict(zip(names, table.probabilities().T, strict=True)), **how)
    levels = np.atleast_1d(levels)
    columns = {"mean": dist.mean(), "std": dist.std()}
    found = dist.quantile(levels)
    columns |= {f"q{level:g}": found[:, i] for i, level in enumerate(levels)}
    return to_frame(
        columns, encoding.names or tuple(map(str, range(encoding.width))), **how
    )


def diagnostics_of(dist: "Conditional") -> Any:
    """Return how far each distribution can be trusted as a DataFrame, a row each.

    Parameters
    ----------
    dist : Conditional
        The distributions.
    """
    dists = dist.distributions
    outside = dists.conditions.outside()
    return to_frame(
        {
            "novelty": dists.conditions.novelty(),
            "effective_size": dists.effective_size(),
            "leverage": dists.conditions.leverage(),
            "n_outside": np.array([len(names) for names in outside]),
            "outside": np.array([", ".join(names) for names in outside], dtype=object),
        },
        index=dist.parts.index,
    )
