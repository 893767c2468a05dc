"""Kernels and ridges, chosen on rows held out: against fits from the start."""

import io
from dataclasses import replace
from functools import cache, partial, wraps

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rich.console import Console
from sklearn.base import clone

import jointdist as jd
from jointdist import scores
from jointdist.data.executor import Executor, progress
from jointdist.data.sample import Sample, canonical_order, held_out
from jointdist.data.table import as_rows
from jointdist.kernels import Delta, Gaussian, Polynomial
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.reduction import Factoring, Reduction, moments
from jointdist.models._arguments import PairedData
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.kernel_search import KernelSearch, _Candidates
from jointdist.selection.length_scales import descend
from jointdist.selection.risk import Outcomes, Trial, ratio_risk


def signed(make):
    """Return a class whose distributions are signed by default: projections select nothing."""

    @wraps(make, updated=())
    def made(*args, **options):
        return make(*args, **{"positivity": "none"} | options)

    return made


JD, CME, JPDL = (
    signed(make)
    for make in (
        jd.JointDistribution,
        jd.ConditionalMeanEmbedding,
        jd.PolynomialJointDistribution,
    )
)
QUICK = jd.Selection(regularizations=[1e-4, 1e-2, 1.0])
ONCE = jd.Selection(cv=0.2)  # one part held out, where the number of parts is not the point


def data_of(model):
    """Return the rows of a fitted model as those of a fit."""
    kept, seed = model._fitted.kept, model._seed
    rng = np.random.default_rng(seed)
    return PairedData(kept.rows, kept.encodings, model._columns, rng, seed)


