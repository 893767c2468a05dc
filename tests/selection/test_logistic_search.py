"""Kernel and ridge of the classifier: against refits by hand, on fresh rows, and at limits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import log_loss

import jointdist as jd
from jointdist.data.sample import Sample, held_out
from jointdist.data.table import Rows
from jointdist.kernels import Delta, Gaussian
from jointdist.selection import logistic_candidates as refits
from jointdist.selection import logistic_loss as losses
from jointdist.selection.stratified import class_codes, stratified

COMMON = jd.Selection("log_score", scales="common")
FEW_RIDGES = jd.Selection("log_score", regularizations=[3.0, 0.3, 0.03])


def fitted(X, y, sample_weight=None, **arguments):
    arguments = {"random_state": 0, **arguments}
    return jd.KernelLogisticRegression(**arguments).fit(X, y, sample_weight)


def checkered(rng, n):
    """Return rows in squares of side one, which tell the class."""
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


def rule_of_thumb(X, y):
    """Return the classifier with scales by the median heuristic and a ridge of 0.01."""
    one = jd.Selection("log_score", cv=0.2, scales="common", regularizations=[0.01])
    kernel = fitted(X, y, selection=one).selection_.candidates[0].kernel_x
    return fitted(X, y, kernel_x=kernel, regularization=0.01)


@pytest.fixture
def lattice(rng):
    """Return rows of few values, all of which are landmarks of every factor; sorted."""
    X = rng.integers(0, 4, size=(90, 2)).astype(float)
    X = X[np.lexsort(X.T[::-1])]
    score = X[:, 0] - X[:, 1] + rng.logistic(size=90)
    return X, np.digitize(score, [-0.5, 0.5]), rng.uniform(0.5, 2.0, 90)


def brier(P, labels):
    return np.mean((P - (labels[:, None] == np.array(["a", "b", "c"]))) ** 2)


class TestAgainstRefits:
    """The score of a candidate is that of models refitted to the rows of each fit."""

    @staticmethod
    def by_hand(X, y, w, ridge, loss):
        seed = int(np.random.default_rng(0).integers(2**32))
        order = np.lexsort(np.column_stack([X, y]).T[::-1])
        X, y, w = X[order], y[order], w[order]
        risks = []
        for held in held_out(len(y), 4, seed):
            rest = np.setdiff1d(np.arange(len(y)), held)
            model = fitted(
                X[rest], y[rest], w[rest], kernel_x=Gaussian(1.5), regularization=ridge
            )
            losses = loss(model.predict_proba(X[held]), y[held])
            risks.append(np.average(losses, weights=w[held]))
        return np.mean(risks), np.std(risks, ddof=1) / np.sqrt(len(risks))

    @pytest.mark.parametrize(
        ("criterion", "loss"),
        [
            ("log_score", lambda P, y: -np.log(P[np.arange(len(y)), y])),
            ("energy", lambda P, y: np.sum((P - np.eye(P.shape[1])[y]) ** 2, axis=1) / 2),
            (lambda P, y: np.abs(y - P[:, 1]),) * 2,
        ],
    )
    @pytest.mark.parametrize("several", [False, True])
    def test_scores(self, monkeypatch, lattice, criterion, loss, several):
        monkeypatch.setattr(refits, "_GAP", 1e-12)
        X, y, w = lattice
        y = y if several else np.minimum(y, 1)
        how = jd.Selection(criterion, cv=4, regularizations=[0.1, 3.0])
        model = fitted(X, y, w, kernel_x=Gaussian(1.5), tol=0.0, selection=how)
        (candidate,) = model.selection_.candidates
        assert_array_equal(candidate.regularizations, [3.0, 0.1])
        for i, ridge in enumerate(candidate.regularizations):
            mean, error = self.by_hand(X, y, w, ridge, loss)
            assert_allclose(candidate.scores[i], mean, rtol=1e-5)
            assert_allclose(candidate.errors[i], error, rtol=1e-4)
        assert model.regularization_ == candidate.regularizations[model.selection_.ridge]

    def test_loose_fits_are_near_enough(self, monkeypatch, lattice):
        X, y, w = lattice
        loose = fitted(X, y, w, selection=COMMON).selection_
        monkeypatch.setattr(refits, "_GAP", 1e-12)
        exact = fitted(X, y, w, selection=COMMON).selection_
        for a, b in zip(loose.candidates, exact.candidates, strict=True):
            assert_allclose(a.scores, b.scores, rtol=1e-3)

    def test_the_energy_is_that_of_laws(self, rng):
        P = rng.dirichlet(np.ones(3), size=5)
        y = rng.integers(0, 3, 5)
        apart = 1 - np.eye(3)  # distances of labels
        expected = (P @ apart)[np.arange(5), y] - np.einsum("ij,jk,ik->i", P, apart, P) / 2
        assert_allclose(losses._half_brier(P, y), expected)


class TestFreshRows:
    """What is chosen is better than the rule of thumb on rows that nobody has seen."""

    def test_checkers(self, rng):
        X, y = checkered(rng, 800)
        model, other = fitted(X, y, selection=COMMON), rule_of_thumb(X, y)
        assert model.selection_.chosen.factor_x < 1
        Z, z = checkered(rng, 2000)
        ours, theirs = (log_loss(z, m.predict_proba(Z)) for m in (model, other))
        assert ours < 0.8 * theirs

    def test_moons(self):
        X, y = make_moons(300, noise=0.3, random_state=0)
        Z, z = make_moons(4000, noise=0.3, random_state=1)
        model, other = fitted(X, y), rule_of_thumb(X, y)
        ours, theirs = (log_loss(z, m.predict_proba(Z)) for m in (model, other))
        assert ours < theirs

    def test_nothing_to_learn(self, rng):
        X, y = rng.normal(size=(400, 3)), rng.random(400) < 0.3
        model = fitted(X, y, selection=COMMON)
        Z, z = rng.normal(size=(4000, 3)), rng.random(4000) < 0.3
        best = log_loss(z, np.tile([0.7, 0.3], (4000, 1)))
        assert log_loss(z, model.predict_proba(Z)) < best + 0.03

    def test_columns_that_say_nothing_do_not_count(self, rng):
        X = rng.normal(size=(2300, 5))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        X, y, Z, z = X[:300], y[:300], X[300:], y[300:]
        model = fitted(X, y, selection=FEW_RIDGES)
        common = fitted(X, y, selection=replace(FEW_RIDGES, scales="common"))
        assert model.selection_.chosen.scales == "each"
        scales = np.array(model.kernel_x_.scale)
        assert scales[:2].max() < 0.2 * scales[2:].min()
        ours, theirs = (log_loss(z, m.predict_proba(Z)) for m in (model, common))
        assert ours < 0.7 * theirs

    def test_scales_that_learn_from_labels_do_not_see_those_held_out(self, rng):
        X, y = rng.normal(size=(60, 12)), rng.integers(0, 2, 60)
        chosen = fitted(X, y).selection_
        each = [c.score for c in chosen.candidates if c.scales == "each"]
        assert min(each) > 0.95 * np.log(2)  # nothing better than a coin

    def test_a_ridge_for_some_rows_is_good_for_all(self, rng):
        X, y = rng.normal(size=(6000, 2)), rng.random(6000)
        y = (y < 1 / (1 + np.exp(-3 * np.sin(2 * X[:, 0])))).astype(int)
        how = jd.Selection("log_score", rows=400, scales="common")
        model = fitted(X[:4000], y[:4000], selection=how)
        assert 390 < model.selection_.rows <= 400
        ridges = model.regularization_ * 10.0 ** np.arange(-2, 3)
        path = jd.KernelLogisticRegression(model.kernel_x_, random_state=0).path(
            X[:4000], y[:4000], ridges
        )
        losses = [log_loss(y[4000:], one.predict_proba(X[4000:])) for one in path]
        assert losses[2] < 1.01 * min(losses)


def test_what_is_given_is_not_chosen(lattice):
    X, y, _ = lattice
    given = {"kernel_x": Gaussian(1.5), "regularization": 0.3}
    plain = fitted(X, y, **given)
    assert plain.selection_ is None
    other = fitted(X, y, **given, selection=jd.Selection("energy", cv=2))
    assert other.selection_ is None
    assert_array_equal(other.predict_proba(X), plain.predict_proba(X))
    ridge = fitted(X, y, kernel_x=Gaussian(1.5)).selection_
    assert len(ridge.candidates) == 1
    assert ridge.chosen.kernel_x == Gaussian(1.5)
    scale = fitted(X, y, regularization=0.3)
    assert scale.regularization_ == 0.3
    assert {tuple(c.regularizations) for c in scale.selection_.candidates} == {(0.3,)}


def test_the_record(lattice):
    X, y, _ = lattice
    model = fitted(X, y)
    chosen = model.selection_
    assert (chosen.criterion, chosen.rows, chosen.folds) == ("log_score", 90, 5)
    scores = [(c.scales, c.score) for c in chosen.candidates]
    best = min(score for scales, score in scores if scales == "common")
    assert best <= chosen.score <= 1.025 * best
    assert best < 1.02 * min(score for scales, score in scores if scales == "each")
    assert model.kernel_x_ == chosen.chosen.kernel_x
    assert model.regularization_ == chosen.regularization
    frame = chosen.to_frame()
    assert frame["chosen"].sum() == 1
    assert len(frame) == sum(len(c.scores) for c in chosen.candidates)


def test_ridges_grow_with_the_kernel(lattice):
    X, y, _ = lattice
    once, more = (fitted(X, y, kernel_x=k) for k in (Gaussian(1.5), Gaussian(1.5) * Four()))
    assert_allclose(more.regularization_, 4 * once.regularization_)
    assert_allclose(more.predict_proba(X), once.predict_proba(X), atol=1e-6)


class Four:
    """A constant kernel."""

    def __call__(self, X, Z):
        return np.full((len(X), len(Z)), 4.0)

    def diagonal(self, X):
        return np.full(len(X), 4.0)


def test_seeds_and_order(rng, lattice):
    X, y, _ = lattice
    X = X + 0.1 * rng.normal(size=X.shape)
    how = {"selection": FEW_RIDGES, "random_state": 7}
    first, again = (fitted(X, y, **how) for _ in range(2))
    assert first.kernel_x_ == again.kernel_x_
    assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    order = rng.permutation(len(y))
    other = fitted(X[order], y[order], **how).selection_
    for a, b in zip(first.selection_.candidates, other.candidates, strict=True):
        assert_allclose(a.scores, b.scores, rtol=1e-4)


def test_a_weight_of_two_is_two_rows(rng, lattice):
    X, y, _ = lattice
    w = rng.integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), w)
    weighted = fitted(X, y, w, selection=FEW_RIDGES)
    repeated = fitted(X[rows], y[rows], selection=FEW_RIDGES)
    assert weighted.selection_.rows == w.sum()
    assert_allclose(weighted.selection_.score, repeated.selection_.score, rtol=1e-6)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_weights_of_classes_are_no_rows(lattice):
    X, y, _ = lattice
    named = fitted(X, y, class_weight={0: 3.0}, selection=COMMON)
    assert named.selection_.rows == len(y)


class TestFewRows:
    """There is a sane model of very few rows, too."""

    @pytest.mark.parametrize("n", [2, 3, 4, 6])
    def test_fewer_rows_than_parts(self, rng, n):
        X = rng.normal(size=(n, 2))
        model = fitted(X, np.arange(n) % 2)
        P = model.predict_proba(X)
        assert model.solution_.status.ok
        assert_allclose(P.sum(axis=1), 1)
        assert (P.min(axis=0) > 0).all()
        assert (model.selection_ is None) == (n == 2)  # classes of one row

    def test_every_row_is_a_class(self, rng):
        model = fitted(rng.normal(size=(5, 1)), np.arange(5))
        assert model.selection_ is None
        assert model.regularization_ == 0.01

    @pytest.mark.parametrize("cv", [5, 0.2])
    def test_a_class_of_one_row_is_never_held_out(self, lattice, cv):
        X, y, _ = lattice
        labels = np.array(["a", "b", "c"])[np.minimum(y, 1)]
        labels[40] = "c"
        seen = []

        def criterion(P, labels):
            assert P.shape == (len(labels), 3)
            seen.extend(labels)
            return brier(P, labels)

        how = jd.Selection(criterion, cv=cv, scales="common")
        model = fitted(X, labels, selection=how)
        assert set(seen) == {"a", "b"}
        assert model.selection_.criterion == "criterion"
        assert_array_equal(model.classes_, ["a", "b", "c"])

    def test_a_class_of_one_row_and_no_intercept(self, lattice):
        X, y, _ = lattice
        y = np.where(np.arange(len(y)) == 3, 7, np.minimum(y, 1))
        model = fitted(X, y, fit_intercept=False, selection=FEW_RIDGES)
        assert model.selection_.score < np.log(3)

    def test_equal_rows(self):
        model = fitted(np.ones((40, 2)), np.arange(40) % 4 == 0)
        assert_allclose(model.predict_proba([[1.0, 1.0]]), [[0.75, 0.25]], atol=1e-6)
        assert_allclose(model.selection_.score, 0.5623, atol=0.05)

    def test_a_kernel_without_any_values(self, lattice):
        _, y, _ = lattice
        model = fitted(np.zeros((len(y), 1)), y, kernel_x=jd.kernels.Polynomial(1, 0.0))
        shares = np.bincount(y) / len(y)
        assert_allclose(model.predict_proba([[0.0]])[0], shares, atol=1e-6)


class TestRareClasses:
    """Of many rows those of rare classes are preferred, and weighted down for it."""

    @pytest.fixture
    def sample(self, rng):
        codes = np.r_[np.zeros(9000), np.ones(970), np.full(30, 2.0)]
        w = rng.uniform(1, 2, 10_000)
        return Sample(
            Rows(rng.normal(size=(10_000, 1)), "t", "X"), Rows(codes[:, None], "t", "y"), w
        )

    def test_shares_stay(self, sample):
        small = stratified("t", sample, 1200, 0)
        codes, all_codes = class_codes(small), class_codes(sample)
        assert small.n <= 1200
        assert_array_equal(np.bincount(codes)[2], 30)
        have = np.bincount(codes, small.weights)
        shares = np.bincount(all_codes, sample.weights)
        assert_allclose(have / have.sum(), shares / shares.sum(), rtol=0.1)

    def test_weights_of_one_where_classes_are_alike(self, rng):
        X, y = Rows(rng.normal(size=(900, 1)), "t", "X"), np.arange(900) % 3
        sample = Sample(X, Rows(y[:, None].astype(float), "t", "y"), None)
        assert_allclose(stratified("t", sample, 300, 0).weights, 1)
        assert stratified("t", sample, 900, 0) is sample

    def test_the_rarest_rows_count_in_full_if_they_are_all_there_is_to_learn(self, rng):
        codes = (np.arange(50_000) < 20).astype(float)[:, None]
        sample = Sample(
            Rows(rng.normal(size=(50_000, 1)), "t", "X"), Rows(codes, "t", "y"), None
        )
        small = stratified("t", sample, 1000, 0)
        assert_allclose(small.weights[class_codes(small) == 1], 1, rtol=0.05)

    def test_one_row_in_thousands(self, rng):
        X = rng.normal(size=(8000, 2))
        y = np.zeros(8000, dtype=int)
        y[np.argsort(X[:, 0])[-20:]] = 1
        how = jd.Selection("log_score", rows=400, scales="common")
        model = fitted(X, y, selection=how)
        p = model.predict_proba(X)[:, 1]
        assert model.selection_.score < log_loss(y, np.full(8000, y.mean()))
        assert p[y == 1].mean() > 20 * p[y == 0].mean()


def test_a_path_has_one_kernel_that_is_good_for_its_best_ridge(lattice):
    X, y, _ = lattice
    ridges = [0.1, 1.0]
    path = jd.KernelLogisticRegression(selection=COMMON, random_state=0).path(X, y, ridges)
    assert [one.regularization_ for one in path] == ridges
    first, second = path
    assert first.kernel_x_ == second.kernel_x_ == first.selection_.chosen.kernel_x
    assert first.selection_ is second.selection_
    for candidate in first.selection_.candidates:
        assert_array_equal(candidate.regularizations, [1.0, 0.1])
    alone = fitted(
        X, y, selection=jd.Selection("log_score", scales="common", regularizations=ridges)
    )
    assert alone.kernel_x_ == first.kernel_x_
    assert alone.regularization_ == first.selection_.regularization


def test_words(rng):
    colour = rng.choice(["red", "green", "blue"], 200)
    y = (colour == "red") ^ (rng.random(200) < 0.1)
    model = fitted(pd.DataFrame({"colour": colour}), y)
    assert model.kernel_x_ == Delta()
    assert len(model.selection_.candidates) == 1
    mixed = fitted(pd.DataFrame({"colour": colour, "size": rng.normal(size=200)}), y)
    assert mixed.selection_.score < 0.5


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (jd.Selection("crps"), "`selection` must be of a criterion among"),
        (jd.Selection("ratio"), "`selection` must be of a criterion among"),
        (
            jd.Selection(lambda P, labels: np.nan),  # noqa: ARG005
            "`criterion` must be a number for one candidate at least. Got none",
        ),
        (
            jd.Selection(lambda P, labels: P),  # noqa: ARG005
            r"`criterion` must be a function that returns a number, or one for each of",
        ),
        (
            jd.Selection("log_score", regularizations=[1.0, 0.0]),
            "`selection` must be None, or of positive `regularizations`",
        ),
        (
            jd.Selection("log_score", rows=5),
            "`selection` must be None, or of `rows` of at least 6, twice the number of",
        ),
    ],
)
def test_messages(how, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=f"^KernelLogisticRegression: {message}"):
        fitted(X, y, selection=how)
