"""Rows come and go: adding them is fitting to all, and forgetting undoes it."""

import numpy as np
import pytest
from distribution_oracle import Explicit, dense_ratio
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from jointdist import JointDistribution
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import as_rows
from jointdist.data.updates import joined, without
from jointdist.kernels import Gaussian
from jointdist.lowrank.reduction import moments

FIELDS = ("gram", "powers_y", "trace_x", "trace_y")


def sample_of(X, Y, w=None):
    """Return a sample of arrays."""
    rows = (
        as_rows(Z, where="t", name=name, vector=True) for Z, name in ((X, "X"), (Y, "Y"))
    )
    return Sample(*rows, w)


def contents(sample):
    """Return the rows of a sample with their weights, in their order."""
    w = np.ones(sample.n) if sample.weights is None else sample.weights
    x, y = (np.asarray(rows.read(0, rows.n)) for rows in (sample.x, sample.y))
    return np.column_stack([x, y, w])


@given(seed=seeds, weighted=st.booleans(), n=st.integers(2, 40), data=st.data())
def test_joining_and_taking_away_are_those_of_multisets(seed, weighted, n, data):
    rng = np.random.default_rng(seed)
    X, Y = rng.integers(0, 2, (n, 2)) + 0.0, rng.integers(-1, 2, n) * 0.5
    w = rng.integers(1, 3, n) + 0.0 if weighted else None
    whole = sample_of(X, Y, w)
    k = data.draw(st.integers(1, n - 1))
    gone = rng.permutation(n)[:k]
    part = sample_of(X[gone], Y[gone], None if w is None else w[gone])
    rest = without(whole, part)
    assert rest.n == n - k
    assert_array_equal(
        np.sort(contents(joined(rest, part)), axis=0), np.sort(contents(whole), axis=0)
    )
    counts = lambda s: np.unique(contents(s), axis=0, return_counts=True)  # noqa: E731
    back = joined(rest, part)
    for found, expected in zip(counts(back), counts(whole), strict=True):
        assert_array_equal(found, expected)
    kept = [tuple(row) for row in contents(rest)]
    order = [tuple(row) for row in contents(whole)]
    places = iter(order)
    assert all(row in places for row in kept)  # the others stay in their order


def test_minus_zero_is_zero():
    whole = sample_of(np.array([[0.0], [1.0]]), np.array([-0.0, 2.0]))
    rest = without(whole, sample_of(np.array([[-0.0]]), np.array([0.0])))
    assert_array_equal(contents(rest), [[1.0, 2.0, 1.0]])


def test_weights_of_one_are_no_weights():
    X, Y = np.arange(4.0)[:, None], np.arange(4.0)
    whole = joined(sample_of(X, Y), sample_of(X, Y, np.array([1.0, 2.0, 0.0, 1.0])))
    assert_array_equal(whole.weights, [1, 1, 1, 1, 1, 2, 0, 1])
    rest = without(whole, sample_of(X[[0, 0]], Y[[0, 0]]))
    assert rest.n == 6
    assert 0.0 not in rest.x.read(0, 6)


def test_counted_and_chosen_rows_have_weight():
    X = np.arange(50.0)[:, None]
    w = (np.arange(50) % 2).astype(float)
    sample = sample_of(X, X[:, 0], w)
    assert_array_equal(sample.counted.x.read(0, 25)[:, 0], np.arange(1, 50, 2))
    assert sample_of(X, X[:, 0]).counted.n == 50
    assert_array_equal(sample.choose(25, 0), np.arange(1, 50, 2))
    chosen = sample.choose(7, 3)
    assert_array_equal(chosen, sample.choose(7, 3))
    assert_array_equal(chosen, np.unique(chosen))
    assert len(chosen) == 7
    assert (chosen % 2 == 1).all()


