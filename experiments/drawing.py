"""Figures of results: lines of means with quantile bars."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["Panel", "lines"]

COLOURS = {
    "JDL": "C0",
    "JPDL": "C2",
    "CME": "C1",
    "KLR": "C3",
    "constant": "0.5",
    "exponential": "C4",
}
STYLES = ("-", "--", ":", "-.")
_LEAST = 1e-17  # lowest value drawn on a logarithmic axis
_DODGE = 1.06  # horizontal spacing factor between the bars of models


class Panel(NamedTuple):
    """A title, rows of a table, and the models to draw, in order."""

    title: str
    rows: pd.DataFrame
    names: Sequence[str]


def lines(
    panels: Sequence[Panel],
    x: str,
    y: str,
    label: str,
    *,
    log: bool = False,
) -> Figure:
    """Return panels with a line for each model: means, with bars from 5 % to 95 %.

    Panels without any model in the table are omitted.

    Parameters
    ----------
    panels : sequence of Panel
        The panels, side by side on a common vertical axis.
    x, y : str
        The columns on the horizontal and vertical axes.
    label : str
        The label of the vertical axis.
    log : bool, default=False
        Whether the vertical axis is logarithmic.
    """
    panels = [one for one in panels if one.rows["model"].isin(one.names).any()]
    figure = Figure(figsize=(4.5 * len(panels), 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        middle = (len(panel.names) - 1) / 2
        for i, name in enumerate(panel.names):
            runs = panel.rows[panel.rows["model"] == name].dropna(subset=[y])
            if len(runs):
                _line(ax, runs.groupby(x)[y], name, i - middle, log=log)
        ax.set(title=panel.title, xlabel=x, xscale="log")
        sizes = sorted(panel.rows[x].unique())
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=30, ha="right")
        ax.minorticks_off()
        if log:
            ax.set_yscale("log")
        ax.legend(fontsize="small", frameon=False)
    axes[0].set_ylabel(label)
    return figure


def _line(
    ax: Axes,
    runs: "pd.api.typing.SeriesGroupBy",
    name: str,
    place: float,
    *,
    log: bool,
) -> None:
    """Draw one model, shifted a little so that bars do not overlap."""
    least = _LEAST if log else -np.inf
    centre = runs.mean().clip(lower=least)
    x = centre.index.to_numpy(float) * _DODGE**place
    colour = COLOURS.get(name.split(maxsplit=1)[0])
    style = STYLES[(len(name.split()) > 1) + (name.count(" ") > 1)]
    low, high = (runs.quantile(level).clip(lower=least) for level in (0.05, 0.95))
    (line,) = ax.plot(x, centre, style, color=colour, marker=".", label=name)
    ax.vlines(
        x, low, high, color=line.get_color(), lw=1
    )  # the mean may lie outside the bar
