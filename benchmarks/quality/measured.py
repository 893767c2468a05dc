"""Scores and CPU seconds of methods on one task, run one after the other."""

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
    """Suppress the warnings of methods; their scores are reported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def measured(
    methods: Mapping[str, Method],
    task: Task,
    seed: int,
    score: Callable[[Any, Task], Row],
) -> list[Row]:
    """Return a row for each installed method.

    Parameters
    ----------
    methods : mapping
        The methods by name.
    task : Task
        Training and test rows.
    seed : int
        The seed of the methods.
    score : callable
        From the predictions for the test rows, and the task, to scores.
    """
    return [
        {"method": name, "version": method.version, **_one(method, task, seed, score)}
        for name, method in methods.items()
        if method.version
    ]


def _one(method: Method, task: Task, seed: int, score: Callable[[Any, Task], Row]) -> Row:
    """Return scores and times; a failure is recorded as a note."""
    try:
        with quiet():
            start = process_time()
            predictor = method.fit(task, seed)
            fitted = process_time()
            predictions = predictor(task.X_test)
            predicted = process_time()
            found = score(predictions, task)
    except (ArithmeticError, RuntimeError, ValueError) as error:
        return {"note": str(error).partition("\n")[0]}
    times = {"fit_seconds": fitted - start, "predict_seconds": predicted - fitted}
    return found | times
