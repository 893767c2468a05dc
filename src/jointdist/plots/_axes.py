"""What plots along a column share: distributions, points of the sample, titles."""

from typing import TYPE_CHECKING, Any

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.encoding import learn_encoding
from jointdist.distributions.conditional import Conditional
from jointdist.plots._line import Line, middle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["sample_points", "scalar_distributions", "titled"]


def scalar_distributions(where: str, model: Any, line: Line) -> Conditional:
    """Return the distributions of one numeric column along a line."""
    known = hasattr(model, "given")
    require(
        known, where, "model", "of conditional distributions, with a method `given`", model
    )
    dist: Conditional = model.given(line.table)
    encoding = dist.encoding
    got = Text(f"{encoding.width} columns" if encoding.numeric else "categories")
    ok = encoding.width == 1 and encoding.numeric
    require(ok, where, "model", "of one numeric column Y", got)
    return dist


def sample_points(where: str, Y: object, line: Line) -> tuple[Vector, Vector]:
    """Return some of the sample, within the middle of both sides."""
    encoding, rows = learn_encoding(Y, where=where, name="Y", vector=True)
    got = Text(f"{rows.n} rows of {encoding.width}")
    rule = f"one number for each of the {line.n} rows of `X`"
    ok = encoding.numeric and (rows.n, encoding.width) == (line.n, 1)
    require(ok, where, "Y", rule, got)
    x, y = line.points, to_numpy(rows.take(line.shown))[:, 0]
    low, high = middle(y)
    seen = (x >= line.values[0]) & (x <= line.values[-1]) & (y >= low) & (y <= high)
    return x[seen], y[seen]


def titled(ax: "Axes", line: Line, y: str, held: str = "") -> "Axes":
    ax.set_xlabel(line.title)
    ax.set_ylabel(y)
    title = ", ".join(filter(None, [line.held, held]))
    if title:
        ax.set_title(title, loc="left", fontsize="small")
    return ax
