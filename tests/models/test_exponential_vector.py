"""Maximum likelihood for several outcomes: theorems, Bayes' rule, edge cases."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd
from jointdist.datasets import NormalPair
from jointdist.kernels import Gaussian
from jointdist.lowrank.leaves import propose_leaves

GIVEN = {"regularization": 1e-2, "random_state": 0, "verbose": 0}
KERNEL = Gaussian(1.0)


def model(kernel_x=KERNEL, kernel_y="auto", **options):
    """Return an estimator that has nothing to select."""
    options = {"positivity": "exponential", **GIVEN, **options}
    return jd.JointDistribution(kernel_x, kernel_y, **options)


def sample(n=200, seed=0):
    """Return two outcomes whose means, scales and correlation depend on X."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Z = rng.normal(size=(n, 2))
    Z[:, 1] = np.tanh(X[:, 0]) * Z[:, 0] + 0.5 * Z[:, 1]
    return X, np.stack([np.sin(2 * X[:, 0]), X[:, 1]], axis=1) + 0.4 * Z


def outcomes(name, n=200):
    """Return rows, outcomes of some kind, and weights."""
    X, Y = sample(n)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, size=n).astype(float) if name == "weighted" else None
    words = np.where(Y > 0, "up", "down").astype(object)
    kinds = {
        "labels": lambda: words,
        "mixed": lambda: pd.DataFrame({"number": Y[:, 0], "word": words[:, 1]}),
        "counts": lambda: np.round(Y),
        "ties": lambda: np.round(Y, 1),
        "constant": lambda: np.column_stack([Y[:, 0], np.ones(n)]),
        "heavy": lambda: Y / np.abs(rng.normal(size=(n, 1))) ** 2,
    }
    return X, kinds.get(name, lambda: Y)(), weights


KINDS = ["numbers", "labels", "mixed", "counts", "ties", "constant", "heavy", "weighted"]


@pytest.mark.parametrize("kind", KINDS)
def test_both_marginals_are_those_of_the_sample(kind):
    X, Y, w = outcomes(kind)
    found = model().fit(X, Y, w)
    share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
    weights = found.given(X).weights()  # of support points, which are the rows
    assert weights.min() >= 0
    assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert_allclose(share @ weights, share, atol=1e-10)
    back = found.given(y=Y).weights()
    assert back.min() >= 0
    assert_allclose(back.sum(axis=1), 1, atol=1e-9)
    assert_allclose(share @ back, share, atol=1e-9)
    assert_allclose(found.marginal("x").weights()[0], share, atol=1e-12)
    assert_allclose(found.marginal("y").weights()[0], share, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_x_given_y_is_the_rule_of_bayes(kind):
    X, Y, w = outcomes(kind)
    found = model().fit(X, Y, w)
    share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
    rows = np.flatnonzero(share)[:4]
    chosen = Y.iloc[rows] if isinstance(Y, pd.DataFrame) else Y[rows]
    likelihood = found.given(X).weights()[:, rows] / share[rows]  # p(y | x) over p(y)
    posterior = share[:, None] * likelihood
    posterior /= posterior.sum(axis=0)
    dists = found.given(y=chosen)
    assert_allclose(dists.weights(), posterior.T, atol=1e-12)
    assert_allclose(dists.mean(), posterior.T @ X, atol=1e-10)
    assert_allclose(found.ratio(X[:5], chosen, grid=True), likelihood[:5], rtol=1e-9)


def test_moments_of_normal_data_are_nearer_than_those_of_projections():
    pair = NormalPair.random(3, random_state=3)
    X, Y = pair.draw(300, random_state=0)
    Z, _ = pair.draw(300, random_state=1)
    truth = pair.second_moments(Z)
    how = jd.Selection(cv=0.3, scales="common")
    options = {"selection": how, "random_state": 0, "verbose": 0}
    losses = []
    for positivity in ("exponential", "projected"):
        dist = jd.JointDistribution(positivity=positivity, **options).fit(X, Y).given(Z)
        losses.append(np.mean(jd.scores.second_moment_loss(dist, truth)))
    assert losses[0] < 0.7 * losses[1]


def test_the_correlation_follows_x():
    X, Y = sample(400)
    found = jd.JointDistribution(positivity="exponential", random_state=0, verbose=0)
    found.fit(X, Y)
    cov = found.given([[-1.5, 0.0], [1.5, 0.0]]).cov()
    assert cov[0, 0, 1] < -0.05
    assert cov[1, 0, 1] > 0.05


def test_new_outcomes_are_in_the_cell_of_the_nearest_ones():
    X, Y = outcomes("counts")[:2]
    found = model().fit(X, Y)
    moved = Y + np.random.default_rng(0).uniform(-0.4, 0.4, size=Y.shape)
    assert_allclose(found.given(y=moved).mean(), found.given(y=Y).mean(), atol=1e-12)
    far = found.given(y=[[1e6, -1e6]])
    assert_allclose(far.mean()[0], X.mean(axis=0), atol=1e-9)


def test_names_events_and_single_columns():
    X, Y, _ = outcomes("mixed")
    found = model().fit(X, Y)
    dist = found.given(X[:6])
    both = dist.prob("number > 0 and word == 'up'")
    assert (both <= dist.prob("word == 'up'") + 1e-12).all()
    weights = dist.weights()
    expected = weights @ ((Y["number"] > 0) & (Y["word"] == "up")).to_numpy()
    assert_allclose(both, expected, atol=1e-12)
    assert_allclose(dist["number"].mean(), weights @ Y["number"].to_numpy(), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e6, 1e100])
