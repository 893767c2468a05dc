"""BLAS on one thread while row blocks are worked on or questions are answered.

BLAS threads of one pass wait for those of another, and spin while they wait: eight threads
that asked one model took twenty times the CPU time of one. Hence one BLAS thread each.
"""

import os
import sys
import threading

from threadpoolctl import LibController, ThreadpoolController

__all__ = ["one_blas_thread"]


class _OneBlasThread:
    """BLAS on one thread while any pass runs, in whatever thread it was called.

    The first to enter saves the limit, the last to leave restores it. Gives the number
    of threads that BLAS was allowed before, at most the cores of this process. Called, it
    gives a pass that is left at the latest when it is deleted.
    """

    def __init__(self) -> None:
        # A pass may be deleted in the thread that has the lock.
        self._lock, self._inside = threading.RLock(), 0
        self._blas = list[LibController]()
        self._before, self._allowed, self._modules = list[int](), 1, 0

    def __call__(self) -> "_Pass":
        return _Pass(self)

    def __enter__(self) -> int:
        one = _Pass(self)
        allowed = self.enter(one)
        one.inside = False  # it is left by `__exit__`
        return allowed

    def __exit__(self, *_: object) -> None:
        one = _Pass(self)
        one.inside = True
        self.leave(one)

    def enter(self, one: "_Pass") -> int:
        """Enter, unless an interrupt comes: then nothing has changed."""
        try:
            with self._lock:
                if self._inside == 0:
                    self._begin()
                self._inside += 1
                one.inside = True  # no call before it, so that no interrupt comes between
            return self._allowed  # noqa: TRY300  # an interrupt may come before it
        except BaseException:
            self.leave(one)
            raise

    def leave(self, one: "_Pass") -> None:
        """Leave, once for each pass."""
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


class _Pass:
    """The time from one entry to the exit that belongs to it.

    Python may notice an interrupt at the first instruction of ``__exit__``, so that nothing
    of it is done. Then the pass is left when the frame that has entered it is gone.
    """

    __slots__ = ("inside", "limit")

    def __init__(self, limit: _OneBlasThread) -> None:
        self.limit, self.inside = limit, False

    def __enter__(self) -> int:
        return self.limit.enter(self)

    def __exit__(self, *_: object) -> None:
        self.limit.leave(self)

    def __del__(self) -> None:
        if self.inside:
            self.limit.leave(self)


one_blas_thread = _OneBlasThread()


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
