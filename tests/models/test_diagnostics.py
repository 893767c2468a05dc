"""Diagnostics of conditional distributions, a row each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.kernels import Gaussian

pandas = pytest.importorskip("pandas")
COLUMNS = ["novelty", "effective_size", "leverage", "n_outside", "outside"]
QUICK = {"regularization": 1e-2, "random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def data():
    """Return a table of two columns, and outcomes."""
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(rng.uniform(size=(150, 2)), columns=["a", "b"])
    return X, X["a"].to_numpy() + 0.1 * rng.normal(size=150)


def _joint(**options):
    return jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), **QUICK | options)


MODELS = [
    _joint(),
    _joint(positivity="none"),
    jd.ConditionalMeanEmbedding(Gaussian(1.0), Gaussian(1.0), **QUICK),
    jd.DistributionRegressor(
        LinearRegression(), scale=False, distribution=_joint(), random_state=0, verbose=0
    ),
]


@pytest.mark.parametrize("model", MODELS, ids=["projected", "signed", "cme", "regressor"])
def test_a_row_for_each_condition(model, data):
    X, y = data
    asked = pandas.DataFrame({"a": [0.5, 7.0, -3.0], "b": [0.5, 0.5, 9.0]})
    with pytest.warns(jd.OutOfDistributionWarning, match="a is below the range seen"):
        dist = model.fit(X, y).given(asked)
    found = dist.diagnostics()
    assert list(found.columns) == COLUMNS
    assert_array_equal(found["n_outside"], [0, 1, 2])
    assert list(found["outside"]) == ["", "a", "a, b"]
    assert_allclose(found["novelty"], dist.novelty())
    assert_allclose(found["effective_size"], dist.effective_size())
    assert (found["leverage"] > 0).all()
    assert list(dist[[2, 0]].diagnostics()["outside"]) == ["a, b", ""]


def test_leverage_is_that_of_the_ridge_regression(data):
    """An outcome moved at a row moves the fitted value there by the leverage."""
    X, _ = data
    model = _joint(positivity="none", regularization=1e-3)
    y = np.sin(5 * X["a"].to_numpy())
    model.fit(X, y)
    basis, n = model.basis_x_, len(X)
    psi = np.asarray(basis.features(X.to_numpy()))
    c = np.asarray(basis.eigenvalues) / n
    ridge = 1e-3 / (np.asarray(model.basis_y_.eigenvalues)[0] / n)
    hat = psi @ np.diag(1 / (c + ridge)) @ psi.T / n + 1 / n
    found = model.given(X).diagnostics()["leverage"]
    assert_allclose(found, np.diag(hat))
    assert found.between(0, 1).all()


def test_embeddings_and_events(data):
    X, y = data
    model = _joint().fit(X, y)
    found = model.given(where="a > 0.5").diagnostics()
    assert_array_equal(found["n_outside"], [0])
    assert found["leverage"].isna().all()
    mixed = model.reweighted(X[:20]).marginal("y").diagnostics()
    assert_allclose(mixed["leverage"], model.given(X[:20]).diagnostics()["leverage"].mean())
    assert len(mixed) == 1
