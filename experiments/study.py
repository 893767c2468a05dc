"""A study: settings, what is computed for each of them, and how the table is drawn.

A study that was stopped, by whatever means, goes on where it was when it is started again.
"""

import os
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console
from threadpoolctl import threadpool_limits

from experiments.device import device_name
from experiments.store import Row, Settings, Store

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.claims import Claim

__all__ = ["Preset", "Study", "end_with", "fill", "machine", "run", "settings_of"]

Preset: TypeAlias = Mapping[str, object]

_SILENCE = 20.0  # seconds between lines of progress
_console = Console(stderr=True)


def _no_words(table: object) -> str:
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
        What it and its table are called.
    title : str
        What it is about, in a line.
    keys : tuple of str
        The names of its settings, which tell runs apart.
    presets : mapping
        For each of ``"tiny"``, ``"quick"`` and ``"full"``, arguments of ``settings``: among
        them ``runs`` and ``sizes``.
    settings : callable
        From a preset to the settings of all computations, in the order of work.
    compute : callable
        From settings to rows of the table, one for each model. Whatever is random comes
        from the seed among the settings.
    draw : callable
        From the table to figures by name.
    report : callable
        From the table to a page in Markdown.
    claims : callable
        From the table to claims of the paper, and whether they hold.
    cost : callable
        From settings to about how long they take, in any unit.
    """

    name: str
    title: str
    keys: tuple[str, ...]
    presets: Mapping[str, Preset]
    settings: Callable[..., Iterable[Settings]]
    compute: Callable[[Settings], list[Row]]
    draw: "Callable[[pd.DataFrame], dict[str, Figure]]"
    report: "Callable[[pd.DataFrame], str]" = field(default=_no_words)
    claims: "Callable[[pd.DataFrame], list[Claim]]" = field(default=_no_claims)
    cost: Callable[[Settings], float] = field(default=_one)


def settings_of(
    study: Study,
    preset: str,
    runs: int | None = None,
    sizes: Sequence[int] | None = None,
) -> list[Settings]:
    """Return the settings of a preset, or of another number of runs or other sizes.

    Parameters
    ----------
    study : Study
        The study.
    preset : {"tiny", "quick", "full"}
        The preset.
    runs : int, optional
        The number of runs.
    sizes : sequence of int, optional
        The numbers of rows.
    """
    asked = {"runs": runs, "sizes": sizes}
    given = {name: value for name, value in asked.items() if value is not None}
    return list(study.settings(**{**study.presets[preset], **given}))


def run(study: Study, todo: Sequence[Settings], path: Path, *, jobs: int = 1) -> None:
    """Compute what a table lacks.

    Parameters
    ----------
    study : Study
        What is computed.
    todo : sequence of settings
        What the table is to hold, in the order of work.
    path : Path
        The table, a CSV file.
    jobs : int, default=1
        The number of processes. Each of several has one thread; a single one has all.
    """
    with Store(path, study.keys) as store:
        fill(study, todo, store, jobs=jobs)


def fill(study: Study, todo: Sequence[Settings], store: Store, *, jobs: int = 1) -> None:
    """Compute what an open table lacks.

    Parameters
    ----------
    study, todo, jobs
        As for :func:`run`.
    store : Store
        The table.
    """
    left = [settings for settings in todo if settings not in store]
    there = len(todo) - len(left)
    _console.print(f"{study.name}: {there} of {len(todo)} are there")
    clock = _Clock(study.name, sum(map(study.cost, left)), len(left))
    for settings, rows in _computed(study, left, jobs):
        made = {"date": _today(), "machine": machine()}
        store.add(settings, [row | made for row in rows])
        clock.tick(study.cost(settings))


def _computed(
    study: Study, left: Sequence[Settings], jobs: int
) -> Iterator[tuple[Settings, list[Row]]]:
    """Yield settings and rows as they come."""
    if jobs == 1:
        for settings in left:
            yield settings, study.compute(settings)
        return
    spawn = get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _prepare, (os.getpid(),)) as pool:
        waiting = {pool.submit(study.compute, settings): settings for settings in left}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _prepare(parent: int) -> None:
    """Let a process of a pool use one thread, and end with its parent."""
    threadpool_limits(1)
    end_with(parent)


def end_with(parent: int) -> None:
    """Let this process end when its parent is no more.

    Parameters
    ----------
    parent : int
        The number of the process.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Clock:
    """Tells how far a study is, and how long it will take."""

    def __init__(self, name: str, cost: float, count: int) -> None:
        self.name, self.cost, self.count = name, cost, count
        self.spent, self.ended = 0.0, 0
        self.start = self.told = time.monotonic()

    def tick(self, cost: float) -> None:
        """Note the end of a computation."""
        self.spent, self.ended = self.spent + cost, self.ended + 1
        now = time.monotonic()
        last = self.ended == self.count
        if now - self.told < _SILENCE and not last:
            return
        self.told, gone = now, now - self.start
        rest = gone * (self.cost - self.spent) / self.spent
        told = f"{self.ended} of {self.count} in {_words(gone)}"
        ahead = "" if last else f", about {_words(rest)} left"
        _console.print(f"{self.name}: {told}{ahead}")


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


@cache
def machine() -> str:
    """Return the processor, or the device that stands in for it, in words."""
    if device_name():
        return device_name()
    cores = os.cpu_count()
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
    name = " ".join((names or [platform.machine()])[0].split())
    return f"{name}, {cores} cores"
