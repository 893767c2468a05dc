"""Moments: sums that do not depend on how they were summed, and that add."""

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import kernels, points, seeds

from jointdist import kernels as k
from jointdist import pivoted_cholesky
from jointdist.data.executor import Executor
from jointdist.lowrank import summation as moments_module
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.reduction import moments

FIELDS = ("weight", "sum_x", "sum_y", "gram_x", "gram_y", "gram_yx")


def assert_same(a, b, rtol=1e-10):
    """Compare moments relative to the size of each part."""
    assert a.count == b.count
    for name in (*FIELDS, "trace_x", "trace_y"):
        left, right = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        size = max(np.abs(right).max(initial=0.0), 1e-300)
        assert_allclose(left, right, rtol=0, atol=rtol * size, err_msg=name)


@pytest.fixture(params=[1e-2, 1e-9], ids=["late", "solved"])
def pair(request, rng):
    """Return paired rows and feature maps, well and ill conditioned."""
    X, Y = rng.normal(size=(3000, 2)), rng.normal(size=(3000, 1))
    x = pivoted_cholesky(k.Gaussian(1.0), X, tol=request.param, random_state=0).map
    y = pivoted_cholesky(k.Matern(0.7), Y, tol=1e-2, random_state=1).map
    late = np.finfo(float).eps * x.amplification <= moments_module._AMPLIFIED_ROUNDING
    assert late == (request.param == 1e-2)  # both ways through the pass are tested
    return x, y, X, Y


@given(kernel=kernels, X=points(), seed=seeds)
def test_moments_are_the_sums_of_features_row_by_row(kernel, X, seed):
    rng = np.random.default_rng(seed)
    Y, w = rng.normal(size=(len(X), 1)), rng.integers(0, 3, len(X)) + 0.5
    low = pivoted_cholesky(kernel, X, tol=1e-3, random_state=seed)
    other = pivoted_cholesky(k.Gaussian(), Y, tol=1e-3, random_state=seed)
    found = moments(low.map, other.map, X, Y, sample_weight=w)
    sums = oracles.moments(low.factor, other.factor, w)
    for name in FIELDS:
        size = 1 + np.abs(sums[name]).max(initial=0.0)
        assert_allclose(getattr(found, name), sums[name], atol=1e-8 * size)
    left = kernel.diagonal(X) - (low.factor**2).sum(axis=1)
    assert_allclose(found.error_x, w @ left, atol=1e-8 * found.trace_x)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_do_not_depend_on_blocks_threads_or_order(pair, weighted, rng):
    x, y, X, Y = pair
    w = rng.random(len(X)) if weighted else None
    first = moments(x, y, X, Y, sample_weight=w)
    for workers, block in ((1, 7), (2, 100), (3, 2999), (1, 3000), (2, 10_000)):
        executor = Executor(workers=workers, block_rows=block)
        assert_same(moments(x, y, X, Y, sample_weight=w, executor=executor), first)
    order = rng.permutation(len(X))
    shuffled = None if w is None else w[order]
    assert_same(moments(x, y, X[order], Y[order], sample_weight=shuffled), first)


def test_moments_are_the_same_to_the_bit_for_any_number_of_threads(pair):
    x, y, X, Y = pair
    one, five = (
        moments(x, y, X, Y, executor=Executor(workers=workers, block_rows=256))
        for workers in (1, 5)
    )
    assert_array_equal(one.gram, five.gram)


@given(cut=st.integers(1, 2999))
def test_moments_add_and_subtract(cut):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(3000, 2)), rng.normal(size=3000)
    x = pivoted_cholesky(k.Gaussian(), X, tol=1e-2, random_state=0).map
    y = pivoted_cholesky(k.Gaussian(), Y[:, None], tol=1e-2, random_state=0).map
    a, b = moments(x, y, X[:cut], Y[:cut]), moments(x, y, X[cut:], Y[cut:])
    both = moments(x, y, X, Y)
    assert_same(a + b, both)
    assert_same(b + a, both)
    back = (a + b) - b
    assert back.count == a.count
    assert_allclose(back.gram, a.gram, atol=1e-10 * np.abs(both.gram).max())


