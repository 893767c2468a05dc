"""What laws are asked, checked: levels, points, functions of the atoms."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.errors import Text, require

__all__ = [
    "Points",
    "levels_of",
    "numbers_of",
    "points_of",
    "require_numbers",
    "within_numbers",
]


class Points(NamedTuple):
    """Where laws are asked.

    Attributes
    ----------
    at : array of shape (k, d)
        The points, coded.
    alone : bool
        Whether it is a single one, for all laws.
    paired : bool
        Whether law i is asked at point i, or each at all.
    """

    at: Vector
    alone: bool
    paired: bool


def points_of(
    method: str, encoding: Encoding, dists: int, y: Any, *, grid: bool | None
) -> Points:
    """Return the points that a method is given.

    Parameters
    ----------
    method : str
        The method, for messages.
    encoding : Encoding
        Of the side of the laws.
    dists : int
        The number of laws.
    y : number, or array of shape (k,) or (k, d)
        A point for all laws, or several.
    grid : bool, optional
        Whether every law is asked at every point; by default unless there are as many.
    """
    where, d = f"Conditional.{method}", encoding.width
    shape = np.shape(y)
    alone = len(shape) == (0 if d == 1 else 1)
    table = np.reshape(y, (1, d)) if alone and (d == 1 or shape == (d,)) else y
    rows = encoding.encode(table, where=where, name="y", vector=True)
    rule = f"one point for each of the {dists} laws if not `grid`"
    alike = rows.n == dists
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
    """Raise unless all columns of the laws are numbers."""
    words = [encoding.label(i) for i, known in enumerate(encoding.categories) if known]
    got = Text(f"words in column {', '.join(words)}; ask `prob`, `mode` or `weights`")
    require(encoding.numeric, f"Conditional.{method}", "the law", "of numbers", got)


def numbers_of(
    method: str,
    name: str,
    f: Callable[[Any], ArrayLike],
    atoms: NDArray[Any],
    kind: type = float,
) -> Vector:
    """Return what a function of users gives for a block of atoms, checked.

    Parameters
    ----------
    method, name : str
        The method and its argument, for messages.
    f : callable
        The function.
    atoms : array of shape (b,) or (b, d)
        The atoms.
    kind : {float, bool}, default=float
        What the function must give.
    """
    where, n = f"Conditional.{method}", len(atoms)
    require(callable(f), where, name, "a function of the atoms", f)
    found = np.asarray(f(atoms))
    kinds, words = ("b", "True or False") if kind is bool else ("biuf", "numbers")
    got = Text(f"values of type {found.dtype}")
    require(found.dtype.kind in kinds, where, name, f"a function to {words}", got)
    shape = (n,) if kind is bool else (n, *found.shape[1:])
    rule = f"a function of {n} atoms to {n} values"
    require(found.shape == shape, where, name, rule, Text(f"shape {found.shape}"))
    return found.astype(np.float64)
