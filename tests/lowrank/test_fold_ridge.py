"""Regressions without folds, beside regressions that were fitted without them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist import pivoted_cholesky
from jointdist.data.folds import Folds, Split, group_splits, window_splits
from jointdist.data.table import Rows
from jointdist.kernels import Gaussian
from jointdist.lowrank.fold_ridge import fold_regression, fold_ridge
from jointdist.lowrank.ridge import ridge_regression

N, R = 40, 3


def rows(seed=0):
    rng = np.random.default_rng(seed)
    x, T = rng.normal(size=(N, 2)), rng.normal(size=(N, R))
    return Rows(x, "", ""), T + x[:, :1], rng.uniform(0.5, 2.0, size=N)


def folds_of(splits):
    return Folds.of(splits, np.arange(N), None, timed=False)


@pytest.mark.parametrize("weighted", [False, True])
def test_single_rows_are_left_out_as_in_closed_form(weighted):
    x, T, w = rows()
    w = w if weighted else None
    fit = ridge_regression(pivoted_cholesky(Gaussian(1.0), x.source, tol=1e-8), T, w)
    each = folds_of([Split.without(np.array([i]), N) for i in range(N)])
    ridge = np.array([1e-3, 1e-2, 1.0])
    by_folds = fold_regression(fit, x, T, w, each)
    found = T - by_folds.predict(x, each, ridge[None])[:, 0]
    assert_allclose(found, fit.residuals(x, T, w, ridge), rtol=1e-6, atol=1e-9)
    path = np.array([1e-2, 1e-1])
    found = by_folds.errors(x, T, w, each, ridges=path)
    assert_allclose(found, fit.errors(x, T, w, path), rtol=1e-6)


@pytest.mark.parametrize("constant", ["fitted", "none", "mean"])
@pytest.mark.parametrize("kind", ["groups", "time"])
def test_folds_are_regressed_without(constant, kind):
    x, T, w = rows()
    splits = {
        "groups": group_splits(np.arange(N) // 4, 3, 0),
        "time": window_splits(np.arange(N)),
    }[kind]
    folds, rho = folds_of(splits), 0.03

    def functions(z):
        return np.concatenate([z, np.sin(z), z[:, :1] ** 2], axis=1)

    fit = fold_ridge(functions, x, T, w, folds, constant=constant)
    found = fit.predict(x, folds, np.full((1, R), rho))[:, 0]
    expected = np.full((N, R), np.nan)
    for split in splits:
        F, t, v = functions(x.source[split.fit]), T[split.fit], w[split.fit]
        centre = np.average(F, axis=0, weights=v) if constant == "fitted" else 0.0
        mean = 0.0 if constant == "none" else np.average(t, axis=0, weights=v)
        Z = F - centre
        slopes = np.linalg.solve(
            Z.T @ (v[:, None] * Z) + w.sum() * rho * np.eye(Z.shape[1]),
            Z.T @ (v[:, None] * (t - mean)),
        )
        at = (functions(x.source[split.out]) - centre) @ slopes
        expected[split.out] = at + (mean if constant == "fitted" else 0.0)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    assert np.isnan(found).any() == (kind == "time")


def test_some_of_the_rows():
    """Errors are judged on any rows, whose parts tell which fit did not see them."""
    x, T, w = rows()
    folds = folds_of(group_splits(np.arange(N) % 7, 3, 0))
    fit = fold_ridge(lambda z: z, x, T, w, folds)
    some = np.array([31, 2, 17, 8])
    every = fit.predict(x, folds, np.full((1, R), 0.1))
    few = fit.predict(x.subset(some), folds.take(some), np.full((1, R), 0.1))
    assert_allclose(few, every[some])
