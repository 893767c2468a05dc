"""Conditional densities, and the ratio to independence, over one column and the outcome."""

from typing import TYPE_CHECKING, Any

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Text, require
from jointdist.distributions.device_answers import in_host_memory
from jointdist.distributions.drawing import axes
from jointdist.plots._axes import scalar_distributions, titled
from jointdist.plots._line import along, middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["density_map", "ratio_map"]

_STEPS = 200  # points at which densities are drawn
_FAINT = 0.01  # share of the largest density, below which a negative one is not marked
_TICKS = (0, 0.25, 0.5, 0.75, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def density_map(
    model: Any,
    X: object,
    *,
    column: int | str = 0,
    at: object = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the conditional density of Y over one column of X, as an image.

    Over the middle 99 % of the values in the sample; the other columns are fixed. Hatched
    where the density of a signed distribution is negative, by more than 1 % of the largest.

    Parameters
    ----------
    model : estimator
        A fitted model of one numeric column Y that has a density.
    X, column, at
        As in :func:`fan`.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(500, 1))
    >>> y = x[:, 0] * (1 + rng.normal(size=500))
    >>> ax = plots.density_map(JointDistribution(random_state=0).fit(x, y), x)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('X', 'Y')
    """
    where = "density_map"
    line = along(where, X, column, at)
    dist = scalar_distributions(where, model, line)
    got = Text("a discrete variable; draw `fan`, or a few distributions by `plot`")
    require(not dist.is_discrete, where, "model", "of a Y with a density", got)
    low, high = middle(dist.support_points())
    margin = 0.05 * (high - low)
    y = np.linspace(low - margin, high + margin, _STEPS)
    heights = in_host_memory(dist).pdf(y, grid=True)
    ax, top = axes(where, ax), float(np.nanmax(heights))
    image = _image(ax, line.values, y, heights.T, "Blues", vmin=0, vmax=top)
    _hatch(ax, line.values, y, heights.T, below=-_FAINT * top)
    ax.figure.colorbar(image, ax=ax, label="density")
    return titled(ax, line, dist.encoding.titles("Y")[0])


def ratio_map(
    model: Any,
    X: object,
    Y: object,
    *,
    column_x: int | str = 0,
    column_y: int | str = 0,
    at_x: object = None,
    at_y: object = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the ratio :math:`1 + h` to independence over a column of X and one of Y.

    One, white with a grey line, is independence. Where the ratio is above one, pairs of
    values are more likely than under independence; below one, less. Where it is negative,
    it is hatched. Over the middle 99 % of the values in the sample; the other columns are
    fixed.

    Parameters
    ----------
    model : estimator
        A fitted model of the joint distribution, with a method ``ratio``.
    X : array, DataFrame or sequence of shape (n, d_x)
        Rows of X, from which ranges and medians are taken.
    Y : array, DataFrame or sequence of shape (n,) or (n, d_y)
        Rows of Y, likewise.
    column_x, column_y : int or str, default=0
        The columns, by number or name.
    at_x, at_y : sequence, optional
        Rows with the values at which the other columns are fixed. By default their
        medians, and the most frequent categories.
    ax : Axes, optional
        Where to draw; by default on new axes.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import JointDistribution, plots
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(500, 1))
    >>> y = x[:, 0] * (1 + rng.normal(size=500))
    >>> ax = plots.ratio_map(JointDistribution(random_state=0).fit(x, y), x, y)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('X', 'Y')
    """
    where = "ratio_map"
    joint, rule = (
        hasattr(model, "ratio"),
        "of the joint distribution, with a method `ratio`",
    )
    require(joint, where, "model", rule, model)
    x = along(where, X, column_x, at_x, names=("X", "column_x", "at_x"))
    y = along(where, Y, column_y, at_y, names=("Y", "column_y", "at_y"))
    values = np.transpose(model.ratio(x.table, y.table, grid=True))
    ax = axes(where, ax)
    top = max(float(values.max()), 2.0)
    image = _image(ax, x.values, y.values, values, "PuOr_r", norm=_centred(top))
    ax.contour(x.values, y.values, values, levels=[1], colors="0.5", linewidths=0.6)
    _hatch(ax, x.values, y.values, values, below=0.0)
    ticks = [tick for tick in _TICKS if tick <= top]
    bar = ax.figure.colorbar(image, ax=ax, ticks=ticks, label="ratio to independence")
    bar.ax.set_yticklabels([f"{tick:g}" for tick in ticks])
    bar.ax.minorticks_off()
    return titled(ax, x, y.title, y.held)


def _image(ax: "Axes", x: Vector, y: Vector, z: Vector, cmap: str, **scale: Any) -> Any:
    """Draw values on a grid as colours."""
    return ax.pcolormesh(x, y, z, shading="gouraud", rasterized=True, cmap=cmap, **scale)


def _centred(top: float) -> Any:
    """Return a scale of colours around one: linear down to zero, logarithmic above."""
    from matplotlib.colors import FuncNorm  # noqa: PLC0415

    def forward(r: Vector) -> Vector:
        return np.where(r < 1, r - 1, np.log(np.maximum(r, 1)) / np.log(top))

    def back(u: Vector) -> Vector:
        return np.where(u < 0, u + 1, top ** np.maximum(u, 0))

    return FuncNorm((forward, back), 0.0, top)


def _hatch(ax: "Axes", x: Vector, y: Vector, z: Vector, *, below: float) -> None:
    """Mark where values are below a limit."""
    low = float(np.nanmin(z))
    if low >= below:
        return
    face, edge, hatch = "0.9", "0.4", "////"
    area = ax.contourf(x, y, z, levels=[low - 1, below], colors=[face], hatches=[hatch])
    area.set(edgecolor=edge, linewidth=0)
    ax.contour(x, y, z, levels=[below], colors="0.2", linewidths=0.8, linestyles="-")
    ax.fill_between([], [], facecolor=face, edgecolor=edge, hatch=hatch, label="negative")
    ax.legend()
