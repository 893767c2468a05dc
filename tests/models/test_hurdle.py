"""Forecasts are faithful to outcomes with zeros, caps and bounds, on simulated data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import cumulative_trapezoid
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist import scores
from jointdist.kernels import Gaussian
from jointdist.models.hurdle_model import HurdleModel

DR = jd.DistributionRegressor
RESIDUALS = jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=1e-3)
QUICK = {"kernel_x": Gaussian(1.5), "distribution": RESIDUALS, "random_state": 0}
PLAIN = {"support": None, "point_masses": False}
LEVELS = np.array([0.01, 0.3, 0.5, 0.8, 0.99])


def zero_inflated(n, seed):
    """Return rows of a zero-inflated gamma outcome, and the probabilities of zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    p, mean = 0.5 + 0.24 * X[:, 0], np.exp(0.5 + X[:, 1])
    return X, np.where(rng.random(n) < p, 0.0, rng.gamma(2.0, mean / 2)), p


def capped(n, seed):
    """Return rows of a normal outcome that is capped at one, and probabilities of the cap."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    scale = 0.5 * np.exp(0.3 * X[:, 1])
    y = np.minimum(X[:, 0] + scale * rng.normal(size=n), 1.0)
    return X, y, norm.sf((1 - X[:, 0]) / scale)


def skewed(n, seed):
    """Return rows of a positive outcome."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, rng.gamma(1.2, np.exp(X[:, 0])), np.zeros(n)


MAKERS = {"zero": (zero_inflated, 0.0), "cap": (capped, 1.0), "skewed": (skewed, 0.0)}


@pytest.fixture(scope="module", params=[*MAKERS])
def known(request):
    """Return a model of 700 rows, its distributions at others, their outcomes and so on."""
    make, at = MAKERS[request.param]
    X, y, _ = make(700, 0)
    model = DR("kernel", random_state=0).fit(X, y)
    Z, z, _ = make(60, 1)
    return model, model.given(Z), z, at, Z


@pytest.mark.parametrize("seed", range(3))
def test_zeros(seed):
    X, y, _ = zero_inflated(2000, seed)
    Z, z, p = zero_inflated(1000, seed + 10)
    dist = DR(effort="fast", random_state=0).fit(X, y).given(Z)
    found = dist.prob(lambda v: v == 0)
    assert abs(found - p).mean() < 0.05
    assert dist.prob("y < 0").max() == 0
    assert dist.quantile(LEVELS).min() == 0
    assert dist.sample(50, random_state=0).min() == 0
    assert_allclose(dist.cdf(np.zeros(1000), grid=False), found, atol=5e-3)
    if seed == 0:
        plain = DR(effort="fast", random_state=0, **PLAIN).fit(X, y).given(Z)
        assert scores.crps(dist, z).mean() < 1.001 * scores.crps(plain, z).mean()


@pytest.mark.parametrize("seed", range(3))
def test_caps(seed):
    X, y, _ = capped(1000, seed)
    Z, z, p = capped(1000, seed + 10)
    dist = DR(effort="fast", random_state=0).fit(X, y).given(Z)
    assert abs(dist.prob(lambda v: v == 1) - p).mean() < 0.05
    assert dist.quantile([0.5, 0.9, 0.999]).max() == 1
    assert dist.sample(50, random_state=0).max() == 1
    assert dist.prob("y > 1").max() == 0
    if seed == 0:
        plain = DR(effort="fast", random_state=0, **PLAIN).fit(X, y).given(Z)
        assert scores.crps(dist, z).mean() < 1.001 * scores.crps(plain, z).mean()


