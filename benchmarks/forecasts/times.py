"""Times of fits and of questions in fresh processes, beside other packages in the same run."""

import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import TypeAlias

import numpy as np

from benchmarks.forecasts.measured import ERRORS, Row
from benchmarks.forecasts.methods import OURS, Method
from benchmarks.forecasts.section import Section, Settings
from benchmarks.forecasts.sets import Table
from benchmarks.forecasts.splits import Split

__all__ = ["CASES", "TIMES", "compute", "sample"]

Draw: TypeAlias = Callable[[np.ndarray, np.random.Generator], np.ndarray]

TESTS = 1_000
REPEATS = 3
PEERS = ("NGBoost", "quantile-forest")


def friedman(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return outcomes of Friedman's first function, with noise that grows with column 6."""
    mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    mean += 10 * X[:, 3] + 5 * X[:, 4]
    return mean + (0.5 + X[:, 5]) * rng.standard_normal(len(X))


def several(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return eight outcomes, smooth functions of random projections with common noise."""
    slopes = np.random.default_rng(0).standard_normal((X.shape[1], 8)) / np.sqrt(X.shape[1])
    common = rng.standard_normal((len(X), 1))
    own = rng.standard_normal((len(X), 8))
    return np.tanh(4 * (X - 0.5) @ slopes) + 0.1 * (common + own)


@dataclass(frozen=True)
class Case:
    """A simulated table to be timed on.

    Attributes
    ----------
    n, d : int
        Rows and columns of X, which are uniform between 0 and 1.
    draw : callable
        From X and a generator to outcomes.
    methods : tuple of str
        The methods that are timed.
    repeats : int
        How often.
    """

    n: int
    d: int
    draw: Draw
    methods: tuple[str, ...]
    repeats: int = REPEATS


CASES = {
    "1,000 x 8": Case(1_000, 8, friedman, (*OURS, *PEERS)),
    "10,000 x 8": Case(10_000, 8, friedman, (*OURS, *PEERS), 1),
    "2,000 x 200": Case(2_000, 200, friedman, (*OURS, *PEERS), 1),
    "4,000 x 64, 8 outcomes": Case(4_000, 64, several, ("fast", "auto", "joint"), 1),
    "1,000,000 x 8": Case(1_000_000, 8, friedman, ("fast", "auto", "joint"), 1),
}
WARM = Case(60, 6, friedman, ())  # fitted first: imports are no part of a fit


def _cases(preset: str) -> Iterator[Settings]:
    if preset == "evaluation":
        for name, case in CASES.items():
            for repeat in range(case.repeats):
                yield {"data": name, "repeat": repeat}


def _timed_by(one: Settings) -> bool:
    return one["method"] in CASES[str(one["data"])].methods


def sample(case: Case, seed: int) -> Split:
    """Return training and test rows of a case.

    Parameters
    ----------
    case : Case
        The case.
    seed : int
        The seed.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((case.n + TESTS, case.d))
    table = Table(X, case.draw(X, rng))
    return Split(table, np.arange(case.n), np.arange(case.n, case.n + TESTS))


def compute(one: Settings, method: Method, limit: float) -> Row:
    """Return times and the peak of memory of a method, in a new process.

    Memory left over from other methods would hide that of this one.

    Parameters
    ----------
    one : mapping
        The settings.
    method : Method
        The method.
    limit : float
        Ignored: what is stopped has no time.
    """
    del limit
    case, repeat = CASES[str(one["data"])], int(one["repeat"])
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measured, case, method, repeat).result()


def measured(case: Case, method: Method, seed: int) -> Row:
    """Return times and memory of a method in this process.

    Parameters
    ----------
    case : Case
        The case.
    method : Method
        The method.
    seed : int
        The seed of the case and of the method.
    """
    from benchmarks.measure import peak_memory  # noqa: PLC0415  # peers may lack it

    split = sample(case, seed)
    y = split.y
    about: Row = {
        "n": case.n,
        "d": case.d,
        "outcomes": y.shape[1] if y.ndim > 1 else 1,
        "threads": len(os.sched_getaffinity(0)),
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.fit(sample(WARM, 0), 0)()
        with warnings.catch_warnings(), peak_memory() as peak:
            warnings.simplefilter("ignore")
            clock, cpu = perf_counter(), process_time()
            predictor = method.fit(split, seed)
            fit_wall, fit_seconds = perf_counter() - clock, process_time() - cpu
            clock = perf_counter()
            forecast = predictor()
            if y.ndim == 1:
                about["crps"] = float(np.mean(forecast.crps(split.y_test)))
            else:
                forecast.dist.mean()
            predict_wall = perf_counter() - clock
    except ERRORS as error:
        return about | {"note": str(error).partition("\n")[0]}
    return about | {
        "fit_wall": fit_wall,
        "fit_seconds": fit_seconds,
        "predict_wall": predict_wall,
        "memory_mb": peak[0] / 1e6,
    }


TIMES = Section(
    "times",
    ("data", "repeat", "method"),
    (
        "n",
        "d",
        "outcomes",
        "threads",
        "fit_wall",
        "fit_seconds",
        "predict_wall",
        "memory_mb",
        "crps",
    ),
    _cases,
    (*OURS, *PEERS),
    compute,
    single=False,
    seed="repeat",
    suits=_timed_by,
)
