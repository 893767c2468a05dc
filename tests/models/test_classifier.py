"""The classifier: scikit-learn's contract, valid probabilities, accuracy, its ridge."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine, make_moons
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import jointdist as jd
from jointdist.data.encoding import Coded, Encoding, learn_encoding
from jointdist.data.sample import held_out
from jointdist.data.table import as_rows
from jointdist.errors import SignedDistributionWarning, ToleranceWarning
from jointdist.kernels import Gaussian, Polynomial
from jointdist.models.classifier import JointClassifier
from jointdist.programs.simplex import onto_simplex

QUICK = jd.Selection(cv=0.2)  # one part held out, where the choice is not the point
POSITIVITY = ("none", "tightened", "pointwise", "rotated", "pivot", "grid")


@parametrize_with_checks([JointClassifier(selection=jd.Selection(cv=0.5))])
@pytest.mark.filterwarnings("ignore:JointClassifier.partial_fit:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def flowers():
    """Return rows of three classes that overlap, with their codes."""

    def rows(n, seed=0):
        rng = np.random.default_rng(seed)
        codes = rng.choice(3, n, p=[0.5, 0.3, 0.2])
        middles = np.array([[0.0, 0.0], [1.5, 1.0], [1.0, -1.5]])
        return middles[codes] + rng.normal(size=(n, 2)), codes

    return rows


def fitted(X, y, **arguments):
    arguments = {"random_state": 0, **arguments}
    return JointClassifier(**arguments).fit(X, y)


class TestSimplex:
    """Projection onto probability vectors."""

    vectors = arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 5)),
        elements=st.floats(-3, 3, width=32),
    )

    @given(P=vectors)
    def test_against_every_support(self, P):
        """Of all vectors that are zero off a support and nearest on it, the nearest."""
        for p, found in zip(P, onto_simplex(P), strict=True):
            best = np.inf
            for size in range(1, len(p) + 1):
                for support in combinations(range(len(p)), size):
                    q = np.zeros(len(p))
                    own = list(support)
                    q[own] = p[own] - (p[own].sum() - 1) / size
                    if q.min() >= -1e-12:
                        best = min(best, np.sum((p - q) ** 2))
            assert_allclose(np.sum((p - found) ** 2), best, atol=1e-12)

    @given(P=vectors)
    def test_valid_with_the_same_order_and_a_better_brier_score(self, P):
        found = onto_simplex(P)
        assert found.min() >= 0
        assert_allclose(found.sum(axis=1), 1, atol=1e-14)
        ranks = np.argsort(P, axis=1, kind="stable")
        assert (np.diff(np.take_along_axis(found, ranks, axis=1), axis=1) >= 0).all()
        for label in np.eye(P.shape[1]):
            before = np.sum((P - label) ** 2, axis=1)
            assert (np.sum((found - label) ** 2, axis=1) <= before * (1 + 1e-12)).all()

    def test_probabilities_stay(self, rng):
        P = rng.dirichlet([0.3] * 6, 50)
        assert_allclose(onto_simplex(P), P, atol=1e-15)

    def test_large_values(self):
        P = np.array([[1e14, 1e14 - 0.5, -1e14], [-1e300, 1e300, 0.0]])
        assert_array_equal(onto_simplex(P), [[0.75, 0.25, 0], [0, 1, 0]])


class TestSelection:
    """Kernel and ridge are those of the best Brier score on rows held out."""

    def test_the_score_is_half_the_brier_score_of_refits(self, flowers):
        X, y = flowers(60)
        how = jd.Selection(cv=0.25, regularizations=[1e-3, 1e-2])
        model = fitted(X, y, kernel_x=Gaussian(0.8), selection=how)
        found = model.selection_.chosen
        order = np.lexsort(np.c_[X, y].T[::-1])
        held = order[held_out(60, 0.25, model.joint_._seed)[0]]
        rest = np.setdiff1d(order, held)
        for ridge, score in zip(found.regularizations, found.scores, strict=True):
            # the strength of a ridge is its product with the number of rows
            other = JointClassifier(Gaussian(0.8), regularization=ridge * 60 / 45)
            dist = other.fit(X[rest], y[rest]).given(X[held])
            P = np.column_stack([dist.prob(lambda z, k=k: z == k) for k in range(3)])
            brier = np.mean(np.sum((P - np.eye(3)[y[held]]) ** 2, axis=1))
            assert_allclose(score, brier / 2, rtol=1e-8)

    def test_the_ridge_is_in_the_units_of_the_kernel(self, flowers):
        X, y = flowers(150)
        scaled = fitted(X, y, kernel_x=Polynomial(2, scale=0.01))
        plain = fitted(X, y, kernel_x=Polynomial(2, scale=1.0, offset=1e-4))
        assert_allclose(scaled.regularization_, 1e8 * plain.regularization_, rtol=0.5)

    def test_weights_of_any_size(self, flowers):
        """Weights of sum one, as from boosting, are not one row."""
        X, y = flowers(300)
        model = JointClassifier(random_state=0)
        small = model.fit(X, y, sample_weight=np.full(300, 1 / 300)).predict_proba(X)
        assert_allclose(small, fitted(X, y).predict_proba(X), atol=1e-6)

    def test_weights_of_classes_are_not_repetitions(self, flowers):
        """A row of a class that counts thrice would be held out and fitted at once."""
        X, _ = flowers(150)
        y = np.random.default_rng(0).permutation(150) % 3  # nothing to learn
        for weight in (None, {0: 3, 1: 3, 2: 3}):
            model = fitted(X, y, class_weight=weight)
            assert model.score(X, y) < 0.7, weight


@pytest.mark.parametrize(
    ("load", "kernel", "folds"),
    [
        (load_iris, "auto", 3),
        (load_wine, "auto", 3),
        (load_digits, Gaussian(24.0), 3),  # half the median distance, to save time
    ],
)
def test_accuracy_is_that_of_kernel_logistic_regression(load, kernel, folds):
    X, y = load(return_X_y=True)
    X, y = X[:500], y[:500]  # all there are, but of digits
    how = jd.Selection(cv=3)
    own, other = (
        cross_val_score(
            make_pipeline(StandardScaler(), model) if load is load_wine else model,
            X,
            y,
            cv=StratifiedKFold(folds, shuffle=True, random_state=0),
        ).mean()
        for model in (
            JointClassifier(kernel, selection=how, random_state=0),
            jd.KernelLogisticRegression(kernel, selection=how, random_state=0),
        )
    )
    assert own >= other - 0.015  # two of the rows of iris
    assert own > 0.95


@pytest.mark.parametrize("marginals", ["exact", "total", "free"])
@pytest.mark.parametrize("positivity", POSITIVITY)
def test_probabilities_are_valid(flowers, positivity, marginals):
    X, y = flowers(300)
    model = fitted(
        X,
        y,
        regularization=1e-5,
        tol=1e-3,
        max_rank=40,
        positivity=positivity,
        marginals=marginals,
        selection=QUICK,
    )
    everywhere = np.concatenate([X, 20 * X, flowers(100, seed=1)[0]])
    P = model.predict_proba(everywhere)
    assert P.shape == (700, 3)
    assert P.min() >= 0
    assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert_array_equal(model.predict(everywhere), P.argmax(axis=1))
    assert model.joint_.positivity == positivity


@pytest.mark.parametrize("positivity", ["tightened", "pointwise", "grid"])
def test_programs_make_probabilities_positive_by_themselves(flowers, positivity):
    X, y = flowers(300)
    arguments = {"regularization": 1e-5, "selection": QUICK}
    model = fitted(X, y, positivity=positivity, **arguments)
    signed = fitted(X, y, **arguments).given(X).weights()
    assert signed.min() < -1e-3
    dist = model.given(X)
    assert dist.weights().min() >= -1e-12
    raw = np.stack([dist.prob(lambda y, k=k: y == k) for k in range(3)], axis=1)
    assert_allclose(model.predict_proba(X), raw, atol=1e-9)


def test_a_distribution_without_mass_has_the_shares_of_the_sample(flowers):
    X, y = flowers(200)
    model = fitted(X, y, kernel_x=Gaussian(1.0), marginals="free", regularization=1e-9)
    far = np.random.default_rng(3).uniform(-4, 4, size=(4000, 2))
    none = ~(model.given(far).mass() > 0)
    assert none.any()
    with pytest.warns(SignedDistributionWarning, match="have no distribution"):
        P = model.predict_proba(far)
    assert_allclose(P[none], np.tile(np.bincount(y) / 200, (none.sum(), 1)))


LABELS = {
    "strings": np.array(["ant", "bee", "cat"]),
    "objects": np.array(["ant", "bee", "cat"], dtype=object),
    "integers": np.array([-3, 5, 70]),
    "whole floats": np.array([1.0, 2.0, 4.0]),
    "flags": np.array([False, True]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_distributions_are_of_the_labels(flowers, kind):
    X, codes = flowers(200)
    known = LABELS[kind]
    codes %= len(known)
    model, plain = (fitted(X, y, selection=QUICK) for y in (known[codes], codes))
    assert_array_equal(model.classes_, known, strict=True)
    assert model.predict(X).dtype == known.dtype
    assert_array_equal(model.predict(X), known[plain.predict(X)])
    assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    dist = model.given(X[:7])
    assert_array_equal(dist.mode(), model.predict(X[:7]))
    signed = [dist.prob(lambda y, label=label: y == label) for label in known]
    assert_allclose(onto_simplex(np.transpose(signed)), model.predict_proba(X[:7]))
    assert set(np.unique(dist.sample(50, random_state=0))) <= set(known)
    frame = dist.to_frame()
    assert list(frame.columns) == [str(label) for label in known.tolist()]
    assert_allclose(frame.to_numpy(), np.transpose(signed))
    back = model.joint_.given(y=known[:2]).mean()
    assert_allclose(back, plain.joint_.given(y=[0, 1]).mean(), atol=1e-9)
    with pytest.raises(
        ValueError, match=r"must be of categories seen in fit|with categories in"
    ):
        model.joint_.given(y=[99])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_with_categories(library, rng):
    color = rng.choice(["red", "blue"], 300)
    size = rng.normal(size=300)
    y = np.where((color == "red") == (size > 0), "yes", "no")
    frame = library({"color": color, "size": size, "answer": y})
    X = frame[["color", "size"]]
    model = fitted(X, frame["answer"])
    assert model.score(X, frame["answer"]) > 0.9
    assert list(model.feature_names_in_) == ["color", "size"]
    assert model.n_features_in_ == 2
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["size", "color"]])
    green = library({"color": ["green"], "size": [0.0]})
    with pytest.warns(jd.UnseenCategoryWarning, match="1 in column 'color'"):
        model.predict_proba(green)
    model.set_params(unknown="error")
    with pytest.raises(
        ValueError, match=r"^JointClassifier.predict_proba: `X` must be of categories seen"
    ):
        model.predict_proba(green)


def test_tables_may_be_coded_already():
    rows = as_rows(np.array([[1.0], [0.0]]), where="fit", name="y")
    coded = Coded(Encoding(((7, 9),)), rows)
    assert learn_encoding(coded, where="fit", name="y") is coded
    assert coded.encoding.encode(coded, where="fit", name="y") is rows
    again = coded.encoding.encode([9, 7], where="fit", name="y", vector=True)
    assert_array_equal(again.read(0, 2), [[1], [0]])
    with pytest.raises(ValueError, match=r"must be of categories \[\(7, 8\)\]\. Got"):
        Encoding(((7, 8),)).encode(coded, where="fit", name="y")


def test_arrays_of_other_libraries(xp, flowers):
    X, y = flowers(600)
    here = fitted(X, y, selection=QUICK)
    there = fitted(xp.asarray(X), xp.asarray(y), selection=QUICK)
    for rows in (X[:9], xp.asarray(X[:9])):
        assert_allclose(there.predict_proba(rows), here.predict_proba(X[:9]), atol=1e-7)


def test_class_weights_are_weights_are_repeated_rows(flowers):
    X, y = flowers(120)
    y = np.concatenate([np.zeros(60, int), np.ones(40, int), np.full(20, 2)])
    labels = np.array(["a", "b", "c"])[y]
    weight = {"a": 120 / 180, "b": 1.0, "c": 2.0}
    model = JointClassifier(Gaussian(1.0), regularization=1e-3, random_state=0)
    plain = model.fit(X, labels).predict_proba(X)
    rows = np.array(list(weight.values()))[y]
    by_rows = model.fit(X, labels, sample_weight=rows).predict_proba(X)
    balanced = clone(model).set_params(class_weight="balanced").fit(X, labels)
    by_dict = clone(model).set_params(class_weight=weight).fit(X, labels)
    assert_allclose(balanced.predict_proba(X), by_rows, atol=1e-9)
    assert_allclose(by_dict.predict_proba(X), by_rows, atol=1e-9)
    assert np.abs(plain - by_rows).max() > 0.01
    prior = balanced.joint_.marginal("y").to_frame().to_numpy()
    assert_allclose(prior, np.full((1, 3), 1 / 3), atol=1e-12)
    times = {"a": 2, "b": 3, "c": 6}
    often = np.repeat(np.arange(120), np.array(list(times.values()))[y])
    repeated = model.fit(X[often], labels[often]).predict_proba(X)
    weighted = clone(model).set_params(class_weight=times).fit(X, labels)
    assert_allclose(weighted.predict_proba(X), repeated, atol=1e-7)


def test_rare_classes_that_count_more_are_not_learned_by_heart():
    """A row of a weighted class is left out as a whole when ridges are judged."""

    def sample(n):
        y = (rng.random(n) < 0.05).astype(int)
        return rng.normal(size=(n, 3)) + y[:, None], y

    found, how = [], jd.Selection(cv=2)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        (X, y), (T, t) = sample(400), sample(5000)
        model = JointClassifier(class_weight="balanced", selection=how, random_state=0)
        model.fit(X, y)
        found.append(roc_auc_score(t, model.predict_proba(T)[:, 1]))
    assert np.median(found) > 0.8


def test_rows_of_weight_zero_do_not_count(flowers):
    X, y = flowers(200)
    w = (y != 2).astype(float)
    model = JointClassifier(Gaussian(1.0), random_state=0)
    P = model.fit(X, y, sample_weight=w).predict_proba(X)
    assert P.shape == (200, 3)
    assert_array_equal(P[:, 2], 0)
    assert_allclose(P[:, :2], model.fit(X[y < 2], y[y < 2]).predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("positivity", POSITIVITY)
def test_one_class(flowers, positivity):
    X, _ = flowers(60)
    model = fitted(X, ["a"] * 60, positivity=positivity)
    assert_allclose(model.predict_proba(5 * X), np.ones((60, 1)), atol=1e-12)
    assert_array_equal(model.predict(5 * X), ["a"] * 60)
    single = fitted(X[:1], [3], positivity=positivity)
    assert_array_equal(single.predict(X), [3] * 60)


def test_logarithms_of_probabilities(flowers):
    X, y = flowers(150)
    model = fitted(X, y, regularization=1e-6)
    P, logs = model.predict_proba(X), model.predict_log_proba(X)
    assert (P == 0).any()
    assert_allclose(np.exp(logs), P, atol=1e-15)


class TestRowsThatCome:
    """Rows on a coarse grid, so that the landmarks of some represent all."""

    @pytest.fixture
    def batches(self, rng):
        corners = np.array([[a, b] for a in range(4) for b in range(4)], dtype=float)
        X = np.concatenate([corners, rng.choice(corners, 400)])
        y = np.where(rng.random(416) < (X[:, 0] + X[:, 1] + 1) / 8, "up", "down")
        y[:2] = ["up", "down"]
        return X, y

    def test_partial_fit_is_the_fit_to_all_rows(self, batches):
        X, y = batches
        model = JointClassifier(
            Gaussian(1.5), regularization=1e-3, class_weight={"up": 2}, random_state=0
        )
        whole = clone(model).fit(X, y)
        model.fit(X[:100], y[:100])
        model.partial_fit(X[100:250], y[100:250])
        model.partial_fit(X[250:], y[250:], classes=["up", "down"])
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)

    def test_partial_fit_alone_is_a_fit_that_warns(self, batches):
        X, y = batches
        with pytest.warns(ToleranceWarning, match="not fitted"):
            model = JointClassifier(random_state=0).partial_fit(X, y)
        assert_array_equal(model.predict_proba(X), fitted(X, y).predict_proba(X))

    def test_what_cannot_come_is_refused(self, batches):
        X, y = batches
        model = fitted(X, y)
        before = model.predict_proba(X)
        with pytest.raises(
            ValueError,
            match=r"^JointClassifier.partial_fit: `y` must be of the labels \['down', 'up'\]",
        ):
            model.partial_fit(X[:2], ["up", "left"])
        with pytest.raises(ValueError, match=r"`classes` must be the labels of the first"):
            model.partial_fit(X[:2], ["up", "up"], classes=["up", "down", "left"])
        assert_array_equal(model.predict_proba(X), before)
        balanced = fitted(X, y, class_weight="balanced")
        balanced.set_params(class_weight=None)  # until the next fit
        with pytest.raises(ValueError, match=r"`class_weight` must be None or a dict"):
            balanced.partial_fit(X[:2], ["up", "up"])


def test_tools_of_scikit_learn(flowers):
    X, y = flowers(120)
    labels = np.array(["a", "b", "c"])[y]
    model = JointClassifier(Gaussian(1.0), random_state=0)
    assert is_classifier(model)
    piped = make_pipeline(StandardScaler(), model).fit(X, labels)
    assert piped.score(X, labels) > 0.7
    grid = {"regularization": ["auto", 1e3], "class_weight": [None, "balanced"]}
    search = GridSearchCV(model, grid, cv=3).fit(X, labels)
    assert search.best_params_["regularization"] == "auto"
    P = cross_val_predict(model, X, labels, cv=4, method="predict_proba")
    assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert np.mean(P.argmax(axis=1) == y) > 0.7
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, labels)
    assert calibrated.score(X, labels) > 0.7
    boosted = AdaBoostClassifier(model, n_estimators=3, random_state=0).fit(X, labels)
    assert boosted.score(X, labels) > 0.7


def test_clones_pickles_and_parameters(flowers):
    X, y = flowers(100)
    model = fitted(
        X, y, kernel_x=Gaussian(1.0), positivity="tightened", class_weight={1: 2}
    )
    again = clone(model)
    assert again.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        again.predict_proba(X)
    assert not hasattr(again, "n_features_in_")
    assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))
    copied = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_array_equal(copied.predict_proba(X), model.predict_proba(X))
    assert model.coefficients_ is model.joint_.coefficients_
    assert model.solution_.status.ok
    assert model.joint_.regularization == model.regularization == "auto"


def test_two_moons():
    """No line separates them: 84 % is what a linear classifier has."""
    X, y = make_moons(1000, noise=0.3, random_state=0)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    assert cross_val_score(JointClassifier(random_state=0), X, y, cv=folds).mean() > 0.88


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regularization": -1}, r"^JointClassifier: `regularization` must be a number"),
        ({"positivity": "some"}, r"^JointClassifier: `positivity` must be one of"),
        ({"tol": 2}, r"^JointClassifier: `tol` must be a number from 0 to below 1"),
        ({"class_weight": "all"}, r"^JointClassifier: `class_weight` must be None"),
        ({"kernel_x": 3}, r"`kernel_x` must be a kernel"),
    ],
)
def test_arguments_are_checked(flowers, arguments, message):
    X, y = flowers(30)
    with pytest.raises(ValueError, match=message):
        JointClassifier(**arguments).fit(X, y)


def test_bad_rows_are_refused_and_leave_the_model_as_it_was(flowers):
    X, y = flowers(60)
    model = fitted(X, y)
    before = model.predict_proba(X)
    for bad, message in (
        ((X, None), r"requires y to be passed, but the target y is None"),
        ((X, y[:5]), r"^JointClassifier: `y` must be as long as `X` \(60 rows\)"),
        ((X, X[:, 0]), r"Unknown label type: continuous"),
        ((X * np.inf, y), r"^JointClassifier: `X` must be finite"),
        ((X[:, 0], y), r"Reshape your data"),
        ((X, y, -np.ones(60)), r"^JointClassifier: `sample_weight` must be zero or"),
        ((X, y, np.ones(6)), r"`sample_weight` must be one number for each of the 60"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(*bad)
    with pytest.raises(ValueError, match="X has 1 features"):
        model.predict(X[:, :1])
    assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("ridge", ["loo", np.ones(3), -1.0, "automatic"])
def test_ridges_that_are_no_number_are_refused(ridge):
    X = np.linspace(0, 1, 40)[:, None]
    rule = '`regularization` must be a number of at least 0, or "auto"'
    with pytest.raises(ValueError, match=f"^JointClassifier: {rule}"):
        JointClassifier(Gaussian(0.5), regularization=ridge).fit(X, X[:, 0] > 0.5)
    model = JointClassifier(Gaussian(0.5), regularization=1e-2).fit(X, X[:, 0] > 0.5)
    with pytest.raises(ValueError, match=f"^JointClassifier.refit: {rule}"):
        model.refit(regularization=ridge)
