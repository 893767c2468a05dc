"""The isotonic projection: it never raises the CRPS, and is a regression of each cdf."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.isotonic import IsotonicRegression

from jointdist.programs.isotonic import isotonic


@given(st.integers(0, 2**32), st.integers(2, 40), st.floats(0, 3))
def test_the_crps_never_rises(seed, K, wild):
    rng = np.random.default_rng(seed)
    z = np.sort(rng.normal(size=K)).round(6) + np.arange(K) * 1e-5
    w = 1 / K + wild * rng.normal(size=(3, K)) / np.sqrt(K)
    w += (1 - w.sum(axis=1, keepdims=True)) / K
    found = isotonic(w, z)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1, atol=1e-12)

    def crps(dist, y):
        near = dist @ np.abs(z - y)
        return near - np.einsum("qi,ij,qj->q", dist, np.abs(z[:, None] - z), dist) / 2

    for y in np.concatenate([z, rng.normal(size=5), [-1e3, 1e3]]):
        assert (crps(found, y) <= crps(w, y) + 1e-9 * (1 + wild**2) * (1 + abs(y))).all()


def test_each_is_the_regression_of_its_cdf():
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(size=50))
    w = rng.normal(size=(100, 50))
    w *= 10.0 ** rng.integers(-3, 3, (100, 1))  # wild beside tame
    w += (1 - w.sum(axis=1, keepdims=True)) / 50
    found = isotonic(w, z)
    for own, signed in zip(found, w, strict=True):
        oracle = IsotonicRegression(y_min=0, y_max=1)
        oracle.fit(z[:-1], np.cumsum(signed)[:-1], np.diff(z))
        cdf = oracle.predict(z[:-1])
        assert_allclose(np.cumsum(own)[:-1], cdf, atol=1e-10)


def test_distributions_stay_as_they_are():
    w = np.random.default_rng(0).dirichlet(np.ones(30), size=70)
    assert_allclose(isotonic(w, np.arange(30.0)), w, atol=1e-13)
    assert_array_equal(isotonic(np.ones((3, 1)), np.zeros(1)), np.ones((3, 1)))
