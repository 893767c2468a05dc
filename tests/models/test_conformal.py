"""Conformal calibration: coverage in finite samples, and distributions that agree with it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import jointdist as jd
from jointdist import scores
from jointdist.data.sample import Sample
from jointdist.data.table import as_rows
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.location_scale import LocationScale
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian
from jointdist.models.conformal import ConformalCalibration
from jointdist.projection.recalibration import Recalibration, proper, recalibrated

SIDES = Gaussian(1.0), Gaussian(1.0)
FAILS = {
    "check_sample_weight_equivalence_on_dense_data": "rows are held back at random",
    "check_sample_weight_equivalence_on_sparse_data": "rows are held back at random",
}


def joint(regularization=1e-2, positivity="projected", **how):
    return jd.JointDistribution(
        *SIDES, regularization=regularization, positivity=positivity, random_state=0, **how
    )


BASES = {
    "projected": joint(),
    "isotonic": joint(positivity="isotonic"),
    "signed": joint(1e-4, "none"),
    "embedding": jd.ConditionalMeanEmbedding(*SIDES, regularization=1e-2),
    "signed embedding": jd.ConditionalMeanEmbedding(
        *SIDES, regularization=1e-2, positivity="none"
    ),
}


def data(n, seed=0):
    """Return a wave with noise that grows along it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    y = np.sin(3 * X[:, 0]) + 0.3 * np.exp(X[:, 0]) * rng.standard_normal(n)
    return X, y


