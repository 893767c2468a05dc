"""Designs: what becomes of the columns of a table of X, in fits, updates and questions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jointdist import UnseenCategoryWarning
from jointdist.data.derived_columns import CalendarCycle, MissingIndicator
from jointdist.data.design import Design
from jointdist.data.design_fit import Outcomes, learn_design
from jointdist.data.encoding import Encoding
from jointdist.data.table import as_rows
from jointdist.data.target_embedding import Embedding

DAY = 86_400.0


def learned(frame, y=None, **options):
    y = np.random.default_rng(0).normal(size=len(frame)) if y is None else y
    rows = as_rows(np.asarray(y)[:, None], where="fit", name="Y")
    outcomes = Outcomes(rows, Encoding((None,)), seed=1)
    return learn_design(frame, outcomes, where="fit", **options)


def asked(design, frame, **options):
    return design.ask(frame, where="given", name="x", **options)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 400
    many = rng.integers(50, size=n)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "c": rng.choice(["a", "b", None], size=n),
            "t": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(9999, size=n), "h"),
            "many": [f"k{i:02}" for i in many],
            "z": rng.normal(size=n),
        }
    ), np.sin(many) + 0.1 * rng.normal(size=n)


def test_complete_numbers_cost_nothing():
    table = np.ones((5, 2))
    design, rows = learned(table)
    assert design.is_plain
    assert np.shares_memory(rows.source, table)


def test_columns_of_numbers(frame):
    design, rows = learned(*frame)
    kinds = [type(part) for part in design.parts]
    assert kinds == [
        MissingIndicator,
        CalendarCycle,
        CalendarCycle,
        CalendarCycle,
        Embedding,
    ]
    cycles = [part.cycle for part in design.parts if isinstance(part, CalendarCycle)]
    assert cycles == ["time of day", "day of week", "day of year"]
    assert design.encoding.unused == (3,)
    assert design.encoding.factors == (1,)
    assert rows.d == design.encoding.width == 5 + 1 + 6 + design.embeddings[0].width
    assert design.encoded_columns(0) == (0, 5)
    assert design.encoded_columns(2) == (2, *range(6, 12))
    assert design.complete == (False, False, True, True, True)
    told = design.to_dict()
    assert told["x"] == "number, with missing entries"
    assert told["t"] == "time, time of day, day of week, day of year"
    assert told["many"].startswith("category of 50, embedded by ")
    assert "many: category of 50" in repr(design)


def test_missing_entries_come_back(frame):
    design, rows = learned(*frame)
    table, shown = rows.table(), design.shown
    missing = frame[0]["x"].isna().to_numpy()
    assert_array_equal(table[:, 5], missing)
    neutral = shown.neutral[0]
    assert abs(neutral - frame[0]["x"].mean()) < 1
    assert_array_equal(table[:, 0] == neutral, missing)
    assert_array_equal(shown.decode_column(0, table[:, 0]), frame[0]["x"])
    decoded = shown.decode_column(1, table[:, 1])
    assert_array_equal(decoded == None, frame[0]["c"].isna())  # noqa: E711


def test_the_neutral_value_is_nobodys():
    x = np.array([0.0, 0.0, 0.0, np.nan])
    design, rows = learned(x[:, None])
    assert rows.table()[3, 0] != 0
    assert_array_equal(design.shown.decode_column(0, rows.table()[:, 0]), x)
    assert learned(np.full((60, 1), np.nan))[1].table()[0, 1] == 1


def test_the_neutral_value_is_amid_the_others():
    rng = np.random.default_rng(0)
    for seen in (
        rng.normal(size=5000),
        rng.choice([3.5, 7.0], 500),
        rng.standard_cauchy(999),
    ):
        column = np.append(seen, np.nan)[:, None]
        neutral = learned(column)[0].shown.neutral[0]
        low, high = np.quantile(seen, [0.2, 0.8])
        assert low <= neutral <= high
        values, counts = np.unique(seen, return_counts=True)
        often = values[counts > 10]
        assert (np.abs(often - neutral) > 0.05 * seen.std()).all()


def test_rows_of_a_fit_and_questions_have_other_means(frame):
    """Fitted rows have means of other folds, questions those of all rows."""
    table, y = frame
    design, rows = learned(table, y)
    question = asked(design, table)
    assert question.absent is None
    place = list(design.encoded_columns(3))[1:]
    fitted, now = rows.table()[:, place[0]], question.rows.table()[:, place[0]]
    assert (fitted != now).mean() > 0.9
    assert np.corrcoef(now, y)[0, 1] > np.corrcoef(fitted, y)[0, 1] > 0.5
    others = np.delete(np.arange(rows.d), place)
    assert_array_equal(rows.table()[:, others], question.rows.table()[:, others])


def test_rows_that_come_and_go_have_the_numbers_of_the_fit(frame):
    table, y = frame
    design, rows = learned(table, y)
    order = np.random.default_rng(1).permutation(len(y))
    outcomes = as_rows(y[order][:, None], where="forget", name="Y")
    found = design.pair(table.iloc[order], outcomes, where="forget", name="X")
    assert_array_equal(found.table(), rows.table()[order])


def test_entries_of_complete_columns_are_to_be_integrated_out(frame):
    table, y = frame
    design, _ = learned(table, y)
    query = table[:4].copy()
    query.loc[0, "z"] = np.nan
    query.loc[1, "x"] = np.nan
    query.loc[2, "many"] = None
    query.loc[3, "t"] = pd.NaT
    absent = asked(design, query).absent
    assert_array_equal(np.argwhere(absent), [[0, 4], [2, 3], [3, 2]])
    with pytest.raises(ValueError, match=r"complete, .* missing in column 'x'"):
        asked(design, query, missing="error")
    outcomes = as_rows(y[:4, None], where="partial_fit", name="Y")
    told = r"complete, .*Got 3 missing in column 't', 'many', 'z', at rows 0, 2, 3"
    with pytest.raises(ValueError, match=told):
        design.pair(query, outcomes, where="partial_fit", name="X")


def test_unseen_categories(frame):
    table, y = frame
    design, _ = learned(table, y)
    query = table[:3].copy()
    query.loc[0, "many"] = "new"
    query.loc[:1, "c"] = "new"
    with pytest.warns(UnseenCategoryWarning, match="2 in column 'c', 1 in column 'many'"):
        absent = asked(design, query).absent
    assert_array_equal(np.argwhere(absent), [[0, 1], [0, 3], [1, 1]])
    with pytest.raises(ValueError, match=r"seen in fit \('a', 'b'\)\. Got 'new' at row 0"):
        asked(design, query, unknown="error")
    outcomes = as_rows(y[:3, None], where="partial_fit", name="Y")
    with pytest.raises(ValueError, match=r"of categories seen in fit \('a', 'b'\)"):
        design.pair(query, outcomes, where="partial_fit", name="X")
    query["c"] = "a"
    with pytest.warns(UnseenCategoryWarning, match="partial_fit.* 1 in column 'many'"):
        found = design.pair(query, outcomes, where="partial_fit", name="X").table()
    assert_array_equal(found[0, list(design.encoded_columns(3))[1:]], 0)


def test_few_missing_entries_are_integrated_out():
    """A group of a few rows tells too little about rows like them."""
    x = np.random.default_rng(0).normal(size=(400, 2))
    x[:9, 0] = x[:60, 1] = np.nan
    design, rows = learned(x)
    assert [part.column for part in design.parts] == [1]
    assert rows.d == 3
    absent = asked(design, np.full((1, 2), np.nan)).absent
    assert_array_equal(absent, [[True, False]])


def test_rows_of_no_weight_do_not_count(frame):
    table, y = frame
    more = table.assign(c="new", many="rare", x=50.0, z=np.nan)
    w = np.r_[np.ones(len(y)), np.zeros(len(y))]
    rows = as_rows(np.r_[y, y][:, None], where="fit", name="Y")
    outcomes = Outcomes(rows, Encoding((None,)), w, seed=1)
    both, _ = learn_design(pd.concat([table, more]), outcomes, where="fit")
    alone, _ = learned(table, y)
    assert both.shown.categories == alone.shown.categories
    assert both.shown.neutral[:3] == alone.shown.neutral[:3]
    assert both.complete == alone.complete
    with pytest.warns(UnseenCategoryWarning, match="1 in column 'many'"):
        asked(both, table[:1].assign(many="rare"))


def test_an_entry_may_have_the_value_of_missing_ones():
    x = np.r_[np.zeros(60), np.ones(60), np.full(60, np.nan)][:, None]
    design, _ = learned(x)
    neutral = design.shown.neutral[0]
    rows = as_rows(np.zeros((2, 1)), where="partial_fit", name="Y")
    found = design.pair([[neutral], [np.nan]], rows, where="partial_fit", name="X").table()
    assert_array_equal(np.isnan(design.shown.decode_column(0, found[:, 0])), [False, True])
    assert_array_equal(found[:, 1], [0, 1])


def test_ordered_categories_are_numbers():
    sizes = pd.Categorical(["lo", "hi", "mid", None], ["lo", "mid", "hi"], ordered=True)
    design, rows = learned(pd.DataFrame({"s": sizes}))
    assert design.encoding.numeric
    table = rows.table()
    assert_array_equal(table[:3, 0], [0, 2, 1])
    assert_array_equal(
        design.shown.decode_column(0, table[:, 0]), ["lo", "hi", "mid", None]
    )


def test_numbers_alone_for_polynomials(frame):
    design, _ = learned(*frame, numbers_alone=True)
    assert design.encoding.factors == ()
    assert set(design.encoding.unused) == {1, 3}


def test_kernels_that_users_give_see_the_table_as_it_is(frame):
    table, y = frame
    design, rows = learned(table[["t", "many"]], y, as_is=True)
    assert rows.d == 2
    assert not design.parts
    design, rows = learned(table, y, as_is=True)
    assert rows.d == 5
    assert_array_equal(design.shown.decode_column(0, rows.table()[:, 0]), table["x"])


@pytest.mark.parametrize(
    ("hours", "cycles"),
    [
        (np.arange(5) * 24.0, ["day of week"]),
        (np.arange(5) * 168.0, []),
        (np.arange(5) * 1.0, ["time of day"]),
        (np.arange(5) * 24 * 364.0 * 2, ["day of year"]),
        ([0.0] * 5, []),
    ],
)
def test_only_periods_that_vary(hours, cycles):
    times = pd.Timestamp("2020-01-06") + pd.to_timedelta(hours, "h")
    design, _ = learned(pd.DataFrame({"t": times}))
    found = [part.cycle for part in design.parts if isinstance(part, CalendarCycle)]
    assert found == cycles


def test_a_day_later_is_the_same_time_of_day():
    cycle = CalendarCycle(0, "time of day")
    z = cycle.at(np.array([0.0, DAY, DAY / 4, np.nan]))
    assert_allclose(z, [[1, 0], [1, 0], [0, 1], [0, 0]], atol=1e-12)


def test_designs_are_equal_if_they_make_the_same(frame):
    one, two = learned(*frame)[0], learned(*frame)[0]
    assert one == two
    assert one != learned(frame[0], frame[1][::-1])[0]
    assert one != "another"
    assert Design.plain(one.shown) != one
