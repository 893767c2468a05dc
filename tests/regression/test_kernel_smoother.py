"""Fitted kernel regressions: sums of the kernel at landmarks that equal the regression."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Gaussian, Laplace, Matern, Polynomial
from jointdist.regression.kernel_fit import fit_kernel
from jointdist.regression.kernel_smoother import KernelSmoother
from jointdist.regression.regression_data import RegressionData


def table(X):
    """Return a table of rows."""
    return Rows(X, "test", "X")


def sample(n, d=2, noise=0.1, seed=0, *, weighted=False):
    """Return rows with two targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    T = np.c_[np.sin(2 * X[:, 0]), 5 + X[:, -1] ** 2] + noise * rng.normal(size=(n, 2))
    return RegressionData(table(X), T, rng.uniform(0.5, 2, size=n) if weighted else None)


def new(d=2, q=30):
    """Return rows to predict at."""
    return np.random.default_rng(9).normal(size=(q, d))


def dense(fit, data, at):
    """Return kernel ridge regression by inverses of whole matrices, its constant not shrunk."""
    X, P, k = data.x.source, fit.landmarks, fit.kernel
    inside = np.linalg.inv(k(P, P))
    K, at_new = k(X, P) @ inside @ k(P, X), k(at, P) @ inside @ k(P, X)
    w = np.ones(len(X)) if data.weights is None else data.weights
    found = []
    for t, ridge in zip(data.targets.T, fit.ridge, strict=True):
        A = np.linalg.inv(K + w.sum() * ridge * np.diag(1 / w))
        constant = (A @ t).sum() / A.sum()
        found.append(constant + at_new @ A @ (t - constant))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rank", [8, 60])
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Matern((1.0, 2.0)), Matern(1.0, nu=0.5), Laplace(1.0)]
)
def test_the_regression_by_inverses(kernel, rank, weighted):
    data = sample(60, weighted=weighted)
    # Smaller ridges would leave nothing of the inverses but rounding.
    fit = fit_kernel(kernel, data, max_rank=rank, ridges=(1e-5, 1e-3, 1e-1))
    found, former = fit.smoother().predict(table(new())), fit.regression
    assert_allclose(found, dense(fit, data, new()), atol=1e-8)
    spread = data.targets.std(axis=0)
    before = former.predict(table(new()), fit.ridge)
    assert (abs(found - before) / spread).max() < 1e-9


def exactly(fit, points):
    """Return the regression from its features, by substitution in extended precision."""
    regression = fit.regression
    K, C = regression.basis.map.columns(points), regression.basis.map.core
    K, C = K.astype(np.longdouble), C.astype(np.longdouble)
    phi = np.empty_like(K)
    for i in range(len(C)):
        phi[i] = (K[i] - C[i, :i] @ phi[:i]) / C[i, i]
    basis = regression.basis
    shrunk = np.add.outer(basis.eigenvalues, regression.weight * fit.ridge)
    slopes = basis.rotation.astype(np.longdouble) @ (regression.products / shrunk)
    return regression.mean + (phi.T - basis.mean) @ slopes


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs extended precision")
@pytest.mark.parametrize(("scale", "d"), [(1.5, 2), (6.0, 2), (6.0, 3), (6.0, 1)])
def test_rounding_of_nearly_singular_kernel_matrices(scale, d):
    """The sum rounds by the machine precision times its terms, as the features did."""
    data = sample(300, d, noise=0.0)
    fit = fit_kernel(Gaussian(scale), data, max_rank=300)
    small, points = fit.smoother(), table(new(d))
    exact = exactly(fit, points.source)
    errors = abs(small.predict(points) - exact).max(axis=0)
    largest = abs(small.coefficients).max(axis=0)
    assert (errors < 2e-15 * fit.regression.basis.rank * largest).all()
    former = abs(fit.regression.predict(points, fit.ridge) - exact).max(axis=0)
    assert (errors < 4 * former).all()


def test_what_is_kept():
    """Pickles are small, and answer the same to the last bit, in any blocks."""
    data = sample(400, 5)
    fit = fit_kernel(Matern(1.0), data, max_rank=400)
    small = fit.smoother()
    assert small.rank == 400
    stored = pickle.dumps(small)
    assert len(stored) < 400 * (5 + 2) * 8 + 1000
    found = small.predict(table(new(5)))
    assert_array_equal(pickle.loads(stored).predict(table(new(5))), found)  # noqa: S301
    blocks = Executor(workers=2, block_rows=7)
    assert_allclose(small.predict(table(new(5)), blocks), found, rtol=1e-12)
    assert repr(small) == "KernelSmoother(Matern(scale=1.0, nu=1.5), 400 landmarks)"


def test_no_landmarks():
    """A kernel that is zero on the sample leaves the mean."""
    data = RegressionData(table(np.zeros((5, 1))), np.arange(5.0)[:, None])
    small = fit_kernel(Polynomial(1, 0.0), data, max_rank=5).smoother()
    assert small.rank == 0
    assert_allclose(small.predict(table(np.ones((3, 1)))), np.full((3, 1), 2.0))


def test_array_libraries(xp):
    """Landmarks and rows may be arrays of different libraries."""
    P, B, Z = np.random.default_rng(0).normal(size=(3, 6, 2))
    truth = 1 + Gaussian()(Z, P) @ B
    for landmarks in (P, xp.asarray(P)):
        same = np.asarray if landmarks is P else xp.asarray
        small = KernelSmoother(Gaussian(), landmarks, same(B), np.ones(2))
        for rows in (Z, xp.asarray(Z)):
            found = small.predict(table(rows))
            assert isinstance(found, np.ndarray)
            assert_allclose(found, truth, rtol=1e-12)
