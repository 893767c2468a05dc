"""A ridge for each function of Y: dense regressions, and rows left out one by one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd
from jointdist.kernels import Gaussian, Matern
from jointdist.models.coefficients import objective
from jointdist.models.loo import loo_ridges
from jointdist.models.loo import regression as of_functions
from jointdist.programs import (
    Objective,
    closed_form,
    grid_positive,
    spectral_ball,
    tightened,
)

N = 60


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=N)


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def weights(request):
    if not request.param:
        return None
    w = np.random.default_rng(1).uniform(0, 3, size=N)
    w[:3] = 0.0
    return w


def fitted(data, weights=None, **params):
    """Return a model of few functions of Y."""
    given = {"regularization": "loo", "tol": 0.0, "max_rank": 12, "random_state": 0}
    kernels = Matern(1.5), Gaussian(1.0)
    return jd.JointDistribution(*kernels, **given | params).fit(*data, weights)


def functions(model, data):
    """Return the functions of X and Y at all rows."""
    X, y = data
    return model.basis_x_.features(X), model.basis_y_.features(y[:, None])


def regression(F, targets, w, strength, at):
    """Return ridge regressions at points by the normal equations, constants not shrunk."""
    F, at = (np.insert(table, 0, 1.0, axis=1) for table in (F, at))
    penalty = np.diag(np.append(0.0, np.full(F.shape[1] - 1, strength)))
    return at @ np.linalg.solve((F.T * w) @ F + penalty, (F.T * w) @ targets)


def left_out(F, targets, w, strength):
    """Return regressions at each row that are fitted to all others."""
    others = ~np.eye(len(F), dtype=bool)
    found = [regression(F[own], targets[own], w[own], strength, F[~own]) for own in others]
    return np.concatenate(found)


class TestAgainstRegressions:
    """The closed form is a ridge regression of each function of Y."""

    def test_coefficients_of_distributions(self, data, weights):
        ridges = 10.0 ** -np.arange(1.0, 13)
        model = fitted(data, weights, regularization=ridges)
        F, P = functions(model, data)
        w = np.ones(N) if weights is None else weights
        c = model.basis_y_.eigenvalues / w.sum()
        for i, ridge in enumerate(ridges):
            truth = regression(F, P[:, i], w, w.sum() * ridge / c[i], F) / c[i]
            found = F @ model.coefficients_[i]
            assert_allclose(found, truth, atol=1e-12 * np.abs(truth).max() / c[i])

    @pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
    def test_rows_left_out(self, data, weights, ridge):
        model = fitted(data, weights)
        F, P = functions(model, data)
        w = np.ones(N) if weights is None else weights
        fit, c = of_functions(model._fitted.problem)
        assert_allclose(c, model.basis_y_.eigenvalues / w.sum())
        x = model._fitted.problem.sample.x
        missed = fit.residuals(x, P, weights, ridge / np.maximum(c, 1e-12))
        for i in range(6):
            truth = left_out(F, P[:, i], w, w.sum() * ridge / c[i])
            found = P[:, i] - missed[:, i]
            assert_allclose(found, truth, atol=1e-10 * np.abs(truth).max())

    def test_least_errors(self, data, weights):
        model = fitted(data, weights)
        F, P = functions(model, data)
        w = np.ones(N) if weights is None else weights
        c = model.basis_y_.eigenvalues / w.sum()

        def error(i, ridge):
            missed = P[:, i] - left_out(F, P[:, i], w, w.sum() * ridge)
            return w @ missed**2

        mean = [error(i, 1e12) for i in range(6)]
        found = model.regularization_[:6] / c[:6]
        assert np.isfinite(found[:2]).all()
        for i, ridge in enumerate(found):
            if np.isinf(ridge):
                tried = np.array([error(i, 10.0**k) for k in np.arange(-6, 1.0)])
                assert (tried >= mean[i] * (1 - 1e-9)).all()
            else:
                own = error(i, ridge)
                assert own < mean[i]
                assert own <= min(error(i, ridge * 10**0.5), error(i, ridge / 10**0.5))

    def test_a_choice_of_rows_is_nearly_as_good(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 1))
        data = X, np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=3000)
        model = fitted(data)
        some = model.refit(regularization=loo_ridges(model._fitted.problem, 0, 500))
        assert not np.array_equal(some.regularization_, model.regularization_)
        assert_allclose(some.score(*data), model.score(*data), atol=2e-3)


class TestNoSignal:
    """Functions of which X tells nothing."""

    def test_distributions_are_the_marginal(self):
        rng = np.random.default_rng(3)
        data = rng.normal(size=(400, 2)), rng.normal(size=400)
        model = fitted(data)
        off = np.isinf(model.regularization_)
        assert off.mean() > 0.5
        assert not model.coefficients_[off].any()
        flat = fitted(data, regularization=np.full(12, np.inf))
        assert_array_equal(flat.coefficients_, 0.0)
        dist = flat.given(x=data[0][:3])
        assert_allclose(dist.mean(), data[1].mean())
        assert_allclose(
            dist.quantile(0.3), np.quantile(data[1], 0.3, method="inverted_cdf")
        )
        assert flat.solution_.objective == 0.0

    def test_vanishing_functions_are_left_out(self):
        X = np.arange(30.0)[:, None]
        model = jd.JointDistribution(Gaussian(4.0), Gaussian(1.0), regularization="loo")
        model.fit(X, X[:, 0] % 2)
        assert len(model.regularization_) == model.basis_y_.rank
        assert np.isfinite(model.coefficients_).all()

    @pytest.mark.parametrize("positivity", ["grid", "tightened", "pointwise", "rotated"])
    def test_constraints_hold_without_them(self, data, positivity):
        ridges = np.where(np.arange(12) % 3 == 1, np.inf, 1e-2)
        model = fitted(data, positivity=positivity, regularization=ridges)
        assert model.solution_.status.ok
        assert not model.coefficients_[1::3].any()
        assert model.coefficients_[0].any()
        assert model.ratio(*data, grid=True).min() > -1e-9

    def test_programs_of_the_other_functions(self):
        rng = np.random.default_rng(0)
        b, c_y, c_x = rng.normal(size=(5, 4)), rng.uniform(size=5), rng.uniform(size=4)
        on = np.array([0, 2, 3])
        ridges = np.full(5, np.inf)
        ridges[on] = 0.1, 0.2, 0.3
        whole = Objective(b, c_y, c_x, ridges)
        part = Objective(b[on], c_y[on], c_x, ridges[on])
        top, F_y, F_x = np.ones((5, 4)), rng.normal(size=(20, 5)), rng.normal(size=(20, 4))
        for found, truth in (
            (closed_form(whole), closed_form(part)),
            (tightened(whole, -top, top), tightened(part, -top[on], top[on])),
            (spectral_ball(whole, 0.5), spectral_ball(part, 0.5)),
            (grid_positive(whole, F_y, F_x), grid_positive(part, F_y[:, on], F_x)),
        ):
            assert_allclose(found.value[on], truth.value, atol=1e-5)
            assert_allclose(found.objective, truth.objective, rtol=1e-5)
            assert not np.delete(found.value, on, axis=0).any()


def test_copies_of_rows_are_left_out_together():
    """Else each would be told by its twin, and no ridge were small enough."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (150, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150)
    twice = np.tile(np.arange(150), 2)
    once, both = (
        jd.JointDistribution(
            Gaussian(0.1), Gaussian(0.5), regularization="loo", random_state=0
        )
        .fit(X[own], y[own])
        .regularization_
        for own in (np.arange(150), twice)
    )
    assert_allclose(np.log10(both[:3]), np.log10(once[:3]), atol=0.6)


