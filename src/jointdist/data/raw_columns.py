"""The columns of any table as they are read: numbers, labels, times and durations."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning

from jointdist._array import Vector, is_array
from jointdist._rules import Text, require
from jointdist.data.table import EXACT, has_nan
from jointdist.data.time_zones import require_zone
from jointdist.errors import warn_user

__all__ = ["Kind", "RawColumn", "as_frame", "is_missing", "raw_columns", "table_names"]

Kind: TypeAlias = Literal["number", "category", "ordered", "time", "duration"]

_LABELS = (nw.String, nw.Categorical, nw.Enum, nw.Object)
_SECOND = 1e6  # microseconds: times are read to the microsecond
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?")
_ZERO_FIRST = re.compile(r"[+-]?0\d")  # a code, such as a postal code, and no number
# Strings are taken for numbers that are misspelt, and not for categories, if at least this
# share of the distinct ones are numbers, and if these are at least so many.
_NEARLY_ALL, _MANY = 0.9, 30


@dataclass(frozen=True, slots=True, eq=False)
class RawColumn:
    """A column of a table, before its categories have codes.

    Attributes
    ----------
    kind : str
        What the column holds.
    values : array of float of shape (n,) or list
        Numbers, NaN where missing: times are seconds since 1970, in UTC if they have a zone,
        durations seconds. Or the labels of a categorical column, None where missing.
    order : tuple, optional
        All categories in their order, if they are ordered.
    zone : str, optional
        The time zone of times.
    """

    kind: Kind
    values: Any
    order: tuple[Any, ...] | None = None
    zone: str | None = None

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each entry is missing."""
        if isinstance(self.values, np.ndarray):
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)


def is_missing(value: Any) -> bool:
    """Tell whether an entry is missing: None, NaN, NaT, or pandas' NA.

    Parameters
    ----------
    value : object
        The entry.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating | Decimal) and math.isnan(value)


def as_frame(data: Any) -> Any:
    """Return a data frame or a series of any library for narwhals; None for other data.

    Parameters
    ----------
    data : object
        The table.
    """
    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except DuplicateError:  # the reader of numbers has a message
        return None
    return frame if isinstance(frame, nw.DataFrame | nw.Series) else None


def table_names(data: object) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame, or the name of a series.

    Parameters
    ----------
    data : object
        The table.
    """
    frame = as_frame(data)
    if isinstance(frame, nw.DataFrame):
        return tuple(map(str, frame.columns))
    named = isinstance(frame, nw.Series) and frame.name not in {None, ""}
    return (str(frame.name),) if named else None


