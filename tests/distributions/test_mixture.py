"""Mixtures are the distributions of their pooled weights and support points."""

import numpy as np
import pytest
from dependent_pairs import sides
from numpy.testing import assert_allclose, assert_array_equal

from jointdist import Conditional, ConditionalMeanEmbedding, JointDistribution, scores
from jointdist.distributions import averaged as module
from jointdist.distributions.averaged import Averaged, Grouped
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.groups import Groups
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.mixture import Mixture
from jointdist.projection.pooled import Pooled, pooled

SIZES = np.array([1, 3, 2])
LEVELS = np.array([0.05, 0.4, 0.9])
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def _base(kind, positivity, estimator=JointDistribution, **options):
    """Return six distributions of a small model."""
    data = sides(kind)
    model = estimator(
        data.kernel_x,
        data.kernel_y,
        tol=0.05,
        regularization=1e-3,
        positivity=positivity,
        random_state=0,
        **options,
    ).fit(data.X, data.Y)
    return model.given(x=data.X[:6]).distributions


def _groups():
    return Groups.of(SIZES, np.random.default_rng(1).uniform(0.5, 2, SIZES.sum()))


@pytest.fixture(scope="module", params=["scalar", "vector"])
def mixture(request):
    """Return mixtures of location-scale distributions."""
    inner, rng = _base(request.param, "projected"), np.random.default_rng(0)
    d = inner.encoding.width
    base = LocationScale(
        residuals=inner,
        conditions=inner.conditions,
        location=rng.normal(size=(6, d)),
        scale=rng.uniform(0.5, 2, (6, d)),
        encoding=inner.encoding,
        unit=np.ones(d),
    )
    return pooled(base, _groups())


def _explicit(mixture):
    """Return weights ``(q, n)`` and points ``(q, n, d)``, pooled by hand."""
    w, z = mixture.base.weights(), mixture.base.points()
    groups = mixture.groups
    for start, size in zip(groups.starts, groups.sizes, strict=True):
        part = slice(start, start + size)
        each = groups.shares[part, None] * w[part]
        yield each.ravel(), z[part].reshape(-1, z.shape[-1])


def test_linear_answers_are_those_of_pooled_points(mixture):
    assert isinstance(mixture, Mixture)
    f = np.cos
    wanted = [(w @ f(z), w @ z) for w, z in _explicit(mixture)]
    assert_allclose(mixture.expect(f), np.array([e for e, _ in wanted]), **CLOSE)
    # Means are those of all rows, with no error of the cells.
    assert_allclose(mixture.means(), np.array([m for _, m in wanted]), atol=0.02)


def test_moments_agree_with_each_other(mixture):
    m, cov = mixture.means(), mixture.covariances()
    second = mixture.second_moments()
    assert_allclose(second, cov + m[:, :, None] * m[:, None, :], atol=1e-9)
    assert_allclose(mixture.variances(), np.diagonal(cov, axis1=1, axis2=2), atol=1e-9)


def test_weights_and_points_are_pooled(mixture):
    w, z = mixture.weights(), mixture.points()
    assert w.shape == (3, mixture.n_points)
    assert z.shape == (*w.shape, mixture.encoding.width)
    assert_allclose(w.sum(axis=1), 1)
    for i, (each, points) in enumerate(_explicit(mixture)):
        assert_array_equal(w[i, : len(each)], each)
        assert_array_equal(w[i, len(each) :], 0)
        assert_array_equal(z[i, : len(each)], points)
    own = mixture.groups.average(mixture.base.normalised.effective_size())
    assert_allclose(mixture.effective_size(), own)  # they share the rows of residuals
    assert mixture.effective_size().max() <= mixture.base.n_points


def test_cdfs_and_quantiles(mixture):
    points = np.quantile(mixture.points()[0], [0.2, 0.5, 0.7], axis=0) + 1e-7
    wanted = np.array(
        [
            [w[(z <= point).all(axis=1)].sum() for point in points]
            for w, z in _explicit(mixture)
        ]
    )
    assert_allclose(mixture.cdf(points, paired=False), wanted, **CLOSE)
    assert_allclose(mixture.cdf(points, paired=True), np.diag(wanted), **CLOSE)
    found = mixture.quantile(LEVELS)
    for (w, z), each in zip(_explicit(mixture), found, strict=True):
        for column, at in zip(z.T, each.T, strict=True):
            reached = np.array([w[column <= v + 1e-9].sum() for v in at])
            before = np.array([w[column < v - 1e-9].sum() for v in at])
            slack = 1e-9 if mixture.encoding.width == 1 else 1 / 256
            assert (reached >= LEVELS - slack).all()
            assert (before <= LEVELS + slack).all()


