"""Reflected, rounded and clipped distributions, and point masses, against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from jointdist import Conditional, JointDistribution, scores
from jointdist.data.encoding import Encoding
from jointdist.distributions.joined import pool
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.outcome_range import OutcomeRange
from jointdist.distributions.point_masses import PointMasses, with_point_masses
from jointdist.distributions.reflected import Reflected
from jointdist.kernels import Gaussian

Q = 6
LEVELS = np.array([0.02, 0.1, 0.5, 0.9, 0.98])


def residuals(d):
    """Return distributions of standardised residuals at six conditions."""
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(400, 1)), rng.normal(size=(400, d))
    model = JointDistribution(
        Gaussian(1.0), Gaussian(1.0), regularization=1e-2, random_state=0
    ).fit(X, U)
    return model.given(x=X[:Q]).distributions


@pytest.fixture(scope="module")
def inner():
    return {d: residuals(d) for d in (1, 2)}


def located(inner, location, scale):
    location = np.asarray(location, dtype=float).reshape(Q, -1)
    d = location.shape[1]
    return LocationScale(
        residuals=inner[d],
        conditions=inner[d].conditions,
        location=location,
        scale=np.full((Q, d), scale),
        encoding=Encoding((None,) * d),
        unit=np.ones(d),
    )


@pytest.fixture(scope="module")
def base(inner):
    """Return distributions around zero: some all above it, some half below, one all below."""
    return located(inner, [-9.0, -0.5, 0.0, 0.5, 1.0, 9.0], 1.0)


@pytest.fixture(scope="module", params=["low", "high", "both"])
def reflected(request, base):
    bounds = {"low": (0.0, np.inf), "high": (-np.inf, 0.7), "both": (0.0, 1.5)}
    return Reflected(base, *bounds[request.param])


def explicit(dists):
    """Yield weights and points of each distribution."""
    w, z = dists.base.weights(), dists.base.points()[..., 0]
    return zip(w, dists.at(z), strict=True)


class TestReflected:
    """They are on the reflected support points."""

    def test_answers(self, reflected):
        z = np.linspace(-0.5, 2.0, 23)
        F = reflected.cdf(z[:, None], paired=False)
        same = np.broadcast_to(z, (Q, len(z)))
        assert_allclose(reflected.cdfs(same), F, atol=1e-12)
        paired = reflected.cdf(z[:Q, None], paired=True)
        assert_allclose(paired, F[np.arange(Q), np.arange(Q)], atol=1e-12)
        for i, (w, at) in enumerate(explicit(reflected)):
            assert_allclose(F[i], [w[at <= y + 1e-9].sum() for y in z], atol=1e-8)
            assert_allclose(reflected.means()[i], w @ at, atol=0.02)
            var = w @ (at - w @ at) ** 2
            assert_allclose(reflected.variances()[i], var, atol=0.02)
            positive = reflected.expect(lambda y: y > 0.3)[i]
            assert_allclose(positive, w[at > 0.3].sum(), atol=1e-9)

    def test_quantiles(self, reflected):
        many = np.linspace(0.005, 0.995, 199)
        found, more = reflected.quantile(LEVELS)[..., 0], reflected.quantile(many)[..., 0]
        F, G = reflected.cdfs(found), reflected.cdfs(more)
        assert (F >= LEVELS - 1e-9).all()
        assert (reflected.cdfs(found - 1e-6) <= LEVELS + 1e-9).all()
        inside = (more > reflected.low) & (more < reflected.high)
        assert (abs(G - many)[inside] < 0.02).all()
        for q in (found, more):
            assert ((q >= reflected.low) & (q <= reflected.high)).all()
            assert (np.diff(q, axis=1) >= 0).all()

    def test_draws(self, reflected):
        z = reflected.draws(np.random.default_rng(0).random((Q, 4000)))[..., 0]
        assert ((z >= reflected.low) & (z <= reflected.high)).all()
        assert_allclose(
            (z <= 0.4).mean(axis=1), reflected.cdfs(np.full((Q, 1), 0.4))[:, 0], atol=0.04
        )

    def test_densities_integrate_to_one(self, base):
        z = np.linspace(0.0, 14.0, 4001)
        dists = Reflected(base.take(np.arange(1, Q)), 0.0, np.inf)
        f = dists.density(z[:, None], paired=False)
        assert_allclose(np.trapezoid(f, z, axis=1), 1.0, atol=2e-3)
        assert_array_equal(dists.density(-z[1:, None], paired=False), 0.0)
        logs = dists.density(z[:, None], paired=False, log=True)
        assert_allclose(np.exp(logs), f, atol=1e-300)
        step = np.diff(dists.cdf(z[::100][:, None], paired=False), axis=1)
        mass = np.add.reduceat((f[:, 1:] + f[:, :-1]) / 2, np.arange(0, 4000, 100), axis=1)
        assert abs((step - mass * (z[1] - z[0])).mean(axis=0)).max() < 0.02

    def test_scores(self, reflected):
        y = np.clip(np.linspace(-0.2, 1.2, Q), reflected.low, reflected.high)[:, None]
        found = reflected.energy_scores(y)[0]
        for i, (w, at) in enumerate(explicit(reflected)):
            spread = w @ abs(at[:, None] - at) @ w / 2
            assert_allclose(found[i], w @ abs(at - y[i]) - spread, atol=5e-3)

    def test_no_distribution_gets_worse(self, base, reflected):
        rng = np.random.default_rng(1)
        y = reflected.at(rng.normal(base.location, 1.0))
        before, after = base.energy_scores(y)[0], reflected.energy_scores(y)[0]
        assert after.mean() < before.mean()

    def test_what_is_inside_stays(self, base):
        far = base.take([5])
        dists = Reflected(far, 0.0, np.inf)
        assert_array_equal(dists.quantile(LEVELS), far.quantile(LEVELS))
        assert_array_equal(dists.means(), far.means())
        assert_array_equal(dists.variances(), far.variances())
        y = np.array([[9.3]])
        assert_array_equal(dists.energy_scores(y)[0], far.energy_scores(y)[0])


@pytest.fixture(scope="module")
def whole(inner):
    base = located(inner, [-9.0, 0.0, 1.3, 2.5, 6.0, 20.0], 2.0)
    return OutcomeRange(np.array([0.0]), np.array([np.inf]), whole=True).of(base)


class TestMapped:
    """Rounded and clipped outcomes."""

    def test_whole_numbers(self, whole):
        drawn = whole.draws(np.random.default_rng(0).random((Q, 2000)))
        assert_array_equal(drawn, np.round(drawn))
        assert drawn.min() == 0
        q = whole.quantile(LEVELS)[..., 0]
        assert_array_equal(q, np.round(q))
        assert (whole.cdfs(q) >= LEVELS - 1e-9).all()
        assert (whole.cdfs(q - 1) < LEVELS).all()
        k = np.arange(40.0)
        F = whole.cdf(k[:, None], paired=False)
        assert_array_equal(F, whole.cdf(k[:, None] + 0.4, paired=False))
        chances = whole.expect(lambda z: (z == k).astype(float))
        assert_allclose(np.cumsum(chances, axis=1), F, atol=1e-9)
        assert_allclose(whole.means()[:, 0], chances @ k, atol=1e-6)
        second = chances @ k**2
        assert_allclose(whole.second_moments()[:, 0, 0], second, rtol=1e-6)
        assert (whole.cdf(np.array([[-1.0]]), paired=False) == 0).all()

    def test_they_have_no_density(self, whole):
        assert whole.is_discrete
        with pytest.raises(ValueError, match="a discrete variable"):
            Conditional(whole).pdf(1.0)

    def test_scores_of_whole_numbers(self, whole):
        y = np.array([[0.0], [1.0], [1.0], [4.0], [5.0], [22.0]])
        k = np.arange(40.0)
        F = whole.cdf(k[:, None], paired=False)
        wanted = ((F - (k >= y)) ** 2).sum(axis=1)
        assert_allclose(whole.energy_scores(y)[0], wanted, atol=5e-3)

    def test_boxes(self, inner):
        location = np.linspace(-2, 2, Q)[:, None] * [1.0, -1.0]
        base = located(inner, location, 1.0)
        box = OutcomeRange(np.array([0.0, -np.inf]), np.array([np.inf, 1.0])).of(base)
        drawn = box.draws(np.random.default_rng(0).random((Q, 500)))
        assert drawn[..., 0].min() == 0
        assert drawn[..., 1].max() == 1
        q = box.quantile(LEVELS)
        assert q[..., 0].min() == 0
        assert q[..., 1].max() == 1
        assert_allclose(
            box.means(), np.einsum("qn,qnd->qd", box.weights(), box.points()), atol=0.02
        )
        cov = box.covariances()
        assert_allclose(np.einsum("qdd->qd", cov), box.variances())
        assert_array_equal(box.cdf(np.array([[-0.1, 2.0]]), paired=False), 0.0)
        assert_allclose(box.cdf(np.array([[50.0, 1.0]]), paired=False), 1.0)
        first = Conditional(box)["y0"]
        assert_allclose(first.quantile(LEVELS), q[..., 0])
        outside = np.array([[-0.1, 0.0], [0.5, 1.1]])
        assert_array_equal(box.density(outside, paired=False), 0.0)


@pytest.fixture(scope="module")
def own(base):
    p = np.random.default_rng(0).dirichlet([1, 1], Q)
    return PointMasses(np.array([0.0, 2.0]), p, base.conditions, base.encoding, base.unit)


@pytest.fixture(scope="module")
def mixed(own, base):
    share = np.linspace(0.1, 0.9, Q)
    rest = Reflected(base, 0.0, np.inf)
    return with_point_masses(
        own, share, pool([rest, rest], np.array([0.3, 0.7]), rest.conditions)
    )


class TestPointMasses:
    """Mixtures of point masses with densities."""

    def test_members_of_pools_are_components(self, mixed):
        assert set(mixed.groups.sizes) == {3}

    def test_probabilities(self, mixed, own):
        for i, value in enumerate(own.values):
            found = mixed.expect(lambda z, at=value: z == at)[:, 0]
            assert_allclose(found, mixed.share * own.probabilities[:, i])
            jump = mixed.cdf(np.array([[value], [value - 1e-7]]), paired=False)
            assert_allclose(jump[:, 0] - jump[:, 1], found, atol=1e-3)
            assert_allclose(mixed.density(np.array([[value]]), paired=False)[:, 0], found)
            at = np.full((Q, 1), value)
            logs = mixed.density(at, paired=True, log=True)
            assert_allclose(np.exp(logs), found)

    def test_densities_are_those_of_the_rest(self, mixed):
        z = np.linspace(1e-6, 16.0, 4001)
        some = mixed.take(np.arange(1, Q))
        f = some.density(z[:, None], paired=False)
        assert_allclose(np.trapezoid(f, z, axis=1), 1 - some.share, atol=3e-3)

    def test_quantiles_and_draws(self, mixed):
        q = mixed.quantile(LEVELS)[..., 0]
        assert (mixed.cdfs(q) >= LEVELS - 1e-9).all()
        assert (mixed.cdfs(q - 1e-6) <= LEVELS + 1e-9).all()
        z = mixed.draws(np.random.default_rng(0).random((Q, 4000)))[..., 0]
        zeros = mixed.expect(lambda y: y == 0)[:, 0]
        assert_allclose((z == 0).mean(axis=1), zeros, atol=0.04)

    def test_moments_and_scores(self, mixed):
        z = mixed.draws(np.tile((np.arange(20_000) + 0.5) / 20_000, (Q, 1)))[..., 0]
        assert_allclose(mixed.means()[:, 0], z.mean(axis=1), atol=0.01)
        assert_allclose(mixed.variances()[:, 0], z.var(axis=1), rtol=0.01)
        y = np.linspace(0, 3, Q)
        found = scores.crps(Conditional(mixed), y)
        ends = np.sort(z, axis=1)
        F = np.arange(1, 20_000) / 20_000
        wanted = abs(z - y[:, None]).mean(axis=1) - np.diff(ends, axis=1) @ (F * (1 - F))
        assert_allclose(found, wanted, atol=5e-3)

    def test_modes(self, mixed, own):
        found = mixed.modes()[:, 0]
        most = mixed.share >= 0.5
        assert_array_equal(found[most], own.modes()[most, 0])

    def test_alone(self, own):
        y = np.array([[0.0], [2.0], [1.0], [3.0], [0.0], [2.0]])
        p = own.probabilities[:, 1]
        wanted = abs(y[:, 0]) * (1 - p) + abs(y[:, 0] - 2) * p - 2 * p * (1 - p)
        assert_allclose(own.energy_scores(y)[0], wanted)
        assert_allclose(own.means()[:, 0], 2 * p)
        assert_allclose(own.variances()[:, 0], 4 * p * (1 - p))
        assert_allclose(own.effective_size(), 1 / (p**2 + (1 - p) ** 2))
        assert_array_equal(own.quantile(np.array([1e-9, 1 - 1e-9]))[..., 0], [[0, 2]] * Q)


def test_a_normal_distribution_that_is_reflected(inner):
    """Half of a standard normal one is the distribution of its absolute value."""
    dists = Reflected(located(inner, np.zeros(Q), 1.0), 0.0, np.inf)
    z = np.array([0.3, 1.0, 2.0])
    found = dists.cdf(z[:, None], paired=False).mean(axis=0)
    assert_allclose(found, 2 * norm.cdf(z) - 1, atol=0.05)
