"""Updates are exact: rows come, go and merge in any order, and the model is that of all rows."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd
from jointdist.data.executor import Executor
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
FIRST, ALL = 620, 1500
COMMON = {"random_state": 0, "verbose": 0}
# more rows than there ever are; some; fewer than those of the first fit
SIZES = [10**5, 1000, 500]


def _joint(**how):
    options = {"regularization": 1e-3, "tol": 0.02} | COMMON | how
    return jd.JointDistribution(Gaussian(1.5), Gaussian(1.5), **options)


def _embedding(**how):
    # with a largest rank, no rows are so few that their landmarks are chosen anew
    options = {"regularization": 1e-3, "tol": 0.02, "max_rank": 99} | COMMON | how
    return jd.ConditionalMeanEmbedding(Gaussian(1.5), Gaussian(1.5), **options)


def _polynomial(**how):
    return jd.PolynomialJointDistribution(2, regularization=1e-3, **COMMON, **how)


def _classifier(**how):
    options = {"regularization": 1e-3, "tol": 0.02} | COMMON | how
    return jd.JointClassifier(Gaussian(1.5), **options)


MODELS = {
    "projected": _joint,
    "signed": lambda **how: _joint(positivity="none", **how),
    "tightened": lambda **how: _joint(positivity="tightened", marginals="total", **how),
    "isotonic": lambda **how: _joint(positivity="isotonic", **how),
    "loo": lambda **how: _joint(positivity="none", regularization="loo", **how),
    "polynomials": lambda **how: _polynomial(positivity="none", **how),
    "squares": lambda **how: _polynomial(positivity="sos", **how),
    "embedding": lambda **how: _embedding(positivity="none", **how),
    "classes": _classifier,
}


def sample(kind, seed, n=ALL, columns=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    Y = np.sin(X) + 0.4 * rng.normal(size=(n, columns))
    if kind == "classes":
        return X, np.array(["a", "b", "c"])[
            np.clip(np.round(Y[:, 0] + 1), 0, 2).astype(int)
        ]
    return X, Y if columns > 1 else Y[:, 0]


def answers(model):
    """Return what a model says, as one vector."""
    x = np.linspace(-1.5, 1.5, 5)[:, None]
    if hasattr(model, "predict_proba"):
        return model.predict_proba(x).ravel()
    dist = model.given(x)
    width = dist.encoding.width
    at = np.zeros((1, width)) if width > 1 else [0.0]
    parts = [dist.mean(), dist.var(), dist.quantile([0.2, 0.7]), dist.cdf(at, grid=True)]
    if hasattr(model, "marginal"):
        back = model.given(y=[[0.3] * width] if width > 1 else [0.3])
        parts += [back.mean(), back.var(), model.marginal("y").effective_size()]
    return np.concatenate([np.ravel(part) for part in parts])


def random_history(model, base, X, Y, rng):
    """Return a model of all rows, reached in random steps of which some are undone."""
    rest = np.arange(FIRST, ALL)
    parts = np.split(rng.permutation(rest), np.sort(rng.choice(len(rest), 2)))
    found = model
    for part in parts:
        if not len(part):
            continue
        step = rng.integers(4)
        if step == 0:
            found = found.partial_fit(X[part], Y[part])
        elif step == 1:
            found = found.merge(base.fit_like(X[part], Y[part]))
        elif step == 2:
            found = base.fit_like(X[part], Y[part]).merge(found)
        else:
            twice = rng.permutation(np.concatenate([part, part]))
            found.partial_fit(X[twice], Y[twice]).forget(X[part], Y[part])
    return found


CASES = [(kind, size) for kind in MODELS for size in SIZES if kind != "projected"]


@pytest.mark.parametrize(("kind", "size"), [("projected", 1000), *CASES])
def test_any_order_of_updates_is_one_fit(kind, size):
    X, Y = sample(kind, 1)
    model = MODELS[kind](support_size=size).fit(X[:FIRST], Y[:FIRST])
    base, seed = deepcopy(model), SIZES.index(size)
    before = answers(base)
    want = answers(base.fit_like(X, Y))
    found = random_history(model, base, X, Y, np.random.default_rng(seed))
    assert_allclose(answers(found), want, **CLOSE)
    assert_array_equal(answers(base), before)  # merged and copied from, but as it was


@pytest.mark.parametrize("kind", ["signed", "polynomials", "embedding"])
def test_several_columns_and_weights(kind):
    X, Y = sample(kind, 2, columns=2)
    w = np.random.default_rng(0).integers(1, 4, size=ALL).astype(float)
    model = MODELS[kind](support_size=900).fit(X[:FIRST], Y[:FIRST], w[:FIRST])
    want = answers(model.fit_like(X, Y, w))
    late, rest = slice(FIRST, 1200), slice(1200, ALL)
    other = model.fit_like(X[late], Y[late], w[late])
    found = model.partial_fit(X[rest], Y[rest], w[rest]).merge(other)
    found.partial_fit(X[:5], Y[:5], 2 * w[:5]).forget(X[:5], Y[:5], 2 * w[:5])
    assert_allclose(answers(found), want, **CLOSE)


def test_a_sample_of_pairs_is_a_subset_after_rows_are_forgotten():
    X, Y = sample("signed", 3)
    model = MODELS["signed"](support_size=500).fit(X, Y)
    model.forget(X[:900], Y[:900])
    pairs = model._fitted.kept.pairs
    rows = {tuple(row) for row in np.column_stack([X, Y])[900:].tolist()}
    found = np.concatenate([pairs.x.table(), pairs.y.table()], axis=1).tolist()
    assert {tuple(row) for row in found} <= rows
    assert pairs.n == len(rows)  # all of them, as they are fewer than 4,096


@pytest.mark.parametrize("size", [10**5, 500])
@pytest.mark.parametrize("kind", ["projected", "squares", "embedding", "classes"])
def test_rows_that_are_not_there_are_refused(kind, size):
    X, Y = sample(kind, 4, n=700)
    model = MODELS[kind](support_size=size).fit(X, Y)
    before = answers(model)
    with pytest.raises(ValueError, match="must be rows that the model was fitted to"):
        model.forget(np.repeat(X[:1], 2, axis=0), np.repeat(Y[:1], 2))
    with pytest.raises(ValueError, match="must be not all rows of the model"):
        model.forget(X, Y)
    with pytest.raises(ValueError, match="must be rows that the model was fitted to"):
        model.forget(X[:3] + 1e-3, Y[:3])
    with pytest.raises(ValueError, match="must be as long as"):
        model.partial_fit(X[:3], Y[:2])
    assert_array_equal(answers(model), before)


def test_weights_that_are_not_there_are_refused():
    X, Y = sample("signed", 4, n=700)
    w = np.full(700, 2.0)
    for size in (10**5, 500):
        model = MODELS["signed"](support_size=size).fit(X, Y, w)
        before = answers(model)
        with pytest.raises(ValueError, match="with their weights"):
            model.forget(X[:3], Y[:3], 2 * w[:3])
        assert_array_equal(answers(model), before)


def test_dependent_functions_are_refused_once_rows_are_gone():
    """Rows of 0 and 1 are left, whose squares are equal to them."""
    X, Y = sample("polynomials", 5)
    X[:300] = X[:300] > 0
    model = MODELS["polynomials"](support_size=500).fit(X, Y)
    before = answers(model)
    with pytest.raises(ValueError, match=r"no more linear relations.*1 more function"):
        model.forget(X[300:], Y[300:])
    assert_array_equal(answers(model), before)


@pytest.mark.parametrize("kind", ["projected", "signed", "tightened", "embedding"])
def test_few_rows_are_left_and_no_pair_of_the_sample(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(20_000, 1))
    Y = np.sin(X[:, 0]) + 0.4 * rng.normal(size=20_000)
    model = MODELS[kind](support_size=500).fit(X, Y)
    with pytest.warns(ToleranceWarning, match="rounding has cost"):
        model.forget(X[3:], Y[3:])
    assert model._fitted.kept.pairs.n < 3
    dist = model.given(X[:2])
    if kind != "embedding":  # whose support points are landmarks
        points = np.sort(dist.support_points())
        assert_allclose(points, np.sort(Y[:3]), atol=1e-6)
    assert np.isfinite(dist.mean()).all()


@pytest.mark.parametrize("kind", ["signed", "polynomials", "classes", "embedding"])
def test_models_that_do_not_fit_together_are_not_merged(kind):
    X, Y = sample(kind, 6)
    model = MODELS[kind](support_size=500).fit(X[:FIRST], Y[:FIRST])
    other = MODELS[kind](support_size=500).fit(X[FIRST:], Y[FIRST:])
    before = answers(model), answers(other)
    with pytest.raises(ValueError, match="`other` must be a model with the landmarks"):
        model.merge(other)
    with pytest.raises(ValueError, match="`other` must be a fitted"):
        model.merge(MODELS[kind]())
    with pytest.raises(ValueError, match="`other` must be a fitted"):
        model.merge(None)
    assert_array_equal(answers(model), before[0])
    assert_array_equal(answers(other), before[1])


def test_other_classes_are_not_merged():
    X, y = sample("classes", 6)
    model = MODELS["classes"]().fit(X, y)
    fewer = MODELS["classes"]().fit(X[y != "c"], y[y != "c"])
    renamed = MODELS["classes"]().fit(X, np.where(y == "c", "d", y))
    for other in fewer, renamed:
        with pytest.raises(ValueError, match="`other` must be a model with"):
            model.merge(other)


def test_unseen_categories_are_refused():
    X, y = sample("classes", 6, n=300)
    model = MODELS["classes"]().fit(X, y)
    before = answers(model)
    for method in (model.fit_like, model.partial_fit, model.forget):
        with pytest.raises(ValueError, match="unknown"):
            method(X[:2], ["a", "unknown"])
    letters = y[:, None]
    joint = jd.JointDistribution(regularization=1e-2, **COMMON)
    joint.fit(letters, X[:, 0])
    with pytest.raises(ValueError, match="unknown"):
        joint.fit_like([["a"], ["unknown"]], [0.0, 1.0])
    assert_array_equal(answers(model), before)


def test_neither_order_nor_blocks_nor_threads_matter():
    X, Y = sample("signed", 8, columns=2)
    X = np.column_stack([X, np.random.default_rng(9).uniform(-2, 2, size=ALL)])
    base = MODELS["signed"](support_size=500).fit(X[:FIRST], Y[:FIRST])
    want, rng = base.fit_like(X, Y), np.random.default_rng(0)
    for block, workers in (7, 1), (64, 2), (3072, 2):
        model = deepcopy(base)
        model._settings["executor"] = Executor(block_rows=block, workers=workers)
        for part in np.array_split(FIRST + rng.permutation(ALL - FIRST), 3):
            model.partial_fit(X[part], Y[part])
        a, b = (each._fitted.kept.sums for each in (model, want))
        for found, true in (
            (a.pairs, b.pairs),
            (a.x.sample, b.x.sample),
            (a.y.sample, b.y.sample),
        ):
            for name in ("keys", "group", "points", "counts", "limits"):
                assert_array_equal(getattr(found, name), getattr(true, name))
            assert_allclose(found.weights, true.weights, rtol=1e-10)
        assert_array_equal(a.y.count, b.y.count)
        assert_allclose(a.y.powers, b.y.powers, rtol=1e-10, atol=1e-10)
        assert_allclose(a.y.features, b.y.features, rtol=1e-10, atol=1e-10)
        gram = want.moments_.gram
        assert_allclose(model.moments_.gram, gram, rtol=1e-10, atol=1e-10 * abs(gram).max())


def test_few_rows_have_the_landmarks_of_the_model_they_are_fitted_like():
    X, Y = sample("embedding", 1)
    model = _embedding(max_rank=None).fit(X[:FIRST], Y[:FIRST])
    other = model.fit_like(X[FIRST : FIRST + 300], Y[FIRST : FIRST + 300])
    want = model.fit_like(X[: FIRST + 300], Y[: FIRST + 300])
    assert_allclose(answers(model.merge(other)), answers(want), **CLOSE)
