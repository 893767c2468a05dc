"""Flights shipped with the package."""

import csv
import gzip
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist.datasets.table import Table

__all__ = ["load_flights"]


def load_flights() -> Table:
    """Return 10,000 of the flights that left New York City in 2013.

    A random sample of the 327,346 flights in the data set nycflights13 (CC0) that
    arrived. Columns: month, day, hour and minute of the scheduled departure; carrier,
    origin and dest (categorical); distance in miles; dep_delay and arr_delay in minutes.

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
    source = files("jointdist") / "datasets" / "flights.csv.gz"
    with source.open("rb") as raw, gzip.open(raw, "rt", encoding="utf-8") as text:
        names, *rows = csv.reader(text)
    return Table(
        {name: _parsed(values) for name, *values in zip(names, *rows, strict=True)}
    )


def _parsed(values: list[str]) -> NDArray[Any]:
    """Return numbers if all values are numbers, else strings."""
    try:
        return np.asarray(values, dtype=np.float64)
    except ValueError:
        return np.asarray(values)
