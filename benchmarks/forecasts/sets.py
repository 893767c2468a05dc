"""The data sets, as arrays of numbers and of categories."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.peers import data

__all__ = ["FLIGHTS", "PACKED", "UCI", "Table", "pack", "present", "read"]

PACKED = "JOINTDIST_FORECAST_DATA"  # environment variable, inherited by other processes
UCI = tuple(data.UCI)
FLIGHTS = "flights"
FLIGHTS_FILE = "flights/nycflights13_flights.parquet"
INPUTS = ("dep_delay", "hour", "distance", "month", "carrier", "origin")
LABELS = INPUTS[4:]


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a data set.

    Attributes
    ----------
    codes : array of shape (n, d)
        The columns of X; those of categories hold their codes.
    y : array of shape (n,)
        The outcomes.
    categories : mapping
        The categories of each column that has some, in the order of their codes.
    """

    codes: np.ndarray
    y: np.ndarray
    categories: Mapping[int, np.ndarray] = field(default_factory=dict)

    def given(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of X: numbers, or objects if some columns hold categories."""
        codes = self.codes[rows]
        if not self.categories:
            return codes
        found = codes.astype(object)
        for j, names in self.categories.items():
            found[:, j] = names.astype(object)[codes[:, j].astype(int)]
        return found

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return rows of X as numbers, with an indicator of each category."""
        codes = self.codes[rows]
        plain = [j for j in range(codes.shape[1]) if j not in self.categories]
        parts = [codes[:, plain]]
        for j, names in self.categories.items():
            parts.append((codes[:, [j]] == np.arange(len(names))).astype(float))
        return np.hstack(parts)


@lru_cache(maxsize=2)
def read(name: str) -> Table:
    """Return a data set: one of the UCI sets, or the flights without missing delays."""
    packed = os.environ.get(PACKED)
    if packed:
        return _unpacked(Path(packed), name)
    if name == FLIGHTS:
        return _flights()
    Z = np.loadtxt(data.DATA / "uci" / data.UCI[name] / "data.txt.gz")
    Z = Z[:, :17] if name == "naval" else Z  # which has a second outcome
    return Table(Z[:, :-1], Z[:, -1])


def present(name: str) -> bool:
    """Return whether the files of a set are available."""
    if os.environ.get(PACKED):
        return True
    file = FLIGHTS_FILE if name == FLIGHTS else f"uci/{data.UCI[name]}"
    return (data.DATA / file).exists()


def _flights() -> Table:
    import pandas as pd  # noqa: PLC0415  # the file is for pandas; a packed one is not

    columns = [*INPUTS, "arr_delay"]
    frame = pd.read_parquet(data.DATA / FLIGHTS_FILE, columns=columns).dropna()
    codes = np.empty((len(frame), len(INPUTS)))
    categories = {}
    for j, name in enumerate(INPUTS):
        values = frame[name].to_numpy()
        if name in LABELS:
            categories[j], values = np.unique(values.astype(str), return_inverse=True)
        codes[:, j] = values
    return Table(codes, frame["arr_delay"].to_numpy(dtype=float), categories)


def pack(path: Path) -> None:
    """Write all sets to one file, for machines without the folder of data or pandas.

    Parameters
    ----------
    path : Path
        The file, an archive of NumPy; ``PACKED`` names it to later runs.
    """
    arrays: dict[str, np.ndarray] = {}
    for name in [*UCI, FLIGHTS]:
        table = read(name)
        arrays |= {f"{name}/codes": table.codes, f"{name}/y": table.y}
        arrays |= {f"{name}/categories/{j}": c for j, c in table.categories.items()}
    np.savez_compressed(path, **arrays)


def _unpacked(path: Path, name: str) -> Table:
    with np.load(path) as arrays:
        start = f"{name}/categories/"
        found = [key for key in arrays.files if key.startswith(start)]
        categories = {int(key.removeprefix(start)): arrays[key] for key in sorted(found)}
        return Table(arrays[f"{name}/codes"], arrays[f"{name}/y"], categories)