class TestEstimator:
    """The parameter of the estimator."""

    def test_a_refit_with_its_ridges_is_the_same(self, data):
        model = fitted(data)
        again = model.refit(regularization=model.regularization_)
        assert_array_equal(again.coefficients_, model.coefficients_)
        assert_array_equal(again.regularization_, model.regularization_)
        other = model.refit(regularization=0.1).refit(regularization="loo")
        assert_array_equal(other.coefficients_, model.coefficients_)

    def test_rows_come_and_go(self, data):
        X, y = data
        model = fitted((X[:50], y[:50]))
        first = model.regularization_
        model.partial_fit(X[50:], y[50:])
        problem = model._fitted.problem
        assert_array_equal(model.regularization_, loo_ridges(problem, 0))
        assert not np.array_equal(model.regularization_, first)
        assert_allclose(model.forget(X[50:], y[50:]).regularization_, first)

    def test_kernels_are_chosen_too(self, data):
        model = jd.JointDistribution(regularization="loo", random_state=0).fit(*data)
        assert model.selection_.regularization == 1.0
        assert model.regularization_.shape == (model.basis_y_.rank,)
        assert model.score(*data) > 0.4

    def test_dependence_is_tested_with_one_ridge(self, data):
        model = fitted(data)
        one = model.refit(regularization=0.1 / N).dependence(permutations=19)
        assert model.dependence(permutations=19).p_value == one.p_value

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"regularization": "gcv"}, "`regularization` must be a number .* 'gcv'"),
            (
                {"regularization": np.array([1.0, -1.0])},
                "`regularization` must be a number",
            ),
            ({"regularization": np.ones((2, 2))}, "`regularization` must be a number"),
            ({"regularization": np.ones(3)}, "must be a number, or 12 of them.* Got 3"),
            ({"marginals": "total"}, "unless marginals=\"exact\". Got 'loo'"),
            (
                {"kernel_x": "auto", "regularization": np.ones(12)},
                "`regularization` must be .* where kernels are selected. Got an array",
            ),
        ],
    )
    def test_messages(self, data, params, message):
        model = jd.JointDistribution(Gaussian(1.0), Gaussian(1.0), tol=0.0, max_rank=12)
        model.set_params(**{"regularization": "loo"} | params)
        with pytest.raises(ValueError, match=message):
            model.fit(*data)


