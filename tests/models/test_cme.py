"""Conditional mean embedding: the full estimator, its low-rank form, its constraints."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import jointdist as jd
from jointdist.errors import InfeasibleError, SignedDistributionWarning, ToleranceWarning
from jointdist.kernels import Delta, Gaussian, Laplace, Polynomial
from jointdist.programs import Status

CME = partial(jd.ConditionalMeanEmbedding, positivity="none")
QUICK = jd.Selection(cv=0.2)  # one part held out, where the choice is not the point

FULL = jd.ConditionalMeanEmbedding(
    Gaussian(2.0), Gaussian(1.0), regularization=1e-3, low_rank=False
)


@parametrize_with_checks(
    [jd.ConditionalMeanEmbedding(selection=jd.Selection(cv=0.5, scales="common")), FULL]
)
@pytest.mark.filterwarnings("ignore:ConditionalMeanEmbedding.partial_fit:UserWarning")
@pytest.mark.filterwarnings("ignore::jointdist.errors.SignedDistributionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def sample(n, seed=0):
    """Return rows of two columns on each side."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.stack([X[:, 0] + 0.5 * rng.normal(size=n), np.sin(X[:, 1]) + 3], axis=1)
    return X, Y, rng


def dense_weights(kernel, X, ridge, Z, w=None):
    """Return the weights of Eq. `eq:conditionaldistributionembedding`, one row a query."""
    w = np.ones(len(X)) if w is None else w
    root = np.sqrt(w)
    K = root[:, None] * kernel(X, X) * root
    inner = np.linalg.solve(
        K + w.sum() * ridge * np.eye(len(X)), root[:, None] * kernel(X, Z)
    )
    return (root[:, None] * inner).T


class TestFull:
    """The full estimator is the formula."""

    kernel = Gaussian(1.5)

    @given(st.integers(2, 60), st.floats(1e-6, 1.0), st.booleans(), st.integers(0, 99))
    @settings(max_examples=40)
    def test_weights(self, n, ridge, weighted, seed):
        X, Y, rng = sample(n, seed)
        w = rng.integers(1, 4, n).astype(float) if weighted else None
        Z = rng.normal(size=(5, 2))
        model = CME(self.kernel, self.kernel, regularization=ridge, low_rank=False)
        dist = model.fit(X, Y, w).given(Z)
        B = dense_weights(self.kernel, X, ridge, Z, w)
        assert_allclose(dist.expect(np.sin), B @ np.sin(Y), atol=1e-7)
        assert_allclose(dist.mass(), B.sum(axis=1), atol=1e-7)

    def test_every_linear_question(self):
        X, Y, rng = sample(80)
        Z = rng.normal(size=(7, 2))
        dist = CME(self.kernel, regularization=1e-3, low_rank=False).fit(X, Y).given(Z)
        B = dense_weights(self.kernel, X, 1e-3, Z)
        order = np.lexsort(Y.T[::-1])
        assert_allclose(dist.support_points(), Y[order])
        assert_allclose(dist.weights(), B[:, order], atol=1e-10)
        assert_allclose(dist.mean(), B @ Y, atol=1e-9)
        second = np.einsum("qn,ni,nj->qij", B, Y, Y)
        assert_allclose(dist.second_moment(), second, atol=1e-8)
        below = (Y <= [0.3, 3.1]).all(axis=1)
        assert_allclose(dist.cdf([0.3, 3.1]), B @ below, atol=1e-10)
        assert_allclose(dist.prob(lambda y: y[:, 0] > 0), B @ (Y[:, 0] > 0), atol=1e-10)

    def test_what_is_not_linear_is_of_the_distribution_divided_by_its_mass(self):
        X, Y, rng = sample(80)
        y, Z = Y[:, 0], rng.normal(size=(7, 2))
        model = CME(Gaussian(3.0), regularization=1e-2, low_rank=False).fit(X, y)
        dist = model.given(Z)
        B = dense_weights(model.kernel_x_, X, 1e-2, Z)
        P = B / B.sum(axis=1, keepdims=True)
        assert_allclose(dist.var(), P @ y**2 - (P @ y) ** 2, atol=1e-9)
        assert_allclose(dist.cov(), dist.var(), atol=1e-9)
        negative = -np.minimum(B, 0).sum(axis=1) / np.abs(B).sum(axis=1)
        assert_allclose(dist.negative_share(), negative, atol=1e-9)
        assert_allclose(dist.effective_size(), 1 / (P**2).sum(axis=1), rtol=1e-8)
        order = np.argsort(y)
        reached = np.maximum.accumulate(np.cumsum(P[:, order], axis=1), axis=1)
        first = (reached < 0.3 - 1e-12).sum(axis=1)
        assert_allclose(dist.quantile(0.3), y[order][first])

    def test_equal_rows_of_y_are_one_atom(self):
        X, _, rng = sample(50)
        y = rng.integers(0, 3, 50)
        dist = CME(self.kernel, regularization=1e-2, low_rank=False).fit(X, y).given(X[:4])
        B = dense_weights(self.kernel, X, 1e-2, X[:4])
        assert_allclose(dist.support_points(), [0, 1, 2])
        assert_allclose(dist.weights(), np.stack([B @ (y == i) for i in range(3)], 1))

    def test_the_mean_is_kernel_ridge_regression(self):
        from sklearn.kernel_ridge import KernelRidge  # noqa: PLC0415

        X, Y, _ = sample(60)
        ours = CME(Gaussian(1.0), regularization=1e-3, low_rank=False).fit(X, Y)
        peer = KernelRidge(kernel="rbf", gamma=0.5, alpha=60 * 1e-3).fit(X, Y)
        assert_allclose(ours.predict(X), peer.predict(X), atol=1e-9)

    def test_few_rows_only(self):
        X = np.zeros((5001, 1))
        with pytest.raises(ValueError, match="`X` must be at most 5,000 rows without"):
            CME(low_rank=False).fit(X, X)


