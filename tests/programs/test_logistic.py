"""Logistic regression on features: scikit-learn on the same, duality, and row blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LogisticRegression
from strategies import seeds

from jointdist.data.executor import Executor
from jointdist.programs import Status, _likelihood, _logistic_loss
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import logistic


def sample(rng, n=200, m=12, classes=2):
    """Return features of eigenvalues that decay, and classes that depend on them."""
    F = rng.normal(size=(n, m)) * 0.7 ** np.arange(m)
    scores = 2 * F[:, :3] @ rng.normal(size=(3, classes)) + rng.gumbel(size=(n, classes))
    y = scores.argmax(axis=1)
    y[:classes] = np.arange(classes)
    return F, y


def blocks(F, intercept=True, **arguments):
    return Blocks(*F.shape, lambda rows: F[rows], intercept, **arguments)


def scores(F, value, intercept):
    """Return the scores of all classes, with zero for the first of two."""
    f = F @ value.T + intercept
    return np.hstack([np.zeros_like(f), f]) if f.shape[1] == 1 else f


def objective(F, y, w, ridge, at):
    f = scores(F, *at)
    losses = logsumexp(f, axis=1) - f[np.arange(len(y)), y]
    return w @ losses + ridge * np.sum(at[0] ** 2)


def theirs(F, y, w, ridge, intercept):
    """Return the optimum by scikit-learn."""
    model = LogisticRegression(
        C=1 / (2 * ridge),
        solver="newton-cholesky",
        fit_intercept=bool(intercept),
        tol=1e-13,
        max_iter=200,
    ).fit(F, y, sample_weight=w)
    level = model.intercept_ - model.intercept_.mean() * (len(model.intercept_) > 1)
    return model.coef_, level


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize(("intercept", "weighted"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_optimum_is_that_of_scikit_learn(  # noqa: PLR0917
    rng, classes, ridge, intercept, weighted, precision
):
    F, y = sample(rng, classes=classes)
    w = rng.exponential(size=len(y)) if weighted else None
    found = logistic(
        blocks(F, intercept), y, ridge, classes=classes, weights=w, precision=precision
    )
    coefficients, level = theirs(F, y, w, ridge, intercept)
    assert found.status is Status.OPTIMAL
    assert_allclose(found.value, coefficients, atol=1e-6)
    assert_allclose(found.intercept, level, atol=1e-6)
    w = np.ones(len(y)) if w is None else w
    own = objective(F, y, w, ridge, (found.value, found.intercept))
    assert_allclose(found.objective, own, rtol=1e-12)
    assert own <= objective(F, y, w, ridge, (coefficients, level)) * (1 + 1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_gradient_vanishes(rng, classes):
    F, y = sample(rng, classes=classes)
    w, ridge = rng.exponential(size=len(y)), 0.05
    found = logistic(blocks(F), y, ridge, classes=classes, weights=w)
    slopes = softmax(scores(F, found.value, found.intercept), axis=1)
    slopes = w[:, None] * (slopes - np.eye(classes)[y])
    slopes = slopes[:, 1:] if classes == 2 else slopes
    assert_allclose(slopes.T @ F + 2 * ridge * found.value, 0, atol=1e-9)
    assert_allclose(slopes.sum(axis=0), 0, atol=1e-9)
    if classes > 2:
        assert_allclose(found.value.sum(axis=0), 0, atol=1e-12)
        assert_allclose(found.intercept.sum(), 0, atol=1e-12)


@given(seed=seeds, classes=st.integers(2, 4), steps=st.integers(1, 4))
def test_the_gap_bounds_what_is_missing(seed, classes, steps):
    rng = np.random.default_rng(seed)
    F, y = sample(rng, int(rng.integers(10, 80)), 8, classes)
    ridge, intercept = 10.0 ** rng.uniform(-4, 1), bool(rng.integers(2))
    w = rng.exponential(size=len(y)) * 10.0 ** rng.uniform(-2, 2)
    problem = (blocks(F, intercept), y, ridge)
    best = logistic(*problem, classes=classes, weights=w)
    early = logistic(*problem, classes=classes, weights=w, max_iter=steps)
    assert best.status.ok
    assert early.status.ok == (early.certificate.gap <= 1e-10)
    missing = early.objective - best.objective
    assert missing >= -1e-9 * best.objective
    most = (early.certificate.gap + 1e-9) * early.objective
    assert missing <= most
    assert ridge * np.sum((early.value - best.value) ** 2) <= most


@given(seed=seeds, classes=st.integers(2, 4))
def test_the_gap_bounds_what_is_missing_anywhere(seed, classes):
    rng = np.random.default_rng(seed)
    F, y = sample(rng, 40, 3, classes)
    ridge = 10.0 ** rng.uniform(-3, 3)
    best = logistic(blocks(F), y, ridge, classes=classes)
    problem = _likelihood.Likelihood(blocks(F), y, None, classes, ridge)
    C = np.column_stack([best.value, best.intercept])
    C = C + rng.normal(size=C.shape) * 10.0 ** rng.uniform(-4, 0, C.shape[1])
    point = problem.at(problem.centred(C))
    missing = point.value - best.objective
    assert missing <= (problem.gap(point) + 1e-9) * point.value


@pytest.mark.parametrize("intercept", [-0.3, 0.0, 1.3])
def test_the_gap_where_a_feature_does_what_the_intercept_could(intercept):
    """A point with the best coefficient but not the best intercept is far from optimal."""
    y, ridge = np.array([0, 0, 0, 1]), 1e-3
    F = np.ones((4, 1))
    problem = _likelihood.Likelihood(blocks(F), y, None, 2, ridge)

    def point(c):
        return problem.at(np.array([[c, intercept]]))

    c = brentq(lambda c: point(c).gradient[0, 0], -9, 9, xtol=1e-15)
    best = logistic(blocks(F), y, ridge)
    missing = point(c).value - best.objective
    assert 0 < missing <= problem.gap(point(c)) * point(c).value


@given(seed=seeds, classes=st.integers(3, 6))
def test_it_reaches_its_tolerance(seed, classes):
    rng = np.random.default_rng(seed)
    F, y = sample(rng, int(rng.integers(classes, 300)), 30, classes)
    F *= 10.0 ** rng.uniform(-6, 0, 30)
    y = y if rng.random() < 0.5 else np.argsort(np.argsort(F[:, 0])) * classes // len(y)
    found = logistic(blocks(F), y, 10.0 ** rng.uniform(-6, 1), classes=classes)
    assert found.status is Status.OPTIMAL


def test_two_scores_of_the_softmax_are_one_of_the_logistic_loss():
    """Also far out, where the loss is a rounding error of the scores."""
    t = np.linspace(-60, 60, 25)[:, None]
    f = np.hstack([np.zeros_like(t), t]) + 3.0
    for label in (0, 1):
        y = np.full(len(t), label)
        losses, slopes, state = _logistic_loss.TwoClassLoss()(t, y)
        found, more, p = _logistic_loss.SoftmaxLoss()(f, y)
        assert_allclose(found, losses, rtol=1e-12)
        assert_allclose(more[:, 1:], slopes, rtol=1e-12)
        assert_allclose(p.prod(axis=1, keepdims=True), state, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_blocks_and_threads_do_not_matter(rng, classes):
    F, y = sample(rng, 500, classes=classes)
    once = logistic(blocks(F), y, 0.1, classes=classes)
    for rows, workers, limit in [(64, 1, 1 << 28), (64, 3, 1 << 28), (7, 2, 0)]:
        cut = blocks(F, executor=Executor(workers, rows), limit=limit)
        found = logistic(cut, y, 0.1, classes=classes)
        assert_allclose(found.value, once.value, atol=1e-9)
        assert_allclose(found.intercept, once.intercept, atol=1e-9)


def test_what_is_computed_anew_is_what_was_kept(rng):
    F, y = sample(rng, 300)
    asked = []

    def compute(rows):
        asked.append(rows.start)
        return F[rows]

    executor = Executor(1, 100)
    kept = Blocks(300, 12, compute, True, executor, limit=300 * 13)
    found = logistic(kept, y, 0.1)
    assert asked == [0, 100, 200]
    anew = Blocks(300, 12, compute, True, executor, limit=300 * 13 - 1)
    again = logistic(anew, y, 0.1)
    assert len(asked) > 3 * again.iterations
    assert_array_equal(again.value, found.value)
    assert_array_equal(again.intercept, found.intercept)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_repeated_rows(rng, classes):
    F, y = sample(rng, classes=classes)
    w = rng.integers(0, 4, len(y))
    w[:classes] = 1
    weighted = logistic(blocks(F), y, 0.1, classes=classes, weights=w.astype(float))
    rows = np.repeat(np.arange(len(y)), w)
    repeated = logistic(blocks(F[rows]), y[rows], 0.1, classes=classes)
    assert_allclose(weighted.value, repeated.value, atol=1e-7)
    assert_allclose(weighted.objective, repeated.objective, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-290, 1e290])
def test_only_the_ratio_of_weights_and_ridge_matters(rng, size):
    F, y = sample(rng, classes=3)
    once = logistic(blocks(F), y, 0.1, classes=3)
    w = np.full(len(y), size)
    found = logistic(blocks(F), y, 0.1 * size, classes=3, weights=w)
    assert_allclose(found.value, once.value, atol=1e-7)
    assert_allclose(found.objective, size * once.objective, rtol=1e-12)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_with_hardly_a_ridge(classes, precision):
    x = np.linspace(-1, 1, 60)
    y = np.digitize(x, [-0.4, 0.3] if classes == 3 else [0.1])
    F = np.stack([x, x**2, x**3, x - 1e-7 * x**2], axis=1)  # and nearly dependent
    found = logistic(blocks(F), y, 1e-7, classes=classes, precision=precision)
    assert found.status.ok
    assert_array_equal(scores(F, found.value, found.intercept).argmax(axis=1), y)
    plain = logistic(blocks(F), y, 1e-7, classes=classes)
    assert_allclose(found.objective, plain.objective, rtol=1e-10)


def test_a_matrix_that_float32_cannot_factor(rng, monkeypatch):
    """Features of 1e25 overflow when they are squared in float32."""
    F, y = sample(rng)
    used, curvature = [], _likelihood.Likelihood.curvature

    def spy(self, point, dtype):
        used.append(dtype)
        return curvature(self, point, dtype)

    monkeypatch.setattr(_likelihood.Likelihood, "curvature", spy)
    with np.errstate(over="ignore", invalid="ignore"):
        found = logistic(blocks(1e25 * F), y, 1e49, precision="float32")
    assert used[:2] == ["float32", "float64"]
    assert set(used[1:]) == {"float64"}
    assert_allclose(1e25 * found.value, logistic(blocks(F), y, 0.1).value, atol=1e-6)


def test_many_classes_share_a_factor(rng, monkeypatch):
    F, y = sample(rng, classes=5)
    own = logistic(blocks(F), y, 0.01, classes=5)
    monkeypatch.setattr(_likelihood, "_LARGE", 0)
    shared = logistic(blocks(F), y, 0.01, classes=5)
    assert_allclose(shared.value, own.value, atol=1e-6)
    assert shared.status.ok


@pytest.mark.parametrize("classes", [2, 3])
def test_a_solution_is_a_good_start(rng, classes):
    F, y = sample(rng, classes=classes)
    first = logistic(blocks(F), y, 0.1, classes=classes)
    cold = logistic(blocks(F), y, 0.09, classes=classes)
    warm = logistic(blocks(F), y, 0.09, classes=classes, start=first)
    assert warm.iterations < cold.iterations
    assert_allclose(warm.value, cold.value, atol=1e-6)
    again = logistic(blocks(F), y, 0.1, classes=classes, start=first)
    assert again.iterations == 0
    assert again.status is Status.OPTIMAL


def test_a_rare_class(rng):
    """One row in ten thousand: the intercept is near the logarithm of the odds."""
    F = 0.01 * rng.normal(size=(20_000, 5))
    y = np.zeros(20_000, dtype=np.intp)
    y[[3, 12_345]] = 1
    found = logistic(blocks(F), y, 1.0)
    assert found.status.ok
    assert_allclose(found.intercept, np.log(2 / 19_998), atol=0.01)


def test_no_features_at_all():
    y = np.array([0, 0, 0, 1])
    found = logistic(blocks(np.empty((4, 0))), y, 1.0)
    assert_allclose(found.intercept, np.log(1 / 3))
    assert found.value.shape == (1, 0)
    assert logistic(blocks(np.empty((4, 0)), False), y, 1.0).objective == 4 * np.log(2)


@pytest.mark.parametrize("classes", [2, 3])
def test_coefficients_that_may_stay_zero(rng, classes):
    """A ridge so large that no step is worth it: there is nothing to compare slopes with."""
    F, y = sample(rng, classes=classes)
    found = logistic(blocks(F), y, 1e8, classes=classes, tol=1e-4)
    assert found.status is Status.OPTIMAL
    assert found.iterations == 0
    assert_array_equal(found.value, 0)
    assert 0 < found.certificate.stationarity <= 1
    assert found.certificate.gap <= 1e-4
    shares = softmax(scores(F[:1], found.value, found.intercept))[0]
    assert_allclose(shares, np.bincount(y) / len(y))


def test_it_says_how_it_ended(rng):
    F, y = sample(rng)
    early = logistic(blocks(F), y, 0.01, max_iter=1)
    assert early.status is Status.INEXACT
    assert early.iterations == 1
    assert repr(early).startswith("Solution(INEXACT, 1 × 12 coefficients, objective=")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regularization": 0.0}, "`regularization` must be a positive number. Got 0.0."),
        ({"tol": -1.0}, "`tol` must be a number of at least zero. Got -1.0."),
        ({"max_iter": 0}, "`max_iter` must be a whole number of at least one. Got 0."),
        ({"precision": "half"}, r"`precision` must be one of .* Got 'half'."),
    ],
)
def test_messages(rng, arguments, message):
    F, y = sample(rng)
    arguments = {"regularization": 1.0, **arguments}
    with pytest.raises(ValueError, match=f"^logistic: {message}"):
        logistic(blocks(F), y, **arguments)


def test_a_start_of_another_shape_is_refused(rng):
    F, y = sample(rng)
    start = logistic(blocks(F), y, 1.0)
    message = r"^logistic: `start` must be of shape \(1, 11\). Got shape \(1, 12\)."
    with pytest.raises(ValueError, match=message):
        logistic(blocks(F[:, :11]), y, 1.0, start=start)
