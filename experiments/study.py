"""A study: its settings, the computation for each of them, and figures of the table.

A study that was interrupted resumes where it stopped.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from threadpoolctl import threadpool_limits

from experiments.machine import machine
from experiments.store import Row, Settings, Store

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.claims import Claim

__all__ = [
    "Preset",
    "Study",
    "end_with",
    "fill",
    "machine",
    "presets_by_size",
    "run",
    "settings_of",
]

Preset: TypeAlias = Mapping[str, object]

_SILENCE = 20.0  # seconds between progress messages
_console = Console(stderr=True)


def _no_report(table: object) -> str:
    del table
    return ""


def _no_claims(table: object) -> "list[Claim]":
    del table
    return []


def _one(settings: Settings) -> float:
    del settings
    return 1.0


@dataclass(frozen=True)
class Study:
    """An experiment.

    Attributes
    ----------
    name : str
        The name of the study and of its table.
    title : str
        A one-line description.
    keys : tuple of str
        The names of the settings that identify a run.
    presets : mapping
        Arguments of ``settings`` for each of ``"tiny"``, ``"quick"`` and ``"full"``; among
        them ``runs`` and ``sizes``.
    settings : callable
        From a preset to the settings of all computations, in the order of execution.
    compute : callable
        From settings to rows of the table, one for each model. All randomness derives from
        the seed among the settings.
    draw : callable
        From the table to figures by name.
    report : callable
        From the table to a page in Markdown.
    claims : callable
        From the table to the claims of the paper and their verdicts.
    cost : callable
        From settings to their approximate run time, in any unit.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    presets: Mapping[str, Preset]
    settings: Callable[..., Iterable[Settings]]
    compute: Callable[[Settings], list[Row]]
    draw: "Callable[[pd.DataFrame], dict[str, Figure]]"
    report: "Callable[[pd.DataFrame], str]" = field(default=_no_report)
    claims: "Callable[[pd.DataFrame], list[Claim]]" = field(default=_no_claims)
    cost: Callable[[Settings], float] = field(default=_one)


def presets_by_size(*, quick: int, full: int) -> dict[str, Preset]:
    """Return presets with sample sizes in powers of ten, up to ten million in full.

    Parameters
    ----------
    quick, full : int
        The runs of each setting in these presets.
    """
    return {
        "tiny": {"runs": 1, "sizes": (200,), "tests": 100},
        "quick": {"runs": quick, "sizes": (10**3, 10**4)},
        "full": {"runs": full, "sizes": tuple(10**k for k in range(3, 8))},
    }


def settings_of(
    study: Study,
    preset: str,
    runs: int | None = None,
    sizes: Sequence[int] | None = None,
) -> list[Settings]:
    """Return the settings of a preset, with its runs and sizes overridden if given.

    Parameters
    ----------
    study : Study
        The study.
    preset : {"tiny", "quick", "full"}
        The preset.
    runs : int, optional
        The number of runs.
    sizes : sequence of int, optional
        The sample sizes.
    """
    options = {"runs": runs, "sizes": sizes}
    changed = {name: value for name, value in options.items() if value is not None}
    return list(study.settings(**{**study.presets[preset], **changed}))


def run(study: Study, todo: Sequence[Settings], path: Path, *, jobs: int = 1) -> None:
    """Compute the missing rows of a table.

    Parameters
    ----------
    study : Study
        The study.
    todo : sequence of settings
        The settings that the table should hold, in the order of execution.
    path : Path
        The table, a CSV file.
    jobs : int, default=1
        The number of processes. With more than one, each uses a single thread.
    """
    with Store(path, study.keys) as store:
        fill(study, todo, store, jobs=jobs)


def fill(study: Study, todo: Sequence[Settings], store: Store, *, jobs: int = 1) -> None:
    """Compute the missing rows of an open table.

    Parameters
    ----------
    study, todo, jobs
        As for :func:`run`.
    store : Store
        The table.
    """
    missing = [settings for settings in todo if settings not in store]
    done = len(todo) - len(missing)
    _console.print(f"{study.name}: {done} of {len(todo)} are already in the table")
    clock = _Clock(study.name, sum(map(study.cost, missing)), len(missing))
    for settings, rows in _computed(study, missing, jobs):
        origin = {"date": _today(), "machine": machine()}
        store.add(settings, [row | origin for row in rows])
        clock.tick(study.cost(settings))


def _computed(
    study: Study, missing: Sequence[Settings], jobs: int
) -> Iterator[tuple[Settings, list[Row]]]:
    """Yield settings and their rows as computations finish."""
    if jobs == 1:
        for settings in missing:
            yield settings, study.compute(settings)
        return
    spawn = get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _prepare, (os.getpid(),)) as pool:
        waiting = {pool.submit(study.compute, settings): settings for settings in missing}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _prepare(parent: int) -> None:
    """Limit a worker process to one thread, and end it with its parent."""
    threadpool_limits(1)
    end_with(parent)


def end_with(parent: int) -> None:
    """Terminate this process when its parent is gone.

    Parameters
    ----------
    parent : int
        The process id of the parent.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Clock:
    """Reports the progress of a study and the remaining time."""

    def __init__(self, name: str, cost: float, count: int) -> None:
        self.name, self.cost, self.count = name, cost, count
        self.spent, self.ended = 0.0, 0
        self.start = self.reported = time.monotonic()

    def tick(self, cost: float) -> None:
        """Record the end of a computation."""
        self.spent, self.ended = self.spent + cost, self.ended + 1
        now = time.monotonic()
        last = self.ended == self.count
        if now - self.reported < _SILENCE and not last:
            return
        self.reported, elapsed = now, now - self.start
        remaining = elapsed * (self.cost - self.spent) / self.spent
        done = f"{self.ended} of {self.count} in {_duration(elapsed)}"
        ahead = "" if last else f", about {_duration(remaining)} left"
        _console.print(f"{self.name}: {done}{ahead}")


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"
