"""Pictures of laws; matplotlib is imported when one is drawn."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jointdist.errors import JointdistError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes", "bars", "curves"]


def axes(ax: "Axes | None") -> "Axes":
    """Return the axes given, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        msg = "Conditional.plot: matplotlib is not installed. Try pip install jointdist[plot]."
        raise JointdistError(msg) from error
    return plt.subplots()[1]


def curves(ax: "Axes", y: NDArray[np.float64], heights: NDArray[np.float64]) -> None:
    """Draw densities at points, a row a law.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    y : array of shape (k,)
        The points.
    heights : array of shape (q, k)
        The densities.
    """
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    for i, height in enumerate(heights):
        ax.plot(y, height, label=f"law {i}")
    ax.set_ylabel("density")
    _legend(ax, len(heights))


def bars(ax: "Axes", values: NDArray[Any], heights: NDArray[np.float64]) -> None:
    """Draw probabilities of values, a row a law.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    values : array of shape (k,)
        The values.
    heights : array of shape (q, k)
        Their probabilities.
    """
    places, width = np.arange(len(values)), 0.8 / len(heights)
    for i, height in enumerate(heights):
        ax.bar(places + (i + 0.5) * width - 0.4, height, width, label=f"law {i}")
    ax.set_xticks(places, [str(value) for value in values])
    ax.set_ylabel("probability")
    _legend(ax, len(heights))


def _legend(ax: "Axes", laws: int) -> None:
    if laws > 1:
        ax.legend()
