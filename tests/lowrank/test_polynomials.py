"""Orthonormal polynomials of a sample, and the joint distribution made of them."""

import pickle
from functools import partial
from itertools import product
from math import comb

import numpy as np
import pytest
from array_api_strict import asarray as strict
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import jointdist as jd
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows
from jointdist.errors import ToleranceWarning
from jointdist.lowrank.polynomials import orthonormal_polynomials
from jointdist.lowrank.structure import structure
from jointdist.programs import Status

JPDL = jd.PolynomialJointDistribution
JPDL4 = partial(JPDL, 4)


QUICK = jd.Selection(cv=0.2)  # one part held out, where the choice is not the point


@parametrize_with_checks(
    [
        JPDL(selection=jd.Selection(cv=0.5)),
        JPDL(degree=2, positivity="sos", selection=jd.Selection(cv=0.5)),
    ]
)
@pytest.mark.filterwarnings("ignore:PolynomialJointDistribution:UserWarning")
@pytest.mark.filterwarnings("ignore::jointdist.errors.SignedDistributionWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


def rows(table):
    return as_rows(table, where="test", name="X", vector=True)


def polynomials(degree, X, Y=None, weights=None, *, seed=0, **arguments):
    Y = X if Y is None else Y
    executor = Executor(**arguments)
    both = rows(X), rows(Y)
    degrees = degree, degree
    return orthonormal_polynomials(degrees, *both, weights, seed=seed, executor=executor)


def gram(functions, X, weights=None):
    """Return the Gram matrix of the functions over rows."""
    F = functions.features(np.asarray(X, dtype=float))
    w = np.ones(len(F)) if weights is None else weights
    return (w[:, None] * F).T @ F / w.sum()


def monomials(X, degree):
    """Return all monomials up to a total degree, one by one."""
    exponents = product(range(degree + 1), repeat=X.shape[1])
    return np.stack(
        [np.prod(X ** np.array(e), axis=1) for e in exponents if sum(e) <= degree], axis=1
    )


LAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "far away": lambda rng, shape: 1e6 + rng.normal(size=shape),
    "tiny": lambda rng, shape: 1e-9 * rng.normal(size=shape),
    "huge": lambda rng, shape: 1e70 * rng.normal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
    "Cauchy": lambda rng, shape: rng.standard_cauchy(size=shape),
    "lognormal": lambda rng, shape: np.exp(2 * rng.normal(size=shape)),
    "binary": lambda rng, shape: rng.integers(0, 2, shape).astype(float),
    "counts": lambda rng, shape: rng.poisson(1.0, shape).astype(float),
    "constant": lambda _rng, shape: np.full(shape, 3.0),
}


