"""Tables: everything that can be read as rows, and a clear message for the rest."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from jointdist import pivoted_cholesky
from jointdist.data.executor import Executor
from jointdist.data.table import Rows, as_rows, as_weights
from jointdist.kernels import Gaussian

NUMBERS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]])


def rows(data, **options):
    return as_rows(data, where="fit", name="X", **options)


@pytest.mark.parametrize(
    "table",
    [
        NUMBERS,
        NUMBERS.astype(np.float32),
        NUMBERS.tolist(),
        np.asfortranarray(NUMBERS),
        NUMBERS.astype(object),
        np.ma.masked_array(NUMBERS, mask=False),
        pd.DataFrame(NUMBERS, columns=["a", "b"]),
        pd.DataFrame(NUMBERS).convert_dtypes(),
        pl.DataFrame(NUMBERS, schema=["a", "b"]),
        pa.table({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]}),
    ],
    ids=[
        "float64",
        "float32",
        "list",
        "fortran",
        "object",
        "masked",
        "pandas",
        "pandas-nullable",
        "polars",
        "pyarrow",
    ],
)
def test_tables_of_every_kind_are_read_alike(table):
    assert_array_equal(rows(table).read(0, 3), NUMBERS)
    assert_array_equal(rows(table).take(np.array([2, 0])), NUMBERS[[2, 0]])


@pytest.mark.parametrize("numbers", [np.array([0, 1, 2]), np.array([True, False]), [3, 4]])
def test_integers_and_booleans_become_floats(numbers):
    block = rows(numbers, vector=True).read(0, len(numbers))
    assert block.dtype == np.float64
    assert_array_equal(block[:, 0], np.asarray(numbers, dtype=float))


@pytest.mark.parametrize("series", [pd.Series([1, 2]), pl.Series([1, 2]), np.array([1, 2])])
def test_a_vector_may_stand_for_one_column(series):
    assert_array_equal(rows(series, vector=True).read(0, 2), [[1.0], [2.0]])


def test_a_memory_map_is_read_in_place(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, NUMBERS)
    mapped = np.load(path, mmap_mode="r")
    assert isinstance(rows(mapped).source, np.memmap)
    assert_array_equal(rows(mapped).read(1, 3), NUMBERS[1:])


def test_rows_are_rows_already():
    table = rows(NUMBERS)
    assert as_rows(table, where="other", name="Z") is table


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, r"`X` must be a table of n rows and d columns\. Got shape \(\)"),
        (
            np.zeros(3),
            r"`X` must be a table of n rows and.* shape \(3,\)\. Reshape your data",
        ),
        (
            pd.Series([1, 2]),
            r"`X` must be a table of n rows and.* shape \(2,\)\. Reshape your data",
        ),
        (np.zeros((2, 2, 2)), r"`X` must be a table of n rows and d.* shape \(2, 2, 2\)\."),
        (3.0, r"`X` must be a table of n rows and d columns\. Got shape \(\)\."),
        (
            np.zeros((0, 2)),
            r"`X` must be a table with at least one row and one column.*\(0, 2\)",
        ),
        (
            np.zeros((2, 0)),
            r"`X` must be a table with at least one row and one column.*\(2, 0\)",
        ),
        (
            [],
            r"`X` must be a table with at least one row and one column\. Got shape \(0,\)",
        ),
        (pl.LazyFrame({"a": [1]}), r"`X` must be in memory\. Got a lazy frame; collect it"),
        (
            np.array([["1"]], dtype=object),
            r"`X` must be numeric\. Got values of type <U",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            r"`X` must be a table of unique columns",
        ),
        (pd.DataFrame(), r"`X` must be a table with at least one row and one column"),
        ([[1.0, 2.0], [3.0]], r"`X` must be a table of numbers\. Got .*inhomogeneous"),
        ([["a", "b"]], r"`X` must be numeric\. Got values of type <U1; give"),
        (
            np.array([["a", 1.0]], dtype=object),
            r"`X` must be numeric\. Got values of type <U",
        ),
        (np.array([[1j]]), r"`X` must be numeric\. Got values of type complex128"),
        (
            np.array([["2026-01-01"]], dtype="M8[D]"),
            r"`X` must be numeric\. Got values of type",
        ),
        (
            pd.DataFrame({"age": [1], "name": ["Ann"]}),
            r"`X` must be numeric\. Got Str.* in column 'name'",
        ),
        (
            pl.DataFrame({"kind": ["a"]}),
            r"`X` must be numeric\. Got String in column 'kind'",
        ),
        (pd.Series(["a"]), r"`X` must be numeric\. Got Str"),
        (scipy.sparse.eye_array(3), r"`X` must be a dense array\. Got a sparse matrix"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(data, message):
    with pytest.raises(ValueError, match="^fit: " + message):
        rows(data)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_found_with_their_place(bad):
    X = np.zeros((5000, 3))
    X[4321, 1] = bad
    message = (
        rf"^pivoted_cholesky: `X` must be finite, .*\. Got {bad} at row 4321, column 1\."
    )
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(Gaussian(), X)


@pytest.mark.parametrize("library", [np.asarray, pd.DataFrame])
def test_integers_that_float64_would_merge_are_refused(library):
    codes = library([[2**53 - 1], [2**53 + 1]])
    with pytest.raises(
        ValueError, match=r"`X` must be below 2\*\*53, to be exact\. Got .*row 1"
    ):
        rows(codes).read(0, 2)


def test_the_first_bad_number_of_a_large_table_is_named():
    """Whatever rows the random subsample holds, and with the name of the column."""
    frame = pd.DataFrame(np.zeros((100_000, 2)), columns=["a", "b"])
    frame.loc[5_000:60_000, "b"] = np.nan
    with pytest.raises(ValueError, match=r"Got nan at row 5000, column 'b'\."):
        pivoted_cholesky(Gaussian(), frame)


@pytest.mark.parametrize("order", ["C", "F"])
def test_taking_rows_copies_only_these(order, rng):
    table = rows(np.asarray(rng.normal(size=(50_000, 10)), order=order))
    tracemalloc.start()
    table.take(np.array([5, 40_000]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames_are_converted_block_by_block(library, rng):
    """A frame of small integers is never held as floats as a whole."""
    numbers = rng.integers(0, 100, (20_000, 50), dtype=np.int8)
    table = rows(library.DataFrame(numbers))
    tracemalloc.start()
    blocks = Executor(workers=1, block_rows=500).map(lambda _, x: x.sum(axis=0), table)
    total = sum(blocks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert_array_equal(total, numbers.sum(axis=0, dtype=float))
    assert peak < 8 * numbers.size / 4


@pytest.mark.parametrize(
    "missing",
    [
        np.ma.masked_array([[1.0], [2.0]], mask=[[False], [True]]),
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}),
        pl.DataFrame({"a": [1, None]}),
        np.array([[1.0], [None]], dtype=object),
    ],
    ids=["masked", "pandas", "polars", "object"],
)
def test_missing_values_are_not_passed_over(missing):
    with pytest.raises(
        ValueError, match=r"^fit: `X` must be finite, .*\. Got nan at row 1"
    ):
        rows(missing).read(0, 2)


def test_weights_are_one_number_per_row():
    table = Rows(NUMBERS, "fit", "X")
    assert as_weights(None, table) is None
    assert_array_equal(as_weights([0, 1, 2.5], table), [0.0, 1.0, 2.5])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"one number for each of the 3 rows\. Got 2 rows of 1"),
        (
            np.ones((3, 2)),
            r"one number for each of the 3 rows\. Got 3 rows of 2",
        ),
        ([1.0, -2.0, 1.0], r"zero or positive\. Got -2\.0"),
        ([0.0, 0.0, 0.0], r"positive somewhere\. Got only zeros"),
        ([1.0, np.nan, 1.0], r"finite, .*\. Got nan at row 1"),
        (["a", "b", "c"], r"numeric\. Got values of type"),
    ],
)
def test_bad_weights_are_named(weights, message):
    table = Rows(NUMBERS, "fit", "X")
    with pytest.raises(ValueError, match="^fit: `sample_weight` must be " + message):
        as_weights(weights, table)
