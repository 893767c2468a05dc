"""The classifier: scikit-learn's contract, tables of every kind, and its own features."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import jointdist as jd
from jointdist.data.executor import Executor
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian, Polynomial

FEW_RIDGES = jd.Selection("log_score", cv=2, regularizations=[0.1, 0.01])


@parametrize_with_checks(
    [jd.KernelLogisticRegression(selection=replace(FEW_RIDGES, cv=0.5))]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


QUICK = jd.Selection("log_score", cv=0.2, scales="common")


def fitted(X, y, sample_weight=None, **arguments):
    """Return a model of a given ridge, as nothing here is about the choice of it."""
    arguments = {"random_state": 0, "regularization": 0.01, "selection": QUICK, **arguments}
    return jd.KernelLogisticRegression(**arguments).fit(X, y, sample_weight)


@pytest.fixture
def checkered(rng):
    """Return rows of which the signs of the columns tell the class, mostly."""
    X = rng.normal(size=(600, 2))
    y = (X.prod(axis=1) + 0.2 * rng.normal(size=600) > 0).astype(int)
    return X, y


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


class TestAgainstScikitLearn:
    """Logistic regression on the features of the basis, by another solver."""

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("intercept", [False, True])
    @pytest.mark.parametrize("several", [False, True])
    def test_same_features(self, rng, checkered, several, intercept, weighted):
        X, y = checkered
        y = y + (np.abs(X[:, 0]) > 1) if several else y
        w = rng.exponential(size=len(y)) if weighted else None
        model = fitted(
            X, y, w, kernel_x=Gaussian(2.0), regularization=0.05, fit_intercept=intercept
        )
        F = model.basis_x_.features(X)
        other = LogisticRegression(
            C=1 / (2 * 0.05),
            solver="newton-cholesky",
            fit_intercept=intercept,
            tol=1e-13,
            max_iter=200,
        ).fit(F, y, sample_weight=w)
        assert_allclose(model.coefficients_, other.coef_, atol=1e-6)
        assert_allclose(model.predict_proba(X), other.predict_proba(F), atol=1e-8)
        assert_array_equal(model.predict(X), other.predict(F))

    def test_a_linear_kernel_is_linear_logistic_regression(self, checkered):
        X, _ = checkered
        y = (X[:, 0] + X[:, 1] > 0.3).astype(int)
        model = fitted(X, y, kernel_x=Polynomial(1, 0.0), regularization=0.5, tol=0.0)
        other = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-13).fit(X, y)
        assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)
        norm = np.sum(model.coefficients_**2)  # that of the kernel's space
        assert_allclose(norm, np.sum(other.coef_**2), rtol=1e-6)


def test_the_classifier_of_the_paper(checkered):
    """Without an intercept the score is a function of the kernel's space: it vanishes far
    away, where no class is more likely.
    """
    X, y = checkered
    model = fitted(X, y, fit_intercept=False, regularization=1.0)
    assert_allclose(model.predict_proba([[1e3, 1e3]]), [[0.5, 0.5]])
    assert_array_equal(model.intercept_, [0.0])
    basis = model.basis_x_
    c = basis.expansion @ model.coefficients_[0]
    K = model.kernel_x_(X, basis.map.landmarks)
    assert_allclose(model.decision_function(X), K @ c, atol=1e-8)
    P = model.kernel_x_(basis.map.landmarks, basis.map.landmarks)
    assert_allclose(c @ P @ c, np.sum(model.coefficients_**2), rtol=1e-8)
    sign = 1 - 2 * y
    losses = np.logaddexp(0, sign * model.decision_function(X)).sum()
    assert_allclose(model.solution_.objective, losses + c @ P @ c, rtol=1e-10)


def test_the_basis_is_orthogonal_over_the_weighted_sample(rng, checkered):
    X, y = checkered
    w = rng.exponential(size=len(y))
    basis = fitted(X, y, w).basis_x_
    F = basis.features(X)
    products = F.T @ (w[:, None] * F)
    assert_allclose(products, np.diag(basis.eigenvalues), atol=1e-8 * products.max())


def test_known_probabilities(rng):
    X = rng.uniform(-2, 2, size=(20_000, 1))
    truth = expit(2 * np.sin(2 * X[:, 0]) - 1)
    y = rng.random(20_000) < truth
    model = fitted(X, y)
    assert model.classes_.dtype == bool
    p = model.predict_proba(X)[:, 1]
    assert np.sqrt(np.mean((p - truth) ** 2)) < 0.02


def test_methods_agree(iris):
    X, y = iris
    model = fitted(X, y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert_allclose(np.exp(model.predict_log_proba(X)), p)
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.97
    two = fitted(X[:100], y[:100])
    p = two.predict_proba(X[:100])
    assert_allclose(np.exp(two.predict_log_proba(X[:100])), p)
    assert_allclose(expit(two.decision_function(X[:100])), p[:, 1])
    assert two.coefficients_.shape == (1, two.basis_x_.rank)
    assert two.n_iter_ == two.solution_.iterations > 0


def test_a_path_is_one_fit_for_each_ridge(iris):
    X, y = iris
    ridges = [0.1, 10.0, 1e-3, 0.1]
    model = jd.KernelLogisticRegression(Gaussian(2.0), random_state=0)
    path = model.path(X, y, ridges)
    assert not hasattr(model, "solution_")
    assert [one.regularization_ for one in path] == ridges
    assert len({id(one.basis_x_) for one in path}) == 1
    for ridge, one in zip(ridges, path, strict=True):
        alone = fitted(X, y, kernel_x=Gaussian(2.0), regularization=ridge)
        assert_allclose(one.predict_proba(X), alone.predict_proba(X), atol=1e-6)
        assert one.n_features_in_ == 4
    assert path[3].n_iter_ == 0  # it starts from its own solution
    assert sum(one.n_iter_ for one in path) < 3 * fitted(X, y).n_iter_


@pytest.mark.parametrize("several", [False, True])
def test_weights(rng, checkered, several):
    X, y = checkered
    y = y + (np.abs(X[:, 0]) > 1) if several else y
    X, y = X[:300], y[:300]
    w = rng.integers(0, 3, 300)
    rows = np.repeat(np.arange(300), w)
    weighted, repeated = fitted(X, y, w), fitted(X[rows], y[rows])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)
    dropped = fitted(X[w > 0], y[w > 0], w[w > 0])
    assert_allclose(weighted.predict_proba(X), dropped.predict_proba(X), atol=1e-6)
    kernel = weighted.kernel_x_
    large = fitted(X, y, 1e3 * w, kernel_x=kernel, regularization=10.0)
    assert_allclose(weighted.predict_proba(X), large.predict_proba(X), atol=1e-6)


def test_class_weights_are_weights_of_rows(iris):
    X, y = iris
    kernel = Gaussian(2.0)
    named = fitted(X, y, kernel_x=kernel, class_weight={"virginica": 5.0})
    rows = fitted(X, y, np.where(y == "virginica", 5.0, 1.0), kernel_x=kernel)
    assert_allclose(named.predict_proba(X), rows.predict_proba(X), atol=1e-8)
    few = np.r_[0:50, 50:60, 100:150]
    balanced = fitted(X[few], y[few], class_weight="balanced", regularization=100.0)
    mean = balanced.predict_proba(X[few]).T @ np.repeat([1, 5, 1], [50, 10, 50]) / 150
    assert_allclose(mean, 1 / 3, atol=1e-6)  # every class counts the same


def test_a_class_without_weight_is_no_class(iris):
    X, y = iris
    model = fitted(X, y, np.where(y == "setosa", 0.0, 1.0))
    assert_array_equal(model.classes_, ["versicolor", "virginica"])
    alone = fitted(X[50:], y[50:])
    assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("weights", [None, [1.0] * 100 + [0.0] * 50])
def test_one_class_is_refused(iris, weights):
    X, y = iris
    y = np.where(np.arange(150) < 100, "a", "a" if weights is None else "b")
    message = (
        "^KernelLogisticRegression: `y` must be of at least two classes. "
        "Got one class only: 'a'."
    )
    with pytest.raises(ValueError, match=message):
        fitted(X, y, weights)


def test_one_row_in_ten_thousand(rng):
    X = rng.normal(size=(20_000, 2))
    y = np.zeros(20_000, dtype=int)
    y[np.argsort(X[:, 0])[-2:]] = 1
    model = fitted(X, y, kernel_x=Gaussian(2.0))
    assert model.solution_.status.ok
    p = model.predict_proba(X)[:, 1]
    assert_allclose(p.mean(), 1e-4, rtol=1e-6)  # the intercept keeps the share of a class
    assert p[y == 1].min() > 20 * p[y == 0].mean()


def test_separable_rows(iris):
    X, y = iris
    model = fitted(X[:100], y[:100], regularization=1e-8)
    assert model.solution_.status.ok
    assert model.score(X[:100], y[:100]) == 1.0


def test_categories_and_numbers_in_data_frames(rng):
    n = 600
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(size=n)
    y = np.where((colour == "red") ^ (size > 0), "good", "bad")
    table = {"size": size, "colour": colour}
    pandas, polars = pd.DataFrame(table), pl.DataFrame(table)
    models = [fitted(X, y) for X in (pandas, polars)]
    assert models[0].score(pandas, y) > 0.95
    p = models[0].predict_proba(pandas)
    assert_array_equal(models[1].predict_proba(polars), p)
    assert_array_equal(models[0].predict_proba(polars), p)
    assert_array_equal(models[0].feature_names_in_, ["size", "colour"])
    series = fitted(pandas, pd.Series(y, dtype="category"))
    assert_array_equal(series.predict(pandas), models[0].predict(pandas))
    assert_array_equal(fitted(polars, pl.Series(y)).predict(polars), series.predict(pandas))
    message = (
        r"^KernelLogisticRegression\.predict: `X` must be of categories seen in fit "
        r"\('blue', 'green', 'red'\)\. Got 'pink' at row 0, column 'colour'\.$"
    )
    pink = pd.DataFrame({"size": [0.0], "colour": ["pink"]})
    with pytest.warns(jd.UnseenCategoryWarning, match="1 in column 'colour'"):
        models[0].predict(pink)
    models[0].set_params(unknown="error")
    with pytest.raises(ValueError, match=message):
        models[0].predict(pink)


def test_constant_columns(checkered):
    X, y = checkered
    wide = np.column_stack([X, np.full(len(X), 7.0)])
    assert_allclose(
        fitted(wide, y).predict_proba(wide), fitted(X, y).predict_proba(X), atol=1e-6
    )
    nothing = fitted(np.ones((40, 1)), np.arange(40) % 4 == 0)
    assert_allclose(nothing.predict_proba([[1.0]]), [[0.75, 0.25]])


def test_blocks_and_threads_do_not_matter(checkered):
    X, y = checkered
    arguments = {"kernel_x": Gaussian(1.0), "pivoting": "greedy"}
    once = fitted(X, y, **arguments)
    for executor in (Executor(1, 100), Executor(3, 100)):
        other = fitted(X, y, executor=executor, **arguments)
        assert_allclose(other.predict_proba(X), once.predict_proba(X), atol=1e-6)


def test_arrays_of_any_library(xp, checkered):
    X, y = checkered
    model, other = fitted(X, y), fitted(xp.asarray(X), y)
    p = model.predict_proba(X)
    assert_allclose(other.predict_proba(xp.asarray(X)), p, atol=1e-8)
    assert_allclose(other.predict_proba(X), p, atol=1e-8)


def test_precision_does_not_change_the_optimum(checkered):
    X, y = checkered
    single = fitted(X, y, precision="float32")
    assert_allclose(single.predict_proba(X), fitted(X, y).predict_proba(X), atol=1e-6)


def test_an_unfinished_fit_says_so(checkered):
    X, y = checkered
    message = r"^KernelLogisticRegression: .* after 1 steps. Raise `max_iter` or .* iterations=1\)$"
    with pytest.warns(ToleranceWarning, match=message):
        model = fitted(X, y, max_iter=1)
    assert model.solution_.certificate.gap > 1e-10


def test_search_pipeline_clone_pickle(iris):
    X, y = iris
    model = jd.KernelLogisticRegression(selection=QUICK, random_state=0)
    assert is_classifier(model)
    grid = {"regularization": [0.01, 1e4]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss").fit(X, y)
    assert search.best_params_["regularization"] == 0.01
    piped = make_pipeline(StandardScaler(), model)
    assert cross_val_score(piped, X, y, cv=3).mean() > 0.9
    again = clone(fitted(X, y, kernel_x=Gaussian(2.0), class_weight="balanced"))
    with pytest.raises(NotFittedError):
        again.predict(X)
    again.fit(X, y)
    copied = pickle.loads(pickle.dumps(again))  # noqa: S301
    assert_array_equal(copied.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"regularization": 0.0}, '`regularization` must be a positive number, or "auto"'),
        ({"regularization": "best"}, "`regularization` must be a positive number"),
        ({"tol": 2.0}, r"`tol` must be a number from 0 to below 1. Got 2.0."),
        ({"max_rank": 0}, "`max_rank` must be an integer of at least 1, or None. Got 0."),
        ({"pivoting": "none"}, r"`pivoting` must be one of \('auto', 'rp', 'greedy',"),
        ({"precision": "half"}, r"`precision` must be one of \('float64', 'float32'\)."),
        ({"max_iter": 0}, "`max_iter` must be an integer of at least 1. Got 0."),
        ({"fit_intercept": 1}, "`fit_intercept` must be True or False. Got 1."),
        ({"kernel_x": "rbf"}, "`kernel_x` must be a kernel, as kernels.Gaussian"),
        ({"class_weight": "even"}, '`class_weight` must be None, "balanced" or a dict'),
        ({"selection": 5}, "`selection` must be a Selection, or None. Got 5."),
        ({"verbose": -1}, "`verbose` must be an integer of at least 0. Got -1."),
        ({"executor": 2}, "`executor` must be an Executor, or None. Got 2."),
        ({"random_state": "a"}, "`random_state` must be None, an integer"),
    ],
)
def test_messages(iris, arguments, message):
    with pytest.raises(ValueError, match=f"^KernelLogisticRegression: {message}"):
        fitted(*iris, **arguments)


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'ridge'"):
        jd.KernelLogisticRegression(ridge=1.0)


def test_a_path_of_wrong_ridges_is_refused(iris):
    with pytest.raises(ValueError, match="`regularization` must be a positive number"):
        jd.KernelLogisticRegression().path(*iris, [1.0, -1.0])


def test_a_wide_kernel(iris):
    X, y = iris
    model = fitted(X, y, kernel_x=Polynomial(2), regularization=1e-2)
    assert model.basis_x_.rank == 15
    assert model.score(X, y) > 0.97
