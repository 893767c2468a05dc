"""Joint distributions by maximum likelihood: theorems, Bayes' rule, edge cases."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

import jointdist as jd
from jointdist.kernels import Delta, Gaussian, Matern, Polynomial
from jointdist.likelihood.settings import SETTINGS

GIVEN = {"regularization": 1e-3, "random_state": 0, "verbose": 0}
KERNEL = Gaussian(1.0)


def model(kernel_x=KERNEL, kernel_y="auto", **options):
    """Return an estimator that has nothing to select."""
    options = {"positivity": "exponential", **GIVEN, **options}
    return jd.JointDistribution(kernel_x, kernel_y, **options)


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * (1 + X[:, 1] ** 2) * rng.normal(size=n)


def outcomes(name, n=300):
    """Return rows, outcomes of some kind, and weights."""
    X, y = sample(n)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, size=n).astype(float) if name == "weighted" else None
    if name == "isolated":
        X[:3] = [[40.0, 0.0], [0.0, 60.0], [-80.0, 10.0]]
    kinds = {
        "labels": lambda: np.where(y > 0.5, "high", np.where(y < -0.5, "low", "amid")),
        "counts": lambda: np.round(y),
        "ties": lambda: np.round(y, 1),
        "inflated": lambda: np.where(y < 0, 0.0, y),
        "heavy": lambda: y / np.abs(rng.normal(size=n)) ** 2,
    }
    return X, kinds.get(name, lambda: y)(), weights


KINDS = ["numbers", "labels", "counts", "ties", "inflated", "heavy", "weighted", "isolated"]


@pytest.mark.parametrize("kind", KINDS)
def test_both_marginals_are_those_of_the_sample(kind):
    X, y, w = outcomes(kind)
    found = model().fit(X, y, w)
    share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
    weights = found.given(X).weights()  # of support points, which are the rows
    assert weights.min() >= 0
    assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert_allclose(share @ weights, share, atol=1e-10)
    values = np.unique(y)[:40]
    back = found.given(y=values).weights()
    assert_allclose(back.sum(axis=1), 1, atol=1e-9)
    shares = np.array([share[y == value].sum() for value in values])
    if kind in {"labels", "counts"}:
        assert_allclose(shares @ back, share, atol=1e-10)
    assert_allclose(found.marginal("x").weights()[0], share, atol=1e-12)
    assert_allclose(found.marginal("y").weights()[0], share, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_x_given_y_is_the_rule_of_bayes(kind):
    X, y, w = outcomes(kind)
    found = model().fit(X, y, w)
    share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
    rows = np.flatnonzero(share)[:4]
    likelihood = found.given(X).weights()[:, rows] / share[rows]  # p(y | x) over p(y)
    posterior = share[:, None] * likelihood
    posterior /= posterior.sum(axis=0)
    dists = found.given(y=y[rows])
    assert dists.negative_share().max() == 0
    assert_allclose(dists.weights(), posterior.T, atol=1e-12)
    assert_allclose(dists.mean(), posterior.T @ X, atol=1e-10)
    second = np.einsum("nq,ni,nj->qij", posterior, X, X)
    mean = posterior.T @ X
    assert_allclose(dists.cov(), second - mean[:, :, None] * mean[:, None, :], atol=1e-8)
    for column, q in ((0, 0.2), (1, 0.9)):
        order = np.argsort(X[:, column])
        upto = np.cumsum(posterior[order], axis=0)
        place = (upto < q - 1e-12).sum(axis=0)
        assert_allclose(dists.quantile(q)[..., column].ravel(), X[order, column][place])
    ratios = found.ratio(X[:5], y[rows], grid=True)
    assert_allclose(ratios, likelihood[:5], rtol=1e-9)


def test_linear_features_and_labels_are_multinomial_logistic_regression():
    rng = np.random.default_rng(0)
    n, ridge = 300, 0.02
    X = rng.normal(size=(n, 3))
    y = (X @ rng.normal(size=(3, 4)) + rng.gumbel(size=(n, 4))).argmax(axis=1)
    labels = np.array(["a", "b", "c", "d"])[y]
    found = model(Polynomial(1), Delta(), regularization=ridge).fit(X, labels)
    oracle = LogisticRegression(C=1 / (n * ridge), tol=1e-10, max_iter=10_000).fit(
        X, labels
    )
    dist = found.given(X)
    ours = np.stack([dist.prob(lambda v, k=k: v == k) for k in "abcd"], axis=1)
    assert_allclose(ours, oracle.predict_proba(X), atol=2e-4)


def test_two_labels_are_kernel_logistic_regression_with_an_intercept():
    X, y = sample(200)
    labels = y > 0
    ridge = 0.01
    ours = jd.JointClassifier(KERNEL, positivity="exponential", **GIVEN)
    ours.set_params(regularization=ridge).fit(X, labels)
    # Scores of +f/2 and -f/2 have the squared norm |f|^2 / 2, and losses are summed there.
    klr = jd.KernelLogisticRegression(KERNEL, **GIVEN | {"regularization": 200 * ridge / 4})
    klr.fit(X, labels)
    assert_allclose(ours.predict_proba(X), klr.predict_proba(X), atol=5e-4)


def test_out_of_distribution_is_the_marginal():
    X, y = sample()
    found = model().fit(X, y)
    with pytest.warns(jd.OutOfDistributionWarning):
        dist = found.given([[1e3, 0.0], [1e300, -1e300]])
    assert_allclose(dist.mean(), y.mean(), atol=1e-12)
    assert_allclose(dist.std(), y.std(), atol=1e-9)
    assert_allclose(dist.quantile([0.1, 0.9])[0], np.quantile(y, [0.1, 0.9]), atol=0.05)
    assert_allclose(found.given(y=[1e6]).mean()[0], X.mean(axis=0), atol=1e-9)


@pytest.mark.filterwarnings("ignore:JointDistribution")
@pytest.mark.parametrize("ridge", [1e-2, 1e-8])
def test_between_the_sample_and_far_away_the_marginal_takes_over(ridge):
    X, y = sample()
    found = model(regularization=ridge).fit(X, y)
    x = np.column_stack([np.linspace(0, 9, 60), np.zeros(60)])
    dist = found.given(x)
    away = np.abs(dist.weights() - 1 / len(y)).sum(axis=1) / 2  # total variation
    limit = found._fitted.seen.limit
    assert (away <= (1 - dist.novelty()) / (1 - limit) + 1e-9).all()
    assert away[0] > 0.1
    assert away[-1] < 1e-3
    outside = dist.novelty() > 0.9
    assert (dist.std()[outside] > 0.8 * y.std()).all()


@pytest.mark.parametrize("unit", [1e-30, 1e-3, 1e6, 1e40])
def test_units_do_not_matter(unit):
    X, y = sample(150)
    plain, scaled = model().fit(X, y), model(Gaussian(unit)).fit(unit * X, unit * y)
    ours = scaled.given(unit * X).quantile([0.1, 0.5]) / unit
    assert_allclose(ours, plain.given(X).quantile([0.1, 0.5]), rtol=1e-6, atol=1e-9)
    assert_allclose(scaled.predict(unit * X) / unit, plain.predict(X), rtol=1e-6, atol=1e-6)


def test_weights_count_repetitions():
    X, y = sample(120)
    times = np.random.default_rng(0).integers(0, 3, size=120)
    weighted = model().fit(X, y, times.astype(float))
    repeated = model().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-5)
    assert_allclose(weighted.given(X).std(), repeated.given(X).std(), atol=1e-5)


@pytest.mark.filterwarnings("ignore:JointDistribution")
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows(rows):
    X, y = sample(rows)
    found = model().fit(X, y)
    assert_allclose(found.given(X).weights().mean(axis=0), 1 / rows, atol=1e-10)
    assert np.isfinite(found.predict(X)).all()


def test_constants_say_nothing():
    X, y = sample(80)
    same = model().fit(X, np.full(80, 3.0))
    assert_array_equal(same.given(X[:2]).interval(0.9), np.full((2, 2), 3.0))
    flat = model().fit(np.ones((80, 1)), y)
    assert_allclose(flat.predict([[1.0], [1.0]]), y.mean(), atol=1e-12)


def test_separable_labels_are_finite_and_sure():
    x = np.linspace(-2, 2, 60)
    found = model(regularization=1e-8).fit(x[:, None], np.where(x > 0, "b", "a"))
    sure = found.given([[-1.5], [1.5]]).prob(lambda y: y == "b")
    assert sure[0] < 0.01
    assert sure[1] > 0.99
    assert np.isfinite(found.coefficients_).all()


def test_answers_do_not_depend_on_threads_and_blocks():
    X, y = sample()
    first = model().fit(X, y)
    other = model(executor=jd.Executor(workers=1, block_rows=37)).fit(X, y)
    assert_allclose(other.predict(X), first.predict(X), atol=1e-7)


def test_events_and_missing_entries_are_mixtures():
    X, y = sample()
    found = model().fit(X, y)
    inside = X[:, 0] > 0
    mean = found.given(X[inside]).weights().mean(axis=0)
    dist = found.given(where=lambda x: x[:, 0] > 0)
    assert_allclose(dist.weights()[0], mean, atol=1e-12)
    assert_allclose(dist.mean(), mean @ y, atol=1e-10)
    assert dist.negative_share()[0] == 0
    one = found.given([[np.nan, 0.5]])
    assert abs(one.mean()[0]) < 0.5
    moved = found.reweighted(X[inside])
    assert_allclose(moved.marginal("y").mean(), mean @ y, atol=1e-10)


def test_dependence_is_that_of_the_distributions():
    X, y = sample(150)
    found = model().fit(X, y)
    ratio = found.given(X).weights() * 150
    told = found.dependence(permutations=19)
    assert_allclose(told.chi2, np.mean((ratio - 1) ** 2), rtol=1e-9)
    assert_allclose(told.mutual_information, np.mean(ratio * np.log(ratio)), rtol=1e-9)
    assert told.p_value == 0.05


def test_files_and_pickles_answer_alike(tmp_path):
    X, y = sample()
    found = model(Matern(1.5, 1.5)).fit(X, y)
    found.save(tmp_path / "model.jd")
    for other in (jd.load(tmp_path / "model.jd"), pickle.loads(pickle.dumps(found))):  # noqa: S301
        assert_array_equal(other.predict(X), found.predict(X))
        assert_array_equal(other.given(y=y[:3]).mean(), found.given(y=y[:3]).mean())
        assert_array_equal(other.solution_.intercept, found.solution_.intercept)
        refused = pytest.raises(ValueError, match="positivity")
        with refused:
            other.partial_fit(X, y)
        again = other.refit(positivity="projected")
        assert_allclose(again.predict(X), found.refit(positivity="projected").predict(X))


@pytest.mark.parametrize("kind", ["numbers", "labels", "counts", "weighted"])
def test_rows_that_are_not_kept(kind, tmp_path):
    X, y, w = outcomes(kind, 3000)
    whole, small = model().fit(X, y, w), model(support_size=500).fit(X, y, w)
    assert_allclose(small.coefficients_, whole.coefficients_, atol=1e-6)
    share = np.full(len(X), 1 / len(X)) if w is None else w / w.sum()
    dist = small.given(X)
    marginal = small.marginal("y")
    assert_allclose(share @ dist.weights(), marginal.weights()[0], atol=1e-9)
    if kind != "labels":
        assert_allclose(dist.mean(), whole.given(X).mean(), atol=0.02)
        assert_allclose(marginal.mean(), share @ y, rtol=1e-9)
    levels = np.quantile(y, [0.1, 0.5, 0.8]) if kind != "labels" else []
    for level in levels:
        off = (
            small.given(X[:50]).cdf([level])[:, 0] - whole.given(X[:50]).cdf([level])[:, 0]
        )
        assert np.abs(off).max() <= small.support_error_ + 1e-4  # and the trust in x
    assert small.support_error_ < 0.1
    assert 0 <= small.support_error_x_ < 1
    back, others = small.given(y=y[:5]), whole.given(y=y[:5])
    assert_allclose(back.mean(), others.mean(), atol=0.1)
    small.save(tmp_path / "small.jd")
    assert (tmp_path / "small.jd").stat().st_size < 3e6
    assert_array_equal(jd.load(tmp_path / "small.jd").predict(X[:9]), small.predict(X[:9]))
    with pytest.raises(ValueError, match=r"refit: `positivity` must be .* call `fit`"):
        small.refit(regularization=0.1)
    small.refit(positivity="projected")


def test_refits_go_both_ways():
    X, y = sample()
    found = model().fit(X, y)
    projected = model(positivity="projected").fit(X, y)
    assert_allclose(
        found.refit(positivity="projected").predict(X), projected.predict(X), atol=1e-9
    )
    again = model(positivity="projected", kernel_y="auto").fit(X, y)
    back = again.refit(positivity="exponential")
    assert_allclose(back.predict(X), found.predict(X), atol=1e-9)
    flat = found.refit(regularization=1e3)
    assert np.ptp(flat.predict(X)) < 0.05
    assert flat.regularization_ == 1e3


@pytest.mark.parametrize("method", ["partial_fit", "forget", "merge"])
def test_what_is_no_sum_is_refused_with_the_remedy(method):
    X, y = sample(60)
    found = model().fit(X, y)
    before = found.predict(X)
    arguments = (found,) if method == "merge" else (X[:5], y[:5])
    match = rf"JointDistribution.{method}: .*refit\(positivity=\"projected\"\)"
    with pytest.raises(ValueError, match=match):
        getattr(found, method)(*arguments)
    assert_array_equal(found.predict(X), before)
    with pytest.raises(ValueError, match="partial_fit"):
        model().partial_fit(X, y)


def test_other_rows_with_the_same_kernels():
    X, y = sample()
    found = model().fit(X, y)
    like = found.fit_like(X[:150], y[:150])
    assert like.given(X[:2]).weights().shape == (2, 150)
    assert_allclose(like.given(X[:150]).weights().mean(axis=0), 1 / 150, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"regularization": 0.0}, "`regularization` must be a positive number"),
        ({"regularization": "loo"}, "`regularization` must be a positive number"),
        (
            {"regularization": 1e39},
            "`regularization` must be a positive number up to 1e.30",
        ),
        (
            {
                "regularization": "auto",
                "selection": jd.Selection(regularizations=[0.0, 0.1]),
            },
            "JointDistribution: `regularizations` must be positive for .* Got 0.0",
        ),
        ({"regularization": np.ones(3)}, "`regularization` must be a positive number"),
        ({"marginals": "free"}, '`marginals` must be "exact" for positivity'),
    ],
)
def test_bad_arguments_are_named(options, match):
    X, y = sample(30)
    with pytest.raises(ValueError, match=match):
        model(**options).fit(X, y)


def test_many_rows_without_weight_are_as_good_as_none():
    X, y = sample(2500)
    w = np.zeros(2500)
    w[:100] = 1
    found = model(regularization="auto").fit(X, y, w)
    assert_allclose(found.given(X[:100]).weights()[:, :100].mean(axis=0), 0.01, atol=1e-9)


def test_a_refit_of_rows_that_depend_on_each_other_keeps_the_ridge():
    rng = np.random.default_rng(0)
    group = np.arange(2200) // 20
    X = np.column_stack([rng.normal(size=2200), group / 110])
    y = X[:, 0] + rng.normal(size=110)[group] + 0.1 * rng.normal(size=2200)
    found = model(regularization="auto", max_rank=60).fit(X, y, groups=group)
    assert found.refit().regularization_ == found.regularization_


@pytest.mark.filterwarnings("ignore:JointDistribution")  # that is told
def test_units_of_a_kernel_that_is_not_bounded():
    X, y = sample(200)
    scores = []
    for unit in (1.0, 1e5):
        found = model(KERNEL, Polynomial(2), regularization=1e-6).fit(X, unit * y)
        assert len(found.coefficients_) == 2
        scores.append(found.score(X, unit * y))
    assert scores[1] > 0.4


def test_a_criterion_that_is_never_a_number_is_refused():
    X, y = sample(60)
    how = jd.Selection(lambda dist, out: np.nan)  # noqa: ARG005
    with pytest.raises(ValueError, match="`criterion` must be a number"):
        model(regularization="auto", selection=how).fit(X, y)


def test_one_row_with_all_weight_and_heavy_tails_leak_no_warning():
    X, y = sample(100)
    w = np.ones(100)
    w[5] = 1e150
    assert np.isfinite(model().fit(X, y, w).predict(X)).all()
    heavy = np.random.default_rng(0).standard_cauchy(size=100)
    assert np.isfinite(model().fit(X, heavy).predict(X)).all()


def test_the_tolerance_of_the_moments_does_not_decide_answers():
    """Rows in the tail are near landmarks of the log-ratio, if not near those of the moments."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.standard_t(2, size=800))[:, None]
    y = x[:, 0] + 0.3 * rng.normal(size=800)
    coarse, fine = (model(Gaussian(1.0), tol=tol).fit(x, y) for tol in (1e-2, 1e-4))
    assert coarse.basis_x_.rank < fine.basis_x_.rank
    assert_array_equal(coarse.coefficients_, fine.coefficients_)
    for question in (x, np.linspace(-12, 12, 40)[:, None]):
        assert_allclose(
            coarse.given(question).novelty(), fine.given(question).novelty(), atol=1e-9
        )
        assert_allclose(coarse.predict(question), fine.predict(question), atol=1e-9)
    known = coarse.given(x[[0, -1]])  # the outermost rows of the sample
    assert known.novelty().max() < 0.05
    assert_allclose(np.sign(known.mean()), [-1, 1])
    assert np.ptp(known.mean()) > np.ptp(y) / 2