def test_a_single_component_keeps_its_quantiles(mixture):
    assert_allclose(
        mixture.take([0]).quantile(LEVELS)[..., 0],
        mixture.base.take([0]).quantile(LEVELS)[..., 0],
        atol=0 if mixture.encoding.width == 1 else 0.02,
    )


def test_densities_are_averages_of_those_of_components(mixture):
    points = mixture.means()
    each = mixture.base.density(points, paired=False)
    wanted = mixture.groups.average(each)
    assert_allclose(mixture.density(points, paired=False), wanted, **CLOSE)
    assert_allclose(mixture.density(points, paired=True), np.diag(wanted), **CLOSE)
    logs = mixture.density(points, paired=False, log=True)
    assert_allclose(np.exp(logs), wanted, **CLOSE)
    far = mixture.density(points + 1e4, paired=True, log=True)
    assert np.isfinite(far).all()


def test_modes_have_the_highest_density_of_all_components(mixture):
    found = mixture.modes()
    heights = mixture.density(found, paired=True)
    own = mixture.base.modes()
    others = mixture.density(own, paired=False)
    inside = mixture.groups.which == np.arange(3)[:, None]
    assert_allclose(heights, np.where(inside, others, 0).max(axis=1))


def test_draws_follow_the_distribution(mixture):
    uniform = np.random.default_rng(3).random((3, 20_000))
    drawn = mixture.draws(uniform)
    assert drawn.shape == (3, 20_000, mixture.encoding.width)
    error = 4 * np.sqrt(mixture.variances() / 20_000)
    assert (np.abs(drawn.mean(axis=1) - mixture.means()) < error + 0.01).all()
    ends = mixture.draws(np.array([[0.0, 1 - 1e-16]] * 3))
    assert np.isfinite(ends).all()


def test_energy_scores(mixture):
    y, unit = mixture.means() + 0.3, mixture.units()
    unit = np.ones(1) if len(unit) == 1 else unit
    found, marginal = mixture.energy_scores(y)
    assert np.isnan(marginal).all()
    for (w, z), at, score in zip(_explicit(mixture), y, found, strict=True):
        near = np.sqrt((((z - at) / unit) ** 2).sum(axis=1))
        parts = (z[i : i + 100] for i in range(0, len(z), 100))
        away = [np.sqrt((((p[:, None] - z) / unit) ** 2).sum(axis=-1)) @ w for p in parts]
        apart = np.concatenate(away)
        wanted = w @ near - w @ apart / 2
        assert_allclose(score, wanted, rtol=2e-3 if z.shape[1] == 1 else 0.05)


def test_parts_of_mixtures_are_mixtures(mixture):
    some = mixture.take([2, 0])
    assert_allclose(some.means(), mixture.means()[[2, 0]])
    assert some.conditions.n == 2
    assert len(some.conditions.labels()[1]) == 2
    assert_allclose(some.conditions.novelty(), mixture.conditions.novelty()[[2, 0]])
    assert mixture.is_proper
    assert mixture.projection() is None
    assert_array_equal(mixture.negative_share(), 0)
    assert_array_equal(mixture.negative_ratios(-1e-9), 0)
    assert_allclose(mixture.masses(), 1)


def test_columns_of_mixtures_are_mixtures_of_columns(mixture):
    column = Conditional(mixture)["y" if mixture.encoding.width == 1 else "y1"]
    wanted = mixture.means()[:, -2 if mixture.encoding.width == 3 else 0]
    assert_allclose(column.mean(), wanted)
    assert_allclose(column.distributions.weights(), mixture.weights(), **CLOSE)


