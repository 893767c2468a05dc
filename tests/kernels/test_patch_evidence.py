"""Evidence of patches: likelihoods with a mean for each patch, gradients, scales found."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad, minimize
from scipy.stats import multivariate_normal

from jointdist.data.encoding import Encoding
from jointdist.kernels import Gaussian, Hamming, Matern
from jointdist.kernels.ard import with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.kernels.patch_evidence import fit_patch_scales, negative_log_patch_evidence

SMOOTHNESS = pytest.mark.parametrize("nu", [0.5, 1.5, math.inf])


def patches(b=3, n=12, d=2):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(b, n, d))
    Z[0, 3] = Z[0, 7]
    U = np.sin(Z[:, :, :1]) + np.arange(b)[:, None, None] + 0.3 * rng.normal(size=(b, n, 2))
    return Z, U, rng.integers(3, size=(b, n)).astype(float)


def likelihood(theta, Z, U, words, nu):
    """Return the negative log-likelihood at the best amplitude and means, by normal densities."""
    scale = tuple(np.exp(-theta[:2] / 2))
    kernel = Gaussian(scale) if nu == math.inf else Matern(scale, nu)
    similar, total, amount, logs = Hamming(float(np.exp(-theta[2]))), 0.0, 0, 0.0
    for z, u, word in zip(Z, U, words, strict=True):
        K = kernel(z, z) * similar(word[:, None], word[:, None])
        K = K + np.exp(theta[-1]) * np.eye(len(z))

        def cost(mean, K=K, u=u):
            return float(np.sum((u - mean) * np.linalg.solve(K, u - mean)))

        mean = minimize(cost, u.mean(axis=0), tol=1e-12).x
        total, amount = total + cost(mean), amount + u.size
        logs += sum(
            -multivariate_normal(np.full(len(z), m), K).logpdf(c)
            for m, c in zip(mean, u.T, strict=True)
        )
    return logs - total / 2 + 0.5 * amount * (1 + np.log(total / amount))


@SMOOTHNESS
def test_is_the_likelihood_of_independent_patches(nu):
    Z, U, words = patches()
    differ = [(words[:, :, None] != words[:, None]).astype(float)]
    one, two = np.array([0.3, -0.5, 0.4, -1.0]), np.array([-1.0, 0.2, -0.7, -2.0])
    got = [negative_log_patch_evidence(t, Z, U, differ, nu=nu)[0] for t in (one, two)]
    truth = [likelihood(t, Z, U, words, nu) for t in (one, two)]
    assert_allclose(got[0] - got[1], truth[0] - truth[1], rtol=1e-6)


@SMOOTHNESS
def test_gradient(nu):
    Z, U, words = patches()
    differ = [(words[:, :, None] != words[:, None]) / 1.3]
    theta = np.array([0.3, -0.5, 0.4, -1.0])
    value, slope = (
        lambda t, i=i: negative_log_patch_evidence(t, Z, U, differ, nu=nu)[i]
        for i in (0, 1)
    )
    assert check_grad(value, slope, theta) < 1e-4


def test_a_patch_is_independent_of_its_mean_and_of_units():
    Z, U, _ = patches()
    theta = np.array([0.3, -0.5, -1.0])
    moved = 1e3 * U + np.array([5.0, -1e4, 7.0])[:, None, None]
    slopes = [negative_log_patch_evidence(theta, Z, V, [], nu=1.5)[1] for V in (U, moved)]
    assert_allclose(slopes[0], slopes[1], rtol=1e-6, atol=1e-8)


def test_finds_the_length_scales_of_a_gaussian_process():
    rng = np.random.default_rng(1)
    Z = rng.uniform(size=(80, 40, 2))
    truth = Matern((0.2, 2.0), 1.5)
    U = np.stack(
        [
            np.linalg.cholesky(truth(z, z) + 1e-2 * np.eye(40)) @ rng.normal(size=(40, 1))
            for z in Z
        ]
    )
    family = Family(Encoding((None, None)), (0.6, 0.6), nu=1.5)
    found = with_length_scales(family, fit_patch_scales(family, Z, U))
    assert_allclose(np.log(found.scales), np.log([0.2, 2.0]), atol=0.25)


def test_constant_targets_leave_scales_finite():
    family = Family(Encoding((None, None)), (1.0, 1.0), nu=0.5)
    theta = fit_patch_scales(family, patches()[0], np.zeros((3, 12, 1)))
    assert np.isfinite(theta).all()
