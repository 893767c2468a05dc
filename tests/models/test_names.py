"""Columns are known by name: in events, in distributions of one column, in conditions."""

from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import clone

import jointdist as jd
from jointdist import scores
from jointdist.kernels import Delta, Gaussian

RIDGE = {"regularization": 1e-3, "random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def flights():
    """A table of two numbers given two numbers and a category."""
    rng = np.random.default_rng(0)
    hour, wind = rng.uniform(0, 24, 160), rng.normal(size=160)
    origin = rng.choice(["EWR", "JFK"], 160)
    X = pd.DataFrame({"hour": hour, "wind": wind, "origin": origin}, index=range(100, 260))
    dep = hour + 5 * (origin == "JFK") + rng.normal(size=160)
    Y = pd.DataFrame({"dep_delay": dep, "arr delay": dep + wind}, index=X.index)
    return X, Y


@pytest.fixture(scope="module")
def joint(flights):
    kernel_x = Gaussian(5.0).on(0, 1) * Delta().on(2)
    return jd.JointDistribution(kernel_x, Gaussian(5.0), **RIDGE).fit(*flights)


def test_events_are_asked_by_name(flights, joint):
    X, _ = flights
    dist = joint.given(X[:5])
    points, weights = dist.support_points(), dist.weights()
    late = (points[:, 0] > 10) & (points[:, 1] < 20)
    for event in (
        "dep_delay > 10 and `arr delay` < 20",
        lambda y: (y["dep_delay"] > 10) & (y["arr delay"] < 20),
        lambda y: (y[:, 0] > 10) & (y[:, 1] < 20),
    ):
        assert_allclose(dist.prob(event), weights @ late, atol=1e-10)
    found = dist.expect(lambda y: y["dep_delay"] ** 2)
    assert_allclose(found, weights @ points[:, 0] ** 2, rtol=1e-8)


def test_events_of_x_given_y_have_categories(flights, joint):
    _, Y = flights
    dist = joint.given(y=Y[:5])
    morning = dist.prob("origin == 'JFK' and hour < 12")
    table = dist.support_points()
    expected = dist.weights() @ ((table[:, 2] == "JFK") & (table[:, 0] < 12))
    assert_allclose(morning, expected, atol=1e-10)


def test_columns_without_names_have_those_of_their_side(flights):
    X, Y = flights
    x, y = X[["hour", "wind"]].to_numpy(), Y["dep_delay"].to_numpy()
    model = jd.JointDistribution(Gaussian(5.0), Gaussian(5.0), **RIDGE).fit(x, y)
    assert_allclose(model.given(x[:3]).prob("y > 10"), 1 - model.given(x[:3]).cdf(10.0))
    back = model.given(y=y[:3])
    assert_allclose(back.prob("x1 > 0"), back.prob(lambda x: x[:, 1] > 0))
    with pytest.raises(jd.ExpressionError, match="The columns are 'x0', 'x1'"):
        back.prob("y > 0")
    regressor = jd.DistributionRegressor("kernel", random_state=0, verbose=0)
    found = regressor.fit(x[:80], y[:80]).given(x[:3])
    assert_allclose(found.prob("y <= 10"), found.cdf(10.0), atol=0.01)


def test_errors_of_events_name_the_argument(joint, flights):
    dist = joint.given(flights[0][:2])
    with pytest.raises(
        jd.ExpressionError, match=r"^Conditional\.prob: `event` must be an exp"
    ):
        dist.prob("dep_delay >")
    with pytest.raises(KeyError, match="`column` must be one of"):
        dist.expect(lambda y: y["dest"])


def test_scores_take_events_by_name(flights, joint):
    X, Y = flights
    dist = joint.given(X[:9])
    found = scores.brier_score(dist, Y[:9], "dep_delay > 10")
    expected = scores.brier_score(dist, Y[:9], lambda y: y[:, 0] > 10)
    assert_allclose(found, expected)
    assert scores.negative_probability_share(dist, "dep_delay > 10") == 0


def test_a_column_is_chosen_by_name(flights, joint):
    X, Y = flights
    dist = joint.given(X[:6])
    one, both = dist["arr delay"], dist[["arr delay", "dep_delay"]]
    assert isinstance(one, jd.Conditional)
    assert_allclose(one.mean(), dist.mean()[:, 1])
    assert_allclose(both.mean(), dist.mean()[:, ::-1])
    assert one.encoding.names == ("arr delay",)
    assert_allclose(one[2:4].mean(), dist[2:4]["arr delay"].mean())
    outcome = Y["arr delay"][:6]
    assert set(scores.coverage(one, outcome)) <= {0.0, 1.0}
    assert ((scores.pit(one, outcome) >= 0) & (scores.pit(one, outcome) <= 1)).all()
    assert one.plot().get_xlabel() == "arr delay"


def test_a_categorical_column_is_chosen_by_name(flights, joint):
    _, Y = flights
    dist = joint.given(y=Y[:6])
    origin = dist["origin"]
    assert_allclose(origin.to_frame()["JFK"], dist.prob("origin == 'JFK'"), atol=1e-10)
    assert set(origin.mode()) <= {"EWR", "JFK"}
    assert set(origin.sample(5, random_state=0).ravel()) <= {"EWR", "JFK"}
    assert not dist["hour"].is_discrete


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (
            "dest",
            r"`index` must be one of the columns \['dep_delay', 'arr delay'\].* Got 'dest'",
        ),
        (["dep_delay", "dest"], r"one of the columns .* Got 'dest'"),
        (["dep_delay", "dep_delay"], "must be of columns that are named once"),
        ([], "a choice of at least one distribution"),
    ],
)
def test_columns_that_cannot_be_chosen(joint, flights, index, message):
    with pytest.raises(ValueError, match=rf"^Conditional: .*{message}"):
        joint.given(flights[0][:2])[index]