def test_units_do_not_matter(unit):
    X, Y = sample()
    plain, scaled = model().fit(X, Y), model().fit(X, unit * Y)
    assert_allclose(scaled.predict(X) / unit, plain.predict(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore:JointDistribution")
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(rows):
    X, Y = sample(rows)
    found = model().fit(X, Y)
    dist = found.given(X)
    assert_allclose(dist.weights().sum(axis=1), 1)
    assert_allclose(dist.weights().mean(axis=0), 1 / rows, atol=1e-9)


def test_weights_count_repetitions():
    X, Y = sample(60)
    times = np.random.default_rng(0).integers(1, 4, size=60)
    rows = np.repeat(np.arange(60), times)
    weighted = model().fit(X, Y, times)
    repeated = model().fit(X[rows], Y[rows])
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


def test_files_pickles_and_threads_answer_alike(tmp_path):
    X, Y, _ = outcomes("mixed")
    found = model().fit(X, Y)
    found.save(tmp_path / "m.jd")
    one = model(executor=jd.Executor(workers=1, block_rows=37)).fit(X, Y)
    for other, exact in (
        (jd.load(tmp_path / "m.jd"), 0.0),
        (pickle.loads(pickle.dumps(found)), 0.0),  # noqa: S301
        (one, 1e-6),
    ):
        assert_allclose(other.given(X).weights(), found.given(X).weights(), atol=exact)
        assert_allclose(
            other.given(y=Y[:5]).weights(), found.given(y=Y[:5]).weights(), atol=exact
        )


def test_rows_that_are_not_kept(tmp_path, monkeypatch):
    fewer = partial(propose_leaves, most=128, kept=2)
    monkeypatch.setattr("jointdist.lowrank.support_proposal.propose_leaves", fewer)
    X, Y = sample(800)
    ridge = {"regularization": 0.1}
    whole, small = model(**ridge).fit(X, Y), model(support_size=400, **ridge).fit(X, Y)
    assert small.solution_.intercept.size == 128
    assert 0 < small.support_error_ < 0.5
    assert_allclose(small.predict(X[:200]), whole.predict(X[:200]), atol=0.25)
    assert_allclose(small.predict(X).mean(axis=0), Y.mean(axis=0), atol=1e-9)
    ratio = small.ratio(X[:50], Y, grid=True)  # over all rows: both marginals are exact
    assert_allclose(ratio.mean(axis=1), 1, atol=1e-9)
    small.save(tmp_path / "m.jd")
    again = jd.load(tmp_path / "m.jd")
    assert_array_equal(again.ratio(X[:9], Y[:9]), small.ratio(X[:9], Y[:9]))
    with pytest.raises(ValueError, match=r"refit: `positivity` must be .* call `fit`"):
        small.refit(regularization=0.1)


def test_refits_go_both_ways():
    X, Y = sample()
    first = model().fit(X, Y)
    closed = first.refit(positivity="projected")
    closed.partial_fit(*sample(50, seed=1))
    assert closed.given(X).negative_share().max() == 0
    back = model(positivity="projected", kernel_y=KERNEL).fit(X, Y)
    likely = back.refit(positivity="exponential")
    assert_allclose(likely.given(X).weights().mean(axis=0), 1 / 200, atol=1e-10)


def test_noise_is_the_marginal():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    found = jd.JointDistribution(positivity="exponential", random_state=0, verbose=0)
    new = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    assert abs(found.fit(X, Y).score(*new)) < 0.03


@pytest.mark.parametrize("value", [1.0, 0.1, 2024.0])
def test_a_constant_column_changes_nothing(value):
    X, Y = sample(300)
    zero, found = (
        model().fit(X, np.column_stack([Y, np.full(300, c)])) for c in (0.0, value)
    )
    assert found.solution_.intercept.size == zero.solution_.intercept.size == 300
    assert_allclose(found.predict(X)[:, :2], zero.predict(X)[:, :2], atol=1e-9)
    assert_allclose(found.predict(X)[:, 2], value)


@pytest.mark.parametrize("positivity", ["exponential", "projected"])
def test_a_column_that_is_constant_but_for_a_row_does_not_decide(positivity):
    """Held out or not, it is compared in its own unit, wherever its values lie."""
    X, Y = sample(150)
    scores = []
    for value in (0.0, 1.0, 0.1):
        flag = np.r_[np.full(149, value), value + 1]
        table = np.column_stack([Y, flag])
        found = jd.JointDistribution(positivity=positivity, random_state=0, verbose=0)
        scores.append(found.fit(X, table).selection_.score)
    assert_allclose(scores, scores[0], rtol=1e-6)
    assert scores[0] < 10


# The last two need intercepts in the thousands, for shares of 1e-10 and less.
UNEVEN = [(4.0, 1e-6, 0), (4.0, 1e-6, 1), (4.0, 1e-6, 2), (4.0, 1e-2, 24), (6.0, 1e-2, 3)]


@pytest.mark.parametrize(("spread", "ridge", "seed"), UNEVEN)
def test_marginals_are_exact_for_uneven_weights_and_tiny_ridges(spread, ridge, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 2))
    Z = rng.normal(size=(200, 2))
    Z[:, 1] = np.tanh(X[:, 0]) * Z[:, 0] + 0.5 * Z[:, 1]
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1]], axis=1) + 0.4 * Z
    weights = np.exp(spread * np.random.default_rng(seed).normal(size=200))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jd.ToleranceWarning)  # of the optimum
        found = model(regularization=ridge).fit(X, Y, weights)
    share = weights / weights.sum()
    assert_allclose(share @ found.given(X).weights(), share, rtol=1e-6)
    assert_allclose(found.given(y=Y).weights().sum(axis=1), 1, rtol=1e-6)
    assert found.solution_.certificate.feasibility < 1e-6


def test_x_given_rows_of_the_sample_is_bayes_rule_whatever_the_rank_of_y():
    X, Y = sample(400)
    rng = np.random.default_rng(0)
    Y = np.column_stack([Y, rng.standard_t(1.5, size=(400, 6))])
    found = model(max_rank=40, tol=0.5).fit(X, Y)
    posterior = found.ratio(X, Y, grid=True).T / 400
    assert_allclose(found.given(y=Y).weights(), posterior, atol=1e-9)
