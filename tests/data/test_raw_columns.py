"""Columns of any table: what they hold, in whatever library and type they come."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from jointdist.data.encoding import learn_types
from jointdist.data.raw_columns import is_missing, raw_columns
from jointdist.data.table import Rows, has_nan


def read(data, **options):
    return raw_columns(data, where="fit", name="X", **options)


def kinds(data):
    return [column.kind for column in read(data)]


def frames():
    """Return the same table in three libraries."""
    hours = pd.to_datetime(["2020-01-01 06:00", "2020-06-01 18:00", None])
    sizes = pd.Categorical(["lo", None, "hi"], ["lo", "hi"], ordered=True)
    pandas = pd.DataFrame(
        {
            "number": [1.5, None, 3.0],
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "word": ["b", None, "a"],
            "colour": pd.Categorical(["red", "blue", None]),
            "size": sizes,
            "when": hours.tz_localize("America/New_York"),
            "lasts": pd.to_timedelta([1, None, 90], unit="s"),
        }
    )
    zone = pl.Datetime("us", "America/New_York")
    polars = pl.DataFrame(
        {
            "number": [1.5, None, 3.0],
            "whole": [1, None, 3],
            "flag": [True, False, True],
            "word": ["b", None, "a"],
            "colour": pl.Series(["red", "blue", None], dtype=pl.Categorical),
            "size": pl.Series(["lo", None, "hi"], dtype=pl.Enum(["lo", "hi"])),
            "when": pl.Series(
                [*hours.to_pydatetime().tolist()[:2], None], dtype=pl.Datetime
            )
            .dt.replace_time_zone("America/New_York")
            .cast(zone),
            "lasts": [timedelta(seconds=1), None, timedelta(seconds=90)],
        }
    )
    return pandas, polars, pa.Table.from_pandas(pandas, preserve_index=False)


def test_three_libraries_hold_the_same():
    found = [learn_types(frame, where="fit", name="X") for frame in frames()]
    for encoding, codes in found:
        assert encoding == found[0][0]
        assert_array_equal(codes, found[0][1])
    encoding, codes = found[0]
    expected = ("number", "number", "number", "category", "category", "ordered")
    assert encoding.kinds == (*expected, "time", "duration")
    assert encoding.zone(6) == "America/New_York"
    assert encoding.categories[3:6] == (("a", "b"), ("blue", "red"), ("lo", "hi"))
    assert_array_equal(codes[:, 5], [0, np.nan, 1])
    moment = np.datetime64("2020-06-01T22:00", "s").astype(float)  # in UTC
    assert codes[1, 6] == moment
    assert_array_equal(codes[:, 7], [1, np.nan, 90])


def test_decoding_undoes_it():
    encoding, codes = learn_types(frames()[0], where="fit", name="X")
    assert_array_equal(encoding.decode_column(3, codes[:, 3]), ["b", None, "a"])
    times = encoding.decode_column(6, codes[:, 6])
    assert times.dtype == "datetime64[us]"
    assert times[1] == np.datetime64("2020-06-01T18:00")
    assert np.isnat(times[2])
    assert encoding.decode(codes).dtype == object


def test_complete_numbers_are_left_alone():
    table = np.ones((3, 2))
    assert read(table) is None
    assert read(pd.DataFrame(table)) is None
    assert read([[1, 2], [3, 4]]) is None
    assert read(np.ones((3, 2), dtype=int)) is None
    _, rows = learn_types(table, where="fit", name="X")
    assert isinstance(rows, Rows)
    assert np.shares_memory(rows.source, table)


@pytest.mark.parametrize("place", [0, 65_535, 65_536, 99_999])
def test_nan_is_seen_wherever_it_is(place):
    table = np.full((100_000, 1), np.inf)
    table[::2] = -np.inf  # the sum of which is NaN, too
    assert not has_nan(table)
    table[place] = np.nan
    assert has_nan(table)


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, pd.NaT, np.datetime64("NaT")])
def test_missing_entries(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, "", "nan", 0.0, False, np.datetime64(0, "s")])
def test_entries_that_are_not_missing(value):
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([datetime(2020, 1, 1), None], "time"),  # noqa: DTZ001
        ([date(2020, 1, 1), date(2021, 1, 1)], "time"),
        ([np.datetime64("2020-01-01"), np.datetime64("NaT")], "time"),
        ([timedelta(days=1), None], "duration"),
        ([Decimal("1.5"), 2], "number"),
        ([True, None], "number"),
        (["a", None], "category"),
    ],
)
def test_objects(values, kind):
    assert kinds([[value, 1.0] for value in values]) == [kind, "number"]


def test_times_of_numpy():
    column = read(np.array([["2020-01-01"], ["NaT"]], dtype="datetime64[D]"))[0]
    assert column.kind == "time"
    assert_array_equal(column.values, [1577836800, np.nan])


def test_zones_are_not_mixed():
    mixed = [[datetime(2020, 1, 1)], [datetime(2020, 1, 1, tzinfo=UTC)]]  # noqa: DTZ001
    with pytest.raises(
        ValueError, match=r"of one time zone, or of none\. Got \['None', 'UT"
    ):
        read(mixed)
    aware = pd.DataFrame({"t": pd.to_datetime(["2020-07-01"]).tz_localize("UTC")})
    naive = pd.DataFrame({"t": pd.to_datetime(["2020-07-01"])})
    zones, codes = learn_types(aware, where="fit", name="X")
    with pytest.raises(
        ValueError, match=r"of times of zone UTC\. Got times without a zone"
    ):
        zones.read(naive, where="given", name="x")
    plain, _ = learn_types(naive, where="fit", name="X")
    with pytest.raises(
        ValueError, match=r"of times without a time zone\. Got UTC in column"
    ):
        plain.read(aware, where="given", name="x")
    berlin = pd.DataFrame({"t": aware["t"].dt.tz_convert("Europe/Berlin")})
    assert_array_equal(zones.read(berlin, where="given", name="x"), codes)


def test_the_repeated_hour_has_two_moments():
    """When clocks are set back, an hour comes twice; instants tell them apart."""
    moments = pd.Series(pd.date_range("2021-10-30", periods=200, freq="15min", tz="UTC"))
    zurich = pd.DataFrame({"t": moments.dt.tz_convert("Europe/Zurich")})
    encoding, codes = learn_types(zurich, where="fit", name="X")
    assert_array_equal(np.diff(codes[:, 0]), 900)
    utc = encoding.read(pd.DataFrame({"t": moments}), where="given", name="x")
    assert_array_equal(utc, codes)
    fixed = pd.DataFrame({"t": moments.dt.tz_convert("+01:00")})
    assert_array_equal(encoding.read(fixed, where="given", name="x"), codes)
    shown = encoding.decode_column(0, codes[:, 0])
    assert_array_equal(shown, zurich["t"].dt.tz_localize(None).to_numpy("datetime64[us]"))
    found = learn_types(fixed, where="fit", name="X")[0]
    assert found.decode_column(0, codes[:1, 0])[0] == np.datetime64("2021-10-30T01:00")


def test_dates_as_strings_are_times():
    frame = pd.DataFrame({"d": ["2020-01-01", None, "2020-02-01 06:30"]})
    with pytest.warns(DataConversionWarning, match="has dates as strings in column 'd'"):
        column = read(frame)[0]
    assert column.kind == "time"
    assert_array_equal(column.missing, [False, True, False])
    zoned = pd.DataFrame({"d": ["2020-01-01T10:00:00Z", "2020-01-01T12:00:00+02:00"]})
    with pytest.warns(DataConversionWarning, match="has dates as strings"):
        column = read(zoned)[0]
    assert column.zone == "UTC"
    assert_array_equal(np.diff(column.values), 0)
    with pytest.warns(DataConversionWarning, match="has dates as strings"):
        encoding, codes = learn_types(zoned, where="fit", name="X")
    assert_array_equal(encoding.read(zoned, where="given", name="x"), codes)
    naive = pd.DataFrame({"d": ["2020-01-01T10:00"]})
    with pytest.raises(ValueError, match=r"of times with an offset, as 18:30\+02:00\. Got"):
        encoding.read(naive, where="given", name="x")
    assert kinds(pd.DataFrame({"d": ["2020-02-31", "2020-01-01"]})) == ["category"]


def test_labels_that_are_objects_are_texts():
    frame = pd.DataFrame({"bin": pd.cut([1.0, 2.0, 3.0], [0, 1.5, 4])})
    encoding, codes = learn_types(frame, where="fit", name="X")
    assert encoding.categories == (("(0.0, 1.5]", "(1.5, 4.0]"),)
    assert_array_equal(codes[:, 0], [0, 1, 1])


def test_columns_without_any_entry():
    frames = pd.DataFrame({"a": [None, None]}), pl.DataFrame({"a": [None, None]})
    for frame in (*frames, pa.table({"a": pa.nulls(2)})):
        assert np.isnan(read(frame)[0].values).all()


def test_dictionaries_of_chunks_are_unified():
    kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), words, ordered=True)
        for codes, words in (([0, 1], ["lo", "hi"]), ([2], ["lo", "hi", "top"]))
    ]
    table = pa.table({"a": pa.chunked_array(chunks, type=kind)})
    encoding, codes = learn_types(table, where="fit", name="X")
    assert encoding.categories == (("lo", "hi", "top"),)
    assert_array_equal(codes[:, 0], [0, 1, 2])


def test_times_may_be_asked_for_as_strings():
    frame = pd.DataFrame({"t": pd.to_datetime(["2020-07-01", "2020-07-02"])})
    encoding, codes = learn_types(frame, where="fit", name="X")
    found = encoding.read(pd.DataFrame({"t": ["2020-07-02"]}), where="given", name="x")
    assert_array_equal(found[0], codes[1])
    with pytest.raises(
        ValueError, match=r"of times\. Got 'yesterday' at row 0, column 't'"
    ):
        encoding.read(pd.DataFrame({"t": ["yesterday"]}), where="given", name="x")
    offset = pd.DataFrame({"t": ["2020-07-02T18:30+02:00"]})
    with pytest.raises(ValueError, match=r"of times without an offset\. Got '2020-07-02T1"):
        encoding.read(offset, where="given", name="x")


def test_numbers_as_strings_are_numbers():
    with pytest.warns(
        DataConversionWarning, match="numbers as strings in column 'a'; they"
    ):
        column = read(pd.DataFrame({"a": ["1.5", "-2", None]}))[0]
    assert column.kind == "number"
    assert_array_equal(column.values, [1.5, -2, np.nan])


def test_codes_and_few_numbers_among_strings_are_categories():
    assert kinds(pd.DataFrame({"zip": ["02138", "10001"]})) == ["category"]
    assert kinds(pd.DataFrame({"children": ["0", "1", "2", "3+"]})) == ["category"]
    declared = pd.DataFrame({"a": pd.Categorical(["1", "2"])})
    assert kinds(declared) == ["category"]
    assert read([["1"], ["2"]], labels=[True])[0].kind == "category"


def test_misspelt_numbers_are_named():
    values = [str(i) for i in range(50)]
    values[7] = "7,5"
    with pytest.raises(ValueError, match=r"but for '7,5' at row 7, column 'a'; correct it"):
        read(pd.DataFrame({"a": values}))


@pytest.mark.parametrize(
    "data",
    [
        [[10**30], [1]],
        np.array([[2**60], [1]], dtype=object),
        pd.DataFrame({"a": pd.array([2**60, None], dtype="Int64")}),
        pl.DataFrame({"a": [2**60, None]}),
    ],
)
def test_integers_that_are_not_exact_are_refused(data):
    with pytest.raises(ValueError, match=r"`X` must be below 2\*\*53, to be exact\. Got 1"):
        read(data)


def test_strings_and_numbers_are_not_mixed():
    with pytest.raises(
        ValueError, match=r"of strings or of numbers in each column\. Got 'a'"
    ):
        read([["a"], [1.0]])


def test_missing_numbers_of_arrays():
    columns = read(np.array([[1.0, np.nan], [2.0, 3.0]]))
    assert_array_equal(columns[1].values, [np.nan, 3])
    assert_array_equal(columns[1].missing, [True, False])
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    assert_array_equal(read(masked)[1].values, [np.nan, 4])
    assert_array_equal(read([[1.0, None], [2.0, 3.0]])[1].values, [np.nan, 3])
