"""Simulated data: outliers, atoms, caps, shapes that depend on x, and true distributions."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from benchmarks.forecasts import truths
from benchmarks.forecasts.dists import Forecast
from benchmarks.forecasts.measured import LEVEL, Row, measured
from benchmarks.forecasts.methods import OURS, Method
from benchmarks.forecasts.section import Section, Settings
from benchmarks.forecasts.sets import Table
from benchmarks.forecasts.splits import Split

__all__ = ["SIMULATED", "compute"]

Draw: TypeAlias = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]

TESTS = 5_000
DECILES = 10
UNSEEN = 100  # seeds from here on are for development
FEW, MANY = 500, 5_000
NEARLY = 1e-9  # below zero by more than rounding
LEVELS = np.array([0.9, 0.99, 0.999])  # of quantiles that may not exceed a cap
DRAWS: dict[str, Draw] = {
    **{name: family.drawn for name, family in truths.FAMILIES.items()},
    "bimodal": truths.bimodal,
    "outlier": truths.outlier,
    "zero-inflated": truths.zero_inflated,
    "capped": truths.capped,
}
CASES = {  # rows, and seeds
    "outlier": ((300,), 20),
    "zero-inflated": ((2_000,), 5),
    "capped": ((2_000,), 5),
    "bimodal": ((MANY,), 3),
    **dict.fromkeys(truths.FAMILIES, ((FEW, MANY), 5)),
}


def _cases(preset: str) -> Iterator[Settings]:
    if preset == "tiny":
        yield {"data": "capped", "n": 60, "seed": 0}
        return
    first = 0 if preset == "evaluation" else UNSEEN
    for name, (sizes, count) in CASES.items():
        for n in sizes:
            for seed in range(first, first + count):
                yield {"data": name, "n": n, "seed": seed}


def compute(one: Settings, method: Method, limit: float) -> Row:
    """Return the scores of a method on one simulated sample.

    Parameters
    ----------
    one : mapping
        The settings.
    method : Method
        The method.
    limit : float
        The CPU seconds after which it is stopped; zero for no limit.
    """
    name, n, seed = str(one["data"]), int(one["n"]), int(one["seed"])
    split = sample(name, n, seed)
    found = measured(method, split, seed, partial(_scores, name), limit)
    return {key: value for key, value in found.items() if key in {*MEASURES, "note"}}


def sample(name: str, n: int, seed: int) -> Split:
    """Return training rows of a case, and test rows without an outlier."""
    rng = np.random.default_rng([seed, n, *name.encode()])
    x, y = DRAWS[name](n, rng)
    clean = truths.FAMILIES["heteroscedastic"].drawn if name == "outlier" else DRAWS[name]
    x_test, y_test = clean(TESTS, rng)
    table = Table(np.concatenate([x, x_test])[:, None], np.concatenate([y, y_test]))
    return Split(table, np.arange(n), np.arange(n, n + TESTS))


def _scores(name: str, forecast: Forecast, split: Split) -> Row:
    """Return the CRPS, and what is special about a case."""
    x, y = split.table.codes[split.test, 0], split.y_test
    found: Row = {"crps": float(np.mean(forecast.crps(y)))}
    if name in truths.FAMILIES:
        found["crps_true"] = float(truths.FAMILIES[name].crps(x, y).mean())
    elif name == "bimodal":
        found["worst_decile"] = _worst_decile(forecast, x, y)
    elif name == "zero-inflated":
        below = forecast.cdf(-NEARLY)
        off = forecast.cdf(NEARLY) - below - truths.chance_of_zero(x)
        found |= {
            "zero_error": float(np.abs(off).mean()),
            "below_zero": float(below.max()),
        }
    elif name == "capped":
        beyond = forecast.quantile(LEVELS) > truths.CAP + NEARLY
        found["beyond_cap"] = float(beyond.any(axis=1).mean())
    return found


def _worst_decile(forecast: Forecast, x: np.ndarray, y: np.ndarray) -> float:
    """Return the least coverage of 90 % intervals in a decile of x."""
    low, high = forecast.interval(LEVEL).T
    inside = ((low <= y) & (y <= high))[np.argsort(x)]
    return float(min(part.mean() for part in np.array_split(inside, DECILES)))


MEASURES = (
    "rows",
    "tests",
    "crps",
    "crps_true",
    "coverage",
    "width",
    "worst_decile",
    "zero_error",
    "below_zero",
    "beyond_cap",
    "fit_seconds",
    "predict_seconds",
)
SIMULATED = Section(
    "simulated",
    ("data", "n", "seed", "method"),
    MEASURES,
    _cases,
    tuple(OURS),
    compute,
    seed="seed",
)
