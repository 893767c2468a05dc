"""The executor: all rows once, in order, wherever they are worked on."""

import operator
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import as_rows


def table(n, d=2):
    return as_rows(np.arange(float(n * d)).reshape(n, d), where="t", name="X")


@given(n=st.integers(1, 50), block=st.integers(1, 60), workers=st.integers(1, 4))
def test_blocks_are_all_rows_once_and_in_order(n, block, workers):
    rows = table(n)
    executor = Executor(workers=workers, block_rows=block)
    seen = list(executor.map(lambda start, x, y: (start, x, y), rows, rows))
    assert_array_equal(np.concatenate([x for _, x, _ in seen]), rows.source)
    assert_array_equal(np.concatenate([y for _, _, y in seen]), rows.source)
    assert [start for start, _, _ in seen] == list(range(0, n, block))


def test_sums_are_the_same_to_the_bit_for_any_number_of_threads(rng):
    rows = as_rows(rng.normal(size=(5000, 3)), where="t", name="X")

    def total(workers):
        executor = Executor(workers=workers, block_rows=64)
        return executor.reduce(operator.add, lambda _, x: x.T @ x, rows)

    for workers in (2, 3, 8):
        assert_array_equal(total(workers), total(1))


def blas_threads(*_):
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_each_block_has_one_blas_thread_and_the_old_limit_returns():
    before = blas_threads()
    seen = list(Executor(workers=2, block_rows=10).map(blas_threads, table(100)))
    assert {number for block in seen for number in block} == {1}
    assert blas_threads() == before


def test_passes_at_the_same_time_leave_the_limit_as_it_was(rng):
    before = blas_threads()
    tables = [
        as_rows(rng.normal(size=(n, 3)), where="t", name="X") for n in (4000, 900, 2000)
    ]

    def run(rows):
        executor = Executor(workers=2, block_rows=50)
        executor.reduce(operator.add, lambda _, x: x.T @ x, rows)

    threads = [threading.Thread(target=run, args=(rows,)) for rows in tables * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_threads_follow_the_limit_of_blas():
    names = set()

    def task(_start, _x):
        names.add(threading.current_thread().name)

    with threadpool_limits(1):
        list(Executor(block_rows=1).map(task, table(200)))
    assert len(names) == 1


def test_work_in_flight_is_bounded():
    started, finished, most = [], [], 0

    def task(start, _x):
        started.append(start)
        return start

    for start in Executor(workers=2, block_rows=1).map(task, table(300)):
        finished.append(start)
        most = max(most, len(started) - len(finished))
    assert most <= 5  # twice the workers, and one


def test_an_error_in_a_block_reaches_the_caller_and_ends_the_work():
    started = []

    def task(start, _x):
        started.append(start)
        if start == 20:
            raise RuntimeError(start)

    with pytest.raises(RuntimeError, match="20"):
        list(Executor(workers=2, block_rows=1).map(task, table(1000)))
    assert len(started) < 100


@pytest.mark.parametrize("arguments", [{"workers": 0}, {"block_rows": 0}, {"workers": 1.5}])
def test_bad_arguments_are_named(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"^Executor: `{name}` must be an integer of at"):
        Executor(**arguments)


def test_arrays_outside_host_memory_get_large_blocks(xp):
    rows = as_rows(xp.zeros((3, 1)), where="t", name="X")
    host = isinstance(rows.source, np.ndarray)
    assert (executor_for(rows).block_rows == 3072) == host
