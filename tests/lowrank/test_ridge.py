"""Ridge regression on low-rank features: dense oracles, and rows left out one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist import pivoted_cholesky
from jointdist.data.executor import Executor
from jointdist.kernels import Gaussian, Matern
from jointdist.lowrank.ridge import leave_one_out_residuals, ridge_regression

N, RIDGES = 40, np.array([1e-6, 1e-3, 1e-1, 10.0])


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def problem(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    T = np.c_[np.sin(2 * X[:, 0]), X[:, 1] ** 2, np.ones(N)] + 0.1 * rng.normal(size=(N, 3))
    weights = rng.uniform(0, 3, size=N) if request.param else None
    if weights is not None:
        weights[:2] = 0.0
    return X, T, weights


def fitted(problem, rank=15):
    X, T, weights = problem
    low = pivoted_cholesky(
        Matern(1.0), X, tol=0.0, max_rank=rank, sample_weight=weights, random_state=0
    )
    return low, ridge_regression(low, T, weights, executor=Executor(block_rows=7))


def dense(phi, T, w, strength, at):
    """Return the regression at points by the normal equations, its constant not shrunk."""
    F = np.insert(phi, 0, 1.0, axis=1)
    penalty = strength * np.eye(F.shape[1])
    penalty[0, 0] = 0.0
    return np.insert(at, 0, 1.0, axis=1) @ np.linalg.solve(
        (F.T * w) @ F + penalty, (F.T * w) @ T
    )


class TestAgainstRefits:
    """The normal equations, with all rows or without one."""

    def test_predictions(self, problem):
        _, T, weights = problem
        low, fit = fitted(problem)
        w, phi = np.ones(N) if weights is None else weights, low.factor
        for ridge in RIDGES:
            truth = dense(phi, T, w, ridge * w.sum(), phi)
            assert_allclose(fit.predict(low.rows, np.full(3, ridge)), truth, atol=1e-8)
        mixed = fit.predict(low.rows, RIDGES[:3])
        assert_allclose(mixed[:, 2], fit.predict(low.rows, np.full(3, RIDGES[2]))[:, 2])

    @pytest.mark.parametrize("ridge", RIDGES)
    def test_rows_left_out(self, problem, ridge):
        _, T, weights = problem
        low, fit = fitted(problem)
        w, phi = np.ones(N) if weights is None else weights, low.factor
        truth = np.empty_like(T)
        for i in range(N):
            rest = np.delete(np.arange(N), i)
            strength = ridge * w.sum()
            at = dense(phi[rest], T[rest], w[rest], strength, phi[i : i + 1])
            truth[i] = T[i] - at[0]
        found = fit.residuals(low.rows, T, weights, np.full(3, ridge))
        assert_allclose(found, truth, atol=1e-7)
        errors = fit.errors(low.rows, T, weights, np.array([ridge, 1.0]))
        assert_allclose(errors[0], np.average(truth**2, axis=0, weights=w), rtol=1e-6)

    def test_blocks_do_not_matter(self, problem):
        _, T, weights = problem
        low, fit = fitted(problem)
        one, many = (
            fit.errors(low.rows, T, weights, RIDGES, executor=Executor(block_rows=rows))
            for rows in (3, 1000)
        )
        assert_allclose(one, many)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X, T, times = rng.normal(size=(9, 1)), rng.normal(size=(9, 2)), rng.integers(1, 4, 9)
    kernel, ridge = Gaussian(1.0), np.array([1e-2, 1e-3])
    low = pivoted_cholesky(kernel, X, tol=0.0)
    weighted = ridge_regression(low, T, times.astype(float))
    again = pivoted_cholesky(kernel, np.repeat(X, times, axis=0), tol=0.0)
    repeated = ridge_regression(again, np.repeat(T, times, axis=0))
    assert_allclose(weighted.predict(low.rows, ridge), repeated.predict(low.rows, ridge))


def test_interpolation_is_not_perfect():
    """Without a ridge each row fits itself, and what it is missed by says nothing good."""
    x = np.linspace(0, 1, 30)[:, None]
    noise = np.random.default_rng(0).normal(size=(30, 1))
    low = pivoted_cholesky(Gaussian(0.1), x, tol=0.0)
    fit = ridge_regression(low, noise)
    small, large = fit.errors(low.rows, noise, None, np.array([1e-14, 10.0]))[:, 0]
    assert small > 10 * large > 5


def test_targets_far_from_zero():
    x = np.linspace(0, 3, 60)[:, None]
    low = pivoted_cholesky(Gaussian(1.0), x, tol=1e-12)
    near, far = (ridge_regression(low, np.sin(x) + c) for c in (0.0, 1e9))
    ridge = np.array([1e-9])
    assert_allclose(
        far.predict(low.rows, ridge) - 1e9, near.predict(low.rows, ridge), atol=1e-6
    )


def test_interpolation_does_not_look_perfect():
    """At a leverage of nearly one, residuals of rounding are not taken for a good fit."""
    rounding = np.array([1e-13])
    assert leave_one_out_residuals(rounding, np.array([1.0])) > 0.05
    assert leave_one_out_residuals(rounding, np.array([1 + 1e-15])) > 0.05
    assert_allclose(leave_one_out_residuals(np.ones(2), np.array([0.0, 0.75])), [1, 4])