class TestOrthonormal:
    """The Gram matrix over the sample is the identity, whatever the sample."""

    @pytest.mark.parametrize("dist", LAWS)
    @pytest.mark.parametrize("d", [1, 2, 3, 5])
    @pytest.mark.parametrize("degree", [1, 2, 3, 4])
    def test_every_distribution(self, dist, d, degree):
        rng = np.random.default_rng(d + degree)
        X = LAWS[dist](rng, (1000, d))
        found = polynomials(degree, X)
        assert_allclose(gram(found.x, X), np.eye(found.x.rank), atol=1e-8)
        assert found.x.rank + found.dropped[0] == comb(d + degree, d)
        if dist in {"normal", "far away", "tiny", "huge", "t3", "Cauchy", "lognormal"}:
            assert found.dropped == (0, 0)

    @pytest.mark.parametrize("dist", ["normal", "Cauchy", "binary", "counts"])
    def test_many_rows(self, dist):
        """More than are made orthonormal at first."""
        X = LAWS[dist](np.random.default_rng(0), (40_000, 3))
        found = polynomials(4, X)
        assert_allclose(gram(found.x, X), np.eye(found.x.rank), atol=1e-8)
        moments = np.asarray(found.moments.gram_x) / 40_000
        assert_allclose(moments, np.eye(found.x.rank), atol=1e-12)

    @given(st.integers(1, 40), st.integers(1, 3), st.integers(1, 4), st.integers(0, 999))
    @settings(max_examples=60)
    def test_few_rows_with_weights(self, n, d, degree, seed):
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(n, d)).round(1), rng.integers(0, 3, n).astype(float)
        w[0] = 1.0
        found = polynomials(degree, X, weights=w)
        assert_allclose(gram(found.x, X, w), np.eye(found.x.rank), atol=1e-8)
        V = monomials(X[w > 0], degree)
        V = V / np.abs(V).max(axis=0).clip(1e-300)
        assert found.x.rank == np.linalg.matrix_rank(V, tol=1e-10)

    def test_the_moments_are_those_of_the_functions(self):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(30_000, 2)), rng.exponential(size=(30_000, 3))
        found = polynomials(3, X, Y)
        F_x, F_y = found.x.features(X), found.y.features(Y)
        assert_allclose(found.moments.gram_yx, F_y.T @ F_x, atol=1e-8 * 30_000)
        v = Y - np.asarray(found.y.origin)
        assert_allclose(found.moments.powers_y[1:, :3], F_y.T @ v, atol=1e-7 * 30_000)
        assert found.moments.error_x == 0

    def test_blocks_threads_and_parts_do_not_matter(self):
        X = np.random.default_rng(0).standard_t(3, size=(30_000, 2))
        first = polynomials(4, X)
        for other in (
            polynomials(4, X, block_rows=700, workers=1),
            polynomials(4, X, seed=5),
        ):
            K = first.x.kernel(X[:50], X[50:90])
            assert_allclose(other.x.kernel(X[:50], X[50:90]), K, rtol=1e-7, atol=1e-7)

    def test_lower_degrees_come_first(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(500, 3))
        found = polynomials(4, X)
        F = found.x.features(X)
        for degree, m in ((0, 1), (1, 4), (2, 10), (3, 20)):
            V = monomials(X, degree)
            rest = V - F[:, :m] @ np.linalg.lstsq(F[:, :m], V)[0]
            assert_allclose(rest, 0, atol=1e-9 * np.abs(V).max())

    def test_relations_are_found_on_all_rows(self):
        """A column that is constant on nearly all rows is not dropped for that."""
        X = np.random.default_rng(0).normal(size=(200_000, 2))
        X[:, 1] = 0
        X[[5, 77, 190_000], 1] = 1
        found = polynomials(2, X)
        assert_allclose(gram(found.x, X), np.eye(found.x.rank), atol=1e-8)
        assert (found.x.rank, found.dropped[0]) == (5, 1)

    @pytest.mark.parametrize("n", [2000, 50_000])
    @pytest.mark.parametrize("apart", [1e-2, 1e-3, 1e-5])
    def test_columns_that_are_nearly_collinear(self, n, apart):
        x, a, b = np.random.default_rng(0).normal(size=(3, n))
        X = np.stack([x, x + apart * a, x + 0.1 * apart * b], axis=1)
        found = polynomials(4, X)
        assert found.dropped == (0, 0)
        assert_allclose(gram(found.x, X), np.eye(35), atol=1e-8)

    @pytest.mark.parametrize("apart", [2e-10, 7e-10, 1e-9, 2e-9])
    def test_columns_at_the_border_of_collinear(self, apart):
        """A multiple of a function that was dropped is dropped too, whatever its size."""
        X = np.random.default_rng(0).normal(size=(20_000, 3))
        X[:, 1] = X[:, 0] + apart * X[:, 1]
        found = polynomials(4, X)
        assert_allclose(gram(found.x, X), np.eye(found.x.rank), atol=1e-8)

    @pytest.mark.parametrize("n", [1000, 50_000])
    @pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
    def test_one_row_far_out(self, n, size):
        x = np.random.default_rng(0).normal(size=(n, 1))
        x[n // 2] = size
        found = polynomials(4, x)
        assert_allclose(gram(found.x, x), np.eye(found.x.rank), atol=1e-8)

    def test_tails_beyond_all_reason(self):
        X = np.exp(6 * np.random.default_rng(3).normal(size=(50_000, 5)))
        found = polynomials(4, X)
        assert_allclose(gram(found.x, X), np.eye(found.x.rank), atol=1e-8)

    def test_rows_on_a_curve(self):
        x = np.random.default_rng(0).normal(size=1000)
        found = polynomials(4, np.stack([x, x**2], axis=1))
        assert found.x.rank == 9  # the powers of x up to eight
        assert found.dropped[0] == 6

    def test_kernel(self):
        """The kernel is that of Gram's matrix of the monomials."""
        rng = np.random.default_rng(0)
        X, Z = rng.normal(size=(400, 2)), rng.normal(size=(7, 2))
        V, U = monomials(X, 3), monomials(Z, 3)
        K = V @ np.linalg.solve(V.T @ V / 400, U.T)
        kernel = polynomials(3, X).x.kernel
        assert_allclose(kernel(X, Z), K, atol=1e-10)
        assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), atol=1e-10)
        assert repr(kernel) == "SampleKernel(degree 3, 10 functions)"

    def test_other_arrays(self):
        X = np.random.default_rng(0).normal(size=(300, 2))
        here, there = polynomials(3, X), polynomials(3, strict(X))
        assert type(there.x.core).__module__.startswith("array_api_strict")
        assert_allclose(np.asarray(there.x.features(strict(X))), here.x.features(X))

    @pytest.mark.parametrize("dist", ["normal", "t3", "binary", "counts"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_products(self, dist, weighted):
        """The structure constants multiply functions, also away from the sample."""
        rng = np.random.default_rng(0)
        X = LAWS[dist](rng, (800, 2))
        w = rng.integers(1, 4, 800).astype(float) if weighted else None
        found = polynomials(4, X, weights=w).x
        kept, C = structure(found, rows(X), w, executor=Executor(block_rows=300))
        Z = X[:50] if dist in {"binary", "counts"} else 3 * X[:50] + 5
        F = found.features(Z)
        k = np.count_nonzero(found.exponents.sum(axis=1) <= 2)
        assert_array_equal(kept, np.arange(k))
        products = np.einsum("zi,zj->zij", F[:, :k], F[:, :k])
        size = np.abs(products).max()
        assert_allclose(np.einsum("kij,zk->zij", C, F), products, atol=1e-9 * size)
        assert_allclose(C[0], np.eye(k), atol=1e-9)


def sample(n=600, d=1, seed=0, rho=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rho * X + np.sqrt(1 - rho**2) * rng.normal(size=(n, d))


class TestClosedForm:
    """Without positivity the model is a projection on products of polynomials."""

    @pytest.mark.parametrize("marginals", ["free", "total", "exact"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("ridge", [0.0, 0.3])
    def test_equals_the_dense_solution(self, marginals, weighted, ridge):
        X, Y = sample(60, 2)
        rng = np.random.default_rng(1)
        w = rng.integers(1, 4, 60).astype(float) if weighted else None
        model = JPDL(2, regularization=ridge, marginals=marginals).fit(X, Y, w)
        share = np.full(60, 1 / 60) if w is None else w / w.sum()
        V, U = monomials(X, 2), monomials(Y, 2)
        # all coefficients A of u' A v at once, in the norm of the product of the samples
        T = np.einsum("ia,jb->ijab", V, U).reshape(3600, -1)
        pairs = np.multiply.outer(share, share).ravel()
        diagonal = np.arange(60) * 61
        G = (T * pairs[:, None]).T @ T
        b = share @ T[diagonal] - pairs @ T
        A = np.linalg.solve((1 + ridge) * G, b)
        assert_allclose(model.ratio(X, Y, grid=True).ravel(), 1 + T @ A, atol=1e-8)
        value = (1 + ridge) * A @ G @ A - 2 * b @ A
        assert_allclose(model.solution_.objective, value, rtol=1e-8)

    def test_exact_marginals(self):
        X, Y = sample(500, 2)
        dist = JPDL4().fit(X, Y).given(x=5 * X)
        assert_allclose(dist.mass(), 1, atol=1e-9)

    def test_known_truth(self):
        """Correlation one half: the coefficients are the powers of it (Mehler)."""
        X, y = sample(200_000, rho=0.5)
        model = JPDL4(regularization=0.0).fit(X, y[:, 0])
        assert_allclose(
            np.abs(np.diag(model.coefficients_))[1:], [0.5, 0.25, 0.125, 0.0625], atol=0.03
        )
        x = np.linspace(-1, 1, 9)[:, None]
        assert_allclose(model.predict(x), 0.5 * x[:, 0], atol=0.02)

    def test_default_ridge(self):
        X, y = sample(300)
        noise = np.random.default_rng(5).normal(size=300)
        assert JPDL().fit(X, noise).regularization_ > JPDL().fit(X, y).regularization_ * 5
        rng = np.random.default_rng(6)
        truth = JPDL4(regularization=0.0).fit(*sample(30_000, 2, seed=9))
        Z, W = rng.normal(size=(2, 500, 2))
        errors = {"auto": [], 0.0: []}
        for (name, error), seed in product(errors.items(), range(3)):
            how = jd.Selection("ratio")
            model = JPDL4(regularization=name, selection=how, random_state=0).fit(
                *sample(300, 2, seed=seed)
            )
            error.append(np.mean((model.ratio(Z, W) - truth.ratio(Z, W)) ** 2))
        assert np.mean(errors["auto"]) < np.mean(errors[0.0])


class TestRowsComeAndGo:
    """Polynomials have no landmarks: rows added or taken out leave no trace."""

    def test_added(self):
        X, Y = sample(500, 2)
        model = (
            JPDL4(regularization=0.1).fit(X[:200], Y[:200]).partial_fit(X[200:], Y[200:])
        )
        whole = JPDL4(regularization=0.1).fit(X, Y)
        assert_allclose(model.ratio(X, Y), whole.ratio(X, Y), atol=1e-9)
        assert_allclose(model.regularization_, whole.regularization_)
        model.forget(X[200:], Y[200:])
        first = JPDL4(regularization=0.1).fit(X[:200], Y[:200])
        assert_allclose(model.ratio(X, Y), first.ratio(X, Y), atol=1e-7)

    def test_novelty_and_degree_follow(self):
        X, Y = sample(500, 2)
        model = JPDL4(regularization=0.1).fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
        far = [[6.0, 0.0], [3.0, -3.0]]
        whole = JPDL4(regularization=0.1).fit(X, Y).given(x=far).novelty()
        assert_allclose(model.given(x=far).novelty(), whole, atol=1e-8)
        assert model.given(x=X).novelty().max() <= 1e-15
        model.set_params(degree=2).partial_fit(X[:9], Y[:9])
        assert model.degrees_ == (4, 4)  # until the next fit

    def test_taken_out_far_away(self):
        X, Y = sample(300)
        far = 1e8 + 1e8 * X[:10]
        model = (
            JPDL4(regularization=0.1)
            .fit(np.r_[X, far], np.r_[Y, Y[:10]])
            .forget(far, Y[:10])
        )
        fresh = JPDL4(regularization=0.1).fit(X, Y)
        assert model.dropped_ == (0, 0)
        assert_allclose(model.ratio(X, Y), fresh.ratio(X, Y), atol=1e-7)

    def test_added_far_away(self):
        X, Y = sample(300, 2)
        model = JPDL(2, regularization=0.1).fit(X, Y).partial_fit(1e4 + 100 * X, 50 * Y)
        whole = JPDL(2, regularization=0.1).fit(np.r_[X, 1e4 + 100 * X], np.r_[Y, 50 * Y])
        assert_allclose(model.ratio(X, Y), whole.ratio(X, Y), atol=1e-7)

    def test_relations_that_new_rows_break(self):
        X, Y = sample(300)
        X[:150] = X[:150] > 0
        with pytest.warns(ToleranceWarning, match="4 functions of X|3 functions of X"):
            model = JPDL4(regularization=0.1).fit(X[:150], Y[:150])
        model.partial_fit(X[150:], Y[150:])
        assert model.dropped_ == (0, 0)
        whole = JPDL4(regularization=0.1).fit(X, Y)
        assert_allclose(model.ratio(X, Y), whole.ratio(X, Y), atol=1e-9)


class TestSumsOfSquares:
    """Positive for every x and y, with the matrix that proves it."""

    @pytest.mark.parametrize(("d", "n"), [(1, 400), (2, 400), (3, 2000)])
    @pytest.mark.parametrize("marginals", ["total", "free"])
    def test_positive_everywhere(self, d, n, marginals):
        X, Y = sample(n, d, rho=0.8)
        model = JPDL4(positivity="sos", marginals=marginals, regularization=1e-3).fit(X, Y)
        rng = np.random.default_rng(1)
        assert model.solution_.status is Status.OPTIMAL
        assert np.linalg.eigvalsh(model.solution_.gram)[0] >= -1e-9
        for far in (1.0, 10.0, 1000.0):
            Z, W = far * rng.normal(size=(2, 2000, d))
            ratio = model.ratio(Z, W)
            size = np.abs(model.basis_y_.features(W)) @ np.abs(model.coefficients_)
            size = 1 + np.sum(size * np.abs(model.basis_x_.features(Z)), axis=1)
            assert (ratio >= -1e-9 * size).all()
            assert_allclose((model.squares(Z, W) - ratio) / size, 0, atol=1e-9)
        free = JPDL4(marginals=marginals, regularization=1e-3).fit(X, Y)
        assert free.ratio(Z, W).min() < 0
        assert free.solution_.objective < model.solution_.objective < 0

    @pytest.mark.filterwarnings("ignore:PolynomialJointDistribution:UserWarning")
    @pytest.mark.parametrize(
        "kind", ["outlier", "collinear", "rounded", "circle", "shares", "few values"]
    )
    def test_relations_that_hold_nearly(self, kind):
        """The ratio is the sum of squares, and positive, on the grid of the sample."""
        rng = np.random.default_rng(0)
        a, b, e = rng.normal(size=(3, 1000))
        X = {
            "outlier": np.where(np.arange(1000) == 0, 1e6, a)[:, None],
            "collinear": np.stack([a, a + 1e-5 * b], axis=1),
            "rounded": np.stack([a.round(2), (1.8 * a + 32).round(2)], axis=1),
            "circle": np.stack([np.cos(a), np.sin(a)], axis=1).astype(np.float32),
            "shares": rng.dirichlet([1, 2, 3], 1000).astype(np.float32),
            "few values": np.stack([a, rng.integers(0, 3, 1000)], axis=1),
        }[kind]
        y = a + e
        model = JPDL4(positivity="sos", regularization=1e-3).fit(X, y)
        assert model.solution_.status.ok
        ratio = model.ratio(X, y, grid=True)
        assert ratio.min() >= -1e-6
        own = model.ratio(X, y)
        assert_allclose(model.squares(X, y), own, rtol=1e-6, atol=1e-6)
        assert model.given(x=X[:200]).negative_share().max() < 1e-6

    def test_many_columns(self):
        X, Y = sample(400, 5, rho=0.5)
        model = JPDL4(positivity="sos", regularization=0.5).fit(X, Y[:, :4])
        assert model.coefficients_.size > 5000  # too many for the interior-point method
        assert model.solution_.status.ok
        assert model.ratio(3 * X, Y[:, :4]).min() > -1e-9

    def test_certificate(self):
        X, Y = sample(500, 2)
        model = JPDL4(positivity="sos").fit(X, Y)
        assert_allclose(model.squares(X, Y), model.ratio(X, Y), atol=1e-6)
        dist = model.given(x=4 * X)
        assert_allclose(dist.negative_share(), 0, atol=1e-12)
        assert dist.mass().min() > 0
        assert_allclose(dist.weights().sum(axis=1), 1)

    def test_total_mass(self):
        X, Y = sample(300, 1, rho=0.9)
        model = JPDL4(positivity="sos", regularization=0.0).fit(X, Y)
        assert abs(model.coefficients_[0, 0]) < 1e-12
        assert_allclose(model.ratio(X, Y, grid=True).mean(), 1)

    @pytest.mark.filterwarnings("ignore:PolynomialJointDistribution:UserWarning")
    def test_where_the_relations_of_the_sample_hold(self):
        """Binary columns: what is positive for zero and one may depend on them."""
        rng = np.random.default_rng(0)
        X = rng.integers(0, 2, (400, 2)).astype(float)
        y = X[:, 0] + rng.normal(size=400)
        model = JPDL4(positivity="sos", regularization=1e-3).fit(X, y)
        corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
        ratio = model.ratio(corners, np.linspace(-50, 50, 1001), grid=True)
        assert ratio.min() >= 0
        means = model.given(x=corners).mean()
        assert means[2:].mean() - means[:2].mean() > 0.5

    def test_dependent_rows_of_small_samples(self):
        X, Y = sample(12, 2)
        with pytest.warns(ToleranceWarning, match="were dropped. A lower `degree`"):
            model = JPDL4(positivity="sos").fit(X, Y)
        assert model.solution_.status.ok
        assert model.ratio(X, Y, grid=True).min() > -1e-6

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"degree": 3}, '`degree` must be even for positivity "sos". Got 3'),
            ({"marginals": "exact"}, '`marginals` must be "total" or "free" for posit'),
        ],
    )
    def test_what_cannot_be(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            JPDL(positivity="sos", **arguments).fit(*sample(50))

    def test_exact_marginals_leave_only_independence(self):
        """Why they are refused: no direction that keeps them is positive far away."""
        X, Y = sample(400, rho=0.7)
        model = JPDL(2, regularization=0.0).fit(X, Y)
        H = np.diag([0, 1e-3, 1e-3]) * np.sign(model.coefficients_)
        z = np.linspace(-1e4, 1e4, 2001)[:, None]
        ratio = 1 + model.basis_x_.features(z) @ H.T @ model.basis_y_.features(z).T
        assert ratio.min() < 0


class TestEstimator:
    """The rest of the interface is that of JointDistribution."""

    @pytest.mark.parametrize("positivity", ["tightened", "grid"])
    @pytest.mark.parametrize("marginals", ["total", "exact"])
    def test_positive_on_the_sample(self, positivity, marginals):
        X, Y = sample(150, 1, rho=0.8)
        model = JPDL4(positivity=positivity, marginals=marginals, regularization=1e-2)
        model.fit(X, Y[:, 0])
        assert model.ratio(X, Y[:, 0], grid=True).min() >= -1e-9
        assert model.solution_.status.ok
        assert model.score(X, Y[:, 0]) > 0

    def test_both_directions(self):
        X, Y = sample(800, 2)
        model = JPDL4(selection=QUICK, random_state=0).fit(X, Y)
        assert_allclose(model.given(y=Y[:5]).mean(), 0.5 * Y[:5], atol=0.25)
        assert model.marginal("y").mean().shape == (1, 2)
        assert model.dependence(permutations=19).p_value == 0.05
        assert model.score(X, Y) > 0.05

    def test_novelty(self):
        X, Y = sample(500, 2)
        near, far = JPDL4().fit(X, Y).given(x=[[0.0, 0.0], [40.0, 40.0]]).novelty()
        assert near == 0
        assert far > 0.99

    def test_tools_of_scikit_learn(self):
        X, Y = sample(300, 2)
        search = GridSearchCV(
            JPDL(selection=QUICK, random_state=0),
            {"degree": [1, 2], "positivity": ["none", "sos"]},
            cv=3,
        )
        odd = search.set_params(error_score=np.nan, param_grid={"degree": [1, 2]})
        assert odd.fit(X, Y).best_score_ > 0
        model = JPDL(2, selection=QUICK, random_state=0)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
        assert_allclose(pipeline.predict(X), model.fit(X, Y).predict(X), atol=1e-8)
        model = model.set_params(degree=4).fit(X, Y)
        again = pickle.loads(pickle.dumps(model))  # noqa: S301
        assert_allclose(again.predict(X), clone(again).fit(X, Y).predict(X))

    def test_many_columns(self):
        X = np.random.default_rng(0).normal(size=(50, 20))
        message = "degree 4 in the 20 columns of X would be 10,626; their degree is 3"
        with pytest.warns(ToleranceWarning) as told:
            model = JPDL4().fit(X, X[:, 0])
        assert model.degrees_ == (3, 4)
        assert message in str(told[0].message)
        assert "1721 functions of X and 0 of Y" in str(told[1].message)
        with pytest.warns(ToleranceWarning) as told:
            assert JPDL4(positivity="sos").fit(X, X[:, 0]).degrees_ == (2, 4)
        assert "their degree is 2" in str(told[0].message)
        with pytest.raises(ValueError, match="`X` must be of at most 2,048 functions"):
            JPDL(1).fit(np.zeros((3, 2048)), [1, 2, 3])

    def test_categories_of_y_are_refused(self):
        with pytest.raises(
            ValueError, match=r"`Y` must be numbers. Got categories in column 0"
        ):
            JPDL().fit([[1.0], [2.0]], ["a", "b"])

    def test_categories_of_x_are_embedded(self):
        rng = np.random.default_rng(0)
        code = rng.integers(3, size=300)
        X, y = np.array(["a", "b", "c"])[code][:, None], code + 0.1 * rng.normal(size=300)
        model = JPDL(1, random_state=0).fit(X, y)
        assert_allclose(model.predict([["a"], ["b"], ["c"]]), [0, 1, 2], atol=0.1)
        back = model.given(y=[0.0, 2.0])
        assert_array_equal(back.mode(), ["a", "c"])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"degree": 0}, '`degree` must be an integer of at least 1, or "auto". Got 0'),
            ({"degree": 2.0}, "`degree` must be an integer"),
            ({"positivity": "pointwise"}, "`positivity` must be one of"),
            ({"marginals": "none"}, "`marginals` must be one of"),
            ({"regularization": -1.0}, "`regularization` must be a number of at least 0"),
        ],
    )
    def test_bad_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            JPDL(**arguments).fit(*sample(20))

    def test_squares_of_another_positivity(self):
        X, Y = sample(50)
        with pytest.raises(
            ValueError, match=r"`positivity` must be .sos.. Got 'projected' in"
        ):
            JPDL4().fit(X, Y).squares(X, Y)
