"""scikit-learn knows scorers by name, whatever was imported first; losses are no scorers."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import jointdist as jd
from jointdist import scores
from jointdist.kernels import Gaussian

NAMES = ["neg_crps", "neg_energy_score", "neg_interval_score", "neg_log_score"]
CV = KFold(3)
MODEL = jd.JointDistribution(
    Gaussian(1.0), Gaussian(0.5), regularization=1e-2, random_state=0, verbose=0
)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 2))
Y = X[:, 0] + 0.5 * RNG.normal(size=90)
W = RNG.random(90)


def child(code):
    """Return what a process of its own prints."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return found.stdout.split()


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_the_scorer(name):
    assert name in get_scorer_names()
    assert repr(get_scorer(name)) == repr(getattr(scores, name))
    raised = {"cv": CV, "error_score": "raise"}
    found = cross_val_score(MODEL, X, Y, scoring=name, **raised)
    want = cross_val_score(MODEL, X, Y, scoring=getattr(scores, name), **raised)
    assert_array_equal(found, want)


def test_names_in_pipelines_searches_and_other_processes():
    pipe, ridges = make_pipeline(StandardScaler(), MODEL), [1e-2, 1.0]
    grid = {"jointdistribution__regularization": ridges}
    search = GridSearchCV(pipe, grid, scoring="neg_crps", cv=CV)
    outer = {"scoring": NAMES[:2], "cv": KFold(2), "error_score": "raise"}
    found, alone = (
        cross_validate(clone(search), X, Y, n_jobs=n, **outer) for n in (2, None)
    )
    for name in NAMES[:2]:
        assert_allclose(found[f"test_{name}"], alone[f"test_{name}"], rtol=1e-9)
    search.fit(X, Y)
    want = [
        cross_val_score(
            clone(pipe).set_params(**{key: ridge}), X, Y, scoring="neg_crps", cv=CV
        )
        for key, ridges in grid.items()
        for ridge in ridges
    ]
    assert_allclose(search.cv_results_["mean_test_score"], np.mean(want, axis=1))
    assert search.score(X, Y) == -scores.crps(jd.given(search, X), Y).mean()


def test_weights_of_a_search_are_weights_of_the_score():
    search = GridSearchCV(MODEL, {"regularization": [1e-2]}, cv=CV)
    want = [
        -np.average(scores.crps(model.given(X[test]), Y[test]), weights=W[test])
        for train, test in CV.split(X)
        for model in [clone(MODEL).fit(X[train], Y[train], sample_weight=W[train])]
    ]
    both = {"refit": "neg_crps", "scoring": ["neg_crps", "neg_log_score"]}
    for settings, found in (
        ({"scoring": "neg_crps"}, "mean_test_score"),
        (both, "mean_test_neg_crps"),
    ):
        fitted = clone(search).set_params(**settings).fit(X, Y, sample_weight=W)
        assert_allclose(fitted.cv_results_[found], [np.mean(want)])


def test_weights_are_routed_where_they_are_requested():
    scorer = scores.neg_crps.set_score_request(sample_weight=True)
    assert scores.neg_crps.requested is None  # scorers do not change
    fits = [clone(MODEL).fit(X[train], Y[train]) for train, _ in CV.split(X)]
    losses = [
        (scores.crps(fit.given(X[test]), Y[test]), W[test])
        for fit, (_, test) in zip(fits, CV.split(X), strict=True)
    ]
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(sample_weight=False)
        how = {"params": {"sample_weight": W}, "cv": CV, "error_score": "raise"}
        found = cross_val_score(model, X, Y, scoring=scorer, **how)
        assert_allclose(found, [-np.average(loss, weights=w) for loss, w in losses])
        without = scorer.set_score_request(sample_weight=False)
        two = {"weighted": scorer, "plain": without}
        found = cross_validate(model, X, Y, scoring=two, **how)["test_plain"]
        assert_allclose(found, [-loss.mean() for loss, _ in losses])
        with pytest.raises(ValueError, match="not explicitly set as requested or not"):
            cross_val_score(model, X, Y, scoring="neg_crps", **how)


