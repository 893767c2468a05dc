"""Trees as arrays: the forecasts of scikit-learn to the last bit, and rules of the arrays."""

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.regression.boosting import gradient_boosting, tree_ensemble
from jointdist.regression.trees import TreeEnsemble

FOLDS = 3


def rows(n, seed=0, *, missing=True):
    """Return numbers, some missing, two categorical columns, and a constant one."""
    rng = np.random.default_rng(seed)
    X = np.c_[
        rng.normal(size=n),
        rng.integers(0, 40, size=n),
        rng.normal(size=n).round(1),
        rng.integers(0, 3, size=n),
        np.full(n, 7.0),
        rng.normal(size=n),
    ]
    if missing:
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        X[:, 4] = 7.0
    return X


CATEGORICAL = [False, True, False, True, False, False]


def targets(X, seed=1):
    """Return two targets, which also depend on whether numbers are missing."""
    noise = np.random.default_rng(seed).normal(size=(len(X), 2))
    Z = np.nan_to_num(X, nan=-1.0)
    first = np.sin(2 * Z[:, 0]) + (Z[:, 1] % 3) + 3 * np.isnan(X[:, 5])
    return np.c_[first, Z[:, 2] * Z[:, 3]] + 0.1 * noise


@cache
def fitted(*, categories=True, missing=True, leaves=15, trees=12):
    """Return models of all folds and targets; some categories are unknown to some folds."""
    X = rows(300, missing=missing)
    T = targets(X)
    X[:9, 1] = np.repeat([40.0, 41.0, 44.0], 3)  # rare: in the rows of one fold alone
    model = HistGradientBoostingRegressor(
        max_iter=trees,
        max_leaf_nodes=leaves,
        min_samples_leaf=2,
        categorical_features=CATEGORICAL if categories else None,
        early_stopping=False,
        random_state=0,
    )
    fold = np.arange(300) // 3 % FOLDS
    models = [
        [clone(model).fit(X[fold != k], t[fold != k]) for k in range(FOLDS)] for t in T.T
    ]
    return models, X


@cache
def whole():
    """Return an ensemble with all that there can be."""
    return tree_ensemble(*fitted())


def forecasts(models, X):
    """Return the mean forecasts of scikit-learn."""
    each = [np.mean([model.predict(X) for model in folds], axis=0) for folds in models]
    return np.stack(each, axis=1)


@pytest.mark.parametrize("leaves", [3, 15, 63])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("categories", [False, True])
def test_forecasts_are_those_of_scikit_learn(categories, missing, leaves):
    models, X = fitted(categories=categories, missing=missing, leaves=leaves)
    trees = tree_ensemble(models, X)
    new = rows(2000, seed=5)
    new[:7, 1] = [44.0, 45.0, 300.0, 40.0, 43.0, np.nan, 41.0]  # known to some, or to none
    new[7:10, 0] = [np.inf, -np.inf, 1e300]
    for points in (X, new, new[:1], np.asfortranarray(new[:50])):
        assert_array_equal(trees.at(points), forecasts(models, points))
    assert categories == bool(len(trees.subsets))
    infinite = np.isinf(trees.value).any()
    assert infinite == missing  # a split of missing numbers from all others


def test_numbers_at_thresholds():
    """Rows that are equal to a threshold go left."""
    models, X = fitted(categories=False, missing=False)
    trees = tree_ensemble(models, X)
    for column in (0, 2, 5):
        at = np.unique(trees.value[trees.column == column])
        points = np.repeat(X[:1], 3 * len(at), axis=0)
        points[:, column] = np.r_[at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)]
        assert_array_equal(trees.at(points), forecasts(models, points))


def test_blocks_threads_and_pickles():
    models, X = fitted(missing=False)
    trees, new = tree_ensemble(models, X), Rows(rows(500, 3, missing=False), "test", "X")
    found = trees.predict(new)
    assert_array_equal(found, forecasts(models, new.source))
    assert_array_equal(trees.predict(new, Executor(workers=2, block_rows=7)), found)
    stored = pickle.dumps(trees)
    again = pickle.loads(stored)  # noqa: S301
    assert_array_equal(again.predict(new), found)
    assert len(stored) == len(pickle.dumps(again))
    each = sum(vars(trees)[name].itemsize for name in ("column", "value", "right"))
    assert len(stored) < (each + 1) * len(trees.column) + 32 * len(trees.subsets) + 10_000
    assert repr(trees) == (
        "TreeEnsemble(3 members for each of 2 targets, 72 trees, "
        f"{len(trees.column)} nodes)"
    )


def test_a_target_without_variation():
    """Trees are single leaves."""
    X = rows(60, missing=False)[:, :1]
    model = gradient_boosting([False], 60).fit(X, np.full(60, 3.0))
    trees = tree_ensemble([[model]], X)
    assert len(trees.column) == len(trees.roots) - 1
    assert_array_equal(trees.at(X), np.full((60, 1), 3.0))


