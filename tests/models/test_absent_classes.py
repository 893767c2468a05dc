"""Classes that are named before they have rows: probability zero, then exactly as if known."""

from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import jointdist as jd
from jointdist.data.labels import read_classes
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Delta, Gaussian, Laplace
from jointdist.lowrank.reduction import reduce_sample

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
NAMES = ["a", "b", "c", "d"]  # rows of "a" and "b" come first, of "d" never
FIRST, ALL = 600, 1400
GIVEN = {"regularization": 1e-3, "tol": 0.02, "random_state": 0, "verbose": 0}
# more rows than there ever are; some; fewer than those of the first fit
SIZES = [10**5, 1000, 500]
ASKED = np.linspace(-1.5, 1.5, 7)[:, None]

pytestmark = pytest.mark.filterwarnings(
    "ignore:JointClassifier.partial_fit. the model is not fitted"
)


def sample(seed=0, n=ALL, first=FIRST):
    """Return rows of three classes, the third of which the first rows lack.

    The others are likely everywhere, so that landmarks of a few of their rows represent all.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 1))
    y = np.array([rng.choice(3, p=[0.5, 0.4 - a, 0.1 + a]) for a in X[:, 0] ** 2 / 16])
    early = np.flatnonzero(y < 2)[:first]
    order = np.concatenate([early, np.setdiff1d(np.arange(n), early)])
    return X[order], np.array(NAMES)[y[order]]


def classifier(**how):
    return jd.JointClassifier(Gaussian(1.5), **GIVEN | how)


def started(X, y, weights=None, first=FIRST, **how):
    """Return a model of the first rows that knows the names of all classes."""
    w = None if weights is None else weights[:first]
    return classifier(**how).partial_fit(X[:first], y[:first], NAMES, sample_weight=w)


def answers(model):
    """Return what a model says of labels given X, and of X given labels, as one vector."""
    back = model.given(y=["a", "b", "c"])
    marginal = model.joint_.marginal("y").to_frame().to_numpy()
    parts = model.predict_proba(ASKED), back.mean(), back.var(), marginal
    return np.concatenate([np.ravel(part) for part in parts])


def test_a_class_without_rows_has_probability_zero():
    X, y = sample()
    model = started(X, y)
    seen = classifier().fit(X[:FIRST], y[:FIRST])
    assert_array_equal(model.classes_, NAMES)
    P = model.predict_proba(ASKED)
    assert P.shape == (len(ASKED), 4)
    assert_array_equal(P[:, 2:], 0)
    assert_allclose(P[:, :2], seen.predict_proba(ASKED), **CLOSE)
    assert_array_equal(model.predict(X), seen.predict(X))
    assert model.score(X, y) == seen.score(X, y)
    assert_array_equal(model.predict_log_proba(ASKED)[:, 2], -np.inf)
    assert_array_equal(model.given(ASKED).prob(lambda z: z == "c"), 0)
    assert_allclose(model.given(y=["b"]).mean(), seen.given(y=["b"]).mean(), **CLOSE)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"marginals": "free"},
        {"marginals": "total", "positivity": "tightened"},
        {"positivity": "projected"},
        {"positivity": "pointwise"},
        {"regularization": 0.0},
        {"class_weight": {"c": 5.0, "d": 2.0}},
    ],
    ids=str,
)
def test_rows_that_come_later_are_as_if_they_had_always_been_there(how, size):
    X, y = sample()
    model = started(X, y, support_size=size, **how)
    base = deepcopy(model)
    want = answers(base.fit_like(X, y))
    for part in np.array_split(np.arange(FIRST, ALL), 3):
        model.partial_fit(X[part], y[part])
    assert_allclose(answers(model), want, **CLOSE)
    assert_array_equal(model.predict_proba(ASKED)[:, 3], 0)
    assert model.predict_proba(ASKED)[:, 2].max() > 0.05
    halves = base.fit_like(X[FIRST:], y[FIRST:]).merge(base)
    assert_allclose(answers(halves), want, **CLOSE)
    halves = base.merge(base.fit_like(X[FIRST:], y[FIRST:]))
    assert_allclose(answers(halves), want, **CLOSE)


def test_the_model_is_the_fit_to_all_rows_where_landmarks_represent_them(rng):
    """Rows on a coarse grid; the fit knows nothing of named classes."""
    X = rng.choice(np.arange(6.0), 300)[:, None]
    y = rng.choice(NAMES[:3], 300, p=[0.7, 0.2, 0.1])
    y[:60] = np.where(y[:60] == "c", "a", y[:60])
    X[:6, 0] = np.arange(6)
    w = rng.integers(1, 4, 300).astype(float)
    model = jd.JointClassifier(Laplace(1.0), regularization=1e-3, random_state=0)
    whole = clone(model).fit(X, y, w)
    for part in np.split(np.arange(300), [60, 61, 200]):
        model.partial_fit(X[part], y[part], classes=NAMES, sample_weight=w[part])
    grid = np.arange(6.0)[:, None]
    found = model.predict_proba(grid)
    assert_allclose(found[:, :3], whole.predict_proba(grid), **CLOSE)
    assert_array_equal(found[:, 3], 0)


@pytest.mark.parametrize("size", SIZES)
def test_all_rows_of_a_class_come_and_go(size):
    X, y = sample()
    model = started(X, y, support_size=size)
    base, late = deepcopy(model), slice(FIRST, ALL)
    model.partial_fit(X[late], y[late])
    rare = y == "c"
    model.forget(X[rare], y[rare])
    want = base.fit_like(X[~rare], y[~rare])
    assert_allclose(model.predict_proba(ASKED), want.predict_proba(ASKED), **CLOSE)
    assert_array_equal(model.predict_proba(ASKED)[:, 2], 0)
    with pytest.raises(ValueError, match="label of probability zero"):
        model.given(y=["c"])
    model.partial_fit(X[rare], y[rare])
    assert_allclose(answers(model), answers(base.fit_like(X, y)), **CLOSE)


def test_rows_without_weight_do_not_make_a_class():
    X, y = sample()
    w = (y != "c").astype(float)
    model = classifier().partial_fit(X, y, NAMES, sample_weight=w)
    assert_array_equal(model.predict_proba(ASKED)[:, 2], 0)
    with pytest.raises(ValueError, match="label of probability zero"):
        model.given(y=["c"])
    rare = y == "c"
    model.partial_fit(X[rare], y[rare])
    assert_allclose(answers(model), answers(model.fit_like(X, y)), **CLOSE)


def test_a_class_that_is_too_rare_for_the_tolerance_is_learned_all_the_same():
    """Of 3,000 rows one is of the class, less than a factor may lose."""
    X, y = sample(n=6000, first=3000)
    y[5] = "d"
    model = started(X, y, first=3000, tol=1e-2)
    assert model.joint_.basis_y_.rank == 4
    assert classifier(tol=1e-2).fit(X[:3000], y[:3000]).joint_.basis_y_.rank == 2
    base = deepcopy(model)
    model.partial_fit(X[3000:], y[3000:])
    assert_allclose(answers(model), answers(base.fit_like(X, y)), **CLOSE)


@pytest.mark.parametrize("positivity", ["none", "projected", "grid", "pivot"])
def test_a_first_batch_of_one_class(positivity):
    X, y = sample(n=700)
    one = y == "a"
    model = classifier(positivity=positivity, max_rank=20)
    model.partial_fit(X[one], y[one], classes=NAMES)
    P = model.predict_proba(ASKED)
    assert_allclose(P[:, 0], 1, atol=1e-12)
    assert_array_equal(P[:, 1:], 0)
    base = deepcopy(model)
    model.partial_fit(X[~one], y[~one])
    assert_allclose(answers(model), answers(base.fit_like(X, y)), **CLOSE)


def test_one_class_does_not_choose_the_ridge():
    """All ridges are equally good for it; the strongest would hide the classes to come."""
    X, y = sample(n=900)
    one = y == "a"
    model = jd.JointClassifier(random_state=0, verbose=0)
    model.partial_fit(X[one], y[one], classes=NAMES).partial_fit(X[~one], y[~one])
    assert model.selection_ is None
    assert model.score(X, y) > classifier().fit(X, y).score(X, y) - 0.02


def test_kernel_and_ridge_are_chosen_by_the_classes_that_have_rows():
    X, y = sample()
    model = jd.JointClassifier(random_state=0, verbose=0)
    seen = clone(model).fit(X[:FIRST], y[:FIRST])
    model.partial_fit(X[:FIRST], y[:FIRST], classes=NAMES)
    assert model.joint_.kernel_x_ == seen.joint_.kernel_x_
    assert_allclose(model.regularization_, seen.regularization_)


def test_refits_know_all_classes():
    X, y = sample()
    model = started(X, y)
    late = slice(FIRST, ALL)
    other = model.refit(regularization=1e-2, marginals="total")
    assert_array_equal(other.predict_proba(ASKED)[:, 2:], 0)
    want = classifier(regularization=1e-2, marginals="total")
    want.partial_fit(X[:FIRST], y[:FIRST], classes=NAMES)
    for each in (other, want):
        each.partial_fit(X[late], y[late])
    assert_allclose(answers(other), answers(want), **CLOSE)


@pytest.mark.parametrize("size", SIZES)
def test_files_hold_classes_without_rows(tmp_path, size):
    X, y = sample()
    model = started(X, y, support_size=size)
    model.save(tmp_path / "model.jd")
    loaded = jd.load(tmp_path / "model.jd")
    assert_array_equal(loaded.classes_, NAMES)
    assert_array_equal(loaded.predict_proba(ASKED), model.predict_proba(ASKED))
    for each in (model, loaded):
        each.partial_fit(X[FIRST:], y[FIRST:], classes=NAMES)
    assert_allclose(answers(loaded), answers(model), rtol=1e-12, atol=1e-12)


def test_what_is_not_defined_or_not_named_is_refused():
    X, y = sample()
    model = started(X, y)
    before = model.predict_proba(ASKED)
    with pytest.raises(
        ValueError,
        match=r"^JointClassifier.given: `y` must be of labels with rows, as X given a label "
        r"of probability zero is not defined. Got 'c'",
    ):
        model.given(y=["a", "c"])
    with pytest.raises(ValueError, match=r"`y` must be of categories seen in fit"):
        model.given(y=["z"])
    with pytest.raises(ValueError, match=r"`y` must be of the labels \['a', .*Got 'z'"):
        model.partial_fit(X[:2], ["a", "z"])
    with pytest.raises(
        ValueError,
        match=r"`classes` must be the labels of the first fit, \['a', 'b', 'c', 'd'\]; "
        r"the first call of `partial_fit` names all. Got \['a', 'b'\]",
    ):
        model.partial_fit(X[:2], y[:2], classes=["a", "b"])
    assert_array_equal(model.predict_proba(ASKED), before)


def test_names_of_classes_are_checked():
    X, y = sample()
    where = "^JointClassifier.partial_fit: "
    for classes, message in (
        (["a"], r"`y` must be of the labels \['a'\]. Got 'b'"),
        ([], r"`classes` must be some labels. Got none"),
        (["a", 1], r"`classes` must be strings or numbers, not both"),
        (["a", None], r"`classes` must be without missing values"),
        ([1.0, np.nan], r"`classes` must be without missing values"),
        ("ab", r"`classes` must be a vector of labels"),
        ([["a", "b"]], r"`classes` must be a vector of labels"),
    ):
        model = classifier()
        with pytest.raises(ValueError, match=where + message):
            model.partial_fit(X, y, classes=classes)
        assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "known",
    [[7, 3, 5], [2.0, 1.0, 4.0], np.array(["x", "y", "z"], dtype=object), [False, True]],
    ids=str,
)
def test_labels_of_any_type_in_any_order(known):
    X, _ = sample()
    names = read_classes(known, where="fit")
    model = classifier().partial_fit(X, names[:1].repeat(len(X)), classes=known)
    assert_array_equal(model.classes_, np.unique(known), strict=True)
    assert_array_equal(model.predict(X[:3]), names[:1].repeat(3))


def test_without_names_a_first_call_is_a_fit():
    X, y = sample()
    with pytest.warns(ToleranceWarning, match="not fitted"):
        model = classifier().partial_fit(X[:FIRST], y[:FIRST])
    assert_array_equal(model.classes_, ["a", "b"])
    with pytest.raises(ValueError, match=r"`y` must be of the labels \['a', 'b'\]"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("n", [300, 70_000])
def test_given_landmarks_replace_pivots(n):
    """Also of tables so large that pivots are proposed on a subsample."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 1)), rng.integers(0, 3, n).astype(float)
    landmarks = np.array([[4.0], [0.0], [2.0], [1.0]])
    small = reduce_sample(
        Gaussian(1.0), Delta(0.2), X, y, landmarks_y=landmarks, random_state=0
    )
    plain = reduce_sample(Gaussian(1.0), Delta(0.2), X, y, random_state=0)
    assert_array_equal(small.y.landmarks, landmarks)
    assert_array_equal(small.x.pivots, plain.x.pivots)
    assert small.y.trace == n
    assert_allclose(small.y.error, 0, atol=1e-9 * n)
    L = small.y.features(np.arange(3.0)[:, None])
    assert_allclose(L @ L.T, Delta(0.2)(landmarks[1:], landmarks[1:]), atol=1e-12)


def test_arrays_of_other_libraries(xp):
    X, y = sample(n=800, first=300)
    codes = np.unique(y, return_inverse=True)[1]
    here, there = classifier(), classifier()
    for part in (slice(0, 300), slice(300, 800)):
        here.partial_fit(X[part], codes[part], classes=[0, 1, 2, 3])
        there.partial_fit(xp.asarray(X[part]), xp.asarray(codes[part]), classes=range(4))
    found, want = (each.predict_proba(ASKED) for each in (there, here))
    assert_allclose(found, want, atol=1e-7)
    assert_array_equal(found[:, 3], 0)