@parametrize_with_checks(
    [ConformalCalibration(joint())], expected_failed_checks=lambda _: FAILS
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("k", [1, 5, 19, 20, 99, 100])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_levels_of_a_new_row_are_between_the_ends_as_often_as_promised(k, level):
    """Of k + 1 continuous levels any one is as likely to be the new one: count them."""
    every = np.random.default_rng(k).random(k + 1)
    inside = []
    for i in range(k + 1):
        low, high = Recalibration.of(np.delete(every, i)).ends(level)
        inside.append(low <= every[i] <= high)
    assert level <= np.mean(inside) + 1e-12
    assert np.mean(inside) <= level + 2 / (k + 1) + 1e-12


def test_ties_do_not_cost_coverage():
    every = np.random.default_rng(0).integers(0, 4, 60) / 4
    for level in (0.5, 0.8, 0.9):
        inside = []
        for i in range(60):
            low, high = Recalibration.of(np.delete(every, i)).ends(level)
            inside.append(low <= every[i] <= high)
        assert np.mean(inside) >= level


def test_the_map_is_a_cdf_through_the_levels():
    levels = np.array([0.7, 0.2, 0.2, 0.0, 1.0])
    G = Recalibration.of(levels)
    F = np.linspace(0, 1, 101)
    assert (np.diff(G(F)) > 0).all()
    assert_allclose(G(np.array([0.0, 0.2, 0.7, 1.0])), [0, 3 / 6, 4 / 6, 1])
    weighted = Recalibration.of(np.array([0.2, 0.7]), np.array([3.0, 1.0]))
    again = Recalibration.of(np.array([0.2, 0.2, 0.2, 0.7]))
    assert_allclose(weighted(F), again(F))
    assert weighted.ends(0.3) == again.ends(0.3)


@pytest.mark.filterwarnings("ignore:.*infinite ends")
@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_coverage_of_exchangeable_rows(base):
    """Outcomes of many samples, one new row each, by the binomial distribution."""
    level, runs, inside = 0.8, 60, []
    for seed in range(runs):
        X, y = data(60, seed)
        model = ConformalCalibration(base, share=0.4, random_state=seed)
        dist = model.fit(X[:-20], y[:-20]).given(X[-20:])
        inside.append(scores.coverage(dist, y[-20:], level).mean())
    mean, error = np.mean(inside), np.std(inside) / np.sqrt(runs)
    assert mean >= level - 3 * error
    assert mean <= level + 2 / 17 + 0.05 + 3 * error  # and what a support point weighs


class Narrow(jd.JointDistribution):
    """Overconfident distributions: drawn together around their means."""

    stretch = 0.5

    def given(self, x=None, *, y=None):
        dists = super().given(x, y=y).distributions
        mean, s = dists.means(), self.stretch
        return Conditional(
            LocationScale(
                residuals=dists,
                conditions=dists.conditions,
                location=(1 - s) * mean,
                scale=np.full_like(mean, s),
                encoding=dists.encoding,
                unit=np.ones(1),
            )
        )


class Narrower(Narrow):
    stretch = 0.05


def test_a_model_that_is_too_sure_of_itself_is_mended():
    X, y = data(3000)
    X_test, y_test = data(2000, 1)
    narrow = Narrow(*SIDES, regularization=1e-2, random_state=0)
    before = narrow.fit(X, y).given(X_test)
    dist = ConformalCalibration(narrow, random_state=0).fit(X, y).given(X_test)
    assert isinstance(dist.distributions, LocationScale)
    assert scores.coverage(before, y_test).mean() < 0.7
    low, high = stats.beta(541, 60).ppf([1e-3, 1 - 1e-3])  # of 600 rows held back
    assert low - 0.02 < scores.coverage(dist, y_test).mean() < high + 0.02
    assert scores.crps(dist, y_test).mean() < scores.crps(before, y_test).mean()
    assert scores.log_score(dist, y_test).mean() < scores.log_score(before, y_test).mean()
    assert_allclose(dist.cdf(dist.median(), grid=False), 0.5, atol=0.02)


@pytest.mark.parametrize("name", BASES)
def test_densities_are_smooth_and_integrate_to_one(name):
    X, y = data(1000)
    X_test, y_test = data(500, 1)
    model = ConformalCalibration(BASES[name], random_state=0).fit(X, y)
    before, dist = model.estimator_.given(X_test), model.given(X_test)
    at = np.linspace(-5, 5, 2001)
    densities = dist[:20].pdf(at, grid=True)
    few = name == "signed embedding"  # pivots, of which a running maximum keeps fewer
    assert_allclose(np.trapezoid(densities, at), 1, atol=1e-3)
    assert_allclose(dist[:3].pdf(at[1000]), densities[:3, 1000])
    worst = scores.log_score(before, y_test, floor=1e-3).mean() + (0.15 if few else 0.05)
    assert scores.log_score(dist, y_test, floor=1e-3).mean() < worst


def test_outcomes_beyond_all_support_points_leave_no_finite_end():
    X, y = data(300)
    model = ConformalCalibration(
        Narrower(*SIDES, regularization=1e-2, random_state=0), random_state=0
    )
    dist = model.fit(X, y).given(X[:3])
    with pytest.warns(ToleranceWarning, match="beyond all support points"):
        assert_array_equal(dist.interval(0.9), [[-np.inf, np.inf]] * 3)
    assert np.isfinite(dist.quantile([0.05, 0.95])).all()


@pytest.mark.parametrize("name", BASES)
def test_levels_that_are_even_leave_distributions_alone(name):
    X, y = data(300)
    dists = proper(BASES[name].fit(X, y).given(X[:7]).distributions)
    even = Recalibration.of(np.arange(1, 100) / 100)
    same = recalibrated(dists, even)
    at = np.linspace(-2, 2, 9)
    assert_allclose(
        same.cdf(at, grid=True), Conditional(dists).cdf(at, grid=True), atol=1e-12
    )
    assert_allclose(same.mean(), Conditional(dists).mean(), atol=1e-12)


def test_proper_distributions_stay_as_they_are_and_signed_ones_rise():
    X, y = data(300)
    projected = joint().fit(X, y).given(X[:5]).distributions
    assert proper(projected) is projected
    signed = joint(1e-5, "none").fit(X, y).given(X[:50])
    assert signed.negative_share().max() > 0.01
    mended = Conditional(proper(signed.distributions))
    assert mended.negative_share().max() == 0
    assert_allclose(mended.mass(), 1)
    levels = [0.1, 0.5, 0.9]  # those of the running maximum, as they were
    assert_allclose(mended.quantile(levels), signed.quantile(levels))


@pytest.mark.parametrize("name", BASES)
def test_all_that_distributions_are_asked_is_of_one_distribution(name):
    X, y = data(500)
    model = ConformalCalibration(BASES[name], random_state=0).fit(X, y)
    dist = model.given(X[:6])
    values, weights = dist.support_points(), dist.weights()
    assert (weights >= 0).all()
    assert_allclose(weights.sum(axis=1), 1)
    assert_allclose(dist.mean(), weights @ values, atol=1e-10)
    assert_allclose(dist.var(), weights @ values**2 - dist.mean() ** 2, atol=1e-10)
    at = np.linspace(-1, 1, 5)
    below = (values[:, None] <= at).astype(float)
    assert_allclose(dist.cdf(at, grid=True), weights @ below, atol=1e-10)
    assert_allclose(dist.prob(lambda v: v <= 0.2), dist.cdf(0.2), atol=1e-10)
    median = dist.quantile(0.5)
    assert (dist.cdf(median, grid=False) >= 0.5 - 1e-9).all()
    drawn = dist.sample(4000, random_state=0)
    assert_allclose(drawn.mean(axis=1), dist.mean(), atol=0.05)
    assert_allclose(model.predict(X[:6]), dist.mean())


def test_cdfs_are_mapped_at_the_values_of_the_sample():
    X, y = data(200)  # each value has a cell of its own
    model = ConformalCalibration(joint(positivity="isotonic"), random_state=0).fit(X, y)
    base, dist = model.estimator_.given(X[:4]), model.given(X[:4])
    at = dist.support_points()
    expected = model.recalibration_(base.cdf(at, grid=True))
    assert_allclose(dist.cdf(at, grid=True), expected, atol=1e-12)


def test_intervals_are_those_of_the_distribution_at_levels_rounded_outwards():
    X, y = data(1000)
    model = ConformalCalibration(joint(), random_state=0).fit(X, y)
    dist = model.given(X[:20])
    low, high = dist.interval(0.9).T
    # but for a support point: distributions are mapped at the ends of cells
    inner, outer = dist.quantile([0.055, 0.945]), dist.quantile([0.04, 0.96])
    assert (low <= inner[:, 0]).all()
    assert (high >= inner[:, 1]).all()
    assert (low >= outer[:, 0]).all()
    assert (high <= outer[:, 1]).all()
    part = dist[[3, 5]]
    assert_array_equal(part.interval(0.9), dist.interval(0.9)[[3, 5]])
    assert_allclose(part.mean(), dist.mean()[[3, 5]])
    assert len(dist[0]) == 1


def test_a_level_that_a_cdf_just_reaches_includes_the_next_value():
    """An outcome there may have that level, by rounding."""
    values = np.repeat(np.arange(4.0), 25)
    dist = jd.JointDistribution().fit(values[:, None], values).marginal("y")
    assert_allclose(dist.cdf([0.0, 1.0], grid=True), [[0.25, 0.5]])
    levels = Recalibration.of(np.array([0.1, 0.5, 0.5, 0.5]))
    assert levels.ends(0.4) == (0.1, 0.5)
    intervals = recalibrated(proper(dist.distributions), levels).interval(0.4)
    assert_array_equal(intervals, [[0.0, 2.0]])


def test_too_few_rows_promise_nothing():
    X, y = data(40)
    dist = ConformalCalibration(joint(), random_state=0).fit(X, y).given(X[:3])
    with pytest.warns(ToleranceWarning, match="need at least 19 rows .* here 8"):
        assert np.isinf(dist.interval(0.9)).all()
    assert np.isfinite(dist.interval(0.7)).all()
    assert np.isfinite(dist.quantile([0.05, 0.95])).all()


@pytest.mark.filterwarnings("ignore:.*infinite ends")
def test_copies_of_rows_are_not_held_back_from_their_own_fit():
    X, y = data(300)
    Z, z = data(2000, seed=7)
    flexible = jd.JointDistribution(Gaussian(0.05), SIDES[1], regularization=1e-9)
    model = ConformalCalibration(flexible, random_state=0)
    once = np.arange(300)
    covers = [
        scores.coverage(model.fit(X[own], y[own]).given(Z), z, 0.9).mean()
        for own in (once, np.append(once, once[:60]), np.tile(once, 2))
    ]
    assert min(covers) > 0.8


def test_a_seed_makes_it_repeatable_and_clones_are_unfitted():
    X, y = data(200)
    model = ConformalCalibration(joint(), random_state=3).fit(X, y)
    again = clone(model).fit(X, y)
    assert_array_equal(model.recalibration_.levels, again.recalibration_.levels)
    assert not hasattr(clone(model), "estimator_")
    assert not hasattr(model.estimator, "solution_")
    model.set_params(estimator__regularization=0.5, share=0.3)
    assert model.estimator.regularization == 0.5


def test_columns_of_a_table_keep_their_names():
    X, y = data(100)
    table = pd.DataFrame(X, columns=["x"])
    model = ConformalCalibration(joint(), random_state=0).fit(table, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["x"]
    assert model.n_features_in_ == 1
    assert_allclose(model.predict(table[:3]), model.given(table[:3]).mean())


def test_weights_count_in_the_fit_and_in_the_calibration():
    X, y = data(400)
    weights = np.where(y > 0, 3.0, 0.0)
    model = ConformalCalibration(joint(), random_state=0).fit(X, y, weights)
    kept = ConformalCalibration(joint(), random_state=0).fit(X[y > 0], y[y > 0])
    assert_array_equal(model.recalibration_.levels.shape, kept.recalibration_.levels.shape)
    n = len(kept.recalibration_.upto)
    assert_allclose(model.recalibration_.upto, 3 * np.arange(1, n + 1))
    assert model.given(X[:3]).quantile(1e-3).min() > 0


def test_the_score_is_the_skill_beside_the_outcomes_of_the_fit():
    X, y = data(600)
    model = ConformalCalibration(joint(), random_state=0).fit(X, y)
    X_test, y_test = data(300, 1)
    own = scores.crps(model.given(X_test), y_test).mean()
    sample = model.estimator_.marginal("y")[[0] * 300]
    expected = 1 - own / scores.crps(sample, y_test).mean()
    assert_allclose(model.score(X_test, y_test), expected, rtol=1e-9)
    assert_allclose(
        model.score(X_test, y_test), model.estimator_.score(X_test, y_test), atol=0.05
    )


@pytest.mark.parametrize(
    ("model", "Y", "message"),
    [
        (ConformalCalibration(3), None, "`estimator` must be an estimator with `given`"),
        (
            ConformalCalibration(joint(), share=1.0),
            None,
            "`share` must be a number between",
        ),
        (
            ConformalCalibration(joint()),
            np.ones((50, 2)),
            "`Y` must be one column of numbers. Got 2 columns",
        ),
        (
            ConformalCalibration(joint()),
            ["a", "b"] * 25,
            "`Y` must be one column of numbers. Got categories",
        ),
        (
            ConformalCalibration(joint()),
            np.ones(49),
            r"`Y` must be as long as `X` \(50 rows\)",
        ),
    ],
)
def test_messages(model, Y, message):
    X, y = data(50)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y if Y is None else Y)


def test_intervals_have_a_level():
    X, y = data(60)
    dist = ConformalCalibration(joint(), random_state=0).fit(X, y).given(X[:2])
    with pytest.raises(ValueError, match=r"Conditional.interval: `level` must be a number"):
        dist.interval(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_a_fit_that_fails_leaves_the_model_as_it_was(seed):
    """A category that occurs only among the rows that are held back is refused, if asked."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 1)), rng.normal(size=80)
    model = ConformalCalibration(joint(), random_state=0).fit(X, y)
    before, answer = model.estimator_, model.predict(X[:3])
    held = ConformalCalibration(joint(), random_state=seed)
    held = held._split(
        Sample.paired(
            as_rows(X, where="", name="X"),
            as_rows(y, where="", name="Y", vector=True),
            None,
        ),
        np.random.default_rng(seed),
    )[1]
    labels = np.where(np.arange(80) == held[0], "rare", "usual")[:, None]
    with pytest.raises(ValueError, match="rare"):
        model.set_params(random_state=seed, estimator__unknown="error").fit(labels, y)
    assert model.estimator_ is before
    assert_array_equal(model.predict(X[:3]), answer)


class Unspoken(jd.JointDistribution):
    """An estimator whose `verbose` is no number."""

    def fit(self, X, Y, **how):
        super().fit(X, Y, **how)
        self.verbose = None
        return self


def test_any_value_of_verbose_will_do():
    X, y = data(60)
    model = ConformalCalibration(Unspoken(random_state=0), random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X[:2])).all()


def test_blocks_of_rows_that_are_held_back_do_not_matter(monkeypatch):
    X, y = data(80)
    whole = ConformalCalibration(joint(), random_state=0).fit(X, y)
    monkeypatch.setattr("jointdist.models.conformal._BLOCK", 3)
    parts = ConformalCalibration(joint(), random_state=0).fit(X, y)
    assert_allclose(whole.predict(X), parts.predict(X), rtol=1e-9)
