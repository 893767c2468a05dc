"""Missing entries of questions are integrated out, over donors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.table import as_rows
from jointdist.kernels import Gaussian
from jointdist.models.donors import find_donors
from jointdist.models.event_rows import WeightedRows

NOISE = 0.5


def _data(n, seed):
    rng = np.random.default_rng(seed)
    x1 = rng.normal(size=n)
    x2 = 0.8 * x1 + 0.6 * rng.normal(size=n)
    return np.column_stack([x1, x2]), x1 + x2 + NOISE * rng.normal(size=n)


def _joint(**options):
    arguments = {"regularization": 1e-6, "random_state": 0, "verbose": 0} | options
    return jd.JointDistribution(Gaussian(2.5), Gaussian(1.5), **arguments)


MODELS = {
    "joint": _joint(),
    "regressor": jd.DistributionRegressor(
        LinearRegression(),
        scale=False,
        distribution=_joint(regularization=1e-3),
        random_state=0,
        verbose=0,
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """Return a model that integrates out what is missing."""
    return MODELS[request.param].fit(*_data(4000, 0))


def test_normal_data(model):
    """Means are within 5 % of a standard deviation, coverage of 90 % within 2 %."""
    X, _ = _data(200, 1)
    X = X[np.abs(X[:, 0]) < 2.5]  # where the model itself is not extrapolating
    true, sd = 1.8 * X[:, 0], np.sqrt(0.36 + NOISE**2)
    X[:, 1] = np.nan
    dist = model.given(X)
    assert np.abs((dist.mean() - true) / sd).mean() < 0.05
    low, high = dist.interval(0.9).T
    cover = norm.cdf((high - true) / sd) - norm.cdf((low - true) / sd)
    assert abs(cover.mean() - 0.9) < 0.02
    assert_allclose(model.predict(X), dist.mean())


def test_complete_rows_are_not_changed(model):
    X, y = _data(6, 2)
    wanted = model.given(X).mean()
    both = X.copy()
    both[3, 0] = np.nan
    found = model.given(both).mean()
    known = np.arange(6) != 3
    assert_allclose(found[known], wanted[known], atol=1e-9)
    assert abs(found[3] - wanted[3]) > 1e-3
    assert np.isfinite(model.score(both, y))


def test_without_a_known_entry_there_is_the_marginal(model):
    dist = model.given([[np.nan, np.nan], [np.nan, np.nan]])
    assert len(dist) == 2
    _, y = _data(4000, 0)
    assert_allclose(dist.mean(), y.mean(), atol=0.05)
    assert_allclose(dist.quantile(0.9), np.quantile(y, 0.9), atol=0.1)


def test_models_refuse_what_is_missing_if_asked_to():
    model = _joint(missing="error").fit(*_data(100, 0))
    with pytest.raises(ValueError, match=r"`x` must be complete, .*1 missing in column 0"):
        model.given([[np.nan, 1.0]])


def test_embeddings_and_classifiers_answer_too():
    X, y = _data(300, 0)
    model = jd.ConditionalMeanEmbedding(
        Gaussian(2.5), Gaussian(1.5), regularization=1e-4, random_state=0
    ).fit(X, y)
    assert abs(model.predict([[1.0, np.nan]])[0] - 1.8) < 0.3
    labels = jd.JointClassifier(Gaussian(2.0), regularization=1e-3, random_state=0)
    labels.fit(X, y > 0)
    assert labels.predict_proba([[2.0, np.nan]])[0, 1] > 0.9
    logistic = jd.KernelLogisticRegression(Gaussian(2.0), regularization=1e-4)
    chance = logistic.fit(X, y > 0).predict_proba([[2.0, np.nan], [0.0, np.nan]])[:, 1]
    truth = norm.cdf(1.8 * np.array([2.0, 0.0]) / np.sqrt(0.36 + NOISE**2))
    assert_allclose(chance, truth, atol=0.1)


def _sample(table, weights=None):
    rows = as_rows(table, where="", name="")
    return WeightedRows(rows, np.ones(len(table)) if weights is None else weights)


def test_donors_keep_what_is_known():
    X, _ = _data(500, 3)
    design = Design.plain(Encoding((None, None)))
    rows = as_rows(np.array([[0.5, 0.0], [0.5, 0.0], [1.0, 2.0]]), where="", name="")
    missing = np.array([[False, True], [False, True], [False, False]])
    found = find_donors(rows, missing, _sample(X), design)
    assert_array_equal(found.which, [0, 0, 1])  # equal questions share their donors
    assert_array_equal(found.groups.sizes, [32, 1])
    table = found.rows.table()
    assert_array_equal(table[:32, 0], 0.5)
    assert_array_equal(table[32], [1.0, 2.0])
    assert abs(table[:32, 1].mean() - 0.4) < 0.1
    assert abs(table[:32, 1].std() - 0.6) < 0.1


def test_a_linear_relation_is_followed_exactly():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(400, 5))
    X = np.column_stack([z, z @ [1.0, -1.0, 0.5, 0.0, 2.0]])
    rows = as_rows(np.array([[0.5, 0.5, -0.5, 0.1, 0.3, 0.0]]), where="", name="")
    missing = np.array([[False] * 5 + [True]])
    found = find_donors(rows, missing, _sample(X), Design.plain(Encoding((None,) * 6)))
    wanted = 0.5 - 0.5 - 0.25 + 0.6
    # A ridge of one effective row shrinks slopes by a few per cent.
    assert_allclose(found.rows.table()[:, -1], wanted, atol=0.25)
    assert abs(found.rows.table()[:, -1].mean() - wanted) < 0.05


def test_categories_are_given_by_donors_alike():
    rng = np.random.default_rng(0)
    code = rng.integers(3, size=600).astype(float)
    other = np.where(rng.random(600) < 0.9, code, rng.integers(3, size=600))
    X = np.column_stack([code, other, 10 * code + rng.normal(size=600)])
    design = Design.plain(Encoding((("a", "b", "c"), ("a", "b", "c"), None)))
    rows = as_rows(np.array([[2.0, 0, 0], [1.0, 0, 0]]), where="", name="")
    missing = np.array([[False, True, True], [False, True, False]])
    found = find_donors(rows, missing, _sample(X), design)
    table = found.rows.table()
    first, second = np.split(table, [found.groups.starts[1]])
    assert {first[0, 0], second[0, 0]} == {1.0, 2.0}
    of_two = first if first[0, 0] == 2 else second
    assert (of_two[:, 1] == 2).mean() > 0.75
    assert abs(of_two[:, 2].mean() - 20) < 1.5
    assert set(np.unique(table[:, 1])) <= {0.0, 1.0, 2.0}


def test_rows_of_no_weight_are_no_donors():
    X, _ = _data(200, 3)
    weights = np.where(X[:, 1] > 0, 1.0, 0.0)
    rows = as_rows(np.zeros((1, 2)), where="", name="")
    missing = np.array([[True, True]])
    found = find_donors(
        rows, missing, _sample(X, weights).positive(), Design.plain(Encoding((None, None)))
    )
    assert (found.rows.table()[:, 1] > 0).all()
