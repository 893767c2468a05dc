"""The study: scores, time and memory of every method on every data set."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from benchmarks.measure import peak_memory
from benchmarks.peers import dists
from benchmarks.peers.data import SETS, Task, load, present
from benchmarks.peers.methods import METHODS
from benchmarks.peers.report import draw, markdown
from experiments.store import Row, Settings
from experiments.study import Study, end_with

__all__ = ["STUDY", "compute", "settings"]

SMALL = dict.fromkeys(("yacht", "boston", "energy", "concrete", "wine"), 5)
PRESETS = {
    "tiny": {
        "splits": {"yacht": 1, "gaussian, 3 + 3, small": 1, "low-rank step, small": 1}
    },
    "quick": {
        "splits": {
            **dict.fromkeys(SMALL, 1),
            "gaussian, 3 + 3": 1,
            "famafrench, d = 5": 1,
        }
    },
    "full": {
        "splits": SMALL
        | {
            "famafrench, d = 5": 5,
            "gaussian, 3 + 3": 5,
            "low-rank step": 1,
            "famafrench, d = 25": 5,
            "kin8nm": 5,
            "power": 5,
            "naval": 2,
            "flights, 20,000": 1,
            "protein": 1,
            "flights": 1,
            "naval, both": 2,
            "flights, both delays": 1,
        }
    },
}


class Call(NamedTuple):
    """A result, with its wall-clock seconds and the CPU seconds of all cores."""

    result: object
    seconds: float
    cpu: float


def settings(splits: dict[str, int]) -> Iterator[Settings]:
    """Yield all settings that can run here, set by set; report those that cannot."""
    skipped: dict[str, list[str]] = {}
    for name, count in splits.items():
        if not present(name):
            skipped[f"{name}: its files are missing (see JOINTDIST_SHARED)"] = []
            continue
        methods, rows = METHODS[SETS[name].kind], len(load(name, 0).Y)
        refusals = {method: how.refusal(rows) for method, how in methods.items()}
        for method, why in refusals.items():
            if why:
                skipped.setdefault(f"{method}: {why}", []).append(name)
        for split in range(count):
            for method, why in refusals.items():
                if not why:
                    yield {"data": name, "split": split, "method": method}
    for what, sets in skipped.items():
        where = f" ({'; '.join(sets)})" if sets else ""
        print(f"skipped: {what}{where}", file=sys.stderr)


def compute(settings: Settings) -> list[Row]:
    """Return the results of a method on one split of a set, computed in a new process.

    Memory left over from other methods would hide that of this one.
    """
    load(settings["data"], settings["split"])  # shared by all methods, before the fork
    with ProcessPoolExecutor(1, get_context("fork"), end_with, (os.getpid(),)) as pool:
        return pool.submit(_measured, settings).result()


def _measured(settings: Settings) -> list[Row]:
    seed, task = int(settings["split"]), load(settings["data"], settings["split"])
    method = METHODS[task.kind][settings["method"]]
    train = task.at_most(method.most, seed)
    about: Row = {
        "kind": task.kind,
        "version": method.version,
        "rows": len(task.Y),
        "train_rows": len(train.Y),
        "test_rows": len(task.Y_test),
        "columns": task.X.shape[1],
        "outcomes": task.Y.shape[1] if task.Y.ndim > 1 else 1,
    }
    try:
        with warnings.catch_warnings(), peak_memory() as peak:
            warnings.simplefilter("ignore")  # scores are reported
            fit = _timed(lambda: method.fit(train, seed))
            predicted = _timed(lambda: fit.result(task.X_test))
    except (ArithmeticError, RuntimeError, ValueError) as error:
        return [about | {"note": str(error).partition("\n")[0]}]  # recorded as a result
    return [
        {
            **about,
            **_scored(task, predicted.result, seed),
            "fit_seconds": fit.seconds,
            "fit_cpu": fit.cpu,
            "predict_seconds": predicted.seconds,
            "predict_cpu": predicted.cpu,
            "memory_mb": peak[0] / 1e6,
        }
    ]


def _timed(f: Callable[[], object]) -> Call:
    clock, cpu = perf_counter(), process_time()
    result = f()
    return Call(result, perf_counter() - clock, process_time() - cpu)


def _scored(task: Task, predicted: np.ndarray, seed: int) -> Row:
    """Return the scores of predictions for the kind of task."""
    y = task.Y_test
    if task.kind == "univariate":
        scores = dists.crps(predicted, y)
        low, high = dists.central(predicted)
        return {
            "loss": "CRPS",
            **_middle(scores),
            "coverage90": float(((low <= y) & (y <= high)).mean()),
            "width90": float((high - low).mean()),
            "calibration": dists.calibration_error(dists.pit(predicted, y, seed)),
        }
    if task.kind == "joint":
        scores = dists.energy_score(predicted, y, task.Y.std(axis=0))
        return {"loss": "energy score", **_middle(scores)}
    if task.kind == "event":
        events = y <= task.threshold
        return {
            "loss": "logistic loss",
            "score": float(dists.logistic_loss(predicted, events).mean()),
            "brier": float(dists.brier_score(predicted, events).mean()),
        }
    return {"loss": "trace error", "score": float(predicted[1]), "rank": int(predicted[0])}


def _middle(scores: np.ndarray) -> Row:
    """Return the mean and the median over the test rows."""
    return {"score": float(scores.mean()), "median": float(np.median(scores))}


STUDY = Study(
    name="peers",
    title="jointdist compared with other packages",
    keys=("data", "split", "method"),
    presets=PRESETS,
    settings=settings,
    compute=compute,
    draw=draw,
    report=markdown,
)