def test_a_weight_of_two_is_two_rows_and_of_zero_none(pair, rng):
    x, y, X, Y = pair
    w = rng.integers(0, 3, len(X))
    repeated = moments(x, y, np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    weighted = moments(x, y, X, Y, sample_weight=w)
    assert weighted.count == len(X)
    assert weighted.weight == repeated.count
    assert_allclose(weighted.gram, repeated.gram, atol=1e-9 * len(X))


def test_late_and_early_solves_agree(pair, monkeypatch):
    x, y, X, Y = pair
    usual = moments(x, y, X, Y)
    monkeypatch.setattr(moments_module, "_AMPLIFIED_ROUNDING", 0.0)
    assert_same(usual, moments(x, y, X, Y), rtol=1e-11)


def test_float32_features_with_float64_sums(pair):
    x, y, X, Y = pair
    exact, single = moments(x, y, X, Y), moments(x, y, X, Y, precision="float32")
    assert single.gram.dtype == np.float64
    assert single.weight == len(X)
    assert_allclose(single.gram, exact.gram, atol=1e-6 * len(X))
    assert not np.array_equal(single.gram, exact.gram)


def test_a_prefix_has_the_moments_of_the_first_features(pair):
    x, y, X, Y = pair
    short = moments(x, y, X, Y).taken(x.prefix(5), y.prefix(3))
    assert_same(short, moments(x.prefix(5), y.prefix(3), X, Y))


def test_moments_of_other_kernels_do_not_add(rng):
    """Also where landmarks and core are the same."""
    X = rng.normal(size=(20, 1))
    one, two = (
        pivoted_cholesky(k.Gaussian(scale), X, tol=0, max_rank=1, random_state=0).map
        for scale in (1.0, 2.0)
    )
    assert_array_equal(one.core, two.core)
    with pytest.raises(ValueError, match=r"^Moments: `other` must be moments of the same"):
        moments(one, one, X, X) + moments(two, two, X, X)


def test_moments_sum_and_add_to_nothing_else(pair):
    x, y, X, Y = pair
    mine = moments(x, y, X, Y)
    assert_array_equal(sum([mine, mine]).gram, 2 * mine.gram)
    with pytest.raises(TypeError):
        mine + 1
    with pytest.raises(TypeError):
        mine - None


@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_moments_scale_with_the_kernel(size, pair):
    """The units of a kernel do not decide how its moments are computed."""
    x, y, X, Y = pair

    class Scaled:
        def __call__(self, X, Z):
            return size * k.Gaussian()(X, Z)

        def diagonal(self, X):
            return np.full(len(X), size)

    scaled = FeatureMap(Scaled(), x.landmarks, size**0.5 * x.core)
    assert_allclose(scaled.amplification, x.amplification, rtol=1e-6)
    found, expected = moments(scaled, y, X, Y), moments(x, y, X, Y)
    assert_allclose(found.gram_x / size, expected.gram_x, atol=1e-9 * len(X))


@pytest.mark.parametrize("size", [1e-300, 1e300])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_weights_of_any_size_work(size, precision, pair):
    x, y, X, Y = pair
    w = np.linspace(1, 2, len(X))
    usual = moments(x, y, X, Y, sample_weight=w, precision=precision)
    found = moments(x, y, X, Y, sample_weight=size * w, precision=precision)
    assert_allclose(found.gram / size, usual.gram, rtol=1e-6, atol=1e-6 * len(X))


def test_moments_of_other_features_do_not_add(pair):
    x, y, X, Y = pair
    mine = moments(x, y, X, Y)
    with pytest.raises(ValueError, match=r"^Moments: `other` must be moments of the same"):
        mine + moments(x.prefix(2), y, X, Y)
    with pytest.raises(ValueError, match=r"^Moments: `other` must be moments of the same"):
        mine - moments(y, y, Y, Y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Y": np.zeros((5, 1))}, r"`Y` must be as long as `X` \(3000 rows\)\. Got 5 rows"),
        ({"X": np.zeros((3000, 3))}, r"`X` must be a table of 2 columns\. Got 3"),
        ({"Y": np.zeros((3000, 2))}, r"`Y` must be a table of 1 columns\. Got 2"),
        ({"precision": "half"}, r"`precision` must be one of .*Got 'half'"),
        (
            {"sample_weight": [1.0]},
            r"`sample_weight` must be one number for each of the 3000",
        ),
    ],
)
def test_bad_arguments_are_named(pair, change, message):
    x, y, X, Y = pair
    arguments = {"X": X, "Y": Y} | change
    with pytest.raises(ValueError, match="^moments: " + message):
        moments(x, y, **arguments)
