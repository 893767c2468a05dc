"""Location plus scale times a residual: known truths, the contract, what goes wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import jointdist as jd
from jointdist import scores
from jointdist.kernels import Gaussian
from jointdist.regression.fitted_scale import ScaleRegression

DR = jd.DistributionRegressor
RESIDUALS = jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=1e-3)
QUICK = {"kernel_x": Gaussian(2.0), "distribution": RESIDUALS, "random_state": 0}


@parametrize_with_checks(
    [
        DR("kernel", **QUICK),
        DR(LinearRegression(), scale=False, distribution=RESIDUALS, random_state=0),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:.*`regressor` is not used:UserWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def rows(n, seed=0):
    """Return rows of a wave whose noise grows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + spread(X) * rng.normal(size=n)


def spread(X):
    return 0.1 * np.exp(0.6 * X[:, 1])


@pytest.fixture(scope="module")
def model():
    return DR("kernel", random_state=0).fit(*rows(800))


class TestKnownTruth:
    """A wave with normal noise, of a scale that does not depend on the location."""

    def test_location_and_scale(self, model):
        X, _ = rows(200, seed=1)
        dist = model.given(x=X)
        assert np.sqrt(np.mean((dist.mean() - np.sin(2 * X[:, 0])) ** 2)) < 0.05
        ratio = dist.std() / spread(X)
        assert abs(np.log(ratio)).mean() < 0.15
        assert_array_equal(model.predict(X), dist.mean())

    def test_quantiles(self, model):
        X, _ = rows(200, seed=1)
        levels = np.array([0.05, 0.5, 0.95])
        truth = np.sin(2 * X[:, :1]) + spread(X)[:, None] * norm.ppf(levels)
        missed = (model.given(x=X).quantile(levels) - truth) / spread(X)[:, None]
        assert np.sqrt((missed**2).mean()) < 0.4

    def test_coverage_and_skill(self, model):
        X, y = rows(3000, seed=2)
        low, high = model.given(x=X).interval(0.9).T
        assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.94
        best = np.mean(spread(X)) / np.sqrt(np.pi)
        marginal = np.abs(y[:, None] - y).mean() / 2
        assert 0 < (1 - best / marginal) - model.score(X, y) < 0.03

    def test_a_constant_scale_is_worse(self, model):
        X, y = rows(3000, seed=2)
        flat = DR("kernel", kernel_x=model.kernel_x_, scale=False, distribution=RESIDUALS)
        flat.fit(*rows(800))
        assert flat.scale_.shape == (1,)
        assert isinstance(model.scale_, ScaleRegression)
        assert flat.score(X, y) < model.score(X, y) - 0.01

    def test_distributions_are_proper(self, model):
        dist = model.given(x=rows(50, seed=3)[0])
        assert dist.negative_share().max() == 0
        y = np.linspace(-6, 6, 2001)
        assert_allclose(dist.pdf(y, grid=True).sum(axis=1) * 0.006, 1.0, atol=0.01)
        assert (np.diff(dist.cdf(y, grid=True), axis=1) >= -1e-12).all()

    def test_pickles(self, model):
        X, _ = rows(20, seed=4)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301
        assert_array_equal(again.predict(X), model.predict(X))


