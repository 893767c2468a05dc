"""Warnings of all estimators point at the line of their caller."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.kernels import Gaussian

X = np.random.default_rng(0).normal(size=(600, 2))
LABELS = (X[:, 0] > 0).astype(int)
QUICK = jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), regularization=1e-3)
JOINT = jd.JointClassifier(Gaussian(1.0), regularization=1e-3, random_state=0)
LOGISTIC = jd.KernelLogisticRegression(Gaussian(1.0), regularization=1e-3, random_state=0)


@pytest.mark.parametrize(
    ("model", "method", "message"),
    [
        (
            jd.DistributionRegressor(LinearRegression(), distribution=QUICK),
            "fit",
            "`regressor` is not used",
        ),
        (LOGISTIC.set_params(max_iter=1), "fit", "Newton's method stopped"),
        (
            jd.KernelLogisticRegression(Gaussian(0.1), regularization=1.0, max_rank=5),
            "fit",
            "KernelLogisticRegression",
        ),
        (
            jd.JointClassifier(Gaussian(0.1), regularization=1.0, max_rank=5),
            "fit",
            "JointClassifier",
        ),
        (JOINT, "partial_fit", "JointClassifier.partial_fit: the model is not fitted"),
    ],
    ids=["regressor", "newton", "logistic-rank", "classifier-rank", "partial-fit"],
)
def test_the_line_is_the_caller_s(model, method, message):
    with pytest.warns(UserWarning, match=message) as caught:
        getattr(model, method)(X, LABELS)
    assert {warning.filename for warning in caught} == {__file__}


def test_every_ridge_of_a_path_warns_where_it_was_asked_for():
    with pytest.warns(UserWarning, match="Newton's method stopped") as caught:
        LOGISTIC.set_params(max_iter=1).path(X, LABELS, [1e-3, 1e-4])
    assert [warning.filename for warning in caught] == [__file__] * 2


ROUGH = {"regularization": 1e-3, "max_rank": 5, "random_state": 0}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (jd.JointDistribution(Gaussian(0.1), Gaussian(0.1), **ROUGH), "`max_rank` = 5"),
        (
            jd.ConditionalMeanEmbedding(Gaussian(0.1), Gaussian(0.1), **ROUGH),
            "`max_rank` = 5",
        ),
        (
            jd.ConditionalMeanEmbedding(
                Gaussian(1.0), Gaussian(1.0), regularization=1e-3, normalization="sample"
            ),
            "ConditionalMeanEmbedding",
        ),
        (
            jd.PolynomialJointDistribution(3, regularization=0.1, random_state=0),
            "combinations of others",
        ),
    ],
    ids=["joint", "embedding", "infeasible", "polynomial"],
)
def test_the_line_is_the_caller_s_for_numbers(model, message):
    with pytest.warns(UserWarning, match=message) as caught:
        model.fit(X, LABELS)
    assert {warning.filename for warning in caught} == {__file__}


def test_updates_and_labels_in_a_column_warn_the_caller():
    model = jd.JointDistribution(Gaussian(0.5), Gaussian(0.5), regularization=1e-2)
    model.set_params(random_state=0).fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="the landmarks miss") as caught:
        model.partial_fit(X + 50, X[:, 0])
    with pytest.warns(UserWarning, match="A column-vector y was passed") as column:
        JOINT.fit(X, LABELS[:, None])
    assert {warning.filename for warning in [*caught, *column]} == {__file__}
