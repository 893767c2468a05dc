"""Columns are known by name: in events, in distributions of one column, in conditions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import jointdist as jd
from jointdist import scores
from jointdist.kernels import Delta, Gaussian

RIDGE = {"regularization": 1e-3, "random_state": 0, "verbose": 0}


@pytest.fixture(scope="module")
def flights():
    """A table of two numbers given two numbers and a category."""
    rng = np.random.default_rng(0)
    hour, wind = rng.uniform(0, 24, 240), rng.normal(size=240)
    origin = rng.choice(["EWR", "JFK"], 240)
    X = pd.DataFrame({"hour": hour, "wind": wind, "origin": origin}, index=range(100, 340))
    dep = hour + 5 * (origin == "JFK") + rng.normal(size=240)
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
