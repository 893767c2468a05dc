"""BLAS on one thread while row blocks are worked on or questions are answered.

BLAS threads of one pass wait for those of another, and spin while they wait: eight threads
that asked one model took twenty times the CPU time of one. Hence one BLAS thread each.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from threadpoolctl import LibController, ThreadpoolController

__all__ = ["one_blas_thread", "one_openmp_thread"]


class _OneBlasThread:
    """BLAS on one thread while any pass runs, in whatever thread it was called.

    The first pass to begin saves the limits, the last to end restores them.
    """

    def __init__(self) -> None:
        # A generator may be deleted, and its pass end, in the thread that has the lock.
        self._lock, self._inside = threading.RLock(), 0
        self._blas = list[LibController]()
        self._before, self._allowed, self._modules = list[int](), 1, 0

    def enter(self, one: "Pass") -> None:
        """Begin a pass, unless an interrupt comes: then nothing has changed."""
        try:
            with self._lock:
                if one.inside:
                    return
                if self._inside == 0:
                    self._begin()
                one.allowed = self._allowed
                self._inside += 1
                one.inside = True  # no call before it, so that no interrupt comes between
        except BaseException:
            self.leave(one)
            raise

    def leave(self, one: "Pass") -> None:
        """End a pass, once."""
        with self._lock:
            if not one.inside:
                return
            one.inside = False
            self._inside -= 1
            if self._inside == 0:
                try:
                    self._set(self._before)
                except BaseException:
                    self._set(self._before)
                    raise

    def _begin(self) -> None:
        """Save the limits of all BLAS libraries, and allow each one thread."""
        if len(sys.modules) != self._modules:  # the search takes milliseconds
            found = ThreadpoolController().lib_controllers
            self._blas = [lib for lib in found if lib.user_api == "blas"]
            self._modules = len(sys.modules)
        self._before = [lib.get_num_threads() or 1 for lib in self._blas]
        self._allowed = min([_cores(), *self._before])
        try:
            self._set([1] * len(self._blas))
        except BaseException:
            self._set(self._before)
            raise

    def _set(self, limits: list[int]) -> None:
        """Set the limit of each library; if this is interrupted, once more."""
        try:
            _limit(self._blas, limits)
        except BaseException:
            _limit(self._blas, limits)
            raise


_LIMIT = _OneBlasThread()


class Pass:
    """The time from one entry to the exit that belongs to it.

    Attributes
    ----------
    allowed : int
        The number of threads that BLAS was allowed before, at most the cores of this process.
    inside : bool
        Whether it has begun and not ended.
    """

    allowed: int = 1
    inside: bool = False

    def __enter__(self) -> Self:
        _LIMIT.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _LIMIT.leave(self)


def one_blas_thread() -> Pass:
    """Return a pass, during which BLAS has one thread.

    Enter it twice: ``with one_blas_thread() as one, one:``. Python may notice an interrupt at
    the first instruction of an ``__exit__``, so that nothing of it is done. The other one is
    called then, and whoever keeps the traceback of the interrupt does not keep the limit.
    """
    return Pass()


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Let parallel loops of the calling thread run on it alone.

    The limit of OpenMP is one of each thread: others keep theirs.
    """
    found = ThreadpoolController().lib_controllers
    loops = [lib for lib in found if lib.user_api == "openmp"]
    before = [lib.get_num_threads() for lib in loops]
    try:
        for library in loops:
            library.set_num_threads(1)
        yield
    finally:
        for library, limit in zip(loops, before, strict=True):
            library.set_num_threads(limit)


def _limit(libraries: list[LibController], limits: list[int]) -> None:
    """Set the number of threads of BLAS libraries, from any thread.

    Limits are those of the process. Since version 3.8 threadpoolctl follows the first thread
    that sets one until that thread gives its control up, and ignores all others.
    """
    for library, limit in zip(libraries, limits, strict=True):
        give_up = getattr(library, "clear_controlling_thread", None)
        if give_up is None:
            library.set_num_threads(limit)
            continue
        give_up(force=True)
        library.set_num_threads(limit)
        give_up(force=True)


def _cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1
