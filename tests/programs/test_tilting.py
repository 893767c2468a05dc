"""The I-projection: optimality, against slow solvers, and what it promises."""

import copy
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import softmax

from jointdist._array import to_numpy
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

    def test_rows_do_not_depend_on_each_other(self, rng):
        tilts = family(ridge=1e-3)
        t = (
            3 * rng.normal(size=(50, 5)) * rng.random((50, 1))
        )  # converge at different steps
        mixed = rng.permutation(50)
        together, apart = tilts.solve(t), [tilts.solve(own[None]) for own in t]
        assert len(set(together.steps)) > 3
        # Products of one row and of many round differently, and may take a step more or less.
        rounding = {"theta": 1e-8, "raised": 1e-8, "steps": 1}
        others = tilts.solve(t[mixed])
        for i, (name, atol) in enumerate(rounding.items()):
            found = getattr(together, name)
            each = np.concatenate([one[i] for one in apart])
            assert_allclose(found, each, rtol=1e-6, atol=atol)
            assert_allclose(found[mixed], getattr(others, name), rtol=1e-6, atol=atol)

    def test_what_is_no_number_leaves_the_sample_and_other_rows(self, rng):
        tilts = family()
        t = rng.normal(size=(6, 5))
        expected, t[2, 1] = tilts.solve(t), np.nan
        theta, raised, _ = tilts.solve(t)
        assert_array_equal(np.isinf(raised), np.arange(6) == 2)
        assert_array_equal(theta[2], 0)
        others = [0, 1, 3, 4, 5]
        assert_allclose(theta[others], expected.theta[others], rtol=1e-6, atol=1e-8)

    def test_no_rows_and_no_features(self):
        theta, raised, steps = family().solve(np.empty((0, 5)))
        assert theta.shape == (0, 5)
        assert raised.shape == steps.shape == (0,)
        bare = Exponential(np.empty((4, 0)), np.full(4, 0.25), np.empty(0))
        theta, raised, steps = bare.solve(np.empty((3, 0)))
        assert_array_equal(raised, 1)
        assert_array_equal(bare.weights(theta), np.full((3, 4), 0.25))


class TestArrayLibraries:
    @pytest.mark.parametrize("ridge", [1.0, 1e-2, 1e-4])
    @pytest.mark.parametrize(
        "launch", [1, 1000, 1 << 25]
    )  # lengths one by one, few, or all
    def test_they_agree(self, xp, ridge, launch, monkeypatch, rng):
        tilts, t = family(ridge=ridge), 3 * rng.normal(size=(40, 5))
        monkeypatch.setattr(tilting, "_LAUNCH", launch)
        there = tilts.on(xp.asarray(t))
        expected, found = tilts.solve(t), there.solve(xp.asarray(t))
        assert all(type(each) is type(xp.asarray(t)) for each in found)
        assert_array_equal(to_numpy(found.raised), expected.raised)
        w = to_numpy(there.weights(found.theta))
        assert_allclose(w, tilts.weights(expected.theta), atol=1e-9)

    def test_they_raise_ridges_alike(self, xp, monkeypatch, rng):
        tilts, t = family(ridge=1e-3), 3 * rng.normal(size=(40, 5)) * rng.random((40, 1))
        monkeypatch.setattr(tilting, "_MAX_STEPS", 6)
        expected, found = tilts.solve(t), tilts.on(xp.asarray(t)).solve(xp.asarray(t))
        assert set(expected.raised) >= {1.0, 10.0, np.inf}
        assert_array_equal(to_numpy(found.raised), expected.raised)
        assert_array_equal(to_numpy(found.steps), expected.steps)
        raises = np.minimum(np.log10(expected.raised), 4)
        # Each after one free step and six others.
        assert_array_equal((expected.steps - 1) // 7, raises - (raises == 4))
        assert_allclose(to_numpy(found.theta), expected.theta, rtol=1e-6, atol=1e-8)

    def test_a_line_search_that_never_ends_takes_the_shortest_step(self, xp, rng):
        tilts, t = family(), rng.normal(size=(7, 5))
        there, t_there = tilts.on(xp.asarray(t)), xp.asarray(t)
        theta, value = xp.zeros_like(t_there), xp.full(7, -100.0)  # which no step reaches
        start = tilting._Rows(xp.arange(7), t_there, theta, value, t_there)
        descent = xp.full(7, -1.0)
        found = there._searched(start, t_there, descent, there.ridge)
        assert_allclose(to_numpy(found.theta), 0.4**30 * t, rtol=1e-12)
        assert_allclose(to_numpy(found.w), np.tile(tilts.shares, (7, 1)), rtol=1e-9)

    def test_there_and_back(self, xp):
        tilts = family()
        there = tilts.on(xp.zeros(1))
        assert there.on(xp.zeros(1)) is there
        back = there.on(np.zeros(1))
        for field in fields(Exponential):
            assert_array_equal(getattr(back, field.name), getattr(tilts, field.name))


class TestState:
    @pytest.mark.parametrize(
        "copied",
        [lambda a: pickle.loads(pickle.dumps(a)), copy.copy, copy.deepcopy, replace],  # noqa: S301
    )
    def test_copies_hold_the_family_alone_and_answer_alike(self, copied, rng):
        tilts, t = family(), rng.normal(size=(9, 5))
        expected = tilts.solve(t)
        other = copied(tilts)
        assert set(vars(other)) == {"features", "shares", "ridge"}
        for found, each in zip(other.solve(t), expected, strict=True):
            assert_array_equal(found, each)

    def test_products_are_not_pickled(self, rng):
        tilts = family(K=300, m=20)
        tilts.solve(rng.normal(size=(2, 20)))
        size = sum(getattr(tilts, field.name).nbytes for field in fields(tilts))
        assert len(pickle.dumps(tilts)) < size + 1000

    def test_another_ridge_is_another_family(self, rng):
        tilts, t = family(), rng.normal(size=(9, 5))
        tilts.solve(t)
        other = replace(tilts, ridge=2 * tilts.ridge)
        assert np.abs(slope(other, other.solve(t).theta, t)).max() < 1e-8
