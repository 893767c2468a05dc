"""Models with another ridge or other constraints are those of a fit."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from jointdist import (
    ConditionalMeanEmbedding,
    JointDistribution,
    PolynomialJointDistribution,
    Selection,
)
from jointdist.kernels import Gaussian

ROWS = 560  # of more than 512 pivots are chosen
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 2))
Y = X @ [[1.0, 0.2], [0.5, -1.0]] + 0.5 * RNG.normal(size=(ROWS, 2))
KERNELS = Gaussian(2.0), Gaussian(3.0)
JDL = JointDistribution(*KERNELS, regularization=1e-3, random_state=0)
CME = ConditionalMeanEmbedding(*KERNELS, regularization=1e-3, random_state=0)
JPDL = PolynomialJointDistribution(2, regularization=1e-3, random_state=0)
AVERAGE = {"normalization": "average", "positivity": "average"}


@cache
def fitted_to(model, rows):
    """Return a model of some rows, and second moments before anything else is asked of it."""
    fitted = clone(model).fit(X[:rows], Y[:rows])
    return fitted, fitted.given(X[:20]).second_moment()


@pytest.mark.parametrize("rows", [ROWS, 200])  # 200 are factored to rounding
@pytest.mark.parametrize(
    ("model", "params"),
    [
        (JDL, {"regularization": 0.1}),
        (JDL, {"marginals": "free"}),
        (JDL, {"marginals": "total", "positivity": "tightened"}),
        (JDL, {"positivity": "grid", "grid_rows": 50, "regularization": 0.01}),
        (CME, {"regularization": 0.1}),
        (CME, AVERAGE),
        (
            clone(CME).set_params(kernel_y="auto", low_rank=False, positivity="none"),
            {"regularization": 1.0},
        ),
        (JPDL, {"regularization": 1.0}),
        (JPDL, {"positivity": "sos"}),
    ],
)
def test_as_a_new_fit(model, params, rows):
    X_, Y_ = X[:rows], Y[:rows]
    fitted, before = fitted_to(model, rows)
    again = fitted.refit(**params)
    other = clone(model).set_params(**params).fit(X_, Y_)
    wanted = other.given(X_[:20])
    dists = again.given(X_[:20])
    np.testing.assert_allclose(dists.second_moment(), wanted.second_moment(), atol=1e-6)
    np.testing.assert_allclose(dists.mass(), wanted.mass(), atol=1e-8)
    assert again.get_params() == other.get_params()
    assert again.regularization_ == other.regularization_
    np.testing.assert_array_equal(fitted.given(X_[:20]).second_moment(), before)


def test_there_and_back():
    fitted = JDL.fit(X, Y)
    back = fitted.refit(marginals="free", regularization=1.0)
    back = back.refit(marginals="exact", regularization=JDL.regularization)
    np.testing.assert_allclose(back.predict(X), fitted.predict(X), atol=1e-10)


def test_goes_on_learning():
    half = (
        JDL.fit(X[:520], Y[:520]).refit(regularization=0.01).partial_fit(X[520:], Y[520:])
    )
    other = (
        JDL.fit(X[:520], Y[:520]).partial_fit(X[520:], Y[520:]).refit(regularization=0.01)
    )
    np.testing.assert_allclose(half.predict(X), other.predict(X), atol=1e-10)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"tol": 0.1}, r"refit: `params` must be among .*'regularization'.*Got \['tol'\]"),
        ({"tol": 0.1}, r"; others need `fit`\. Got \['tol'\]"),
        ({"regularization": "auto"}, r'; "auto" needs `fit`\. Got \'auto\''),
        ({"normalization": "none"}, r"`params` must be among"),
        ({"regularization": "auto"}, r"`regularization` must be a number of at least 0"),
        ({"regularization": -1.0}, r"`regularization` must be a number of at least 0"),
    ],
)
def test_bad_input(params, message):
    with pytest.raises(ValueError, match=message):
        JDL.fit(X, Y).refit(**params)


@pytest.mark.parametrize(
    "model",
    [
        JointDistribution(selection=Selection(cv=0.2), random_state=0),
        ConditionalMeanEmbedding(selection=Selection(cv=0.2), random_state=0),
        PolynomialJointDistribution(selection=Selection(cv=0.2), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_ridge_that_was_given_was_not_selected(model):
    fitted = model.fit(X[:100], Y[:100])
    chosen = fitted.selection_
    assert fitted.refit(regularization=0.1).selection_ is None
    assert fitted.selection_ is chosen
    free = fitted.refit()
    assert free.selection_ is chosen
    assert free.regularization_ == fitted.regularization_


def test_embedding_keeps_its_landmarks_after_rows_have_gone():
    fitted = clone(CME).set_params(tol=0.01).fit(X, Y).forget(X[400:], Y[400:])
    again = fitted.refit()
    assert again.basis_x_.rank == fitted.basis_x_.rank
    np.testing.assert_allclose(again.predict(X), fitted.predict(X), atol=1e-9)


def test_sums_of_squares_need_even_degrees():
    model = PolynomialJointDistribution(3, regularization=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"`positivity` must be .*not even: fit anew"):
        model.refit(positivity="sos")
    with pytest.raises(ValueError, match=r"`positivity` must be .*not even: fit anew"):
        model.set_params(degree="auto").refit(positivity="sos")  # that is for the next fit
