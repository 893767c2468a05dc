"""Distributions of some columns: every answer is that of the weights on these columns."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from distribution_oracle import Explicit, smooth_density
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd
from jointdist import scores
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.distributions import column_support as support_module
from jointdist.distributions import columns as columns_module
from jointdist.distributions.columns import select_columns
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.sorted_cells import CellPrefixSums
from jointdist.distributions.support_points import ordering
from jointdist.kernels import Gaussian

LEVELS = [0.03, 0.25, 0.5, 0.8, 0.99]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
N, Q = 150, 7
RIDGE = {"regularization": 1e-3, "random_state": 0, "verbose": 0}
KERNELS = Gaussian(1.0), Gaussian(1.5)


@cache
def sides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    noise = rng.normal(size=(N, 3))
    y = np.stack([x[:, 0], x.sum(axis=1), x[:, 1].round()], axis=1)
    y[:, :2] += 0.5 * noise[:, :2]
    return x, y, rng.integers(1, 3, N).astype(float)


def signed(**options):
    return jd.JointDistribution(*KERNELS, positivity="none", **RIDGE, **options)


MODELS = {
    "projected": lambda: jd.JointDistribution(*KERNELS, **RIDGE),
    "signed": signed,
    "free": lambda: signed(marginals="free"),
    "embedded": lambda: jd.ConditionalMeanEmbedding(*KERNELS, positivity="none", **RIDGE),
    "full": lambda: jd.ConditionalMeanEmbedding(*KERNELS, low_rank=False, **RIDGE),
    "compressed": lambda: jd.JointDistribution(*KERNELS, support_size=60, **RIDGE),
    "regressor": lambda: jd.DistributionRegressor(
        "kernel", distribution=jd.JointDistribution(*KERNELS, **RIDGE), random_state=0
    ),
    "weighted": lambda: jd.JointDistribution(*KERNELS, **RIDGE),
}
CHOICES = [(0,), (1,), (2,), (1, 0), (0, 2)]


@cache
def dist_of(name):
    x, y, w = sides()
    weights = {"sample_weight": w} if name == "weighted" else {}
    return MODELS[name]().fit(x, y, **weights).given(x[:Q] * 0.7)


@pytest.fixture(params=[(name, columns) for name in MODELS for columns in CHOICES], ids=str)
def both(request):
    """Distributions of some columns, and explicit weights on these."""
    name, columns = request.param
    dist = dist_of(name)
    chosen = list(columns) if len(columns) > 1 else columns[0]
    found = (
        dist["y" + str(chosen)] if len(columns) == 1 else dist[[f"y{i}" for i in columns]]
    )
    z = dist.support_points()[..., chosen]
    each = z if isinstance(dist.distributions, LocationScale) else [z] * Q
    return SimpleNamespace(
        name=name,
        columns=columns,
        whole=dist,
        dist=found,
        points=sides()[1][:Q, chosen],
        explicit=[
            Explicit(w[None], own) for w, own in zip(dist.weights(), each, strict=True)
        ],
    )


def brute(both, ask):
    """Return the answers of each explicit distribution."""
    return np.stack([ask(i, one)[0] for i, one in enumerate(both.explicit)])


def test_moments(both):
    dist, whole, chosen = both.dist, both.whole, list(both.columns)
    place = np.ix_(range(Q), chosen, chosen)
    one = len(chosen) == 1
    expected = whole.mean()[:, chosen]
    assert_allclose(dist.mean(), expected[:, 0] if one else expected, **CLOSE)
    for name in ("cov", "second_moment"):
        expected = getattr(whole, name)()[place]
        expected = expected[:, 0, 0] if one else expected
        assert_allclose(getattr(dist, name)(), expected, **CLOSE)
    expected = whole.var()[:, chosen]
    assert_allclose(dist.var(), expected[:, 0] if one else expected, **CLOSE)
    if both.name != "compressed":  # whose moments are those of all rows
        assert_allclose(dist.mean(), brute(both, lambda _, e: e.mean()), **CLOSE)


def test_cdfs_and_probabilities(both):
    dist, points = both.dist, both.points
    expected = brute(both, lambda i, e: e.cdf(points[i : i + 1]))[:, 0]
    assert_allclose(dist.cdf(points), expected, **CLOSE)
    expected = brute(both, lambda _, e: e.cdf(points[:4]))
    assert_allclose(dist.cdf(points[:4], grid=True), expected, **CLOSE)
    expected = brute(both, lambda _, e: e.expect(e.z.reshape(len(e.z), -1)[:, 0] > 0.3))
    assert_allclose(dist.prob(f"y{both.columns[0]} > 0.3"), expected, **CLOSE)


def test_quantiles_and_draws(both):
    expected = brute(both, lambda _, e: Explicit(e.w / e.w.sum(), e.z).quantile(LEVELS))
    assert_allclose(both.dist.quantile(LEVELS), expected, **CLOSE)
    draws = both.dist.sample(50, random_state=0)
    for own, e in zip(draws, both.explicit, strict=True):
        near = np.abs(own[:, None] - e.z[None]).reshape(50, len(e.z), -1).max(axis=2)
        assert near.min(axis=1).max() < 1e-9


def test_weights_and_what_follows_from_them(both):
    dist, whole = both.dist, both.whole
    assert_allclose(dist.weights(), whole.weights(), **CLOSE)
    assert_allclose(dist.mass(), whole.mass(), **CLOSE)
    for name in ("negative_share", "effective_size", "novelty"):
        assert_allclose(getattr(dist, name)(), getattr(whole, name)(), **CLOSE)
    points = whole.support_points()[..., list(both.columns)]
    assert_array_equal(dist.support_points(), points.reshape(dist.support_points().shape))
    assert dist.distributions.is_proper == whole.distributions.is_proper
    if both.name == "projected":
        assert_allclose(dist.projection().missed, whole.projection().missed)


def test_scores(both):
    dist, points = both.dist, both.points
    units = dist.distributions.units() if len(both.columns) > 1 else np.ones(1)
    drawn = both.name == "regressor" and len(both.columns) > 1  # 512 of each

    def energy(i, e):
        w, z = e.w[0] / e.w[0].sum(), e.z.reshape(len(e.z), -1) / units
        y = points[i].reshape(-1) / units
        apart = np.sqrt(((z[:, None] - z) ** 2).sum(axis=2))
        return [w @ np.sqrt(((z - y) ** 2).sum(axis=1)) - w @ apart @ w / 2]

    found, _ = dist.distributions.energy_scores(points.reshape(Q, -1), unit=units)
    assert_allclose(found, brute(both, energy), rtol=0.1 if drawn else 1e-8)


def test_densities(both):
    dist, points = both.dist, both.points
    assert dist.is_discrete == (both.columns == (2,) and both.name != "regressor")
    if dist.is_discrete:
        with pytest.raises(ValueError, match="a discrete variable, which has none"):
            dist.pdf(0.0)
        return
    assert_allclose(dist.pdf(points), np.diag(dist.pdf(points, grid=True)), **CLOSE)
    logs = dist.logpdf(points)
    assert_allclose(np.exp(logs), np.maximum(dist.pdf(points), 0), **CLOSE)
    if len(both.columns) == 1:
        at = np.linspace(-14, 14, 2801)
        heights = dist.pdf(at, grid=True)
        total = dist.weights().sum(axis=1)
        assert_allclose(heights.sum(axis=1) * 0.01, total, atol=1e-3)
        assert (dist.pdf(dist.mode()) >= 0.98 * heights.max(axis=1)).all()


@pytest.mark.parametrize("columns", [["y0"], ["y1"], ["y1", "y0"]], ids=str)
@pytest.mark.parametrize("name", ["projected", "full", "weighted"])
def test_densities_of_proper_distributions_are_estimates_of_their_own(name, columns):
    dist = dist_of(name)[columns]
    w, z = dist.weights(), dist.support_points()
    at = z[:20]
    for i in range(Q):
        expected, found = smooth_density(z, w[i], at), dist[i].pdf(at, grid=True)[0]
        assert_allclose(found, expected, rtol=0.05, atol=0.02 * expected.max())


@pytest.mark.parametrize("columns", [["y0"], ["y1"], ["y1", "y0"]], ids=str)
def test_densities_of_signed_distributions_have_the_bandwidth_of_the_sample(columns):
    dist = dist_of("signed")[columns]
    w, z = dist.weights(), dist.support_points().reshape(N, -1)
    widths = dist.distributions.support.sample.density.widths
    away = (z[:20, None] - z) / widths
    bells = np.exp(-(away**2).sum(axis=2) / 2) / np.prod(widths * np.sqrt(2 * np.pi))
    found = dist.pdf(z[:20] if len(columns) > 1 else z[:20, 0], grid=True)
    assert_allclose(found, w @ bells.T, rtol=1e-8, atol=1e-10)


def test_densities_of_many_points_are_those_of_intervals(monkeypatch):
    at = np.linspace(-2, 2, 30)
    exact = dist_of("signed")["y1"].pdf(at, grid=True)
    monkeypatch.setattr(columns_module, "_MANY", N - 1)
    monkeypatch.setattr(support_module, "_INTERVALS", 60)
    found = dist_of("signed")["y1"].pdf(at, grid=True)
    assert_allclose(found, exact, atol=0.02 * exact.max())
    assert np.abs(found - exact).max() > 0


@pytest.mark.parametrize("rounded", [False, True])
def test_sums_over_cells_that_are_no_intervals(rounded):
    rng = np.random.default_rng(1)
    n, K = 700, 9
    values = rng.normal(size=n).round(1) if rounded else rng.normal(size=n)
    cell = np.append(np.arange(K), rng.integers(0, K, n - K))
    at = ordering(values, rng.random(n) / n)
    cell, mean = cell[at.order], np.bincount(cell[at.order], at.shares)
    sums = CellPrefixSums(at, cell, mean, Executor(workers=1))
    assert not sums.in_order
    f = at.shares[:, None] * np.insert(np.eye(K)[cell], 0, 1.0, axis=1)
    apart = np.abs(at.values[:, None] - at.values)
    assert_allclose(sums.spread, f.T @ apart @ f, rtol=1e-9)
    points = np.concatenate([[-9.0, 9.0], rng.normal(size=30), at.values[:40]])
    upto, moved = sums.prefix(points)
    below = (at.values <= points[:, None]).astype(float)
    assert_allclose(upto, below @ f, atol=1e-12)
    assert_allclose(moved, below * (at.values - at.middle) @ f, atol=1e-12)


@pytest.mark.parametrize("name", ["projected", "signed", "embedded"])
def test_a_column_of_few_values_has_a_table(name):
    whole = dist_of(name)
    dist = whole["y2"]
    assert dist.is_discrete
    table = dist.distributions.table
    z = whole.support_points()[:, 2]
    values = np.unique(z)
    assert_array_equal(table.points[:, 0], values)
    expected = whole.weights() @ (z[:, None] == values)
    assert_allclose(table.probabilities(), expected, **CLOSE)
    assert_array_equal(dist.mode(), values[expected.argmax(axis=1)])


def test_choices_commute_with_choices_of_conditions():
    for name in MODELS:
        whole = dist_of(name)
        a, b = whole["y1"][2:5], whole[2:5]["y1"]
        assert_array_equal(a.quantile(LEVELS), b.quantile(LEVELS))
        assert_allclose(a.mean(), b.mean(), **CLOSE)
        assert_allclose(a.pdf(0.3), b.pdf(0.3), **CLOSE)
        if name == "projected":
            assert_allclose(a.projection().missed, whole[2:5].projection().missed)
        assert_allclose(whole[["y0", "y1"]]["y1"].mean(), whole["y1"].mean(), **CLOSE)


def test_all_columns_in_order_are_the_distributions_themselves():
    dists = dist_of("projected").distributions
    assert select_columns(dists, [0, 1, 2]) is dists
    named = select_columns(dists, [0, 1], Encoding((None, None), ("a", "b")))
    assert named.encoding.names == ("a", "b")
    assert Conditional(named)["b"].mean().shape == (Q,)


def test_a_saved_compressed_model_answers_by_column():
    model = jd.load(Path(__file__).parents[1] / "files" / "joint-compressed-vector.jd")
    points = model.marginal("x").support_points()[:3]
    dist = model.given(x=points)
    one = dist["y1"]
    assert_allclose(one.mean(), dist.mean()[:, 1], **CLOSE)
    assert_array_equal(one.quantile(LEVELS), dist.quantile(LEVELS)[:, :, 1])
    expected = dist.weights() @ (dist.support_points()[:, 1] <= 0.1)
    assert_allclose(one.cdf(0.1), expected, **CLOSE)


def test_pit_coverage_and_crps_of_a_column():
    x, y, _ = sides()
    dist = MODELS["projected"]().fit(x[:100], y[:100]).given(x[100:])["y0"]
    assert 0.7 < scores.coverage(dist, y[100:, 0]).mean() <= 1
    pit = scores.pit(dist, y[100:, 0])
    assert 0.35 < pit.mean() < 0.65
    assert scores.crps(dist, y[100:, 0]).mean() < y[100:, 0].std() / 2
