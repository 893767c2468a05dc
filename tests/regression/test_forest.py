"""Forests of histograms: bins of columns, probabilities, rows left out, and forged arrays."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist.data.encoding import learn_encoding
from jointdist.data.executor import Executor
from jointdist.data.folds import Split
from jointdist.regression.forest import ColumnRanks, ForestData, choose_forest, grow_forest
from jointdist.regression.forest_rules import check_forest, check_ranks


def data(n, seed=0, k=5):
    rng = np.random.default_rng(seed)
    z = rng.uniform(size=(n, 2))
    cell = np.minimum((z[:, 0] * k).astype(int), k - 1)
    coded = learn_encoding(z, where="", name="")
    return ForestData(z, coded.encoding, cell, k, cell[:, None] + 0.0, None)


def grown(rows, splits=None, trees=20, leaf=1):
    how = {"trees": trees, "leaf": leaf, "random_state": 0, "executor": Executor(workers=1)}
    return grow_forest(rows, splits, **how)


@pytest.mark.parametrize("place", ["least", "middle", "largest"])
def test_repeated_values_have_a_bin_of_their_own(place):
    rng = np.random.default_rng(0)
    x = rng.gamma(2.0, size=4000)
    value = {"least": 0.0, "middle": 1.5, "largest": 50.0}[place]
    x[:1200] = value
    coded = learn_encoding(x[:, None], where="", name="")
    ranks = ColumnRanks.of(x[:, None], x, np.ones(4000), coded.encoding)
    check_ranks(ranks)
    edges = ranks.edges[0]
    assert (np.diff(edges) > 0).all()
    bins = ranks.at(x[:, None])[:, 0]
    assert len(set(bins[:1200])) == 1
    assert not np.isin(bins[1200:], bins[0]).any()


def test_probabilities_are_those_of_the_rows_in_the_leaf():
    rows = data(500)
    forest, held = grown(rows)
    found = forest.weights(rows.z)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)
    assert (found >= 0).all()
    assert np.mean(found.argmax(axis=1) == rows.cell) > 0.99
    known = np.isfinite(held).all(axis=1)
    assert known.mean() > 0.99
    assert np.mean(held[known].argmax(axis=1) == rows.cell[known]) > 0.95


def test_one_leaf_is_the_histogram_of_the_sample():
    rows = data(300)
    forest, _ = grown(rows, leaf=200, trees=1)
    some = np.bincount(rows.cell, minlength=5) / 300
    assert_allclose(forest.weights(rows.z)[0], some, atol=0.1)
    assert_allclose(forest.weights(rows.z).std(axis=0), 0, atol=1e-12)


def test_rows_that_are_never_held_out_have_no_probabilities():
    rows = data(200)
    splits = [Split(np.arange(100), np.arange(100, 150))]
    _, held = grown(rows, splits)
    assert np.isfinite(held[100:150]).all()
    assert np.isnan(held[:100]).all()
    assert np.isnan(held[150:]).all()


def test_rows_of_no_weight_do_not_count():
    rows = data(200)
    w = np.ones(200)
    w[:100] = 0.0
    forest, _ = grown(replace(rows, weights=w))
    other = replace(rows, cell=np.where(w > 0, rows.cell, 0), weights=w)
    assert_allclose(forest.weights(rows.z), grown(other)[0].weights(rows.z))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cell", lambda a: np.full_like(a, 60000)),
        ("share", lambda a: a * 0),
        ("starts", lambda a: a[::-1].copy()),
        ("right", lambda a: a * 0 + 1),
        ("column", lambda a: np.full_like(a, 7)),
        ("roots", lambda a: a[:1]),
    ],
)
def test_forged_arrays_are_refused(name, change):
    forest, _ = grown(data(100))
    check_forest(forest)
    with pytest.raises(ValueError, match="Forest: "):
        check_forest(replace(forest, **{name: change(getattr(forest, name))}))


@pytest.mark.parametrize("held", [False, True])
def test_the_chosen_forest_is_the_one_that_is_grown_with_these_leaves(held):
    rows, executor = data(200), Executor(workers=2)
    splits = [Split.without(part, 200) for part in np.array_split(np.arange(200), 4)]
    splits = splits if held else None

    def score(found):
        known = np.isfinite(found).all(axis=1)
        return -float(np.log(found[known, rows.cell[known]] + 1e-3).mean())

    how = {"random_state": 0, "executor": executor}
    leaves = {"leaves": (1, 40), "trial_trees": 8}
    forest, probabilities, leaf = choose_forest(
        rows, splits, score, trees=20, **leaves, **how
    )
    assert leaf == 1
    truth, other = grow_forest(rows, splits, trees=20, leaf=1, **how)
    for name in ("column", "threshold", "right", "roots", "cell", "share"):
        assert_allclose(getattr(forest, name), getattr(truth, name), rtol=0)
    assert_allclose(probabilities, other, rtol=1e-12)
