"""Recorded answers of all estimators: a change that is not meant to change a number must not.

With the environment variable ``JOINTDIST_GOLDEN=strict`` they are compared to nine digits, on
the machine that recorded them.
"""

import golden
import numpy as np
import pytest


@pytest.mark.filterwarnings("ignore::jointdist.ToleranceWarning")  # few landmarks
@pytest.mark.parametrize("name", golden.CASES)
def test_golden(name):
    assert golden.misses(name, strict=golden.STRICT) == {}


def test_all_cases_are_recorded_and_no_others():
    assert golden.known().keys() == golden.CASES.keys()


def test_the_record_is_small():
    assert golden.FILE.stat().st_size < 400_000


@pytest.mark.parametrize(
    ("now", "then", "apart"),
    [
        (1.0, 1.0, 0.0),
        (1.1, 1.0, 0.1),
        ([1.0, 100.0], [1.1, 100.0], 0.001),
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], 0.0),
        ([1.0, np.nan], [np.nan, 1.0], np.inf),
        ([1.0], [1.0, 2.0], np.inf),
        ("Gaussian(1.1).on(0)", "Gaussian(1.0).on(0)", 0.1),
        ("Gaussian(1.0)", "Laplace(1.0)", np.inf),
        (["a", "b"], ["a", "b"], 0.0),
        (["a", "b"], ["a", "c"], np.inf),
        ([[0.5, "b"]], [[1.0, "b"]], 0.5),
    ],
)
def test_deviations_are_relative_to_the_largest_entry(now, then, apart):
    assert golden.deviation(now, then) == pytest.approx(apart)


def test_large_arrays_are_told_by_entries_sum_and_norm():
    array = np.arange(100.0)
    then = golden.recorded(array)
    assert golden.deviation(golden.recorded(array), then) == 0
    array[1] += 1.0  # not among the entries
    assert golden.deviation(golden.recorded(array), then) > 1e-4