def test_models_that_cannot_be_read():
    class Shifted(HistGradientBoostingRegressor):
        def predict(self, X):
            return super().predict(X) + 1e-9

    X = rows(60, missing=False)
    shifted = Shifted(max_iter=3).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"whose trees can be read. Got version .* other"):
        tree_ensemble([[shifted]], X)
    with pytest.raises(ValueError, match=r"`models` must be gradient boosting of scikit"):
        tree_ensemble([[object()]], X)
    halves = HistGradientBoostingRegressor(max_iter=3, categorical_features=[0])
    halves.fit(np.repeat([[0.5], [1.5]], 30, axis=0), X[:, 0])
    with pytest.raises(ValueError, match="categories that are not codes"):
        tree_ensemble([[halves]], X[:, :1])


def test_points_of_another_width():
    with pytest.raises(ValueError, match=r"`Z` must be a table of 6 columns. Got shape"):
        whole().at(np.zeros((3, 5)))


def changed(name, change):
    """Return damage: an array with some entries changed."""

    def damage(trees):
        array = getattr(trees, name).copy()
        change(array, trees)
        return replace(trees, **{name: array})

    return damage


def put(name, where, value):
    """Return damage: a value at the first node of a kind."""

    def change(array, trees):
        leaf = trees.column < 0
        category = np.isin(trees.column, trees.categorical)
        kinds = {"leaf": leaf, "split": ~leaf, "number": ~leaf & ~category, "any": leaf | 1}
        node = np.flatnonzero(kinds[where])[0]
        array[node] = value(node, trees) if callable(value) else value

    return changed(name, change)


def entry(name, index, value):
    """Return damage: a value at an index."""

    def change(array, _):
        array[index] = value

    return changed(name, change)


DAMAGES = {
    "column-beyond": (put("column", "split", 6), "column"),
    "column-negative": (put("column", "split", -2), "column"),
    "split-made-a-leaf": (put("column", "split", -1), "right"),
    "leaf-made-a-split": (put("column", "leaf", 0), "right"),
    "right-is-itself": (put("right", "split", lambda i, _: i), "right"),
    "right-before": (put("right", "split", -1), "right"),
    "right-is-left": (put("right", "split", lambda i, _: i + 1), "right"),
    "right-in-next-tree": (put("right", "split", lambda _, t: t.roots[1]), "right"),
    "right-beyond": (put("right", "split", 2**31 - 1), "right"),
    "right-of-another": (put("right", "split", lambda i, t: t.right[i] + 1), "right"),
    "right-of-a-leaf": (put("right", "leaf", 3), "right"),
    "threshold-nan": (put("value", "number", np.nan), "value"),
    "threshold-minus-infinity": (put("value", "number", -np.inf), "value"),
    "leaf-nan": (put("value", "leaf", np.nan), "value"),
    "leaf-infinite": (put("value", "leaf", np.inf), "value"),
    "missing": (put("missing_left", "any", 2), "missing_left"),
    "roots-start": (entry("roots", 0, 1), "roots"),
    "roots-end": (entry("roots", -1, 2**62), "roots"),
    "roots-descend": (entry("roots", 1, -(2**62)), "roots"),
    "roots-equal": (entry("roots", 1, 0), "roots"),
    "members-end": (entry("members", -1, 3), "members"),
    "members-descend": (entry("members", 2, 0), "members"),
    "baseline": (entry("baseline", (0, 1), np.nan), "baseline"),
    "baseline-shape": (lambda t: replace(t, baseline=t.baseline[:, :2]), "baseline"),
    "baseline-empty": (
        lambda t: replace(
            t,
            baseline=np.empty((0, 3)),
            members=t.members[:1],
            **dict.fromkeys(["column", "right"], np.empty(0, np.int32)),
            value=np.empty(0),
            missing_left=np.empty(0, np.uint8),
            roots=t.roots[:1],
        ),
        "baseline",
    ),
    "categorical-beyond": (entry("categorical", 1, 6), "categorical"),
    "categorical-descends": (entry("categorical", 0, 3), "categorical"),
    "codes-beyond": (entry("codes", (0, 0, 0), 256), "codes"),
    "codes-below": (entry("codes", (0, 0, 0), -2), "codes"),
    "codes-shape": (lambda t: replace(t, codes=t.codes[1:]), "codes"),
    "subsets-few": (lambda t: replace(t, subsets=t.subsets[1:]), "subsets"),
    "subsets-narrow": (lambda t: replace(t, subsets=t.subsets[:, :7]), "subsets"),
    "subsets-none": (lambda t: replace(t, categorical=t.categorical[:0]), "codes"),
    "width": (lambda t: replace(t, width=0), "width"),
    "width-true": (lambda t: replace(t, width=True), "width"),
    "width-small": (lambda t: replace(t, width=4), "column"),
    "length": (lambda t: replace(t, value=t.value[1:]), "value"),
    "type": (lambda t: replace(t, right=t.right.astype(np.int64)), "right"),
    "dimensions": (lambda t: replace(t, value=t.value[:, None]), "value"),
    "no-array": (lambda t: replace(t, column=t.column.tolist()), "column"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found(name):
    damage, argument = DAMAGES[name]
    damaged = damage(whole())
    assert isinstance(damaged, TreeEnsemble)
    with pytest.raises(ValueError, match=f"TreeEnsemble: `{argument}` must be"):
        damaged.check()