def test_one_ridge_is_as_many_equal_ones(data):
    problem = fitted(data)._fitted.problem
    one, many = objective(problem, 0.01), objective(problem, np.full(12, 0.01))
    assert_array_equal(closed_form(one).value, closed_form(many).value)
    none = Objective(np.ones((2, 1)), np.array([1.0, 0.0]), np.ones(1), np.zeros(2))
    assert_array_equal(closed_form(none).value, [[1.0], [0.0]])


class TestSmoothness:
    """Kernels of X with a scale for each column, as smooth as what they explain."""

    @staticmethod
    def kernels(X, y, **params):
        """Return the kinds of kernels that were tried with a scale for each column."""
        cheap = jd.Selection(cv=2)
        model = jd.JointDistribution(selection=cheap, random_state=0, **params).fit(X, y)
        tried = model.selection_.candidates
        return {
            getattr(c.kernel_x, "nu", np.inf) for c in tried if c.scales == "each"
        }, model

    def test_steps_want_a_rough_kernel(self):
        X = np.random.default_rng(0).uniform(-2, 2, size=(400, 2))
        y = np.floor(2 * X[:, 0]) + 0.01 * X[:, 1]
        nus, model = self.kernels(X, y)
        assert nus == {0.5}
        assert model.kernel_x_.nu == 0.5
        signed = model.refit(positivity="none")
        assert signed.kernel_x_ == model.kernel_x_

    def test_waves_want_a_smooth_one(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, size=(200, 2))
        y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=200)
        assert self.kernels(X, y)[0] == {np.inf}

    def test_constraints_want_a_smooth_one(self):
        X = np.random.default_rng(0).uniform(-2, 2, size=(80, 2))
        y = np.floor(2 * X[:, 0])
        assert self.kernels(X, y, positivity="tightened")[0] == {np.inf}

    def test_variances_matter_as_means_do(self):
        rng = np.random.default_rng(0)
        X = rng.uniform(-2, 2, size=(400, 3))
        y = np.exp(2 * np.sin(2 * X[:, 1])) * rng.normal(size=400)
        _, model = self.kernels(X, y)
        scales = np.array(model.kernel_x_.scale)
        assert scales[1] < scales[[0, 2]].min() / 2
