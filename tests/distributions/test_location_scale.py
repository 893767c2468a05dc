"""Location-scale distributions are those of their support points, one by one."""

import numpy as np
import pytest
from dependent_pairs import sides
from distribution_oracle import Explicit
from numpy.testing import assert_allclose, assert_array_equal

from jointdist import Conditional, JointDistribution, scores
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows
from jointdist.distributions import location_scale as module
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.representatives import representatives
from jointdist.distributions.support_points import SupportPoints
from jointdist.projection.recalibration import Recalibrated

LEVELS = [0.05, 0.4, 0.9]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(
    scope="module",
    params=[("scalar", "projected"), ("scalar", "none"), ("vector", "projected")],
)
def dists(request):
    """Return distributions, those of residuals, locations, scales, and outcomes."""
    kind, positivity = request.param
    data = sides(kind)
    model = JointDistribution(
        data.kernel_x,
        data.kernel_y,
        tol=0.05,
        regularization=1e-3,
        positivity=positivity,
        random_state=0,
    ).fit(data.X, data.Y)
    base = model.given(x=data.x)
    d = data.Y.shape[1] if data.Y.ndim == 2 else 1
    rng = np.random.default_rng(0)
    shift, stretch = (
        50 * rng.normal(size=(len(base), d)),
        rng.uniform(0.1, 3, (len(base), d)),
    )
    inner = base.distributions
    dist = Conditional(
        LocationScale(
            residuals=inner,
            conditions=inner.conditions,
            location=shift,
            scale=stretch,
            encoding=inner.encoding,
            unit=np.ones(d),
        )
    )
    y = shift + stretch * (data.y.reshape(len(base), d) + 1e-6)  # not at a support point
    squeezed = [a[:, 0] if d == 1 else a for a in (shift, stretch, y)]
    return dist, base, *squeezed


def test_support_points_and_weights(dists):
    dist, base, shift, stretch, _ = dists
    assert_array_equal(dist.weights(), base.weights())
    want = shift[:, None] + stretch[:, None] * base.support_points()
    assert_allclose(dist.support_points(), want, rtol=1e-12)


def test_all_questions_are_answered_by_the_support_points(dists):
    dist, _, _, _, y = dists
    weights, points = dist.weights(), dist.support_points()
    each = [Explicit(w[None], z) for w, z in zip(weights, points, strict=True)]

    def every(name, *args):
        return np.concatenate([getattr(one, name)(*args) for one in each])

    assert_allclose(dist.mean(), every("mean"), **CLOSE)
    assert_allclose(dist.second_moment(), every("second_moment"), rtol=1e-9, atol=1e-6)
    assert_allclose(dist.cov(), every("cov"), rtol=1e-7, atol=1e-8)
    cov = every("cov")
    var = cov if cov.ndim == 1 else np.diagonal(cov, axis1=1, axis2=2)
    assert_allclose(dist.var(), var, rtol=1e-7, atol=1e-8)
    assert_allclose(dist.quantile(LEVELS), every("quantile", LEVELS), **CLOSE)
    at = y[:1]
    assert_allclose(dist.cdf(at[0]), every("cdf", at)[:, 0], **CLOSE)
    own = [one.cdf(point[None])[0, 0] for one, point in zip(each, y, strict=True)]
    assert_allclose(dist.cdf(y), own, **CLOSE)
    f = lambda z: np.cos(z) if z.ndim == 1 else np.cos(z).sum(axis=1)  # noqa: E731
    want = [(w * f(z)).sum() for w, z in zip(weights, points, strict=True)]
    assert_allclose(dist.expect(f), want, **CLOSE)
    event = lambda z: z > 0 if z.ndim == 1 else z[:, 0] > 0  # noqa: E731
    want = [(w * event(z)).sum() for w, z in zip(weights, points, strict=True)]
    assert_allclose(dist.prob(event), want, **CLOSE)


