"""Users are told what a model can't know: tolerances missed, questions out of distribution."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import betabinom
from sklearn.linear_model import LinearRegression

import jointdist as jd
from jointdist.distributions.seen import Seen, joined_range
from jointdist.kernels import Gaussian, Matern

QUICK = {"regularization": 1e-2, "random_state": 0, "verbose": 0}
WIDE = Gaussian(1.0)


def _model(kind, kernel=WIDE, **options):
    if kind == "regressor":
        return jd.DistributionRegressor(
            LinearRegression(),
            kernel_x=kernel,
            scale=False,
            distribution=jd.JointDistribution(WIDE, WIDE, **QUICK),
            random_state=0,
            verbose=0,
        )
    cls = {"joint": jd.JointDistribution, "embedding": jd.ConditionalMeanEmbedding}[kind]
    return cls(kernel, WIDE, **QUICK | options)


def _told(ask):
    """Return the messages about questions out of distribution."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ask()
    kind = jd.OutOfDistributionWarning
    return [str(each.message) for each in caught if issubclass(each.category, kind)]


DRAWS = [
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.standard_cauchy(size=shape),
    lambda rng, shape: rng.uniform(size=shape),
    lambda rng, shape: rng.integers(0, 5, size=shape).astype(float),
]
KERNELS = [WIDE, Gaussian(3.0), Matern(2.0, nu=1.5)]


def test_exchangeable_rows_raise_no_alarm():
    alarms = 0
    for seed in range(100):
        rng, draw = np.random.default_rng(seed), DRAWS[seed % 4]
        n, d = (50, 100, 200)[seed % 3], (1, 2, 6)[seed // 3 % 3]
        X, new = draw(rng, (n, d)), draw(rng, ((1, 20, 200, 1000)[seed // 9 % 4], d))
        model = _model("joint", KERNELS[seed % 3], positivity="none")
        model.fit(X, rng.normal(size=n))
        alarms += len(_told(lambda model=model, new=new: model.given(new)))
    assert alarms == 0


@pytest.mark.parametrize("kind", ["joint", "embedding", "regressor"])
def test_the_share_of_a_drifting_table(kind):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    model = _model(kind).fit(X, X[:, 0] + 0.1 * rng.normal(size=400))
    later = rng.uniform(size=(1000, 3))
    assert not _told(lambda: model.predict(later))
    later[:, 1] += np.linspace(0, 1, 1000)  # half of the rows, in the end all
    true = (later[:, 1] > 1).mean()
    for ask in (
        lambda: model.predict(later),
        lambda: model.given(later),
        lambda: model.score(later, later[:, 0]),
    ):
        (message,) = _told(ask)
        assert "x[1] is above the range seen" in message
        share = int(re.search(r": ([\d,]+) of 1,000 rows", message)[1].replace(",", ""))
        assert abs(share / 1000 / true - 1) < 0.1


def test_combinations_that_were_never_seen_are_told():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=400)
    X = np.column_stack([x, x + 0.02 * rng.normal(size=400)])
    model = _model("joint", Gaussian(0.3)).fit(X, x)
    new = rng.uniform(0.05, 0.95, size=(200, 2))
    (message,) = _told(lambda: model.predict(new))
    assert "no column by itself" in message


def test_many_questions_are_looked_at_in_part():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 1))
    model = _model("joint").fit(X, X[:, 0])
    (message,) = _told(lambda: model.given(np.linspace(0, 2, 20_000)[:, None]))
    count = int(re.search(r"about ([\d,]+) of 20,000", message)[1].replace(",", ""))
    assert_allclose(count, 10_000, rtol=0.1)


def test_updates_and_files_keep_what_was_seen(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 1))
    model = _model("joint", support_size=300).fit(X, X[:, 0])
    new = np.linspace(1.2, 1.4, 50)[:, None]
    assert _told(lambda: model.given(new))
    model.save(tmp_path / "model.jd")
    loaded = jd.load(tmp_path / "model.jd")
    assert _told(lambda: loaded.given(new)) == _told(lambda: model.given(new))
    wider = np.linspace(1.0, 1.5, 400)[:, None]
    with pytest.warns(jd.ToleranceWarning, match="landmarks miss"):
        model.partial_fit(wider, wider[:, 0])
    assert not _told(lambda: model.given(new))
    seen = model._fitted.seen
    assert_allclose(seen.high, 1.5)
    assert_allclose(seen.low, X.min())


def test_older_files_do_not_warn():
    model = jd.load(Path(__file__).parents[1] / "files" / "joint-projected.jd")
    far = np.full((500, model.n_features_in_), 1e3)
    assert not _told(lambda: model.given(far))


@pytest.mark.parametrize("k", [0, 1, 5, 40])
def test_chances_are_beta_binomial(k):
    seen = Seen(np.zeros(1), np.ones(1), 50, 0.1, 300)
    found = seen.chance_beyond(np.array([[float(k)]]), 40)
    assert_allclose(found, betabinom.sf(k - 1, 40, 1, 50), atol=1e-12)
    assert_allclose(seen.chance_novel(k, 40), betabinom.sf(k - 1, 40, 3, 298), atol=1e-12)


def test_ranges_are_joined_if_both_are_known():
    a, b = np.array([[0.0], [1.0]]), np.array([[-1.0], [0.5]])
    assert_allclose(joined_range(a, b), [[-1], [1]])
    assert joined_range(a, None) is None


def test_a_selected_kernel_that_loses_much_is_told():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 8)), rng.normal(size=600)
    model = jd.JointDistribution(
        "auto", WIDE, max_rank=8, regularization=1e-2, random_state=0, verbose=0
    )
    message = (
        r"the kernel selected for X loses 0\.\d+ of its trace at rank 8.*Raise `max_rank`"
    )
    with pytest.warns(jd.ToleranceWarning, match=message):
        model.fit(X, y)