class TestLowRank:
    """At tolerance zero the low-rank estimator is the full one, on functions of its space.

    What the pivots miss of a function in rounding, the embedding may enlarge by one over
    the ridge.
    """

    @pytest.mark.parametrize("kernel", [Gaussian(1.5), Gaussian(0.7), Laplace(2.0)])
    @pytest.mark.parametrize("ridge", [1e-1, 1e-3, 1e-5])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_the_full_one(self, kernel, ridge, weighted):
        X, Y, rng = sample(150, 1)
        w = rng.integers(1, 4, 150).astype(float) if weighted else None
        Z, points = rng.normal(size=(9, 2)), Y[:3] + 0.1
        low = CME(kernel, kernel, regularization=ridge, tol=0.0, random_state=0)
        dist = low.fit(X, Y, w).given(Z)
        found = dist.expect(lambda y: kernel(y, points))
        B = dense_weights(kernel, X, ridge, Z, w)
        assert_allclose(found, B @ kernel(Y, points), atol=max(1e-6, 1e-10 / ridge))

    def test_of_many_rows_too(self):
        X, Y, rng = sample(1500, 2)
        kernel, Z = Gaussian(1.5), rng.normal(size=(9, 2))
        low = CME(kernel, kernel, regularization=1e-4, tol=1e-9, random_state=0)
        found = low.fit(X, Y).given(Z).expect(lambda y: kernel(y, Y[:3]))
        B = dense_weights(kernel, X, 1e-4, Z)
        assert low.basis_y_.rank < 200
        assert_allclose(found, B @ kernel(Y, Y[:3]), atol=1e-6)

    def test_functions_are_evaluated_at_the_pivots(self):
        X, Y, rng = sample(900, 3)
        model = CME(Gaussian(1.5), Gaussian(1.5), tol=1e-2, random_state=0).fit(X, Y)
        dist, m = model.given(rng.normal(size=(5, 2))), model.basis_y_.rank
        assert dist.support_points().shape == (m, 2)
        pivots = Y[model.basis_y_.pivots]
        assert_allclose(np.sort(dist.support_points(), axis=0), np.sort(pivots, axis=0))
        event = lambda y: y[:, 0] > 0.2  # noqa: E731
        indicator = dist.weights() @ event(dist.support_points())
        assert_allclose(dist.prob(event), indicator, atol=1e-12)

    def test_the_objective_is_that_of_the_full_matrices(self):
        """Eq. `eq:condembobj`, divided by the number of rows."""
        X, Y, _ = sample(40, 4)
        kernel, ridge, n = Gaussian(1.5), 1e-2, 40
        model = CME(kernel, kernel, regularization=ridge, random_state=0).fit(X, Y)
        K_x, K_y = kernel(X, X), kernel(Y, Y)
        F = np.linalg.inv(K_x + n * ridge * np.eye(n))
        value = -2 * np.trace(K_y @ F @ K_x) + np.trace(
            F.T @ K_y @ F @ K_x @ (K_x + n * ridge * np.eye(n))
        )
        assert_allclose(model.solution_.objective, value / n, rtol=1e-9)
        full = CME(kernel, kernel, regularization=ridge, low_rank=False).fit(X, Y)
        assert_allclose(full.solution_.objective, value / n, rtol=1e-9)

    @pytest.mark.parametrize("low_rank", [True, False])
    def test_incremental_updates_and_downdates_of_few_rows(self, low_rank):
        """They are fitted anew."""
        X, Y, _ = sample(400, 5)
        model = CME(Gaussian(2.0), Gaussian(2.0), regularization=1e-3, random_state=0)
        model.set_params(low_rank=low_rank).fit(X[:300], Y[:300])
        model.partial_fit(X[300:], Y[300:])
        assert_allclose(model.predict(X), clone(model).fit(X, Y).predict(X), atol=1e-8)
        model.forget(X[300:], Y[300:])
        alike = clone(model).fit(X[:300], Y[:300])
        assert_allclose(model.predict(X), alike.predict(X), atol=1e-8)

    def test_rows_come_and_go(self):
        """Exactly as with all rows from the start and the landmarks of the first ones."""
        X, Y, _ = sample(900, 5)
        model = CME(Gaussian(2.0), Gaussian(2.0), regularization=1e-3, random_state=0)
        first = model.set_params(tol=1e-6).fit(X[:800], Y[:800]).predict(X)
        model.partial_fit(X[800:], Y[800:])
        x, y = model.basis_x_.map, model.basis_y_.map
        F_x, F_y, atoms = x.features(X), y.features(Y), model.given(X).support_points()
        B = np.linalg.solve(F_x.T @ F_x + 900 * 1e-3 * np.eye(x.rank), F_x.T)
        T = np.linalg.solve(y.features(atoms).T, F_y.T)  # rows of Y as weights on atoms
        assert_allclose(model.predict(X), F_x @ B @ T.T @ atoms, atol=1e-6)
        model.forget(X[800:], Y[800:])
        assert_allclose(model.predict(X), first, atol=1e-8)

    def test_from_full_to_low_rank_and_back(self):
        """The next fit decides; rows that come before are added as the model was fitted."""
        X, Y, _ = sample(100, 5)
        model = CME(low_rank=False, random_state=0).fit(X, Y)
        model.set_params(low_rank=True).partial_fit(X[:5], Y[:5])
        assert not hasattr(model, "moments_")
        assert model.coefficients_.shape[0] == 105
        assert model.fit(X, Y).moments_.count == 100
        model.set_params(low_rank=False).partial_fit(X[5:9], Y[5:9])
        assert model.moments_.count == 104
        model.fit(X, Y)
        assert not hasattr(model, "moments_")
        assert not hasattr(model, "basis_y_")

    @pytest.mark.parametrize("n", [500, 513, 2000, 4000])
    @pytest.mark.parametrize("seed", range(3))
    def test_distributions_are_sane_whatever_the_number_of_rows(self, n, seed):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n + 500, 2))
        y = X[:, 0] + 0.3 * rng.normal(size=n + 500)
        quick = jd.Selection(cv=0.2, scales="common")
        how = None if (seed, n) == (0, 513) else quick
        model = CME(selection=how, random_state=seed).fit(X[:n], y[:n])
        assert model.score(X[n:], y[n:]) > 0.45
        assert np.abs(model.given(X[n:]).weights()).sum(axis=1).mean() < 5