def test_users_may_ask_mixtures_everything(mixture):
    dist = Conditional(mixture)
    assert "3 distributions" in repr(dist)
    assert len(dist[1:]) == 2
    assert (dist.interval(0.9)[:, 0] < dist.interval(0.9)[:, 1]).all()
    assert len(dist.to_frame()) == 3
    one = mixture.encoding.width == 1
    y = mixture.means()[:, 0] if one else mixture.means()
    if one:
        assert scores.crps(dist, y).shape == (3,)
    assert np.isfinite(scores.log_score(dist, y)).all()


@pytest.mark.parametrize("positivity", ["projected", "isotonic", "none"])
def test_weights_on_common_points_are_averaged(positivity):
    base, groups = _base("scalar", positivity), _groups()
    found = pooled(base, groups)
    assert isinstance(found, Pooled) == (positivity != "none")
    wanted = groups.average(base.weights())
    assert_allclose(found.weights(), wanted, **CLOSE)
    z = base.points()
    assert_allclose(found.expect(np.sin), wanted @ np.sin(z), **CLOSE)
    at = np.quantile(z, LEVELS)[:, None]
    assert_allclose(found.cdf(at, paired=False), wanted @ (z <= at.T), **CLOSE)
    assert_allclose(found.take([1]).weights(), wanted[[1]], **CLOSE)
    as_mixture = Mixture(base, groups, Grouped(base.conditions, groups))
    assert_allclose(as_mixture.weights(), wanted, **CLOSE)
    assert_allclose(found.effective_size(), as_mixture.effective_size(), rtol=1e-6)
    y = np.zeros((3, 1))
    mine, theirs = found.energy_scores(y)[0], as_mixture.energy_scores(y)[0]
    if positivity != "none":  # quantiles of signed distributions are of the running maximum
        assert_allclose(mine, theirs, rtol=5e-3)
        assert found.projection() is None


def test_masses_of_free_marginals_are_divided_out():
    base, groups = _base("scalar", "none", marginals="free"), _groups()
    assert np.ptp(base.masses()) > 1e-3
    wanted = groups.average(base.weights())
    assert_allclose(pooled(base, groups).weights(), wanted, **CLOSE)


def test_embeddings_are_averaged_undivided():
    base = _base("scalar", "none", ConditionalMeanEmbedding)
    groups = _groups()
    found = pooled(base, groups)
    assert_allclose(found.weights(), groups.average(base.weights()), **CLOSE)
    assert_allclose(found.masses(), groups.average(base.masses()), **CLOSE)
    mixture = Mixture(base, groups, Grouped(base.conditions, groups))
    assert_allclose(mixture.means(), found.means(), **CLOSE)
    assert_allclose(mixture.normalised.means(), found.normalised.means(), **CLOSE)


def test_few_values_have_averaged_probabilities():
    base, groups = _base("categories", "projected"), _groups()
    mixture = Mixture(base, groups, Grouped(base.conditions, groups))
    table = mixture.table
    assert table is not None
    wanted = groups.average(base.table.probabilities())
    assert_allclose(table.probabilities(), wanted, **CLOSE)
    assert_array_equal(table.marginal, base.table.marginal)
    best = table.points[wanted.argmax(axis=1)]
    assert_array_equal(mixture.modes(), best)
    assert_allclose(table.at(best), wanted.max(axis=1), **CLOSE)


def test_averages_do_not_depend_on_the_parts(monkeypatch, rng):
    t = rng.normal(size=(1000, 7))
    groups = Groups.of(np.array([400, 1, 599]), rng.random(1000))
    wanted = groups.average(t)
    assert_allclose(Averaged(Fixed(t), groups).t, wanted)
    monkeypatch.setattr(module, "_KEPT", 14)
    monkeypatch.setattr(module, "_WORKED", 70)
    parts = list(Averaged(Fixed(t), groups).parts())
    assert len(parts) == 2
    assert_allclose(np.concatenate(parts), wanted)


def test_groups_are_chosen_with_their_components():
    groups = _groups()
    components, some = groups.take(np.array([2, 1]))
    assert_array_equal(components, [4, 5, 1, 2, 3])
    assert_array_equal(some.sizes, [2, 3])
    assert_allclose(np.add.reduceat(some.shares, some.starts), 1)
    none, empty = groups.take(np.array([], dtype=int))
    assert len(none) == empty.n == 0
