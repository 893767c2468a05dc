"""Densities and probabilities on axes; matplotlib is imported when one is drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jointdist.errors import JointdistError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["axes", "band", "bars", "curves"]


def axes(where: str, ax: "Axes | None") -> "Axes":
    """Return the axes given, or new ones.

    Parameters
    ----------
    where : str
        The function the user called, for the message if matplotlib is missing.
    ax : Axes, optional
        The axes.
    """
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        msg = f"{where}: matplotlib is not installed. Try pip install 'jointdist[plot]'."
        raise JointdistError(msg) from error
    return plt.subplots(layout="constrained")[1]


def band(
    ax: "Axes",
    x: NDArray[np.float64],
    ends: tuple[NDArray[np.float64], NDArray[np.float64]],
    label: str,
    *,
    color: str = "C0",
    alpha: float = 0.2,
) -> None:
    """Shade what is between two curves.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    x : array of shape (k,)
        The points.
    ends : tuple of arrays of shape (k,)
        The lower and the upper curve.
    label : str
        The name of the band, for the legend.
    color : str, default="C0"
        Its colour.
    alpha : float, default=0.2
        How strong it is.
    """
    ax.fill_between(x, *ends, color=color, alpha=alpha, linewidth=0, label=label)


def curves(
    ax: "Axes",
    y: NDArray[np.float64],
    heights: NDArray[np.float64],
    labels: Sequence[str],
) -> None:
    """Draw densities at points, a row each.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    y : array of shape (k,)
        The points.
    heights : array of shape (q, k)
        The densities.
    labels : sequence of str
        The names of the distributions, for the legend.
    """
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    for height, label in zip(heights, labels, strict=True):
        ax.plot(y, height, label=label)
    ax.set_ylabel("density")


def bars(
    ax: "Axes", values: NDArray[Any], heights: NDArray[np.float64], labels: Sequence[str]
) -> None:
    """Draw probabilities of values, a row each.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    values : array of shape (k,)
        The values.
    heights : array of shape (q, k)
        Their probabilities.
    labels : sequence of str
        The names of the distributions, for the legend.
    """
    places, width = np.arange(len(values)), 0.8 / len(heights)
    for i, (height, label) in enumerate(zip(heights, labels, strict=True)):
        ax.bar(places + (i + 0.5) * width - 0.4, height, width, label=label)
    ax.set_xticks(places, [str(value) for value in values])
    ax.set_ylabel("probability")
