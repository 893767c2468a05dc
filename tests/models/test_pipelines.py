"""Questions through pipelines and searches are those to the last step, by hand."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import jointdist as jd
from jointdist.kernels import Gaussian

LEVELS = [0.1, 0.5, 0.9]
KERNELS = Gaussian(1.0), Gaussian(0.5)
JOINT = jd.JointDistribution(*KERNELS, regularization=1e-3, random_state=0, verbose=0)


@cache
def table():
    """Return rows whose columns have units far apart, with an index of names, and outcomes."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 80))
    letters = np.array(list("ab"))[rng.integers(0, 2, 80)]
    index = [f"row {i}" for i in range(80)]
    X = pd.DataFrame({"u": 1e3 * u + 7e3, "v": 1e-3 * v, "letter": letters}, index=index)
    y = pd.Series(np.sin(u) + 0.3 * v + (letters == "a"), index=index, name="y")
    return X, y


def numbers():
    X, y = table()
    return X[["u", "v"]], y


def same(dist, other):
    return np.array_equal(dist.quantile(LEVELS), other.quantile(LEVELS))


@cache
def scaled():
    """Return a fitted pipeline, the scaler and the model of its own, fitted by hand."""
    X, y = numbers()
    scaler = StandardScaler().fit(X)
    model = jd.JointDistribution(**JOINT.get_params(deep=False))
    by_hand = model.fit(scaler.transform(X), y)
    return make_pipeline(StandardScaler(), JOINT).fit(X, y), scaler, by_hand


def wrapped():
    """Return estimators that end in the same model, by name."""
    X, y = numbers()
    pipe, scaler, model = scaled()
    grid = {"regularization": [1e-3]}
    steps = {f"jointdistribution__{name}": value for name, value in grid.items()}
    search = GridSearchCV(make_pipeline(StandardScaler(), JOINT), steps, cv=KFold(2))
    random = RandomizedSearchCV(JOINT, grid, n_iter=1, cv=KFold(2), random_state=0)
    nested = make_pipeline(make_pipeline(StandardScaler()), make_pipeline(JOINT))
    return {
        "pipeline": pipe,
        "search of a pipeline": search.fit(X, y),
        "pipeline with a search": make_pipeline(StandardScaler(), random).fit(X, y),
        "pipeline of pipelines": nested.fit(X, y),
        "with a step that passes": make_pipeline(
            "passthrough", StandardScaler(), "passthrough", JOINT
        ).fit(X, y),
        "frozen": FrozenEstimator(pipe),
        "pipeline with a frozen model": make_pipeline(scaler, FrozenEstimator(model)),
    }


def test_the_last_step_is_asked_through_all_transformations():
    X, _ = numbers()
    _, scaler, model = scaled()
    want = model.given(scaler.transform(X[:9]))
    for name, estimator in wrapped().items():
        assert same(jd.given(estimator, X[:9]), want), name
        assert same(jd.given(estimator, x=X[:9]), want), name
    assert not same(model.given(X[:9].to_numpy()), want)  # the transformation matters


def test_a_model_is_asked_as_it_is():
    X, y = table()
    model = jd.JointDistribution(Gaussian(1e3).on(0), KERNELS[1], regularization=0.1)
    model.fit(X, y)
    assert same(jd.given(model, X[:5]), model.given(X[:5]))
    assert same(jd.given(model, X[:5].iloc[::-1]), model.given(X[:5])[::-1])