class TestRegressors:
    """Any of them, and averages."""

    def test_any_regressor(self):
        X, y = rows(600)
        X_new, y_new = rows(500, seed=1)
        forest = RandomForestRegressor(30, min_samples_leaf=3, random_state=0)
        model = DR(forest, distribution=RESIDUALS, cv=3, random_state=0).fit(X, y)
        assert len(model.regressors_[0].models[0]) == 3
        assert model.kernel_x_ is None
        assert model.score(X_new, y_new) > 0.6
        assert not hasattr(forest, "estimators_")

    def test_the_average_prefers_the_better(self):
        X, y = rows(300)
        both = [LinearRegression(), "kernel"]
        model = DR(both, **QUICK).fit(X, y)
        assert_allclose(model.regressor_weights_.sum(axis=0), 1.0)
        assert model.regressor_weights_[1] > 0.9
        assert model.kernel_x_ == Gaussian(2.0)

    def test_auto_is_no_worse_than_kernels_where_steps_are(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(size=(400, 2))
        y = np.floor(4 * X[:, 0]) + np.floor(3 * X[:, 1]) + 0.1 * rng.normal(size=400)
        model = DR(distribution=RESIDUALS, kernel_x=Gaussian(0.3), random_state=0).fit(X, y)
        assert model.regressor_weights_[1:].sum() > 0.5

    def test_residuals_are_of_rows_left_out(self):
        """A regressor that remembers its rows is not believed."""
        X, y = rows(300)
        model = DR(KNeighborsRegressor(1), distribution=RESIDUALS, random_state=0).fit(X, y)
        X_new, y_new = rows(1000, seed=1)
        low, high = model.given(x=X_new).interval(0.9).T
        assert np.mean((low <= y_new) & (y_new <= high)) > 0.85


class TestOutcomes:
    """Several columns, few values, categories."""

    def test_correlation_is_kept(self):
        rng = np.random.default_rng(0)
        X, e = rng.uniform(-2, 2, size=(800, 1)), rng.normal(size=(800, 2))
        noise = np.c_[e[:, 0], 0.8 * e[:, 0] + 0.6 * e[:, 1]]
        Y = np.c_[np.sin(X[:, 0]), X[:, 0] ** 2] + noise * [0.2, 0.5]
        model = DR(
            "kernel", distribution=RESIDUALS, kernel_x=Gaussian(1.0), random_state=0
        ).fit(X, Y)
        cov = model.given(x=[[0.0], [1.0]]).cov()
        found = cov[:, 0, 1] / np.sqrt(cov[:, 0, 0] * cov[:, 1, 1])
        assert_allclose(found, 0.8, atol=0.1)
        assert_allclose(np.sqrt(cov[:, [0, 1], [0, 1]]), [[0.2, 0.5]] * 2, rtol=0.15)
        assert model.predict(X).shape == Y.shape
        assert model.score(X, Y) > 0.5

    def test_few_values_are_learned_directly(self):
        X, y = rows(400)
        model = DR(random_state=0).fit(X, np.round(y))
        assert model.direct_
        dist = model.given(x=X[:5])
        assert dist.is_discrete
        assert set(dist.mode()) <= set(np.round(y))
        assert model.score(X, np.round(y)) > 0.4

    def test_categories(self):
        X, y = rows(300)
        labels = np.where(y > 0, "up", "down")
        model = DR(distribution=RESIDUALS, random_state=0).fit(X, labels)
        assert np.mean(model.predict(X) == labels) > 0.9

    def test_a_constant(self):
        X, _ = rows(60)
        Y = np.c_[X[:, 0], np.ones(60)]
        model = DR("kernel", **QUICK).fit(X, Y)
        assert_allclose(model.predict(X)[:, 1], 1.0)


def test_no_noise():
    """Where there is none to speak of, distributions are as narrow as forecasts are good."""
    X, _ = rows(400)
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
    model = DR("kernel", random_state=0).fit(X, y)
    X_new, _ = rows(200, seed=1)
    truth = np.sin(2 * X_new[:, 0]) * np.cos(X_new[:, 1])
    assert scores.crps(model.given(x=X_new), truth).mean() < 1e-4


def test_data_frames_and_categories_in_x():
    X, y = rows(300)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "hi", "lo")})
    y = y + (X[:, 1] > 0)
    model = DR(distribution=RESIDUALS, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b"]
    new = pd.DataFrame({"a": [0.5, 0.5], "b": ["hi", "lo"]})
    high, low = model.predict(new)
    assert_allclose(high - low, 1.0, atol=0.2)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[["b", "a"]])