def data(n=120, d=2, seed=0, noise=0.4):
    """Return rows of which the first column matters."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)


def silent(_share, _words):
    """Take no notice of progress."""


def validation_of(model, X, Y, weights=None, how=QUICK):
    """Return the folds of rows, as a model would have them."""
    rows = [
        as_rows(Z, where="fit", name=name, vector=True) for Z, name in ((X, "X"), (Y, "Y"))
    ]
    sample = Sample.paired(*rows, weights)
    return CrossValidation("model", how, sample, model._seed, silent)


def explore(model, validation, fit_without, ridge, *, centred):
    """Score the kernels that a model was given."""
    search = KernelSearch(
        "model",
        (model.kernel_x, model.kernel_y),
        ridge,
        validation.how,
        Factoring(1e-3, None, "auto", 0),
        fit_without,
        lambda x, y: x * y,
        centred=centred,
    )
    families = (
        Family(encoding, (), kernel)
        for encoding, kernel in zip(model._encodings, search.kernels, strict=True)
    )
    _Candidates(search, validation).explore(*families)


class TestFolds:
    """Who is held out."""

    @pytest.mark.parametrize(
        ("n", "cv", "parts"), [(20, 5, 5), (7, 5, 5), (3, 5, 3), (2, 9, 2)]
    )
    def test_each_row_is_held_out_once(self, n, cv, parts):
        found = held_out(n, cv, 0)
        assert len(found) == parts
        assert_array_equal(np.sort(np.concatenate(found)), np.arange(n))
        assert max(map(len, found)) - min(map(len, found)) <= 1

    @pytest.mark.parametrize(
        ("n", "share", "count"), [(50, 0.2, 10), (3, 0.01, 1), (2, 0.9, 1)]
    )
    def test_a_share(self, n, share, count):
        (found,) = held_out(n, share, 0)
        assert len(set(found.tolist())) == count

    def test_the_seed_decides(self):
        same, other = held_out(50, 0.2, 1)[0], held_out(50, 0.2, 2)[0]
        assert_array_equal(same, held_out(50, 0.2, 1)[0])
        assert set(same) != set(other)

    @pytest.mark.parametrize("kind", ["numbers", "few values"])
    def test_neither_order_nor_spelling_matter(self, kind):
        """Copies are one row; in tables of a few values each row is one of its own."""
        rng, copied = np.random.default_rng(0), kind == "numbers"
        X = rng.normal(size=(30, 2)) if copied else rng.integers(0, 3, size=(30, 2)) + 0.0
        y = rng.normal(size=30) if copied else rng.integers(0, 2, 30) + 0.0
        w = rng.integers(1, 4, 30).astype(float)
        often = np.repeat(np.arange(30), w.astype(int))
        often = rng.permutation(often)

        def rows(Z, name):
            return as_rows(Z, where="fit", name=name, vector=True)

        weighted = Sample.paired(rows(X, "X"), rows(y, "Y"), w)
        repeated = Sample.paired(rows(X[often], "X"), rows(y[often], "Y"), None)
        a, b = (canonical_order(own, 1000).of(own) for own in (weighted, repeated))
        assert_array_equal(a.x.read(0, a.n), b.x.read(0, b.n))
        assert_array_equal(a.y.read(0, a.n), b.y.read(0, b.n))
        assert a.n == (30 if copied else w.sum())
        if copied:
            assert_array_equal(a.weights, b.weights)
        else:
            assert a.weights is None
            assert b.weights is None

    def test_what_copies_are(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
        few = rng.integers(0, 8, 100).astype(float)

        def copied(x, outcome, rows, *, categorical=False):
            tables = (x[rows], "X"), (outcome[rows], "Y")
            pair = [as_rows(z, where="fit", name=n, vector=True) for z, n in tables]
            return Sample.paired(*pair, None, categorical=categorical).duplicates.copied

        once = np.arange(100)
        some = np.append(once, once[:20])
        drawn = rng.integers(0, 100, 2000)
        assert copied(X, y, some)
        assert copied(X, few, np.tile(once, 2))  # labels of numbers
        assert copied(X.round(1), y, np.tile(once, 3))
        assert copied(few, y, some)  # numbers for groups
        assert not copied(few, few % 3, once)
        assert not copied(few, 1.7 * few, rng.permutation(once))  # a function of few values
        assert not copied(X[:, 0], y, drawn)  # rows that come again and again
        assert not copied(few, y, np.tile(once, 2), categorical=True)

    @pytest.mark.parametrize("make", [JD, CME, JPDL])
    def test_a_row_that_counts_more_is_not_fitted_while_it_is_held_out(self, make):
        X, y = data(150)
        new, outcome = data(1000, seed=1)
        model = make(selection=jd.Selection(cv=2, scales="common"), random_state=0)
        plain = model.fit(X, y).score(new, outcome)
        for weight in (2.0, 1e-6, 1e6):
            found = model.fit(X, y, np.full(150, weight)).score(new, outcome)
            assert_allclose(found, plain, atol=0.03)
        twice = model.fit(np.r_[X, X], np.r_[y, y]).score(new, outcome)
        assert_allclose(twice, plain, atol=0.03)

    def test_tables_of_few_values_are_observations(self):
        rng = np.random.default_rng(0)
        X = np.array(["a", "b", "c"])[rng.integers(0, 3, size=(400, 1))]
        y = np.where(rng.random(400) < (X[:, 0] == "b") * 0.8 + 0.1, "yes", "no")
        model = JD(random_state=0).fit(X, y)
        assert_allclose(model.given(x=[["b"]]).prob(lambda y: y == "yes"), 0.9, atol=0.07)

    def test_few_rows_are_parted_several_times(self):
        parts = {
            n: JD(Gaussian(), Gaussian(), random_state=0).fit(*data(n)).selection_.folds
            for n in (100, 250, 700)
        }
        assert parts == {100: 10, 250: 5, 700: 5}


class TestSubtraction:
    """K-fold by subtraction is K fits."""

    @pytest.mark.parametrize("marginals", ["exact", "total", "free"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_coefficients_of_refits(self, marginals, weighted):
        X, y = data(150)
        w = np.random.default_rng(1).uniform(0.1, 2.0, 150) if weighted else None
        kernels = Gaussian(1.5), Gaussian(0.5)
        model = JD(*kernels, regularization=1e-3, marginals=marginals, random_state=0)
        model.fit(X, y, w)
        validation = validation_of(model, X, y, w)
        seen = []

        def fit_without(validation, x, y, part):
            made = model._fit_without(data_of(model), validation, x, y, part)
            rows = validation.train(part)
            sums = moments(x.low.map, y.low.map, rows.x, rows.y, sample_weight=rows.weights)
            kept = replace(model._fitted.kept, rows=rows)
            small = Reduction(x.low, y.low, sums).small
            fresh = clone(model)._learn(kept, model._fit, small)._fitted
            H = made.solve(fresh.ridge)
            assert_allclose(np.abs(H), np.abs(fresh.H), atol=1e-7)  # up to signs
            held = validation.held(part)
            ratio = fresh.ratio_on_grid(held.x, held.y)
            assert_allclose(1 + made.psi @ H.T @ made.outcomes.psi.T, ratio, atol=1e-8)
            seen.append(part)
            return made

        explore(model, validation, fit_without, 1e-3, centred=marginals == "exact")
        assert sorted(seen) == list(range(len(seen)))
        assert len(seen) == validation.folds == 10

    @pytest.mark.parametrize("marginals", ["exact", "free"])
    @pytest.mark.parametrize("words", [False, True])
    def test_scores_of_refits(self, marginals, words):
        """From the outside: the public estimator, fitted to the other rows."""
        X, y = data(100)
        if words:
            y = np.where(y > 0.5, "high", np.where(y > -0.5, "middle", "low"))
        how = jd.Selection(cv=4, regularizations=[1e-4, 1e-2])
        kernels = Gaussian(1.0), Delta() if words else Gaussian(0.5)
        model = JD(*kernels, marginals=marginals, selection=how, random_state=0).fit(X, y)
        chosen = model.selection_.chosen  # by signed laws
        order = np.lexsort(np.c_[X, np.unique(y, return_inverse=True)[1]].T[::-1])
        parts = [part for i in range(2) for part in held_out(100, 4, model._seed + i)]
        assert model.selection_.folds == len(parts) == 8
        found = np.zeros((8, 2))
        for i, part in enumerate(parts):
            held, rest = order[part], np.delete(order, part)
            for j, ridge in enumerate(chosen.regularizations):
                other = JD(*kernels, marginals=marginals, regularization=ridge * 100 / 75)
                other = other.set_params(positivity="none").fit(X[rest], y[rest])
                dist = other.given(x=X[held])
                found[i, j] = scores.energy_score(dist, y[held]).mean()
        assert_allclose(chosen.scores, found.mean(axis=0), rtol=1e-7)
        assert_allclose(chosen.errors, found.std(axis=0, ddof=1) / 8**0.5, rtol=1e-5)
        assert model.regularization_ == chosen.regularizations[model.selection_.ridge]

    def test_scores_of_refitted_embeddings(self):
        X, y = data(100)
        how = jd.Selection(cv=0.25, regularizations=[1e-3, 1e-1])
        kernels = Gaussian(1.0), Gaussian(0.5)
        model = CME(*kernels, positivity="none", selection=how, random_state=0).fit(X, y)
        chosen = model.selection_.chosen
        order, found = np.lexsort(np.c_[X, y].T[::-1]), np.zeros((1, 2))
        X, y = X[order], y[order]
        # landmarks are those of all rows
        sides = (kernels[0], X), (kernels[1], y[:, None])
        low = [jd.pivoted_cholesky(k, Z, tol=0.0, pivoting="greedy") for k, Z in sides]
        for i, held in enumerate(held_out(100, 0.25, model._seed)):
            rest = np.delete(np.arange(100), held)
            sums = moments(low[0].map, low[1].map, X[rest], y[rest])
            rows = [as_rows(Z, where="", name="", vector=True) for Z in (X[rest], y[rest])]
            for j, ridge in enumerate(chosen.regularizations):
                other = clone(model).set_params(regularization=ridge * 100 / 75)
                kept = replace(model._fitted.kept, rows=Sample(*rows, None))
                small = Reduction(*low, sums).small
                other._learn(kept, model._fit, small, few=True)
                dist = other.given(X[held])
                # what the mass falls short of one is at zero
                w, atoms = dist.weights(), np.append(dist.support_points(), 0.0)
                w = np.column_stack([w, 1 - w.sum(axis=1)])
                apart = np.abs(atoms[:, None] - atoms)
                reach = np.sum(w * np.abs(atoms - y[held, None]), axis=1)
                found[i, j] = np.mean(reach - np.einsum("qa,ab,qb->q", w, apart, w) / 2)
        assert_allclose(chosen.scores, found.mean(axis=0), rtol=1e-6)

    def test_embeddings_without_mass_have_no_skill(self):
        """Their means tend to zero, which laws divided by the mass would not tell."""
        X, y = data(200)
        proper = {"positivity": "projected", "selection": ONCE, "random_state": 0}
        model = CME(**proper).fit(X, 10 + y)
        assert_allclose(model.given(X).mass(), 1, atol=0.1)
        assert np.corrcoef(model.predict(X), 10 + y)[0, 1] > 0.7

    def test_scores_of_refitted_polynomials(self):
        X, y = data(100)
        how = jd.Selection(cv=0.25, regularizations=[1e-3, 1e-1])
        model = JPDL(3, selection=how, random_state=0).fit(X, y)
        chosen = model.selection_.chosen
        order, found = np.lexsort(np.c_[X, y].T[::-1]), np.zeros((1, 2))
        for i, part in enumerate(held_out(100, 0.25, model._seed)):
            held, rest = order[part], np.delete(order, part)
            for j, ridge in enumerate(chosen.regularizations):
                other = JPDL(3, regularization=ridge * 100 / 75, positivity="none")
                other.fit(X[rest], y[rest])
                found[i, j] = scores.crps(other.given(x=X[held]), y[held]).mean()
        assert_allclose(chosen.scores, found.mean(axis=0), rtol=1e-8)
        assert chosen.degree == 3


class TestCriteria:
    """What is minimised."""

    @pytest.mark.parametrize("weighted", [False, True])
    def test_ratio_is_the_squared_distance_on_the_grid(self, weighted):
        rng = np.random.default_rng(0)
        x, y, H = (
            rng.normal(size=(40, 3)),
            rng.normal(size=(40, 2)),
            rng.normal(size=(2, 3)),
        )
        w = rng.uniform(0.5, 2, 40) if weighted else None
        share = np.full(40, 1 / 40) if w is None else w / w.sum()
        h = y @ H @ x.T
        grid = np.multiply.outer(share, share)
        truth = np.sum(grid * h**2) - 2 * share @ np.diag(h) + 2 * np.sum(grid * h)
        trial = Trial(lambda _: H, x, Outcomes(None, y, w, y))
        assert_allclose(ratio_risk(trial, H), truth)

    def test_energy_is_that_of_the_laws(self):
        X, y = data(200)
        model = JD(Gaussian(1.0), Gaussian(0.5), selection=QUICK, random_state=0)
        named = model.fit(X, y).selection_.chosen
        validation = validation_of(model, X, y)
        forms = []

        def fit_without(validation, x, y, part):
            made = model._fit_without(data_of(model), validation, x, y, part)
            forms.append(made.outcomes.form)
            return made

        explore(model, validation, fit_without, "auto", centred=True)
        assert forms
        assert all(form is not None for form in forms)
        for criterion in (
            scores.crps,
            scores.energy_score,
            "crps",
            lambda dist, y: float(scores.crps(dist, y).mean()),
        ):
            how = jd.Selection(criterion, regularizations=[1e-4, 1e-2, 1.0])
            found = clone(model).set_params(selection=how).fit(X, y).selection_.chosen
            assert_allclose(found.scores, named.scores, rtol=1e-9)

    def test_no_mass_is_no_score(self):
        X, y = data(60)
        how = jd.Selection(regularizations=[1e-8, 1.0])
        model = JD(Gaussian(1.0), Gaussian(0.5), marginals="free", selection=how)
        found = model.set_params(random_state=0).fit(X, y).selection_.chosen
        assert np.isnan(found.scores[1])
        assert model.selection_.ridge == 0

    def test_the_ratio_asks_for_another_model(self):
        X, y = data(400, noise=0.1)
        by_ratio, by_laws = (
            JD(selection=jd.Selection(name, 2, scales="common"), random_state=0).fit(X, y)
            for name in ("ratio", "energy")
        )
        new, outcome = data(2000, seed=1, noise=0.1)
        crps = [scores.crps(m.given(x=new), outcome).mean() for m in (by_ratio, by_laws)]
        assert crps[1] <= crps[0]
        truth = [ratio_of(m, new, outcome) for m in (by_ratio, by_laws)]
        assert truth[0] <= truth[1]

    def test_outcomes_are_as_users_know_them(self):
        X, y = data(60)
        words = np.where(y > 0, "up", "down")
        seen = []

        def criterion(dist, outcome):
            seen.append(outcome)
            assert len(dist) == len(outcome)
            return scores.energy_score(dist, outcome)

        how = jd.Selection(criterion, cv=0.2, regularizations=[1e-2])
        JD(Gaussian(), "auto", selection=how).fit(X, words)
        assert {word for part in seen for word in part} == {"up", "down"}
        assert set(map(len, seen)) == {12}

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_some_are_no_numbers(self, bad):
        X, y = data(60)

        def criterion(dist, outcome):
            wide = dist.var().mean() > 0.9 * np.var(outcome)
            return bad if wide else float(scores.crps(dist, outcome).mean())

        how = jd.Selection(criterion, regularizations=[1e-4, 1e2])
        model = JD(Gaussian(), Gaussian(0.3), selection=how, random_state=0).fit(X, y)
        assert model.regularization_ == 1e-4
        with pytest.raises(
            ValueError, match="`criterion` must be a number for one candidate"
        ):
            JD(selection=jd.Selection(lambda dist, y: bad)).fit(X, y)  # noqa: ARG005

    @pytest.mark.parametrize("wrong", ["good", np.zeros(3), None])
    def test_other_things_than_numbers(self, wrong):
        X, y = data(60)
        how = jd.Selection(lambda dist, y: wrong)  # noqa: ARG005
        with pytest.raises(
            ValueError, match="`criterion` must be a function that returns a number"
        ):
            JD(selection=how).fit(X, y)

    def test_embeddings_have_no_ratio(self):
        with pytest.raises(ValueError, match="there is no joint distribution"):
            CME(selection=jd.Selection("ratio")).fit(*data(20))


def ratio_of(model, X, y):
    """Return the distance of the ratio to the true one, up to a constant."""
    some = model.ratio(X[:500], y[:500], grid=True) - 1
    return np.mean(some**2) - 2 * np.mean(model.ratio(X, y) - 1) + 2 * np.mean(some)


class TestPaper:
    """Its protocol: a fifth of the rows validates."""

    def test_second_moments(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 2))
        Y = 5 + X + 0.3 * rng.normal(size=(200, 2))
        how = jd.Selection("second_moment_loss", cv=0.2)
        for model in (JD(), JD(marginals="total", positivity="tightened"), CME(), JPDL()):
            model.set_params(selection=how, random_state=0).fit(X, Y)
            assert (model.selection_.folds, model.selection_.rows) == (1, 200)
            assert model.selection_.criterion == "second_moment_loss"
            assert np.isnan(model.selection_.chosen.errors).all()
            loss = scores.second_moment_loss(model.given(X), Y).mean()
            assert loss < 0.3

    def test_logistic_loss(self):
        X, y = data(300)
        low = np.quantile(y, 0.2)
        loss = partial(scores.logistic_loss, event=lambda y: y <= low)
        model = JD(selection=jd.Selection(loss, cv=0.2), random_state=0).fit(X, y)
        order = np.lexsort(np.c_[X, y].T[::-1])
        held = order[held_out(300, 0.2, model._seed)[0]]
        rest = np.setdiff1d(order, held)
        ridge = model.regularization_ * 300 / 240
        other = JD(
            model.kernel_x_, model.kernel_y_, regularization=ridge, positivity="none"
        )
        dist = other.fit(X[rest], y[rest]).given(x=X[held])
        assert_allclose(loss(dist, y[held]).mean(), model.selection_.score, rtol=1e-6)
        share = (y[held] <= low).mean()
        assert model.selection_.score < -share * np.log(share) - (1 - share) * np.log(
            1 - share
        )


class TestEvidence:
    """Which columns matter."""

    def test_a_better_model(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1400, 8))
        y = np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=1400)
        found = [
            JD(selection=jd.Selection(cv=0.2, scales=scales), random_state=0)
            .fit(X[:400], y[:400])
            .score(X[400:], y[400:])
            for scales in ("each", "common")
        ]
        assert found[0] > found[1] + 0.2

    def test_constant_columns_and_words_beside_them(self):
        pd = pytest.importorskip("pandas")
        X, y = data(80)
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": 1.0, "d": ["u", "v"] * 40})
        model = JD(selection=jd.Selection(), random_state=0).fit(frame, y)
        assert {c.scales for c in model.selection_.candidates} == {"common", "each"}
        assert model.score(frame, y) > 0.3


class TestDescent:
    """The way down the lattice."""

    @pytest.mark.parametrize("best", [(0, 0), (-3, 2), (2, -4), (3, 3), (-6, -6)])
    def test_finds_the_bottom_of_a_bowl(self, best):
        seen = []

        def enter(i, j):
            seen.append((i, j))
            return (
                1 + (i - best[0]) ** 2 + (j - best[1]) ** 2 + (i - best[0]) * (j - best[1])
            )

        assert descend(enter, (0, 0), (True, True)) == best
        assert len(seen) == len(set(seen)) < 45

    def test_stays_where_nothing_is_better(self):
        assert descend(lambda i, j: 1.0, (0, 0), (True, True)) == (0, 0)  # noqa: ARG005
        assert descend(lambda i, j: np.inf, (0, 0), (True, True)) == (0, 0)  # noqa: ARG005

    def test_one_kernel_only(self):
        assert descend(lambda i, j: i + j, (0, 0), (False, False)) == (0, 0)
        assert descend(lambda i, j: 9 + i + j, (0, 0), (False, True)) == (0, -6)


FREE = Family(None, (1.0,))


class TestEdges:
    """A sane model, whatever the rows."""

    @pytest.mark.parametrize("make", [JD, CME, JPDL])
    @pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
    def test_few_rows(self, make, n):
        X, y = data(n)
        model = make(random_state=0).fit(X, y)
        assert (model.selection_ is None) == (n == 1)
        dist = model.given(X)
        assert np.isfinite(dist.mean()).all()
        lowest, highest = y.min() - 2 * np.ptp(y) - 1, y.max() + 2 * np.ptp(y) + 1
        assert lowest < dist.mean().min() <= dist.mean().max() < highest

    @pytest.mark.parametrize("make", [JD, CME])
    def test_all_rows_are_equal(self, make):
        model = make(random_state=0).fit(np.ones((20, 2)), np.full(20, 3.0))
        assert model.selection_ is None
        assert_allclose(model.predict(np.ones((1, 2))), 3.0, rtol=0.05)

    @pytest.mark.parametrize("make", [JD, CME, JPDL])
    def test_constant_target(self, make):
        X, _ = data(50)
        model = make(random_state=0).fit(X, np.full(50, 3.0))
        assert_allclose(model.predict(X), 3.0, rtol=0.05)
        assert_allclose(model.given(X).quantile(0.9), 3.0)

    @pytest.mark.parametrize("make", [JD, CME])
    def test_constant_conditions(self, make):
        _, y = data(50)
        model = make(random_state=0).fit(np.ones((50, 2)), y)
        assert_allclose(model.predict(np.ones((1, 2))), y.mean(), atol=0.05)

    def test_pairs_of_duplicates(self):
        X, y = data(40)
        model = JD(random_state=0).fit(np.r_[X, X], np.r_[y, y])
        assert np.isfinite(model.score(X, y))

    def test_noise_is_not_learned(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
        model = JD(random_state=0).fit(X, y)
        assert model.score(rng.normal(size=(2000, 5)), rng.normal(size=2000)) > -0.02


@cache
def fitted_to_arrays_of_numpy(make):
    """Return a model of 150 rows."""
    return make(selection=ONCE, random_state=0).fit(*data(150))


class TestEstimators:
    """What users see."""

    def test_explicit_values_switch_it_off(self):
        X, y = data()
        for model in (
            JD(Gaussian(), Gaussian(), regularization=0.1),
            CME(Gaussian(), Gaussian(), regularization=0.1),
            JPDL(2, regularization=0.1),
        ):
            assert model.fit(X, y).selection_ is None
            assert model.regularization_ == 0.1

    def test_what_is_given_stays(self):
        X, y = data()
        ridge = JD(regularization=0.01, random_state=0).fit(X, y)
        assert ridge.regularization_ == 0.01
        assert {len(c.scores) for c in ridge.selection_.candidates} == {1}
        assert len(ridge.selection_.candidates) > 3
        kernel = JD(Polynomial(2), random_state=0).fit(X, y)
        assert kernel.kernel_x_ == Polynomial(2)
        assert {c.kernel_x for c in kernel.selection_.candidates} == {Polynomial(2)}
        assert len({c.kernel_y for c in kernel.selection_.candidates}) > 1
        degree = JPDL(2, random_state=0).fit(X, y)
        assert degree.degrees_ == (2, 2)
        assert degree.selection_.chosen.degree == 2

    def test_the_best_is_taken(self):
        X, y = data()
        model = JD(random_state=0).fit(X, y)
        found = model.selection_
        best = found.chosen
        best_of = {
            scales: min(c.score for c in found.candidates if c.scales == scales)
            for scales in ("common", "each")
        }
        assert best_of["each"] < 0.98 * best_of["common"]  # one column says nothing
        assert best_of["each"] <= found.score <= 1.025 * best_of["each"]
        ridge = found.regularization
        larger = [c for c in found.candidates if c.regularizations.max() > ridge]
        for other in larger:  # of what is as good within 1 %, the largest ridge
            worse = other.scores[other.regularizations > ridge]
            assert worse.min() > 1.01 * best_of["each"] or other.scales == "common"
        assert (model.kernel_x_, model.kernel_y_) == (best.kernel_x, best.kernel_y)
        assert_allclose(model.regularization_, ridge)

    def test_a_common_scale_is_taken_if_it_is_nearly_as_good(self):
        X, y = data(300, d=2, noise=0.6)
        model = JD(random_state=0).fit(X, y + np.sin(2 * X[:, 1]))
        best_of = {
            scales: min(c.score for c in model.selection_.candidates if c.scales == scales)
            for scales in ("common", "each")
        }
        assert best_of["each"] > 0.98 * best_of["common"]
        assert model.selection_.chosen.scales == "common"

    def test_a_table_of_all_that_was_tried(self):
        X, y = data(60)
        for make, extra in ((JD, "kernel_x"), (JPDL, "degree")):
            found = make(random_state=0).fit(X, y).selection_
            table = found.to_frame()
            assert len(table) == sum(len(c.scores) for c in found.candidates)
            chosen = table[table["chosen"]]
            assert len(chosen) == 1
            assert chosen["score"].item() == found.score
            assert chosen["regularization"].item() == found.regularization
            assert {extra, "rank_x", "seconds", "error"} <= set(table.columns)
            assert 0 < table["seconds"].min() < found.seconds

    def test_many_rows_are_judged_by_some(self):
        X, y = data(3000, d=1)
        few = jd.Selection(rows=300)
        model = JD(selection=few, random_state=0).fit(X, y)
        assert model.selection_.rows == 300
        some = JD(random_state=0, selection=few, executor=Executor(1, 100)).fit(X, y)
        assert some.kernel_x_ == model.kernel_x_
        assert some.regularization_ == model.regularization_
        # as strong as for the rows that took part
        strength = model.regularization_ * 3000 / 0.8 / 300
        assert any(
            np.isclose(strength, 10**power / 240) for power in np.arange(-7, 2.1, 0.5)
        )

    def test_seeds(self):
        X, y = data(300)
        model = JD(positivity="none", selection=ONCE)
        a, b, c = (clone(model).set_params(random_state=s).fit(X, y) for s in (1, 1, 2))
        assert_array_equal(a.predict(X), b.predict(X))
        assert a.selection_.score != c.selection_.score

    def test_rows_that_come_keep_the_strength(self):
        X, y = data(300)
        model = JD(Gaussian(1.0), Gaussian(0.5), random_state=0).fit(X[:200], y[:200])
        before, kernel = model.regularization_, model.kernel_x_
        with_more = model.partial_fit(X[200:], y[200:])
        assert_allclose(with_more.regularization_, before * 200 / 300)
        assert with_more.kernel_x_ is kernel

    @pytest.mark.parametrize("make", [JD, CME, JPDL])
    def test_arrays_of_any_library(self, make, xp):
        X, y = data(150)
        model, truth = make(selection=ONCE, random_state=0), fitted_to_arrays_of_numpy(make)
        found = model.fit(xp.asarray(X), xp.asarray(y))
        assert found.selection_.score == pytest.approx(truth.selection_.score, rel=1e-9)
        assert_allclose(found.predict(xp.asarray(X)), truth.predict(X), atol=1e-8)

    def test_degrees_need_rows(self):
        X, y = data(2000, d=2, noise=0.1)
        assert JPDL(random_state=0).fit(X, y).degrees_ > (2, 2)
        few = JPDL(random_state=0).fit(X[:11], y[:11])
        assert {c.degree for c in few.selection_.candidates} == {1}
        even = JPDL(positivity="sos", random_state=0).fit(X[:300], y[:300])
        assert {c.degree for c in even.selection_.candidates} == {2, 4}

    def test_nested_parameters(self):
        model = JD(selection=jd.Selection(cv=3)).set_params(selection__cv=4)
        assert model.selection == jd.Selection(cv=4)
        assert clone(model).selection == model.selection

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"criterion": "best"}, "`criterion` must be one of"),
            ({"cv": 1}, "`cv` must be a number of folds"),
            ({"cv": 1.5}, "`cv` must be a number of folds"),
            ({"cv": 0.0}, "`cv` must be a number of folds"),
            ({"cv": "five"}, "`cv` must be a number of folds"),
            ({"rows": 1}, "`rows` must be an integer from 2"),
            ({"scales": "all"}, "`scales` must be one of"),
            ({"regularizations": []}, "`regularizations` must be a sequence"),
            ({"regularizations": [-1.0]}, "`regularizations` must be a sequence"),
            ({"regularizations": 0.1}, "`regularizations` must be a sequence"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            jd.Selection(**arguments)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"selection": "ratio"},
                "`selection` must be a Selection, or None. Got 'ratio'",
            ),
            ({"verbose": -1}, "`verbose` must be an integer of at least 0. Got -1"),
            ({"verbose": "no"}, "`verbose` must be an integer of at least 0. Got 'no'"),
        ],
    )
    @pytest.mark.parametrize("make", [JD, CME, JPDL, jd.JointClassifier])
    def test_bad_arguments_of_estimators(self, make, arguments, message):
        X, y = data(20)
        with pytest.raises(ValueError, match=message):
            make(**arguments).fit(X, y > 0 if make is jd.JointClassifier else y)


class TestProgress:
    """A bar, where somebody looks."""

    @staticmethod
    def shown(*, verbose=1, terminal=True, patience=0.0):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=80)
        with progress(
            "working", verbose=verbose, console=console, patience=patience
        ) as tell:
            tell(0.5, "half")
            tell(0.9, "nearly")
        return console.file.getvalue()

    def test_on_a_terminal(self):
        assert "working" in self.shown()
        assert "nearly" in self.shown()

    def test_silence(self):
        assert self.shown(verbose=0) == ""
        assert self.shown(terminal=False) == ""
        assert "working" not in self.shown(patience=60.0)

    def test_nothing_is_left_after_an_error(self):
        console = Console(file=io.StringIO(), force_terminal=True)

        def work():
            with progress("working", verbose=1, console=console, patience=0.0) as tell:
                tell(0.5, "half")
                msg = "stop"
                raise RuntimeError(msg)

        with pytest.raises(RuntimeError, match="stop"):
            work()

    def test_fits_are_silent_in_tests(self, capfd):
        JD(random_state=0).fit(*data(60))
        assert capfd.readouterr() == ("", "")
