"""A fitted model owns what it keeps: neither its data nor its parameters can change it."""

import gc
import weakref

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.data.executor import Executor
from jointdist.kernels import Gaussian, Laplace

# so few rows that landmarks may miss some that come later
pytestmark = pytest.mark.filterwarnings("ignore::jointdist.errors.ToleranceWarning")
N = 40
COMMON = {"random_state": 0, "verbose": 0}
KERNELS = Gaussian(1.0), Gaussian(1.0)


def _joint(**how):
    options = {"regularization": 1e-2} | COMMON | how
    return jd.JointDistribution(*KERNELS, **options)


ESTIMATORS = {
    "joint": _joint,
    "polynomials": lambda: jd.PolynomialJointDistribution(
        2, regularization=1e-2, positivity="isotonic", **COMMON
    ),
    "embedding": lambda: jd.ConditionalMeanEmbedding(
        *KERNELS, regularization=1e-2, positivity="isotonic", **COMMON
    ),
    "in full": lambda: jd.ConditionalMeanEmbedding(
        *KERNELS, regularization=1e-2, positivity="isotonic", low_rank=False, **COMMON
    ),
    "classes": lambda: jd.JointClassifier(Gaussian(1.0), regularization=1e-2, **COMMON),
    "logistic": lambda: jd.KernelLogisticRegression(
        Gaussian(1.0), regularization=1e-2, **COMMON
    ),
    "location": lambda: jd.DistributionRegressor(
        LinearRegression(), distribution=_joint(positivity="isotonic"), cv=2, **COMMON
    ),
    "conformal": lambda: jd.ConformalCalibration(
        _joint(positivity="isotonic"), random_state=0
    ),
}
LABELLED = ["classes", "logistic"]
UPDATED = ["joint", "polynomials", "embedding", "in full", "classes"]
AT = np.array([[-1.0, 0.5], [0.3, 0.2], [1.5, -1.0]])


