"""Data sets shipped with the package, for examples and tests."""

import csv
import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist.errors import require

__all__ = ["Table", "load_flights"]


class Table(dict[str, NDArray[Any]]):
    """Named columns of equal length: a dict, which ``pandas.DataFrame`` takes as it is."""

    def __repr__(self) -> str:
        n = len(next(iter(self.values()))) if self else 0
        return f"Table({n} rows: {', '.join(self)})"

    def matrix(self, *names: str) -> NDArray[np.float64]:
        """Return the named columns side by side, of shape ``(n, len(names))``.

        Columns of words become codes: 0 for the first word in alphabetical order, and
        so on, as :class:`~jointdist.kernels.Delta` expects them.

        Parameters
        ----------
        *names : str
            The columns.
        """
        rule = f"at least one of {tuple(self)}"
        known = names and set(map(repr, names)) <= set(map(repr, self))
        require(known, "Table.matrix", "names", rule, names)
        return np.stack([_codes(self[name]) for name in names], axis=1)


def load_flights() -> Table:
    """Return 10,000 of the flights that left New York City in 2013.

    A random sample of the 327,346 flights in the data set nycflights13 (CC0) that
    arrived. Columns: month, day, hour and minute of the scheduled departure; carrier,
    origin and dest (words); distance in miles; dep_delay and arr_delay in minutes.

    Returns
    -------
    Table
        The columns by name.

    Examples
    --------
    >>> from jointdist.datasets import load_flights
    >>> flights = load_flights()
    >>> list(flights)[:5]
    ['month', 'day', 'hour', 'minute', 'carrier']
    >>> flights.matrix("dep_delay", "carrier").shape
    (10000, 2)
    """
    source = files("jointdist") / "data" / "flights.csv.gz"
    with source.open("rb") as raw, gzip.open(raw, "rt", encoding="utf-8") as text:
        names, *rows = csv.reader(text)
    return Table(
        {name: _parsed(values) for name, *values in zip(names, *rows, strict=True)}
    )


def _parsed(values: list[str]) -> NDArray[Any]:
    """Return numbers if all values are numbers, else words."""
    try:
        return np.asarray(values, dtype=np.float64)
    except ValueError:
        return np.asarray(values)


def _codes(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind == "U":
        column = np.unique(column, return_inverse=True)[1]
    return column.astype(np.float64)