def test_cdfs_at_support_points_count_these(dists):
    """Rounding of location and scale does not put a support point below itself."""
    dist, base, *_ = dists
    points, moved = base.support_points(), dist.support_points()
    for j in range(0, len(points), 25):
        assert_allclose(dist.cdf(moved[:, j]), base.cdf(points[j]), **CLOSE)


def test_logarithms_of_densities_far_away(dists):
    """Densities there are zero for rounding; the logarithms of proper ones are finite."""
    dist, base, *_ = dists
    far, near = dist.mean() + 1e4, dist.mean()
    assert (dist.pdf(far) == 0).all()
    finite = np.isfinite(dist.logpdf(far))
    assert_array_equal(finite, np.full(len(dist), base.distributions.is_proper))
    assert_array_equal(np.isfinite(scores.log_score(dist, far)), finite)
    positive = dist.pdf(near) > 0
    assert_allclose(np.exp(dist.logpdf(near)[positive]), dist.pdf(near)[positive])


def test_densities_and_draws(dists):
    dist, base, shift, stretch, y = dists
    unit = stretch if stretch.ndim == 1 else stretch.prod(axis=1)
    assert_allclose(dist.pdf(y), base.pdf((y - shift) / stretch) / unit, rtol=1e-10)
    grid = dist.pdf(y[:4], grid=True)
    assert_allclose(np.diagonal(grid), dist[:4].pdf(y[:4]), rtol=1e-10)
    drawn = dist.sample(5, random_state=3)
    want = shift[:, None] + stretch[:, None] * base.sample(5, random_state=3)
    assert_allclose(drawn, want, rtol=1e-10)
    assert_allclose(dist.mode(), shift + stretch * base.mode(), rtol=1e-10)
    assert_allclose(dist[2:5].mean(), dist.mean()[2:5], rtol=1e-12)


def test_scores(dists):
    dist, _, _, _, y = dists
    weights, points = dist.weights(), dist.support_points()

    def distance(a, b):
        apart = a[:, None] - b
        return np.abs(apart) if apart.ndim == 2 else np.sqrt((apart**2).sum(axis=2))

    want = [
        Explicit(w[None], z).energy(distance(z, z), distance(own[None], z))[0]
        for w, z, own in zip(weights, points, y, strict=True)
    ]
    found = scores.energy_score(dist, y, units=1.0)
    if y.ndim == 1:
        assert_allclose(found, want, **CLOSE)
        assert_allclose(scores.crps(dist, y), want, **CLOSE)
    else:  # by draws that are spread evenly
        assert_allclose(found, want, rtol=0.1, atol=0.05)
        assert_allclose(found.mean(), np.mean(want), rtol=0.02)


def test_some_points_stand_for_many(dists, monkeypatch):
    dist, *_ = dists
    exact = dist.expect(np.abs)
    monkeypatch.setattr(module, "_REPRESENTATIVES", 250)
    assert_allclose(dist.expect(np.abs), exact, rtol=0.05, atol=0.5)


def test_representatives_of_a_weighted_sample_are_its_quantiles(rng):
    n = 1000
    values, w = rng.normal(size=(n, 1)), rng.exponential(size=n) ** 2
    rows = as_rows(values, where="t", name="Y")
    points = SupportPoints(rows, Encoding((None,)), w, Executor(1))
    support = CellSupport.of(points, points, np.zeros(n, dtype=np.intp), np.zeros(1))
    marginal = Recalibrated(support, Fixed(np.zeros((2, 1))))
    parts = list(representatives(marginal, 200))
    assert [part[0] for part in parts] == [slice(0, 2)]
    _, weights, chosen = parts[0]
    assert len(chosen) <= 200
    assert_allclose(weights, weights[[0, 0]])
    at = np.linspace(-2, 2, 21)
    below = weights[0] @ (chosen <= at)
    assert_allclose(below, w / w.sum() @ (values <= at), atol=1 / 200)
