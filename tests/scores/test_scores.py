"""Scores: each is its definition on explicit weights, and that of another library."""

import pickle
import tracemalloc
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scoringrules
from distribution_oracle import Explicit, smooth_density
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.metrics import brier_score_loss, log_loss, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from jointdist import (
    Conditional,
    ConditionalMeanEmbedding,
    JointClassifier,
    JointDistribution,
    PolynomialJointDistribution,
    scores,
)
from jointdist.data.executor import Executor
from jointdist.distributions import signed
from jointdist.distributions.conditions import Fixed
from jointdist.errors import SignedDistributionWarning
from jointdist.kernels import Delta, Gaussian

N, Q = 400, 17
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
CATEGORIES = np.array(["ash", "birch", "cedar"])
LEVELS = np.array([0.05, 0.3, 0.5, 0.9])


def sides(kind):
    """Return dependent X and Y, one that is scalar, rounded, a vector, categories or both."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N + Q, 2))
    y = X[:, 0] + np.abs(X[:, 1]) * rng.normal(size=N + Q)
    mixed = np.empty((N + Q, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = CATEGORIES[np.digitize(y, [-1, 1])], X[:, 1]
    Y = {
        "scalar": y,
        "rounded": y.round(1),
        "counts": np.clip(y.round(), -2, 2),
        "vector": np.column_stack([y, 10 * X[:, 1], np.exp(X[:, 0]) - y]),
        "categories": mixed[:, 0].astype(str),
        "mixed": mixed,
    }[kind]
    return X, Y, rng.integers(0, 4, N) * rng.random(N)


WIDE = Gaussian(1.5)
Signed = partial(JointDistribution, positivity="none")
KERNELS = {
    "scalar": Gaussian(1.0),
    "rounded": Gaussian(1.0),
    "counts": Delta(0.2),
    "vector": Gaussian((2.0, 20.0, 2.0)),
    "categories": Delta(0.2),
    "mixed": Delta(0.2).on(0) * Gaussian(1.0).on(1),
}
MODELS = {
    "JDL": partial(Signed, WIDE, regularization=1e-4, random_state=0),
    "free JDL": partial(
        Signed, WIDE, regularization=1e-4, marginals="free", random_state=0
    ),
    "CME": partial(ConditionalMeanEmbedding, WIDE, regularization=1e-3, positivity="none"),
    "JPDL": partial(
        PolynomialJointDistribution, degree=3, regularization=1e-4, positivity="none"
    ),
}
NUMBERS = ["scalar", "rounded", "counts", "vector"]


@cache
def case(kind, name):
    """Return distributions and outcomes, with the weights on support points made explicit."""
    X, Y, w = sides(kind)
    model = MODELS[name](executor=Executor(workers=2, block_rows=150))
    if name != "JPDL":
        model.set_params(kernel_y=KERNELS[kind])
    model.fit(X[:N], Y[:N], w)
    dist = model.given(X[N:])
    weights, support = dist.weights(), dist.support_points()
    total = weights.sum(axis=1, keepdims=True)
    return SimpleNamespace(
        model=model,
        dist=dist,
        y=Y[N:],
        X=X[N:],
        Y=Y[:N],
        w=w,
        plain=Explicit(weights, support),
        explicit=Explicit(weights / total, support),
    )


def cases(*kinds, models=tuple(MODELS)):
    """Return a decorator for tests of distributions of these kinds."""
    pairs = [
        (kind, name)
        for kind in kinds
        for name in models
        if kind in NUMBERS or name != "JPDL"
    ]
    return pytest.mark.parametrize(("kind", "name"), pairs)


scalar_distributions = cases("scalar", "rounded")
numeric_distributions = cases("scalar", "vector")
all_distributions = cases("scalar", "vector", "categories", "mixed")


def empirical(y, weights=None, q=1):
    """Return q times the distribution of a weighted sample."""
    x = np.linspace(-1, 1, len(y))[:, None]
    kernels = Gaussian(1.0), Delta()
    how = {"tol": 0.0, "max_rank": 1, "random_state": 0, "positivity": "none"}
    model = JointDistribution(*kernels, regularization=1.0, **how)
    return model.fit(x, y, weights).marginal("y")[[0] * q]


def event_of(kind):
    """Return an event that is sometimes true."""
    return {
        "scalar": lambda y: y > 0.3,
        "rounded": lambda y: y > 0.3,
        "vector": lambda y: (y[:, 0] > 0) & (y[:, 1] < 3),
        "categories": lambda y: y == "birch",
        "mixed": lambda y: (y[:, 0] == "birch") & (y[:, 1].astype(float) > 0),
    }[kind]


PROPER = {
    "crps": scores.crps,
    "energy": scores.energy_score,
    "pinball": partial(scores.pinball_loss, levels=0.7),
    "interval": partial(scores.interval_score, level=0.6),
    "brier": partial(scores.brier_score, event=lambda y: y > 0.5),
    "logistic": partial(scores.logistic_loss, event=lambda y: y > 0.5),
}

OF_A_COLUMN = {
    "crps": scores.crps,
    "pinball_loss": partial(scores.pinball_loss, levels=0.5),
    "interval_score": scores.interval_score,
    "pit": scores.pit,
    "coverage": scores.coverage,
    "reliability_curve": scores.reliability_curve,
}
OF_ANY = {
    "energy_score": scores.energy_score,
    "log_score": scores.log_score,
    "brier_score": partial(scores.brier_score, event=lambda y: y > 0),
    "logistic_loss": partial(scores.logistic_loss, event=lambda y: y > 0),
}
OF_LAWS = {
    "width": scores.width,
    "normalization_error": scores.normalization_error,
    "indefinite_share": scores.indefinite_share,
    "negative_ratio_share": scores.negative_ratio_share,
    "negative_probability_share": partial(
        scores.negative_probability_share, event=lambda y: y > 0
    ),
}
OF_OUTCOMES = {**OF_A_COLUMN, **OF_ANY, "second_moment_loss": scores.second_moment_loss}
EVERY = {**OF_OUTCOMES, **OF_LAWS}


class TestLosses:
    @scalar_distributions
    def test_crps_is_the_squared_distance_of_cdfs(self, kind, name):
        data = case(kind, name)
        found = scores.crps(data.dist, data.y)
        for w, y, score in zip(data.explicit.w, data.y, found, strict=True):
            knots = np.unique(np.append(data.explicit.z, y))
            F = [w[data.explicit.z <= v].sum() for v in knots[:-1]]
            want = np.diff(knots) @ (F - (y <= knots[:-1])) ** 2
            assert score == pytest.approx(want, rel=1e-9, abs=1e-10)

    def test_crps_is_that_of_another_library(self):
        rng = np.random.default_rng(0)
        z, w, y = rng.normal(size=40).round(1), rng.random(40), rng.normal(size=9)
        dist = empirical(z, w, len(y))
        want = scoringrules.crps_ensemble(
            y, np.tile(z, (9, 1)), ens_w=np.tile(w, (9, 1)), estimator="nrg"
        )
        assert_allclose(scores.crps(dist, y), want, **CLOSE)
        assert_allclose(scores.energy_score(dist, y), want, **CLOSE)
        assert_allclose(scores.energy_score(dist, y, units=2.0), want / 2, **CLOSE)

    @pytest.mark.parametrize("units", [1.0, [0.5, 2.0, 3.0]])
    def test_energy_score_is_that_of_another_library(self, units):
        rng = np.random.default_rng(0)
        z, w, y = rng.normal(size=(40, 3)), rng.random(40), rng.normal(size=(9, 3))
        dist = empirical(z, w, len(y))
        u = np.asarray(units)
        want = scoringrules.es_ensemble(
            y / u, np.tile(z / u, (9, 1, 1)), ens_w=np.tile(w, (9, 1))
        )
        assert_allclose(scores.energy_score(dist, y, units=units), want, **CLOSE)

    @cases("vector", "categories", "mixed")
    def test_energy_score_in_standard_deviations(self, kind, name):
        data = case(kind, name)

        def coded(table):
            """Return categories as corners of a simplex that are one apart."""
            table = np.asarray(table, dtype=object).reshape(len(table), -1)
            columns = []
            for column, known in zip(table.T, np.atleast_2d(data.Y.T), strict=True):
                if isinstance(known[0], str):
                    columns += [(column == word) / np.sqrt(2) for word in CATEGORIES]
                else:
                    unit = np.sqrt(np.cov(known.astype(float), aweights=data.w, ddof=0))
                    columns.append(column.astype(float) / unit)
            return np.column_stack(columns)

        z, y = coded(data.explicit.z), coded(data.y)
        apart = np.linalg.norm(z[:, None] - z, axis=2)
        near = np.linalg.norm(y[:, None] - z, axis=2)
        found = scores.energy_score(data.dist, data.y)
        assert_allclose(found, data.explicit.energy(apart, near), **CLOSE)

    @scalar_distributions
    def test_pinball_loss(self, kind, name):
        data = case(kind, name)
        found = scores.pinball_loss(data.dist, data.y, LEVELS)
        v = data.explicit.quantile(LEVELS)
        want = scoringrules.quantile_score(data.y[:, None], v, LEVELS)
        assert_allclose(found, want, **CLOSE)
        own = [mean_pinball_loss(data.y, v[:, i], alpha=p) for i, p in enumerate(LEVELS)]
        assert_allclose(found.mean(axis=0), own, **CLOSE)
        assert_array_equal(scores.pinball_loss(data.dist, data.y, LEVELS[1]), found[:, 1])

    def test_pinball_losses_of_all_levels_are_the_crps(self):
        dist = empirical(np.random.default_rng(0).normal(size=25), q=2)
        middle = (np.arange(25_000) + 0.5) / 25_000  # a thousand in each step of the cdf
        y = [0.3, 9.0]
        twice = 2 * scores.pinball_loss(dist, y, middle).mean(axis=1)
        assert_allclose(twice, scores.crps(dist, y), **CLOSE)

    @scalar_distributions
    @pytest.mark.parametrize("level", [0.5, 0.9])
    def test_interval_score(self, kind, name, level):
        data = case(kind, name)
        low, high = data.explicit.quantile([(1 - level) / 2, (1 + level) / 2]).T
        want = scoringrules.interval_score(data.y, low, high, 1 - level)
        assert_allclose(scores.interval_score(data.dist, data.y, level), want, **CLOSE)
        assert ((data.y < low) | (data.y > high)).any()

    @cases("scalar", "vector", models=["JDL", "free JDL", "JPDL"])
    def test_log_score_is_that_of_the_smoothed_sample_times_the_ratio(self, kind, name):
        data = case(kind, name)
        shares = data.w / data.w.sum()
        ratio = data.model.ratio(data.X, data.y) / data.dist.mass()
        p = smooth_density(data.Y, shares, data.y) * ratio
        found = scores.log_score(data.dist, data.y, floor=1e-300)
        assert_allclose(found, -np.log(np.maximum(p, 1e-300)), rtol=1e-8)
        exact = scores.log_score(data.dist, data.y)
        assert_array_equal(exact == np.inf, p <= 0)
        assert_array_equal(exact[p > 0], found[p > 0])

    def test_log_score_of_a_sample_is_that_of_another_library(self):
        rng = np.random.default_rng(0)
        z, y = rng.normal(size=200), rng.normal(size=9)
        low, high = np.sort(z)[[49, 149]]  # the lower and upper quartiles
        width = 0.9 * min(z.std(), (high - low) / 1.349) * 200**-0.2
        want = scoringrules.logs_ensemble(y, np.tile(z, (9, 1)), bw=np.full(9, width))
        assert_allclose(scores.log_score(empirical(z, q=9), y), want, rtol=1e-8)

    def test_log_score_of_an_embedding_is_that_of_a_normalised_density(self):
        data = case("scalar", "CME")
        at = np.linspace(-30, 30, 6001)
        for i in range(3):
            dist = data.dist[[i] * len(at)]
            p = np.exp(-scores.log_score(dist, at))
            signed = data.dist[i].pdf(at, grid=True)[0]
            whole = np.trapezoid(signed, at)
            assert_allclose(p, np.maximum(signed / whole, 0), atol=1e-6)

    @pytest.mark.parametrize("name", ["JDL", "free JDL", "CME"])
    @pytest.mark.parametrize("kind", ["categories", "counts"])
    def test_log_score_of_few_values_is_that_of_their_probability(self, kind, name):
        data = case(kind, name)
        chance = [
            w[data.explicit.z == y].sum()
            for w, y in zip(data.explicit.w, data.y, strict=True)
        ]
        found = scores.log_score(data.dist, data.y, floor=1e-5)
        assert_allclose(found, -np.log(np.maximum(chance, 1e-5)), rtol=1e-8)

    def test_what_was_never_seen_has_no_probability(self):
        dist = empirical([0.0, 1.0] * 20, q=3)
        assert_allclose(scores.log_score(dist, [0, 1, 2]), [np.log(2), np.log(2), np.inf])
        assert_allclose(scores.log_score(dist, [0, 1, 2], floor=0.1)[2], np.log(10))

    def test_log_score_of_a_classifier_is_its_log_loss(self):
        X, y, _ = sides("categories")
        model = JointClassifier(WIDE, regularization=0.05, random_state=0).fit(X[:N], y[:N])
        dist = model.given(X[N:])
        chances = np.column_stack(
            [dist.prob(lambda z, k=k: z == k) for k in model.classes_]
        )
        assert chances.min() > 0
        found = scores.log_score(dist, y[N:]).mean()
        assert found == pytest.approx(log_loss(y[N:], chances), rel=1e-10)

    @all_distributions
    def test_brier_score_and_logistic_loss(self, kind, name):
        data, event = case(kind, name), event_of(kind)
        p = data.plain.expect(event(data.plain.z))
        happened = event(data.y)
        assert happened.any()
        assert not happened.all()
        found = scores.brier_score(data.dist, data.y, event)
        want = scoringrules.brier_score(happened.astype(float), np.clip(p, 0, 1))
        inside = (p >= 0) & (p <= 1)
        assert_allclose(found, (p - happened) ** 2, **CLOSE)
        assert_allclose(found[inside], want[inside], **CLOSE)
        eta = 1e-12
        first = happened * np.log(np.minimum(1, np.maximum(p, eta)))
        second = (1 - happened) * np.log(np.maximum(eta, np.minimum(1 - p, 1)))
        found = scores.logistic_loss(data.dist, data.y, event)
        assert_allclose(found, -first - second, rtol=1e-8, atol=1e-10)

    def test_logistic_loss_is_clipped_on_both_sides(self):
        dist = case("scalar", "CME").dist[[0] * 2]
        z, negative = dist.support_points(), dist.weights()[0] < 0
        below, above = (
            partial(np.isin, test_elements=z[own]) for own in (negative, ~negative)
        )
        assert dist.prob(below)[0] < 0
        assert dist.prob(above)[0] > 1
        y = [
            z[negative][0],
            z[~negative][0],
        ]  # first what had a negative probability comes true
        for eta in (1e-12, 0.01):
            worst = -np.log(eta)
            for event in (below, above):
                found = scores.logistic_loss(dist, y, event, eta=eta)
                assert_allclose(found, [worst, 0], atol=1e-12)
                assert not np.signbit(found).any()

    def test_both_losses_of_events_are_those_of_scikit_learn(self):
        dist = empirical(np.random.default_rng(0).normal(size=50), q=30)
        y = np.random.default_rng(1).normal(size=30)
        happened, p = y > 0.2, dist.prob(lambda y: y > 0.2)
        found = scores.brier_score(dist, y, lambda y: y > 0.2).mean()
        assert found == pytest.approx(brier_score_loss(happened, p), rel=1e-12)
        found = scores.logistic_loss(dist, y, lambda y: y > 0.2).mean()
        assert found == pytest.approx(log_loss(happened, p), rel=1e-12)

    @numeric_distributions
    def test_second_moment_loss(self, kind, name):
        data = case(kind, name)
        y = data.y.reshape(Q, -1)
        M = data.plain.second_moment().reshape(Q, y.shape[1], y.shape[1])
        found = scores.second_moment_loss(data.dist, data.y)
        want = [
            np.linalg.norm(np.outer(v, v) - own) ** 2 / np.linalg.norm(np.outer(v, v)) ** 2
            for v, own in zip(y, M, strict=True)
        ]
        assert_allclose(found, want, rtol=1e-8)
        squares = y[:, :, None] * y[:, None, :]
        for given in (squares, squares.tolist()):
            assert_allclose(scores.second_moment_loss(data.dist, given), found, rtol=1e-12)
        assert_allclose(scores.second_moment_loss(data.dist, M), 0, atol=1e-16)
        assert_allclose(scores.second_moment_loss(data.dist, 2 * M), 0.25, rtol=1e-8)


class TestProper:
    """No distribution has a lower mean loss than the one that outcomes follow."""

    @pytest.mark.parametrize("name", PROPER)
    def test_on_common_support_points_exactly(self, name):
        """The expectation over outcomes is a sum over the support points, without any noise."""
        loss, rng = PROPER[name], np.random.default_rng(0)
        worse = 0
        for _ in range(30):
            z = np.sort(rng.normal(size=7))
            p, other = rng.dirichlet(np.ones(7), 2)
            own = p @ loss(empirical(z, p, 7), z)
            wrong = p @ loss(empirical(z, other, 7), z)
            assert own <= wrong + 1e-12
            worse += own < wrong - 1e-6
        assert worse > 10

    def test_the_log_score_of_categories_exactly(self):
        rng = np.random.default_rng(0)
        categories = CATEGORIES[[0, 1, 2, 0, 1, 2]]
        for _ in range(10):
            p, other = rng.dirichlet(np.ones(6), 2)
            own = p @ scores.log_score(empirical(categories, p, 6), categories)
            assert own < p @ scores.log_score(empirical(categories, other, 6), categories)

    def test_the_energy_score_of_several_columns_exactly(self):
        rng = np.random.default_rng(0)
        for _ in range(10):
            z = rng.normal(size=(6, 2))
            p, other = rng.dirichlet(np.ones(6), 2)
            loss = partial(scores.energy_score, units=1.0)
            own = p @ loss(empirical(z, p, 6), z)
            assert own < p @ loss(empirical(z, other, 6), z)

    @pytest.mark.parametrize("name", [*PROPER, "log"])
    def test_shifted_wide_and_narrow_distributions_lose(self, name):
        loss = {**PROPER, "log": scores.log_score}[name]
        y = np.random.default_rng(1).normal(size=1500)
        z = stats.norm.ppf((np.arange(300) + 0.5) / 300)
        mean = {
            f"{shift} + {factor} Z": loss(empirical(shift + factor * z, q=1500), y).mean()
            for shift, factor in [(0, 1), (0.5, 1), (-0.5, 1), (0, 1.7), (0, 0.6)]
        }
        assert min(mean, key=mean.__getitem__) == "0 + 1 Z"

    def test_a_wrong_correlation_loses(self):
        rng = np.random.default_rng(1)
        z, y = rng.normal(size=(600, 2)), rng.normal(size=(1500, 2))
        root = np.linalg.cholesky([[1.0, 0.8], [0.8, 1.0]])
        right, wrong = (empirical(z @ A.T, q=1500) for A in (root, np.eye(2)))
        own, other = (scores.energy_score(dist, y @ root.T) for dist in (right, wrong))
        assert own.mean() < other.mean()
        own, other = (scores.log_score(dist, y @ root.T) for dist in (right, wrong))
        assert own.mean() < other.mean()

    def test_true_second_moments_win(self):
        z = np.random.default_rng(0).normal(size=(500, 2))
        truth = [z.T @ z / 500]
        loss = [
            scores.second_moment_loss(empirical(s * z), truth)[0] for s in (1, 0.8, 1.2)
        ]
        assert loss[0] < 1e-20 < min(loss[1:])


@cache
def groups():
    """Return nearly calibrated distributions: of three groups, on the quantiles of each."""
    names, n = np.array(["a", "b", "c"]), 100
    dists = [stats.norm(0, 1), stats.expon(2), stats.t(3, 1, 4)]
    x = np.repeat(names, n)[:, None]
    y = np.concatenate([dist.ppf((np.arange(n) + 0.5) / n) for dist in dists])
    model = Signed(Delta(), Delta(), regularization=0.0, tol=0.0).fit(x, y)
    rng = np.random.default_rng(0)
    which, u = rng.integers(0, 3, 3000), rng.random(3000)
    drawn = np.choose(which, [dist.ppf(u) for dist in dists])
    return model.given(names[which][:, None]), drawn


@cache
def counts():
    """Return distributions of counts that are right, and outcomes."""
    known = np.arange(15)
    dist = empirical(np.repeat(known, 3), np.repeat(stats.poisson(2).pmf(known), 3), 3000)
    return dist, stats.poisson(2).rvs(3000, random_state=0).clip(max=14)


class TestCalibration:
    @cases("scalar", "rounded", "counts", models=["JDL", "free JDL", "CME"])
    def test_pit_is_the_cdf_in_the_middle_of_its_jump(self, kind, name):
        data = case(kind, name)
        z, w = data.explicit.z, data.explicit.w
        y = np.append(data.y[:-3], z[:3])
        upto = np.array([own[z <= v].sum() for own, v in zip(w, y, strict=True)])
        below = np.array([own[z < v].sum() for own, v in zip(w, y, strict=True)])
        assert (upto != below).any()
        assert_allclose(scores.pit(data.dist, y), (below + upto) / 2, **CLOSE)
        share = (scores.pit(data.dist, y, random_state=4) - below)[upto != below]
        share /= (upto - below)[upto != below]
        assert ((share >= -1e-6) & (share <= 1 + 1e-6)).all()
        assert np.ptp(share) > 0.1

    def test_pit_of_a_signed_distribution_is_not_clipped(self):
        data = case("scalar", "CME")
        dist = data.dist[[0] * len(data.dist.support_points())]
        found = scores.pit(dist, data.dist.support_points())
        F = data.explicit.cdf(data.explicit.z)[0]
        assert F.min() < -1e-6 or F.max() > 1 + 1e-6
        assert_allclose(found, F - data.explicit.w[0] / 2, **CLOSE)

    def test_pit_of_right_distributions_is_uniform(self):
        dist, y = groups()
        assert stats.kstest(scores.pit(dist, y), "uniform").pvalue > 0.05
        assert stats.kstest(scores.pit(dist, y + 0.2), "uniform").pvalue < 1e-6
        assert stats.kstest(scores.pit(dist[::-1], y), "uniform").pvalue < 1e-6

    def test_pit_of_right_discrete_distributions_is_uniform_if_random(self):
        dist, y = counts()
        values = scores.pit(dist, y, random_state=0)
        assert stats.kstest(values, "uniform").pvalue > 0.05
        assert_array_equal(values, scores.pit(dist, y, random_state=0))
        middle = scores.pit(dist, y)
        assert middle.mean() == pytest.approx(0.5, abs=0.02)
        assert stats.kstest(middle, "uniform").pvalue < 1e-6

    @scalar_distributions
    @pytest.mark.parametrize("level", [0.5, 0.9])
    def test_coverage_and_width(self, kind, name, level):
        data = case(kind, name)
        low, high = data.explicit.quantile([(1 - level) / 2, (1 + level) / 2]).T
        inside = [a <= y <= b for a, y, b in zip(low, data.y, high, strict=True)]
        assert_array_equal(scores.coverage(data.dist, data.y, level), inside)
        assert_allclose(scores.width(data.dist, level), high - low, **CLOSE)
        assert_array_equal(scores.coverage(data.dist, low, level), np.ones(Q))
        assert_array_equal(scores.coverage(data.dist, high, level), np.ones(Q))

    @pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
    def test_coverage_of_right_distributions_is_nominal(self, level):
        dist, y = groups()
        off = 4 * np.sqrt(level * (1 - level) / len(y))
        assert scores.coverage(dist, y, level).mean() == pytest.approx(level, abs=off)
        dist, y = counts()
        assert scores.coverage(dist, y, level).mean() > level - off

    def test_reliability_of_right_distributions_is_the_diagonal(self):
        levels, observed = scores.reliability_curve(*groups())
        assert_allclose(levels, np.arange(1, 20) / 20)
        assert_allclose(observed, levels, atol=4 * np.sqrt(0.25 / 3000))
        dist, y = groups()
        assert (scores.reliability_curve(dist, y + 0.5).observed < observed).all()
        levels, observed = scores.reliability_curve(*counts())
        assert (observed > levels - 4 * np.sqrt(0.25 / 3000)).all()

    @scalar_distributions
    def test_reliability_is_a_weighted_share(self, kind, name):
        data = case(kind, name)
        w = np.arange(Q)
        found = scores.reliability_curve(data.dist, data.y, LEVELS, sample_weight=w)
        upto = data.y[:, None] <= data.explicit.quantile(LEVELS)
        assert_allclose(found.observed, w @ upto / w.sum(), **CLOSE)
        assert_array_equal(found.levels, LEVELS)
        alone = scores.reliability_curve(data.dist, data.y, 0.3)
        assert_allclose(alone.observed, [upto[:, 1].mean()], **CLOSE)
        assert_array_equal(alone.levels, [0.3])


class TestValidity:
    @all_distributions
    def test_normalization_error(self, kind, name):
        data = case(kind, name)
        found = scores.normalization_error(data.dist)
        assert_allclose(found, np.abs(data.plain.w.sum(axis=1) - 1), **CLOSE)
        if name == "CME":
            assert_allclose(found, np.abs(data.dist.mass() - 1), **CLOSE)
            assert found.max() > 1e-3
        else:
            assert found.max() < 1e-12

    @pytest.mark.parametrize("name", MODELS)
    def test_indefinite_share(self, name):
        data = case("vector", name)
        x = 3 * np.random.default_rng(0).normal(size=(200, 2))
        with_distribution = data.model.given(x).mass() > 1e-3
        dist = data.model.given(x[with_distribution])
        M = Explicit(dist.weights(), dist.support_points()).second_moment()
        want = np.mean([np.linalg.eigvalsh(m).min() < 0 for m in M])
        assert scores.indefinite_share(dist) == want > 0
        assert scores.indefinite_share(empirical(data.Y)) == 0

    def test_second_moments_that_are_only_semidefinite_are_not_indefinite(self):
        z = np.random.default_rng(0).normal(size=(300, 1)) * [1.0, 3.0, -2.0]
        assert scores.indefinite_share(empirical(z)) == 0
        assert scores.indefinite_share(empirical(np.zeros((5, 2)))) == 0

    def test_of_one_column_it_is_negative_squares(self):
        model = case("scalar", "CME").model
        dist = model.given(6 * np.random.default_rng(0).normal(size=(200, 2)))
        share = scores.indefinite_share(dist)
        assert share == (dist.second_moment() < 0).mean() > 0

    @all_distributions
    def test_negative_probability_share(self, kind, name):
        data, event = case(kind, name), event_of(kind)
        p = data.plain.expect(event(data.plain.z))
        assert scores.negative_probability_share(data.dist, event) == (p < 0).mean()
        none = scores.negative_probability_share(
            data.dist, lambda y: np.zeros(len(y), bool)
        )
        assert none == 0

    def test_some_probabilities_are_negative(self):
        data = case("scalar", "JDL")
        p = data.plain.expect(data.plain.z > 2)
        found = scores.negative_probability_share(data.dist, lambda y: y > 2)
        assert found == (p < 0).mean() > 0

    @cases("scalar", "vector", "categories", models=["JDL", "free JDL", "JPDL"])
    def test_negative_ratio_share(self, kind, name):
        data = case(kind, name)
        ratio = data.model.ratio(data.X, data.Y, grid=True)
        want = np.average((ratio < 0).mean(axis=0), weights=data.w)
        assert scores.negative_ratio_share(data.dist) == pytest.approx(want, rel=1e-12)
        assert want > 0 or kind == "categories"

    def test_negative_ratio_share_of_an_embedding_is_of_its_weights(self):
        data = case("scalar", "CME")
        want = (data.plain.w < 0).mean()
        assert scores.negative_ratio_share(data.dist) == pytest.approx(want, rel=1e-12)
        assert want > 0

    def test_probabilities_have_no_errors(self):
        dist, _ = groups()
        dist = dist[:50]
        assert scores.normalization_error(dist).max() < 1e-12
        assert scores.indefinite_share(dist) == 0
        assert scores.negative_ratio_share(dist) == 0
        assert scores.negative_probability_share(dist, lambda y: y > 1) == 0


class TestScorers:
    X, y = (side[:90] for side in sides("scalar")[:2])
    model = JointDistribution(WIDE, Gaussian(1.0), regularization=1e-3, random_state=0)

    def by_hand(self, model, loss, X, y):
        """Return minus the mean losses over folds, without scikit-learn's scoring."""
        found = []
        for train, test in KFold(3).split(X):
            dist = model.fit(X[train], y[train]).given(X[test])
            found.append(-loss(dist, y[test]).mean())
        return found

    @pytest.mark.parametrize(
        ("scorer", "loss"),
        [
            (scores.neg_crps, scores.crps),
            (scores.neg_energy_score, scores.energy_score),
            (scores.neg_interval_score, scores.interval_score),
            (
                scores.make_distribution_scorer(scores.log_score, floor=1e-6),
                partial(scores.log_score, floor=1e-6),
            ),
            (
                scores.make_distribution_scorer(scores.pinball_loss, levels=[0.1, 0.9]),
                partial(scores.pinball_loss, levels=[0.1, 0.9]),
            ),
        ],
    )
    def test_they_are_mean_losses_over_folds(self, scorer, loss):
        found = cross_val_score(self.model, self.X, self.y, scoring=scorer, cv=KFold(3))
        assert_allclose(found, self.by_hand(self.model, loss, self.X, self.y), **CLOSE)

    def test_ready_made_scorers_negate_losses(self):
        data = case("scalar", "JDL")
        for name in ("crps", "energy_score", "interval_score", "log_score"):
            scorer, loss = getattr(scores, f"neg_{name}"), getattr(scores, name)
            found = scorer(data.model, data.X[:4], data.y[:4])
            assert found == pytest.approx(-loss(data.dist[:4], data.y[:4]).mean())

    @pytest.mark.parametrize("name", ["CME", "JPDL"])
    def test_other_models(self, name):
        data = case("vector", name)
        want = -scores.energy_score(data.dist, data.y).mean()
        assert scores.neg_energy_score(data.model, data.X, data.y) == pytest.approx(want)

    def test_greater_may_be_better(self):
        data = case("scalar", "JDL")
        scorer = scores.make_distribution_scorer(
            scores.coverage, greater_is_better=True, level=0.5
        )
        want = scores.coverage(data.dist, data.y, 0.5).mean()
        assert scorer(data.model, data.X, data.y) == want
        told = "make_distribution_scorer(coverage, greater_is_better=True, level=0.5)"
        assert repr(scorer) == told

    def test_weights(self):
        data, w = case("scalar", "JDL"), np.arange(Q)
        loss = scores.pinball_loss(data.dist, data.y, LEVELS)
        scorer = scores.make_distribution_scorer(scores.pinball_loss, levels=LEVELS)
        found = scorer(data.model, data.X, data.y, sample_weight=w)
        assert found == pytest.approx(-(w @ loss / w.sum()).mean())

    def test_in_pipelines(self):
        far = 100 + 30 * self.X
        pipeline = make_pipeline(StandardScaler(), self.model)
        found = cross_val_score(pipeline, far, self.y, scoring=scores.neg_crps, cv=KFold(3))
        want = []
        for train, test in KFold(3).split(far):
            scaler = StandardScaler().fit(far[train])
            model = self.model.fit(scaler.transform(far[train]), self.y[train])
            dist = model.given(scaler.transform(far[test]))
            want.append(-scores.crps(dist, self.y[test]).mean())
        assert_allclose(found, want, **CLOSE)

    def test_pipelines_of_one_step_and_steps_that_pass(self):
        data = case("scalar", "JDL")
        want = scores.neg_crps(data.model, data.X, data.y)
        for steps in ([], [("idle", "passthrough")]):
            pipeline = Pipeline([*steps, ("model", data.model)])
            assert scores.neg_crps(pipeline, data.X, data.y) == want

    def test_in_searches(self):
        pipeline = make_pipeline(StandardScaler(), self.model)
        ridges = [1e-4, 1e-2, 1.0]
        grid = {"jointdistribution__regularization": ridges}
        search = GridSearchCV(pipeline, grid, scoring=scores.neg_crps, cv=KFold(3))
        search.fit(self.X, self.y)
        want = [
            cross_val_score(
                pipeline.set_params(jointdistribution__regularization=ridge),
                self.X,
                self.y,
                scoring=scores.neg_crps,
                cv=KFold(3),
            ).mean()
            for ridge in ridges
        ]
        assert_allclose(search.cv_results_["mean_test_score"], want, **CLOSE)
        assert len(set(want)) == 3
        best = search.best_estimator_
        own = scores.neg_crps(search, self.X, self.y)
        assert own == scores.neg_crps(best, self.X, self.y)
        assert own == search.score(self.X, self.y)

    def test_several_at_once_and_in_other_processes(self):
        scoring = {"crps": scores.neg_crps, "log": scores.neg_log_score}
        found = cross_validate(
            self.model, self.X, self.y, scoring=scoring, cv=KFold(3), n_jobs=2
        )
        want = self.by_hand(self.model, scores.crps, self.X, self.y)
        assert_allclose(found["test_crps"], want, **CLOSE)
        assert found["test_log"].shape == (3,)

    def test_categories_and_data_frames(self):
        X, y, _ = sides("categories")
        X, y = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y, name="tree")
        model = JointDistribution(WIDE, Delta(), regularization=1e-3, random_state=0)
        for scorer in (
            scores.neg_energy_score,
            scores.make_distribution_scorer(scores.log_score, floor=1e-6),
        ):
            found = cross_val_score(model, X, y, scoring=scorer, cv=KFold(3))
            assert np.isfinite(found).all()
            assert (found < 0).all()

    def test_they_are_pickled_and_shown(self):
        data = case("scalar", "JDL")
        scorer = scores.make_distribution_scorer(scores.pinball_loss, levels=0.2)
        again = pickle.loads(pickle.dumps(scorer))  # noqa: S301
        assert again(data.model, data.X, data.y) == scorer(data.model, data.X, data.y)
        assert (
            repr(again)
            == repr(scorer)
            == "make_distribution_scorer(pinball_loss, levels=0.2)"
        )
        assert repr(scores.neg_crps) == "make_distribution_scorer(crps)"

    def test_models_without_distributions_are_refused(self):
        model = DummyRegressor().fit(self.X, self.y)
        message = (
            r"^make_distribution_scorer: `estimator` must be a model with a method `given`, or "
            r"a pipeline or search with one\. Got DummyRegressor\.$"
        )
        for wrapped in (model, make_pipeline(model)):
            with pytest.raises(ValueError, match=message):
                scores.neg_crps(wrapped, self.X, self.y)
        with pytest.raises(
            ValueError, match=r"^make_distribution_scorer: `score` must be a func"
        ):
            scores.make_distribution_scorer("crps")
        message = r"^make_distribution_scorer\(crps\): `sample_weight` must be one number for each"
        data = case("scalar", "JDL")
        with pytest.raises(ValueError, match=message):
            scores.neg_crps(data.model, data.X, data.y, sample_weight=[1.0])


