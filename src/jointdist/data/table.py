"""Tables read in row blocks, checked and converted as they are read.

All algorithms read data through :class:`Rows`. The data may be an array in memory or on a
GPU, a memory-mapped file, or a data frame: anything that can be sliced by rows.
"""

import math
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import issparse

from jointdist._array import (
    Array,
    Index,
    Vector,
    array_namespace,
    is_array,
    is_numpy_array,
    like,
    to_numpy,
)
from jointdist._rules import Text, refusal, require

__all__ = [
    "EXACT",
    "Rows",
    "as_rows",
    "as_weights",
    "has_nan",
    "is_flat",
    "moved",
    "require_table",
]

Frame: TypeAlias = nw.DataFrame[Any]

EXACT = 2.0**53  # integers below are exact as float64
_SCAN = 65_536  # rows of a block in the search for the first bad number
_COPIED = 1 << 25  # numbers of conditions that are copied: a quarter of a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table of ``n`` rows and ``d`` columns, a :class:`~jointdist.data.protocols.RowSource`.

    Attributes
    ----------
    source : Array of shape (n, d) or data frame
        Where the rows come from. It is not copied, and must not change.
    where, name : str
        The caller that reads the rows and its argument, for messages.
    numbers : array of shape (n,), optional
        The numbers of the rows in the table they were taken from.
    """

    source: Array | Frame
    where: str
    name: str
    numbers: Index | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.source.shape[0])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.source.shape[1])

    @property
    def columns(self) -> list[str] | None:
        """The names of the columns, if the table has any."""
        return self.source.columns if isinstance(self.source, nw.DataFrame) else None

    @property
    def in_host_memory(self) -> bool:
        """Whether blocks are NumPy arrays."""
        return isinstance(self.source, np.ndarray | nw.DataFrame)

    @property
    def _has_integers(self) -> bool:
        if isinstance(self.source, nw.DataFrame):
            return any(dtype.is_integer() for dtype in self.source.schema.values())
        if isinstance(self.source, np.ndarray):
            return self.source.dtype.kind in "iu"
        return bool(array_namespace(self.source).isdtype(self.source.dtype, "integral"))

    def read(self, start: int, stop: int) -> Array:
        """Return rows ``start`` to ``stop`` as finite float64 numbers."""
        if isinstance(self.source, nw.DataFrame):
            block = _float64(_numbers(self.source[start:stop]))
        else:
            block = _float64(self.source[start:stop, :])
        xp = array_namespace(block)
        good = xp.isfinite(block)
        if self._has_integers:
            good = good & (xp.abs(block) < EXACT)
        if not bool(xp.all(good)):
            row, column = (int(places[0]) for places in xp.nonzero(~good))
            label = column if self.columns is None else repr(self.columns[column])
            value = float(block[row, column])
            got = Text(f"{value} at row {start + row}, column {label}")
            good = "finite, without NaN or infinity"
            rule = good if not math.isfinite(value) else "below 2**53, to be exact"
            require(ok=False, where=self.where, name=self.name, rule=rule, value=got)
        return block

    def take(self, rows: Index) -> Array:
        """Return the given rows, in the given order."""
        if isinstance(self.source, nw.DataFrame):
            block = _float64(_numbers(self.source[rows]))
        elif isinstance(self.source, np.ndarray):
            block = _float64(self.source[rows])  # np.take may copy the whole table
        else:
            xp = array_namespace(self.source)
            places = like(np.asarray(rows, dtype=np.int64), self.source)
            block = _float64(xp.take(self.source, places, axis=0))
        xp = array_namespace(block)
        if not bool(xp.all(xp.isfinite(block))):
            for start in range(0, self.n, _SCAN):  # report the first bad row of the table
                self.read(start, min(start + _SCAN, self.n))
        return block

    def table(self) -> Vector:
        """Return all rows as a NumPy array."""
        table: Vector = to_numpy(self.read(0, self.n))
        return table

    def kept(self) -> "Rows":
        """Return the same rows, copied so that nobody can change them, if they are not many."""
        if self.n * self.d > _COPIED:
            return self
        block = self.read(0, self.n)
        copied = array_namespace(block).asarray(block, copy=True)
        return Rows(copied, self.where, self.name, self.numbers)

    def subset(self, rows: Index) -> "Rows":
        """Return a table of the given rows, copied into memory."""
        return Rows(self.take(rows), self.where, self.name, rows)

    def number(self, row: int) -> int:
        """Return the number of a row in the table that the user gave."""
        return row if self.numbers is None else int(self.numbers[row])

    def require_width(self, d: int) -> None:
        """Raise unless this table has ``d`` columns."""
        require(self.d == d, self.where, self.name, f"a table of {d} columns", self.d)

    def require_like(self, other: "Rows") -> None:
        """Raise unless this table has the columns of another one."""
        self.require_width(other.d)
        if self.columns is not None and other.columns is not None:
            same, rule = self.columns == other.columns, f"of columns {other.columns}"
            require(same, self.where, self.name, rule, self.columns)


def as_rows(data: object, *, where: str, name: str, vector: bool = False) -> Rows:
    """Return ``data`` as :class:`Rows`, without copying arrays or data frames.

    Parameters
    ----------
    data : array, memory map, DataFrame, sequence of sequences or Rows
        The table.
    where, name : str
        The caller and its argument, for messages.
    vector : bool, default=False
        Whether a one-dimensional array stands for a table of one column.
    """
    if isinstance(data, Rows):
        return data
    source = _source(data, where, name)
    shape = tuple(source.shape)
    got = f"shape {shape}"
    if shape[1:] == (0,):  # the message that scikit-learn's checks expect
        got = f"0 feature(s) (shape={shape}) while a minimum of 1 is required"
    empty = len(shape) > 0 and min(shape) == 0
    rule = "a table with at least one row and one column"
    require(not empty, where, name, rule, Text(got))
    if len(shape) == 1 and vector:
        source = source.to_frame() if isinstance(source, nw.Series) else source[:, None]
    elif len(shape) == 1:
        got += f". Reshape your data to (1, {shape[0]}) if it is a row, or ({shape[0]}, 1)"
    rule = "a vector or a table of rows" if vector else "a table of n rows and d columns"
    require(len(source.shape) == 2, where, name, rule, Text(got))
    return Rows(source, where, name)


def require_table(data: object, where: str, name: str) -> None:
    """Raise if data are a dict or sparse.

    Parameters
    ----------
    data : object
        What was given.
    where, name : str
        The caller and its argument, for messages.
    """
    require(not issparse(data), where, name, "a dense array", Text("a sparse matrix"))
    got = Text("a dict; make a DataFrame of its columns")
    require(not isinstance(data, Mapping), where, name, "a table", got)


def has_nan(table: NDArray[Any]) -> bool:
    """Tell whether an array of numbers has a NaN: sums of blocks show it, at memory speed.

    Parameters
    ----------
    table : array
        The array.
    """
    for start in range(0, len(table), _SCAN):
        block = table[start : start + _SCAN]
        with np.errstate(invalid="ignore", over="ignore"):
            total = block.sum()
        if not np.isfinite(total) and np.isnan(block).any():
            return True
    return False


def is_flat(data: Any) -> TypeGuard[Sized]:
    """Tell whether data are a vector: no entry of a list is a row."""
    if isinstance(data, list | tuple):
        return all(isinstance(entry, str) or not isinstance(entry, Sized) for entry in data)
    return len(getattr(data, "shape", ())) == 1


def moved(rows: Rows, array: Array) -> Rows:
    """Return rows where an array is: those of another library or device are copied there.

    Parameters
    ----------
    rows : Rows
        The rows.
    array : Array
        The array.
    """
    if rows.in_host_memory == is_numpy_array(array):
        return rows
    return Rows(like(rows.table(), array), rows.where, rows.name, rows.numbers)


def as_weights(weights: object, rows: Rows) -> Vector | None:
    """Return sample weights for ``rows`` as a vector in host memory; None stays None.

    Weights are finite and not negative, and not all zero: a row of weight two counts
    as two rows, one of weight zero as none.

    Parameters
    ----------
    weights : array of shape (n,), optional
        The weights.
    rows : Rows
        The rows.
    """
    if weights is None:
        return None
    where, name = rows.where, "sample_weight"
    table = as_rows(weights, where=where, name=name, vector=True)
    rule = f"one number for each of the {rows.n} rows"
    got = Text(f"{table.n} rows of {table.d}")
    require((table.n, table.d) == (rows.n, 1), where, name, rule, got)
    values: Vector = table.table()[:, 0]
    require(values.min() >= 0, where, name, "zero or positive", float(values.min()))
    require(values.any(), where, name, "positive somewhere", Text("only zeros"))
    with np.errstate(over="ignore"):
        total = float(values.sum())
    sane = np.finfo(np.float64).tiny <= total < np.inf
    require(sane, where, name, "of a sum that can be divided by", total)
    nothing = values < np.finfo(np.float64).tiny  # products with them would be lost
    return np.where(nothing, 0.0, values) if (nothing & (values > 0)).any() else values


def _source(data: Any, where: str, name: str) -> Any:
    """Return an array of numbers of any library, or a data frame or series of numbers."""
    require_table(data, where, name)
    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except DuplicateError as error:
        got = Text(" ".join(str(error).split()))
        require(False, where, name, "a table of unique columns", got)
        raise
    lazy = isinstance(frame, nw.LazyFrame)
    require(not lazy, where, name, "in memory", Text("a lazy frame; collect it first"))
    if isinstance(frame, nw.DataFrame | nw.Series):
        dtypes = {frame.name: frame.dtype} if isinstance(frame, nw.Series) else frame.schema
        for column, dtype in dtypes.items():
            hint = "give dates as numbers" if dtype.is_temporal() else _CODES
            got = Text(f"{dtype} in column {column!r}; {hint}")
            real = dtype.is_numeric() or dtype == nw.Boolean
            require(real, where, name, "numeric", got)
        return frame
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    array = data if is_array(data) else _from_python(data, where, name)
    if isinstance(array, np.ndarray) and array.dtype == object:
        array = _from_python(array.tolist(), where, name)
    is_complex = "complex" in str(array.dtype)
    hint = "Complex data not supported" if is_complex else _CODES
    got = Text(f"values of type {array.dtype}; {hint}")
    require(_is_real(array), where, name, "numeric", got)
    return array


_CODES = "give categories as number codes"


def _from_python(data: object, where: str, name: str) -> NDArray[Any]:
    """Return an array of nested sequences of numbers, in which None is missing."""
    try:
        array = np.asarray(data)
        if array.dtype == object and not any(isinstance(v, str) for v in array.flat):
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:  # scikit-learn tells types from values
        got = Text(str(error).rstrip("."))
        msg = refusal(where, name, "a table of numbers", got)
        raise type(error)(msg) from error
    return array


def _is_real(array: Array) -> bool:
    if isinstance(array, np.ndarray):
        return array.dtype.kind in "biuf"
    kinds = ("bool", "real floating", "integral")
    return bool(array_namespace(array).isdtype(array.dtype, kinds))


def _numbers(frame: Frame) -> Vector:
    """Return the numbers of a data frame; missing values become NaN."""
    return frame.select(nw.all().cast(nw.Float64)).to_numpy()


def _float64(block: Array) -> Array:
    xp = array_namespace(block)
    return xp.astype(xp.asarray(block), xp.float64, copy=False)
