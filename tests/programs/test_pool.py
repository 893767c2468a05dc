"""Pools of distributions: least scores on the simplex, checked by theorems and brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from jointdist.programs.pool import least_members, least_norm, pool_weights


def products(n, k, seed, *, ties=False):
    """Return products of random errors of k members at n rows, in three dimensions."""
    rng = np.random.default_rng(seed)
    errors = rng.normal(size=(n, k, 3)) * rng.uniform(0.5, 3, size=(k, 1))
    errors += rng.normal(size=(n, 1, 3))
    if ties:
        errors[:, 1] = errors[:, 0]
    return 2 * np.einsum("nkd,nld->nkl", errors, errors)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_the_conditions_of_optimality_hold(k, seed, ties, weighted):
    M = products(30, k, seed, ties=ties and k > 1)
    w = np.random.default_rng(seed).exponential(size=30) if weighted else np.ones(30)
    mean = np.einsum("n,nkl->kl", w / w.sum(), M)
    found = pool_weights(mean)
    assert (found.weights >= 0).all()
    assert_allclose(found.weights.sum(), 1.0)
    slopes, size = mean @ found.weights, np.abs(mean).max()
    value = found.weights @ slopes  # the multiplier of the sum
    assert_allclose(slopes[found.weights > 1e-9], value, atol=1e-9 * size)
    assert (slopes >= value - 1e-9 * size).all()
    assert_allclose(found.score, value / 2)
    assert found.gap <= 1e-9 * size
    assert found.score <= np.diag(mean).min() / 2


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_a_general_solver(seed):
    mean = products(40, 4, seed).mean(axis=0)
    start = np.full(4, 0.25)
    oracle = minimize(
        lambda a: 0.5 * a @ mean @ a,
        start,
        jac=lambda a: mean @ a,
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    found = pool_weights(mean)
    assert found.score <= oracle.fun + 1e-10
    assert_allclose(found.weights, oracle.x, atol=1e-4)


def test_members_without_error_win_whatever_the_others_are():
    M = np.diag([0.0, 1.0, 2.0])
    found = pool_weights(M)
    assert_allclose(found.weights, [1, 0, 0])
    assert found.score == 0
    assert_allclose(pool_weights(np.zeros((2, 2))).weights.sum(), 1.0)


def test_the_least_norm_is_that_of_the_nearest_point_of_the_hull():
    rng = np.random.default_rng(0)
    R = rng.normal(size=(5, 4)) + 1
    alpha = least_norm(R)
    at = R @ alpha
    assert ((R.T @ at) >= at @ at - 1e-9).all()  # all points are beyond the nearest plane


class TestFewMembers:
    def test_it_is_never_worse_than_the_best_member(self):
        for seed in range(40):
            M = products(60, 4, seed, ties=seed % 3 == 0)
            w = np.random.default_rng(seed).exponential(size=60) if seed % 2 else None
            found = least_members(M, w)
            mean = np.average(M, axis=0, weights=w)
            assert found.score <= np.diag(mean).min() / 2 + 1e-12
            best = pool_weights(mean)
            each = [np.einsum("nkl,k,l->n", M, a, a) / 2 for a in (found[0], best[0])]
            own = np.ones(60) / 60 if w is None else w / w.sum()
            gap = each[0] - each[1]
            error = np.sqrt(own @ (gap - own @ gap) ** 2 * (own @ own))
            assert own @ gap <= error + 1e-12

    def test_equal_members_do_not_both_stay(self):
        found = least_members(products(200, 3, 0, ties=True))
        assert min(found.weights[:2]) == 0

    def test_members_that_pay_stay(self):
        rng = np.random.default_rng(0)
        errors = rng.normal(size=(500, 2, 1))
        found = least_members(2 * np.einsum("nkd,nld->nkl", errors, errors))
        assert_allclose(found.weights, [0.5, 0.5], atol=0.1)

    def test_weights_count_as_copies(self):
        M = products(30, 3, 1)
        w = np.random.default_rng(1).integers(1, 4, size=30)
        mean = np.repeat(M, w, axis=0).mean(axis=0)
        assert_allclose(
            pool_weights(mean).weights, pool_weights(np.average(M, 0, w)).weights
        )
