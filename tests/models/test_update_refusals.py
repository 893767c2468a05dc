"""Updates that must not pass unnoticed, and those that must not be refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jointdist as jd
from jointdist.kernels import Gaussian
from jointdist.projection.settings import SETTINGS

KERNELS = Gaussian(1.0), Gaussian(1.0)
GIVEN = {"regularization": 1e-3, "random_state": 0, "verbose": 0}


def sample(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    return X, X[:, 0] + rng.normal(size=n)


@pytest.mark.parametrize("columns", [1, 2])
def test_rows_are_not_forgotten_with_other_weights(columns):
    X, y = sample(1000)
    Y = y if columns == 1 else np.column_stack([y, X[:, 0] ** 2])
    model = jd.JointDistribution(*KERNELS, support_size=500, positivity="none", **GIVEN)
    model.fit(X, Y, np.full(1000, 2.0))
    with pytest.raises(
        ValueError, match=r"^JointDistribution.forget: .*with their weights"
    ):
        model.forget(X[:500], Y[:500])
    assert model.moments_.weight == pytest.approx(2000)


def test_values_that_no_row_has_are_not_forgotten():
    X, y = sample(40_000)
    model = jd.JointDistribution(*KERNELS, support_size=500, positivity="none", **GIVEN)
    model.fit(X, y)
    before = model.predict(X[:5])
    for rows in (1, 3, 5):  # as many as there are in the last bin, fewer and more
        with pytest.raises(ValueError, match=r"^JointDistribution.forget: `X, Y` must be"):
            model.forget(X[:rows], y[:rows] + 500)
    assert_allclose(model.predict(X[:5]), before, atol=0)


def test_polynomials_that_were_dropped_come_back_where_rows_are_kept_no_more():
    X, y = sample(300)
    y[:150] = y[:150] > 0  # whose square is itself
    options = {"degree": 2, "positivity": "none", **GIVEN}
    model = jd.PolynomialJointDistribution(support_size=200, **options)
    with pytest.warns(jd.ToleranceWarning, match="combinations of others"):
        model.fit(X[:150], y[:150])
    assert model.dropped_ == (0, 1)
    model.partial_fit(X[150:], y[150:])
    whole = jd.PolynomialJointDistribution(**options).fit(X, y)
    assert model.dropped_ == (0, 0)
    assert_allclose(model.ratio(X, y), whole.ratio(X, y), atol=1e-9)


@pytest.mark.filterwarnings("ignore:PolynomialJointDistribution")
@pytest.mark.parametrize("kind", ["polynomial", "embedding"])
def test_a_model_merges_with_what_it_made(kind):
    X, y = sample(700)
    if kind == "polynomial":
        y = (y > 0).astype(float)
        model = jd.PolynomialJointDistribution(degree=2, positivity="none", **GIVEN)
    else:
        model = jd.ConditionalMeanEmbedding(*KERNELS, positivity="none", **GIVEN)
    model.fit(X[:300], y[:300])
    both = model.merge(model.fit_like(X[300:], y[300:]))
    assert both.moments_.count == 700
    assert_allclose(both.predict(X), model.fit_like(X, y).predict(X), atol=1e-8)


def test_embeddings_of_few_rows_go_on_beyond_support_size():
    X, y = sample(130)
    model = jd.ConditionalMeanEmbedding(
        *KERNELS, support_size=100, positivity="none", **GIVEN
    ).fit(X[:90], y[:90])
    model.partial_fit(X[90:120], y[90:120])
    before = model.predict(X)
    model.partial_fit(X[120:], y[120:]).forget(X[120:], y[120:])
    assert_allclose(model.predict(X), before, atol=1e-8)


@pytest.mark.parametrize("weight", [1e200, 1e300])
def test_weights_whose_squares_overflow_are_refused_where_rows_are_not_kept(weight):
    X, y = sample(400)
    model = jd.JointDistribution(*KERNELS, support_size=100, **GIVEN)
    with pytest.raises(
        ValueError, match=r"^JointDistribution: `sample_weight` must be at most 1e\+100"
    ):
        model.fit(X, y, np.full(400, weight))
    model.fit(X, y, np.full(400, 1e100))
    plain = jd.JointDistribution(*KERNELS, support_size=100, **GIVEN).fit(X, y)
    assert_allclose(model.predict(X[:5]), plain.predict(X[:5]), rtol=1e-9)


def test_a_row_with_nearly_all_weight_is_no_basis_for_a_ridge():
    X, y = sample(300)
    model = jd.JointDistribution(*KERNELS, **GIVEN)
    weights = np.ones(300)
    weights[7] = 1e17
    model.fit(X, y, weights)
    assert_allclose(model.predict(X[7:8]), y[7], rtol=1e-6)
    found = model._fitted.y_given_x.projector
    default = found.with_ridge(SETTINGS.default_ridge)
    assert_allclose(found.family.ridge, default.family.ridge)