def test_names_are_known_whatever_was_imported_first():
    """Functions of scikit-learn fix the names they allow when they are imported."""
    assert not child("import jointdist, sys; print(*{'sklearn'} & set(sys.modules))")
    known = "print(*sorted(set(sklearn.metrics.get_scorer_names()) & set(ours)))"
    code = f"""
        import numpy as np, sklearn.metrics
        from sklearn.model_selection import cross_val_score
        ours = {NAMES}
        {known}
        sklearn.metrics._scorer._SCORERS["neg_log_score"] = sklearn.metrics.get_scorer("r2")
        import jointdist as jd
        kernel = jd.kernels.Gaussian(1.0)
        model = jd.ConditionalMeanEmbedding(kernel, kernel, regularization=1.0)
        {known}
        print(jd.scores.neg_log_score is sklearn.metrics._scorer._SCORERS["neg_log_score"])
        X = np.arange(20.0)[:, None]
        found = cross_val_score(model, X, X[:, 0], scoring="neg_crps", cv=2)
        print(bool(np.isfinite(found).all()))
        from sklearn.inspection import permutation_importance
        model.fit(X, X[:, 0])
        print(permutation_importance(model, X, X[:, 0], scoring="neg_crps").importances.shape)
    """
    assert child(code) == [*NAMES, "False", "True", "(1,", "5)"]


def test_without_a_dictionary_to_register_in_scorers_still_work():
    code = """
        import types, numpy as np, sklearn.metrics
        from sklearn.model_selection import cross_val_score
        known = sklearn.metrics._scorer
        known._SCORERS = types.MappingProxyType(known._SCORERS)  # not to be changed
        import jointdist as jd
        kernel = jd.kernels.Gaussian(1.0)
        model = jd.JointDistribution(kernel, kernel, regularization=1.0, random_state=0)
        X = np.arange(20.0)[:, None]
        found = cross_val_score(model, X, X[:, 0], scoring=jd.scores.neg_crps, cv=2)
        print(bool(np.isfinite(found).all()))
        try:
            cross_val_score(model, X, X[:, 0], scoring="neg_crps", cv=2)
        except ValueError as error:
            print("The 'scoring' parameter of cross_val_score must be" in str(error))
    """
    assert child(code) == ["True", "True"]


def test_other_parameters_keep_their_rules():
    """Names are added to those of scorers alone."""
    with pytest.raises(ValueError, match=r"must be .* among .*'neg_crps'.* Got 'neg_crsp'"):
        cross_val_score(MODEL, X, Y, scoring="neg_crsp", cv=CV)
    with pytest.raises(ValueError, match="Got 'neg_crps' instead"):
        GridSearchCV(MODEL, {"regularization": [1.0]}, cv="neg_crps").fit(X, Y)
    model = clone(MODEL).fit(X, Y)
    by_name = permutation_importance(model, X, Y, scoring="neg_crps", random_state=0)
    assert by_name.importances_mean[0] > by_name.importances_mean[1]


@pytest.mark.parametrize(
    ("loss", "scorer"),
    [(f"{name[4:]}", f'"{name}"') for name in NAMES]
    + [("pinball_loss", r"`make_distribution_scorer\(pinball_loss, levels=\.\.\.\)`")],
)
def test_a_loss_that_is_taken_for_a_scorer_names_the_scorer(loss, scorer):
    message = (
        rf"{loss}: `dist` must be a Conditional, as `given` returns it; `scoring` needs "
        rf"{scorer}\. Got JointDistribution\."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        cross_val_score(
            MODEL, X, Y, scoring=getattr(scores, loss), cv=CV, error_score="raise"
        )
    with (
        pytest.warns(UserWarning, match=message),
        np.errstate(all="ignore"),
    ):
        cross_val_score(MODEL, X, Y, scoring=getattr(scores, loss), cv=CV)
