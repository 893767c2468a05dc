"""Conditioning on events: the distribution of Y given that X lies in a set."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import jointdist as jd
from jointdist.datasets import load_flights
from jointdist.kernels import Delta, Gaussian

N = 600


@pytest.fixture(scope="module")
def data():
    """Return X and Y of a linear model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, X @ [1.0, 0.5] + 0.5 * rng.normal(size=N)


def _regressor():
    return jd.DistributionRegressor(
        LinearRegression(), scale=False, distribution=_joint(), random_state=0, verbose=0
    )


def _joint(positivity="projected", **options):
    return jd.JointDistribution(
        Gaussian(2.0),
        Gaussian(1.0),
        regularization=1e-3,
        positivity=positivity,
        random_state=0,
        verbose=0,
        **options,
    )


def _embedding(positivity):
    return jd.ConditionalMeanEmbedding(
        Gaussian(2.0),
        Gaussian(1.0),
        regularization=1e-3,
        positivity=positivity,
        random_state=0,
        verbose=0,
    )


@pytest.mark.parametrize("marginals", ["exact", "total", "free"])
def test_the_signed_model_is_averaged_exactly(data, marginals):
    X, y = data
    model = _joint("none", marginals=marginals).fit(X, y)
    inside = X[:, 0] > 0.5
    ratio = model.ratio(X[inside], y, grid=True).mean(axis=0)
    wanted = ratio / ratio.sum()
    dist = model.given(where=lambda x: x[:, 0] > 0.5)
    assert len(dist) == 1
    assert_allclose(dist.weights()[0], wanted, atol=1e-9)
    assert_allclose(model.given(where=inside).weights()[0], wanted, atol=1e-9)


def test_weights_of_rows_count(data):
    X, y = data
    w = np.random.default_rng(1).integers(0, 3, N).astype(float)
    model = _joint("none").fit(X, y, w)
    inside = (X[:, 0] > 0.5) * w
    ratio = inside @ model.ratio(X, y, grid=True) / inside.sum()
    found = model.given(where=lambda x: x[:, 0] > 0.5).weights()[0]
    assert_allclose(found, w * ratio / (w @ ratio), atol=1e-9)


def test_signed_embeddings_are_averaged(data):
    X, y = data
    model = _embedding("none").fit(X, y)
    inside = X[:, 0] > 0.5
    wanted = model.given(X[inside]).weights().mean(axis=0)
    assert_allclose(model.given(where=inside).weights()[0], wanted, atol=1e-9)


def test_everything_is_the_marginal(data):
    X, y = data
    model = _joint().fit(X, y)
    dist = model.given(where=lambda x: x[:, 0] < np.inf)
    assert_allclose(dist.mean(), y.mean(), atol=1e-6)
    assert_allclose(dist.cdf([0.0], grid=True)[0], (y <= 0).mean(), atol=0.01)


def _truth(low):
    """Return mean and cdf of x + noise/2 given x > low."""
    x = np.linspace(low, 8, 20_001)
    p = norm.pdf(x)
    p /= p.sum()

    def cdf(v):
        return p @ norm.cdf((v - x) / np.sqrt(0.25 + 0.25))

    return p @ x, cdf


@pytest.mark.parametrize(
    "model",
    [
        jd.JointDistribution(
            Gaussian(2.0), Gaussian(1.0), regularization=1e-4, random_state=0
        ),
        jd.PolynomialJointDistribution(degree=4, regularization=1e-6, random_state=0),
        jd.ConditionalMeanEmbedding(
            Gaussian(2.0), Gaussian(1.0), regularization=1e-4, random_state=0
        ),
        _regressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_normal_data(model):
    """The mean and the cdf agree with those of the truncated normal distribution.

    Tolerance: four standard errors of the mean over the rows of the fit in the event, plus
    a hundredth of a standard deviation for the model.
    """
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 2))
    y = X @ [1.0, 0.5] + 0.5 * rng.normal(size=1000)
    dist = model.fit(X, y).given(where=lambda x: x[:, 0] > 0.5)
    inside = y[X[:, 0] > 0.5]
    mean, cdf = _truth(0.5)
    error = 4 * inside.std() / np.sqrt(len(inside))
    assert abs(dist.mean()[0] - mean) < error + 0.01
    for v in (0.5, 1.5):
        p = cdf(v)
        error = 4 * np.sqrt(p * (1 - p) / len(inside))
        assert abs(dist.cdf([v], grid=True)[0, 0] - p) < error + 0.01
    assert abs(dist.quantile(0.5)[0] - np.median(inside)) < 0.15


@pytest.mark.parametrize("kind", ["joint", "regressor"])
def test_flights(kind):
    """Held-out flights in the event have the mean and the cdf of the distribution.

    The test: the distance is below four standard errors of the average over the held-out
    rows, plus three hundredths of their standard deviation, or of one, for the model.
    """
    flights = load_flights()
    X = np.column_stack([flights[c] for c in ("hour", "distance", "dep_delay")])
    y = np.asarray(flights["arr_delay"])
    rows = np.random.default_rng(0).permutation(len(y))
    train, held = rows[:2000], rows[2000:]
    kernels = Gaussian((10.0, 2000.0, 100.0)), Gaussian(50.0)
    model = jd.JointDistribution(*kernels, regularization=1e-5, random_state=0, verbose=0)
    if kind == "regressor":
        model = _regressor()
    model.fit(X[train], y[train])
    dist = model.given(where=lambda x: (x[:, 2] > 15) & (x[:, 0] > 12))
    inside = y[held][(X[held, 2] > 15) & (X[held, 0] > 12)]
    # Both the held-out average and that of the fitted rows have an error.
    count = ((X[train, 2] > 15) & (X[train, 0] > 12)).sum()
    size = 1 / (1 / len(inside) + 1 / count)
    error = inside.std() * (4 / np.sqrt(size) + 0.03)
    assert abs(dist.mean()[0] - inside.mean()) < error
    for v in (0.0, 30.0, 60.0):
        p = (inside <= v).mean()
        error = 4 * np.sqrt(p * (1 - p) / size) + 0.03
        assert abs(dist.cdf([v], grid=True)[0, 0] - p) < error


