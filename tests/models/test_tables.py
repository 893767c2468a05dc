"""Any table, in three libraries, through all that every estimator can do."""

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import jointdist as jd

pytestmark = [
    pytest.mark.filterwarnings("ignore::jointdist.UnseenCategoryWarning"),
    pytest.mark.filterwarnings("ignore::jointdist.ToleranceWarning"),  # few landmarks
]

N = 160
QUICK = jd.Selection(cv=0.3, scales="common", regularizations=(1e-3, 1e-1))
COMMON = {"random_state": 0, "verbose": 0}
MODELS = {
    "joint": jd.JointDistribution(selection=QUICK, **COMMON),
    "polynomial": jd.PolynomialJointDistribution(1, selection=QUICK, **COMMON),
    "embedding": jd.ConditionalMeanEmbedding(selection=QUICK, **COMMON),
    "regressor": jd.DistributionRegressor("kernel", **COMMON),
    "boosted": jd.DistributionRegressor(**COMMON),
    "calibrated": jd.ConformalCalibration(
        jd.JointDistribution(selection=QUICK, **COMMON), random_state=0
    ),
    "classifier": jd.JointClassifier(selection=QUICK, **COMMON),
    "logistic": jd.KernelLogisticRegression(regularization=1e-2, **COMMON),
}
CLASSIFIERS = ("classifier", "logistic")


def table(n, seed):
    """Return columns of all kinds, some with missing entries, and outcomes."""
    rng = np.random.default_rng(seed)
    x, level = rng.normal(size=n), rng.integers(3, size=n)
    colour, many = rng.integers(3, size=n), rng.integers(40, size=n)
    hours = rng.integers(20_000, size=n)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, unit="h")
    y = x + level + colour + np.cos(hours * np.pi / 12) + 0.3 * rng.normal(size=n)
    lost = rng.random((n, 5)) < [0.4, 0.1, 0.1, 0.4, 0.1]  # many or few
    columns = {
        "x": np.where(lost[:, 0], np.nan, x),
        "whole": [
            None if gone else int(v) for v, gone in zip(many % 7, lost[:, 1], strict=True)
        ],
        "level": [
            None if gone else "lmh"[v] for v, gone in zip(level, lost[:, 2], strict=True)
        ],
        "colour": [
            None if gone else "rgb"[v] for v, gone in zip(colour, lost[:, 3], strict=True)
        ],
        "flag": many % 2 == 0,
        "when": [None if gone else t for t, gone in zip(when, lost[:, 4], strict=True)],
        "lasts": [timedelta(seconds=int(v)) for v in hours],
        "many": [f"k{v:02}" for v in many],
        "full": rng.normal(size=n),
    }
    return columns, y


def pandas(columns):
    level = pd.Categorical(columns["level"], ["l", "m", "h"], ordered=True)
    zone = pd.to_datetime(pd.Series(columns["when"])).dt.tz_localize("UTC")
    return pd.DataFrame(
        {
            **columns,
            "whole": pd.array(columns["whole"], dtype="Int64"),
            "level": level,
            "colour": pd.Categorical(columns["colour"]),
            "when": zone.dt.tz_convert("Asia/Tokyo"),
            "lasts": pd.to_timedelta(columns["lasts"]),
        }
    )


def polars(columns):
    when = pl.Series(
        [None if t is None else t.to_pydatetime() for t in columns["when"]],
        dtype=pl.Datetime("us"),
    )
    return pl.DataFrame(
        {
            **columns,
            "x": pl.Series(columns["x"]).fill_nan(None),
            "level": pl.Series(columns["level"], dtype=pl.Enum(["l", "m", "h"])),
            "colour": pl.Series(columns["colour"], dtype=pl.Categorical),
            "when": when.dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
        }
    )


def pyarrow(columns):
    return pa.Table.from_pandas(pandas(columns), preserve_index=False)


LIBRARIES = {"pandas": pandas, "polars": polars, "pyarrow": pyarrow}
TRAIN, TEST = table(N, 0), table(30, 1)
MORE = table(20, 2)


def numbers(model, X):
    """Return answers of a model as numbers."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    return model.given(X).quantile([0.1, 0.5, 0.9])


@pytest.fixture(scope="module", params=MODELS)
def told(request, tmp_path_factory):
    """Return all that a model answers, in each of the libraries."""
    path = tmp_path_factory.mktemp("models") / "model.jd"
    return {
        name: _told(request.param, convert, path) for name, convert in LIBRARIES.items()
    }


def _told(kind, convert, path):
    labels = kind in CLASSIFIERS
    y, y_test, y_more = (
        np.where(out > 2, "high", "low") if labels else out
        for out in (TRAIN[1], TEST[1], MORE[1])
    )
    X, X_test, X_more = (convert(columns) for columns in (TRAIN[0], TEST[0], MORE[0]))
    model = MODELS[kind].__class__(**MODELS[kind].get_params(deep=False))
    model.fit(X, y)
    found = {"answers": numbers(model, X_test), "score": model.score(X_test, y_test)}
    found["predict"] = np.asarray(model.predict(X_test) == "high", dtype=float)
    if not labels:
        found["predict"] = np.asarray(model.predict(X_test), dtype=float)
    model.save(path)
    assert_allclose(numbers(jd.load(path), X_test), found["answers"], rtol=0, atol=0)
    hole = {**TEST[0], "full": [None] * 30}
    found["integrated"] = numbers(
        model,
        convert({**hole, "full": pl.Series(hole["full"], dtype=pl.Float64).to_numpy()}),
    )
    if hasattr(model, "forget"):
        model.partial_fit(X_more, y_more)
        found["updated"] = numbers(model, X_test)
        model.forget(X_more, y_more)
        assert_allclose(numbers(model, X_test), found["answers"], rtol=1e-5, atol=1e-5)
    return found


@pytest.mark.parametrize("other", ["polars", "pyarrow"])
def test_libraries_agree(told, other):
    for question, answer in told["pandas"].items():
        assert np.isfinite(answer).all(), question
        assert_allclose(
            told[other][question], answer, rtol=1e-9, atol=1e-9, err_msg=question
        )


def test_something_was_learned(told):
    assert told["pandas"]["score"] > 0.1


def test_what_is_updated_changes(told):
    found = told["pandas"]
    if "updated" in found:
        assert np.abs(found["updated"] - found["answers"]).max() > 1e-4
    assert np.abs(found["integrated"] - found["answers"]).max() > 1e-6
