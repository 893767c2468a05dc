"""The codes of one column: its categories, and times of another time zone."""

import math
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Text, refusal, require
from jointdist.data.raw_columns import Kind, RawColumn

__all__ = ["Caller", "Categories", "learn_categories", "read_codes"]

Categories: TypeAlias = tuple[Any, ...]


class Caller(NamedTuple):
    """Who reads a column, for messages, and what may be in it.

    Attributes
    ----------
    where, name : str
        The caller and its argument.
    at : str
        The column.
    unseen : bool
        Whether it may have categories that were not seen in `fit`.
    """

    where: str
    name: str
    at: str
    unseen: bool

    def refuse(self, rule: str, got: str) -> NoReturn:
        """Raise the error of a rule that is broken."""
        raise ValueError(refusal(self.where, self.name, rule, Text(got)))


def learn_categories(
    column: RawColumn, where: str, name: str, label: object
) -> Categories | None:
    """Return the categories of a column in the order of their codes; None for numbers.

    Parameters
    ----------
    column : RawColumn
        The column.
    where, name : str
        The caller and its argument, for messages.
    label : object
        The name of the column, for messages.
    """
    if column.kind not in ("category", "ordered"):
        return None
    present = [value for value in column.values if value is not None]
    if column.order is not None:
        seen = set(present)
        return tuple(_plain(value) for value in column.order if value in seen) or ("",)
    kind = str if any(isinstance(value, str) for value in present) else None
    for row, value in enumerate(column.values):
        mixed = value is not None and kind is not None and not isinstance(value, kind)
        got = Text(f"{value!r} at row {row}, column {label}")
        require(not mixed, where, name, "of strings or of numbers in each column", got)
    return tuple(map(_plain, sorted(set(present)))) or ("",)


def _plain(value: Any) -> Any:
    """Return a label as a Python object, not one of NumPy."""
    if isinstance(value, str):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def read_codes(
    column: RawColumn,
    kind: Kind,
    known: Categories | None,
    zone: str | None,
    caller: Caller,
) -> Vector:
    """Return the codes of a column, NaN where missing; K + 1 for what is not a category.

    Parameters
    ----------
    column : RawColumn
        The column.
    kind : str
        What it holds, as learned.
    known : tuple, optional
        The K categories, as learned.
    zone : str, optional
        The time zone, as learned.
    caller : Caller
        Who reads the column.
    """
    numbers = isinstance(column.values, np.ndarray)
    if numbers and np.isnan(column.values).all():
        return np.asarray(column.values)
    if known is not None:
        return _codes(column, known, caller)
    if kind == "time" and not numbers:
        column = _parsed_times(column, zone, caller)
    if column.kind != kind:
        rule = "numeric" if kind == "number" else f"of {kind}s"
        caller.refuse(rule, f"{_words(column)} in {caller.at}")
    if kind == "time" and (column.zone is None) != (zone is None):
        rule = "without a time zone" if zone is None else f"of zone {zone}"
        got = f"{column.zone or 'times without a zone'} in {caller.at}"
        caller.refuse(f"of times {rule}", got)
    return np.asarray(column.values)


def _codes(column: RawColumn, known: Categories, caller: Caller) -> Vector:
    values = column.values
    if isinstance(values, np.ndarray):
        if any(isinstance(value, str) for value in known):
            caller.refuse(f"a table with categories in {caller.at}", "numbers")
        values = [None if math.isnan(value) else value for value in values.tolist()]
    codes: dict[Any, float] = {label: float(code) for code, label in enumerate(known)}
    codes[None] = math.nan
    if not caller.unseen:
        for row, value in enumerate(values):
            if value not in codes:
                seen = ", ".join(map(repr, known[:10])) + ", ..." * (len(known) > 10)
                rule = f"of categories seen in fit ({seen})"
                caller.refuse(rule, f"{value!r} at row {row}, {caller.at}")
    other = float(len(known) + 1)
    return np.array([codes.get(value, other) for value in values], dtype=np.float64)


def _words(column: RawColumn) -> str:
    if column.kind in ("category", "ordered"):
        first = next((repr(value) for value in column.values if value is not None), "")
        return f"strings, as {first},"
    return f"{column.kind}s"


def _parsed_times(column: RawColumn, zone: str | None, caller: Caller) -> RawColumn:
    """Return times that are given as strings: with an offset, if times have a zone."""
    found = np.full(len(column.values), np.nan)
    for row, value in enumerate(column.values):
        if value is None:
            continue
        try:
            time = datetime.fromisoformat(str(value))
        except ValueError:
            caller.refuse("of times", f"{value!r} at row {row}, {caller.at}")
        if (time.tzinfo is None) != (zone is None):
            rule = "without an offset" if zone is None else "with an offset, as 18:30+02:00"
            caller.refuse(f"of times {rule}", f"{value!r} at row {row}, {caller.at}")
        found[row] = time.replace(tzinfo=time.tzinfo or UTC).timestamp()
    return RawColumn("time", found, zone=zone)