def data_of(rng, n):
    """Return rows with duplicates."""
    X = rng.normal(size=(n, 2)).round(1)
    Y = (X[:, 0] + 0.3 * rng.normal(size=n)).round(1)
    X[n // 2 : n // 2 + 9], Y[n // 2 : n // 2 + 9] = X[:9], Y[:9]
    return X, Y


def fitted(X, Y, w=None, marginals="exact", **arguments):
    """Return a model of few landmarks."""
    model = JointDistribution(
        Gaussian(2.0),
        Gaussian(1.5),
        tol=0.2,
        marginals=marginals,
        positivity="none",
        random_state=0,
        executor=Executor(workers=2, block_rows=31),
        **arguments,
    )
    return model.fit(X, Y, w)


@pytest.mark.parametrize("marginals", ["exact", "total", "free"])
@pytest.mark.parametrize("weighted", [False, True])
def test_adding_rows_is_fitting_to_all_with_the_same_landmarks(marginals, weighted, rng):
    X, Y = data_of(rng, 900)
    w = rng.integers(0, 3, 900) + 0.0 if weighted else None
    one, two = (slice(0, 600), slice(600, 900))
    model = fitted(X[one], Y[one], None if w is None else w[one], marginals)
    landmarks, ridge = model.basis_x_.map.landmarks.copy(), model.regularization_
    model.partial_fit(X[two], Y[two], None if w is None else w[two])
    assert_array_equal(model.basis_x_.map.landmarks, landmarks)
    every = np.ones(900) if w is None else w
    share = every[one].sum() / every.sum()
    assert model.regularization_ == pytest.approx(ridge * share)

    sums = moments(model.basis_x_.map, model.basis_y_.map, X, Y, sample_weight=w)
    assert model.moments_.count == 900
    for name in FIELDS:
        expected = np.asarray(getattr(sums, name))
        close = {"rtol": 0, "atol": 1e-10 * np.abs(expected).max()}
        assert_allclose(getattr(model.moments_, name), expected, **close, err_msg=name)

    x, shares = rng.normal(size=(6, 2)), every / every.sum()
    ratio = dense_ratio(model, X, Y[:, None], every, x=x, y=Y[:, None])
    assert_allclose(model.ratio(x, Y, grid=True), ratio, rtol=1e-6, atol=1e-6)
    explicit = Explicit(shares * ratio / (ratio @ shares)[:, None], Y)
    dist = model.given(x=x)
    assert_array_equal(dist.support_points(), Y)
    assert_allclose(dist.weights(), explicit.w, rtol=1e-6, atol=1e-8)
    assert_allclose(dist.mean(), explicit.mean(), rtol=1e-6, atol=1e-6)
    assert_allclose(dist.cov(), explicit.cov(), rtol=1e-6, atol=1e-6)
    assert_array_equal(dist.quantile([0.1, 0.9]), explicit.quantile([0.1, 0.9]))


@pytest.mark.parametrize("weighted", [False, True])
def test_forgetting_is_the_inverse_of_adding(weighted, rng):
    X, Y = data_of(rng, 900)
    w = rng.integers(0, 3, 900) + 0.0 if weighted else None
    one, two = slice(0, 600), slice(600, 900)
    model = fitted(X[one], Y[one], None if w is None else w[one])
    x = rng.normal(size=(6, 2))

    def told():
        dist = model.given(x=x)
        return dist.mean(), dist.cov(), dist.quantile([0.1, 0.9]), dist.weights()

    def changed(method, rows):
        order = rng.permutation(np.arange(900)[rows])
        getattr(model, method)(X[order], Y[order], None if w is None else w[order])

    before, ridge = told(), model.regularization_
    changed("partial_fit", two)
    assert np.abs(told()[0] - before[0]).max() > 1e-5
    changed("forget", two)
    assert model.moments_.count == 600
    assert model.regularization_ == pytest.approx(ridge)
    assert sorted(model.given(x=x).support_points()) == sorted(Y[one])
    for found, expected in zip(told()[:3], before[:3], strict=True):
        assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


def test_forgetting_landmarks_and_duplicates(rng):
    """What is left is the fit to the rest, with the old landmarks."""
    X, Y = data_of(rng, 700)
    model = fitted(X, Y)
    gone = np.unique(np.concatenate([model.basis_x_.pivots, np.arange(9)]))
    model.forget(X[gone], Y[gone])
    kept = np.setdiff1d(np.arange(700), gone)
    x = X[:5] + 0.05
    ratio = dense_ratio(
        model, X[kept], Y[kept, None], np.ones(len(kept)), x=x, y=Y[:5, None]
    )
    assert_allclose(model.ratio(x, Y[:5], grid=True), ratio, rtol=1e-7, atol=1e-7)
    assert model.moments_.weight == len(kept)


def test_rows_with_categories_are_added_and_removed(rng):
    categories = np.array(["low", "mid", "top"])
    z = rng.normal(size=200)
    X = np.column_stack([categories[rng.integers(3, size=200)].astype(object), z])
    Y = categories[np.digitize(z, [-0.5, 0.5])]
    model = JointDistribution(random_state=0, tol=0.1).fit(X, Y)
    before = model.given(x=X[:4]).prob(lambda y: y == "top")
    model.partial_fit(X[:33], np.repeat("low", 33))
    after = model.given(x=X[:4]).prob(lambda y: y == "top")
    assert np.abs(before - after).max() > 1e-3
    model.forget(X[:33], np.repeat("low", 33))
    again = model.given(x=X[:4]).prob(lambda y: y == "top")
    assert_allclose(again, before, rtol=1e-8, atol=1e-9)
    with pytest.raises(
        ValueError, match=r"^JointDistribution\.partial_fit: `Y` must be of cat"
    ):
        model.partial_fit(X[:1], ["none"])


UNKNOWN = (
    r"^JointDistribution\.forget: `X, Y` must be rows that the model was fitted to, with"
)


def test_rows_that_are_not_there_cannot_be_forgotten(rng):
    X, Y = rng.normal(size=(60, 1)), rng.normal(size=60)
    w = np.repeat([0.0, 1.0], [5, 55])
    model = JointDistribution(random_state=0).fit(X, Y, w)
    mean = model.predict(X[:5])
    with pytest.raises(ValueError, match=UNKNOWN + r".*Got row 1, which is not"):
        model.forget([X[9], X[0] + 1], [Y[9], Y[0]])
    with pytest.raises(ValueError, match=UNKNOWN):
        model.forget(X[9:10], Y[8:9])
    with pytest.raises(ValueError, match=UNKNOWN):
        model.forget(X[9:10], Y[9:10], [2.0])  # with another weight
    with pytest.raises(
        ValueError, match=UNKNOWN + r".*row 1, which is not, or not so often"
    ):
        model.forget(X[[9, 9]], Y[[9, 9]])
    with pytest.raises(
        ValueError, match=r"`X, Y` must be not all rows of the model\. Got all"
    ):
        model.forget(X, Y, w)
    with pytest.raises(
        ValueError, match=r"`X, Y` must be not all rows of the model\. Got all"
    ):
        model.forget(X[5:], Y[5:], w[5:])  # the others have no weight
    assert_array_equal(model.predict(X[:5]), mean)  # nothing has happened


@pytest.mark.filterwarnings("ignore:.*landmarks miss:UserWarning")
@pytest.mark.parametrize(("y", "weight"), [(1e9, 1.0), (1e12, 1.0), (3.0, 1e17)])
def test_what_was_forgotten_leaves_no_rounding_behind(y, weight, rng):
    X = rng.normal(size=(400, 1))
    Y = X[:, 0] + 0.3 * rng.normal(size=400)
    model = JointDistribution(Gaussian(), Gaussian(), random_state=0).fit(X, Y)
    before = model.given(x=[0.0]).var(), model.given(x=[0.0]).mean()
    model.partial_fit([[0.5]], [y], sample_weight=[weight])
    model.forget([[0.5]], [y], sample_weight=[weight])
    dist = model.given(x=[0.0])
    assert_allclose((dist.var(), dist.mean()), before, rtol=1e-8)
    assert_allclose(dist.weights().sum(), 1, atol=1e-10)