def test_a_selected_ridge_is_stopped_at_and_a_given_one_is_solved_for():
    X, y, _ = outcomes("numbers", 150)
    chosen = jd.JointDistribution(positivity="exponential", random_state=0).fit(X, y)
    found = chosen.solution_
    assert found.status.name == ("OPTIMAL" if found.certificate.gap <= 1e-3 else "STOPPED")
    solved = chosen.refit(regularization=chosen.regularization_).solution_
    assert solved.status.name == "OPTIMAL"
    assert solved.missing <= 1e-3
    assert solved.objective <= found.objective + 1e-9
    assert "missing=" in repr(solved)


def test_what_is_missing_is_told_where_it_has_not_converged(monkeypatch):
    few = replace(SETTINGS, most_evaluations=4)
    monkeypatch.setattr("jointdist.models.log_linear_fit.SETTINGS", few)
    X, y, _ = outcomes("numbers", 150)
    with pytest.warns(
        jd.ToleranceWarning, match=r"after 5 evaluations.*about \d.*% of the gain"
    ):
        found = model(regularization=1e-6).fit(X, y)
    assert found.solution_.status.name == "INEXACT"


def test_a_refit_to_the_likelihood_selects_what_it_needs():
    X, y, _ = outcomes("numbers", 200)
    closed = jd.JointDistribution(random_state=0, verbose=0).fit(X, y)
    found = closed.refit(positivity="exponential")
    own = jd.JointDistribution(
        closed.kernel_x_, positivity="exponential", random_state=0, verbose=0
    ).fit(X, y)
    assert found.kernel_x_ == closed.kernel_x_
    assert found.regularization_ == own.regularization_ != closed.regularization_
    assert found.selection_.chosen.located == own.selection_.chosen.located
    assert_allclose(found.predict(X), own.predict(X), atol=1e-6)
    assert closed.refit(positivity="exponential", regularization=0.1).selection_ is None
    loo = jd.JointDistribution(regularization="loo", random_state=0, verbose=0).fit(X, y)
    match = r"refit: `regularization` must be a positive number up to 1e.30 for .*Got 'loo'"
    with pytest.raises(ValueError, match=match):
        loo.refit(positivity="exponential")


