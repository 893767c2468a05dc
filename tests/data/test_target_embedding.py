"""Embeddings of categories: shrunken means of others, which tell no row its own outcome."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jointdist.data.encoding import Encoding
from jointdist.data.target_embedding import (
    Embedding,
    OutOfFold,
    learn_embedding,
    outcome_features,
    shrunken_means,
)


def effects(rng, *, categories=200, n=2000, between=1.0):
    """Return codes of categories with random effects, and outcomes around them."""
    codes = rng.integers(categories, size=n)
    mean = between * rng.normal(size=categories)
    return codes.astype(float), mean[codes] + rng.normal(size=n), mean


def test_shrunken_means_are_the_best_linear_forecasts():
    """No other shrinkage of group means forecasts the effects better by much."""
    rng = np.random.default_rng(0)
    codes, y, truth = effects(rng)
    place = codes.astype(int)
    found = shrunken_means(place, y[:, None], np.ones(len(y)), 200)[:, 0] + y.mean()
    count, total = np.bincount(place, minlength=200), np.bincount(place, y, 200)
    errors = [
        np.mean(((total + k * y.mean()) / (count + k) - truth) ** 2)
        for k in np.arange(0.05, 5, 0.05)
    ]
    assert np.mean((found - truth) ** 2) < 1.02 * min(errors)


def test_weights_count_rows():
    rng = np.random.default_rng(1)
    codes, y, _ = effects(rng, categories=5, n=60)
    w = rng.integers(1, 4, size=60)
    one = shrunken_means(codes.astype(int), y[:, None], w.astype(float), 7)
    rows = np.repeat(np.arange(60), w)
    two = shrunken_means(codes[rows].astype(int), y[rows, None], np.ones(len(rows)), 7)
    assert_allclose(one, two)
    assert_array_equal(one[5:], 0)


def test_what_says_nothing_is_not_embedded():
    """Of a hundred random columns hardly any seems to say something."""
    rng = np.random.default_rng(2)
    folds = OutOfFold.of(rng.integers(5, size=600))
    found = 0
    for _ in range(100):
        codes, y = rng.integers(40, size=600).astype(float), rng.normal(size=(600, 1))
        found += learn_embedding(0, codes, 40, y, None, folds=folds) is not None
    assert found <= 4
    one_each = np.arange(600.0)
    assert learn_embedding(0, one_each, 600, y, None, folds=folds) is None


def test_a_mean_that_folds_do_not_find_is_dropped():
    """Fitted rows would be told nothing, and questions something that nobody has seen."""
    rng = np.random.default_rng(7)
    for _ in range(30):
        codes, y, _ = effects(rng, categories=40, n=160, between=0.5)
        folds = OutOfFold.of(rng.integers(5, size=160))
        found = learn_embedding(0, codes, 40, y[:, None], None, folds=folds)
        if found is not None:
            alive = np.abs(found.tables).max(axis=1) > 0
            assert (alive[1:].mean(axis=0) > 0.5).all()


def test_small_weights_are_of_mean_one():
    rng = np.random.default_rng(8)
    codes, y, _ = effects(rng, categories=10, n=200)
    folds = OutOfFold.of(rng.integers(5, size=200))
    one, two = (
        learn_embedding(0, codes, 10, y[:, None], np.full(200, w), folds=folds)
        for w in (1.0, 1 / 200)
    )
    assert_allclose(one.tables, two.tables)


def test_spread_is_told_if_it_differs():
    rng = np.random.default_rng(3)
    codes = rng.integers(20, size=4000)
    y = rng.normal(size=4000) * np.where(codes < 10, 0.2, 1.0)
    folds = OutOfFold.of(rng.integers(5, size=4000))
    found = learn_embedding(0, codes.astype(float), 20, y[:, None], None, folds=folds)
    spread = found.at(np.arange(20.0))[:, -1]
    assert spread[:10].max() < spread[10:].min()


def test_a_row_is_not_told_its_own_outcome():
    """Changing an outcome leaves the numbers of its own row, and of its fold, as they are."""
    rng = np.random.default_rng(4)
    codes, y, _ = effects(rng, categories=20, n=300)
    fold = rng.integers(5, size=300)
    folds = OutOfFold.of(fold)

    def numbers(outcomes):
        found = learn_embedding(0, codes, 20, outcomes[:, None], None, folds=folds)
        return found.at(codes, folds.table)[:, 0]

    changed = y.copy()
    changed[7] += 1.0
    before, after = numbers(y), numbers(changed)
    assert_array_equal(before[fold == fold[7]], after[fold == fold[7]])
    assert (before[fold != fold[7]] != after[fold != fold[7]]).any()


def test_splits_in_time_tell_nothing_of_the_future():
    rng = np.random.default_rng(5)
    codes, y, _ = effects(rng, categories=10, n=100)
    splits = [(np.arange(a), np.arange(a, a + 20)) for a in (20, 40, 60, 80)]
    folds = OutOfFold.of_splits(splits, 100)

    def numbers(outcomes):
        found = learn_embedding(0, codes, 10, outcomes[:, None], None, folds=folds)
        return found.at(codes, folds.table)

    later = y.copy()
    later[60:] += rng.normal(size=40)
    first, second = numbers(y), numbers(later)
    assert_array_equal(first[:80, 0], second[:80, 0])
    assert_array_equal(first[:20], 0)  # never held out: nothing is told


def test_unknown_and_missing_categories():
    tables = np.arange(8.0).reshape(1, 4, 2)
    found = Embedding(0, tables).at(np.array([0.0, 1.0, np.nan, 3.0]))
    assert_array_equal(found, tables[0])


@pytest.mark.parametrize("d", [1, 4])
def test_features_of_numbers_are_standardised(d):
    rng = np.random.default_rng(6)
    y = rng.normal(size=(500, d)) * [10.0**i for i in range(d)]
    U = outcome_features(y, Encoding((None,) * d), None)
    assert U.shape == (500, min(d, 3))
    assert_allclose(U.mean(axis=0), 0, atol=1e-12)
    far = y.copy()
    far[0] = 1e9
    assert abs(outcome_features(far, Encoding((None,) * d), None)).max() < 10


def test_features_of_labels():
    y = np.repeat([0.0, 1.0, 2.0], 50)[:, None]
    U = outcome_features(y, Encoding((("a", "b", "c"),)), None)
    assert U.shape == (150, 2)  # the third indicator follows from the others
