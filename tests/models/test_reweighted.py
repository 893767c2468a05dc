"""The same model under another distribution of X."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.kernels import Delta, Gaussian

N = 300


def _joint(positivity="projected", kind=jd.JointDistribution):
    return kind(
        Gaussian(2.0),
        Gaussian(1.0),
        regularization=1e-3,
        positivity=positivity,
        random_state=0,
        verbose=0,
    )


MODELS = {
    "projected": _joint(),
    "isotonic": _joint("isotonic"),
    "signed": _joint("none"),
    "embedding": _joint("none", jd.ConditionalMeanEmbedding),
    "polynomial": jd.PolynomialJointDistribution(
        degree=3, regularization=1e-6, random_state=0
    ),
    "regressor": jd.DistributionRegressor(
        LinearRegression(), scale=False, distribution=_joint(), random_state=0, verbose=0
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """Return a model of two columns of X."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = X @ [1.0, 0.5] + 0.5 * rng.normal(size=N)
    return MODELS[request.param].fit(X, y)


@pytest.fixture
def new(rng):
    """Return rows of X from another distribution."""
    return rng.normal(0.5, 0.5, size=(40, 2))


def test_the_marginal_is_the_mixture_of_what_the_model_gives(model, new, rng):
    weights = rng.uniform(0, 2, 40)
    share = weights / weights.sum()
    own = model.given(new)
    found = model.reweighted(new, weights=weights).marginal("y")
    assert len(found) == 1
    assert_allclose(found.mean()[0], share @ own.mean(), atol=1e-9)
    at = np.array([-0.5, 0.4, 1.3])
    assert_allclose(found.cdf(at, grid=True)[0], share @ own.cdf(at, grid=True), atol=1e-9)
    f = np.sin
    assert_allclose(found.expect(f)[0], share @ own.expect(f), atol=1e-9)
    w = own.weights()
    if isinstance(model, jd.DistributionRegressor):
        assert_allclose(found.weights()[0], (share[:, None] * w).ravel(), atol=1e-12)
    else:
        assert_allclose(found.weights()[0], share @ w, atol=1e-9)


def test_distributions_given_x_stay_as_they_are(model, new):
    other = model.reweighted(new)
    assert_array_equal(other.given(new[:3]).mean(), model.given(new[:3]).mean())
    assert_array_equal(other.predict(new[:3]), model.predict(new[:3]))
    assert repr(other) == f"Reweighted({type(model).__name__}, 40 rows of X)"


def test_events_are_those_of_the_new_rows(model, new):
    inside = new[:, 0] > 0.5
    found = model.reweighted(new).given(where=lambda x: x[:, 0] > 0.5)
    wanted = model.reweighted(new[inside]).given(where=lambda x: x[:, 0] > 0)
    assert_allclose(found.mean(), wanted.mean())
    # A mean of signed distributions is projected afterwards: nearly the mean of projected.
    assert abs(found.mean()[0] - model.predict(new[inside]).mean()) < 0.05


def test_weights_of_support_points(model):
    weights = np.zeros(N)
    weights[:5] = 1, 2, 0, 1, 1
    if isinstance(model, jd.DistributionRegressor):  # keeps rows in no order
        with pytest.raises(ValueError, match="`X` must be given with its weights"):
            model.reweighted(weights=weights)
        return
    other = model.reweighted(weights=weights)
    rows = other.x.rows.table()
    wanted = np.array([1.0, 2, 1, 1]) / 5 @ model.predict(rows)
    assert_allclose(other.marginal("y").mean()[0], wanted, atol=1e-9)


def test_the_marginal_of_x(model, new):
    weights = np.arange(40.0)
    found = model.reweighted(new, weights=weights).marginal("x")
    assert_allclose(found.mean()[0], weights / weights.sum() @ new, atol=1e-9)
    with pytest.raises(ValueError, match="`of` must be one of"):
        model.reweighted(new).marginal("z")


def test_the_skill_is_over_the_new_marginal(model, new, rng):
    y = new @ [1.0, 0.5] + 0.5 * rng.normal(size=40)
    other = model.reweighted(new)
    own = jd.scores.crps(model.given(new), y).mean()
    z = other.marginal("y").quantile((np.arange(512) + 0.5) / 512)[0]
    apart = np.abs(z[:, None] - z).mean() / 2
    marginal = (np.abs(y[:, None] - z).mean(axis=1) - apart).mean()
    assert_allclose(other.score(new, y), 1 - own / marginal, atol=0.02)
    with pytest.raises(ValueError, match=r"as long as `X` \(40 rows\)"):
        other.score(new, y[:3])


def test_classifiers():
    rng = np.random.default_rng(0)
    x = rng.integers(2, size=(200, 1)).astype(float)
    y = np.where(rng.random(200) < 0.2 + 0.6 * x[:, 0], "yes", "no")
    model = jd.JointClassifier(Delta(), regularization=1e-3, random_state=0).fit(x, y)
    found = model.reweighted(np.ones((3, 1))).marginal("y")
    wanted = model.given(np.ones((1, 1))).prob(lambda label: label == "yes")
    assert_allclose(found.prob(lambda label: label == "yes"), wanted)


def test_refusals(model, new):
    with pytest.raises(ValueError, match=r"`X, weights` must be given\. Got neither"):
        model.reweighted()
    with pytest.raises(
        ValueError, match=r"each of the 300 support points|with its weights"
    ):
        model.reweighted(weights=[1.0])
    with pytest.raises(ValueError, match="one number for each of the 40 rows"):
        model.reweighted(new, weights=[1.0])
    with pytest.raises(ValueError, match="positive somewhere"):
        model.reweighted(new, weights=np.zeros(40))