def test_models_are_updated_as_sums_and_turned_back():
    X, y, _ = outcomes("numbers", 200)
    found = model().fit(X[:150], y[:150])
    sums = found.refit(positivity="projected").partial_fit(X[150:], y[150:])
    again = sums.refit(positivity="exponential")
    assert again.moments_.count == 200
    assert_allclose(again.predict(X), found.fit_like(X, y).predict(X), atol=1e-6)


def test_no_number_is_impossible():
    """Beyond it would be told apart from the truth by no sample of that size."""
    x = np.linspace(0, 1, 200)[:, None]
    y = 20 * x[:, 0]
    found = model(Gaussian(0.1), regularization=1e-8).fit(x, y)
    weights = found.given(x).weights()
    assert weights.min() >= 0.99 / 200**3
    assert weights.min() < 1e-6
    assert jd.scores.log_score(found.given([[0.1]]), [19.0])[0] < 20


@pytest.mark.parametrize("positivity", ["exponential", "projected"])
def test_weights_too_small_to_multiply_with_are_none(positivity):
    X, y, _ = outcomes("numbers", 120)
    none, tiny = np.ones(120), np.ones(120)
    none[3], tiny[3] = 0.0, 1e-320
    answers = [
        jd.JointDistribution(positivity=positivity, random_state=0, verbose=0)
        .fit(X, y, weights)
        .predict(X)
        for weights in (none, tiny)
    ]
    assert_array_equal(*answers)


def test_landmarks_nearby_keep_no_larger_array(monkeypatch):
    most = 100
    monkeypatch.setattr(
        "jointdist.models.log_linear_fit.SETTINGS", replace(SETTINGS, nearby=most)
    )
    X, y, _ = outcomes("numbers", 700)  # up to 512 rows are factored to rounding
    found = model(Matern(0.1, 0.5), tol=0.95).fit(X, y)._fitted
    near, m = found.nearby, len(found.log_ratio.landmarks)
    assert m > near.rank == most > found.problem.x.rank
    for array in (near.core, near.landmarks):
        whole = array if array.base is None else array.base
        assert whole.nbytes <= 8 * most * max(most, m)
    assert 8 * most * max(most, m) < 8 * m * m  # so that a view would be seen
