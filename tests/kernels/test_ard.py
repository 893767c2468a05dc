"""Evidence of Gaussian processes: likelihoods, gradients, and what they make of columns."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal

from jointdist.data.encoding import Encoding
from jointdist.kernels import Gaussian, Hamming, Matern
from jointdist.kernels.ard import (
    fit_length_scales,
    maximise_evidence,
    negative_log_evidence,
    with_length_scales,
)
from jointdist.kernels.median_heuristic import Family

SMOOTHNESS = pytest.mark.parametrize("nu", [0.5, 1.5, math.inf])


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 3))
    Z[7] = Z[3]  # equal rows have no distance, whose root has no slope
    return Z, np.c_[np.sin(Z[:, 0]), Z[:, 1]] + 0.3 * rng.normal(size=(30, 2))


def likelihood(theta, Z, U, S, nu):
    """Return the negative log-likelihood at the best amplitude, by the normal density."""
    scale = tuple(np.exp(-theta[:-1] / 2))
    kernel = Gaussian(scale) if nu == math.inf else Matern(scale, nu)
    K = kernel(Z, Z) * S + np.exp(theta[-1]) * np.eye(len(Z))
    amplitude = np.sum(U * np.linalg.solve(K, U)) / U.size
    dist = multivariate_normal(np.zeros(len(Z)), amplitude * K)
    return -dist.logpdf(U.T).sum()


def indicators(words):
    """Return the indicators of the categories of each column."""
    return [(z[:, None] == np.unique(z)).astype(float) for z in words.T]


@SMOOTHNESS
@pytest.mark.parametrize("similar", [False, True])
def test_is_the_likelihood_of_a_gaussian_process(problem, nu, similar):
    Z, U = problem
    words = np.c_[np.arange(30) % 3, np.arange(30) // 7 % 2].astype(float)
    one, two = np.array([0.3, -0.5, 1.0, -1.0]), np.array([-1.0, 0.2, 0.0, -2.0])
    matrices = [np.ones((30, 30))] * 2
    columns = indicators(words) if similar else []
    if similar:
        one, two = (np.insert(t, 3, s) for t, s in ((one, [0.5, -1]), (two, [-2, 0.1])))
        matrices = [Hamming(tuple(np.exp(-t[3:5])))(words, words) for t in (one, two)]
    got = [negative_log_evidence(t, Z, U, columns, nu=nu)[0] for t in (one, two)]
    truth = [
        likelihood(np.delete(t, [3, 4]) if similar else t, Z, U, matrix, nu)
        for t, matrix in zip((one, two), matrices, strict=True)
    ]
    assert_allclose(got[0] - got[1], truth[0] - truth[1], rtol=1e-7)


@SMOOTHNESS
@pytest.mark.parametrize("similar", [False, True])
def test_gradient(problem, nu, similar):
    Z, U = problem
    words = np.c_[np.arange(30) % 3, np.arange(30) // 7 % 2].astype(float)
    Z[7] += 0.1 * similar  # else a distance is rounding, which has no slope
    columns = [one / np.sqrt(2.0) for one in indicators(words)] if similar else []

    def value(theta):
        return negative_log_evidence(theta, Z, U, columns, nu=nu)[0]

    def slope(theta):
        return negative_log_evidence(theta, Z, U, columns, nu=nu)[1]

    for theta in np.random.default_rng(1).normal(size=(3, 4 + len(columns))):
        assert check_grad(value, slope, theta) < 1e-4


@SMOOTHNESS
def test_what_says_nothing_does_not_count(nu):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 3))
    U = np.c_[np.sin(3 * Z[:, 0]), Z[:, 1]] + 0.1 * rng.normal(size=(300, 2))
    family = Family(Encoding((None,) * 3), (1.0,) * 3, nu=nu)
    found = with_length_scales(family, fit_length_scales(family, Z, U)[0])
    sharp, wide, nothing = found.scales
    assert sharp < wide / 2
    assert wide < nothing / 2
    assert nothing > 5


def test_goes_on_where_it_was(problem):
    Z, U = problem
    first, _ = maximise_evidence(Z, U, steps=100)
    again, _ = maximise_evidence(Z, U, start=first, steps=1)
    assert_allclose(again, first, atol=1e-2)
    short, _ = maximise_evidence(Z, U, steps=1)
    losses = [
        negative_log_evidence(theta, Z - Z.mean(axis=0), U)[0] for theta in (first, short)
    ]
    assert losses[0] < losses[1]


def test_first_guesses_do_not_matter():
    """Columns in other units have the same kernels, and categories are taken into account."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)]
    T = np.sin(2 * X[:, :1]) * np.where(X[:, 2:] > 0, 1, -1) + 0.1 * rng.normal(
        size=(60, 1)
    )
    encoding = Encoding((None, None, ("a", "b")))
    plain = Family(encoding, (1.0, 1.0), nu=1.5, category_scales=(1.0,))
    found = with_length_scales(plain, fit_length_scales(plain, X, T)[0])
    other = Family(encoding, (4.0, 0.5), nu=1.5, category_scales=(1.0,))
    again = with_length_scales(other, fit_length_scales(other, X * [4.0, 0.5, 1.0], T)[0])
    assert_allclose(np.array(again.scales) / [4.0, 0.5], found.scales)
    ignored = Family(Encoding((None, None)), (1.0, 1.0), nu=1.5)
    noise = fit_length_scales(ignored, X[:, :2], T)[0][-1]
    assert fit_length_scales(plain, X, T)[0][-1] < noise - 1
