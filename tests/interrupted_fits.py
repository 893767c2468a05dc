"""Interrupt fits at random moments, or starve them of memory, and print what is left.

``python interrupted_fits.py interrupt MOMENTS NAME ...`` and ``... starve NAME``, in a process of
its own; the last line is a JSON object: what was found, by name.
"""

import copy
import json
import resource
import signal
import sys
import threading
import traceback
from pathlib import Path
from time import perf_counter, sleep

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from small_fits import CASES, same, updated
from threadpoolctl import threadpool_info


def limits():
    """Return the numbers of threads that BLAS may use."""
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def left_threads():
    """Return threads that do not end by themselves within seconds.

    But for those whose very start was interrupted: Python 3.11 may leave them waiting for a
    lock of their own, before they run anything of ours.
    """
    own, end = {threading.main_thread(), threading.current_thread()}, perf_counter() + 5
    while True:
        others = [repr(each) for each in threading.enumerate() if each not in own]
        left = [each for each in others if "initial" not in each]
        if not left or perf_counter() > end:
            return left
        sleep(0.01)


class Watched:
    """A case with a fitted model, its answers, and those after each change of it."""

    def __init__(self, name):
        self.case = CASES[name]
        self.model = self.case.fitted()
        self.before = self.case.answers(self.model)
        self.changes, self.after, self.seconds = updated(self.case), {}, {}
        for change, work in self.changes.items():
            model, start = copy.copy(self.model), perf_counter()
            work(model)
            self.seconds[change] = perf_counter() - start
            self.after[change] = self.case.answers(model, int(change == "fit"))

    def state(self, model, change):
        """Tell what a model is after a change that did not finish."""
        try:
            found = self.case.answers(model)
        except NotFittedError:
            return "not fitted"
        except ValueError:  # other columns: the change may have finished before
            found = self.case.answers(model, 1)
            return "finished" if same(found, self.after[change]) else "mixed"
        if same(found, self.before):
            return "as before"
        return "finished" if same(found, self.after[change]) else "mixed"


def interrupted(watched, model, change, moment):
    """Return what is left of a model whose change is interrupted after some seconds.

    The interrupt may become another error on its way, in `Thread.start` or in NumPy.
    """
    allowed, caught, came = limits(), None, []

    def stop(*_):
        came.append(True)
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        watched.changes[change](model)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:
        if not came:
            raise
        caught, state = error, watched.state(model, change)
    else:
        state = "in time"
    signal.setitimer(signal.ITIMER_REAL, 0)
    left = left_threads()
    if limits() != allowed:
        left += ["BLAS", *traceback.format_exception(caught)]
    del caught  # a traceback that lives, as in a notebook, must not hold a limit
    return {"change": change, "state": state, "left": left}


def interrupt(name, moments):
    """Interrupt a first fit and changes of a fitted model, in turn."""
    watched, rng = Watched(name), np.random.default_rng(0)
    tasks = [("fit", False), *((change, True) for change in watched.changes)]
    for i in range(moments):
        change, fitted = tasks[i % len(tasks)]
        model = copy.copy(watched.model) if fitted else clone(watched.case.estimator)
        moment = max(rng.uniform(0, watched.seconds[change]), 1e-5)
        yield {"fitted": fitted} | interrupted(watched, model, change, moment)


def starve(name):
    """Allow a refit less and less memory beyond what the process has."""
    watched, none = Watched(name), resource.RLIM_INFINITY
    clone(watched.case.estimator).fit(
        *watched.case.rows(1, 1500)
    )  # all libraries are loaded
    for spare in (0, 1 << 18, 1 << 21, 1 << 24, 1 << 26):
        for fitted in (True, False):
            model = copy.copy(watched.model) if fitted else clone(watched.case.estimator)
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + spare
            state = "in time"
            resource.setrlimit(resource.RLIMIT_AS, (limit, none))
            try:
                model.fit(*watched.case.rows(1, 1500))
            except (MemoryError, RuntimeError, OSError, ImportError):
                state = ""
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (none, none))
            state = state or watched.state(model, "fit")
            yield {
                "fitted": fitted,
                "change": "fit",
                "state": state,
                "left": left_threads(),
            }


def in_thread(work):
    """Return the result of work in a thread whose stack is there from the start.

    The stack of the main thread grows, and the process ends where it can't.
    """
    found = []
    threading.stack_size(1 << 26)
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


if __name__ == "__main__":
    how, *rest = sys.argv[1:]
    if how == "interrupt":
        moments, *names = rest
        found = {name: list(interrupt(name, int(moments))) for name in names}
    else:
        found = {rest[0]: in_thread(lambda: list(starve(rest[0])))}
    print(json.dumps(found))  # noqa: T201
