"""Values of expressions over columns: numbers, truth values, texts and times, compared."""

import re
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Kind", "Truth", "Value", "arithmetic", "compared", "is_missing", "value_of"]

Kind: TypeAlias = Literal["number", "truth value", "text", "time"]
Truth: TypeAlias = NDArray[np.bool_]

_ORDERS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
_COMPARED: dict[str, Any] = {"==": np.equal, "!=": np.not_equal, **_ORDERS}
_COMPUTED: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
}
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?)?)?"
)
_MOST_MICROSECONDS = (2**63 - 1) // 1000  # that nanoseconds can tell


class Value(NamedTuple):
    """The value of a part of an expression, one for each row or one for all.

    Attributes
    ----------
    kind : str
        What it is.
    array : array of shape (n,) or ()
        Float64, bool, strings, or datetime64.
    """

    kind: Kind
    array: NDArray[Any]


def value_of(column: NDArray[Any]) -> Value | None:
    """Return a column, or a single value, as a value; None if its entries are of no kind.

    Durations are numbers of seconds. Entries that are None are missing.

    Parameters
    ----------
    column : array of shape (n,) or ()
        The column.
    """
    code = column.dtype.kind
    if code == "b":
        return Value("truth value", column)
    if code in "iuf":
        return Value("number", column.astype(np.float64, copy=False))
    if code == "U":
        return Value("text", column)
    if code == "M":
        return Value("time", column)
    if code == "m":
        return Value("number", column / np.timedelta64(1, "s"))
    return _value_of_objects(column.astype(object)) if code in "OT" else None


def is_missing(value: Value) -> Truth:
    """Tell which entries are missing.

    Parameters
    ----------
    value : Value
        The value.
    """
    found: Any
    if value.kind == "number":
        found = np.isnan(value.array)
    elif value.kind == "time":
        found = np.isnat(value.array)
    elif value.kind == "text" and value.array.dtype == object:
        found = np.equal(value.array, np.asarray(None, dtype=object))
    else:
        found = np.zeros(value.array.shape, dtype=bool)
    return np.asarray(found, dtype=bool)


def compared(sign: str, left: Value, right: Value) -> Truth | str:
    """Return a comparison, False where an entry is missing; or why there is none.

    Parameters
    ----------
    sign : str
        The comparison.
    left, right : Value
        What is compared.
    """
    if {left.kind, right.kind} == {"time", "text"}:
        text = left if left.kind == "text" else right
        date = _date(text)
        if date is None:
            return (
                "A time is compared with a date in quotation marks, as '2024-12-31 18:00'"
            )
        left, right = (date if value is text else value for value in (left, right))
    numbers = {left.kind, right.kind} <= {"number", "truth value"}
    if not numbers and left.kind != right.kind:
        return f"A {left.kind} is not compared with a {right.kind}"
    if left.kind == "text" and sign in _ORDERS:
        return "Texts have no order; compare them by `==`, `!=` or `in`"
    if left.kind == "time":
        left, right = _within(left), _within(right)
    found = _COMPARED[sign](left.array, right.array)
    known = ~(is_missing(left) | is_missing(right))
    return np.asarray(found, dtype=bool) & known


def arithmetic(sign: str, left: Value, right: Value) -> Value | str:
    """Return the result of arithmetic on numbers; or why there is none.

    Parameters
    ----------
    sign : str
        The operation.
    left, right : Value
        Numbers, or truth values, which are zero or one.
    """
    for value in (left, right):
        if value.kind not in {"number", "truth value"}:
            return f"Arithmetic needs numbers, not a {value.kind}"
    numbers = [np.asarray(value.array, dtype=np.float64) for value in (left, right)]
    with np.errstate(all="ignore"):
        return Value("number", np.asarray(_COMPUTED[sign](*numbers)))


def _value_of_objects(column: NDArray[Any]) -> Value | None:
    """Return a column of objects as texts or numbers, with None where an entry is missing."""
    entries = [None if _is_none(entry) else entry for entry in column.ravel().tolist()]
    known = [entry for entry in entries if entry is not None]
    if all(isinstance(entry, str) for entry in known):
        return Value("text", np.asarray(entries, dtype=object).reshape(column.shape))
    if all(isinstance(entry, bool | int | float | np.number | np.bool_) for entry in known):
        try:
            numbers = [np.nan if entry is None else float(entry) for entry in entries]
        except OverflowError:  # an integer beyond all floats
            return None
        return Value("number", np.asarray(numbers).reshape(column.shape))
    return None


def _is_none(entry: object) -> bool:
    """Tell whether an entry is None, NaN, or what pandas has in their place."""
    if isinstance(entry, float):
        return entry != entry  # noqa: PLR0124
    return entry is None or type(entry).__name__ in {"NAType", "NaTType"}


def _date(text: Value) -> Value | None:
    """Return a single text as a time; None if it is a column or no date."""
    if text.array.ndim or not _DATE.fullmatch(str(text.array)):
        return None
    try:
        return Value("time", np.asarray(np.datetime64(str(text.array), "us")))
    except ValueError:  # such as a thirteenth month
        return None


def _within(value: Value) -> Value:
    """Return times that nanoseconds can tell, so that no comparison overflows."""
    unit = np.datetime_data(value.array.dtype)[0]
    if unit in {"ns", "generic"}:
        return value
    if unit in {"ps", "fs", "as"}:
        return Value("time", value.array.astype("datetime64[ns]"))
    most, epoch = np.timedelta64(_MOST_MICROSECONDS, "us"), np.datetime64(0, "us")
    times = value.array.astype("datetime64[us]")
    return Value("time", np.clip(times, epoch - most, epoch + most))
