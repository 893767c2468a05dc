"""The I-projection: optimality, against slow solvers, and what it promises."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax

from jointdist.programs import tilting
from jointdist.programs.tilting import Exponential


def family(K=60, m=5, ridge=1e-2, seed=0):
    """Return tilts of random weights, with features of mean zero and variance one."""
    rng = np.random.default_rng(seed)
    p = rng.random(K) + 0.1
    p /= p.sum()
    U = rng.normal(size=(K, m)) ** 3
    U -= p @ U
    U /= np.sqrt(p @ U**2)
    return Exponential(U, p, ridge * 10.0 ** np.arange(m))


def slope(tilts, theta, t):
    """Return the gradient of the objective, from scratch."""
    w = softmax(np.log(tilts.shares) + theta @ tilts.features.T, axis=1)
    return w @ tilts.features - t + tilts.ridge * theta


class TestInformationProjection:
    @pytest.mark.parametrize("ridge", [1.0, 1e-2, 1e-4])
    @pytest.mark.parametrize("size", [0.0, 0.3, 3.0, 100.0])
    def test_conditions_of_optimality(self, ridge, size):
        tilts = family(ridge=ridge)
        t = size * np.random.default_rng(1).normal(size=(40, 5))
        theta, raised, _ = tilts.solve(t)
        assert_array_equal(raised, 1)
        assert np.abs(slope(tilts, theta, t)).max() < 1e-8

    def test_a_slow_solver_agrees(self):
        tilts = family(K=30, m=3)
        t = np.random.default_rng(2).normal(size=(5, 3))

        def value(theta, own):
            log_sum = np.log(tilts.shares @ np.exp(tilts.features @ theta))
            return log_sum - theta @ own + tilts.ridge @ theta**2 / 2

        slow = [minimize(value, np.zeros(3), (own,), tol=1e-12).x for own in t]
        assert_allclose(tilts.solve(t).theta, slow, rtol=1e-4, atol=1e-5)

    def test_weights_are_a_distribution(self):
        tilts = family()
        t = np.random.default_rng(3).normal(size=(20, 5)) * 10
        theta = tilts.solve(t).theta
        w = tilts.weights(theta)
        assert (w >= 0).all()
        assert_allclose(w.sum(axis=1), 1, rtol=1e-14)
        heights = theta @ tilts.features.T
        tilted = tilts.shares * np.exp(heights - heights.max(axis=1, keepdims=True))
        dist = tilted / tilted.sum(axis=1, keepdims=True)
        assert_allclose(w, dist, rtol=1e-9, atol=1e-300)  # denormal numbers are rough

    def test_no_distribution_on_the_cells_has_less_divergence(self):
        tilts = family(ridge=1e-9)  # so that means are met
        rng = np.random.default_rng(4)
        other = tilts.shares * np.exp(0.5 * rng.normal(size=(200, len(tilts.shares))))
        other /= other.sum(axis=1, keepdims=True)
        w = tilts.weights(tilts.solve(other @ tilts.features).theta)
        assert_allclose(w @ tilts.features, other @ tilts.features, atol=1e-5)

        def divergence(dist):
            return (dist * np.log(dist / tilts.shares)).sum(axis=1)

        assert (divergence(w) <= divergence(other) + 1e-5).all()

    def test_no_information_leaves_the_sample(self):
        tilts = family()
        assert_allclose(tilts.weights(tilts.solve(np.zeros((1, 5))).theta)[0], tilts.shares)

    def test_a_ridge_is_raised_where_steps_do_not_suffice(self, monkeypatch):
        tilts = family(ridge=1e-4)
        t = 3 * np.random.default_rng(1).normal(size=(40, 5))
        monkeypatch.setattr(tilting, "_MAX_STEPS", 10)
        theta, raised, _ = tilts.solve(t)
        assert 0 < (raised > 1).sum() < 40
        for own, factor, target in zip(theta, raised, t, strict=True):
            stronger = Exponential(tilts.features, tilts.shares, factor * tilts.ridge)
            assert np.abs(slope(stronger, own[None], target[None])).max() < 1e-8
        monkeypatch.setattr(tilting, "_MAX_STEPS", 1)
        theta, raised, _ = tilts.solve(t)
        assert np.isinf(raised).any()
        assert_array_equal(theta[np.isinf(raised)], 0)  # the distribution of the sample
