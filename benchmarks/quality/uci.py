"""Univariate predictive distributions on the published splits of the UCI sets."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.peers.data import UCI, Task, load
from benchmarks.quality.dists import Forecast
from benchmarks.quality.measured import measured
from benchmarks.quality.methods import METHODS
from benchmarks.quality.section import DEVELOPMENT, EVALUATION, section
from experiments.store import Row, Settings

__all__ = ["LEVEL", "SECTION", "compute", "sets", "simulated"]

LEVEL = 0.9
SIMULATED = "simulated"
SPLITS = {"protein": (range(2), range(2, 5))}  # a set with fewer splits


def simulated(seed: int, n: int = 100, tests: int = 50) -> Task:
    """Return a sine wave with heteroscedastic noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n + tests, 2))
    y = np.sin(3 * X[:, 0]) + 0.3 * np.exp(X[:, 0]) * rng.standard_normal(n + tests)
    return Task("univariate", X[:n], y[:n], X[n:], y[n:])


def compute(one: Settings) -> list[Row]:
    """Return the scores of all methods on one split of a set."""
    name, split = str(one["data"]), int(one["split"])
    task = simulated(split) if name == SIMULATED else load(name, split)
    methods = {
        name: replace(method, fit=partial(_with_ends, method.fit))
        for name, method in METHODS.items()
    }
    return measured(methods, task, split, _scores)


def _with_ends(fit: Callable, task: Task, seed: int) -> Callable:
    """Fit, and return a predictor of distributions with their intervals, timed together."""
    dists = fit(task, seed)

    def predictor(X: np.ndarray) -> tuple[Forecast, np.ndarray]:
        dist = dists(X)
        return dist, dist.interval(LEVEL)

    return predictor


def _scores(predictions: tuple[Forecast, np.ndarray], task: Task) -> Row:
    dist, (low, high) = predictions[0], predictions[1].T
    inside = (low <= task.Y_test) & (task.Y_test <= high)
    return {
        "rows": len(task.Y),
        "tests": len(task.Y_test),
        "crps": float(dist.crps(task.Y_test).mean()),
        "coverage": float(inside.mean()),
        "width": float((high - low).mean()),
    }


def sets(which: int) -> dict[str, range]:
    """Return the splits of all sets: those for development (0), or for evaluation (1)."""
    return {name: SPLITS.get(name, (DEVELOPMENT, EVALUATION))[which] for name in UCI}


SECTION = section(
    "uci",
    "Univariate predictive distributions",
    compute,
    tiny={SIMULATED: (0,)},
    development=sets(0),
    evaluation=sets(1),
    minutes={"yacht": 0.3, "wine": 2, "power": 3, "kin8nm": 4, "naval": 4, "protein": 8},
)
