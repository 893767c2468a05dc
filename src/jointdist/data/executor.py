"""Where and in what order row blocks are worked on, and how progress is shown.

A task gets the number of its first row and one block of each table, and returns something
small. Results come in the order of the rows, so that sums do not depend on the number of
threads.
"""

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from jointdist._array import Array, is_numpy_array
from jointdist._rules import is_whole, require
from jointdist.data.blas_threads import one_blas_thread
from jointdist.data.protocols import RowSource
from jointdist.data.table import Rows
from jointdist.data.worker_threads import in_threads

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Executor",
    "Task",
    "Tell",
    "executor_for",
    "executor_like",
    "one_blas_thread",
    "progress",
    "sized_blocks",
]

S = TypeVar("S")
T = TypeVar("T")
Task: TypeAlias = Callable[..., T]  # (first row, one block of each table) -> T
Tell: TypeAlias = Callable[[float, str], None]  # (share that is done, what is done now)

_PATIENCE = 1.0  # seconds before a bar appears: short work needs none
_BAR = Lock()  # taken while a bar is shown: two would overwrite each other


@dataclass(frozen=True, slots=True)
class Executor:
    """How row blocks are worked on: by a pool of threads, with one BLAS thread each.

    Parameters
    ----------
    workers : int, optional
        The number of threads; by default as many as BLAS may use at the time, so that
        ``threadpool_limits`` and environment variables apply here too.
    block_rows : int, default=3072
        The number of rows of a block. The default was fastest on two cores; with many
        cores, larger blocks (such as 16,384 rows) are faster.

    Examples
    --------
    Two threads, whatever BLAS may use; results do not depend on it, up to rounding:

    >>> import numpy as np
    >>> import jointdist as jd
    >>> X = np.random.default_rng(0).normal(size=(9000, 2))
    >>> two = jd.Executor(workers=2, block_rows=4096)
    >>> low = jd.pivoted_cholesky(jd.kernels.Gaussian(), X, random_state=0, executor=two)
    >>> bool(low.relative_error <= 1e-3)
    True
    """

    workers: int | None = None
    block_rows: int = 3072

    def __post_init__(self) -> None:
        whole = self.workers is None or is_whole(self.workers, least=1)
        rule = "an integer of at least 1"
        require(whole, "Executor", "workers", f"{rule}, or None", self.workers)
        whole = is_whole(self.block_rows, least=1)
        require(whole, "Executor", "block_rows", rule, self.block_rows)

    def map(self, task: Task[T], *tables: RowSource) -> Iterator[T]:
        """Yield the results of ``task`` over the row blocks, in the order of the rows.

        Parameters
        ----------
        task : callable
            Called with the number of the first row and one block of each table.
        *tables : RowSource
            The tables, all with the same number of rows.
        """
        n, step = tables[0].n, self.block_rows

        def work(start: int) -> T:
            stop = min(start + step, n)
            return task(start, *[table.read(start, stop) for table in tables])

        with one_blas_thread() as one, one:
            workers = self.workers or one.allowed
            if workers > 1 and n > step:
                yield from in_threads(work, iter(range(0, n, step)), workers)
                return
            for start in range(0, n, step):  # not by `work`, which would be one more frame
                stop = min(start + step, n)
                yield task(start, *[table.read(start, stop) for table in tables])

    def each(self, work: Callable[[S], T], items: Iterable[S]) -> Generator[T, None, None]:
        """Yield the results of ``work`` on the items, in their order.

        Parameters
        ----------
        work : callable
            Called with one item.
        items : iterable
            The items.
        """
        with one_blas_thread() as one, one:
            workers, waiting = self.workers or one.allowed, iter(items)
            first = list(islice(waiting, 2))
            if workers > 1 and len(first) > 1:
                yield from in_threads(work, chain(first, waiting), workers)
                return
            for item in chain(first, waiting):
                yield work(item)

    def reduce(self, combine: Callable[[T, T], T], task: Task[T], *tables: RowSource) -> T:
        """Return the results of ``task`` over the row blocks, combined from left to right.

        Parameters
        ----------
        combine : callable
            Combines two results.
        task, *tables
            As in :meth:`map`.
        """
        return reduce(combine, self.map(task, *tables))


