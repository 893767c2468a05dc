"""Embeddings and the marginal: any weights on few points, against explicit weights."""

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
from jointdist.distributions import weights as scan
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.embedded import Embedded
from jointdist.distributions.marginal import marginal_scores
from jointdist.distributions.support_points import SupportPoints

CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def points_of(table, weights=None, executor=None):
    """Return rows as support points."""
    rows = as_rows(table, where="t", name="Y")
    encoding = Encoding((None,) * table.shape[1])
    return SupportPoints(rows, encoding, weights, executor or Executor(1))


@st.composite
def embeddings(draw, d):
    """Draw signed weights of positive sum on distinct rows, with ties along columns."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 40))
    table = np.unique(rng.integers(0, 9, size=(n, d)) + 0.0, axis=0)
    w = rng.normal(size=(6, len(table))) + draw(st.sampled_from([0.2, 1.0]))
    w[w.sum(axis=1) < 0.2, 0] += 1 + np.abs(w).sum()
    support = CellSupport.of_each(points_of(table), points_of(rng.normal(size=(50, d))))
    return Embedded(support, Fixed(len(table) * w - 1), divided=False), w, table, rng


@given(drawn=embeddings(1))
def test_cdfs_quantiles_and_scores_are_those_of_the_weights(drawn):
    dists, w, table, rng = drawn
    values, proper = table[:, 0], w / w.sum(axis=1, keepdims=True)
    points = np.concatenate([values[:4], [-1.0, 3.5, 99.0]])[:, None]
    for asked, weights in ((dists, w), (dists.normalised, proper)):
        F = Explicit(weights, values).cdf(points[:, 0])
        assert_allclose(asked.cdf(points, paired=False), F, **CLOSE)
        at = points[rng.integers(len(points), size=6)]
        pairs = Explicit(weights, values).cdf(at[:, 0])
        assert_allclose(asked.cdf(at, paired=True), np.diagonal(pairs), **CLOSE)
    explicit, levels = Explicit(proper, values), rng.random(12)
    for some in (levels, levels[:3]):  # many and few are found in other ways
        found = dists.normalised.quantile(some)[:, :, 0]
        assert_array_equal(found, explicit.quantile(some))
    apart = np.abs(values[:, None] - values)
    y = rng.normal(size=6)
    found, marginal = dists.energy_scores(y[:, None])
    near = np.abs(y[:, None] - values)
    assert_allclose(found, explicit.energy(apart, near), rtol=1e-8, atol=1e-8)
    even = Explicit(np.full_like(w, 1 / len(values)), values)
    assert_allclose(marginal, even.energy(apart, near), **CLOSE)


@given(drawn=embeddings(2))
def test_several_columns_with_ties(drawn):
    dists, w, table, rng = drawn
    explicit = Explicit(w / w.sum(axis=1, keepdims=True), table)
    levels = rng.random(4)
    assert_array_equal(dists.normalised.quantile(levels), explicit.quantile(levels))
    assert_allclose(dists.normalised.means(), explicit.mean(), **CLOSE)
    assert_allclose(dists.covariances(), explicit.cov(), rtol=1e-7, atol=1e-7)
    size = 1 / (explicit.w**2).sum(axis=1)
    assert_allclose(dists.effective_size(), size, rtol=1e-9)
    assert_allclose(dists.weights(), w, **CLOSE)
    assert_allclose(dists.masses(), w.sum(axis=1), **CLOSE)


def test_parts_of_many_distributions_change_nothing(monkeypatch, rng):
    table = np.unique(rng.normal(size=(30, 1)), axis=0)
    support = CellSupport.of_each(points_of(table), points_of(rng.normal(size=(50, 1))))
    dists = Embedded(support, Fixed(rng.normal(size=(40, 30))))
    levels, points = np.array([0.2, 0.7]), rng.normal(size=(40, 1))
    expected = dists.quantile(levels), dists.cdf(points, paired=True)
    monkeypatch.setattr(scan, "_CELLS", 100)
    assert_array_equal(dists.quantile(levels), expected[0])
    assert_allclose(dists.cdf(points, paired=True), expected[1], rtol=1e-12)


def test_the_last_point_reaches_every_level(rng):
    """Also where large weights of both signs leave a cdf that ends below one."""
    table = np.arange(4.0)[:, None]
    w = rng.uniform(1e8, 1e9, size=(50, 1)) * [[-1.0, -2.0, 3.0, 0.0]] + [[0.0, 0, 0, 1]]
    support = CellSupport.of_each(points_of(table), points_of(table))
    dists = Embedded(support, Fixed(4 * w - 1))
    ends = dists.cdf(np.full((50, 1), 9.0), paired=True)
    assert (ends < 1 - 1e-9).any()
    found = dists.quantile(np.array([1 - 1e-10]))[:, 0, 0]
    assert (found[ends < 1 - 1e-9] == 3).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 3])
def test_scores_of_the_marginal_are_double_sums(d, weighted, rng):
    table, y = rng.normal(size=(200, d)).round(1), rng.normal(size=(9, d))
    w = rng.random(200) * (rng.random(200) < 0.7) if weighted else np.ones(200)
    sample = points_of(table, w if weighted else None, Executor(2, 64))
    unit = np.ones(1)
    if d > 1:
        share = w / w.sum()
        unit = np.sqrt(share @ (table - share @ table) ** 2)
    apart, near = (
        np.sqrt((((z[:, None] - table) / unit) ** 2).sum(axis=2)) for z in (table, y)
    )
    explicit = Explicit(np.tile(w / w.sum(), (9, 1)), table)
    assert_allclose(marginal_scores(sample, y), explicit.energy(apart, near), rtol=1e-9)