@pytest.mark.parametrize("seed", range(3))
def test_positive_outcomes(seed):
    X, y, _ = skewed(700, seed)
    Z, z, _ = skewed(300, seed + 10)
    dist = DR(effort="fast", random_state=0).fit(X, y).given(Z)
    assert dist.quantile(LEVELS).min() >= 0
    assert dist.sample(100, random_state=0).min() >= 0
    assert dist.mean().min() > 0
    assert dist.cdf(-1e-6).max() == 0
    assert dist.pdf(-1e-6).max() == 0
    at, few = 60 * np.linspace(0, 1, 801) ** 3, dist[:30]
    f = few.pdf(at, grid=True)
    assert_allclose(np.trapezoid(f, at, axis=1), 1.0, atol=0.01)
    mass = np.diff(cumulative_trapezoid(f, at, axis=1, initial=0)[:, ::20], axis=1)
    steps = np.diff(few.cdf(at[::20], grid=True), axis=1)
    assert abs(mass.mean(axis=0) - steps.mean(axis=0)).max() < 0.02
    plain = DR(effort="fast", random_state=0, **PLAIN).fit(X, y).given(Z)
    assert scores.crps(dist, z).mean() < 1.0005 * scores.crps(plain, z).mean()


class TestConsistency:
    """All answers are those of one distribution."""

    def test_levels(self, known):
        _, dist, _, _, _ = known
        for level, at in zip(LEVELS, dist.quantile(LEVELS).T, strict=True):
            assert (dist.cdf(at, grid=False) >= level - 1e-6).all()
            assert (dist.cdf(at - 1e-6, grid=False) <= level + 1e-6).all()

    def test_probabilities(self, known):
        _, dist, _, at, _ = known
        own = dist.prob(lambda v: v == at)
        jump = dist.cdf(at) - dist.cdf(at - 1e-7)
        assert_allclose(jump, own, atol=5e-3)
        assert_allclose(dist.prob("y <= 0.8"), dist.cdf(0.8), atol=5e-3)
        drawn = dist.sample(3000, random_state=0)
        assert_allclose((drawn == at).mean(axis=1), own, atol=0.04)
        assert_allclose((drawn <= 0.5).mean(axis=1), dist.cdf(0.5), atol=0.04)
        if own.any():
            assert_allclose(dist.pdf(at), own, atol=1e-9)

    def test_moments(self, known):
        _, dist, _, _, _ = known
        assert_allclose(dist.mean(), dist.expect(lambda v: v), rtol=0.02, atol=2e-3)
        second = dist.expect(lambda v: v**2)
        assert_allclose(dist.var() + dist.mean() ** 2, second, rtol=0.03, atol=2e-3)
        assert_allclose(dist.second_moment(), second, rtol=0.03, atol=2e-3)
        w, z = dist.weights(), dist.support_points()
        assert_allclose(w.sum(axis=1), 1.0)
        assert_allclose((w * z).sum(axis=1), dist.mean(), rtol=0.02, atol=2e-3)
        assert list(dist.to_frame().columns[:2]) == ["mean", "std"]

    def test_scores(self, known):
        """The CRPS is the squared distance of the cdf to the step at the outcome."""
        _, dist, z, _, _ = known
        dist, z = dist[:10], z[:10]
        at = np.linspace(-4, 25, 2901)
        off = (dist.cdf(at, grid=True) - (at >= z[:, None])) ** 2
        wanted = 0.01 * off.sum(axis=1)
        assert_allclose(scores.crps(dist, z), wanted, rtol=0.02, atol=0.01)
        assert np.isfinite(scores.log_score(dist, z)).mean() > 0.95

    def test_choices(self, known):
        _, dist, _, _, _ = known
        assert_allclose(dist[3].quantile(LEVELS), dist.quantile(LEVELS)[3:4])
        assert_allclose(dist[[5, 2]].mean(), dist.mean()[[5, 2]])
        assert len(dist[:4].mode()) == 4

    def test_pickles_and_files(self, known, tmp_path):
        model, dist, _, _, Z = known
        model.save(tmp_path / "model.jd")
        copies = pickle.loads(pickle.dumps(model)), jd.load(tmp_path / "model.jd")  # noqa: S301
        for again in copies:
            assert_array_equal(again.given(Z).quantile(LEVELS), dist.quantile(LEVELS))
            assert_array_equal(again.given(Z).pdf(0.7), dist.pdf(0.7))
            assert again.get_params().keys() == model.get_params().keys()

    def test_events_and_other_distributions_of_x(self, known):
        model, _, _, at, Z = known
        found = model.given(where="x0 > 0")
        assert 0 <= found.prob(lambda v: v == at)[0] < 1
        assert_allclose(found.cdf(1e9), 1.0)
        shifted = model.reweighted(Z)
        assert np.isfinite(shifted.marginal("y").quantile(0.5)).all()

    def test_backwards(self, known):
        """Rows whose outcome is likely at a point mass are likely given it."""
        model, _, _, at, _ = known
        inside = model.given(y=[at, 0.3])
        assert_allclose(inside.weights().sum(axis=1), 1.0)
        assert np.isfinite(inside.mean()).all()
        if isinstance(model._model, HurdleModel):
            first = inside.mean()[0, 0] - inside.mean()[1, 0]
            assert first > 0.1  # the probability of both grows with the first column

    def test_missing_entries(self, known):
        model, _, _, at, Z = known
        holes = Z.copy()
        holes[:, 0] = np.nan
        dist = model.given(holes[:5])
        assert dist.sample(20, random_state=0).shape == (5, 20)
        assert_allclose(dist.prob(lambda v: v <= at), dist.cdf(at), atol=5e-3)