class TestConstraints:
    """What is asked for holds, or is said not to."""

    def fitted(self, **arguments):
        X, Y, _ = sample(300, 6)
        arguments = {"regularization": 1e-4, "max_rank": 40, "tol": 1e-2, **arguments}
        model = CME(Gaussian(1.0), Gaussian(0.4), random_state=0, **arguments)
        return model.fit(X, Y[:, 0]), X

    def test_on_average(self):
        free, X = self.fitted()
        model, _ = self.fitted(normalization="average", positivity="average")
        dist = model.given(X)
        assert model.solution_.status is Status.OPTIMAL
        assert_allclose(dist.mass().mean(), 1.0, atol=1e-10)
        assert dist.weights().mean(axis=0).min() >= -1e-10
        assert free.given(X).weights().mean(axis=0).min() < -1e-6
        assert model.solution_.objective >= free.solution_.objective

    @pytest.mark.parametrize("normalization", ["none", "average"])
    def test_positivity_at_every_row(self, normalization):
        model, X = self.fitted(normalization=normalization, positivity="sample")
        dist = model.given(X)
        assert model.solution_.status.ok
        assert dist.weights().min() >= -1e-9
        assert_allclose(dist.negative_share(), 0, atol=1e-9)
        if normalization == "average":
            assert_allclose(dist.mass().mean(), 1.0, atol=1e-9)
        assert len(model.grid_rows_) == 300

    @pytest.mark.parametrize("n", [100, 500])
    @pytest.mark.parametrize("scope", ["average", "sample"])
    def test_distributions_of_few_rows_are_sane(self, n, scope):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(n + 500, 1))
        y = x[:, 0] + rng.normal(size=n + 500)
        model = CME(normalization="average", positivity=scope, random_state=0)
        model.fit(x[:n], y[:n])
        assert model.score(x[n:], y[n:]) > 0.1
        assert np.abs(model.given(x).weights()).max() < 3

    def test_at_some_rows_of_many(self):
        model, X = self.fitted(positivity="sample", grid_rows=50)
        assert len(model.grid_rows_) == 50
        assert model.given(X[model.grid_rows_]).weights().min() >= -1e-9

    def test_normalisation_at_every_row_where_it_can_be_met(self):
        rng = np.random.default_rng(0)
        X = rng.integers(0, 4, size=(200, 1))
        y = X[:, 0] + rng.normal(size=200)
        model = CME(Delta(), Gaussian(1.0), regularization=1e-3, random_state=0)
        model.set_params(normalization="sample", positivity="sample").fit(X, y)
        dist = model.given(X)
        assert model.solution_.status.ok
        assert_allclose(dist.mass(), 1, atol=1e-8)
        assert dist.weights().min() >= -1e-9

    @pytest.mark.parametrize("positivity", ["none", "average", "sample"])
    def test_infeasible(self, positivity):
        with pytest.warns(ToleranceWarning, match="No coefficients satisfy the constr"):
            model, X = self.fitted(normalization="sample", positivity=positivity)
        assert model.solution_.status is Status.INFEASIBLE
        assert not model.solution_.status.ok
        assert model.solution_.certificate.feasibility > 1e-6
        assert np.isnan(model.coefficients_).all()
        for ask in (model.predict, model.given, lambda x: model.score(x, x[:, 0])):
            with pytest.raises(InfeasibleError, match="No coefficients satisfy"):
                ask(X)

    def test_a_basis_without_a_mean_is_infeasible(self):
        x = np.random.default_rng(0).normal(size=(100, 1))
        x = np.concatenate([x, -x])
        model = CME(Polynomial(degree=1, offset=0.0), normalization="average")
        with pytest.warns(ToleranceWarning, match="No coefficients"):
            model.fit(x, x**2)
        assert model.solution_.status is Status.INFEASIBLE

    @pytest.mark.parametrize(
        ("argument", "rule"),
        [("positivity", '"projected", "isotonic" or "none"'), ("normalization", '"none"')],
    )
    def test_of_the_full_estimator_there_are_none(self, argument, rule):
        message = f"`{argument}` must be {rule} without `low_rank`"
        with pytest.raises(ValueError, match=message):
            CME(low_rank=False, **{argument: "average"}).fit([[1.0], [2.0]], [1.0, 2.0])


