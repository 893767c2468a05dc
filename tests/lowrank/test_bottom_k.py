"""Bottom-k samples: those of all rows, however they are merged, and rows taken out again."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from jointdist.lowrank.bottom_k import BottomK, merge_samples

GROUPS, KEPT, LIMIT = 3, 4, 40


def sample_of(keys, group, weights, limit=LIMIT):
    """Return rows of given keys below the limit; a row's values follow from its key."""
    low = keys < limit
    keys = keys[low]
    points = np.stack([keys, -keys], axis=1).astype(float)
    limits = np.full(GROUPS, limit)
    ones = np.ones(len(keys), dtype=np.int64)
    return BottomK(KEPT, limits, keys, group[low], points, weights[low], ones)


def rows_of(seed, n=60):
    rng = np.random.default_rng(seed)
    keys, group = rng.integers(0, 50, n), rng.integers(0, GROUPS, n)
    return keys, group, rng.integers(1, 9, n) / 8, rng


def slow(keys, group, weights):
    found, limits = [], np.full(GROUPS, LIMIT)
    for j in range(GROUPS):
        here = sorted(set(keys[(group == j) & (keys < LIMIT)].tolist()))
        limits[j] = here[KEPT] if len(here) > KEPT else LIMIT
        for key in here[:KEPT]:
            rows = (keys == key) & (group == j)
            found.append((j, key, weights[rows].sum(), rows.sum()))
    return np.array(found), limits


def assert_is(sample, found, limits):
    got = np.stack([sample.group, sample.keys, sample.weights, sample.counts], axis=1)
    assert_allclose(got, found.reshape(-1, 4), rtol=1e-13)
    assert_array_equal(sample.limits, limits)
    assert_array_equal(sample.points[:, 0], sample.keys)


@given(seed=seeds, n=st.integers(1, 60), parts=st.integers(1, 12))
def test_samples_merge_in_any_order_and_grouping(seed, n, parts):
    keys, group, weights, rng = rows_of(seed, n)
    split = np.array_split(rng.permutation(n), parts)
    samples = [sample_of(keys[rows], group[rows], weights[rows]) for rows in split]
    assert_is(merge_samples(samples), *slow(keys, group, weights))
    while len(samples) > 1:  # a tree of mergers, each of which may lower limits
        i = rng.integers(0, len(samples) - 1)
        samples[i : i + 2] = [merge_samples(samples[i : i + 2])]
    assert_is(merge_samples(samples), *slow(keys, group, weights))


@given(seed=seeds, n=st.integers(1, 60), cut=st.integers(0, 60))
def test_rows_taken_out_leave_the_others_below_the_limits(seed, n, cut):
    keys, group, weights, _ = rows_of(seed, n)
    whole = merge_samples([sample_of(keys, group, weights)])
    gone = merge_samples([sample_of(keys[:cut], group[:cut], weights[:cut])])
    left = whole.without(gone)
    rows = np.arange(n) >= cut
    rows &= keys < whole.limits[group]
    alone, _ = slow(keys[rows], group[rows], weights[rows])
    assert_is(left, alone, whole.limits)


@pytest.mark.parametrize(
    ("key", "count", "weight", "limit"),
    [(3, 1, 1.0, LIMIT), (5, 3, 0.5, LIMIT), (5, 1, 9.0, LIMIT), (20, 1, 1.0, 20)],
    ids=["a new row", "too many", "too heavy", "rows above the limit"],
)
def test_rows_that_are_not_there_are_refused(key, count, weight, limit):
    keys = np.array([5, 5, 9])
    whole = merge_samples([sample_of(keys, np.zeros(3, dtype=int), np.ones(3))])
    part = np.full(count, key), np.zeros(count, dtype=int), np.full(count, weight)
    gone = merge_samples([sample_of(*part, limit=limit)])
    rule = (
        "BottomK: `other` must be a sample of rows that are there. Got rows that are not."
    )
    with pytest.raises(ValueError, match=re.escape(rule)):
        whole.without(gone)
