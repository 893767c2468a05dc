"""Gradient boosting beside other regressors: when it is fitted, and what is out of fold."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist.data.encoding import learn_encoding
from jointdist.data.sample import Sample, held_out
from jointdist.data.table import Rows
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.boosted_location import boosted_location
from jointdist.regression.boosting import gradient_boosting
from jointdist.regression.effort import EFFORTS
from jointdist.regression.training import Training

LITTLE = replace(EFFORTS["auto"], boosting=((0.2, 20), (0.2, 20)))


def problem(n=200):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 2))
    y = np.where(X[:, :1] > 0.5, 2.0, -1.0) * (X[:, 1:] > 0.3) + 0.1 * rng.normal(
        size=(n, 1)
    )
    coded = learn_encoding(X, where="", name="")
    data = Training.of(Sample(coded.rows, Rows(y, "", "Y"), None), X, 5, seed=3)
    return X, y, data, Family(coded.encoding, (1.0, 1.0))


def boosted(data, y, family, others, effort=LITTLE):
    return boosted_location(data, y, family, effort, "test", None, 5, others)


@pytest.mark.parametrize("repeats", [1, 3])
def test_forecasts_are_those_of_models_without_the_row(repeats):
    X, y, data, family = problem()
    effort = replace(LITTLE, repeats=repeats)
    location, forecasts = boosted(data, y, family, [np.zeros_like(y)], effort)
    truth, everywhere = np.zeros_like(y), []
    for repeat in range(repeats):
        for out in held_out(len(y), 5, 3 + repeat):
            rest = np.setdiff1d(np.arange(len(y)), out)
            model = gradient_boosting([False, False], len(y), LITTLE).fit(
                X[rest], y[rest, 0]
            )
            truth[out, 0] += model.predict(X[out]) / repeats
            everywhere.append(model.predict(X))
    assert_allclose(forecasts, truth, atol=1e-12)
    doubt = np.zeros(len(y))
    found = location.predict(data.sample.x, X, doubt, None)
    assert_allclose(found[:, 0], np.mean(everywhere, axis=0), atol=1e-12)


def test_is_not_fitted_where_others_know_all():
    _, y, data, family = problem()
    assert boosted(data, y, family, [y.copy()]) is None


def test_is_fitted_where_nothing_is_known_of_others():
    _, y, data, family = problem()
    assert boosted(data, y, family, [np.full_like(y, np.nan)]) is not None