class TestWeights:
    """A row of no weight is no row."""

    @pytest.mark.parametrize("regressor", ["kernel", LinearRegression()])
    def test_no_weight(self, regressor):
        X, y = rows(120)
        w = np.ones(120)
        w[::3] = 0.0
        y_bad = np.where(w > 0, y, 1e3)
        weighted = DR(regressor, **QUICK).fit(X, y_bad, sample_weight=w)
        fewer = DR(regressor, **QUICK).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0])
        assert_allclose(weighted.predict(X), fewer.predict(X))

    def test_heavy_rows_count_more(self):
        X = np.linspace(0, 1, 200)[:, None]
        y = np.where(np.arange(200) % 2 == 0, 0.0, 1.0) + 0.1 * X[:, 0]
        w = np.where(y < 0.5, 9.0, 1.0)
        model = DR("kernel", **QUICK).fit(X, y, sample_weight=w)
        assert_allclose(model.predict(X).mean(), 0.15, atol=0.05)

    def test_who_takes_none(self):
        X, y = rows(60)
        model = DR(KNeighborsRegressor(), distribution=RESIDUALS)
        with pytest.raises(ValueError, match="`regressor` must be one that takes `sample_"):
            model.fit(X, y, sample_weight=np.arange(1.0, 61.0))

    def test_the_last_step_of_a_pipeline_gets_them(self):
        X, y = rows(120)
        w = np.where(y > 0, 5.0, 1.0)
        piped = make_pipeline(StandardScaler(), LinearRegression())
        models = [
            DR(one, scale=False, distribution=RESIDUALS, random_state=0).fit(
                X, y, sample_weight=w
            )
            for one in (piped, LinearRegression())
        ]
        assert_allclose(*(model.predict(X) for model in models))


class TestCopies:
    """Rows that are copies of each other are one observation."""

    @pytest.mark.parametrize(
        "regressor", ["kernel", RandomForestRegressor(20, random_state=0)], ids=str
    )
    def test_every_row_twice(self, regressor):
        X, y = rows(200)
        Z, z = rows(1000, seed=1)
        twice = np.tile(np.arange(200), 2)
        once, both = (
            DR(regressor, **QUICK).fit(X[own], y[own]).given(x=Z)
            for own in (np.arange(200), twice)
        )
        assert_allclose(both.std().mean(), once.std().mean(), rtol=0.25)
        assert scores.coverage(both, z, 0.9).mean() > 0.82

    def test_weights_are_repetitions(self):
        X, y = rows(90)
        w = np.random.default_rng(0).integers(1, 4, 90)
        weighted = DR("auto", **QUICK).fit(X, y, sample_weight=w)
        often = np.random.default_rng(1).permutation(np.repeat(np.arange(90), w))
        repeated = DR("auto", **QUICK).fit(X[often], y[often])
        a, b = (model.given(x=X[:20]) for model in (weighted, repeated))
        assert_allclose(a.mean(), b.mean(), atol=1e-6)
        assert_allclose(a.std(), b.std(), rtol=1e-4)

    def test_categories_are_no_copies(self):
        """Else those that are left out whole would be unknown."""
        rng = np.random.default_rng(0)
        which, price = rng.integers(0, 40, 400), rng.normal(size=40)
        X = pd.DataFrame({"sku": [f"w{i}" for i in which]})
        coded = make_pipeline(OneHotEncoder(), LinearRegression())
        for regressor in ("kernel", coded):
            model = DR(regressor, random_state=0).fit(X, price[which])
            assert_allclose(model.predict(X[:9]), price[which[:9]], atol=1e-3)


def test_the_seed_is_that_of_regressors_too():
    X, y = rows(100)
    forest = RandomForestRegressor(5)
    piped = make_pipeline(StandardScaler(), forest)
    for regressor in (forest, piped):
        one, other = (
            DR(regressor, distribution=RESIDUALS, random_state=0).fit(X, y)
            for _ in range(2)
        )
        assert_array_equal(one.predict(X), other.predict(X))
    assert forest.random_state is None
    own = DR(
        RandomForestRegressor(5, random_state=3), distribution=RESIDUALS, random_state=0
    ).fit(X, y)
    assert own.regressors_[0].models[0][0].random_state == 3


