"""The encoding of columns as numbers, and the decoding of numbers.

Numeric tables are not copied and are read in row blocks. Any other table is copied once: its
categories are replaced by codes, times by seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text, require
from jointdist.data.column_codes import (
    Caller,
    Categories,
    learn_categories,
    read_codes,
)
from jointdist.data.raw_columns import Kind, RawColumn, raw_columns, table_names
from jointdist.data.table import Rows, as_rows, is_flat
from jointdist.data.time_zones import on_clock

__all__ = ["Coded", "Encoding", "learn_encoding", "learn_types"]

_Names: TypeAlias = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the columns of a table become numbers.

    The codes of K categories are 0 to K - 1. Where entries may be missing, K is the code of a
    missing one, and K + 1 that of a category that `fit` has not seen.

    Attributes
    ----------
    categories : tuple
        For each column, its categories in the order of their codes; None if it is numeric.
    names : tuple of str, optional
        The names of the columns, if the table had any.
    kinds : tuple of str, default=()
        What each column holds, if some hold times, durations or ordered categories.
    zones : tuple, default=()
        The time zone of each column of times, beside None; if there are any.
    neutral : tuple, default=()
        For each column the code of a missing entry; None if none can be missing. Empty if
        that is so in all columns.
    unused : tuple of int, default=()
        Columns of many categories: no kernel acts on their codes.
    embedded : tuple of int, default=()
        Those of them that other columns stand for.
    """

    categories: tuple[Categories | None, ...]
    names: _Names = None
    kinds: tuple[Kind, ...] = ()
    zones: tuple[str | None, ...] = ()
    neutral: tuple[float | None, ...] = ()
    unused: tuple[int, ...] = ()
    embedded: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.categories)

    @property
    def numeric(self) -> bool:
        """Whether all columns are numeric."""
        return all(categories is None for categories in self.categories)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numeric columns that kernels act on."""
        found = (i for i, known in enumerate(self.categories) if known is None)
        return tuple(i for i in found if i not in self.unused)

    @property
    def factors(self) -> tuple[int, ...]:
        """The categorical columns that kernels act on."""
        found = (i for i, known in enumerate(self.categories) if known is not None)
        return tuple(i for i in found if i not in self.unused)

    @property
    def all_categorical(self) -> bool:
        """Whether all columns are categorical."""
        return all(categories is not None for categories in self.categories)

    def kind(self, column: int) -> Kind:
        """Return what a column holds."""
        if self.kinds:
            return self.kinds[column]
        return "number" if self.categories[column] is None else "category"

    def zone(self, column: int) -> str | None:
        """Return the time zone of a column of times, if it has one."""
        return self.zones[column] if self.zones else None

    def label(self, column: int) -> str:
        """Return the name of a column for messages."""
        return str(column) if self.names is None else repr(self.names[column])

    def titles(self, side: str) -> tuple[str, ...]:
        """Return titles of the columns: their names, or else made from the name of the side."""
        if self.names is not None:
            return self.names
        many = tuple(f"{side}[{i}]" for i in range(self.width))
        return (side,) if self.width == 1 else many

    def take(self, columns: Sequence[int]) -> "Encoding":
        """Return the encoding of some columns, in the given order."""
        names = None if self.names is None else tuple(self.names[i] for i in columns)
        return Encoding(
            tuple(self.categories[i] for i in columns),
            names,
            tuple(self.kinds[i] for i in columns if self.kinds),
            tuple(self.zones[i] for i in columns if self.zones),
            tuple(self.neutral[i] for i in columns if self.neutral),
            tuple(k for k, i in enumerate(columns) if i in self.unused),
            tuple(k for k, i in enumerate(columns) if i in self.embedded),
        )

    def encode(self, data: object, *, where: str, name: str, vector: bool = False) -> Rows:
        """Return a table of the same columns, all complete, as rows of numbers.

        Parameters
        ----------
        data : array, DataFrame, sequence or Coded
            The table. Categories must be those of the encoding.
        where, name : str
            The caller and its argument, for messages.
        vector : bool, default=False
            Whether a one-dimensional array stands for a table of one column.
        """
        found = self.read(data, where=where, name=name, vector=vector)
        if isinstance(found, Rows):
            return found
        self.require_complete(found, where, name)
        return as_rows(found, where=where, name=name)

    def read(
        self,
        data: object,
        *,
        where: str,
        name: str,
        vector: bool = False,
        unseen: Sequence[int] = (),
    ) -> Rows | NDArray[np.float64]:
        """Return a table of the same columns: complete numbers, or codes, some missing.

        Parameters
        ----------
        data : array, DataFrame, sequence or Coded
            The table.
        where, name : str
            The caller and its argument, for messages.
        vector : bool, default=False
            Whether a one-dimensional array stands for a table of one column.
        unseen : sequence of int, default=()
            Columns that may have other categories; in others they are refused.

        Returns
        -------
        Rows or array of shape (n, d)
            Numbers as they are; or codes, NaN where entries are missing, and K + 1 for
            categories that are not among the K of the encoding.
        """
        if isinstance(data, Coded):
            same, known = data.encoding.categories == self.categories, list(self.categories)
            require(same, where, name, f"of categories {known}", data.encoding.categories)
            return data.rows
        self._require_table(data, where, name, vector=vector)
        labels = [self.kind(i) in ("category", "ordered") for i in range(self.width)]
        columns = raw_columns(data, where=where, name=name, vector=vector, labels=labels)
        if columns is None:
            rows = as_rows(data, where=where, name=name, vector=vector)
            rows.require_width(self.width)
            if not any(labels) and not {"time", "duration"} & set(self.kinds):
                return rows
            columns = [RawColumn("number", z) for z in rows.table().T]
        same, rule = len(columns) == self.width, f"a table of {self.width} columns"
        require(same, where, name, rule, len(columns))
        some, rule = len(columns[0].values) > 0, "a table with at least one row"
        require(some, where, name, rule, Text("none"))
        return self.codes(columns, where, name, unseen)

    def codes(
        self,
        columns: Sequence[RawColumn],
        where: str,
        name: str,
        unseen: Sequence[int] = (),
    ) -> NDArray[np.float64]:
        """Return columns as codes, NaN where entries are missing.

        Parameters
        ----------
        columns : sequence of RawColumn
            The columns.
        where, name : str
            The caller and its argument, for messages.
        unseen : sequence of int, default=()
            Columns that may have other categories.
        """
        found = np.empty((len(columns[0].values), len(columns)))
        for i, column in enumerate(columns):
            known, at = self.categories[i], f"column {self.label(i)}"
            caller = Caller(where, name, at, i in unseen)
            found[:, i] = read_codes(column, self.kind(i), known, self.zone(i), caller)
        return found

    def require_complete(self, codes: NDArray[np.float64], where: str, name: str) -> None:
        """Raise if entries are missing: how many, where, and what to do.

        Parameters
        ----------
        codes : array of shape (n, d)
            The codes, NaN where entries are missing.
        where, name : str
            The caller and its argument, for messages.
        """
        missing = np.isnan(codes)
        if not missing.any():
            return
        rows = np.flatnonzero(missing.any(axis=1))
        columns = [self.label(int(i)) for i in np.flatnonzero(missing.any(axis=0))]
        several = (
            f"rows {', '.join(map(str, rows[:5].tolist()))}{', ...' * (len(rows) > 5)}"
        )
        got = Text(
            f"{missing.sum()} missing in column {', '.join(columns)}, at {several}; drop these "
            "rows or impute them"
        )
        require(False, where, name, "complete, without missing values, NaN or None", got)

    def decode(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return coded values, of shape ``(..., d)``, as users know them.

        Categories take the place of codes; missing entries are None, NaN or NaT. Times are
        on the clock of their time zone.
        """
        if self.numeric and not self.kinds and not self.neutral:
            return values
        parts = [self.decode_column(i, values[..., i]) for i in range(self.width)]
        if self.width == 1:
            return parts[0][..., None]
        if all(part.dtype == np.float64 for part in parts):
            return np.stack(parts, axis=-1)
        return np.stack([part.astype(object) for part in parts], axis=-1)

    def decode_column(self, column: int, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return the values of one column as users know them, in a type of their own.

        Parameters
        ----------
        column : int
            The number of the column.
        values : array
            Its codes.
        """
        known, kind = self.categories[column], self.kind(column)
        missing = np.isnan(values)
        neutral = self.neutral[column] if self.neutral else None
        if neutral is not None:
            missing |= values == neutral
        if known is not None:
            codes = np.where(missing, 0, values).astype(np.intp)
            none = missing | (codes >= len(known))
            found = np.asarray(known)[np.where(none, 0, codes)]
            if none.any():
                found = found.astype(object)
                found[none] = None
            return found
        if kind == "time":
            flat = np.where(missing, 0.0, values).ravel()
            micros = on_clock(flat, self.zone(column)).reshape(values.shape) * 1e6
            times = np.round(micros).astype(np.int64).astype("datetime64[us]")
            return np.where(missing, np.datetime64("NaT", "us"), times)
        return np.where(missing, np.nan, values) if missing.any() else values

    def _require_table(self, data: Any, where: str, name: str, *, vector: bool) -> None:
        """Raise if data are no table, or have other columns."""
        if self.names is not None and (found := _columns(data)) is not None:
            rule = f"of columns {list(self.names)}"
            require(found == self.names, where, name, rule, list(found))
        if isinstance(data, str | int | float | np.generic):
            rule = "a vector or a table of rows" if vector else "a table of rows"
            got = Text(f"{data!r}; put a single one in brackets")
            require(False, where, name, rule, got)
        if not self.numeric and self.width > 1 and is_flat(data):
            got = Text(f"a single row of {len(data)}; put it in brackets")
            require(False, where, name, "a table of rows", got)


class Coded(NamedTuple):
    """A table that is encoded already, with its encoding.

    Attributes
    ----------
    encoding : Encoding
        The encoding.
    rows : Rows
        The encoded table.
    """

    encoding: Encoding
    rows: Rows


def learn_encoding(data: object, *, where: str, name: str, vector: bool = False) -> Coded:
    """Return the encoding of a complete table, and its rows as numbers.

    Parameters
    ----------
    data : array, DataFrame, sequence or Coded
        The table. Columns of strings are categorical, with categories in alphabetical
        order. A table that is encoded already stays as it is.
    where, name : str
        The caller and its argument, for messages.
    vector : bool, default=False
        Whether a one-dimensional array stands for a table of one column.

    Examples
    --------
    >>> from jointdist.data.encoding import learn_encoding
    >>> encoding, rows = learn_encoding([["b", 1], ["a", 2]], where="fit", name="X")
    >>> encoding.categories
    (('a', 'b'), None)
    >>> rows.read(0, 2)
    array([[1., 1.],
           [0., 2.]])
    """
    if isinstance(data, Coded):
        return data
    encoding, found = learn_types(data, where=where, name=name, vector=vector)
    if isinstance(found, Rows):
        return Coded(encoding, found)
    times = [encoding.label(i) for i in range(encoding.width) if encoding.kind(i) == "time"]
    got = Text(
        f"times in column {', '.join(times)}; give durations since some time instead"
    )
    require(not times, where, name, "numeric or categorical", got)
    encoding.require_complete(found, where, name)
    return Coded(encoding, as_rows(found, where=where, name=name))


def learn_types(
    data: object, *, where: str, name: str, vector: bool = False
) -> tuple[Encoding, Rows | NDArray[np.float64]]:
    """Return what the columns of a table hold, and numbers or codes as :meth:`Encoding.read`.

    Parameters
    ----------
    data : array, DataFrame or sequence
        The table.
    where, name : str
        The caller and its argument, for messages.
    vector : bool, default=False
        Whether a one-dimensional array stands for a table of one column.
    """
    columns = raw_columns(data, where=where, name=name, vector=vector)
    names = table_names(data)
    if columns is None:
        flat = not vector and raw_columns(data, where=where, name=name, vector=True)
        got = Text(
            "a vector of strings. Reshape your data to (n, 1) if it is a single column"
        )
        rule, strings = (
            "a table of n rows and d columns",
            flat and flat[0].kind == "category",
        )
        require(not strings, where, name, rule, got)
        rows = as_rows(data, where=where, name=name, vector=vector)
        return Encoding((None,) * rows.d, names), rows
    rule = "a table with at least one row and one column"
    require(columns and len(columns[0].values), where, name, rule, Text("none"))
    labels = range(len(columns)) if names is None else map(repr, names)
    known = tuple(
        learn_categories(column, where, name, label)
        for label, column in zip(labels, columns, strict=True)
    )
    kinds = tuple(column.kind for column in columns)
    zones = tuple(column.zone for column in columns)
    plain = set(kinds) <= {"number", "category"}
    encoding = Encoding(known, names, () if plain else kinds, zones if any(zones) else ())
    return encoding, encoding.codes(columns, where, name)


def _columns(data: object) -> _Names:
    return table_names(data) if getattr(data, "ndim", 2) == 2 else None
