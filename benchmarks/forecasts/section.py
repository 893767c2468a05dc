"""What the sections of the benchmark share: settings, columns, and how they are run."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

from threadpoolctl import threadpool_limits

from benchmarks.forecasts.measured import Row, Value, describe
from benchmarks.forecasts.methods import METHODS, Method
from benchmarks.forecasts.origin import origin, revision
from benchmarks.forecasts.store import Table

__all__ = ["ABOUT", "Request", "Section", "Settings", "run"]

Settings = Mapping[str, Value]

ABOUT = ("version", "settings", "revision")
ORIGIN = ("machine", "date", "note")
SILENCE = 20.0  # seconds between messages
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Request:
    """What to compute of a section.

    Attributes
    ----------
    preset : str
        The preset.
    methods : sequence of str, optional
        The methods; by default those of the section.
    sets : sequence of str, optional
        The data sets or cases; by default those of the preset.
    splits : sequence of int, optional
        The splits or seeds; by default those of the preset.
    """

    preset: str
    methods: Sequence[str] | None = None
    sets: Sequence[str] | None = None
    splits: Sequence[int] | None = None


def _always(_: Settings) -> bool:
    return True


@dataclass(frozen=True)
class Section:
    """A table of the benchmark: which rows it has, and how one is computed.

    Attributes
    ----------
    name : str
        The name of its table, after ``forecasts-``.
    keys : tuple of str
        The settings that identify a row; ``"method"`` is one of them, ``"data"`` another.
    measures : tuple of str
        The measurements.
    cases : callable
        From a preset to settings without the method, in the order of execution.
    methods : tuple of str
        The methods that are run by default.
    compute : callable
        From settings, the method and a time limit to measurements.
    known : mapping
        All methods by name.
    single : bool
        Whether computations are limited to one thread.
    seed : str
        The key that ``splits`` of a request selects.
    suits : callable
        Whether settings with a method are run at all.
    """

    name: str
    keys: tuple[str, ...]
    measures: tuple[str, ...]
    cases: Callable[[str], Iterable[Settings]]
    methods: tuple[str, ...]
    compute: Callable[[Settings, Method, float], Row]
    known: Mapping[str, Method] = field(default_factory=lambda: METHODS, repr=False)
    single: bool = True
    seed: str = "split"
    suits: Callable[[Settings], bool] = _always

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the table."""
        return (*self.keys, *ABOUT, *self.measures, *ORIGIN)

    def path(self, folder: Path) -> Path:
        """Return the file of the table.

        Parameters
        ----------
        folder : Path
            The folder of pages.
        """
        return folder / "tables" / f"forecasts-{self.name}.csv"

    def settings(self, request: Request) -> Iterator[Settings]:
        """Yield settings, method by method for each case; report methods that are missing."""
        names = [name for name in request.methods or self.methods if name in self.known]
        missing = [name for name in names if not self.known[name].version]
        for name in missing:
            package = self.known[name].package
            print(f"skipped: {name}: {package} is not installed", file=sys.stderr)
        cases = self.cases(request.preset)
        if request.splits is not None:
            cases = _with_splits(cases, self.seed, request.splits)
        for case in cases:
            if request.sets is not None and case["data"] not in request.sets:
                continue
            made = ({**case, "method": name} for name in names if name not in missing)
            yield from (one for one in made if self.suits(one))


def _with_splits(
    cases: Iterable[Settings], key: str, splits: Sequence[int]
) -> Iterator[Settings]:
    """Yield each case once for each of other splits."""
    rest = ({name: one for name, one in case.items() if name != key} for case in cases)
    for case in dict.fromkeys(tuple(own.items()) for own in rest):
        yield from (dict(case) | {key: split} for split in splits)


def run(
    section: Section,
    request: Request,
    folder: Path,
    *,
    jobs: int = 1,
    limit: float = 0.0,
    refresh: bool = False,
) -> None:
    """Compute the missing rows of a table.

    Parameters
    ----------
    section : Section
        The section.
    request : Request
        The rows that the table should hold.
    folder : Path
        The folder of pages.
    jobs : int, default=1
        The number of processes.
    limit : float, default=0
        The CPU seconds after which a method is stopped; zero for no limit.
    refresh : bool, default=False
        Whether rows of other revisions are computed again.
    """
    todo = list(section.settings(request))
    if not todo:
        return
    with Table(section.path(folder), section.keys, section.columns) as table:
        if refresh:
            _drop_older(table, todo)
        missing = [one for one in todo if one not in table]
        done = len(todo) - len(missing)
        print(f"{section.name}: {done} of {len(todo)} are in the table", file=sys.stderr)
        start = told = monotonic()
        for count, (one, row) in enumerate(_computed(section, missing, jobs, limit), 1):
            table.add({**one, **row})
            if monotonic() - told > SILENCE or count == len(missing):
                told = monotonic()
                spent = f"{count} of {len(missing)} in {told - start:.0f} s"
                print(f"{section.name}: {spent}", file=sys.stderr, flush=True)


def _drop_older(table: Table, todo: Sequence[Settings]) -> None:
    """Remove rows of this package that are of another revision."""
    wanted = {table.key(one) for one in todo}
    found = (row for row in table.rows if table.key(row) in wanted)
    table.drop([row for row in found if row["revision"] not in {"", revision()}])


def _computed(
    section: Section, missing: Sequence[Settings], jobs: int, limit: float
) -> Iterator[tuple[Settings, Row]]:
    """Yield settings and their rows as computations finish."""
    if jobs == 1 or not section.single:  # others would disturb what is timed
        for one in missing:
            yield one, _row(section, one, limit)
        return
    if section.single:
        os.environ |= dict.fromkeys(THREADS, "1")  # of the processes to come
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        largest_first = reversed(missing)  # sets are in the order of their size
        waiting = {pool.submit(_row, section, one, limit): one for one in largest_first}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _row(section: Section, one: Settings, limit: float) -> Row:
    method = section.known[str(one["method"])]
    with threadpool_limits(1 if section.single else None):
        found = section.compute(one, method, limit)
    return {**describe(method), **found, **origin()}