def raw_columns(
    data: Any,
    *,
    where: str,
    name: str,
    vector: bool = False,
    labels: Sequence[bool] | None = None,
) -> list[RawColumn] | None:
    """Return the columns of a table; None if all are numbers and none is missing.

    Parameters
    ----------
    data : array, DataFrame or sequence
        The table.
    where, name : str
        The caller and its argument, for messages.
    vector : bool, default=False
        Whether a one-dimensional array stands for a table of one column.
    labels : sequence of bool, optional
        Which columns are known to be categorical: their strings are never numbers.
    """
    reader = _Reader(where, name, labels)
    frame = as_frame(data)
    if isinstance(frame, nw.Series):
        return reader.of_series([frame]) if vector else None
    if isinstance(frame, nw.DataFrame):
        return reader.of_series([frame.get_column(column) for column in frame.columns])
    if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "biuf":
        data = np.ma.filled(data.astype(np.float64), np.nan)
    if not is_array(data) and getattr(data, "ndim", 2) == 1:
        data = np.asarray(data)  # such as an index of pandas
    if isinstance(data, np.ndarray | list | tuple):
        return reader.of_array(data, vector=vector)
    return None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads columns for a caller.

    Attributes
    ----------
    where, name : str
        The caller and its argument, for messages.
    labels : sequence of bool, optional
        Which columns are known to be categorical.
    """

    where: str
    name: str
    labels: Sequence[bool] | None

    def of_array(self, data: Any, *, vector: bool) -> list[RawColumn] | None:
        """Return the columns of an array or of a sequence of rows."""
        given = data
        if not isinstance(data, np.ndarray):
            try:
                data = np.asarray(data)
                if data.dtype.kind in "OUSTMm":
                    data = np.asarray(given, dtype=object)
            except (
                ValueError,
                OverflowError,
            ):  # ragged: the reader of numbers has a message
                return None
        if data.ndim == 1 and vector:
            data = data[:, None]
        if data.ndim != 2 or 0 in data.shape or data.dtype.kind not in "OUTMmf":
            return None
        if data.dtype.kind == "f":
            if not has_nan(data):
                return None
            return [RawColumn("number", np.asarray(z, dtype=np.float64)) for z in data.T]
        if data.dtype.kind in "Mm":
            return [_of_times(column) for column in data.T]
        columns = [z.tolist() for z in data.astype(object).T]
        found = [self.of_objects(z, i, i) for i, z in enumerate(columns)]
        complete = not any(column.missing.any() for column in found)
        plain = complete and all(isinstance(v, float | int) for z in columns for v in z)
        return None if plain else found

    def of_series(self, columns: list[nw.Series[Any]]) -> list[RawColumn] | None:
        """Return the columns of a data frame."""
        kinds = [_kind(column) for column in columns]
        if any(kind is None for kind in kinds) or not columns:
            return None  # the reader of numbers has a message
        if not len(columns[0]):
            return [RawColumn("number", np.empty(0)) for _ in columns]
        if all(kind == "number" for kind in kinds) and not any(map(_has_missing, columns)):
            return None
        return [
            self.of_one(i, column, kind)
            for i, (column, kind) in enumerate(zip(columns, kinds, strict=True))
        ]

    def of_one(self, i: int, column: nw.Series[Any], kind: str | None) -> RawColumn:
        """Return one column of a data frame."""
        label = repr(str(column.name)) if column.name not in {None, ""} else i
        if kind == "number" and column.null_count() == len(column):
            return RawColumn("number", np.full(len(column), np.nan))
        if kind == "number":
            self.require_exact(column, label)
            return RawColumn("number", _floats(column))
        if kind == "duration":
            return RawColumn("duration", _floats(column.dt.total_microseconds()) / _SECOND)
        if kind == "time":
            require_zone(_zone(column), self.where, self.name)
            return _of_clock(column)
        values = [None if is_missing(value) else value for value in column.to_list()]
        if column.dtype not in (nw.Categorical, nw.Enum):
            return self.of_objects(values, i, label)
        values = [_plain_label(value) for value in values]
        order = _order(column)
        declared: Kind = "category" if order is None else "ordered"
        return RawColumn(declared, values, order)

    def require_exact(self, column: nw.Series[Any], label: object) -> None:
        """Raise if integers are too large to be exact."""
        if not column.dtype.is_integer():
            return
        values = _floats(column)
        large = np.flatnonzero(np.abs(values) >= EXACT)
        if len(large):
            got = Text(f"{values[large[0]]:.0f} at row {large[0]}, column {label}")
            require(False, self.where, self.name, "below 2**53, to be exact", got)

    def of_objects(self, values: Sequence[Any], i: int, label: object) -> RawColumn:
        """Return a column of Python objects, all of one kind."""
        values = [None if is_missing(value) else value for value in values]
        present = [value for value in values if value is not None]
        if self.labels is not None and i < len(self.labels) and self.labels[i] and present:
            return RawColumn("category", values)
        if present and all(isinstance(value, str) for value in present):
            return self.of_strings(values, label)
        if present and all(isinstance(v, datetime | date | np.datetime64) for v in present):
            return self.of_datetimes(values, label)
        if present and all(isinstance(v, timedelta | np.timedelta64) for v in present):
            return _of_times(np.array(values, dtype="timedelta64[us]"))
        found = np.full(len(values), np.nan)
        for row, value in enumerate(values):
            if value is not None:
                found[row] = self.number(value, f"row {row}, column {label}")
        return RawColumn("number", found)

    def number(self, value: Any, at: str) -> float:
        """Return a Python object as a number."""
        got = Text(f"{value!r} at {at}")
        rule = "of strings or of numbers in each column"
        require(_is_number(value), self.where, self.name, rule, got)
        whole = isinstance(value, int | np.integer) and abs(int(value)) >= EXACT
        require(not whole, self.where, self.name, "below 2**53, to be exact", got)
        return float(value)

    def of_datetimes(self, values: Sequence[Any], label: object) -> RawColumn:
        """Return datetimes or dates as times on the clock, all of one zone or of none."""
        zones = {_zone_of(value) for value in values if value is not None}
        got = Text(f"{sorted(map(str, zones))} in column {label}")
        rule = "of one time zone, or of none"
        require(len(zones) == 1, self.where, self.name, rule, got)
        zone = zones.pop()
        require_zone(zone, self.where, self.name)
        moments = [v if v is None or zone is None else _in_utc(v) for v in values]
        column = _of_times(np.array(moments, dtype="datetime64[us]"))
        return RawColumn("time", column.values, zone=zone)

    def of_dates(self, values: Sequence[Any], label: object) -> RawColumn:
        """Return strings that are dates, with a warning, as times."""
        try:
            times = [None if v is None else datetime.fromisoformat(str(v)) for v in values]
        except ValueError:  # such as the 31st of February
            return RawColumn("category", [None if v is None else str(v) for v in values])
        msg = (
            f"{self.where}: `{self.name}` has dates as strings in column {label}; they are read "
            "as times. Declare the column categorical if they are labels."
        )
        warn_user(msg, DataConversionWarning)
        moments = [v if v is None or v.tzinfo is None else v.astimezone(UTC) for v in times]
        return self.of_datetimes(moments, label)

    def of_strings(self, values: Sequence[Any], label: object) -> RawColumn:
        """Return strings as labels; as numbers, with a warning, if all of them are."""
        distinct = sorted({str(value) for value in values if value is not None})
        if self.labels is None and all(_DATE.fullmatch(text) for text in distinct):
            return self.of_dates(values, label)
        numbers = {text: _parsed(text) for text in distinct}
        misfits = {text for text, number in numbers.items() if number is None}
        codes = any(_ZERO_FIRST.match(text.strip()) for text in distinct)
        few = bool(misfits) and len(distinct) < _MANY
        if codes or few or len(misfits) > (1 - _NEARLY_ALL) * len(distinct):
            return RawColumn("category", [None if v is None else str(v) for v in values])
        row = next((row for row, value in enumerate(values) if value in misfits), 0)
        got = Text(
            f"strings that are numbers but for {values[row]!r} at row {row}, column {label}; "
            "correct it, or declare the column categorical"
        )
        rule = "of strings or of numbers in each column"
        require(not misfits, self.where, self.name, rule, got)
        msg = (
            f"{self.where}: `{self.name}` has numbers as strings in column {label}; they are "
            "read as numbers. Declare the column categorical if they are codes."
        )
        warn_user(msg, DataConversionWarning)
        found = [math.nan if value is None else numbers[str(value)] for value in values]
        return RawColumn("number", np.array(found, dtype=np.float64))


def _kind(column: nw.Series[Any]) -> str | None:
    """Return what a column holds; None for what cannot be read."""
    dtype = column.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "number"
    if dtype in _LABELS:
        return "label"
    if dtype == nw.Duration:
        return "duration"
    if column.null_count() == len(column):
        return "number"
    native = str(getattr(column.to_native(), "dtype", ""))
    times = dtype in (nw.Datetime, nw.Date) or native.startswith("datetime64")
    return "time" if times else None


def _has_missing(column: nw.Series[Any]) -> bool:
    if column.dtype.is_float():
        return has_nan(column.to_numpy())
    return column.null_count() > 0


def _of_clock(column: nw.Series[Any]) -> RawColumn:
    """Return times of a data frame as seconds: since 1970 in UTC, or on a clock without zone."""
    if column.dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    zone = _zone(column)
    moments = column if zone is None else _utc(column)
    return RawColumn("time", _floats(moments.dt.timestamp("us")) / _SECOND, zone=zone)


def _utc(column: nw.Series[Any]) -> nw.Series[Any]:
    """Return times with a zone on the clock of UTC, without a zone."""
    if isinstance(column.dtype, nw.Datetime):
        return column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    native = column.to_native().dt.tz_convert("UTC").dt.tz_localize(None)  # of pandas
    return nw.from_native(native, series_only=True)


def _plain_label(value: Any) -> Any:
    """Return a label that a file can hold: intervals and times by their text."""
    plain = value is None or isinstance(value, str | int | float | np.generic)
    return value if plain else str(value)


def _order(column: nw.Series[Any]) -> tuple[Any, ...] | None:
    """Return the categories of a categorical column in their order, if they have one."""
    native, dtype = column.to_native(), column.dtype
    if isinstance(dtype, nw.Enum):  # pandas' ordered ones, and those of polars
        pandas = getattr(getattr(native, "cat", None), "categories", None)
        categories = dtype.categories if pandas is None else pandas
        return tuple(_plain_label(value) for value in categories)
    kind = getattr(native, "type", None)  # pyarrow
    if not getattr(kind, "ordered", False):
        return None
    chunks = native.unify_dictionaries().chunks
    return tuple(chunks[0].dictionary.to_pylist()) if chunks else ()


def _zone(column: nw.Series[Any]) -> str | None:
    zone = getattr(column.dtype, "time_zone", None)
    if zone is None:
        zone = getattr(getattr(column.to_native(), "dtype", None), "tz", None)
    return None if zone is None else str(zone)


def _floats(column: nw.Series[Any]) -> Vector:
    found: Vector = column.cast(nw.Float64).to_numpy().astype(np.float64)
    return found


def _of_times(values: NDArray[Any]) -> RawColumn:
    """Return an array of times or durations of NumPy as seconds."""
    kind: Kind = "time" if values.dtype.kind == "M" else "duration"
    unit = "datetime64[us]" if kind == "time" else "timedelta64[us]"
    micros = values.astype(unit)
    seconds = np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / _SECOND)
    return RawColumn(kind, seconds)


def _is_number(value: Any) -> bool:
    if isinstance(value, complex):
        return False
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return isinstance(value, int)
    return True


def _in_utc(value: datetime) -> datetime:
    """Return a moment on the clock of UTC."""
    return value.astimezone(UTC).replace(tzinfo=None)


def _zone_of(value: Any) -> str | None:
    """Return the time zone of a datetime, if it has one."""
    zone = getattr(value, "tzinfo", None)
    return None if zone is None else str(zone)


def _parsed(text: str) -> float | None:
    """Return the finite number that a string stands for; None if it is not one."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) and "_" not in text else None
