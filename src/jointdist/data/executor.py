"""Map a task over row blocks, and reduce what comes back.

This is the one place that decides where blocks are worked on. A task gets the number
of its first row and one block of each table, and returns something small; results
arrive in the order of the rows, so that sums do not depend on the number of threads.
"""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import TypeAlias, TypeVar

from threadpoolctl import ThreadpoolController

from jointdist.data.table import Rows
from jointdist.errors import is_whole, require

__all__ = ["Executor", "Task", "executor_for", "one_blas_thread"]

S = TypeVar("S")
T = TypeVar("T")
Task: TypeAlias = Callable[..., T]  # (first row, one block of each table) -> T


@dataclass(frozen=True, slots=True)
class Executor:
    """Row blocks on a pool of threads, one BLAS thread each.

    Parameters
    ----------
    workers : int, optional
        The number of threads; by default as many as BLAS may use at the time, so that
        ``threadpool_limits`` and environment variables rule here too.
    block_rows : int, default=3072
        The number of rows of a block.
    """

    workers: int | None = None
    block_rows: int = 3072

    def __post_init__(self) -> None:
        whole = self.workers is None or is_whole(self.workers, least=1)
        rule = "an integer of at least 1"
        require(whole, "Executor", "workers", f"{rule}, or None", self.workers)
        whole = is_whole(self.block_rows, least=1)
        require(whole, "Executor", "block_rows", rule, self.block_rows)

    def map(self, task: Task[T], *tables: Rows) -> Iterator[T]:
        """Yield the results of ``task`` over the row blocks, in the order of the rows.

        All tables have the same number of rows.
        """
        n = tables[0].n

        def work(start: int) -> T:
            stop = min(start + self.block_rows, n)
            return task(start, *(table.read(start, stop) for table in tables))

        yield from self.each(work, range(0, n, self.block_rows))

    def each(self, work: Callable[[S], T], items: Iterable[S]) -> Generator[T, None, None]:
        """Yield the results of ``work`` on the items, in their order."""
        with one_blas_thread as allowed:
            yield from _in_order(work, items, self.workers or allowed)

    def reduce(self, combine: Callable[[T, T], T], task: Task[T], *tables: Rows) -> T:
        """Return the results of ``task`` over the row blocks, combined pair by pair."""
        return reduce(combine, self.map(task, *tables))


def executor_for(rows: Rows, executor: Executor | None = None) -> Executor:
    """Return the executor given, or that for a table: large blocks on accelerators."""
    good = executor is None or isinstance(executor, Executor)
    require(good, rows.where, "executor", "an Executor, or None", executor)
    if executor is not None:
        return executor
    return Executor() if rows.in_host_memory else Executor(workers=1, block_rows=1 << 18)


def _in_order(work: Callable[[S], T], items: Iterable[S], workers: int) -> Iterator[T]:
    """Yield ``work(item)`` in order, a few of them at work ahead of the caller."""
    waiting, ahead = iter(items), deque[Future[T]]()
    first = list(islice(waiting, 2))
    if len(first) < 2 or workers == 1:  # no pool for what no other thread can help with
        yield from map(work, chain(first, waiting))
        return
    waiting = chain(first, waiting)
    with ThreadPoolExecutor(workers) as pool:
        try:
            ahead.extend(pool.submit(work, item) for item in islice(waiting, 2 * workers))
            while ahead:
                result = ahead.popleft().result()
                ahead.extend(pool.submit(work, item) for item in islice(waiting, 1))
                yield result
        finally:
            for future in ahead:
                future.cancel()


class _OneBlasThread:
    """BLAS on one thread while any pass runs, in whatever thread it was called.

    The first to enter saves the limit, the last to leave restores it. Gives the number
    of threads that BLAS was allowed before, at most the cores of this process.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._blas, self._modules = ThreadpoolController(), 0

    def __enter__(self) -> int:
        with self._lock:
            if self._inside == 0:
                if len(sys.modules) != self._modules:  # the search takes milliseconds
                    self._blas, self._modules = ThreadpoolController(), len(sys.modules)
                self._allowed = _cores(self._blas)
                self._limit = self._blas.limit(limits=1, user_api="blas")
            self._inside += 1
            return self._allowed

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


one_blas_thread = _OneBlasThread()


def _cores(blas: ThreadpoolController) -> int:
    """Return how many threads BLAS would use, at most the cores of this process."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        cores = os.cpu_count() or 1
    allowed = [lib["num_threads"] for lib in blas.info() if lib["user_api"] == "blas"]
    return min([cores, *map(int, allowed)])
