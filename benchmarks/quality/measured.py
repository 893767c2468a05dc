"""Methods on one task, one after the other: scores, and seconds by the clock."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from benchmarks.measure import seconds
from benchmarks.peers.data import Task
from benchmarks.peers.methods import Method
from experiments.store import Row

__all__ = ["measured", "quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """Say nothing of what methods warn of; their scores tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def measured(
    methods: Mapping[str, Method],
    task: Task,
    seed: int,
    score: Callable[[Any, Task], Row],
) -> list[Row]:
    """Return a row for each method that is installed.

    Parameters
    ----------
    methods : mapping
        The methods by name.
    task : Task
        Rows to fit to, and rows to test on.
    seed : int
        The seed of the methods.
    score : callable
        From what a method predicts of the test rows, and the task, to scores.
    """
    return [
        {"method": name, "version": method.version, **_one(method, task, seed, score)}
        for name, method in methods.items()
        if method.version
    ]


def _one(method: Method, task: Task, seed: int, score: Callable[[Any, Task], Row]) -> Row:
    """Return scores and times; a failure is a result, too."""
    try:
        with quiet():
            fit, predictor = seconds(lambda: method.fit(task, seed), 1)
            predict, told = seconds(lambda: predictor(task.X_test), 1)
            found = score(told, task)
    except (ArithmeticError, RuntimeError, ValueError) as error:
        return {"note": str(error).partition("\n")[0]}
    return {**found, "fit_seconds": fit, "predict_seconds": predict}