@pytest.mark.parametrize(
    "model",
    [
        jd.ConditionalMeanEmbedding(*KERNELS, regularization=1e-3, random_state=0),
        jd.DistributionRegressor("kernel", distribution=JOINT, random_state=0, verbose=0),
        jd.ConformalCalibration(JOINT, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_at_the_end(model):
    X, y = numbers()
    pipe = make_pipeline(StandardScaler(), model).fit(X, y)
    want = pipe[-1].given(pipe[:-1].transform(X[:6]))
    assert same(jd.given(pipe, X[:6]), want)


def test_columns_keep_their_names_where_transformers_return_data_frames():
    X, y = table()
    columns = ColumnTransformer(
        [
            ("scaled", StandardScaler(), ["u", "v"]),
            ("coded", OneHotEncoder(sparse_output=False), ["letter"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    kernel = Gaussian(np.ones(4))
    pipe = make_pipeline(
        columns, jd.JointDistribution(kernel, KERNELS[1], regularization=1e-3)
    )
    pipe.fit(X, y)
    assert list(pipe[-1].feature_names_in_) == ["u", "v", "letter_a", "letter_b"]
    want = jd.given(pipe, X[:8])
    assert same(jd.given(pipe, X[["letter", "v", "u"]][:8]), want)  # by name, not by place
    with pytest.raises(ValueError, match="columns are missing"):
        jd.given(pipe, X[["u", "v"]][:8])


class Echo(RegressorMixin, BaseEstimator):
    """A model of somebody else: `given` returns what it was asked."""

    def fit(self, X, _y):
        self.n_features_in_ = X.shape[1]
        return self

    def given(self, x=None, **conditions):
        return x, conditions


def test_data_frames_reach_the_model_with_index_and_dtypes():
    X, y = table()
    idle = FunctionTransformer(lambda frame: frame)
    pipe = make_pipeline(idle, idle, Echo()).fit(X, y)
    asked, rest = jd.given(pipe, X[3:7])
    pd.testing.assert_frame_equal(asked, X[3:7])
    assert rest == {}
    scaler = StandardScaler().set_output(transform="pandas")
    asked, _ = jd.given(make_pipeline(scaler, Echo()).fit(*numbers()), numbers()[0][3:7])
    assert list(asked.index) == [f"row {i}" for i in range(3, 7)]
    assert list(asked.columns) == ["u", "v"]


def test_other_conditions_are_passed_on_as_they_are():
    pipe = make_pipeline(StandardScaler(), Echo()).fit(*numbers())
    assert jd.given(pipe, where="u > 0") == (None, {"where": "u > 0"})
    asked, rest = jd.given(pipe, numbers()[0][:2], level=3)
    assert asked.shape == (2, 2)
    assert rest == {"level": 3}


def test_x_given_y_is_that_of_the_columns_of_the_last_step():
    pipe, _, model = scaled()
    y = table()[1][:4]
    assert_array_equal(jd.given(pipe, y=y).mean(), model.given(y=y).mean())


def test_what_is_not_fitted_is_told():
    X, _ = numbers()
    grid = {"regularization": [1e-3, 1.0]}
    for estimator in (
        jd.JointDistribution(),
        make_pipeline(StandardScaler(), jd.JointDistribution()),
        make_pipeline(jd.JointDistribution()),
        GridSearchCV(jd.JointDistribution(), grid),
        make_pipeline(StandardScaler(), GridSearchCV(jd.JointDistribution(), grid)),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            jd.given(estimator, X)


RULE = "a model with a method `given`, or a pipeline or search with one"


@pytest.mark.parametrize(
    ("estimator", "rule", "got"),
    [
        (LinearRegression(), RULE, "LinearRegression"),
        (make_pipeline(StandardScaler(), LinearRegression()), RULE, "LinearRegression"),
        (Pipeline([("a", StandardScaler()), ("b", "passthrough")]), RULE, "'passthrough'"),
        ("JointDistribution", RULE, "'JointDistribution'"),
        (
            make_pipeline(StandardScaler(), TransformedTargetRegressor(JOINT)),
            f"{RULE}; transform Y before `fit`, as distributions have the unit of their outcomes",
            "TransformedTargetRegressor",
        ),
        (
            GridSearchCV(JOINT, {"regularization": [1.0]}, cv=2, refit=False),
            "a search with `refit=True`",
            "GridSearchCV with refit=False",
        ),
    ],
)
def test_estimators_without_distributions_are_refused(estimator, rule, got):
    X, y = numbers()
    if hasattr(estimator, "fit"):
        estimator.fit(X, y)
    message = f"given: `estimator` must be {rule}. Got {got}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        jd.given(estimator, X)


def test_a_question_needs_a_condition():
    pipe, _, _ = scaled()
    message = (
        r"^given: `x` must be rows of X, unless another argument of the model's `given` "
        r"has the condition\. Got None\.$"
    )
    for conditions in ({}, {"x": None}, {"y": None}):
        with pytest.raises(ValueError, match=message):
            jd.given(pipe, **conditions)


def test_models_know_what_they_take():
    embedding = jd.ConditionalMeanEmbedding(*KERNELS, regularization=1.0)
    pipe = make_pipeline(StandardScaler(), embedding).fit(*numbers())
    with pytest.raises(TypeError, match="given"):
        jd.given(pipe, numbers()[0], y=[1.0])