ESTIMATORS = {
    "joint": lambda: jd.JointDistribution(Gaussian(5.0).on(0, 1) * Delta().on(2), **RIDGE),
    "embedding": lambda: jd.ConditionalMeanEmbedding(
        Gaussian(5.0).on(0, 1) * Delta().on(2), **RIDGE
    ),
    "regressor": lambda: jd.DistributionRegressor("kernel", random_state=0, verbose=0),
    "conformal": lambda: jd.ConformalCalibration(ESTIMATORS["joint"](), random_state=0),
}


@pytest.fixture(scope="module", params=list(ESTIMATORS))
def model(request, flights):
    X, Y = flights
    return ESTIMATORS[request.param]().fit(X[:100], Y["dep_delay"][:100])


def test_one_row_is_a_dict_or_a_series(flights, model):
    X, Y = flights
    expected = model.given(X[3:4]).quantile([0.1, 0.9])
    row = X.iloc[3]
    turned = row[["origin", "wind", "hour"]]
    for one in (row, turned, row.to_dict(), turned.to_dict()):
        assert_allclose(model.given(one).quantile([0.1, 0.9]), expected)
        assert_allclose(model.predict(one), model.predict(X[3:4]))
    several = {name: X[name][:4] for name in ("wind", "origin", "hour")}
    lists = {name: list(column) for name, column in several.items()}
    for many in (several, lists):
        assert_allclose(model.predict(many), model.predict(X[:4]))
        assert_allclose(
            model.score(many, Y["dep_delay"][:4]), model.score(X[:4], Y["dep_delay"][:4])
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"dest": "BOS"},
            r"of the columns \['hour', .*\]\. Got \['dest'\], which are none",
        ),
        ({"hour": None}, r"of the columns .*\. Got no \['hour'\]"),
        (
            {"hour": [1.0, 2.0]},
            "a dict of values, for one row, or of columns. Got a column",
        ),
    ],
)
def test_names_of_a_row_that_do_not_fit(flights, model, change, message):
    row = flights[0].iloc[3].to_dict() | change
    row = {name: value for name, value in row.items() if value is not None}
    with pytest.raises(ValueError, match=rf"\.given: `x` must be {message}"):
        model.given(row)
    if change != {"hour": [1.0, 2.0]}:
        with pytest.raises(ValueError, match=rf"\.given: `x` must be {message}"):
            model.given(pd.Series(row))


def test_columns_of_other_lengths_are_refused(model):
    columns = {"hour": [1.0], "wind": [0.0, 1.0], "origin": ["EWR", "JFK"]}
    with pytest.raises(ValueError, match=r"columns of the same length\. Got {'hour': 1, "):
        model.given(columns)


def test_one_row_of_y(flights, joint):
    _, Y = flights
    found = joint.given(y={"arr delay": Y["arr delay"].iloc[2], "dep_delay": 3.0})
    expected = joint.given(
        y=pd.DataFrame({"dep_delay": [3.0], "arr delay": Y["arr delay"][2:3]})
    )
    assert_allclose(found.weights(), expected.weights())


def test_a_series_is_a_vector_if_x_has_one_column(flights):
    X, Y = flights
    hours = X[["hour"]]
    model = jd.JointDistribution(Gaussian(5.0), Gaussian(5.0), **RIDGE).fit(hours, Y)
    assert len(model.given(X["hour"][:5])) == 5
    assert list(model.given(X["hour"][:5]).to_frame().index) == list(X.index[:5])
    assert len(model.given(pd.Series({"hour": 3.0}))) == 1


