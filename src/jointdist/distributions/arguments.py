"""Arguments of questions to distributions, checked: levels, points, functions."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Vector
from jointdist._rules import Text, refusal, require
from jointdist.data.encoding import Encoding
from jointdist.distributions.protocols import Projection
from jointdist.errors import SignedDistributionWarning, warn_user

__all__ = [
    "Points",
    "decoded",
    "decoded_or_none",
    "levels_of",
    "points_of",
    "reported",
    "require_numbers",
    "roots_of",
    "within_numbers",
]


class Points(NamedTuple):
    """Where distributions are evaluated.

    Attributes
    ----------
    at : array of shape (k, d)
        The points, coded.
    alone : bool
        Whether it is a single point, for all distributions.
    paired : bool
        Whether distribution i is evaluated at point i, or all at all.
    """

    at: Vector
    alone: bool
    paired: bool


def points_of(
    method: str, encoding: Encoding, n: int, y: Any, *, grid: bool | None
) -> Points:
    """Return the points given to a method, coded.

    Parameters
    ----------
    method : str
        The method, for messages.
    encoding : Encoding
        The columns of the distributions.
    n : int
        The number of distributions.
    y : number, or array of shape (k,) or (k, d)
        A point for all distributions, or several.
    grid : bool, optional
        Whether all distributions are evaluated at all points; by default unless there are as
        many points as distributions.
    """
    where, d = f"Conditional.{method}", encoding.width
    shape = np.shape(y)
    alone = len(shape) == (0 if d == 1 else 1)
    table = np.reshape(y, (1, d)) if alone and (d == 1 or shape == (d,)) else y
    rows = encoding.encode(table, where=where, name="y", vector=True)
    rule = f"one point for each of the {n} distributions if not `grid`"
    alike = rows.n == n
    require(grid is not False or alone or alike, where, "y", rule, Text(f"{rows.n}"))
    return Points(np.asarray(rows.read(0, rows.n)), alone, alike and not alone and not grid)


def within_numbers(y: Any) -> Any:
    """Return points with the largest number in place of infinity."""
    if isinstance(y, float | list | tuple | np.ndarray):
        values = np.asarray(y)
        if values.dtype.kind == "f":
            largest = np.finfo(np.float64).max
            return np.clip(values, -largest, largest)
    return y


def levels_of(method: str, levels: ArrayLike) -> Vector:
    """Return the levels of quantiles, a number or a vector of them.

    Parameters
    ----------
    method : str
        The method, for messages.
    levels : float or array of shape (l,)
        The levels.
    """
    rule = "a number or a vector of numbers between 0 and 1, both excluded"
    try:
        p = np.asarray(levels)
    except ValueError:  # ragged
        p = np.empty(0)
    real = p.ndim <= 1 and p.size and p.dtype.kind in "iuf"
    ok = real and bool(np.all((p > 0) & (p < 1)))
    require(ok, f"Conditional.{method}", "levels", rule, levels)
    return p


def require_numbers(method: str, encoding: Encoding) -> None:
    """Raise unless all columns of the distributions are numeric.

    Parameters
    ----------
    method : str
        The method, for messages.
    encoding : Encoding
        The columns.
    """
    names = [encoding.label(i) for i, kind in enumerate(encoding.categories) if kind]
    got = Text(f"categories in column {', '.join(names)}; ask `prob`, `mode` or `weights`")
    where, rule = f"Conditional.{method}", "of numbers"
    require(encoding.numeric, where, "the distribution", rule, got)


def decoded(encoding: Encoding, points: Vector) -> NDArray[Any]:
    """Return coded points as users know them: categories, and no axis for a single column.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    points : array of shape (..., d)
        The points, coded.
    """
    found = encoding.decode(points)
    return found[..., 0] if encoding.width == 1 else found


def decoded_or_none(encoding: Encoding, points: Vector) -> NDArray[Any]:
    """Return coded points as users know them; NaN, or None beside categories, if missing.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    points : array of shape (..., d)
        The points, coded; NaN where there is none.
    """
    none: NDArray[np.bool_] = np.asarray(np.isnan(points).any(axis=-1))
    if encoding.numeric or not none.any():
        return decoded(encoding, points)
    found = decoded(encoding, np.where(none[..., None], 0.0, points)).astype(object)
    found[none] = None
    return found


def roots_of(variances: Vector) -> Vector:
    """Return standard deviations; NaN, with a warning, where a variance is negative.

    Parameters
    ----------
    variances : array
        The variances.
    """
    if (variances < 0).any():
        msg = (
            f"Conditional.std: the variance of {(variances < 0).sum()} signed distributions "
            "is negative, and the result NaN. Raise `regularization`, or ask the model for "
            "`positivity`."
        )
        warn_user(msg, SignedDistributionWarning)
    found: Vector = np.sqrt(np.where(variances < 0, np.nan, variances))
    return found


def reported(report: Projection | None) -> Projection:
    """Return how far distributions are from signed ones; raise if they are not projected.

    Parameters
    ----------
    report : Projection or None
        How far.
    """
    if report is None:
        rule = 'of a model with positivity "projected" or "isotonic"'
        where, got = "Conditional.projection", Text("not projected: nothing was moved")
        raise ValueError(refusal(where, "the distribution", rule, got))
    return report
