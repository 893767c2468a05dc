"""The data sets of the comparison, and how they are split."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import expm

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SETS", "Task", "load", "numbers", "present"]

SHARED = Path(os.environ.get("JOINTDIST_SHARED") or Path(__file__).parents[3] / "shared")
DATA = SHARED / "data"
UCI = {
    "yacht": "yacht",
    "boston": "bostonHousing",
    "energy": "energy",
    "concrete": "concrete",
    "wine": "wine-quality-red",
    "power": "power-plant",
    "kin8nm": "kin8nm",
    "naval": "naval-propulsion-plant",
    "protein": "protein-tertiary-structure",
}
DAYS = "1927-01-03", "2022-12-30"
RARE = 0.01  # level of the quantile that defines a tail event


@dataclass(frozen=True, eq=False)
class Task:
    """Training and test rows of one split.

    Attributes
    ----------
    kind : str
        The target: a ``"univariate"`` or ``"joint"`` (multivariate) predictive distribution,
        the probability of an ``"event"``, or a low-rank ``"factor"`` of a kernel matrix.
    X, Y : array or DataFrame
        The training rows.
    X_test, Y_test : array or DataFrame
        The test rows.
    threshold : float
        The event is that Y is at most this value.
    """

    kind: str
    X: Any
    Y: np.ndarray
    X_test: Any
    Y_test: np.ndarray
    threshold: float = np.nan

    @property
    def events(self) -> np.ndarray:
        """The training rows that are events, as a mask."""
        return self.threshold >= self.Y

    def at_most(self, most: int | None, seed: int) -> "Task":
        """Return the task with at most this number of training rows, subsampled at random."""
        if most is None or len(self.Y) <= most:
            return self
        rows = np.random.default_rng(seed).choice(len(self.Y), most, replace=False)
        return replace(self, X=_rows(self.X, rows), Y=self.Y[rows])


class Source(NamedTuple):
    """The kind of a data set, its file (empty if simulated), and its splits."""

    kind: str
    file: str
    split: Callable[[int], Task]


def numbers(X: Any) -> np.ndarray:
    """Return a numeric matrix, with one-hot encoded categories."""
    if not _is_frame(X):
        return X
    import pandas as pd  # noqa: PLC0415  # what needs no frames runs without it

    return pd.get_dummies(X).to_numpy(dtype=float)


@lru_cache(maxsize=1)
def load(name: str, split: int) -> Task:
    """Return the given split of a data set."""
    return SETS[name].split(split)


def present(name: str) -> bool:
    """Return whether the files of a set are available."""
    return (DATA / SETS[name].file).exists() or not SETS[name].file


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if _is_frame(X) else X[rows]


def _is_frame(X: Any) -> bool:
    return hasattr(X, "iloc")


def _frame(file: str, columns: list[str] | None = None) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415

    return pd.read_parquet(DATA / file, columns=columns)


def _parted(kind: str, X: Any, Y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Task:
    return Task(kind, _rows(X, train), Y[train], _rows(X, test), Y[test])


def _uci(name: str, split: int) -> Task:
    """Return one of the published splits of a set; naval without its second outcome."""
    Z = np.loadtxt(DATA / "uci" / UCI[name] / "data.txt.gz")
    Z = Z[:, :17] if name == "naval" else Z
    return _parted("univariate", Z[:, :-1], Z[:, -1], *_published(len(Z), split))


def _naval(split: int) -> Task:
    """Return both outcomes of the naval set."""
    Z = np.loadtxt(DATA / "uci" / UCI["naval"] / "data.txt.gz")
    return _parted("joint", Z[:, :16], Z[:, 16:], *_published(len(Z), split))


def _published(n: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.RandomState(1)
    for _ in range(split + 1):
        order = rng.choice(range(n), n, replace=False)
    return order[: round(0.9 * n)], order[round(0.9 * n) :]


def _shuffled(n: int, split: int, train: int, test: int) -> list[np.ndarray]:
    order = np.random.default_rng(split).permutation(n)
    return np.split(order[: train + test], [train])


def _returns(d: int, split: int) -> Task:
    """Return the sum of the first portfolios' returns, given those of the day before."""
    table = _frame(_FRENCH)
    table = table[table["date"].between(*DAYS)]
    Z = table.iloc[:, 1 : 1 + d].to_numpy()
    X, y = Z[:-1], Z[1:].sum(axis=1)
    task = _parted("event", X, y, *_shuffled(len(X), split, 10_000, 5_000))
    return replace(task, threshold=float(np.quantile(task.Y, RARE)))


def _flights(
    inputs: list[str], outputs: list[str], train: int, test: int, split: int
) -> Task:
    """Return flights without missing delays."""
    table = _frame(_FLIGHTS, [*_COLUMNS, "arr_delay"]).dropna()
    text = table.select_dtypes(exclude="number").columns  # same categories in all splits
    table = table.astype(dict.fromkeys(text, "category"))
    X, Y = table[inputs], table[outputs].to_numpy(dtype=float)
    kind, Y = ("univariate", Y[:, 0]) if len(outputs) == 1 else ("joint", Y)
    return _parted(kind, X, Y, *_shuffled(len(Y), split, train, test))


def _gaussian(n: int, split: int) -> Task:
    """Return 3 + 3 normal columns with a random correlation."""
    rng = np.random.default_rng(split)
    A = np.triu(rng.normal(size=(6, 6)), 1)
    C = expm(A + A.T)
    scale = np.sqrt(np.diag(C))
    Z = rng.multivariate_normal(np.zeros(6), C / np.outer(scale, scale), n + 2_000)
    return _parted("joint", Z[:, :3], Z[:, 3:], *np.split(np.arange(len(Z)), [n]))


def _normal(n: int, split: int) -> Task:
    X = np.random.default_rng(split).standard_normal((n, 3))
    return Task("factor", X, np.zeros(n), X, np.zeros(n))


_FRENCH = "french/ff25_daily_excess_1926_2024.parquet"
_FLIGHTS = "flights/nycflights13_flights.parquet"
_COLUMNS = ["dep_delay", "hour", "distance", "month", "carrier", "origin"]
_ARRIVAL = partial(_flights, _COLUMNS, ["arr_delay"])
_DELAYS = partial(_flights, _COLUMNS[1:5], ["dep_delay", "arr_delay"])

SETS = {
    **{
        name: Source("univariate", f"uci/{file}", partial(_uci, name))
        for name, file in UCI.items()
    },
    "famafrench, d = 5": Source("event", _FRENCH, partial(_returns, 5)),
    "famafrench, d = 25": Source("event", _FRENCH, partial(_returns, 25)),
    "flights, 20,000": Source("univariate", _FLIGHTS, partial(_ARRIVAL, 20_000, 20_000)),
    "flights": Source("univariate", _FLIGHTS, partial(_ARRIVAL, 294_611, 32_735)),
    "gaussian, 3 + 3": Source("joint", "", partial(_gaussian, 5_000)),
    "gaussian, 3 + 3, small": Source("joint", "", partial(_gaussian, 300)),
    "naval, both": Source("joint", f"uci/{UCI['naval']}", _naval),
    "flights, both delays": Source("joint", _FLIGHTS, partial(_DELAYS, 20_000, 5_000)),
    "low-rank step": Source("factor", "", partial(_normal, 100_000)),
    "low-rank step, small": Source("factor", "", partial(_normal, 2_000)),
}