def test_frames_keep_the_index(flights, model):
    X, _ = flights
    dist = model.given(X[4:9])
    assert list(dist.to_frame().index) == [104, 105, 106, 107, 108]
    assert list(dist[1:3].to_frame().index) == [105, 106]
    assert list(dist[[3, 0]]["dep_delay"].to_frame().index) == [107, 104]
    assert list(model.given(X.iloc[7]).to_frame().index) == [107]


def test_frames_of_several_columns_keep_the_index(flights, joint):
    X, Y = flights
    found = joint.given(X[4:9])[["arr delay", "dep_delay"]].to_frame([0.5])
    assert list(found.index) == list(X.index[4:9])
    assert list(found.columns)[:2] == ["arr delay_mean", "arr delay_std"]
    assert list(joint.given(y=Y[2:4])["origin"].to_frame().index) == [102, 103]


def test_answers_are_frames_if_asked_for(flights, model):
    X, _ = flights
    framed = copy(model).set_output(transform="pandas")
    plain, dist = model.given(X[4:9]), framed.given(X[4:9])
    found = framed.predict(X[4:9])
    assert isinstance(found, pd.Series)
    assert found.name == "dep_delay"
    assert_allclose(found, model.predict(X[4:9]))
    frame = dist.quantile([0.05, 0.5])
    assert list(frame.columns) == ["q0.05", "q0.5"]
    assert_allclose(frame, plain.quantile([0.05, 0.5]))
    assert list(dist.interval(0.8).columns) == ["lower", "upper"]
    assert_allclose(dist.interval(0.8), plain.interval(0.8))
    named = {"prob": dist.prob("dep_delay > 3"), "std": dist.std(), "cdf": dist.cdf(3.0)}
    named |= {"dep_delay": dist.mean(), "q0.5": dist.quantile(0.5)}
    for name, series in named.items():
        assert series.name == name
    for each in (found, frame, dist.interval(), *named.values()):
        assert list(each.index) == [104, 105, 106, 107, 108]
    assert list(dist[1:3].mean().index) == [105, 106]
    assert isinstance(dist.weights(), np.ndarray)
    assert_allclose(scores.crps(dist, np.zeros(5)), scores.crps(plain, np.zeros(5)))
    assert_allclose(scores.coverage(dist, np.zeros(5)), scores.coverage(plain, np.zeros(5)))
    assert isinstance(model.predict(X[:2]), np.ndarray)  # the other one is as it was


def test_frames_of_several_columns(flights, joint):
    X, _ = flights
    framed = clone(joint).set_output(transform="polars")
    framed = clone(framed).fit(*flights)  # clones keep it
    found = framed.predict(X[:3])
    assert isinstance(found, pl.DataFrame)
    assert found.columns == ["dep_delay", "arr delay"]
    assert_allclose(found.to_numpy(), joint.predict(X[:3]))
    dist = framed.given(X[:3])
    expected = ["dep_delay_q0.1", "dep_delay_q0.9", "arr delay_q0.1", "arr delay_q0.9"]
    assert dist.quantile([0.1, 0.9]).columns == expected
    assert dist.std().columns == ["dep_delay_std", "arr delay_std"]
    assert dist["arr delay"].mean().name == "arr delay"
    assert isinstance(dist.to_frame(), pl.DataFrame)
    assert repr(dist) == repr(joint.given(X[:3]))


def test_the_setting_of_scikit_learn_is_honoured(flights, joint):
    X, _ = flights
    with config_context(transform_output="pandas"):
        assert isinstance(joint.predict(X[:2]), pd.DataFrame)
        own = copy(joint).set_output(transform="default")
        assert isinstance(own.predict(X[:2]), np.ndarray)
    assert isinstance(joint.predict(X[:2]), np.ndarray)
    with pytest.raises(
        ValueError, match=r"set_output: `transform` must be one of .* Got 'x'"
    ):
        joint.set_output(transform="x")
    assert joint.set_output() is joint


@pytest.mark.parametrize("kind", [jd.JointClassifier, jd.KernelLogisticRegression])
def test_classifiers_answer_with_frames(flights, kind):
    X, Y = flights
    numbers, late = X[["hour", "wind"]], np.where(Y["dep_delay"] > 12, "late", "early")
    model = kind(Gaussian(5.0), **RIDGE).fit(numbers, late)
    expected = model.predict_proba(numbers[:3])
    assert_allclose(model.predict_proba(numbers.iloc[2]), expected[2:])
    found = model.set_output(transform="pandas").predict_proba(numbers[:3])
    assert list(found.columns) == ["early", "late"]
    assert list(found.index) == [100, 101, 102]
    assert_allclose(found, expected)
    assert list(model.predict(numbers[:3]).index) == [100, 101, 102]
    assert_allclose(model.predict_log_proba(numbers[:3]), np.log(expected))
    assert model.score(numbers, late) > 0.5
