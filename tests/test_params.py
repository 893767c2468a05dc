"""Parameters of kernels, by name: asked, replaced, and searched by scikit-learn."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from strategies import kernels

from jointdist import (
    ConditionalMeanEmbedding,
    JointClassifier,
    JointDistribution,
    KernelLogisticRegression,
    PolynomialJointDistribution,
)
from jointdist.kernels import (
    Columns,
    Delta,
    Gaussian,
    Laplace,
    Matern,
    Polynomial,
    Product,
    Sum,
)

TWO_SIDED = [JointDistribution, ConditionalMeanEmbedding]
CLASSIFIERS = [JointClassifier, KernelLogisticRegression]

nested = st.recursive(
    kernels,
    lambda inner: st.one_of(
        st.builds(Product, inner, inner),
        st.builds(Sum, inner),
        st.builds(lambda kernel: kernel.on(0, 1, 2), inner),
    ),
    max_leaves=4,
)


class Cosine(BaseEstimator):
    """A kernel of somebody else, with parameters as scikit-learn has them."""

    def __init__(self, period=1.0, inner=None):
        self.period = period
        self.inner = inner

    def __call__(self, X, Z):
        K = np.cos(2 * np.pi * (X[:, :1] - Z[:, :1].T) / self.period)
        return K if self.inner is None else K * self.inner(X, Z)

    def diagonal(self, X):
        return np.ones(len(X))


class Linear:
    """A kernel of somebody else, without parameters."""

    def __call__(self, X, Z):
        return X @ Z.T

    def diagonal(self, X):
        return (X * X).sum(axis=1)


def wavy(n=120):
    """Return rows whose second column is noise, and a wave of the first."""
    X = np.random.default_rng(1).normal(size=(n, 2)) * [3.0, 40.0] + [5.0, 0.0]
    noise = np.random.default_rng(2).normal(size=n)
    return X, np.sin(X[:, 0]) + 0.2 * noise


class TestKernels:
    @pytest.mark.parametrize(
        ("kernel", "names"),
        [
            (Gaussian(), ["scale"]),
            (Laplace(), ["scale"]),
            (Matern(), ["scale", "nu"]),
            (Polynomial(), ["degree", "offset", "scale"]),
            (Delta(), ["similarity"]),
            (Matern().on(0), ["kernel", "columns", "kernel__scale", "kernel__nu"]),
            (Gaussian() * Delta(), ["0", "1", "0__scale", "1__similarity"]),
            (Sum(Gaussian(), Linear()), ["0", "1", "0__scale"]),
            (Columns(Linear(), [1]), ["kernel", "columns"]),
            (Sum(Cosine()), ["0", "0__inner", "0__period"]),
        ],
    )
    def test_parameters_have_these_names(self, kernel, names):
        assert list(kernel.get_params()) == names
        shallow = [name for name in names if "__" not in name]
        assert list(kernel.get_params(deep=False)) == shallow

    @given(kernel=nested)
    def test_what_is_asked_can_be_set(self, kernel):
        params = kernel.get_params()
        backwards = dict(reversed(params.items()))
        assert kernel.with_params(**params) == kernel
        assert kernel.with_params(**backwards) == kernel
        assert hash(kernel.with_params(**params)) == hash(kernel)
        assert kernel.with_params() == kernel

    @given(kernel=nested, data=st.data())
    def test_one_parameter_is_replaced_and_no_other(self, kernel, data):
        before, shown = kernel.get_params(), repr(kernel)
        leaves = [name for name in before if name.endswith(("scale", "similarity"))]
        name = data.draw(st.sampled_from(leaves))
        new = kernel.with_params(**{name: 0.77})
        assert type(new) is type(kernel)
        assert new != kernel
        after = new.get_params()
        assert after[name] == 0.77
        for other in before:
            if other != name and not name.startswith(f"{other}__"):
                assert after[other] == before[other]
        assert repr(kernel) == shown

    def test_the_new_kernel_computes_with_the_new_value(self, rng):
        X = rng.normal(size=(6, 3))
        kernel = Gaussian(2.0).on(0, 1) * Matern().on(2) + Laplace()
        new = kernel.with_params(**{"0__0__kernel__scale": 3.0, "0__1__kernel__nu": 2.5})
        by_hand = Gaussian(3.0).on(0, 1) * Matern(nu=2.5).on(2) + Laplace()
        assert new == by_hand
        assert_array_equal(new(X, X), by_hand(X, X))

    def test_kernels_and_columns_are_parameters_too(self):
        kernel = Gaussian(2.0).on(0) * Delta()
        assert kernel.with_params(**{"1": Laplace()}) == Gaussian(2.0).on(0) * Laplace()
        moved = kernel.with_params(**{"0__columns": [1, 2], "0__kernel": Matern()})
        assert moved == Matern().on(1, 2) * Delta()

    @given(kernel=nested)
    def test_a_clone_is_the_kernel_itself(self, kernel):
        assert clone(kernel) is kernel

    @pytest.mark.parametrize(
        ("kernel", "params", "message"),
        [
            (
                Gaussian(),
                {"width": 1},
                r"Gaussian: `width` .* Gaussian, \['scale'\]\. Got 'w",
            ),
            (
                Gaussian(),
                {"scale__x": 1},
                r"Gaussian: `scale` .* to set its x\. Got 1\.0\.$",
            ),
            (Gaussian().on(0), {"kernel__": 1}, r"Columns: `kernel__` must .* Got ''\.$"),
            (
                Gaussian().on(0),
                {"kernel__scale": -1},
                r"Gaussian: `scale` must be a positive",
            ),
            (Gaussian() * Delta(), {"2__scale": 1}, r"Product: `2` must .*\['0', '1'\]"),
            (
                Gaussian() * Delta(),
                {"1__scale": 1},
                r"Product: `1__scale` .*\['similarity'\]",
            ),
            (
                Gaussian() + Delta(),
                {"0": "rbf"},
                r"Sum: `kernels` must be kernels: objects",
            ),
        ],
    )
    def test_what_cannot_be_set_is_named(self, kernel, params, message):
        with pytest.raises(ValueError, match=f"^{message}"):
            kernel.with_params(**params)


class TestEstimators:
    @pytest.mark.parametrize("family", TWO_SIDED)
    def test_both_sides_are_reached(self, family):
        model = family(Gaussian(2.0), Matern().on(0), regularization=0.1)
        names = {n for n in model.get_params() if "__" in n}
        inner = {"kernel", "columns", "kernel__scale", "kernel__nu"}
        assert names == {"kernel_x__scale"} | {f"kernel_y__{n}" for n in inner}
        same = model.set_params(kernel_x__scale=3.0, kernel_y__kernel__nu=2.5, tol=0.01)
        assert same is model
        assert model.kernel_x == Gaussian(3.0)
        assert model.kernel_y == Matern(nu=2.5).on(0)
        assert (model.tol, model.regularization) == (0.01, 0.1)

    @pytest.mark.parametrize("family", [*TWO_SIDED, *CLASSIFIERS])
    def test_a_shared_kernel_stays_as_it_is(self, family):
        kernel = Gaussian(2.0) * Delta()
        model, other = family(kernel), family(kernel)
        again = clone(model).set_params(kernel_x__0__scale=5.0)
        assert again.kernel_x == Gaussian(5.0) * Delta()
        assert model.kernel_x is other.kernel_x is kernel
        assert repr(kernel) == repr(Gaussian(2.0) * Delta())

    @pytest.mark.parametrize("family", [*TWO_SIDED, *CLASSIFIERS])
    def test_clones_have_all_parameters(self, family):
        model = family(Gaussian((1.0, 2.0)).on(0, 1) + Laplace(), tol=0.01)
        assert clone(model).get_params() == model.get_params()
        assert model.set_params(**model.get_params()).get_params() == (
            clone(model).get_params()
        )

    @pytest.mark.parametrize("family", [*TWO_SIDED, *CLASSIFIERS])
    def test_a_kernel_and_its_parameter_in_either_order(self, family):
        for names in (("kernel_x", "kernel_x__scale"), ("kernel_x__scale", "kernel_x")):
            values = {"kernel_x": Laplace(), "kernel_x__scale": 3.0}
            model = family().set_params(**{name: values[name] for name in names})
            assert model.kernel_x == Laplace(3.0)

    @pytest.mark.parametrize("family", [*TWO_SIDED, *CLASSIFIERS])
    def test_the_fit_is_that_of_the_new_kernel(self, family):
        X, y = wavy()
        y = y if family in TWO_SIDED else y > 0
        arguments = {"random_state": 0, "regularization": 0.01}
        model = family(Matern(9.0).on(0), **arguments).fit(X, y)
        model.set_params(kernel_x__kernel__scale=2.0).fit(X, y)
        by_hand = family(Matern(2.0).on(0), **arguments).fit(X, y)
        assert_array_equal(model.predict(X), by_hand.predict(X))
        assert model.score(X, y) == by_hand.score(X, y)

    @pytest.mark.parametrize("family", [*TWO_SIDED, *CLASSIFIERS])
    def test_models_show_their_kernels(self, family):
        model = family(Gaussian(2.0) * Delta())
        for shown in (repr(model), repr(make_pipeline(StandardScaler(), model))):
            assert "Product(Gaussian(scale=2.0), Delta(similarity=0.0))" in shown
        assert "Product(Gaussian(scale=2.0)" in model._repr_html_()
        assert "Gaussian(scale=7.0)" in model.set_params(kernel_x__0__scale=7)._repr_html_()

    @pytest.mark.parametrize("family", [*TWO_SIDED, *CLASSIFIERS])
    @pytest.mark.parametrize(
        ("kernel", "params", "message"),
        [
            (
                "auto",
                {"kernel_x__scale": 2},
                r"`kernel_x` .* its scale\. Got 'auto', chosen by",
            ),
            (Linear(), {"kernel_x__scale": 2}, r"`kernel_x` .* its scale\. Got <.*Linear"),
            (Gaussian, {"kernel_x__scale": 2}, r"`kernel_x` .* its scale\. Got <class"),
            (Gaussian(), {"executor__jobs": 2}, r"`executor` .* its jobs\. Got None"),
            (
                Gaussian(),
                {"kernel_x__width": 2},
                r"`kernel_x__width` .*\['scale'\]\. Got 'width'",
            ),
            (
                Gaussian().on(0),
                {"kernel_x__kernel__nu": 2},
                r"`kernel_x__kernel__nu` must be",
            ),
            (Gaussian(), {"kernel__scale": 2}, r"`kernel` must .*\[.*'kernel_x'"),
            (Cosine(), {"kernel_x__scale": 2}, r"`kernel_x__scale` .*'inner', 'period'"),
        ],
    )
    def test_what_cannot_be_set_is_named(self, family, kernel, params, message):
        model = family(kernel)
        with pytest.raises(ValueError, match=f"^{family.__name__}: {message}"):
            model.set_params(**params)
        assert model.kernel_x is kernel

    def test_a_bad_value_is_refused_by_the_kernel_and_nothing_is_set(self):
        model = JointDistribution(Gaussian(2.0))
        with pytest.raises(ValueError, match=r"^Gaussian: `scale` must be a positive"):
            model.set_params(tol=0.5, kernel_x__scale=0.0)
        assert (model.tol, model.kernel_x) == (1e-3, Gaussian(2.0))

    def test_polynomials_have_no_kernels(self):
        model = PolynomialJointDistribution(degree=2)
        assert not [name for name in model.get_params() if "__" in name]
        assert clone(model.set_params(degree=3)).degree == 3
        message = "^PolynomialJointDistribution: `kernel_x` must be one of the parameters"
        with pytest.raises(ValueError, match=message):
            model.set_params(kernel_x__scale=2.0)


class TestKernelsFromElsewhere:
    def test_they_are_copied_and_changed(self):
        kernel = Cosine()
        model, other = JointDistribution(kernel), JointDistribution(kernel)
        assert model.get_params()["kernel_x__period"] == 1.0
        model.set_params(kernel_x__period=3.0)
        assert (model.kernel_x.period, other.kernel_x.period) == (3.0, 1.0)
        assert other.kernel_x is kernel

    def test_they_may_hold_ours_and_be_held(self):
        kernel = Cosine(inner=Gaussian(2.0))
        model = JointDistribution(kernel_y=Gaussian() * Columns(kernel, [0]))
        model.set_params(kernel_y__1__kernel__inner__scale=5.0)
        assert model.kernel_y.kernels[1].kernel.inner == Gaussian(5.0)
        assert kernel.inner == Gaussian(2.0)

    def test_they_are_searched(self):
        X, y = wavy()
        model = JointDistribution(Cosine(), regularization=0.01, random_state=0)
        grid = {"kernel_x__period": [1.0, 2 * np.pi]}
        search = GridSearchCV(model, grid, cv=3).fit(X, y)
        assert search.best_params_ == {"kernel_x__period": 2 * np.pi}


def by_hand(make, grid, splits, X, y):
    """Return the mean scores of all models of a grid, in the order of its product."""
    return [
        np.mean([make(*p).fit(X[i], y[i]).score(X[j], y[j]) for i, j in splits])
        for p in product(*grid.values())
    ]


class TestSearches:
    def check(self, search, make, splits, X, y):
        grid = search.param_grid
        scores = by_hand(make, grid, splits, X, y)
        search.fit(X, y)
        assert_allclose(search.cv_results_["mean_test_score"], scores, rtol=1e-9)
        best = list(product(*grid.values()))[int(np.argmax(scores))]
        assert tuple(search.best_params_[name] for name in grid) == best
        table = np.reshape(scores, [len(values) for values in grid.values()])
        for axis in range(table.ndim):  # every parameter matters
            assert np.ptp(table, axis=axis).max() > 0.01
        assert_array_equal(search.predict(X), make(*best).fit(X, y).predict(X))

    @pytest.mark.parametrize("family", TWO_SIDED)
    @pytest.mark.parametrize("n_jobs", [None, 2])
    def test_a_grid_in_a_pipeline(self, family, n_jobs):
        X, y = wavy()
        splits = list(KFold(3).split(X))
        how = {"positivity": "none", "random_state": 0}  # projections take long

        def make(scale, ridge):
            model = family(Gaussian(scale), Gaussian(), regularization=ridge, **how)
            return make_pipeline(StandardScaler(), model)

        model = family(Gaussian(), Gaussian(), **how)
        step = family.__name__.lower()
        grid = {
            f"{step}__kernel_x__scale": [0.1, 0.5, 2.0],
            f"{step}__regularization": [1e-4, 1e-2],
        }
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model), grid, cv=splits, n_jobs=n_jobs
        )
        self.check(search, make, splits, X, y)
        assert model.kernel_x == Gaussian()

    @pytest.mark.parametrize("family", CLASSIFIERS)
    def test_a_grid_of_classifiers(self, family):
        X, y = wavy(200)
        y = np.where(y > 0.3, "high", "low")
        splits = list(StratifiedKFold(4).split(X, y))

        def make(scale, ridge):
            kernel = Gaussian(scale).on(0) * Matern().on(1)
            model = family(kernel, regularization=ridge, random_state=0)
            return make_pipeline(StandardScaler(), model)

        model = family(Gaussian().on(0) * Matern().on(1), random_state=0)
        step = family.__name__.lower()
        grid = {
            f"{step}__kernel_x__0__kernel__scale": [0.2, 2.0, 20.0],
            f"{step}__regularization": [1e-4, 1e-1],
        }
        search = GridSearchCV(make_pipeline(StandardScaler(), model), grid, cv=splits)
        self.check(search, make, splits, X, y)

    def test_halving(self):
        X, y = wavy(240)
        how = {"regularization": 1e-3, "positivity": "none", "random_state": 0}
        model = JointDistribution(Gaussian().on(0), Gaussian(), **how)
        grid = {"kernel_x__kernel__scale": [0.01, 1.0, 100.0], "tol": [1e-3, 1e-4]}
        search = HalvingGridSearchCV(model, grid, cv=3, random_state=0).fit(X, y)
        assert search.best_params_["kernel_x__kernel__scale"] == 1.0
        assert search.best_estimator_.kernel_x == Gaussian(1.0).on(0)
        assert search.n_iterations_ >= 2

    def test_random_draws(self):
        X, y = wavy()
        how = {"positivity": "none", "random_state": 0}
        model = ConditionalMeanEmbedding(Gaussian().on(0), Gaussian(), **how)
        drawn = {
            "kernel_x__kernel__scale": loguniform(0.1, 10.0),
            "regularization": loguniform(1e-4, 1e-1),
        }
        search = RandomizedSearchCV(model, drawn, n_iter=4, cv=3, random_state=0).fit(X, y)
        best = search.best_params_["kernel_x__kernel__scale"]
        assert search.best_estimator_.kernel_x == Gaussian(best).on(0)
        scales = search.cv_results_["param_kernel_x__kernel__scale"]
        assert len(set(scales)) == 4
        i = int(np.argmax(search.cv_results_["mean_test_score"]))
        assert scales[i] == best

    def test_kernels_and_their_scales_together(self):
        X, y = wavy()
        arguments = {"kernel_y": Gaussian(), "regularization": 1e-3, "random_state": 0}
        arguments["positivity"] = "none"  # projections take long
        model = JointDistribution(**arguments)
        grid = {
            "kernel_x": [Gaussian(), Laplace()],
            "kernel_x__scale": [(0.5, 50.0), (100.0, 0.1)],
        }
        splits = list(KFold(3).split(X))

        def make(kernel, scale):
            kernel = type(kernel)(scale)
            return JointDistribution(kernel, **arguments)

        self.check(GridSearchCV(model, grid, cv=splits), make, splits, X, y)
