"""Folds keep what they must together, whatever becomes of the rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

from jointdist.data.fold_arguments import read_folds, require_cv
from jointdist.data.folds import Folds, group_splits, window_splits
from jointdist.data.sample import Sample, canonical_order
from jointdist.data.table import Rows


def folds_of(cv, groups, n, weights=None):
    tables = np.zeros((n, 1)), np.arange(n) % 2
    return read_folds("Model", cv, groups, n=n, weights=weights, seed=0, tables=tables)


def labels(draw, n):
    return np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)))


class TestGroups:
    @given(st.data(), st.integers(2, 60), st.sampled_from([2, 3, 5, 0.2, 0.5, "time"]))
    def test_no_group_is_on_both_sides(self, data, n, cv):
        groups = labels(data.draw, n)
        if len(np.unique(groups)) == 1:
            groups[0] = 99
        if cv == "time":
            groups = np.sort(groups)
        folds = folds_of(cv, groups, n)
        held = np.zeros(n, dtype=int)
        for split in folds.rows:
            assert not set(groups[split.fit]) & set(groups[split.out])
            held[split.out] += 1
        assert held.max() == 1
        if isinstance(cv, int):
            assert held.min() == 1
            assert len(folds.rows) == min(cv, len(np.unique(groups)))

    def test_folds_are_of_about_equal_size(self):
        groups = np.repeat(np.arange(40), np.arange(40) + 1)
        sizes = [len(split.out) for split in group_splits(groups, 5, 0)]
        assert max(sizes) - min(sizes) < 5

    @pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
    def test_shares(self, share):
        groups = np.repeat(np.arange(50), 4)
        (split,) = group_splits(groups, share, 0)
        assert len(split.out) == share * 200

    def test_seeds_deal_other_groups(self):
        groups = np.repeat(np.arange(20), 3)
        a, b, c = (group_splits(groups, 5, seed)[0].out for seed in (0, 0, 1))
        assert_array_equal(a, b)
        assert not np.array_equal(a, c)

    def test_rows_without_weight_take_no_part(self):
        groups = np.repeat(np.arange(4), 3)
        weights = np.where(groups == 2, 0.0, 1.0)
        folds = folds_of(5, groups, 12, weights)
        assert len(folds.rows) == 3
        used = np.concatenate([np.concatenate(split) for split in folds.rows])
        assert not (groups[used] == 2).any()

    @pytest.mark.parametrize(
        "same",
        [
            list("aabbcc"),
            np.array(list("aabbcc")),
            pd.Series(list("aabbcc")),
            pd.Series([1, 1, 2, 2, 3, 3], dtype="Int64"),
            pd.Series(list("aabbcc"), dtype="category"),
            pl.Series(list("aabbcc")),
            [("a", 1)] * 2 + [("a", 2)] * 2 + ["b"] * 2,
        ],
        ids=["list", "array", "pandas", "nullable", "category", "polars", "mixed"],
    )
    def test_labels_of_any_kind(self, same):
        assert_array_equal(folds_of(3, same, 6).groups, [0, 0, 1, 1, 2, 2])

    @pytest.mark.parametrize(
        ("groups", "told"),
        [
            (["a"] * 6, r"of at least two groups.*Got one group alone, 'a'"),
            (["a", "b"], r"as long as `X` \(6 rows\). Got 2 labels"),
            ([1, 2, None, 1, 2, 3], "without missing labels. Got None at row 2"),
            ([1.0, 2, np.nan, 1, 2, 3], "without missing labels. Got nan at row 2"),
            (
                pd.Series([1, 1, 2, 2, None, 3], dtype="Int64"),
                r"without missing labels. Got .* at row 4",
            ),
            (np.zeros((6, 2)), "a vector of labels. Got 2 axes"),
            ("aabbcc", "a vector of labels, one for each row"),
            ([[1], [1], [2], [2], [3], [3]], "labels such as strings and integers"),
        ],
    )
    def test_what_groups_are_not(self, groups, told):
        with pytest.raises(ValueError, match=rf"Model: `groups` must be {told}"):
            folds_of(5, groups, 6)


class TestTime:
    @given(st.integers(2, 80))
    def test_rows_are_forecast_from_rows_before(self, n):
        splits = window_splits(np.arange(n))
        assert len(splits) == min(n, 6) - 1
        for split in splits:
            assert split.fit.max() < split.out.min()
            assert_array_equal(split.fit, np.arange(split.out.min()))
        held = np.concatenate([split.out for split in splits])
        assert_array_equal(held, np.arange(splits[0].out[0], n))

    def test_groups_that_go_on_are_not_fitted_to(self):
        groups = np.arange(30) // 4
        folds = folds_of("time", groups, 30)
        (first, *_) = folds.rows
        assert_array_equal(first.out, np.arange(5, 10))
        assert_array_equal(first.fit, np.arange(4))

    def test_too_few(self):
        with pytest.raises(ValueError, match=r"`X` must be of rows enough.*Got 1 rows"):
            folds_of("time", None, 1)
        with pytest.raises(ValueError, match="groups that end before others begin"):
            folds_of("time", ["a"] * 9, 9)

    def test_within_windows_there_are_windows(self):
        folds = folds_of("time", None, 60)
        first = folds.take(folds.rows[0].fit).within()
        assert len(first.rows) == 5
        shuffled = np.random.default_rng(0).permutation(10)
        again = folds.take(folds.rows[0].fit[shuffled]).within()
        for split in again.rows:
            assert shuffled[split.fit].max() < shuffled[split.out].min()

    def test_splits_in_time_are_seen_as_such(self):
        assert folds_of(TimeSeriesSplit(3), None, 40).timed
        assert not folds_of(KFold(3), None, 40).timed


class TestGiven:
    @pytest.mark.parametrize(
        "cv", [KFold(3), TimeSeriesSplit(4, gap=2), StratifiedKFold(4)]
    )
    def test_splits_are_those_of_the_splitter(self, cv):
        n = 40
        expected = list(cv.split(np.zeros((n, 1)), np.arange(n) % 2))
        for how in (cv, expected, iter(expected)):
            found = folds_of(how, None, n).rows
            assert len(found) == len(expected)
            for split, (fit, out) in zip(found, expected, strict=True):
                assert_array_equal(split.fit, fit)
                assert_array_equal(split.out, out)

    def test_splitters_get_groups(self):
        groups = np.arange(40) % 7
        for split in folds_of(GroupKFold(3), groups, 40).rows:
            assert not set(groups[split.fit]) & set(groups[split.out])

    @pytest.mark.parametrize(
        ("cv", "told"),
        [
            (GroupKFold(2), "a splitter that needs no groups, unless `fit` gets `groups`"),
            (KFold(50), "a splitter of these rows. Got KFold: .*n_splits=50"),
            ([([0], [1]), ([2], [1])], "held out of one at most. Got .*row 1 .* of 2"),
            ([([0, 1], [1, 2])], "do not fit to rows held out. Got row 1 on both sides"),
            ([([], [1])], "splits with rows to fit to and rows held out"),
            ([([0], [9])], r"pairs of numbers of rows, the second held out, from 0 to 8"),
            ([([0.5], [1])], r"pairs of numbers of rows, the second held out, from 0"),
            ([3], "pairs of numbers of rows, the second held out. Got 3"),
            ([], "Got none: of an iterator nothing is left"),
        ],
    )
    def test_what_splits_are_not(self, cv, told):
        with pytest.raises(ValueError, match=f"Model: `cv` must be .*{told}"):
            folds_of(cv, None, 9)

    def test_splits_that_part_a_group(self):
        with pytest.raises(ValueError, match=r"keep the rows of each group.*Got 'b' on"):
            folds_of([([0, 1, 2], [3])], list("aabb"), 4)

    @pytest.mark.parametrize("cv", [1, 0.0, 1.0, "five", True, None, {}, b"time"])
    def test_what_cv_is_not(self, cv):
        with pytest.raises(ValueError, match=r"Model: `cv` must be a number.*\"time\""):
            require_cv("Model", cv, share=True)
        with pytest.raises(ValueError, match="Model: `cv` must be a number of folds"):
            require_cv("Model", 0.2, share=False)


def sample_of(x, folds):
    x = np.asarray(x, dtype=float)[:, None]
    return Sample(Rows(x, "", "X"), Rows(2 * x, "", "Y"), None, folds=folds)


class TestRowsThatChange:
    """Folds go along with rows that are chosen, put in order and merged."""

    @given(st.data(), st.integers(4, 40))
    def test_some_rows_in_any_order(self, data, n):
        groups = labels(data.draw, n)
        groups[:2] = 77, 78
        folds = folds_of(3, groups, n)
        chosen = np.array(data.draw(st.permutations(range(n))))[: n // 2 + 1]
        side = {}
        for k, split in enumerate(folds.rows):
            side |= {(k, row): "fit" for row in split.fit.tolist()}
            side |= {(k, row): "out" for row in split.out.tolist()}
        some = folds.take(chosen)
        expected = [
            (fit, out)
            for k in range(len(folds.rows))
            if (fit := [i for i, row in enumerate(chosen) if side[k, row] == "fit"])
            and (out := [i for i, row in enumerate(chosen) if side[k, row] == "out"])
        ]
        assert [(a.tolist(), b.tolist()) for a, b in some.rows] == expected

    def test_copies_are_those_that_are_held_out_together(self):
        x = np.repeat(np.arange(20.0), 4)
        groups = np.tile([0, 0, 1, 1], 20)
        sample = sample_of(x, folds_of(2, groups, 80))
        found = canonical_order(sample, 1000).of(sample)
        assert found.n == 40
        assert_array_equal(found.weights, np.full(40, 2.0))
        assert_array_equal(np.bincount(found.folds.groups), [20, 20])
        for split in found.folds.rows:
            assert len(split.fit) == len(split.out) == 20

    def test_subsamples_are_of_whole_groups(self):
        groups = np.random.default_rng(0).integers(100, size=1000)
        sample = sample_of(np.arange(1000), folds_of(5, groups, 1000))
        rows = sample.choose(400, 0)
        assert 350 < len(rows) <= 400
        assert not set(groups[rows]) & set(np.delete(groups, rows))

    def test_of_few_large_groups_there_are_some_rows_of_each(self):
        groups = np.arange(1000) % 5
        sample = sample_of(np.arange(1000), folds_of(5, groups, 1000))
        rows = sample.choose(100, 0)
        assert len(rows) == 100
        assert set(groups[rows]) == set(range(5))

    def test_two_groups_are_dealt_anew_where_one_split_is_left(self):
        groups = np.arange(40) // 4
        folds = folds_of(2, groups, 40)
        inner = folds.take(folds.rows[0].fit).within()
        assert len(inner.rows) == 5
        for split in inner.rows:
            assert not set(inner.groups[split.fit]) & set(inner.groups[split.out])

    def test_rows_of_one_split_alone_are_exchangeable(self):
        folds = Folds.of(
            [*folds_of([(np.arange(5), np.arange(5, 9))], None, 9).rows],
            np.arange(9),
            None,
            timed=False,
        )
        assert folds.take(np.arange(5)).within() is None
