"""Methods on one task, one after the other: scores, and processor seconds."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import process_time
from typing import Any

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
            start = process_time()
            predictor = method.fit(task, seed)
            fitted = process_time()
            told = predictor(task.X_test)
            predicted = process_time()
            found = score(told, task)
    except (ArithmeticError, RuntimeError, ValueError) as error:
        return {"note": str(error).partition("\n")[0]}
    times = {"fit_seconds": fitted - start, "predict_seconds": predicted - fitted}
    return found | times