class TestFarAway:
    """Out of distribution, forecasts revert to the marginal."""

    def test_kernels(self):
        X, y = rows(300)
        dist = DR("kernel", random_state=0).fit(X, y).given(x=[[0.0, 0.0], [1e3, -1e3]])
        assert dist.novelty()[0] < 0.01
        assert dist.novelty()[1] > 0.99
        assert_allclose(dist.mean()[1], y.mean(), atol=0.1)
        assert_allclose(dist.std()[1], y.std(), rtol=0.1)
        assert dist.std()[0] < 0.3 * y.std()

    @pytest.mark.parametrize("regressor", ["kernel", LinearRegression()])
    def test_scales_that_differ(self, regressor):
        """Far away the scale is not that of a typical row, but that of the sample."""
        rng = np.random.default_rng(17)
        X = rng.uniform(-2, 2, size=(600, 2))
        y = np.exp(1.2 * X[:, 0]) * rng.normal(size=600)
        dist = DR(regressor, random_state=0).fit(X, y).given(x=[[1e3, 1e3]])
        assert dist.novelty()[0] > 0.99
        assert_allclose(dist.std(), y.std(), rtol=0.25)

    def test_other_regressors_keep_their_forecasts(self):
        X, y = rows(200)
        y = y + 5 * X[:, 0]
        model = DR(LinearRegression(), distribution=RESIDUALS, random_state=0).fit(X, y)
        dist = model.given(x=[[50.0, 0.0]])
        assert dist.mean()[0] > 200
        assert dist.std()[0] > 0.8 * y.std()

    def test_without_a_trend_forecasts_stay_near_the_outcomes(self):
        X = np.random.default_rng(0).normal(size=(300, 1))
        y = 2 * np.cos(2 * X[:, 0])
        found = (
            DR("kernel", random_state=0).fit(X, y).predict(np.linspace(-9, 9, 200)[:, None])
        )
        reach = 0.3 * np.ptp(y)
        assert (found > y.min() - reach).all()
        assert (found < y.max() + reach).all()