class TestWhatIsFound:
    """Attributes and fall-backs."""

    def test_pools(self, tmp_path):
        """Components of the pool are components of the whole, in files, too."""
        X, y, _ = zero_inflated(300, 0)
        model = DR(distribution=RESIDUALS, random_state=0).fit(X, y)
        assert len(model.members_) == len(model.weights_)
        model.save(tmp_path / "model.jd")
        dist = model.given(X[:20])
        again = jd.load(tmp_path / "model.jd").given(X[:20])
        assert_array_equal(again.quantile(LEVELS), dist.quantile(LEVELS))
        drawn = dist.sample(400, random_state=0)
        assert_allclose((drawn == 0).mean(axis=1), dist.prob("y == 0"), atol=0.12)
        assert len(np.unique(drawn)) > 1000

    def test_probabilities_are_models_of_their_own(self):
        X, y, _ = zero_inflated(400, 0)
        model = DR(LinearRegression(), distribution=RESIDUALS, random_state=0).fit(X, y)
        assert isinstance(model._model, HurdleModel)
        assert_allclose(model._model.masses.weights.sum(), 1.0)
        assert model.predict(X[:5]).min() > 0
        assert model.score(X, y) > 0.1

    def test_where_nothing_is_found_nothing_changes(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(150, 2))
        y = X[:, 0] + rng.normal(size=150)
        a, b = (DR("kernel", **QUICK, **how).fit(X, y).given(X) for how in ({}, PLAIN))
        assert type(a.distributions) is type(b.distributions)
        assert_array_equal(a.quantile(LEVELS), b.quantile(LEVELS))

    def test_too_few_other_rows(self):
        """Then point masses are not told apart, but bounds hold."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(120, 1))
        y = np.where(rng.random(120) < 0.7, 0.0, rng.gamma(2.0, size=120))
        model = DR("kernel", **QUICK).fit(X, y)
        assert not isinstance(model._model, HurdleModel)
        assert model.given(X).quantile(LEVELS).min() >= 0

    def test_groups_and_time(self):
        X, y, _ = zero_inflated(400, 0)
        group = np.arange(400) // 8
        parts = DR("kernel", **QUICK).fit(X, y, groups=group).given(X)
        timed = DR("kernel", cv="time", **QUICK).fit(X, y).given(X)
        for dist in (parts, timed):
            assert 0.2 < dist.prob(lambda v: v == 0).mean() < 0.8

    def test_weights(self):
        X, y, _ = zero_inflated(500, 0)
        w = np.where(y == 0, 3.0, 1.0)
        heavy, even = (
            DR("kernel", **QUICK).fit(X, y, sample_weight=each).given(X)
            for each in (w, None)
        )
        more = heavy.prob(lambda v: v == 0) - even.prob(lambda v: v == 0)
        assert more.mean() > 0.15

    def test_frames_and_categories(self):
        X, y, _ = zero_inflated(400, 0)
        frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "hi", "lo")})
        dist = (
            DR("kernel", distribution=RESIDUALS, random_state=0).fit(frame, y).given(frame)
        )
        assert dist.prob("y < 0").max() == 0


def test_whole_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 2))
    y = rng.poisson(20 * np.exp(X[:, 0])) * (rng.random(600) > 0.2)
    model = DR("kernel", integers=True, random_state=0).fit(X, y)
    model.save(tmp_path / "model.jd")
    dist = jd.load(tmp_path / "model.jd").given(X[:80])
    for values in (dist.sample(40, random_state=0), dist.quantile(LEVELS)):
        assert_array_equal(values, np.round(values))
        assert values.min() == 0
    k = np.arange(150)
    chances = dist.expect(lambda v: np.equal.outer(v, k).astype(float))
    assert_allclose(chances.sum(axis=1), 1.0, atol=1e-6)
    assert_allclose(np.cumsum(chances, axis=1), dist.cdf(k, grid=True), atol=2e-3)
    assert_allclose(dist.cdf(k + 0.5, grid=True), dist.cdf(k, grid=True), atol=1e-9)
    zeros = dist.prob("y == 0")
    assert 0.1 < zeros.mean() < 0.3
    with pytest.raises(ValueError, match="a discrete variable"):
        dist.pdf(3.0)


def test_several_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 1))
    Y = np.c_[rng.gamma(1.0, np.exp(X[:, 0])), X[:, 0] + rng.normal(size=400)]
    model = DR("kernel", **QUICK).fit(X, Y)
    model.save(tmp_path / "model.jd")
    dist = jd.load(tmp_path / "model.jd").given(X[:40])
    drawn = dist.sample(100, random_state=0)
    assert drawn[..., 0].min() >= 0
    assert drawn[..., 1].min() < 0
    assert dist.quantile(LEVELS)[..., 0].min() >= 0
    assert dist["y0"].prob("y0 < 0").max() == 0
    plain = DR("kernel", **QUICK, support=None).fit(X, Y).given(X[:40])
    own = scores.energy_score(dist, Y[:40]).mean()
    assert own <= 1.002 * scores.energy_score(plain, Y[:40]).mean()


def test_forecasts_far_beyond_a_bound_are_close_to_it():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, size=(200, 1))
    y = 2 - X[:, 0] + 0.1 * rng.normal(size=200)
    model = DR(LinearRegression(), distribution=RESIDUALS, random_state=0).fit(X, y)
    found = model.given([[0.5], [100.0]]).quantile([0.05, 0.95])
    assert_allclose(found[0], [1.34, 1.66], atol=0.05)
    assert found[1].min() >= 0
    assert found[1].max() < 3


def test_given_bounds():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 1))
    y = np.clip(X[:, 0] + 0.3 * rng.normal(size=200), -0.99, 0.99) + rng.uniform(
        0, 1e-3, 200
    )
    dist = DR("kernel", support=(-1, 1), **QUICK).fit(X, y).given(X)
    q = dist.quantile([0.001, 0.999])
    assert q.min() >= -1
    assert q.max() <= 1
    z = np.linspace(-1, 1, 2001)
    assert_allclose(np.trapezoid(dist.pdf(z, grid=True), z, axis=1), 1.0, atol=5e-3)
    beyond = np.array([-1.001, 1.001])
    assert_array_equal(dist.pdf(beyond, grid=True), 0.0)
    with pytest.raises(ValueError, match=r"`support` must be bounds that no outcome is"):
        DR("kernel", support=(0, 1), **QUICK).fit(X, y)
