"""Threads that work on items, with results in the order of the items.

Not by ``concurrent.futures``: an interrupt while the main thread hands over an item may leave
a lock of its semaphore taken, for which all its threads then wait forever. Queues that are
written in C have no such moment.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import Generic, NoReturn, TypeAlias, TypeVar

__all__ = ["in_threads"]

S = TypeVar("S")
T = TypeVar("T")
_Done: TypeAlias = Callable[[], T]  # returns a result, or raises
_Job: TypeAlias = tuple[S, SimpleQueue[_Done[T]]]  # an item, and where its result is put


def in_threads(work: Callable[[S], T], items: Iterator[S], workers: int) -> Iterator[T]:
    """Yield ``work(item)`` in order, a few items ahead of the caller.

    Parameters
    ----------
    work : callable
        Called with one item, in any of the threads.
    items : iterator
        The items, read by the caller's thread.
    workers : int
        The number of threads.
    """
    crew, ahead = _Crew(work), deque[SimpleQueue[_Done[T]]]()
    threads = list[threading.Thread]()

    def send(item: S) -> None:
        ahead.append(SimpleQueue())
        crew.waiting.put((item, ahead[-1]))

    try:
        for item in islice(items, 2 * workers):
            send(item)
        for _ in range(min(workers, len(ahead))):
            thread = threading.Thread(target=crew.serve, daemon=True)
            thread.start()
            threads.append(thread)
        while ahead:
            result = ahead.popleft().get()()
            for item in islice(items, 1):
                send(item)
            yield result
    finally:
        crew.done = True  # an interrupt is noticed after the next call, and not before
        crew.waiting.put(None)
        for thread in threads:
            thread.join()


class _Crew(Generic[S, T]):
    """Threads that serve one queue, until one of them finds None there.

    Attributes
    ----------
    work : callable
        What is done with each item.
    waiting : SimpleQueue
        The items that wait, and None at the end.
    done : bool
        Whether items that wait are to be left alone.
    """

    def __init__(self, work: Callable[[S], T]) -> None:
        self.work, self.done = work, False
        self.waiting = SimpleQueue[_Job[S, T] | None]()

    def serve(self) -> None:
        """Work on items until there is None, which is left for the other threads."""
        while (job := self.waiting.get()) is not None:
            item, result = job
            if not self.done:
                result.put(_attempt(self.work, item))
            del job, item, result
        self.waiting.put(None)


def _attempt(work: Callable[[S], T], item: S) -> "_Done[T]":
    """Return a function that returns the result, or raises what the work has raised."""
    try:
        result = work(item)
    except BaseException as error:  # noqa: BLE001  # it is raised where results are read
        return partial(_raise, error)
    return lambda: result


def _raise(error: BaseException) -> NoReturn:
    try:
        raise error
    finally:
        del error  # its traceback holds this frame
