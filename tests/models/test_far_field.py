"""Forecasts far from all rows, and gross outliers among the outcomes."""

import numpy as np
import pytest

import jointdist as jd


def DR(regressor="auto", **options):  # noqa: N802
    return jd.DistributionRegressor(regressor, random_state=0, effort="fast", **options)


class TestTrend:
    @pytest.mark.parametrize("seed", range(3))
    def test_one_column(self, seed):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, size=(300, 1))
        model = DR().fit(x, 3 * x[:, 0] + 0.2 * rng.normal(size=300))
        at = np.array([[-20.0], [-3.0], [2.0], [10.0]])
        dist = model.given(at)
        assert np.abs(dist.mean() / (3 * at[:, 0]) - 1).max() < 0.05
        near = model.given([[0.0]]).std()[0]
        assert (dist.std() > near).all()
        assert dist.std()[0] > 2 * dist.std()[1]
        assert dist.std()[3] > 2 * dist.std()[2]

    @pytest.mark.parametrize("seed", range(3))
    def test_three_columns(self, seed):
        rng = np.random.default_rng(seed)
        X, slopes = rng.normal(size=(400, 3)), np.array([1.0, -2.0, 0.0])
        model = DR().fit(X, X @ slopes + 0.3 * rng.normal(size=400))
        at = np.array([[9.0, 0, 0], [0, 12.0, 0], [8.0, 8.0, 8.0], [0, 0, 15.0]])
        dist = model.given(at)
        assert np.abs(dist.mean() - at @ slopes).max() < 2.5
        assert dist.interval(0.9).shape == (4, 2)

    def test_sparse_tails_inside_the_range(self):
        """Few rows with long delays: their neighbours alone would say little."""
        rng = np.random.default_rng(0)
        x = np.concatenate([rng.exponential(20, 2000), [400.0, 700.0, 1000.0]])[:, None]
        y = x[:, 0] + 10 * rng.normal(size=len(x))
        dist = DR().fit(x, y).given([[300.0], [550.0], [850.0], [1200.0]])
        assert np.abs(dist.median() - [300, 550, 850, 1200]).max() < 40

    def test_several_outcomes(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(-1, 1, size=(300, 1))
        Y = np.stack([2 * x[:, 0], -x[:, 0]], axis=1) + 0.1 * rng.normal(size=(300, 2))
        found = DR("kernel").fit(x, Y).predict([[10.0]])
        assert np.abs(found - [[20.0, -10.0]]).max() < 1.5


class TestNoTrend:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("wave", [np.sin, np.zeros_like, np.abs])
    def test_one_column(self, wave, seed):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-3, 3, size=(300, 1))
        y = wave(2 * x[:, 0]) + 0.2 * rng.normal(size=300)
        dist = DR("kernel").fit(x, y).given([[-30.0], [30.0]])
        assert np.abs(dist.mean() - y.mean()).max() < 0.1 * y.std() + 0.01
        assert np.abs(dist.std() / y.std() - 1).max() < 0.3

    def test_trees_stay_as_they_are_at_the_ends(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(-3, 3, size=(300, 1))
        y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=300)
        dist = DR().fit(x, y).given([[-30.0], [30.0]])
        assert np.abs(dist.mean() - y.mean()).max() < 0.5 * y.std()

    def test_three_columns(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 3))
        y = np.cos(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=500)
        dist = DR().fit(X, y).given([[30.0, 30.0, -30.0]])
        assert abs(dist.mean()[0] - y.mean()) < 0.2

    def test_spread_grows_on_the_way_out(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(-1, 1, size=(400, 1))
        y = np.tanh(3 * x[:, 0]) + 0.1 * rng.normal(size=400)
        sd = DR().fit(x, y).given([[0.0], [1.2], [1.5], [2.0]]).std()
        assert (np.diff(sd) > 0).all()
        assert sd[2] > 3 * sd[0]


class TestOutliers:
    @pytest.mark.parametrize("regressor", ["kernel", "auto"])
    def test_one_outlier_does_not_change_other_intervals(self, regressor):
        covered, widths = [], []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            X = rng.uniform(-1, 1, size=(1300, 2))
            f = np.sin(3 * X[:, 0]) + X[:, 1]
            y = f + 0.3 * rng.normal(size=1300)
            bad = y[:300].copy()
            bad[seed] += 1e6
            intervals = [
                DR(regressor).fit(X[:300], z).given(X[300:]).interval(0.9)
                for z in (y[:300], bad)
            ]
            low, high = intervals[1].T
            covered.append(np.mean((low <= y[300:]) & (y[300:] <= high)))
            widths.append(np.mean(high - low) / np.mean(intervals[0] @ [-1, 1]))
        assert 0.86 <= np.mean(covered) <= 0.94
        assert np.abs(np.array(widths) - 1).max() < 0.1

    def test_heavy_tails_are_no_outliers(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(2000, 1))
        y = X[:, 0] + 0.3 * rng.standard_t(2, size=2000)
        model = DR().fit(X[:1000], y[:1000])
        low, high = model.given(X[1000:]).interval(0.9).T
        assert 0.87 < np.mean((low <= y[1000:]) & (y[1000:] <= high)) < 0.93

    @pytest.mark.parametrize("regressor", ["kernel", "auto"])
    def test_few_rows_that_x_explains_are_no_outliers(self, regressor):
        rng = np.random.default_rng(0)
        rare = (np.arange(1000) < 8).astype(float)
        X = np.stack([rare, rng.normal(size=1000)], axis=1)
        y = 1000 * rare + rng.normal(size=1000)
        found = DR(regressor).fit(X, y).given([[1.0, 0.0], [0.0, 0.0]])
        assert np.abs(found.median() - [1000, 0]).max() < 1
        assert np.abs(found.interval(0.9)[1] - [-1.64, 1.64]).max() < 0.4


def test_rows_of_hardly_any_weight_do_not_make_a_trend():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=(400, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=400)
    ends = np.abs(x[:, 0]) > 2.5
    weights = np.where(ends, 1e-9, 1.0)
    other = np.where(ends, 100 * x[:, 0], y)
    dist = DR("kernel").fit(x, other, sample_weight=weights).given([[-30.0], [30.0]])
    assert np.abs(dist.mean()).max() < 2


def test_whole_numbers_are_not_asked_backwards():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 1))
    y = np.round(10 * X[:, 0] + 3 * rng.normal(size=150))
    model = DR("kernel", integers=True).fit(X, y)
    with pytest.raises(
        ValueError, match="`integers` must be False for questions backwards"
    ):
        model.given(y=y[:2])
