"""Named columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text, require

__all__ = ["Table"]


class Table(dict[str, NDArray[Any]]):
    """Named columns of equal length: a dict, which ``pandas.DataFrame`` takes as it is.

    It is made as a dict is; sequences become arrays.

    Examples
    --------
    >>> from jointdist.datasets import Table
    >>> Table(delay=[3.0, 20.0], carrier=["UA", "DL"])
    Table(2 rows: delay, carrier)
    """

    def __init__(self, *columns: Any, **named: Any) -> None:
        given = dict(*columns, **named)
        super().__init__({name: _column(name, values) for name, values in given.items()})
        lengths = {name: len(column) for name, column in self.items()}
        first = next(iter(lengths), "")
        for name, n in lengths.items():
            rule = f"as long as {first!r} ({lengths[first]} rows)"
            require(n == lengths[first], "Table", name, rule, Text(f"{n} rows"))

    def __repr__(self) -> str:
        n = len(next(iter(self.values()))) if self else 0
        return f"Table({n} rows: {', '.join(self)})"

    def matrix(self, *names: str) -> NDArray[np.float64]:
        """Return the named columns side by side, of shape ``(n, len(names))``.

        Categorical columns become codes: 0 for the first category in alphabetical order,
        and so on, as :class:`~jointdist.kernels.Delta` expects them.

        Parameters
        ----------
        *names : str
            The columns.
        """
        rule = f"at least one of {tuple(self)}"
        known = names and set(map(repr, names)) <= set(map(repr, self))
        require(known, "Table.matrix", "names", rule, names)
        return np.stack([_codes(self[name]) for name in names], axis=1)


def _column(name: object, values: object) -> NDArray[Any]:
    """Return a column as an array."""
    require(isinstance(name, str), "Table", "columns", "named by strings", name)
    rule = "a column: an array or sequence of one dimension"
    try:
        column = np.asarray(values)
    except ValueError:  # rows of several lengths
        require(False, "Table", str(name), rule, values)
        raise
    got = Text(f"shape {column.shape}")
    require(column.ndim == 1, "Table", str(name), rule, got)
    return column


def _codes(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind == "U":
        column = np.unique(column, return_inverse=True)[1]
    return column.astype(np.float64)
