"""Fitted regressions own what they keep: tables that users gave can be freed."""

import gc
import pickle
import threading
import weakref
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.kernels import Gaussian
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.regression.kriging import kriging
from jointdist.regression.location import fit_location
from jointdist.regression.regression_data import RegressionData
from jointdist.regression.scale import fit_scale
from jointdist.regression.tables import as_table
from jointdist.regression.training import Training

GIVEN = [LinearRegression(), DecisionTreeRegressor(max_depth=2)]


def tables(kind, n):
    """Return a table of X and one of Y."""
    X, Y = np.random.default_rng(0).normal(size=(2, n, 2))
    Y = np.sin(X) + 0.1 * Y
    if kind == "array":
        return X, Y[:, :1].copy()
    frame = pd.DataFrame if kind == "pandas" else pl.DataFrame
    return frame({"a": X[:, 0], "b": X[:, 1]}), frame({"y": Y[:, 0]})


def located(regressor, X, Y, weights):
    """Return the fitted location, from tables as users give them."""
    (encoding, x), (_, y) = (
        learn_encoding(Z, where="test", name="", vector=True) for Z in (X, Y)
    )
    data = Training.of(Sample.paired(x, y, weights), as_table(X, encoding, x), 5, 0)
    rng = np.random.default_rng(0)
    family = family_of("x", "auto", encoding, data.sample.x, weights=None, rng=rng)
    return fit_location(regressor, data, family, where="test")[0]


@pytest.mark.parametrize(
    ("regressor", "kind", "weighted"),
    [
        ("auto", "array", False),
        ("kernel", "array", True),
        ("kernel", "pandas", False),
        (GIVEN, "array", False),
        (GIVEN, "array", True),
        (GIVEN, "pandas", True),
        (GIVEN, "polars", False),
    ],
)
def test_locations(regressor, kind, weighted):
    X, Y = tables(kind, 50)
    weights = np.random.default_rng(1).uniform(1, 2, size=50) if weighted else None
    location = located(regressor, X, Y, weights)
    given = [weakref.ref(table) for table in (X, Y, weights) if table is not None]
    new = tables(kind, 9)[0]
    del X, Y, weights
    gc.collect()
    assert not any(table() is not None for table in given)
    points = Rows(np.asarray(new), "test", "X")
    asked = points, new if kind != "array" else points.source, np.zeros(9), None
    found = location.predict(*asked)
    assert np.isfinite(found).all()
    again = pickle.loads(pickle.dumps(location))  # noqa: S301
    assert_array_equal(again.predict(*asked), found)


def test_kriging_owns_its_rows():
    """It follows neither the rows nor the targets, and finds neighbours after unpickling."""
    X, Y = tables("array", 200)
    family = Family(Encoding((None, None)), (1.0, 2.0), nu=0.5)
    fit, _ = kriging([family], RegressionData(Rows(X, "test", "X"), Y))
    new = Rows(tables("array", 20)[0] + 0.1, "test", "X")
    found = fit.predict(new)
    stored, given = pickle.dumps(fit), [weakref.ref(X), weakref.ref(Y)]
    X[:], Y[:] = 0.0, 0.0
    assert_array_equal(fit.predict(new), found)
    del X, Y
    gc.collect()
    assert not any(table() is not None for table in given)
    assert len(stored) < 200 * 5 * 8 + 2000  # rows, targets and noise, but no tree
    again = pickle.loads(stored)  # noqa: S301
    assert_array_equal(again.predict(new), found)


def test_scales():
    X, residuals = tables("array", 80)
    x, p = Rows(X, "test", "X"), Rows(X[:, :1].copy(), "test", "Y")
    scale, _ = fit_scale(Gaussian(), x, p, residuals)
    given = [weakref.ref(table) for table in (X, residuals, p.source)]
    new = Rows(np.ones((3, 2)), "test", "X"), Rows(np.ones((3, 1)), "test", "Y")
    found = scale.at(*new)
    del X, residuals, x, p
    gc.collect()
    assert not any(table() is not None for table in given)
    again = pickle.loads(pickle.dumps(scale))  # noqa: S301
    assert_array_equal(again.at(*new), found)


class Counted(LinearRegression):
    """Linear regression that tells the threads that it was fitted in."""

    threads: ClassVar[set] = set()

    def fit(self, X, y, sample_weight=None):
        self.threads.add(threading.current_thread())
        return super().fit(X, y, sample_weight)


def test_users_regressors_are_fitted_in_the_callers_thread():
    X, Y = tables("array", 200)
    located([Counted(), Counted()], X, Y, None)
    assert Counted.threads == {threading.current_thread()}
