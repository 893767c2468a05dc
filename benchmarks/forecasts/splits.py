"""Splits into training and test rows: those for development, and those for reports."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.forecasts.sets import FLIGHTS, UCI, Table, read

__all__ = ["DEVELOPMENT", "FRESH", "LARGE", "Split", "load"]

SEED = 20261119  # of splits for reports, on which nothing was chosen
SEED_LARGE = 20261120
SHARE = 0.9  # of the rows are for training, as in the published splits
HELD = 0.25  # of the rows are for testing, as in reports on foundation models
SOME_FLIGHTS, ALL_FLIGHTS = "flights, 20,000", "flights"
TRAINED = {SOME_FLIGHTS: 20_000, ALL_FLIGHTS: 294_611}  # of 327,346, as in ``peers.md``
TESTED = {SOME_FLIGHTS: 20_000, ALL_FLIGHTS: 32_735}
FAR = 5  # the most delayed departures among the test rows

DEVELOPMENT: Mapping[str, range] = {
    **{name: range(2 if name == "protein" else 7) for name in UCI},
    SOME_FLIGHTS: range(2),
}
FRESH: Mapping[str, range] = {
    **{name: range(3 if name == "protein" else 10) for name in UCI},
    SOME_FLIGHTS: range(3),
    ALL_FLIGHTS: range(1),
}
ROWS = {  # of sets with a quarter for testing; some are smaller than 10,000
    "protein, 5,000": 5_000,
    "protein, 10,000": 10_000,
    "protein, 20,000": 20_000,
    "flights, 10,000": 10_000,
    "flights, 20,000": 20_000,
    "naval, 10,000": 10_000,
    "kin8nm, 5,000": 5_000,
    "kin8nm, 8,192": 8_192,
    "power, 9,568": 9_568,
}
LARGE: Mapping[str, range] = dict.fromkeys(ROWS, range(3))


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows of a data set.

    Attributes
    ----------
    table : Table
        The data set.
    train, test : array of int
        Its rows for training and for testing.
    """

    table: Table
    train: np.ndarray
    test: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """The training outcomes."""
        return self.table.y[self.train]

    @property
    def y_test(self) -> np.ndarray:
        """The test outcomes."""
        return self.table.y[self.test]

    def far(self) -> np.ndarray:
        """Return which test rows have the largest values of the first column."""
        first = self.table.codes[self.test, 0]
        return np.argsort(-first, kind="stable")[:FAR]

    def at_most(self, most: int | None, seed: int) -> "Split":
        """Return the split with at most this many training rows, a random subsample."""
        if most is None or len(self.train) <= most:
            return self
        rows = np.random.default_rng(seed).choice(len(self.train), most, replace=False)
        return Split(self.table, self.train[rows], self.test)


def load(protocol: str, name: str, split: int) -> Split:
    """Return a split of a set.

    Parameters
    ----------
    protocol : {"published", "fresh", "large"}
        The published splits of the UCI sets, of which the first are for development; others
        of the same sizes; or fewer rows, a quarter of them for testing.
    name : str
        The set, with its number of rows where it has one.
    split : int
        The number of the split.
    """
    table = read(name.partition(",")[0])
    n = len(table.y)
    if protocol == "large":
        order, rows = _permutation(n, split, SEED_LARGE), ROWS[name]
        held = round(HELD * rows)
        return Split(table, order[held:rows], order[:held])
    flights = name.startswith(FLIGHTS)
    if protocol == "fresh":
        order = _permutation(n, split, SEED)
    elif flights:
        order = np.random.default_rng(split).permutation(n)  # as in ``benchmarks.peers``
    else:
        order = _published(n, split)
    train = TRAINED[name] if flights else round(SHARE * n)
    tests = TESTED[name] if flights else n - train
    return Split(table, order[:train], order[train : train + tests])


def _permutation(n: int, split: int, seed: int) -> np.ndarray:
    rng = np.random.RandomState(seed)
    for _ in range(split + 1):
        order = rng.permutation(n)
    return order


def _published(n: int, split: int) -> np.ndarray:
    rng = np.random.RandomState(1)
    for _ in range(split + 1):
        order = rng.choice(range(n), n, replace=False)
    return order
