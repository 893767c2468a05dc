"""Rows along one column of a table, with the other columns fixed."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, is_whole, require
from jointdist.data.encoding import Encoding, learn_encoding

__all__ = ["Line", "along", "middle"]

_SAMPLED_ROWS = 100_000  # rows from which ranges and medians are taken, at most: for speed
_SHOWN_POINTS = 2_000  # rows that are shown, at most: more make points run together
_NAMED_COLUMNS = 3  # fixed columns whose values fit into a title


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Rows that differ in one column only.

    Attributes
    ----------
    table : array or DataFrame of shape (k, d)
        The rows, as conditions for a model.
    values : array of shape (k,)
        The values of the column.
    title : str
        Its name.
    held : str
        The values at which the other columns are fixed, as a text; empty if there are none.
    n : int
        The number of rows of the sample.
    shown : array of int
        The numbers of some of them, of the fixed categories, evenly spread.
    points : array
        The values of the column in these.
    """

    table: Any
    values: Vector
    title: str
    held: str
    n: int
    shown: NDArray[np.intp]
    points: Vector


def middle(values: Vector) -> tuple[float, float]:
    """Return the ends of the middle 99 % of values; all of them if those are equal."""
    low, high = np.quantile(values, [0.005, 0.995])
    if low < high:
        return float(low), float(high)
    return float(values.min()), float(values.max())


def along(
    where: str,
    data: object,
    column: int | str,
    at: object,
    *,
    names: tuple[str, str, str] = ("X", "column", "at"),
    steps: int = 150,
) -> Line:
    """Return rows along a column, over the middle 99 % of a sample.

    Parameters
    ----------
    where : str
        The function the user called, for messages.
    data : array, DataFrame or sequence of shape (n, d)
        The sample; Y may be a vector.
    column : int or str
        The column, by number or name.
    at : sequence of d values, optional
        The values at which the other columns are fixed; by default medians and the most
        frequent categories.
    names : tuple of str
        The names of the three arguments, for messages.
    steps : int, default=150
        The number of rows.
    """
    vector = names[0] == "Y"
    encoding, rows = learn_encoding(data, where=where, name=names[0], vector=vector)
    i = _number(where, names[1], encoding, column)
    spread = _spread(rows.n, _SAMPLED_ROWS)
    sample = to_numpy(rows.take(spread))
    low, high = middle(sample[:, i])
    got = Text(f"only {low:g} in column {encoding.label(i)}")
    require(low < high, where, names[0], f"of several values in `{names[1]}`", got)
    base = _base(encoding, sample) if at is None else _given(where, names[2], encoding, at)
    rows_along = np.tile(base, (steps, 1))
    rows_along[:, i] = np.linspace(low, high, steps)
    few = _alike(encoding, sample, base)
    return Line(
        _like(data, encoding, rows_along),
        rows_along[:, i],
        encoding.titles(names[0])[i],
        _held(encoding, names[0], base, i),
        rows.n,
        spread[few],
        sample[few, i],
    )


def _number(where: str, name: str, encoding: Encoding, column: int | str) -> int:
    """Return the number of a numeric column."""
    names, d = encoding.names or (), encoding.width
    whole = is_whole(column, least=0) and int(column) < d
    rule = f"one of {list(names)}" if names else f"an integer from 0 to {d - 1}"
    require(whole or column in names, where, name, rule, column)
    i = int(column) if whole else names.index(str(column))
    got = Text(f"{column!r}, a categorical column")
    require(encoding.categories[i] is None, where, name, "a numeric column", got)
    return i


def _base(encoding: Encoding, sample: Vector) -> Vector:
    """Return the medians of numeric columns and the most frequent categories, coded."""
    return np.array(
        [
            np.median(values) if known is None else np.bincount(values.astype(int)).argmax()
            for values, known in zip(sample.T, encoding.categories, strict=True)
        ]
    )


def _given(where: str, name: str, encoding: Encoding, at: Any) -> Vector:
    """Return a row that was given, coded."""
    table = [list(at)] if np.ndim(at) == 1 else at
    rows = encoding.encode(table, where=where, name=name)
    require(rows.n == 1, where, name, "one row", Text(f"{rows.n}"))
    base: Vector = to_numpy(rows.read(0, 1))[0]
    return base


def _alike(encoding: Encoding, sample: Vector, base: Vector) -> NDArray[np.intp]:
    """Return some rows that have the same categories as a given row."""
    columns = [j for j, known in enumerate(encoding.categories) if known is not None]
    alike = np.flatnonzero((sample[:, columns] == base[columns]).all(axis=1))
    return alike[_spread(len(alike), _SHOWN_POINTS)]


def _spread(n: int, most: int) -> NDArray[np.intp]:
    """Return evenly spread numbers below ``n``."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)


def _held(encoding: Encoding, side: str, base: Vector, column: int) -> str:
    others = [j for j in range(encoding.width) if j != column]
    if len(others) > _NAMED_COLUMNS:
        return f"{len(others)} other columns fixed"
    titles, known = encoding.titles(side), encoding.decode(base[None, :])[0]
    values = [v if isinstance(v, str) else f"{v:.4g}" for v in known]
    return ", ".join(f"{titles[j]} = {values[j]}" for j in others)


def _like(data: Any, encoding: Encoding, coded: Vector) -> Any:
    """Return rows as a table of the kind that was given."""
    known = encoding.decode(coded)
    frame = nw.from_native(data, allow_series=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return known
    columns = {name: known[:, i].tolist() for i, name in enumerate(frame.columns)}
    return nw.from_dict(columns, backend=frame.implementation).to_native()