class TestParts:
    """Rows that depend on each other are held out together, if one says so."""

    def test_splitters_that_ask_for_groups_are_told_how(self):
        X, y = rows(60)
        with pytest.raises(ValueError, match="unless `fit` gets `groups`"):
            DR(LinearRegression(), cv=GroupKFold(3)).fit(X, y)

    def test_a_splitter_and_its_splits(self):
        X, y = rows(120)
        forest = RandomForestRegressor(10, random_state=0)
        parts = list(KFold(4).split(X))
        a, b = (
            DR(forest, cv=cv, **QUICK).fit(X, y).given(x=X[:9]) for cv in (KFold(4), parts)
        )
        assert_array_equal(a.quantile([0.1, 0.9]), b.quantile([0.1, 0.9]))

    def test_groups(self):
        """Forests know the noise that rows of a group share, unless it is held out."""
        rng = np.random.default_rng(0)
        group = np.repeat(np.arange(30), 10)
        X = rng.normal(size=(30, 1))[group] + 1e-3 * rng.normal(size=(300, 1))
        y = rng.normal(size=30)[group] + 0.1 * rng.normal(size=300)
        parts = list(GroupKFold(5).split(X, groups=group))
        forest = RandomForestRegressor(30, random_state=0)
        alone, together = (
            DR(forest, cv=cv, scale=False, distribution=RESIDUALS, random_state=0)
            .fit(X, y)
            .scale_[0]
            for cv in (5, parts)
        )
        assert together > 3 * alone

    def test_kernels_are_held_out_in_parts_that_are_given(self):
        rng = np.random.default_rng(0)
        group = np.repeat(np.arange(25), 8)
        X = rng.normal(size=(25, 1))[group] + 1e-3 * rng.normal(size=(200, 1))
        y = rng.normal(size=25)[group] + 0.1 * rng.normal(size=200)
        parts = list(GroupKFold(5).split(X, groups=group))
        how = {
            "kernel_x": Gaussian(0.05),
            "scale": False,
            "distribution": RESIDUALS,
            "random_state": 0,
        }
        alone, together = (
            DR("kernel", cv=cv, **how).fit(X, y).scale_[0] for cv in (5, parts)
        )
        assert together > 3 * alone

    def test_rows_between_are_not_fitted_to(self):
        """The first of a pair of rows says what a regressor is fitted to."""
        X, y = rows(60)
        y[30:] += 100.0
        halves = [(np.arange(15), np.arange(15, 60)), (np.arange(15, 30), np.arange(15))]
        model = DR(LinearRegression(), cv=halves, scale=False, distribution=RESIDUALS).fit(
            X, y
        )
        assert model.regressors_[0].predict(X).max() < 50

    @pytest.mark.parametrize(
        "cv",
        [
            [(np.arange(30), np.arange(30, 61)), (np.arange(30, 60), np.arange(30))],
            [(np.arange(60), np.arange(60) + 0.5)],
            [3, 4],
            [(np.arange(0), np.arange(60))],
        ],
        ids=["beyond", "halves", "numbers", "nothing"],
    )
    def test_what_parts_are_not(self, cv):
        with pytest.raises(ValueError, match="DistributionRegressor: `cv` must be"):
            DR(LinearRegression(), cv=cv, distribution=RESIDUALS).fit(*rows(60))

    def test_parts_that_are_none(self):
        X, y = rows(60)
        once = DR(LinearRegression(), cv=KFold(3).split(X), distribution=RESIDUALS).fit(
            X, y
        )
        for model in (once, DR(LinearRegression(), cv=[])):
            with pytest.raises(ValueError, match=r"`cv` must be pairs.*Got none: of an it"):
                model.fit(X, y)
        with pytest.raises(ValueError, match=r"splitter of these rows.*n_splits=200"):
            DR(LinearRegression(), cv=KFold(200)).fit(X, y)

    def test_equal_weights_are_none(self):
        X, y = rows(100)
        dists = [
            DR(LinearRegression(), distribution=RESIDUALS, random_state=0)
            .fit(X, y, w)
            .given(x=X[:9])
            for w in (None, np.full(100, 0.3))
        ]
        assert_array_equal(dists[0].std(), dists[1].std())

    def test_rows_of_next_to_no_weight(self):
        """They do not decide on scales."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 1))
        y = X[:, 0] + 0.05 * np.exp(X[:, 0]) * rng.normal(size=300)
        more = np.concatenate([X, X, X]), np.concatenate([y, y + 10, y - 10])
        x = [[-1.5], [0.0], [1.5]]
        widths = [
            DR(LinearRegression(), distribution=RESIDUALS, random_state=0)
            .fit(*more, np.repeat([1.0, weight, weight], 300))
            .given(x=x)
            .std()
            for weight in (0.0, 1e-9)
        ]
        assert_allclose(*widths, rtol=0.1)

    def test_rows_that_are_never_held_out_have_no_residuals(self):
        """The regressor of all rows makes the forecasts, as folds differ in size."""
        X, y = rows(60)
        once = [(np.arange(20), np.arange(20, 60))]
        how = {"scale": False, "distribution": RESIDUALS}
        model = DR(LinearRegression(), cv=once, **how).fit(X, y)
        assert model.distribution_.moments_.count == 40
        ((alone,),) = model.regressors_[0].models
        assert_allclose(alone.coef_, LinearRegression().fit(X, y).coef_)


def test_small_numbers_keep_their_digits():
    X, y = rows(150)
    small, plain = (
        DR("kernel", kernel_x=Gaussian(2.0), random_state=0)
        .fit(X, unit * y)
        .given(x=X[:20])
        for unit in (2.0**-40, 1.0)
    )
    assert_allclose(2.0**40 * small.mean(), plain.mean(), rtol=1e-6)
    assert_allclose(2.0**80 * small.cov(), plain.cov(), rtol=1e-6)


def test_cdfs_reach_the_level_of_a_quantile(model):
    dist = model.given(x=rows(50, seed=3)[0])
    levels = np.array([0.1, 0.5, 0.77])
    for level, at in zip(levels, dist.quantile(levels).T, strict=True):
        assert (dist.cdf(at) >= level - 1e-12).all()


def test_few_values_do_not_need_a_regressor():
    X, _ = rows(120)
    y = (X[:, 0] > 0).astype(float)
    with pytest.warns(UserWarning, match="`regressor` is not used"):
        model = DR(LinearRegression(), distribution=RESIDUALS, random_state=0).fit(X, y)
    assert model.direct_
    assert model.regressors_ == []
    assert model.regressor_weights_.shape == (0, 1)


class Odd(RegressorMixin, BaseEstimator):
    """A regressor that forecasts what it is told to."""

    def __init__(self, what):
        self.what = what

    def fit(self, X, y):
        del X, y
        if self.what == "error":
            msg = "no"
            raise RuntimeError(msg)
        return self

    def predict(self, X):
        if self.what == "mute":
            msg = "not today"
            raise KeyError(msg)
        return np.full((len(X), 2) if self.what == "wide" else len(X), np.nan)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("error", "`regressor` must be one that can be fitted. Got Odd: no"),
        ("mute", "`regressor` must be one that can be used for forecasts. Got Odd"),
        ("wide", "`regressor` must be one that forecasts a number for each of"),
        ("nan", "`regressor` must be one whose forecasts are finite"),
    ],
)
def test_regressors_that_fail(what, message):
    with pytest.raises(ValueError, match=message):
        DR(Odd(what), distribution=RESIDUALS).fit(*rows(60))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"regressor": "forest"}, "regressor"),
        ({"regressor": []}, "regressor"),
        ({"regressor": ["auto"]}, "regressor"),
        ({"regressor": LinearRegression}, "regressor"),
        ({"regressor": KNeighborsClassifier()}, "regressor"),
        ({"scale": 1}, "scale"),
        ({"distribution": LinearRegression()}, "distribution"),
        ({"cv": 1}, "cv"),
        ({"cv": "five"}, "cv"),
        ({"kernel_x": "gaussian"}, "kernel_x"),
    ],
)
def test_arguments(arguments, name):
    with pytest.raises(ValueError, match=f"DistributionRegressor: `{name}` must be"):
        DR(**arguments).fit(*rows(60))


def test_clones_and_nested_parameters():
    model = DR(RandomForestRegressor(), distribution=RESIDUALS)
    again = clone(model).set_params(
        regressor__n_estimators=7, distribution__regularization=0.5
    )
    assert (again.regressor.n_estimators, again.distribution.regularization) == (7, 0.5)
    assert (model.regressor.n_estimators, RESIDUALS.regularization) == (100, 1e-3)


class TestForecastsThatRevealTheirResiduals:
    """The mean of all other rows is the lower, the higher a row."""

    @staticmethod
    def covered(X, y, n):
        model = jd.DistributionRegressor("kernel", random_state=0).fit(X[:n], y[:n])
        dist = model.given(X[n:])
        return jd.scores.coverage(dist, y[n:], 0.9).mean(), dist.std().mean()

    @pytest.mark.parametrize("n", [100, 600])
    def test_noise(self, n):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n + 500, 3)), rng.normal(size=n + 500)
        share, std = self.covered(X, y, n)
        assert share > 0.84
        assert 0.8 < std < 1.2

    @pytest.mark.parametrize("levels", [1, 2, 4])
    def test_few_values_of_x(self, levels):
        rng = np.random.default_rng(1)
        X = rng.integers(0, levels, size=(1000, 1)).astype(float)
        y = 2 * X[:, 0] + rng.normal(size=1000)
        share, std = self.covered(X, y, 500)
        assert share > 0.84
        assert 0.8 < std < 1.2
