"""Kernel ridge regression: the kernels that are chosen, and their average."""

import numpy as np
from numpy.testing import assert_allclose

from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.kernels import Gaussian, Matern
from jointdist.kernels.median_heuristic import family_of
from jointdist.regression.kernel_choice import choose_kernels
from jointdist.regression.kernel_fit import fit_kernel
from jointdist.regression.kernel_ridge import kernel_regression
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.stacking import stacking_weights


def rows(n):
    """Return rows of a wave with noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * np.exp(0.6 * X[:, 1]) * rng.normal(size=n)


def family(x):
    """Return the kernels of the median heuristic."""
    rng, encoding = np.random.default_rng(0), Encoding((None,) * x.d)
    return family_of("x", "auto", encoding, x, weights=None, rng=rng)


def test_a_rough_function_gets_a_rough_kernel():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2))
    path = np.cumsum(rng.normal(size=1001)) / np.sqrt(1000)
    rough = path[(1000 * X[:, 0]).astype(int)]
    smooth = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=500)
    data = RegressionData(Rows(X, "test", "X"), rough[:, None])
    best, _ = choose_kernels(family(data.x), data, max_rank=300)
    assert isinstance(best[0].kernel, Matern)
    assert best[0].kernel.nu == 0.5
    assert best[0].kernel.scale[1] > 3 * best[0].kernel.scale[0]
    assert [fit.error for fit in best] == sorted(fit.error for fit in best)
    data = RegressionData(data.x, smooth[:, None])
    best, _ = choose_kernels(family(data.x), data, max_rank=300)
    assert isinstance(best[0].kernel, Gaussian)


def test_the_average_is_the_best_on_the_simplex():
    left = np.random.default_rng(0).normal(size=(3, 50, 1)) * [
        [[1.0]],
        [[2.0]],
        [[9.0]],
    ]
    w = np.random.default_rng(1).uniform(size=50)
    shares = stacking_weights(left, w)[:, 0]
    assert_allclose(shares.sum(), 1.0)
    own = np.sum(w * (shares @ left[:, :, 0]) ** 2)
    for other in np.random.default_rng(2).dirichlet(np.ones(3), size=2000):
        assert own <= np.sum(w * (other @ left[:, :, 0]) ** 2) + 1e-9
    assert_allclose(stacking_weights(1e-200 * left, w)[:, 0], shares)
    assert_allclose(stacking_weights(0 * left, w).sum(axis=0), 1.0)


def test_many_rows_are_judged_by_some():
    X, y = rows(4500)
    data = RegressionData(Rows(X, "test", "X"), y[:, None])
    fit, left = kernel_regression(family(data.x), data, max_rank=100)
    assert left.shape == (4500, 1)
    found = fit.predict(data.x)
    assert np.sqrt(np.mean((found[:, 0] - np.sin(2 * X[:, 0])) ** 2)) < 0.03
    assert np.mean(left**2) > np.mean((y[:, None] - found) ** 2)


def test_a_large_table():
    """Pivots are those of a part of the rows, all of which are regressed on."""
    X, y = rows(130_000)
    data = RegressionData(Rows(X, "test", "X"), y[:, None])
    fit = fit_kernel(Gaussian(1.0), data, max_rank=60)
    assert fit.regression.weight == 130_000
    found = fit.smoother().predict(data.x)[:, 0]
    assert np.sqrt(np.mean((found - np.sin(2 * X[:, 0])) ** 2)) < 0.01