_ON_HOST = Executor()
# Rows of a block whose sums over up to 1,024 groups are added too: twice as many, as these sums
# are a third as large as a block of the default size. Measured at 281 features: 3 to 5 % less time.
_GROUPED = Executor(block_rows=6144)
_SHARED = 1 << 20  # numbers of a block that fits into caches, and suffices for a thread
_GROUPED_WIDTH = 512  # the largest number of features for it: a memory budget of 24 MiB
# An accelerator works on one large block at a time: 2^18 rows of 512 features are 1 GiB.
_ON_DEVICE = Executor(workers=1, block_rows=1 << 18)
_BESIDE_DEVICE = Executor(block_rows=1 << 14)  # few launches, and work for some threads
_DEVICE_NUMBERS = 1 << 28  # features of a block in the pass over all rows: 2 GiB


def executor_for(rows: Rows, executor: Executor | None = None) -> Executor:
    """Return the executor given, or the default for a table: large blocks on accelerators.

    Parameters
    ----------
    rows : Rows
        The table.
    executor : Executor, optional
        What users give.
    """
    good = executor is None or isinstance(executor, Executor)
    require(good, rows.where, "executor", "an Executor, or None", executor)
    if executor is not None:
        return executor
    return _ON_HOST if rows.in_host_memory else _ON_DEVICE


def sized_blocks(
    executor: Executor, width: int, *, grouped: bool = False, shared: bool = False
) -> Executor:
    """Return the executor with blocks that suit the width of features.

    Small kernels of an accelerator take as long to launch as to run: few functions get
    larger blocks. So do sums over groups of rows in host memory. Where few rows have many
    features, smaller blocks give all cores a share of them.

    Parameters
    ----------
    executor : Executor
        The executor; one that users give stays as it is.
    width : int
        The number of features.
    grouped : bool, default=False
        Whether features are summed over groups of rows too.
    shared : bool, default=False
        Whether blocks of many features in host memory are smaller.
    """
    if executor is _ON_HOST and shared:
        return Executor(block_rows=min(max(_SHARED // max(width, 1), 256), 3072))
    if executor is _ON_HOST and grouped and width <= _GROUPED_WIDTH:
        return _GROUPED
    if executor is not _ON_DEVICE:
        return executor
    rows = min(max(_DEVICE_NUMBERS // max(width, 1), _ON_DEVICE.block_rows // 4), 1 << 20)
    return Executor(workers=1, block_rows=rows)


def executor_like(array: Array, executor: Executor | None = None) -> Executor:
    """Return the executor given, or the default for questions to a model.

    Much of the work on a question is done in host memory, by all threads, also where
    features are evaluated on an accelerator.

    Parameters
    ----------
    array : Array
        An array of the model that rows are multiplied with.
    executor : Executor, optional
        What users give.
    """
    if executor is not None:
        return executor
    return Executor() if is_numpy_array(array) else _BESIDE_DEVICE


@contextmanager
def progress(
    title: str,
    *,
    verbose: int,
    console: "Console | None" = None,
    patience: float = _PATIENCE,
) -> Iterator[Tell]:
    """Provide a function that takes the share of the work that is done and a short text.

    Nothing is shown in the first second, nor if ``verbose`` is zero or the standard error
    is not a terminal, nor within work whose progress is shown already.

    Parameters
    ----------
    title : str
        The name of the work.
    verbose : int
        Whether to show a bar.
    console : Console, optional
        Where to draw; by default the standard error.
    patience : float, default=1.0
        The seconds before anything is shown.
    """
    # Imported here, because importing the package is to be fast.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = console or Console(stderr=True)
    times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
    columns = TextColumn("{task.description}"), BarColumn(), *times
    bar = Progress(*columns, TextColumn("{task.fields[text]}"), console=console)
    shown = verbose and (console.is_terminal or console.is_jupyter)
    if not shown or not _BAR.acquire(blocking=False):
        yield lambda share, text: None  # noqa: ARG005
        return
    bar.live.transient = True
    start = perf_counter()
    task = bar.add_task(title, total=1.0, text="")

    def tell(share: float, text: str) -> None:
        if not bar.live.is_started and perf_counter() - start >= patience:
            bar.start()
        bar.update(task, completed=share, text=text)

    try:
        yield tell
    finally:
        bar.stop()
        _BAR.release()
