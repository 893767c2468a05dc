"""Many threads ask one model: right answers, no locks, and one BLAS thread each."""

import ast
import copy
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest
from interrupted_fits import limits
from numpy.testing import assert_array_equal
from small_fits import CASES
from threadpoolctl import threadpool_limits

import jointdist as jd
from jointdist.data.executor import one_blas_thread
from jointdist.kernels import Gaussian

THREADS = 8
SECONDS = (
    120  # far more than any question needs: threads that wait for each other never end
)
LOCKS = type(threading.Lock()), type(threading.RLock())
BOTH = {"joint", "default", "polynomial", "classifier"}  # those that answer both directions


def questions(name):
    """Return questions about a model, as functions of it."""
    case = CASES[name]
    X, y = case.rows(0, 10)
    asked = [lambda m: m.predict(X), lambda m: m.score(X, y)]
    if name in BOTH:
        asked += [
            lambda m: m.given(y=y).weights(),
            lambda m: m.given(y=y).sample(3, random_state=0),
        ]
    if case.cut:
        return asked + [lambda m: m.predict_proba(X), lambda m: m.predict_log_proba(X)] * 3
    return [
        *asked,
        lambda m: m.given(X).mean(),
        lambda m: m.given(X).cov(),
        lambda m: m.given(X).quantile([0.1, 0.5, 0.9]),
        lambda m: m.given(X).interval(0.8),
        lambda m: m.given(X).cdf(y),
        lambda m: m.given(X).pdf(y),
        lambda m: m.given(X).logpdf([0.0, 1.0], grid=True),
        lambda m: m.given(X).prob(lambda v: v > 0.5),
        lambda m: m.given(X).sample(5, random_state=0),
        lambda m: m.given(X).mode(),
    ]


@cache
def fitted(name):
    """Return a fitted model that was never asked."""
    return CASES[name].fitted()


def together(asked, model):
    """Return the answers of each thread; all start at once, each at another question."""
    start = threading.Barrier(THREADS)

    def ask(first):
        start.wait(SECONDS)
        order = [(first + i) % len(asked) for i in range(len(asked))]
        return {i: np.asarray(asked[i](model)) for i in order}

    with ThreadPoolExecutor(THREADS) as pool:
        waiting = [pool.submit(ask, first) for first in range(THREADS)]
        return [each.result(SECONDS) for each in waiting]


@pytest.mark.parametrize("name", [name for name in CASES if name != "default"])
def test_answers_to_many_threads_are_those_to_one(name):
    asked = questions(name)
    alone = copy.deepcopy(fitted(name))
    right = [np.asarray(ask(alone)) for ask in asked]
    model = copy.deepcopy(fitted(name))  # copies have none of the values of the first
    for _ in ("cold", "warm"):
        for answers in together(asked, model):
            for i, found in answers.items():
                assert_array_equal(found, right[i], err_msg=f"question {i}")


def reachable(model):
    """Yield all objects that a model holds; not what modules and classes do."""
    seen, waiting = set(), [model]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, ModuleType | type):
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, FunctionType):
            waiting += [one.__closure__, one.__defaults__, one.__kwdefaults__]
        else:
            waiting += gc.get_referents(one)


@pytest.mark.parametrize("name", CASES)
def test_no_lock_is_held_by_a_model(name):
    model = copy.deepcopy(fitted(name))
    for ask in questions(name):
        ask(model)
    held = list(reachable(model))
    assert len(held) > 50
    assert not [one for one in held if isinstance(one, LOCKS)]
    assert any(isinstance(one, LOCKS) for one in reachable([threading.Event()]))


def test_no_cached_property_takes_a_lock():
    files = list(Path(jd.__file__).parent.rglob("*.py"))
    assert len(files) > 100
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [getattr(node, name, None) for name in ("id", "attr", "name")]
            assert "cached_property" not in names, file


class Watching:
    """A kernel that notes how many threads BLAS may use when it is called."""

    def __init__(self, kernel):
        self.kernel, self.seen = kernel, []

    def __call__(self, X, Z):
        self.seen.append(limits())
        return self.kernel(X, Z)

    def diagonal(self, X):
        return self.kernel.diagonal(X)

    def __deepcopy__(self, _):
        return self


@pytest.mark.parametrize("kind", [jd.JointDistribution, jd.ConditionalMeanEmbedding])
def test_blas_has_one_thread_while_others_than_the_main_thread_ask(kind):
    case, kernel = CASES["joint"], Watching(CASES["joint"].estimator.kernel_x)
    options = {"regularization": 1e-3, "random_state": 0, "verbose": 0}
    with threadpool_limits(2, user_api="blas"):
        before = limits()
        assert set(before) == {2}
        model = kind(kernel, Gaussian(0.5), **options).fit(*case.rows(0))
        kernel.seen.clear()
        X, _ = case.rows(0, 10)
        together([lambda m: m.given(X).mean(), lambda m: m.given(X).quantile(0.5)], model)
        assert {number for each in kernel.seen for number in each} == {1}
        assert limits() == before


def test_the_limit_returns_whichever_thread_is_the_last_to_leave():
    inside, leave = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread() as one, one:
            inside.set()
            leave.wait(SECONDS)

    with threadpool_limits(2, user_api="blas"):
        before = limits()
        other = threading.Thread(target=stay)
        with one_blas_thread() as one, one:
            other.start()
            assert inside.wait(SECONDS)
            assert set(limits()) == {1}
        assert set(limits()) == {1}  # of the thread that stays
        leave.set()
        other.join(SECONDS)
        assert limits() == before
        assert one.allowed <= 2


def test_a_limit_that_another_thread_sets_first_does_not_stop_ours():
    """The first thread to set a limit must not keep others from setting theirs."""
    found = []

    def work():
        with one_blas_thread() as one, one:
            found.append(limits())

    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread() as one, one:
            pass
        other = threading.Thread(target=work)
        other.start()
        other.join(SECONDS)
        assert set(found[0]) == {1}
        assert set(limits()) == {2}
