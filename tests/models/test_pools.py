"""Pools of a DistributionRegressor: members, weights, and answers as mixtures."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd

DR = jd.DistributionRegressor


def bimodal(n, seed, d=1):
    """Return outcomes on two branches whose gap grows with x."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    side = np.where(rng.uniform(size=n) < 0.5, 1.0, -1.0)
    y = side * (0.2 + np.abs(X[:, 0])) + 0.1 * rng.normal(size=n)
    return X, y if d == 1 else np.stack([y, X[:, 1] + 0.2 * rng.normal(size=n)], axis=1)


@pytest.fixture(scope="module", params=[1, 2])
def pool(request):
    return DR(random_state=0).fit(*bimodal(600, 0, request.param))


class TestMembers:
    def test_weights_are_those_of_members(self, pool):
        assert len(pool.members_) > 1
        assert_allclose(pool.weights_.sum(), 1.0)
        assert_array_equal(pool.weights_, [member.weight for member in pool.members_])
        assert (pool.weights_ > 0).all()
        names = {member.name for member in pool.members_}
        assert names <= {"location-scale", "direct", "forest"}

    def test_the_pool_is_better_than_each_member_out_of_fold(self, pool):
        score = pool._model.score
        assert all(score <= member.score for member in pool.members_)

    def test_a_single_regressor_has_no_pool(self):
        model = DR("kernel", random_state=0).fit(*bimodal(100, 0))
        (member,) = model.members_
        assert member.name == "location-scale"
        assert member.weight == 1
        assert np.isnan(member.score)


def test_answers_are_those_of_the_mixture():
    X, y = bimodal(600, 0)
    model = DR(random_state=0).fit(X, y)
    dist, fitted = model.given(X[:20]), model._model
    rows = model._read("given", "x", X[:20]).rows
    base = fitted.base.given(rows, X[:20])
    parts = [base, *(m.of_y(base.conditions, rows, None) for m in fitted.others)]
    parts = [jd.Conditional(part) for part in parts]
    mixed = lambda ask: sum(w * ask(d) for w, d in zip(fitted.shares, parts, strict=True))  # noqa: E731
    assert_allclose(dist.mean(), mixed(lambda d: d.mean()))
    second = mixed(lambda d: d.var() + d.mean() ** 2)
    assert_allclose(dist.var(), second - dist.mean() ** 2)
    at = np.linspace(-2, 2, 9)
    assert_allclose(dist.cdf(at, grid=True), mixed(lambda d: d.cdf(at, grid=True)))
    assert_allclose(dist.pdf(at, grid=True), mixed(lambda d: d.pdf(at, grid=True)))
    event = lambda y: y > 0.3  # noqa: E731
    assert_allclose(dist.prob(event), mixed(lambda d: d.prob(event)))
    levels = np.array([0.05, 0.5, 0.95])
    reached = np.stack([dist.cdf(q) for q in dist.quantile(levels).T], axis=1)
    assert (reached >= levels - 1e-9).all()
    drawn = dist.sample(4000, random_state=0)
    assert_allclose(drawn.mean(axis=1), dist.mean(), atol=0.1)


def test_coverage_holds_where_the_shape_depends_on_x():
    model = DR(random_state=0).fit(*bimodal(3000, 0))
    X, y = bimodal(5000, 1)
    low, high = model.given(X).interval(0.9).T
    inside = (low <= y) & (y <= high)
    part = np.digitize(X[:, 0], np.linspace(-1, 1, 11)[1:-1])
    coverage = np.array([inside[part == i].mean() for i in range(10)])
    assert coverage.min() >= 0.84


def test_repeated_rows_are_whole_weights():
    X, y = bimodal(150, 0)
    w = np.random.default_rng(0).integers(1, 4, size=150)
    one = DR(random_state=0, effort="fast").fit(X, y, sample_weight=w)
    other = DR(random_state=0, effort="fast").fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert_allclose(one.weights_, other.weights_, atol=1e-6)
    assert_allclose(one.predict(X), other.predict(X), atol=1e-6)


class TestDiscrete:
    def test_numbers_of_few_values(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(800, 2))
        y = rng.binomial(5, 1 / (1 + np.exp(-2 * X[:, 0])))
        model = DR(random_state=0).fit(X[:600], y[:600])
        assert model.direct_
        assert {member.name for member in model.members_} <= {"direct", "forest"}
        dist = model.given(X[600:])
        values = np.unique(y)
        P = np.stack([dist.prob(lambda z, v=v: z == v) for v in values], axis=1)
        assert_allclose(P.sum(axis=1), 1.0)
        alone = model.distribution_.score(X[600:], y[600:])
        assert model.score(X[600:], y[600:]) > alone - 0.02

    def test_categories(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 2))
        y = np.array(["a", "b", "c"])[(X[:, 0] > 0) + (X[:, 1] > 1).astype(int)]
        model = DR(random_state=0, effort="fast").fit(X[:400], y[:400])
        assert np.mean(model.predict(X[400:]) == y[400:]) > 0.9
        far = model.given([[60.0, -60.0]])
        for label in "abc":
            share = np.mean(y[:400] == label)
            assert_allclose(far.prob(lambda z, v=label: z == v), share, atol=1e-9)

    def test_several_columns_of_labels(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 2))
        Y = pd.DataFrame(
            {"g": np.where(X[:, 0] > 0, "u", "v"), "h": rng.integers(2, size=400)}
        )
        model = DR(random_state=0, effort="fast").fit(X, Y)
        likely = model.given(X[:50])["g"].mode().ravel()
        assert np.mean(likely == Y["g"][:50]) > 0.9

    def test_few_rows_have_no_pool(self):
        model = DR(random_state=0).fit(np.arange(20.0)[:, None], np.arange(20) // 10)
        assert [member.name for member in model.members_] == ["direct"]
        assert np.isnan(model.members_[0].score)