def table(kind, seed=0, n=N):
    """Return X, Y and weights, numbers that float32 represents."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).astype(np.float32).astype(float)
    Y = (X[:, 0] + 0.5 * rng.normal(size=n)).astype(np.float32).astype(float)
    if kind in LABELLED:
        Y = (Y > 0).astype(np.int64)
    return X, Y, rng.integers(1, 4, size=n).astype(float)


def _frames(frame):
    def made(X, Y, w, _folder):
        x = frame({"a": X[:, 0], "b": X[:, 1]})
        return x, frame({"y": Y})["y"], frame({"w": w})["w"]

    return made


def _pandas(X, Y, w, folder):
    pandas = pytest.importorskip("pandas")
    return _frames(pandas.DataFrame)(X, Y, w, folder)


def _polars(X, Y, w, folder):
    polars = pytest.importorskip("polars")
    return _frames(polars.DataFrame)(X, Y, w, folder)


def _mapped(X, Y, w, folder):
    made = []
    for name, values in ("x", X), ("y", Y), ("w", w):
        path = folder / f"{name}.bin"
        on_disk = np.memmap(path, values.dtype, "w+", shape=values.shape)
        on_disk[...] = values
        made.append(on_disk)
    return tuple(made)


def _single(X, Y, w, _folder):
    return X.astype(np.float32), Y if Y.dtype.kind == "i" else Y.astype(np.float32), w


LAYOUTS = {
    "C": lambda X, Y, w, _: (X.copy(), Y.copy(), w.copy()),
    "F": lambda X, Y, w, _: (np.asfortranarray(X), Y.copy(), w.copy()),
    "strided": lambda X, Y, w, _: (np.repeat(X, 2, 0)[::2], np.repeat(Y, 2)[::2], w.copy()),
    "single": _single,
    "list": lambda X, Y, w, _: (X.tolist(), Y.tolist(), w.tolist()),
    "pandas": _pandas,
    "polars": _polars,
    "mapped": _mapped,
}


def overwrite(values):
    """Change a table in place, where it can be."""
    if isinstance(values, list):
        values.clear()
    elif isinstance(values, np.ndarray):
        values[...] = values[::-1].copy()
        values[: len(values) // 2] = 0
    elif hasattr(values, "iloc"):
        values.iloc[:] = 0
        if values.ndim == 2:
            values["new"] = 1.0
            del values["a"]
    elif values.__class__.__name__ == "DataFrame":
        values.insert_column(0, values["a"].alias("new"))
        values[3, "a"] = 777.0
    else:
        values[3] = 0


def ask(kind, model, at=AT):
    """Return what a fitted model says, as one vector."""
    if kind == "logistic":
        return model.decision_function(at)
    if kind == "classes":
        back = model.given(y=np.arange(2))
        return np.concatenate([model.predict_proba(at).ravel(), back.mean().ravel()])
    return told(model.given(at))


def told(dist):
    parts = [dist.mean(), dist.var(), dist.quantile([0.1, 0.6]).ravel(), dist.cdf(0.2)]
    return np.concatenate(parts)


def like(X, at):
    """Return conditions as a table of the kind that a model was fitted to."""
    return type(X)({"a": at[:, 0], "b": at[:, 1]}) if hasattr(X, "columns") else at


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_data_that_change_after_a_fit(kind, layout, tmp_path):
    X, Y, w = LAYOUTS[layout](*table(kind), tmp_path)
    at = like(X, AT)
    model = ESTIMATORS[kind]().fit(X, Y, sample_weight=w)
    before = ask(kind, model, at)
    early = None if kind == "logistic" else model.given(at)
    for values in X, Y, w:
        overwrite(values)
    assert_array_equal(ask(kind, model, at), before)
    if early is not None and kind != "classes":
        assert_array_equal(told(early), before)


@pytest.mark.parametrize("kind", UPDATED)
def test_data_that_change_after_an_update(kind):
    X, Y, _ = table(kind)
    more_X, more_Y, _ = table(kind, seed=1)
    model = ESTIMATORS[kind]().fit(X, Y).partial_fit(more_X, more_Y)
    other = None if kind == "in full" else model.fit_like(X, Y)
    models = [each for each in (model, other) if each is not None]
    before = [ask(kind, each) for each in models]
    for values in X, Y, more_X, more_Y:
        overwrite(values)
    for each, said in zip(models, before, strict=True):
        assert_array_equal(ask(kind, each), said)


@pytest.mark.parametrize("layout", ["C", "single", "pandas", "polars", "mapped"])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_data_can_be_freed_after_a_fit(kind, layout, tmp_path):
    X, Y, w = LAYOUTS[layout](*table(kind), tmp_path)
    model = ESTIMATORS[kind]().fit(X, Y, sample_weight=w)
    at = like(X, AT)
    early = None if kind == "logistic" else model.given(at)
    before = ask(kind, model, at)
    watched = [weakref.ref(values) for values in (X, Y, w) if _can_watch(values)]
    assert watched
    del X, Y, w
    gc.collect()
    assert [alive() for alive in watched] == [None] * len(watched)
    assert_array_equal(ask(kind, model, at), before)
    assert early is None or len(early) == len(AT)


def _can_watch(values):
    try:
        weakref.ref(values)
    except TypeError:
        return False
    return True


def test_views_of_data_are_not_kept_either():
    """The memory of an array is free if no view of it is left."""
    for kind, make in ESTIMATORS.items():
        X, Y, _ = table(kind)
        whole = np.column_stack([X, Y])
        model = make().fit(whole[:, :2], Y)
        alive = weakref.ref(whole)
        del whole
        gc.collect()
        assert alive() is None, kind
        assert len(ask(kind, model))


CHANGES = {
    "joint": {
        "regularization": 5.0,
        "positivity": "none",
        "marginals": "free",
        "tol": 0.5,
        "max_rank": 1,
        "kernel_x": Laplace(9.0),
        "kernel_y": Laplace(9.0),
        "support_size": 3,
        "executor": Executor(block_rows=7),
        "random_state": 9,
    },
    "polynomials": {
        "degree": 1,
        "regularization": 5.0,
        "positivity": "none",
        "marginals": "exact",
        "support_size": 3,
        "executor": Executor(block_rows=7),
    },
    "embedding": {
        "low_rank": False,
        "regularization": 5.0,
        "positivity": "none",
        "normalization": "sample",
        "tol": 0.5,
        "max_rank": 1,
        "kernel_y": Laplace(9.0),
    },
    "in full": {"low_rank": True, "regularization": 5.0, "positivity": "none"},
    "classes": {
        "class_weight": "balanced",
        "regularization": 5.0,
        "positivity": "projected",
        "kernel_x": Laplace(9.0),
        "support_size": 3,
        "tol": 0.5,
    },
    "logistic": {
        "regularization": 5.0,
        "fit_intercept": False,
        "kernel_x": Laplace(9.0),
        "class_weight": "balanced",
        "support_size": 3,
        "executor": Executor(block_rows=2),
    },
    "location": {
        "scale": False,
        "regressor": "kernel",
        "distribution__regularization": 9.0,
        "distribution__positivity": "projected",
        "kernel_x": Laplace(9.0),
    },
    "conformal": {"share": 0.5, "estimator__regularization": 9.0},
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_take_part_in_the_next_fit_only(kind):
    X, Y, w = table(kind)
    new = table(kind, seed=1)
    changed, same = (ESTIMATORS[kind]().fit(X, Y, sample_weight=w) for _ in range(2))
    changed.set_params(**CHANGES[kind])
    models = changed, same

    def alike():
        said = (ask(kind, model) for model in models)
        assert_allclose(*said, rtol=1e-12, atol=1e-12)

    alike()
    assert_allclose(*(model.score(X, Y) for model in models), rtol=1e-12)
    if kind in UPDATED:
        for model in models:
            model.partial_fit(*new[:2], sample_weight=new[2])
        alike()
        merged = [model.merge(model.fit_like(X, Y)) for model in models]
        assert_allclose(*(ask(kind, model) for model in merged), rtol=1e-12, atol=1e-12)
        for model in models:
            model.forget(*new[:2], sample_weight=new[2])
        alike()
    before = ask(kind, same)
    if "support_size" in CHANGES[kind]:
        changed.set_params(support_size=10**5)
    if kind == "embedding":
        changed.set_params(normalization="none")
    assert np.abs(ask(kind, changed.fit(X, Y)) - before).max() > 1e-3


def test_parameters_that_change_in_place():
    X, Y, _ = table("joint")
    rank = _joint().fit(X, Y).basis_y_.rank
    ridges = np.full(rank, 1e-2)
    scales = np.array([1.0, 2.0])
    model = jd.JointDistribution(Gaussian(scales), Gaussian(1.0), **COMMON)
    model.set_params(regularization=ridges).fit(X, Y)
    said = ask("joint", model), ask("joint", model.fit_like(X, Y))
    ridges[:], scales[:] = 10.0, 10.0
    assert_array_equal(ask("joint", model), said[0])
    assert_array_equal(ask("joint", model.fit_like(X, Y)), said[1])
    assert_array_equal(model.regularization_, 1e-2)


def test_class_weights_that_change_in_place():
    X, y, _ = table("classes")
    weights = {0: 1.0, 1: 5.0}
    model = ESTIMATORS["classes"]().set_params(class_weight=weights).fit(X, y)
    said = ask("classes", model.fit_like(X, y))
    weights[1] = 0.01
    assert_array_equal(ask("classes", model.fit_like(X, y)), said)


@pytest.mark.parametrize("kind", UPDATED)
def test_distributions_stay_as_they_were_when_rows_come(kind):
    X, Y, _ = table(kind)
    model = ESTIMATORS[kind]().fit(X, Y)
    dist, late = model.given(AT), model.given(AT)
    before = dist.weights()
    model.partial_fit(X[:20] + 1, Y[:20])
    assert_array_equal(late.weights(), before)
    assert_array_equal(dist.weights(), before)


@pytest.mark.parametrize("kind", [k for k in ESTIMATORS if k != "logistic"])
@pytest.mark.parametrize("layout", ["array", "single", "fortran", "pandas"])
def test_conditions_that_change_after_they_are_given(kind, layout):
    X, Y, w = table(kind)
    model = ESTIMATORS[kind]().fit(X, Y, w)
    made = {
        "array": np.array,
        "single": lambda x: x.astype(np.float32),
        "fortran": np.asfortranarray,
        "pandas": lambda x: pd.DataFrame(x.copy()),
    }[layout]
    at = made(AT.astype(np.float32).astype(float))
    true = model.given(at)
    answers = true.expect(np.square) if kind not in LABELLED else true.weights()
    asked = model.given(at)
    at[:] = 9.0
    found = asked.expect(np.square) if kind not in LABELLED else asked.weights()
    assert_array_equal(found, answers)
    assert_array_equal(asked.novelty(), true.novelty())


def test_outcomes_that_change_after_they_are_given():
    X, Y, w = table("joint")
    model = ESTIMATORS["joint"]().fit(X, Y, w)
    at = np.array([0.2, 1.0])
    true, asked = model.given(y=at).mean(), model.given(y=at)
    at[:] = 9.0
    assert_array_equal(asked.mean(), true)
