"""Tables read in row blocks: checked once, converted as they are read.

A :class:`Rows` is all that the engine knows of the data. It may stand on an array in
memory, on a memory-mapped file or on a GPU; whatever can be cut into slices of rows.
"""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from jointdist._array import Array, array_namespace, is_array, like, to_numpy
from jointdist.errors import Words, require

__all__ = ["Rows", "as_rows", "as_weights"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A table of ``n`` rows and ``d`` columns, read as blocks of float64.

    Attributes
    ----------
    source : Array of shape (n, d)
        Where the rows come from.
    where, name : str
        Who asked for the rows, and the name of the argument, for messages.
    """

    source: Array
    where: str
    name: str

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.source.shape[0])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.source.shape[1])

    def read(self, start: int, stop: int) -> Array:
        """Return rows ``start`` to ``stop`` as finite float64 numbers."""
        return self._checked(self.source[start:stop, :], lambda i: start + i)

    def take(self, rows: NDArray[np.intp]) -> Array:
        """Return the given rows, in the given order."""
        xp = array_namespace(self.source)
        chosen = like(np.asarray(rows, dtype=np.int64), self.source)
        return self._checked(xp.take(self.source, chosen, axis=0), lambda i: int(rows[i]))

    def subset(self, rows: NDArray[np.intp]) -> "Rows":
        """Return a table of the given rows, copied into memory."""
        return Rows(self.take(rows), self.where, self.name)

    def _checked(self, block: Array, row_number: Any) -> Array:
        xp = array_namespace(self.source)
        block = xp.astype(xp.asarray(block), xp.float64, copy=False)
        finite = xp.isfinite(block)
        if not bool(xp.all(finite)):
            row, column = (int(i[0]) for i in xp.nonzero(~finite))
            value = float(block[row, column])
            got = Words(f"{value} at row {row_number(row)}, column {column}")
            require(ok=False, where=self.where, name=self.name, rule="finite", value=got)
        return block


def as_rows(data: object, *, where: str, name: str, vector: bool = False) -> Rows:
    """Return ``data`` as :class:`Rows`, without copying what is an array already.

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
    array = _as_array(data, where, name)
    if vector and array.ndim == 1:
        array = array[:, None]
    rule = (
        "a vector or a table of rows" if vector else "two-dimensional (n rows, d columns)"
    )
    got = Words(
        f"an array of shape {tuple(array.shape)}{_REMEDY if array.ndim == 1 else ''}"
    )
    require(array.ndim == 2, where, name, rule, got)
    require(
        min(array.shape) > 0, where, name, "a table with at least one row and column", got
    )
    return Rows(array, where, name)


_REMEDY = "; write X[:, None] if it is one column, X[None, :] if it is one row"


def as_weights(weights: object, rows: Rows) -> NDArray[np.float64] | None:
    """Return sample weights for ``rows`` as a vector in host memory; None stays None.

    Weights are finite and not negative, and not all zero: a row of weight two counts
    as two rows, one of weight zero as none.
    """
    if weights is None:
        return None
    where, name = rows.where, "sample_weight"
    table = as_rows(weights, where=where, name=name, vector=True)
    rule = f"one number for each of the {rows.n} rows"
    got = Words(f"an array of shape {tuple(table.source.shape)}")
    require((table.n, table.d) == (rows.n, 1), where, name, rule, got)
    values: NDArray[np.float64] = to_numpy(table.read(0, table.n))[:, 0]
    require(values.min() >= 0, where, name, "zero or positive", float(values.min()))
    require(values.any(), where, name, "positive somewhere", Words("only zeros"))
    return values


def _as_array(data: object, where: str, name: str) -> Array:
    """Return an array of numbers of whatever library, or raise."""
    rule = "a table of numbers"
    require(data is not None, where, name, rule, None)
    require(not issparse(data), where, name, "a dense array", Words("a sparse matrix"))
    frame = nw.from_native(data, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame | nw.Series):
        return _from_frame(frame, where, name)
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    if is_array(data) and not isinstance(data, np.ndarray):
        return _numeric(data, where, name)
    try:
        array = np.asanyarray(data) if isinstance(data, np.ndarray) else np.asarray(data)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        require(ok=False, where=where, name=name, rule=rule, value=Words(str(error)))
        raise
    return _numeric(array, where, name)


def _numeric(array: Array, where: str, name: str) -> Array:
    if isinstance(array, np.ndarray):
        real = array.dtype.kind in "biuf"
    else:
        kinds = ("bool", "real floating", "integral")
        real = array_namespace(array).isdtype(array.dtype, kinds)
    require(real, where, name, "numeric", Words(f"values of type {array.dtype}"))
    return array


def _from_frame(
    frame: "nw.DataFrame[Any] | nw.Series[Any]", where: str, name: str
) -> NDArray[np.float64]:
    """Return the numbers of a data frame or series; missing values become NaN."""
    if isinstance(frame, nw.Series):
        numbers = frame.dtype.is_numeric() or frame.dtype == nw.Boolean
        require(numbers, where, name, "numeric", Words(f"values of type {frame.dtype}"))
        return frame.cast(nw.Float64).to_numpy()
    for column, dtype in frame.schema.items():
        got = Words(f"column {column!r} of type {dtype}; give categories as number codes")
        require(dtype.is_numeric() or dtype == nw.Boolean, where, name, "numeric", got)
    if frame.is_empty() or not frame.columns:
        return np.empty(frame.shape)
    return frame.select(nw.all().cast(nw.Float64)).to_numpy()
