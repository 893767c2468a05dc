"""BLAS limits are restored whatever happens, while the traceback of an error still lives."""

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from interrupted_fits import limits
from threadpoolctl import threadpool_limits

import jointdist as jd
from jointdist.data import executor
from jointdist.data.blas_threads import one_blas_thread
from jointdist.data.table import Rows

HOME = str(Path(jd.__file__).parent)
MODULES = {"blas_threads.py", "executor.py", "worker_threads.py"}


class Interrupt:
    """Raises KeyboardInterrupt where Python would notice a signal, at the moment numbered.

    That is at the first instruction of a function, and after a call of a C function.
    """

    def __init__(self, at):
        self.at, self.seen = at, 0

    def __call__(self, frame, event, _):
        own = Path(frame.f_code.co_filename).name in MODULES
        if own and event in ("call", "c_return"):
            self.seen += 1
            if self.seen == self.at:
                raise KeyboardInterrupt

    def during(self, work):
        """Return the error that the interrupt has become, with its traceback, or None."""
        sys.setprofile(self)
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # also in another guise
            return error
        finally:
            sys.setprofile(None)
        return None


def inside():
    with one_blas_thread() as one, one:
        assert set(limits()) == {1}


def nested():
    with one_blas_thread() as one, one:
        inside()
        list(executor.Executor(workers=1).each(lambda item: item, range(3)))


def mapped(workers):
    rows = Rows(np.ones((40, 1)), "test", "X")
    found = executor.Executor(workers=workers, block_rows=10).map(
        lambda start, z: start + float(z.sum()), rows
    )
    assert sum(found) == 10 + 20 + 30 + 40


def looped():
    for item in executor.Executor(workers=2).each(lambda item: -item, range(5)):
        assert item <= 0


WORK = {
    "inside": inside,
    "nested": nested,
    "mapped": lambda: mapped(1),
    "mapped by threads": lambda: mapped(3),
    "looped": looped,
}


@pytest.mark.parametrize("name", WORK)
def test_an_interrupt_at_any_moment_restores_the_limits(name):
    work = WORK[name]
    with threadpool_limits(2, user_api="blas"):
        work()  # libraries are found, which takes milliseconds
        whole = Interrupt(0)
        assert whole.during(work) is None
        assert whole.seen > 10
        for at in range(1, whole.seen + 1):
            error = Interrupt(at).during(work)
            assert set(limits()) == {2}, f"interrupt {at} of {whole.seen}"
            with suppress(KeyError):
                del error
            work()


def test_an_error_in_the_work_restores_the_limits_while_its_traceback_lives():
    def fails(item):
        raise OSError(item)

    with threadpool_limits(2, user_api="blas"):
        for workers in (1, 2):
            with pytest.raises(OSError, match="0") as caught:
                list(executor.Executor(workers=workers).each(fails, range(5)))
            assert set(limits()) == {2}
            assert caught.tb is not None


def test_a_pass_that_is_entered_twice_is_left_once():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread() as one, one:
            assert set(limits()) == {1}
        assert set(limits()) == {2}
        with one_blas_thread() as one, one, one_blas_thread() as two, two:
            assert set(limits()) == {1}
        assert set(limits()) == {2}
