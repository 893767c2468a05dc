"""Projected distributions: proper ones that match the moments of signed ones."""

import tracemalloc
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import pytest
from dependent_pairs import N, kind_of, sides
from distribution_oracle import Explicit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from jointdist import (
    ConditionalMeanEmbedding,
    JointDistribution,
    PolynomialJointDistribution,
    Selection,
    scores,
)
from jointdist.data.executor import Executor
from jointdist.datasets import NormalPair
from jointdist.kernels import Gaussian, Polynomial
from jointdist.models.direction import Regression, Typical
from jointdist.projection import isotonic, projected
from jointdist.projection.settings import SETTINGS

KINDS = [
    "scalar",
    "rounded",
    "inflated",
    "binary",
    "vector",
    "counts",
    "categories",
    "mixed",
]
LEVELS = [0.03, 0.25, 0.5, 0.8, 0.99]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
CELLS = ["few cells", "all"]
FEW = ["binary", "counts", "categories"]  # kinds with few values, or of few categories
QUICK = Selection(cv=0.2)  # one part held out, where the choice is not the point


@cache
def fitted(kind, positivity="projected", weighted=False, marginals="exact", *, cells=None):
    """Return a model of some kind, and what it was fitted to; one for each kind of cells."""
    assert cells in (None, *CELLS)
    data = sides(kind)
    rng = np.random.default_rng(6)
    data.w = rng.integers(0, 4, N) * rng.random(N) if weighted else np.ones(N)
    data.model = JointDistribution(
        data.kernel_x,
        data.kernel_y,
        tol=0.01,
        regularization=1e-5,
        marginals=marginals,
        positivity=positivity,
        random_state=0,
        executor=Executor(workers=2, block_rows=297),
    ).fit(data.X, data.Y, data.w if weighted else None)
    return data


@pytest.fixture(params=CELLS)
def fitted_on(request, monkeypatch):
    """Return what fits models whose distributions are on few cells, or as many as by default."""
    how = {}
    if request.node.callspec.params.get("kind", "scalar") not in FEW:
        how["ridges"] = (1.0, 0.1)  # smaller ones are slow
    if request.param == "few cells":
        how |= {"interval_cells": 50, "feature_cells": 60, "isotonic_cells": 70}
    for module in (projected, isotonic):
        monkeypatch.setattr(module, "SETTINGS", replace(SETTINGS, **how))
    return partial(fitted, cells=request.param)


def test_it_is_the_default():
    for model in (JointDistribution, PolynomialJointDistribution, ConditionalMeanEmbedding):
        assert model().positivity == "projected"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["y", "x"])
