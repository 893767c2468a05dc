"""Sorted support points: cdfs, quantiles, draws and distances of any signed distributions."""

import numpy as np
import pytest
from distribution_oracle import Explicit
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows
from jointdist.distributions import quantiles as quantiles_module
from jointdist.distributions import support_points as sorted_module
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.quantiles import quantiles
from jointdist.distributions.signed import Signed
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Gaussian
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.features import FeatureMap


def support_of(values, weights=None, executor=None, rank=3, scale=1.0):
    """Return points of one column with a few features that are not centred."""
    landmarks = np.linspace(values.min(), values.max() + 1, rank)[:, None]
    kernel = Gaussian(scale)
    core = np.linalg.cholesky(kernel(landmarks, landmarks) + 1e-9 * np.eye(rank))
    features = FeatureMap(kernel, landmarks, core)
    rotation, zero = np.eye(rank), np.zeros(rank)
    basis = Basis(features, rotation, zero, zero, np.arange(rank), 0.0, 0.0)
    rows = as_rows(values[:, None], where="t", name="Y")
    w = np.ones(len(values)) if weights is None else weights
    mean = w / w.sum() @ basis.features(values[:, None])
    executor = executor or Executor(workers=1)
    points = SupportPoints(rows, Encoding((None,)), weights, executor)
    return KernelSupport.of(points, basis, mean)


def distributions_of(support, rng, count, size):
    """Return any coefficients of distributions of positive mass, and their weights."""
    t = size * rng.normal(size=(count, support.rank))
    small = 1 + t @ support.mean < 0.2
    t[small] *= -0.5 / (t[small] @ support.mean)[:, None]
    assert (1 + t @ support.mean > 0).all()
    psi = support.features(support.points.table())
    w = support.points.shares * (1 + t @ psi.T)
    return t, w / w.sum(axis=1, keepdims=True)


