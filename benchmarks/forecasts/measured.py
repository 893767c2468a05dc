"""One method on one split: its scores, and the CPU seconds they took."""

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from types import FrameType
from typing import TypeAlias

import numpy as np

from benchmarks.forecasts.dists import Forecast
from benchmarks.forecasts.methods import Method
from benchmarks.forecasts.origin import revision
from benchmarks.forecasts.splits import Split

__all__ = ["LEVEL", "Row", "Value", "describe", "measured", "scored"]

Value: TypeAlias = int | float | str
Row: TypeAlias = dict[str, Value]
Score: TypeAlias = Callable[[Forecast, Split], Row]

LEVEL = 0.9
ERRORS = (ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError)


def measured(
    method: Method, split: Split, seed: int, score: Score, limit: float = 0.0
) -> Row:
    """Return the scores of a method with its times; a failure is a note.

    Parameters
    ----------
    method : Method
        The method.
    split : Split
        Training and test rows.
    seed : int
        The seed of the method.
    score : callable
        From forecasts and the split to scores.
    limit : float, default=0
        The CPU seconds after which the method is stopped; zero for no limit.
    """
    fewer = split.at_most(method.most, seed)
    about = {"rows": len(fewer.train), "tests": len(split.test)}
    if method.limit is not None and len(split.train) > method.limit:
        return about | {"note": f"not run on more than {method.limit:,} rows"}
    try:
        with warnings.catch_warnings(), _stopped_after(limit):
            warnings.simplefilter("ignore")  # scores are reported
            clock, start = perf_counter(), process_time()
            predictor = method.fit(fewer, seed)
            fitted, wall = process_time(), perf_counter()
            forecast = predictor()
            ends = forecast.interval(LEVEL)
            done = process_time()
        found = score(forecast, split) | _interval(ends, split)
    except ERRORS as error:  # recorded as a result
        return about | {"note": str(error).partition("\n")[0] or type(error).__name__}
    times = {"fit_seconds": fitted - start, "predict_seconds": done - fitted}
    return about | found | times | {"fit_wall": wall - clock}


def scored(forecast: Forecast, split: Split) -> Row:
    """Return the CRPS, and the log score if there is one.

    Parameters
    ----------
    forecast : Forecast
        The forecasts of the test rows.
    split : Split
        The split.
    """
    found: Row = {"crps": float(np.mean(forecast.crps(split.y_test)))}
    density = forecast.log_score(split.y_test)
    if density is not None:
        found["log_score"] = float(np.mean(density))
    return found


def _interval(ends: np.ndarray, split: Split) -> Row:
    (low, high), y = ends.T, split.y_test
    inside = (low <= y) & (y <= high)
    return {"coverage": float(inside.mean()), "width": float((high - low).mean())}


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raise an error after some CPU seconds."""
    if not seconds:
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        msg = f"stopped after {seconds:g} CPU s"
        raise RuntimeError(msg)

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def describe(method: Method) -> Row:
    """Return what a row says about its method: version, settings and revision.

    Parameters
    ----------
    method : Method
        The method.
    """
    own = method.package == "jointdist"
    return {
        "version": method.version,
        "settings": method.settings,
        "revision": revision() if own else "",
    }