@pytest.mark.parametrize("weighted", [False, True])
def test_distributions_are_distributions(fitted_on, kind, side, weighted):
    data = fitted_on(kind, "projected", weighted=weighted)
    dist = data.model.given(**{"x": data.x} if side == "y" else {"y": data.y})
    weights = dist.weights()
    assert (weights >= 0).all()
    assert_array_equal(weights[:, data.w == 0], 0)
    assert_allclose(weights.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert_allclose(dist.mass(), 1, rtol=0, atol=1e-12)
    assert_array_equal(dist.negative_share(), 0)
    assert_array_equal(dist.support_points(), data.Y if side == "y" else np.squeeze(data.X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_conditions_of_optimality_from_the_weights_alone(fitted_on, kind, weighted):
    data = fitted_on(kind, "projected", weighted=weighted)
    model, shares = data.model, data.w / data.w.sum()
    dist = model.given(x=data.x)
    weights, ratio = dist.weights(), model.ratio(data.x, data.Y, grid=True)
    assert (dist.novelty() < 0.4).all()  # so that conditions are trusted
    projector = model._fitted.y_given_x.projector
    family, cell = projector.family, projector.cells.cell
    g = projector.moments.at(projector.signed.points.table())
    assert_allclose(shares @ g, 0, atol=1e-10)
    assert_allclose(shares @ g**2, 1, rtol=1e-6)
    targets = (shares * ratio) @ g  # of the signed distribution
    found = weights @ g
    theta = (targets - found) / family.ridge
    K = cell.max() + 1
    p, W = (
        np.array([np.bincount(cell, row, K) for row in rows])
        for rows in (shares[None], weights)
    )
    within = np.where(shares > 0, weights / np.where(shares > 0, shares, 1), np.nan)
    tilted = (W / p)[:, cell]
    assert_allclose(within, np.where(shares > 0, tilted, np.nan), rtol=1e-9)
    centres = np.array([np.bincount(cell, shares * own, K) for own in g.T]).T / p.T
    known = W / p > 1e-6  # of less, rounding leaves too few digits
    free = np.log(np.where(known, W / p, 1.0)) - theta @ centres.T
    middle = np.where(known, W * free, 0.0).sum(axis=1) / np.where(known, W, 0).sum(axis=1)
    spread = np.where(known, free - middle[:, None], 0.0)
    # a slope of 1e-9 is as much of a tilt as the smallest ridge makes of it
    slack = 1e-9 * np.abs(centres).sum(axis=1).max() / family.ridge.min() + 1e-7
    assert np.abs(spread).max() < 5 * slack
    theta = dist.distributions.conditions.solved.theta
    assert np.abs(found - targets + family.ridge * theta).max() < 1e-8


@pytest.mark.parametrize("kind", KINDS)
def test_means_of_functions_on_cells_are_exact(fitted_on, kind):
    data = fitted_on(kind, "projected", weighted=True)
    projector = data.model._fitted.y_given_x.projector
    dist = data.model.given(x=data.x)
    W = np.concatenate(list(dist.distributions.conditions.weights()))
    g = projector.moments.at(projector.signed.points.table())
    assert_allclose(W @ projector.family.features, dist.weights() @ g, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positivity", ["projected", "isotonic"])
def test_all_that_distributions_are_asked_is_of_their_weights(fitted_on, kind, positivity):
    if positivity == "isotonic" and kind in ("vector", "counts", "categories", "mixed"):
        pytest.skip("for one column of numbers")
    data = fitted_on(kind, positivity, weighted=True)
    dist, support = data.model.given(x=data.x), data.Y
    explicit = Explicit(dist.weights(), support)
    assert_allclose(dist.effective_size(), explicit.effective_size(), **CLOSE)
    few = {tuple(np.atleast_1d(row)) for row in support[:40].tolist()}
    event = lambda z: np.array([tuple(np.atleast_1d(row)) in few for row in z.tolist()])  # noqa: E731
    assert_allclose(dist.prob(event), explicit.expect(event(support)), **CLOSE)
    uniform = np.random.default_rng(0).random((len(dist), 7))
    drawn = dist.sample(7, random_state=0)
    if kind_of(kind, "y") == "categories":
        assert_array_equal(drawn, explicit.clipped_draws(uniform))
        return
    assert_allclose(dist.mean(), explicit.mean(), **CLOSE)
    assert_allclose(dist.second_moment(), explicit.second_moment(), **CLOSE)
    assert_allclose(dist.cov(), explicit.cov(), **CLOSE)
    assert_array_equal(dist.quantile(LEVELS), explicit.quantile(LEVELS))
    points = np.concatenate([data.y, support[:9]])
    F = explicit.cdf(points)
    assert_allclose(dist.cdf(points), F, **CLOSE)
    assert_allclose(dist.cdf(data.y), np.diagonal(F), **CLOSE)
    if support.ndim == 1:
        assert_array_equal(drawn, explicit.quantile(uniform))
        apart, near = np.abs(support[:, None] - support), np.abs(data.y[:, None] - support)
        assert_allclose(scores.crps(dist, data.y), explicit.energy(apart, near), **CLOSE)
    else:
        assert_array_equal(drawn, explicit.clipped_draws(uniform))
        apart, near = (
            np.sqrt(((z[:, None] - support) ** 2).sum(axis=2)) for z in (support, data.y)
        )
        found = scores.energy_score(dist, data.y, units=1.0)
        assert_allclose(found, explicit.energy(apart, near), **CLOSE)


@pytest.mark.parametrize("positivity", ["projected", "isotonic"])
def test_densities(fitted_on, positivity):
    data = fitted_on("scalar", positivity)
    dist = data.model.given(x=data.x)
    y = np.linspace(data.Y.min() - 2, data.Y.max() + 2, 3000)
    pdf = dist.pdf(y, grid=True)
    assert (pdf >= 0).all()
    assert_allclose(np.trapezoid(pdf, y), 1, atol=2e-3)
    assert_allclose(dist.pdf(data.y), np.diagonal(dist.pdf(data.y, grid=True)), rtol=1e-12)
    mode = dist.mode()
    assert np.isin(mode, data.Y).all()
    assert (dist.pdf(mode) > 0.95 * pdf.max(axis=1)).all()


@cache
def noisy_line(noise):
    """Return a model of rows along a line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 1))
    model = JointDistribution(random_state=0)
    return model.fit(X, X[:, 0] + noise * rng.normal(size=250))


@pytest.mark.parametrize("positivity", ["projected", "isotonic"])
@pytest.mark.parametrize("noise", [0.5, 0.02])
def test_densities_are_those_of_the_distribution(positivity, noise):
    """They integrate to one and have its mean, however narrow the distribution and far out."""
    model = noisy_line(noise).refit(positivity=positivity)
    dist = model.given([[-2.5], [0.0], [3.0]])
    at = np.linspace(-12, 12, 40_001)
    density = dist.pdf(at, grid=True)
    assert (density >= 0).all()
    assert_allclose(np.trapezoid(density, at, axis=1), 1, rtol=1e-3)
    assert_allclose(np.trapezoid(density * at, at, axis=1), dist.mean(), atol=2e-3)
    second = np.trapezoid(density * (at - dist.mean()[:, None]) ** 2, at, axis=1)
    assert (second >= dist.cov() - 1e-3).all()
    assert (second < (1 + 0.9**2) * dist.cov() + 1e-3).all()  # smoothed, at most so widely


def test_densities_of_several_columns_integrate_to_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    Y = np.hstack([X, X**2]) + 0.2 * rng.normal(size=(600, 2))
    model = JointDistribution(selection=QUICK, random_state=0).fit(X, Y)
    dist = model.given([[0.0], [-1.5]])
    a, b = np.linspace(-6, 6, 150), np.linspace(-6, 14, 250)
    at = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    cell = (a[1] - a[0]) * (b[1] - b[0])
    assert_allclose(dist.pdf(at, grid=True).sum(axis=1) * cell, 1, rtol=0.01)


def test_kernels_without_bound_are_not_trusted_far_away():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=300)
    dist = JointDistribution(Polynomial(2), random_state=0).fit(X, y).given([[0.5], [1e6]])
    assert dist.novelty()[0] < 0.01
    assert dist.novelty()[1] > 0.99
    assert_allclose(dist.mean()[1], y.mean(), atol=1e-3)
    assert_allclose(dist.std()[1], y.std(), rtol=1e-3)


@pytest.mark.parametrize("positivity", ["projected", "isotonic"])
@pytest.mark.parametrize("kind", ["scalar", "rounded", "categories"])
def test_far_from_the_sample_it_is_the_distribution_of_the_sample(kind, positivity):
    if kind == "categories" and positivity == "isotonic":
        pytest.skip("for one column of numbers")
    data = fitted(kind, positivity, weighted=True)
    shares = data.w / data.w.sum()
    dist = data.model.given(x=[[1e3, -1e3], [1e6, 0.0]])
    assert_allclose(dist.weights(), [shares, shares], atol=1e-12)
    assert (dist.novelty() > 0.99).all()


def test_polynomials_and_embeddings_too():
    data = sides("scalar")
    polynomial = PolynomialJointDistribution(degree=4, regularization=0.0)
    embedding = ConditionalMeanEmbedding(
        Gaussian(1.0), Gaussian(1.0), regularization=1e-4, random_state=0
    )
    full = ConditionalMeanEmbedding(
        Gaussian(1.0), Gaussian(1.0), regularization=1e-4, low_rank=False
    )
    for model in (polynomial, embedding, full):
        model.fit(data.X, data.Y)
        signed = model.refit(positivity="none").given(data.x)
        assert (signed.negative_share() > 0).any()
        for positivity in ("projected", "isotonic"):
            dist = model.refit(positivity=positivity).given(data.x)
            assert (dist.weights() >= 0).all()
            assert_allclose(dist.weights().sum(axis=1), 1, atol=1e-12)
            assert_allclose(dist.mean(), signed.mean(), atol=0.35 * data.Y.std())
            assert (
                scores.crps(dist, data.y).mean() < 1.03 * scores.crps(signed, data.y).mean()
            )
        far = model.given([[1e4, 1e4]])
        assert_allclose(far.mean(), data.Y.mean(), atol=1e-3)
        assert_allclose(
            far.quantile(LEVELS),
            Explicit(np.full((1, N), 1 / N), data.Y).quantile(LEVELS),
            atol=0.05,
        )


class TestIsotonic:
    @pytest.mark.parametrize("kind", ["scalar", "rounded", "inflated", "binary"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_it_is_the_regression_of_the_cdf(self, kind, weighted):
        data = fitted(kind, "isotonic", weighted=weighted)
        dist, shares = data.model.given(x=data.x), data.w / data.w.sum()
        ratio = data.model.ratio(data.x, data.Y, grid=True)
        values, which = np.unique(data.Y[shares > 0], return_inverse=True)
        signed, own = (
            np.array([np.bincount(which, row[shares > 0]) for row in weights])
            for weights in (shares * ratio, dist.weights())
        )
        for w, s in zip(own, signed, strict=True):
            oracle = IsotonicRegression(y_min=0, y_max=1)
            oracle.fit(values[:-1], np.cumsum(s)[:-1], np.diff(values))
            cdf = oracle.predict(values[:-1])
            assert_allclose(np.cumsum(w)[:-1], cdf, atol=1e-9)

    @pytest.mark.parametrize("kind", ["scalar", "rounded", "inflated"])
    def test_no_outcome_has_a_larger_crps(self, kind):
        data = fitted(kind, "isotonic")
        dist, signed = (
            data.model.given(x=data.x),
            fitted(kind, "none").model.given(x=data.x),
        )
        assert (signed.negative_share() > 0.01).any()
        for y in np.linspace(data.Y.min() - 1, data.Y.max() + 1, 40):
            outcomes = np.full(len(dist), y)
            better = scores.crps(dist, outcomes) <= scores.crps(signed, outcomes) + 1e-12
            assert better.all()

    def test_of_one_column_of_numbers(self):
        data = fitted("vector", "isotonic")
        with pytest.raises(
            ValueError, match=r"positivity.*one column of numbers.*projected"
        ):
            data.model.given(x=data.x)
        data.model.given(y=data.y)  # X has one


class TestReport:
    def test_what_was_kept_and_moved(self):
        data = fitted("scalar")
        dist = data.model.given(x=data.x)
        report, weights = dist.projection(), dist.weights()
        assert report.kind == "projected"
        assert report.converged.all()
        assert_allclose(report.effective_size, dist.effective_size())
        information = xlogy(weights, weights * N).sum(axis=1)
        assert_allclose(report.information, information, atol=1e-9)
        cells = dist.distributions.support.cell
        signed = data.model.ratio(data.x, data.Y, grid=True) / N
        apart = [
            np.abs(np.bincount(cells, w) - np.bincount(cells, s)).sum() / 2
            for w, s in zip(weights, signed, strict=True)
        ]
        assert_allclose(report.moved, apart, atol=1e-9)
        assert 0 < report.missed.max() < 2
        assert "distribution" in repr(report)
        assert_allclose(dist[3].projection().moved, report.moved[3:4])

    def test_embeddings_are_compared_on_the_cells_of_their_pivots(self):
        data = sides("scalar")
        model = ConditionalMeanEmbedding(
            Gaussian(1.0), Gaussian(1.0), regularization=1e-3, random_state=0
        ).fit(data.X, data.Y)
        report = model.given(data.x).projection()
        assert (report.moved > 0.1).all()  # from few pivots to the sample

    def test_signed_distributions_have_none(self):
        data = fitted("scalar", "none")
        with pytest.raises(ValueError, match=r"Conditional\.projection.*projected"):
            data.model.given(x=data.x).projection()


def test_the_ridge_is_that_of_rows_left_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    kernels = Gaussian(1.0), Gaussian(1.0)
    model = JointDistribution(*kernels, regularization=1e-3, random_state=0).fit(X, y)
    joint, n = model._fitted, 60
    typical = Typical(y[:, None], X, np.ones(n), np.ones(n))
    support, ridge = joint.y_given_x.support, np.full((1, 1), 1e-3)
    regression = Regression(support, model.basis_x_, joint.H, ridge, n)
    found = regression.leave_one_out(typical)
    psi_x, psi_y = model.basis_x_.features(X), model.basis_y_.features(y[:, None])
    c_y = model.basis_y_.eigenvalues / n
    for k in (0, 17, 42):  # the regression without a row, with its own intercept
        rest = np.delete(np.arange(n), k)
        for i in range(3):
            A = np.insert(psi_x[rest], 0, 1.0, axis=1)
            penalty = np.append(0.0, np.full(psi_x.shape[1], n * 1e-3 / c_y[i]))
            beta = np.linalg.solve(A.T @ A + np.diag(penalty), A.T @ psi_y[rest, i])
            at = beta @ np.insert(psi_x[k], 0, 1.0)
            assert_allclose(found[k, i] * c_y[i], at, rtol=1e-8, atol=1e-10)
    ridges, scored = 10.0 ** np.arange(-4.5, 1.0, 0.5), []
    for ridge in ridges:
        projector = joint.y_given_x.projector.with_ridge(ridge)
        w = projector.family.weights(projector.family.solve(projector.targets(found)).theta)
        explicit = Explicit(w[:, projector.cells.cell], y)  # a cell for each row
        apart = np.abs(y[:, None] - y)
        scored.append(explicit.energy(apart, apart).mean())
    best = ridges[int(np.argmin(scored))]
    assert_allclose(
        joint.y_given_x.projector.family.ridge[0],
        best * joint.y_given_x.projector.moments.penalty[0],
    )


def test_no_array_of_all_distributions_by_all_support_points():
    rng = np.random.default_rng(0)
    n, q = 20_000, 3_000
    X = rng.normal(size=(n, 1))
    y = X[:, 0] + rng.normal(size=n)
    model = JointDistribution(
        Gaussian(1.0), Gaussian(1.0), regularization=1e-4, random_state=0
    ).fit(X, y)
    x, outcomes = X[:q], y[:q]
    model.given(x=x[:10]).quantile(0.5)  # what is kept for all distributions
    dist = model.given(x=x)
    tracemalloc.start()
    (
        dist.mean(),
        dist.std(),
        dist.cdf(outcomes),
        dist.quantile([0.1, 0.9]),
        dist.pdf(outcomes),
    )
    dist.prob(lambda y: y > 0), dist.sample(3, random_state=0), dist.projection()
    scores.crps(dist, outcomes), dist.effective_size()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * q * n * 8


def test_blocks_and_threads_do_not_matter():
    data = sides("vector")
    dists = [
        JointDistribution(
            data.kernel_x,
            data.kernel_y,
            regularization=1e-5,
            random_state=0,
            executor=Executor(workers=workers, block_rows=rows),
        )
        .fit(data.X[:300], data.Y[:300])
        .given(x=data.x)
        .weights()
        for workers, rows in [(1, 3072), (2, 100)]
    ]
    assert_allclose(*dists, rtol=1e-5, atol=1e-8)


def kernel_joint(ridge: float) -> JointDistribution:
    return JointDistribution(
        Gaussian(3.0), Gaussian(2.0), regularization=ridge, random_state=0
    )


def polynomial_joint(ridge: float) -> PolynomialJointDistribution:
    return PolynomialJointDistribution(4, regularization=ridge, random_state=0)


@pytest.mark.parametrize(
    ("seed", "model"),
    [
        (1, kernel_joint(1e-6)),
        (133, kernel_joint(1e-8)),
        (1, polynomial_joint(0.1)),
        (2, polynomial_joint(0.0)),
    ],
)
def test_accuracy_of_second_moments(seed, model):
    """Projected distributions are as accurate as signed ones, or better.

    Also where columns of Y hardly vary in some direction: as of the second pair.
    """
    pair = NormalPair.random(3, random_state=seed)
    X, Y = pair.draw(600, random_state=0)
    x, _ = pair.draw(300, random_state=1)
    model.fit(X, Y)
    truth = pair.second_moments(x)
    proper_loss = scores.second_moment_loss(model.given(x=x), truth).mean()
    signed = model.refit(positivity="none").given(x=x)
    assert proper_loss <= 1.05 * scores.second_moment_loss(signed, truth).mean()
    assert (signed.negative_share() > 0.05).any()


def straight(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """A line with noise."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 1))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        PolynomialJointDistribution(1, random_state=0),
        JointDistribution(
            Gaussian(1.5), Polynomial(1), regularization=1e-4, random_state=0
        ),
    ],
)
def test_distributions_that_know_means_alone_keep_them(model):
    """Features that are linear say nothing of second moments."""
    X, y = straight()
    x = np.array([[-2.5], [-1.0], [0.0], [1.0], [2.0]])
    model.fit(X, y)
    assert_allclose(model.predict(x), model.refit(positivity="none").predict(x), atol=0.03)
    assert (model.given(x=x).std() > 0.3).all()


class TestReachOfPolynomials:
    """Out of distribution they do not shrink to a point, and revert to the marginal."""

    x = np.array([[3.5], [4.0], [6.0], [20.0], [100.0], [1e4]])  # the last row is at 3.1

    @pytest.mark.parametrize("degree", [2, 4])
    def test_outside_of_the_rows(self, degree):
        X, y = straight()
        dist = PolynomialJointDistribution(degree, random_state=0).fit(X, y).given(x=self.x)
        assert (dist.std() > y.std() / 2).all()
        assert (np.diff(dist.novelty()) > 0).all()
        assert dist.novelty()[0] > 0.2
        assert_allclose([dist.mean()[-1], dist.std()[-1]], [y.mean(), y.std()], atol=1e-3)

    def test_copies_and_weights(self):
        X, y = straight()
        rng = np.random.default_rng(0)
        light = np.where(np.arange(300) == 5, 1e-6, 1.0)
        wild = np.concatenate([X, 30 + X]), np.concatenate([y, 18 + y])
        none = np.repeat([1.0, 1e-9], 300)
        model = PolynomialJointDistribution(2, regularization=0.0, random_state=0)
        plain = model.fit(X, y).given(x=self.x)
        for rows, w in [
            ((X, y), np.full(300, 2.0)),
            ((np.repeat(X, 2, axis=0), np.repeat(y, 2)), None),
            ((X, y), light),
            (wild, none),
        ]:
            dist = model.fit(*rows, w).given(x=self.x)
            assert_allclose(dist.novelty(), plain.novelty(), atol=0.02)
            assert_allclose(dist.mean(), plain.mean(), atol=0.05)
        dist = model.fit(X, y, rng.random(300)).given(x=self.x)
        assert (dist.std() > y.std() / 2).all()


def test_the_unit_of_a_kernel_does_not_matter():
    X, y = straight()

    @dataclass(frozen=True)
    class Small:
        kernel: Gaussian

        def __call__(self, a, b):
            return 1e-13 * self.kernel(a, b)

        def diagonal(self, a):
            return 1e-13 * self.kernel.diagonal(a)

    dists = [
        JointDistribution(Gaussian(1.0), kernel, regularization=ridge, random_state=0)
        .fit(X, y)
        .given(x=[[-1.0], [0.0], [1.0]])
        for kernel, ridge in [(Gaussian(0.3), 1e-3), (Small(Gaussian(0.3)), 1e-16)]
    ]
    assert_allclose(dists[0].std(), dists[1].std(), rtol=1e-3)


def test_embeddings_do_not_depend_on_the_origin():
    """Nor do their scales and ridge, which are chosen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = 0.3 * X[:, 0] + rng.normal(size=100)
    model = ConditionalMeanEmbedding(selection=Selection(cv=0.5), random_state=0)
    near, far = (clone(model).fit(X, y + c) for c in (0.0, 1e4))
    assert_allclose(near.regularization_, far.regularization_)
    levels = near.given(x=X[:9]).quantile([0.1, 0.9])
    assert_allclose(levels, far.given(x=X[:9]).quantile([0.1, 0.9]) - 1e4, atol=1e-4)


def test_densities_of_correlated_columns_vanish_where_nothing_is():
    rng = np.random.default_rng(0)
    x, e = rng.normal(size=(300, 1)), rng.normal(size=(300, 2))
    a = x[:, 0] + 0.2 * e[:, 0]
    model = JointDistribution(
        Gaussian(1.0), Gaussian(1.0), regularization=1e-4, random_state=0
    ).fit(x, np.column_stack([a, 0.2 * e[:, 1] - a]))
    g = np.linspace(-5, 5, 121)
    points = np.stack(np.meshgrid(g, g), axis=-1).reshape(-1, 2)
    whole = model.given(x=[[-1.0], [0.0], [1.0]]).pdf(points, grid=True).sum(axis=1)
    assert_allclose(whole * (g[1] - g[0]) ** 2, 1, atol=0.01)


def test_variances_are_not_negative():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 1)), rng.normal(size=100)
    model = JointDistribution(
        Polynomial(1), Gaussian(1.0), regularization=1e-3, random_state=0
    ).fit(X, y)
    assert (model.given(x=np.linspace(1e2, 1e4, 60)).std() >= 0).all()