class TestDistributions:
    """Answers of the distributions of an embedding."""

    @pytest.fixture(scope="class")
    @staticmethod
    def dist():
        x, e = np.random.default_rng(0).normal(size=(2, 3000))
        model = CME(regularization=1e-4, random_state=0).fit(x[:, None], x + 0.5 * e)
        return model.given(np.array([-1.0, 0.0, 1.0]))

    def test_mean_and_spread(self, dist):
        assert_allclose(dist.mean(), [-1, 0, 1], atol=0.1)
        assert_allclose(dist.mass(), 1, atol=0.05)

    def test_density_integrates_to_the_mass(self, dist):
        y = np.linspace(-12, 12, 4001)
        assert_allclose(np.trapezoid(dist.pdf(y), y), dist.mass(), rtol=1e-6)

    @pytest.mark.parametrize("low_rank", [True, False])
    def test_the_density_is_as_wide_as_the_distribution(self, low_rank):
        x, e = np.random.default_rng(0).normal(size=(2, 1000))
        model = CME(low_rank=low_rank, selection=QUICK, random_state=0)
        model.fit(x[:, None], x + 0.5 * e)
        dist, y = model.given([[0.0]]), np.linspace(-6, 6, 2001)
        density = dist.pdf(y, grid=True)[0] / dist.mass()
        spread = np.sqrt(np.trapezoid(density * y**2, y))
        assert_allclose(spread, dist.std()[0], atol=0.1)

    @pytest.mark.parametrize("low_rank", [True, False])
    def test_few_values(self, low_rank):
        rng = np.random.default_rng(0)
        x, y = (
            rng.normal(size=(500, 1)),
            rng.choice([0.0, 10.0, 10.1], 500, p=[0.4, 0.3, 0.3]),
        )
        dist = CME(low_rank=low_rank, random_state=0).fit(x, y).given([[0.0]])
        assert dist.is_discrete
        assert dist.mode() == dist.support_points()[dist.weights()[0].argmax()]
        with pytest.raises(ValueError, match="of a variable with a density"):
            dist.pdf(5.0)

    def test_the_mode_is_the_atom_of_the_highest_density(self, dist):
        atoms = dist.support_points()
        highest = dist.pdf(atoms, grid=True).argmax(axis=1)
        assert_allclose(dist.mode(), atoms[highest])

    def test_paired_densities(self, dist):
        y = np.array([-1.0, 0.2, 0.9])
        assert_allclose(dist.pdf(y), np.diag(dist.pdf(y, grid=True)))

    def test_draws_are_atoms(self, dist):
        assert np.isin(dist.sample(50, random_state=0), dist.support_points()).all()

    def test_some_distributions(self, dist):
        assert_allclose(dist[1:].mean(), dist.mean()[1:])
        assert_allclose(dist[1:].mass(), dist.mass()[1:])

    def test_novelty(self):
        x = np.random.default_rng(0).normal(size=(300, 1))
        for low_rank in (True, False):
            model = CME(Gaussian(1.0), low_rank=low_rank, random_state=0).fit(x, x)
            near, far = model.given([[0.0], [30.0]]).novelty()
            assert near < 1e-3
            assert far > 0.999

    def test_far_away_there_is_no_distribution(self):
        x = np.random.default_rng(0).normal(size=(300, 1))
        dist = CME(Gaussian(1.0), random_state=0).fit(x, x).given([[60.0]])
        assert_allclose(dist.mass(), 0, atol=1e-12)
        assert_allclose(dist.mean(), 0, atol=1e-12)
        with pytest.warns(SignedDistributionWarning, match="have no distribution"):
            assert np.isnan(dist.median())

    def test_hardly_any_mass_is_no_distribution(self):
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(300, 1)), 1e5 * rng.standard_cauchy(size=(300, 2))
        model = CME(Gaussian(1.0), Gaussian(1e4), regularization=1.0, random_state=0)
        dist = model.fit(x, y).given(np.linspace(2, 15, 200)[:, None])
        some = dist.mass() > 1e-8
        assert np.any((dist.mass() > 1e-12) & ~some)  # of which few digits are right
        with pytest.warns(SignedDistributionWarning, match="have no distribution"):
            score = jd.scores.energy_score(dist, np.zeros((200, 2)))
        assert_array_equal(np.isnan(score), ~some)
        assert np.all(score[some] >= 0)  # a distance

    def test_words(self):
        frame = pd.DataFrame({"x": list("aabbb" * 20), "y": list("uvvvu" * 20)})
        model = CME(regularization=1e-6, random_state=0).fit(frame[["x"]], frame["y"])
        dist = model.given(pd.DataFrame({"x": ["a", "b"]}))
        chance = dist.prob(lambda y: y == "v")
        assert_allclose(chance, [0.5, 2 / 3], atol=1e-3)
        assert_allclose(dist.to_frame().to_numpy().sum(axis=1), 1, atol=1e-3)
        assert model.predict(pd.DataFrame({"x": ["b"]})).tolist() == ["v"]


