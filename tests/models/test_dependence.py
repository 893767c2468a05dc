"""Dependence: what the model implies, and whether it may be chance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

import jointdist as jd
from jointdist.kernels import Gaussian


def model(X, y, **arguments):
    return jd.JointDistribution(random_state=0, **arguments).fit(X, y)


@pytest.mark.parametrize("marginals", ["exact", "total", "free"])
def test_both_measures_are_means_over_the_grid(marginals, rng):
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    found = model(X, y, marginals=marginals, regularization=1e-2)
    r = found.ratio(X, y, grid=True)
    r /= r.mean()
    told = found.dependence(permutations=1)
    assert_allclose(told.chi2, np.mean(r**2) - 1, rtol=1e-9)
    information = np.mean(r * np.log(np.where(r > 0, r, 1)))
    assert_allclose(told.mutual_information, information, rtol=1e-8)


@pytest.mark.parametrize("seeds", [80, pytest.param(400, marks=pytest.mark.long)])
def test_p_values_of_independent_data_are_uniform(seeds):
    """X skewed, y rounded, to have ties and tails."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = rng.exponential(size=(60, 1)), rng.normal(size=60).round(1)
        kernels = {"kernel_x": Gaussian(0.7), "kernel_y": Gaussian(0.7)}
        fit = model(X, y, max_rank=8, tol=0.05, regularization=1e-3, **kernels)
        found.append(fit.dependence(permutations=99, random_state=seed).p_value)
    jitter = np.random.default_rng(0).random(seeds) / 100
    assert kstest(np.asarray(found) - jitter, "uniform").pvalue > 0.01
    assert min(found) >= 0.01


def test_dependent_data_are_seen(rng):
    X = rng.normal(size=(300, 1))
    told = model(X, X[:, 0] ** 2 + 0.5 * rng.normal(size=300)).dependence()
    assert told.p_value == 1 / 200
    assert "p = 0.005 for independence (199 permutations)" in str(told)


def test_weights_count(rng):
    X = rng.normal(size=(200, 1))
    y = X[:, 0] + rng.normal(size=200)
    w = rng.integers(0, 3, 200).astype(float)
    weighted = jd.JointDistribution(random_state=0).fit(X, y, sample_weight=w)
    rows = np.repeat(np.arange(200), w.astype(int))
    repeated = model(X[rows], y[rows])
    a, b = (m.dependence(permutations=1) for m in (weighted, repeated))
    assert_allclose(a.chi2, b.chi2, rtol=1e-6)
    assert_allclose(a.mutual_information, b.mutual_information, rtol=1e-6)


@pytest.mark.parametrize("seeds", [50, pytest.param(200, marks=pytest.mark.long)])
def test_p_values_are_uniform_also_where_weights_depend_on_y(seeds):
    """As when classes are balanced by weights."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(120, 1)), (rng.random(120) < 0.1) + 0.0
        w = np.where(y == 1, 9.0, 1.0)
        fit = jd.JointDistribution(
            Gaussian(1.0),
            Gaussian(1.0),
            max_rank=8,
            tol=0.05,
            selection=jd.Selection(cv=0.2),
        )
        told = fit.fit(X, y, sample_weight=w).dependence(permutations=99, random_state=seed)
        found.append(told.p_value)
    jitter = np.random.default_rng(0).random(seeds) / 100
    assert kstest(np.asarray(found) - jitter, "uniform").pvalue > 0.01


def test_permutations_are_whole(rng):
    X = rng.normal(size=(30, 1))
    message = (
        r"^JointDistribution\.dependence: `permutations` must be an integer of at least"
    )
    with pytest.raises(ValueError, match=message):
        model(X, X[:, 0]).dependence(permutations=0)
