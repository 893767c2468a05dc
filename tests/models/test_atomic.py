"""A fit that fails or is interrupted leaves the estimator as it was, fitted or not."""

import copy
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from interrupted_fits import limits
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from small_fits import CASES, same, updated
from threadpoolctl import threadpool_limits

import jointdist as jd
from jointdist.kernels import Delta, Gaussian

TESTS = Path(__file__).parents[1]
HOME = str(Path(jd.__file__).parent)
QUICK = [name for name in CASES if name not in ("auto", "default")]
# Interrupts of each case: few, in few processes, and many in `make soak`.
FEW = [pytest.param(QUICK, 14, id="quick"), pytest.param(["auto"], 6, id="auto")]
MANY = dict.fromkeys(CASES, 104) | {"default": 16, "kernel": 92, "auto": 12}
SOAK = [
    pytest.param([name], moments, id=f"{name}, many", marks=pytest.mark.long)
    for name, moments in MANY.items()
]


def child(*arguments, threads):
    """Return what a child process found."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
    environment["MALLOC_ARENA_MAX"] = "1"  # no memory in reserve for threads
    command = [sys.executable, str(TESTS / "interrupted_fits.py"), *arguments]
    run = subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, timeout=600
    )
    return json.loads(run.stdout)


@pytest.mark.parametrize(("names", "moments"), FEW + SOAK)
def test_an_interrupt_at_any_moment_leaves_the_model_as_it_was(names, moments):
    threads = "1" if "auto" in names else "2"  # boosting spins where cores are few
    found = child("interrupt", str(moments), *names, threads=threads)
    allowed = {True: {"as before", "finished"}, False: {"not fitted", "finished"}}
    assert list(found) == names
    for name, ends in found.items():
        for each in ends:
            assert each["state"] in allowed[each["fitted"]] | {"in time"}, (name, each)
            assert not each["left"], (name, each)
    # Interrupts may come too late, as the first fit takes longer than others: not all do.
    states = Counter(each["state"] for ends in found.values() for each in ends)
    assert states["as before"] >= 2
    assert states["not fitted"] >= 1


@pytest.mark.parametrize(
    "name",
    [
        "embedding",
        pytest.param("joint", marks=pytest.mark.long),
        pytest.param("polynomial", marks=pytest.mark.long),
    ],
)
def test_a_lack_of_memory_leaves_the_model_as_it_was(name):
    found = child("starve", name, threads="1")[name]
    for each in found:
        kept = "as before" if each["fitted"] else "not fitted"
        assert each["state"] in {kept, "in time"}, each
        assert not each["left"], each
    assert sum(each["state"] != "in time" for each in found) >= 4


@cache
def first(name):
    """Return a fitted model and its answers."""
    model = CASES[name].fitted()
    return model, CASES[name].answers(model)


# Python drops an error in a generator that is being deleted.
swallowed = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Calls:
    """Counts calls of functions of the package, and raises at one of them."""

    def __init__(self, at):
        self.at, self.seen = at, 0

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(HOME):
            self.seen += 1
            if self.seen == self.at:
                raise OSError(self.at)

    def during(self, work):
        """Return the error that was raised, with its traceback, or None."""
        sys.setprofile(self)
        try:
            work()
        except OSError as error:
            return error
        finally:
            sys.setprofile(None)
        return None

    @classmethod
    def count(cls, work):
        """Return the number of calls of some work."""
        calls = cls(0)
        assert calls.during(work) is None
        return calls.seen


def moments(total, base):
    """Return numbers of calls: early ones, late ones, and some between, in powers."""
    powers = [int(base**i) for i in range(100)]
    return sorted({at for p in powers for at in (p, total - p + 1) if 1 <= at <= total})


def unchanged(model, fitted):
    """Tell whether all attributes are the same objects."""
    own, old = vars(model), vars(fitted)
    return own.keys() == old.keys() and all(own[name] is old[name] for name in old)


# Powers of which numbers of calls: the smaller, the more errors.
at_some_calls = pytest.mark.parametrize(
    "base", [6.0, pytest.param(1.5, marks=pytest.mark.long)], ids=["few", "many"]
)


@swallowed
@at_some_calls
@pytest.mark.parametrize("name", QUICK)
def test_an_error_in_any_call_leaves_the_model_as_it_was(name, base):
    case, (fitted, before) = CASES[name], first(name)
    stopped = 0
    with threadpool_limits(2, user_api="blas"):
        for work in updated(case).values():
            total = Calls.count(lambda work=work: work(copy.copy(fitted)))
            for at in moments(total, base):
                model = copy.copy(fitted)
                error = Calls(at).during(lambda work=work, model=model: work(model))
                if error is not None:
                    assert unchanged(model, fitted), f"an error in call {at} of {total}"
                    assert set(limits()) == {2}, f"an error in call {at} of {total}"
                    stopped += 1
    assert stopped >= 10
    assert same(case.answers(fitted), before)


@swallowed
@at_some_calls
@pytest.mark.parametrize("name", QUICK)
def test_an_error_in_any_call_of_a_first_fit_leaves_the_model_not_fitted(name, base):
    case = CASES[name]
    total = Calls.count(case.fitted)
    for at in moments(total, base):
        model = clone(case.estimator)
        if Calls(at).during(lambda model=model: model.fit(*case.rows(0))) is not None:
            assert vars(model).keys() == vars(case.estimator).keys(), at
            assert_not_fitted(case, model)


def assert_not_fitted(case, model):
    for ask in (lambda: check_is_fitted(model), lambda: case.answers(model)):
        with pytest.raises(NotFittedError):
            ask()
    assert not hasattr(model, "solution_")


class Failing:
    """A kernel that raises at one of its calls."""

    def __init__(self, kernel, at):
        self.kernel, self.calls, self.at = kernel, count(1), at

    def __call__(self, X, Z):
        if next(self.calls) == self.at:
            raise OSError(self.at)
        return self.kernel(X, Z)

    def diagonal(self, X):
        return self.kernel.diagonal(X)

    def __deepcopy__(self, _):
        return self  # one count for all copies


@pytest.mark.parametrize("name", ["joint", "embedding", "full", "classifier", "logistic"])
def test_a_kernel_that_raises_leaves_the_model_as_it_was(name):
    case, (fitted, before) = CASES[name], first(name)
    stopped = 0
    for at in (1, 2, 3, 4, 6, 8, 16, 32):
        model = copy.copy(fitted).set_params(kernel_x=Failing(fitted.kernel_x, at))
        try:
            model.fit(*case.rows(1))
        except OSError:
            stopped += 1
            assert same(case.answers(model), before)
            check_is_fitted(model)
        else:
            with pytest.raises(ValueError, match=r"feature|column"):
                case.answers(model)  # of other columns, which it knows no more
    assert stopped >= 1


class Moody(RegressorMixin, BaseEstimator):
    """A regressor that raises in one of its fits or forecasts."""

    def __init__(self, calls=None, at=0):
        self.calls, self.at = calls, at

    def _count(self):
        self.calls.append(1)
        if len(self.calls) == self.at:
            raise OSError(self.at)

    def fit(self, _X, y):
        self._count()
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        self._count()
        return np.full(len(X), self.mean_)

    def __sklearn_clone__(self):
        return Moody(self.calls, self.at)


def test_a_regressor_that_raises_leaves_the_model_as_it_was():
    case, (fitted, before) = CASES["kernel"], first("kernel")
    for at in (1, 2, 4, 6, 10):
        model = copy.copy(fitted).set_params(regressor=Moody([], at))
        with pytest.raises(ValueError, match=f"Moody: {at}"):
            model.fit(*case.rows(1))
        assert same(case.answers(model), before)
        model = jd.DistributionRegressor(Moody([], at), random_state=0, verbose=0)
        with pytest.raises(ValueError, match=f"Moody: {at}"):
            model.fit(*case.rows(1))
        assert_not_fitted(case, model)


def test_a_refit_that_is_refused_does_not_mix_categories():
    y = np.tile([0.0, 10.0], 50)
    model = jd.JointDistribution(random_state=0, verbose=0).fit([["a"], ["b"]] * 50, y)
    before = model.predict([["a"], ["b"]])
    model.set_params(regularization=np.ones(77), kernel_x=Delta(), kernel_y=Gaussian(1.0))
    with pytest.raises(ValueError, match="`regularization` must be a number, or"):
        model.fit([["b"], ["c"]] * 50, y)
    assert_array_equal(model.predict([["a"], ["b"]]), before)
    with pytest.warns(jd.UnseenCategoryWarning, match="1 in column 0"):
        model.predict([["c"]])


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],  # noqa: S301
)
def test_changes_of_a_copy_do_not_touch_the_model(name, copied):
    case, (fitted, before) = CASES[name], first(name)
    other = copied(fitted)
    assert same(case.answers(other), before)
    for work in list(updated(case).values())[::-1]:  # the fit to other columns last
        work(other)
        assert same(case.answers(fitted), before)


@pytest.mark.parametrize("name", QUICK)
def test_a_clone_is_not_fitted_and_fits_alike(name):
    case, (fitted, before) = CASES[name], first(name)
    model = clone(fitted)
    assert_not_fitted(case, model)
    assert same(case.answers(model.fit(*case.rows(0))), before)
    assert hasattr(fitted, "solution_") == hasattr(model, "solution_")


def test_an_update_keeps_the_settings_of_the_fit_whatever_is_set_meanwhile():
    case, (fitted, _) = CASES["joint"], first("joint")
    X, y = case.rows(0)
    plain = copy.copy(fitted).partial_fit(X[:20], y[:20])
    model = copy.copy(fitted).set_params(regularization=10.0)
    model.partial_fit(X[:20], y[:20])
    assert same(case.answers(model), case.answers(plain))
    assert model._settings["regularization"] == 1e-3
    assert model.regularization == 10.0