class TestEstimator:
    """What users of scikit-learn expect."""

    def test_score_is_the_skill_against_the_sample(self):
        X, Y, _ = sample(250, 7)
        model = CME(selection=QUICK, random_state=0).fit(X, Y)
        joint = jd.JointDistribution(selection=QUICK, random_state=0).fit(X, Y)
        assert 0.3 < model.score(X, Y) < joint.score(X, Y) + 0.02 < 0.8
        noise = np.random.default_rng(1).normal(size=250)
        assert abs(model.fit(X, noise).score(X, noise)) < 0.2

    def test_conditions_without_a_distribution_have_no_skill(self):
        """Rows of next to no mass, of either sign, count as the sample does."""
        x = np.random.default_rng(0).normal(size=(600, 1))
        model = CME(Gaussian(1.0), random_state=0).fit(x, x)
        far = np.array([[30.0], [8.0], [9.0]])
        assert model.given(far).mass().max() < 0.1
        assert model.score(far, [0.0, 0.1, 0.2]) == 0

    def test_rounding_of_the_kernel_matrix(self):
        X, Y, _ = sample(300, 4)
        model = CME(Polynomial(4), regularization=1e-18, low_rank=False)
        with pytest.raises(ValueError, match="`regularization` must be so large"):
            model.fit(1000 * X, Y)

    def test_search_and_pipeline(self):
        X, Y, _ = sample(200, 8)
        model = CME(selection=QUICK, random_state=0)
        search = GridSearchCV(model, {"regularization": [1e-4, 10.0]}, cv=3)
        search.fit(X, Y[:, 0])
        assert search.best_params_ == {"regularization": 1e-4}
        pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
        assert pipeline.predict(X).shape == Y.shape

    def test_pickle(self):
        X, Y, _ = sample(100, 9)
        model = CME(random_state=0).fit(X, Y)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301
        assert_allclose(again.predict(X), model.predict(X))

    def test_the_same_seed_gives_the_same_model(self):
        X, Y, _ = sample(900, 10)
        model = CME(selection=QUICK, random_state=3)
        first, second = (clone(model).fit(X, Y) for _ in range(2))
        assert_allclose(first.predict(X), second.predict(X), rtol=0)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"regularization": 0.0}, "`regularization` must be positive"),
            ({"regularization": -1}, "`regularization` must be a number of at least 0"),
            ({"normalization": "total"}, "`normalization` must be one of"),
            ({"positivity": "grid"}, "`positivity` must be one of"),
            ({"low_rank": "no"}, "`low_rank` must be True or False"),
            ({"tol": 1.0}, "`tol` must be a number from 0 to below 1"),
            ({"grid_rows": 0}, "`grid_rows` must be an integer of at least 1"),
            ({"kernel_x": "rbf"}, "`kernel_x` must be a kernel"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            CME(**arguments).fit([[1.0], [2.0]], [1.0, 2.0])

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            CME().given([[1.0]])

    def test_no_warning_on_ordinary_data(self):
        X, Y, _ = sample(600, 11)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            CME(random_state=0).fit(X, Y).given(X).mean()
