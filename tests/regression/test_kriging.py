"""Regression on neighbours: on all of them it is that of a Gaussian process."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.folds import Folds, group_splits, window_splits
from jointdist.data.table import Rows
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.kriging import kriging
from jointdist.regression.regression_data import RegressionData

FAMILY = Family(Encoding((None, None)), (1.0, 2.0), nu=1.5)


def rows(n, seed=0):
    """Return rows, with two targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    T = np.c_[np.sin(2 * X[:, 0]), 5 + X[:, 1]] + 0.1 * rng.normal(size=(n, 2))
    return Rows(X, "test", "X"), T


def dense(X, T, noise, ridge, at):
    """Return the best linear unbiased forecasts, by one system with a multiplier."""
    kernel, n = FAMILY.at(1.0), len(X)
    ones = np.ones((n, 1))
    K = kernel(X, X) + ridge * np.diag(noise)
    A = np.block([[K, ones], [ones.T, np.zeros((1, 1))]])
    b = np.vstack([kernel(X, at), np.ones((1, len(at)))])
    return np.linalg.solve(A, b)[:n].T @ T


@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_are_all_neighbours(weighted):
    x, T = rows(50)
    w = np.random.default_rng(1).uniform(0.5, 2, size=50) if weighted else None
    noise = np.ones(50) if w is None else w.mean() / w
    fit, left = kriging([FAMILY], RegressionData(x, T, w))
    new = rows(7, seed=2)[0]
    for column, ridge in enumerate(fit.ridge):
        truth = dense(x.source, T, noise, ridge, new.source)[:, column]
        assert_allclose(fit.predict(new)[:, column], truth, atol=1e-8)
        for i in range(50):
            rest = np.delete(np.arange(50), i)
            at = x.source[i : i + 1]
            out = dense(x.source[rest], T[rest], noise[rest], ridge, at)[0, column]
            assert_allclose(left[i, column], T[i, column] - out, atol=1e-8)


@pytest.mark.parametrize("kind", ["groups", "time"])
def test_folds_are_left_out(kind):
    """Neighbours are those that the split fits to; rows never held out have no residual."""
    x, T = rows(50)
    groups = np.arange(50) // 5
    splits = window_splits(np.arange(50)) if kind == "time" else group_splits(groups, 3, 0)
    folds = Folds.of(splits, np.arange(50), None, timed=kind == "time")
    fit, left = kriging([FAMILY], RegressionData(x, T, None, folds))
    expected = np.full(T.shape, np.nan)
    for column, ridge in enumerate(fit.ridge):
        for rows_to_fit, out in splits:
            near = x.source[rows_to_fit], T[rows_to_fit], np.ones(len(rows_to_fit))
            found = dense(*near, ridge, x.source[out])
            expected[out, column] = (T[out] - found)[:, column]
    assert_allclose(left, expected, atol=1e-8)


def test_many_rows():
    """The nearest rows tell nearly all, and threads and blocks do not matter."""
    x, T = rows(1500)
    fit, left = kriging([FAMILY], RegressionData(x, T))
    new = rows(300, seed=2)[0]
    truth = dense(x.source, T, np.ones(1500), fit.ridge[0], new.source)[:, 0]
    found = fit.predict(new)
    assert np.sqrt(np.mean((found[:, 0] - truth) ** 2)) < 0.02
    assert_allclose(fit.predict(new, Executor(workers=2)), found)
    assert 0.08 < np.sqrt(np.mean(left**2)) < 0.15


def test_equal_rows():
    """Of more equal rows than neighbours, one is left out whichever they are."""
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 100, axis=0)
    T = X[:, :1] + 0.1 * np.random.default_rng(0).normal(size=(200, 1))
    fit, left = kriging([FAMILY], RegressionData(Rows(X, "test", "X"), T))
    assert_allclose(fit.predict(Rows(X[[0, 150]], "test", "X"))[:, 0], [0, 1], atol=0.1)
    assert 0.08 < left.std() < 0.13


def test_categories():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=400), rng.integers(0, 2, size=400)]
    T = (X[:, :1] + 2 * X[:, 1:]) + 0.1 * rng.normal(size=(400, 1))
    family = Family(Encoding((None, ("a", "b"))), (1.0,), nu=0.5)
    fit, _ = kriging([family], RegressionData(Rows(X, "test", "X"), T))
    found = fit.predict(Rows(np.array([[0.0, 0.0], [0.0, 1.0]]), "test", "X"))
    assert_allclose(found[:, 0], [0.0, 2.0], atol=0.2)
