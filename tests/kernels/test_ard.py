"""Evidence of Gaussian processes: likelihoods, gradients, and what they make of columns."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.stats import multivariate_normal

from jointdist.kernels import Delta, Gaussian, Matern
from jointdist.kernels.ard import evidence, most_likely, relevant_scales

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


@SMOOTHNESS
@pytest.mark.parametrize("similar", [False, True])
def test_is_the_likelihood_of_a_gaussian_process(problem, nu, similar):
    Z, U = problem
    words = np.arange(30.0)[:, None] % 3
    S = Delta(0.5)(words, words) if similar else None
    one, two = np.array([0.3, -0.5, 1.0, -1.0]), np.array([-1.0, 0.2, 0.0, -2.0])
    got = [evidence(theta, Z, U, S, nu=nu)[0] for theta in (one, two)]
    matrix = np.ones((30, 30)) if S is None else S
    truth = [likelihood(theta, Z, U, matrix, nu) for theta in (one, two)]
    assert_allclose(got[0] - got[1], truth[0] - truth[1], rtol=1e-7)


@SMOOTHNESS
@pytest.mark.parametrize("similar", [False, True])
def test_gradient(problem, nu, similar):
    Z, U = problem
    words = np.arange(30.0)[:, None] % 3
    S = Delta(0.5)(words, words) if similar else None

    def value(theta):
        return evidence(theta, Z, U, S, nu=nu)[0]

    def slope(theta):
        return evidence(theta, Z, U, S, nu=nu)[1]

    for theta in np.random.default_rng(1).normal(size=(3, 4)):
        assert check_grad(value, slope, theta) < 1e-4


@SMOOTHNESS
def test_what_says_nothing_does_not_count(nu):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(200, 3))
    U = np.c_[np.sin(3 * Z[:, 0]), Z[:, 1]] + 0.1 * rng.normal(size=(200, 2))
    sharp, wide, nothing = relevant_scales(Z, U, nu=nu)
    assert sharp < wide / 2
    assert wide < nothing / 1.8
    assert nothing > 4


def test_goes_on_where_it_was(problem):
    Z, U = problem
    first = most_likely(Z, U, steps=100)
    again = most_likely(Z, U, start=first, steps=1)
    assert_allclose(again, first, atol=1e-2)
    short = most_likely(Z, U, steps=1)
    losses = [evidence(theta, Z - Z.mean(axis=0), U)[0] for theta in (first, short)]
    assert losses[0] < losses[1]