class TestArguments:
    @pytest.mark.parametrize("name", OF_OUTCOMES)
    def test_outcomes(self, name):
        dist, score = case("scalar", "JDL").dist, OF_OUTCOMES[name]
        y = "truth" if name == "second_moment_loss" else "y"
        for bad, rule in [
            ([1.0, 2.0], "one outcome for each of the 17 distributions. Got 2 outcomes"),
            (np.ones((Q, 2)), "a table of 1 columns. Got 2"),
            (
                np.append(np.ones(Q - 1), np.nan),
                r"complete, .*Got 1 missing in column 0, at rows 16",
            ),
            (["ash"] * Q, "numeric. Got"),
            (1.0, "a vector or a table of rows. Got 1.0"),
        ]:
            with pytest.raises(ValueError, match=rf"^{name}: `{y}` must be {rule}"):
                score(dist, bad)

    @pytest.mark.parametrize("name", EVERY)
    def test_distributions(self, name):
        rest = [np.ones(Q)] if name in OF_OUTCOMES else []
        score = EVERY[name]
        rule = (
            r"a Conditional, as `given` returns it(; `scoring` .*)?\. Got JointDistribution"
        )
        with pytest.raises(ValueError, match=f"^{name}: `dist` must be {rule}"):
            score(case("scalar", "JDL").model, *rest)

    @pytest.mark.parametrize("name", [*OF_A_COLUMN, "width"])
    def test_distributions_of_other_kinds(self, name):
        score = EVERY[name]
        for kind, got in [
            ("vector", "3 columns"),
            ("categories", "categories"),
            ("mixed", "2 columns"),
        ]:
            data = case(kind, "JDL")
            rest = [] if name == "width" else [data.y]
            message = f"^{name}: `dist` must be of one column of numbers. Got {got}"
            with pytest.raises(ValueError, match=message):
                score(data.dist, *rest)

    @pytest.mark.parametrize("score", [scores.second_moment_loss, scores.indefinite_share])
    def test_categories_have_no_second_moments(self, score):
        data = case("categories", "JDL")
        rest = [] if score is scores.indefinite_share else [data.y]
        with pytest.raises(
            ValueError, match=r"second_moment: `the distribution` must be of numbers"
        ):
            score(data.dist, *rest)

    @pytest.mark.parametrize("bad", [0, 1, [0.5, 1.2], [], "a", [[0.5]], np.nan])
    def test_levels(self, bad):
        data = case("scalar", "JDL")
        for score in (scores.pinball_loss, scores.reliability_curve):
            with pytest.raises(
                ValueError, match=r"`levels` must be a number or a vector of"
            ):
                score(data.dist, data.y, bad)

    @pytest.mark.parametrize("bad", [0, 1, -0.5, "a", None, [0.5]])
    def test_level(self, bad):
        data = case("scalar", "JDL")
        for score in (scores.interval_score, scores.coverage):
            with pytest.raises(
                ValueError, match=r"`level` must be a number between 0 and 1"
            ):
                score(data.dist, data.y, bad)
        with pytest.raises(ValueError, match=r"`level` must be a number between 0 and 1"):
            scores.width(data.dist, bad)

    @pytest.mark.parametrize(
        "bad", [0.0, [1.0, 2.0], [1.0, 1.0, -1.0], "a", [1, 1, np.inf]]
    )
    def test_units(self, bad):
        data = case("vector", "JDL")
        message = r"^energy_score: `units` must be a positive number, or 3 of them\. Got"
        with pytest.raises(ValueError, match=message):
            scores.energy_score(data.dist, data.y, units=bad)

    def test_floor_and_eta(self):
        data = case("scalar", "JDL")
        for bad in (-1.0, np.nan, "a"):
            with pytest.raises(
                ValueError, match=r"^log_score: `floor` must be a number, ze"
            ):
                scores.log_score(data.dist, data.y, floor=bad)
        for bad in (0, 1, -1.0, "a"):
            with pytest.raises(
                ValueError, match=r"^logistic_loss: `eta` must be a number be"
            ):
                scores.logistic_loss(data.dist, data.y, lambda y: y > 0, eta=bad)

    def test_what_has_no_density(self):
        data = case("mixed", "JDL")
        rule = r"of a variable with a density or few values\. Got one of categories beside numbers"
        with pytest.raises(ValueError, match=f"^log_score: `dist` must be {rule}"):
            scores.log_score(data.dist, data.y)

    def test_truths(self):
        data = case("vector", "JDL")
        one, three = np.ones((Q, 3, 3)), np.ones((3, 3, 3))
        zero, missing = one.copy(), one.copy()
        zero[4], missing[5] = 0, np.nan
        for bad, rule in [
            (three, r"of shape \(17, 3, 3\)\. Got shape \(3, 3, 3\)"),
            (zero, r"other than zero in each row\. Got zero at row 4"),
            (zero[:, 0], r"other than zero in each row\. Got zero at row 4"),
            (missing, r"finite, without NaN or infinity\. Got nan at row 5"),
        ]:
            with pytest.raises(
                ValueError, match=f"^second_moment_loss: `truth` must be {rule}"
            ):
                scores.second_moment_loss(data.dist, bad)

    def test_events(self):
        data = case("scalar", "JDL")
        for score in (scores.brier_score, scores.logistic_loss):
            with pytest.raises(
                ValueError, match=r"`event` must be a function of the support points"
            ):
                score(data.dist, data.y, 3)
            by_name = score(data.dist, data.y, "y > 3")
            assert_allclose(by_name, score(data.dist, data.y, lambda y: y > 3))
            with pytest.raises(
                ValueError, match=r"`event` must be a function to True or Fal"
            ):
                score(data.dist, data.y, lambda y: y + 1)

    def test_seeds_and_weights(self):
        data = case("scalar", "JDL")
        with pytest.raises(ValueError, match=r"^pit: `random_state` must be"):
            scores.pit(data.dist, data.y, random_state="a")
        message = (
            r"^reliability_curve: `sample_weight` must be one number for each of the 17"
        )
        with pytest.raises(ValueError, match=message):
            scores.reliability_curve(data.dist, data.y, sample_weight=[1.0])

    def test_categories_that_were_never_seen_are_named(self):
        data = case("categories", "JDL")
        message = (
            r"^energy_score: `y` must be of categories seen in fit .* Got 'oak' at row 16"
        )
        with pytest.raises(ValueError, match=message):
            scores.energy_score(data.dist, [*data.y[:-1], "oak"])

    def test_outcomes_of_other_libraries(self):
        data = case("scalar", "JDL")
        want = scores.crps(data.dist, data.y)
        for y in (data.y.tolist(), data.y[:, None], pd.Series(data.y), pl.Series(data.y)):
            assert_array_equal(scores.crps(data.dist, y), want)
        data = case("mixed", "JDL")
        frame = pd.DataFrame({"tree": data.y[:, 0], "size": data.y[:, 1].astype(float)})
        want = scores.energy_score(data.dist, data.y)
        assert_array_equal(scores.energy_score(data.dist, frame), want)


