"""The encoding of categorical columns as numbers, and the decoding of numbers.

Numeric tables are not copied and are read in row blocks. A table that also has categorical
columns is copied once, its categories replaced by codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from jointdist._array import is_array
from jointdist._rules import Text, require
from jointdist.data.table import Rows, as_rows, is_flat

__all__ = ["Coded", "Encoding", "learn_encoding"]

Categories: TypeAlias = tuple[Any, ...]

_CATEGORICAL = (nw.String, nw.Categorical, nw.Enum, nw.Object)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the columns of a table become numbers.

    Attributes
    ----------
    categories : tuple
        For each column, its categories in the order of their codes; None if it is numeric.
    names : tuple of str, optional
        The names of the columns, if the table had any.
    """

    categories: tuple[Categories | None, ...]
    names: tuple[str, ...] | None = None

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.categories)

    @property
    def numeric(self) -> bool:
        """Whether all columns are numeric."""
        return all(categories is None for categories in self.categories)

    @property
    def all_categorical(self) -> bool:
        """Whether all columns are categorical."""
        return all(categories is not None for categories in self.categories)

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
        return replace(
            self, categories=tuple(self.categories[i] for i in columns), names=names
        )

    def encode(self, data: object, *, where: str, name: str, vector: bool = False) -> Rows:
        """Return a table of the same columns as rows of numbers.

        Parameters
        ----------
        data : array, DataFrame, sequence or Coded
            The table. Categories must be those of the encoding.
        where, name : str
            The caller and its argument, for messages.
        vector : bool, default=False
            Whether a one-dimensional array stands for a table of one column.
        """
        if isinstance(data, Coded):
            same, known = data.encoding.categories == self.categories, list(self.categories)
            require(same, where, name, f"of categories {known}", data.encoding.categories)
            return data.rows
        if self.names is not None and (found := _names(data)) is not None:
            rule = f"of columns {list(self.names)}"
            require(found == self.names, where, name, rule, list(found))
        if isinstance(data, str | int | float | np.generic):
            rule = "a vector or a table of rows" if vector else "a table of rows"
            got = Text(f"{data!r}; put a single one in brackets")
            require(False, where, name, rule, got)
        if not self.numeric and self.width > 1 and is_flat(data):
            got = Text(f"a single row of {len(data)}; put it in brackets")
            require(False, where, name, "a table of rows", got)
        columns = None if self.numeric else _columns(data, vector=vector)
        if columns is None:
            rows = as_rows(data, where=where, name=name, vector=vector)
            rows.require_width(self.width)
            strings = [
                self.label(i) for i, known in enumerate(self.categories) if _strings(known)
            ]
            rule = f"a table with categories in columns {', '.join(strings)}"
            require(not strings, where, name, rule, Text("numbers"))
            if self.numeric:
                return rows
            columns = rows.table().T.tolist()
        same, rule = len(columns) == self.width, f"a table of {self.width} columns"
        require(same, where, name, rule, len(columns))
        return as_rows(self._coded(columns, where, name), where=where, name=name)

    def decode(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return coded values, of shape ``(..., d)``, with categories in place of codes."""
        if self.numeric:
            return values
        parts = [
            values[..., i]
            if known is None
            else np.asarray(known)[values[..., i].astype(np.intp)]
            for i, known in enumerate(self.categories)
        ]
        if self.width == 1:
            return parts[0][..., None]
        return np.stack([part.astype(object) for part in parts], axis=-1)

    def _coded(
        self, columns: Sequence[Sequence[Any]], where: str, name: str
    ) -> NDArray[np.float64]:
        coded = np.empty((len(columns[0]), len(columns)))
        for i, (column, known) in enumerate(zip(columns, self.categories, strict=True)):
            at = f"column {self.label(i)}"
            if known is None:
                coded[:, i] = _as_numbers(column, where, name, at)
                continue
            codes = {category: code for code, category in enumerate(known)}
            for row, value in enumerate(column):
                if value not in codes:
                    seen = ", ".join(map(repr, known[:10]))
                    rule = (
                        f"of categories seen in fit ({seen}{', ...' * (len(known) > 10)})"
                    )
                    got = Text(f"{value!r} at row {row}, {at}")
                    require(False, where, name, rule, got)
                coded[row, i] = codes[value]
        return coded


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
    """Return the encoding of a table, and its rows as numbers.

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
    columns = _columns(data, vector=vector)
    if columns is None:
        got = Text(
            "a vector of strings. Reshape your data to (n, 1) if it is a single column"
        )
        rule = "a table of n rows and d columns"
        require(vector or _columns(data, vector=True) is None, where, name, rule, got)
        rows = as_rows(data, where=where, name=name, vector=vector)
        return Coded(Encoding((None,) * rows.d, _names(data) or _title(data)), rows)
    rule = "a table with at least one row and one column"
    require(columns and len(columns[0]), where, name, rule, Text("none"))
    names = _names(data) or _title(data)
    labels = range(len(columns)) if names is None else map(repr, names)
    known = tuple(
        _categories(*column, where, name) for column in zip(labels, columns, strict=True)
    )
    encoding = Encoding(known, names)
    rows = as_rows(encoding._coded(columns, where, name), where=where, name=name)  # noqa: SLF001
    return Coded(encoding, rows)


def _columns(data: Any, *, vector: bool) -> list[list[Any]] | None:
    """Return the columns of a table with categorical ones; None if all are numeric."""
    frame = _frame(data)
    if isinstance(frame, nw.Series) and frame.dtype in _CATEGORICAL and vector:
        return [_values(frame)]
    if isinstance(frame, nw.DataFrame) and any(
        t in _CATEGORICAL for t in frame.schema.values()
    ):
        return [_values(frame[column]) for column in frame.columns]
    if not is_array(data) and getattr(data, "ndim", 2) == 1 and frame is None:
        data = np.asarray(data)  # such as an index of pandas
    if frame is None and isinstance(data, np.ndarray | list | tuple):
        return _columns_of_objects(data, vector=vector)
    return None


class _Labels(list[Any]):
    """Values of a categorical column of a data frame, strings or not."""


def _values(column: nw.Series[Any]) -> list[Any]:
    if column.dtype in {nw.Categorical, nw.Enum}:
        return _Labels(column.to_list())
    return column.to_list()


def _columns_of_objects(data: Any, *, vector: bool) -> list[list[Any]] | None:
    if isinstance(data, np.ndarray) and data.dtype.kind not in "OUT":
        return None
    try:
        table = np.asarray(data, dtype=object)
    except ValueError:  # ragged: the reader of numbers has a message
        return None
    if table.ndim == 1 and vector:
        table = table[:, None]
    strings = table.ndim == 2 and any(isinstance(value, str) for value in table.flat)
    return [column.tolist() for column in table.T] if strings else None


def _categories(
    label: object, column: list[Any], where: str, name: str
) -> Categories | None:
    """Return the categories of a categorical column; None for a numeric one."""
    kind = type(next(iter(column))) if isinstance(column, _Labels) else str
    if not any(isinstance(value, kind) for value in column):
        return None
    for row, value in enumerate(column):
        missing = value is None or value != value  # noqa: PLR0124
        if missing or not isinstance(value, kind):
            rule = "of strings or of numbers in each column"
            rule = "without missing values; drop or impute them" if missing else rule
            got = Text(f"{value!r} at row {row}, column {label}")
            require(False, where, name, rule, got)
    found = sorted(set(column))
    return tuple(map(str, found)) if kind is str else tuple(found)  # not NumPy's strings


def _strings(known: Categories | None) -> bool:
    """Tell whether categories are strings; numbers can be categories too."""
    return any(isinstance(value, str) for value in known or ())


def _as_numbers(
    column: Sequence[Any], where: str, name: str, at: str
) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        require(False, where, name, "numeric", Text(f"{error} in {at}"))
        raise


def _names(data: object) -> tuple[str, ...] | None:
    frame = _frame(data)
    return tuple(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else None


def _title(data: object) -> tuple[str, ...] | None:
    """Return the name of a series, if it has one."""
    frame = _frame(data)
    named = isinstance(frame, nw.Series) and frame.name not in {None, ""}
    return (str(frame.name),) if named else None


def _frame(data: Any) -> Any:
    """Return a data frame or a series of any library; None for other data."""
    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except DuplicateError:  # the reader of numbers has a message
        return None
    return frame if isinstance(frame, nw.DataFrame | nw.Series) else None