def test_expressions_know_columns_by_name(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = _joint().fit(frame, y)
    mask = (X[:, 0] > 0.5) & (X[:, 1] < 0)
    wanted = model.given(where=mask).mean()
    assert_array_equal(model.given(where="a > 0.5 and b < 0").mean(), wanted)
    assert_array_equal(
        model.given(where=lambda x: (x["a"] > 0.5) & (x["b"] < 0)).mean(), wanted
    )


def test_categories_and_classifiers():
    rng = np.random.default_rng(0)
    X = np.array([["a", "b"][i] for i in rng.integers(2, size=200)], dtype=object)[:, None]
    y = np.where((X[:, 0] == "a") ^ (rng.random(200) < 0.2), "yes", "no")
    model = jd.JointClassifier(Delta(), regularization=1e-3, random_state=0).fit(X, y)
    dist = model.given(where=lambda x: x == "a")
    share = (y[X[:, 0] == "a"] == "yes").mean()
    assert abs(dist.prob(lambda label: label == "yes")[0] - share) < 0.05
    joint = jd.JointDistribution(Delta(), Delta(), regularization=1e-3)
    discrete = jd.DistributionRegressor(distribution=joint, random_state=0).fit(X, y)
    same = discrete.given(where=lambda x: x == "a")
    assert abs(same.prob(lambda label: label == "yes")[0] - share) < 0.05


def test_regressors_read_tables_of_the_kept_sample():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    letters = np.array(["u", "v"])[rng.integers(2, size=200)]
    frame = pandas.DataFrame({"letter": letters, "x": rng.normal(size=200)})
    y = (letters == "v") * 3.0 + frame["x"].to_numpy() + 0.1 * rng.normal(size=200)
    columns = make_column_transformer(
        (OneHotEncoder(), ["letter"]), remainder="passthrough"
    )
    regressor = make_pipeline(columns, LinearRegression())
    model = _regressor().set_params(regressor=regressor).fit(frame, y)
    dist = model.given(where="letter == 'v'")
    assert_allclose(dist.mean()[0], y[letters == "v"].mean(), atol=0.05)


def test_compressed_supports_answer_alike():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 1))
    y = x[:, 0] + 0.5 * rng.normal(size=4000)
    event = lambda x: x > 0.5  # noqa: E731
    full = _joint().fit(x, y).given(where=event)
    few = _joint(support_size=500).fit(x, y).given(where=event)
    assert_allclose(few.mean(), full.mean(), atol=0.01)
    assert_allclose(few.quantile(0.9), full.quantile(0.9), atol=0.03)


def test_an_empty_event_is_refused(data):
    X, y = data
    model = _joint().fit(X, y)
    message = r"JointDistribution.given: `where` must be an event that some support points"
    with pytest.raises(ValueError, match=message + ".*none of the 600 does"):
        model.given(where=lambda x: x[:, 0] > 99)
    with pytest.raises(ValueError, match=message):
        model.given(where=np.zeros(N, dtype=bool))


def test_refusals(data):
    X, y = data
    model = _joint().fit(X, y)
    with pytest.raises(
        ValueError, match=r"`x, y, where` must be given one of them. Got x and"
    ):
        model.given(X[:1], where=lambda x: x[:, 0] > 0)
    with pytest.raises(
        ValueError, match=r"`x, y, where` must be given one of them. Got none"
    ):
        model.given()
    with pytest.raises(ValueError, match=r"or 600 truth values.*an array of shape \(3,\)"):
        model.given(where=[True, False, True])
    with pytest.raises(ValueError, match="weights that are finite and not negative"):
        model.given(where=-np.ones(N))
    with pytest.raises(ValueError, match=r"`x, where` must be given one or the other"):
        _embedding("none").fit(X, y).given()


def test_models_of_files_keep_their_sample(tmp_path, data):
    X, y = data
    model = _regressor().set_params(regressor="kernel", kernel_x=Gaussian(2.0)).fit(X, y)
    model.save(tmp_path / "model.jd")
    event = lambda x: x[:, 0] > 0.5  # noqa: E731
    wanted = model.given(where=event).mean()
    assert_array_equal(jd.load(tmp_path / "model.jd").given(where=event).mean(), wanted)


def test_older_files_say_to_fit_anew():
    model = jd.load(Path(__file__).parents[1] / "files" / "regressor-kernel.jd")
    with pytest.raises(ValueError, match="keeps a sample of X; fit it anew"):
        model.given(where=lambda x: x[:, 0] > 0)


def test_a_regressor_takes_no_truth_values():
    """The rows of X that it keeps are in no order that users know."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    model = jd.DistributionRegressor("kernel", random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="`where` must be an expression or a function"):
        model.given(where=X[:, 0] > 0)
    with pytest.raises(ValueError, match="`X` must be given with its weights"):
        model.reweighted(weights=np.ones(60))