class TestMissingDistributions:
    @staticmethod
    @cache
    def dists():
        """Return three distributions, the second without mass; what they were; outcomes."""
        data = case("scalar", "free JDL")
        usual = data.dist[:3]
        t, mean = usual.distributions.conditions.t.copy(), usual.distributions.support.mean
        t[1] = -2 * mean / (mean @ mean)
        return (
            Conditional(signed.Signed(usual.distributions.support, Fixed(t))),
            usual,
            data.y[:3],
        )

    @pytest.mark.parametrize("name", EVERY)
    def test_have_scores_of_nan(self, name):
        dist, usual, y = self.dists()
        score = EVERY[name]
        rest = [y] if name in OF_OUTCOMES else []
        with pytest.warns(
            SignedDistributionWarning, match="1 of 3 conditions have no distribution"
        ):
            found = score(dist, *rest)
        if name == "reliability_curve":
            assert np.isnan(found.observed).all()
        elif name.endswith("_share"):
            assert np.isnan(found)
        else:
            assert np.isnan(found[1])
            assert_allclose(found[[0, 2]], score(usual, *rest)[[0, 2]], **CLOSE)

    @pytest.mark.filterwarnings("ignore::jointdist.errors.SignedDistributionWarning")
    def test_far_from_the_sample_embeddings_have_none(self):
        data = case("scalar", "CME")
        dist = data.model.given([[1e3, 1e3], [0.0, 0.0]])
        for score in (scores.crps, scores.log_score, scores.pit, scores.coverage):
            assert_array_equal(np.isnan(score(dist, [0.0, 0.0])), [True, False])
        assert_allclose(scores.normalization_error(dist)[0], 1)
        assert_allclose(scores.second_moment_loss(dist, [1.0, 1.0])[0], 1)


class TestMemory:
    @staticmethod
    @cache
    def many(width):
        """Return thousands of distributions on 20,000 support points."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, 1))
        Y = X + rng.normal(size=(20_000, width))
        model = JointDistribution(
            WIDE,
            Gaussian(1.0),
            regularization=1e-3,
            tol=0.0,
            max_rank=12,
            random_state=0,
            executor=Executor(workers=2, block_rows=2048),
        )
        q = 2000 if width == 1 else 6000  # a third of a gigabyte of weights, or a whole one
        return model.fit(X, Y).given(X[:q]), Y[:q]

    @pytest.mark.parametrize(
        ("name", "width"),
        [*((name, 1) for name in EVERY), ("energy_score", 2), ("second_moment_loss", 2)],
    )
    def test_weights_of_all_distributions_are_never_formed(self, name, width):
        dist, y = self.many(width)
        rest = [y] if name in OF_OUTCOMES else []
        tracemalloc.start()
        EVERY[name](dist, *rest)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < len(dist) * 20_000  # an eighth of them