@st.composite
def samples(draw):
    """Draw values with few or many ties and weights with few or many zeros."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 30) | st.integers(31, 900))
    values = rng.normal(size=n)
    match draw(st.sampled_from(["distinct", "rounded", "few", "inflated", "same"])):
        case "rounded":
            values = values.round(1)
        case "few":
            values = np.clip(values.round(), 0, 1)
        case "inflated":
            values[rng.random(n) < 0.7] = 0.0
        case "same":
            values[:] = 2.5
    weights = None
    if draw(st.booleans()):
        weights = rng.random(n) * (rng.random(n) < draw(st.sampled_from([0.3, 1.0])))
        weights[rng.integers(n)] = 1.0
    return values, weights, rng


@given(sample=samples())
def test_blocks_cut_between_values_and_hold_all_points(sample):
    values, weights, _ = sample
    ordered = support_of(values, weights).points.ordering(0)
    assert_array_equal(ordered.values, np.sort(values))
    assert_array_equal(values[ordered.order], ordered.values)
    edges = ordered.edges
    assert edges[0] == 0
    assert edges[-1] == len(values)
    assert (np.diff(edges) > 0).all()
    inner = edges[1:-1]
    assert (ordered.values[inner] != ordered.values[inner - 1]).all()
    for b in np.flatnonzero(np.diff(edges) > 2 * 64):
        assert ordered.is_single(b)
    if len(np.unique(values)) == len(values) > 200:
        assert len(edges) > 3


@given(sample=samples(), size=st.sampled_from([0.0, 0.3, 3.0, 50.0]))
def test_cdfs_and_quantiles_of_signed_distributions(sample, size):
    values, weights, rng = sample
    support = support_of(values, weights)
    t, w = distributions_of(support, rng, 4, size)
    explicit, dists = Explicit(w, values), Signed(support, Fixed(t))
    points = np.concatenate([values[:20], rng.normal(size=5), [-99.0, 99.0]])
    close = {"rtol": 1e-9, "atol": 1e-9 * (1 + size)}
    F = explicit.cdf(points)
    assert_allclose(dists.cdf(points[:, None], paired=False), F, **close)
    pairs = dists.cdf(points[:4, None], paired=True)
    assert_allclose(pairs, np.diagonal(F), **close)
    levels = np.concatenate([[1e-6, 0.5, 1 - 1e-6], rng.random(9)])
    for some in (levels, levels[:3]):  # many and few are sought in other ways
        found = dists.quantile(some)[:, :, 0]
        assert_array_equal(found, explicit.quantile(some))


@given(sample=samples(), size=st.sampled_from([0.3, 3.0]))
def test_draws_are_quantiles_at_levels_of_their_own(sample, size):
    values, weights, rng = sample
    support = support_of(values, weights)
    t, w = distributions_of(support, rng, 5, size)
    uniform = rng.random((5, 11))
    found = Signed(support, Fixed(t)).draws(uniform)[:, :, 0]
    assert_array_equal(found, Explicit(w, values).quantile(uniform))


@given(sample=samples(), size=st.sampled_from([0.3, 3.0]))
def test_scores_are_double_sums_over_the_support(sample, size):
    values, weights, rng = sample
    support = support_of(values + 1e4, weights)  # far from zero, against cancellation
    t, w = distributions_of(support, rng, 5, size)
    points = np.concatenate([values[:1], rng.normal(size=4)]) + 1e4
    found, marginal = Signed(support, Fixed(t)).energy_scores(points[:, None])
    apart = np.abs(values[:, None] - values)
    near = np.abs(points[:, None] - (values + 1e4))
    expected = Explicit(w, values).energy(apart, near)
    assert_allclose(found, expected, atol=1e-8 * (1 + np.abs(w).sum(axis=1).max() ** 2))
    shares = np.tile(support.points.shares, (5, 1))
    assert_allclose(marginal, Explicit(shares, values).energy(apart, near), atol=1e-9)


@given(sample=samples(), size=st.sampled_from([0.3, 3.0, 50.0]))
def test_cdfs_stay_below_the_bound_of_their_block(sample, size):
    """Else a quantile could be sought beyond its block."""
    values, weights, rng = sample
    support = support_of(values, weights)
    sums = support.prefix_sums(0)
    ordered = sums.ordering
    t, w = distributions_of(support, rng, 3, size)
    mass = 1 + t @ support.mean
    top = quantiles_module._bounds(sums.tables, t, mass)
    F = np.cumsum(w[:, ordered.order], axis=1)
    block = np.repeat(np.arange(top.shape[1]), np.diff(ordered.edges))
    inside = ordered.last & (np.arange(len(values)) < len(values) - 1)
    assert (top[:, block] + 1e-10 * (1 + size) >= F)[:, inside].all()


def test_a_level_may_be_reached_inside_a_block_and_lost_again():
    """The running maximum of a cdf counts, not the cdf at the ends of blocks."""
    values = np.arange(640.0)
    support = support_of(values, scale=20.0, rank=33)
    sums = support.prefix_sums(0)
    ordered = sums.ordering
    assert len(ordered.edges) == 11
    target = np.where((values > 100) & (values < 115), 30.0, 0.0)
    target -= np.where((values >= 115) & (values < 130), 30.0, 0.0)
    psi = support.features(values[:, None])
    t = np.linalg.lstsq(psi, target, rcond=None)[0][None, :]
    w = support.points.shares * (1 + t @ psi.T)
    w /= w.sum()
    F = np.cumsum(w)
    level = 0.9 * F[:192].max()
    at_edges = F[ordered.edges[1:4] - 1]
    assert (at_edges < level).all()  # none of the first blocks ends above the level
    found = quantiles(sums, t, 1 + t @ support.mean, np.array([[level]]))
    assert found[0, 0] == Explicit(w, values).quantile([level])[0, 0]
    assert found[0, 0] < 130


@pytest.mark.parametrize(
    "executor", [Executor(1, 7), Executor(2, 64), Executor(3, 1999), Executor(2, 5000)]
)
def test_sums_do_not_depend_on_blocks_of_rows_or_threads(executor, rng):
    values, w = rng.normal(size=2000).round(2), rng.integers(0, 3, 2000) / 3
    first = support_of(values, w).prefix_sums(0)
    other = support_of(values, w, executor).prefix_sums(0)
    close = {"rtol": 1e-12, "atol": 1e-13}
    assert_array_equal(other.ordering.order, first.ordering.order)
    assert_array_equal(other.ordering.edges, first.ordering.edges)
    assert_allclose(other.spread, first.spread, **close)
    for name in ("table", "first", "slack"):
        assert_allclose(getattr(other.tables, name), getattr(first.tables, name), **close)
    points = rng.normal(size=99)
    for a, b in zip(other.prefix(points), first.prefix(points), strict=True):
        assert_allclose(a, b, **close)


def test_many_distributions_are_worked_on_some_at_a_time(monkeypatch, rng):
    values = rng.normal(size=500)
    support = support_of(values)
    t, w = distributions_of(support, rng, 60, 5.0)
    monkeypatch.setattr(sorted_module, "_GROUP", 3)
    monkeypatch.setattr(quantiles_module, "_CELLS", 70)
    dists, explicit = Signed(support, Fixed(t)), Explicit(w, values)
    levels = np.array([0.2, 0.6])
    assert_array_equal(dists.quantile(levels)[:, :, 0], explicit.quantile(levels))
    points = values[:50]
    assert_allclose(
        dists.cdf(points[:, None], paired=False), explicit.cdf(points), atol=1e-9
    )


def test_columns_are_ordered_one_by_one(rng):
    table = rng.integers(0, 5, size=(300, 2)) + 0.0
    kernel = Gaussian(3.0)
    landmarks = np.array([[0.0, 0.0], [4.0, 1.0]])
    core = np.linalg.cholesky(kernel(landmarks, landmarks))
    zero = np.zeros(2)
    basis = Basis(
        FeatureMap(kernel, landmarks, core), np.eye(2), zero, zero, np.arange(2), 0.0, 0.0
    )
    mean = basis.features(table).mean(axis=0)
    rows = as_rows(table, where="t", name="Y")
    points = SupportPoints(rows, Encoding((None, None)), None, Executor(1))
    support = KernelSupport.of(points, basis, mean)
    t = np.array([[0.5, -0.7], [0.0, 0.0]])
    w = 1 + t @ basis.features(table).T
    explicit = Explicit(w / w.sum(axis=1, keepdims=True), table)
    levels = np.array([0.1, 0.5, 0.9])
    found = Signed(support, Fixed(t)).quantile(levels)
    assert_array_equal(found, explicit.quantile(levels))
