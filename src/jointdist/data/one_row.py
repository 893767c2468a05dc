"""Questions by the names of columns: a dict or a series for one row, a dict of columns."""

from collections.abc import Mapping, Sized
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from jointdist._rules import Text, require
from jointdist.data.encoding import Encoding
from jointdist.data.frames import frame_of_columns, index_of

__all__ = ["as_question"]


def as_question(data: Any, encoding: Encoding, *, where: str, name: str) -> Any:
    """Return a question as a table with the columns in order; tables stay as they are.

    Parameters
    ----------
    data : dict, Series or table
        A dict of values is one row, a dict of sequences has columns, and a series of pandas
        whose labels are the names of columns is one row. Columns may be in any order.
    encoding : Encoding
        The columns. Where they have no names, dicts and series stay as they are.
    where, name : str
        The caller and its argument, for messages.
    """
    if encoding.names is None:
        return data
    if isinstance(data, Mapping):
        found = {str(key): value for key, value in data.items()}
        _require_names(list(found), encoding.names, where, name)
        return frame_of_columns(_columns(found, encoding.names, where, name))
    labels = _labels(data)
    if labels is None or (encoding.width == 1 and labels != list(encoding.names)):
        return data
    _require_names(labels, encoding.names, where, name)
    row = dict(zip(labels, data.tolist(), strict=True))
    title = None if data.name is None else [data.name]
    return frame_of_columns({key: [row[key]] for key in encoding.names}, title)


def _labels(data: Any) -> list[str] | None:
    """Return the labels of a series of pandas; None for other data."""
    series = nw.from_native(data, series_only=True, pass_through=True)
    index = index_of(data) if isinstance(series, nw.Series) else None
    return None if index is None else list(map(str, index))


def _require_names(found: list[str], names: tuple[str, ...], where: str, name: str) -> None:
    rule = f"of the columns {list(names)}"
    unknown = [key for key in found if key not in names]
    require(not unknown, where, name, rule, Text(f"{unknown}, which are none of them"))
    absent = [key for key in names if key not in found]
    require(not absent, where, name, rule, Text(f"no {absent}"))
    once = len(found) == len(names)
    require(once, where, name, f"{rule}, each once", Text(f"{found}"))


def _columns(
    found: dict[str, Any], names: tuple[str, ...], where: str, name: str
) -> dict[str, Any]:
    """Return the columns of a dict in order; values are those of one row."""
    many = {key for key, value in found.items() if _is_sequence(value)}
    rule = "a dict of values, for one row, or of columns"
    got = Text(f"a column in {sorted(many)}, and values in the rest")
    require(len(many) in {0, len(names)}, where, name, rule, got)
    if not many:
        return {key: [found[key]] for key in names}
    columns = {key: list(found[key]) for key in names}
    lengths = {key: len(column) for key, column in columns.items()}
    same = len(set(lengths.values())) == 1
    require(same, where, name, "a dict of columns of the same length", Text(lengths))
    return columns


def _is_sequence(value: object) -> bool:
    scalar = isinstance(value, str | bytes) or np.ndim(value) == 0  # type: ignore[arg-type]
    return isinstance(value, Sized) and not scalar
