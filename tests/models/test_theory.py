"""The statements of the paper, and the promises that go beyond it, on small samples.

What the library computes by low rank in a rotated basis is compared with what the paper
writes down: n² unknowns on the grid of the sample (``dense.py``).
"""

import warnings

import dense
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles import algorithm_1
from strategies import points, seeds

import jointdist as jd
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import as_rows
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Delta, Gaussian, Laplace, Matern
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.cholesky import pivoted_cholesky
from jointdist.lowrank.reduction import reduce_sample
from jointdist.models import coefficients
from jointdist.models.positivity_bounds import norm_bound, pivot_features
from jointdist.programs import Objective, closed_form, grid_positive, pivot_positive

MARGINALS = ["free", "total", "exact"]
KERNELS = {
    "gaussian": (Gaussian(0.7), Gaussian(0.5)),
    "matern": (Matern(1.0, nu=1.5), Matern(1.0, nu=2.5)),
    "wide": (Gaussian(3.0), Matern(3.0, nu=0.5)),
}

_scale = st.floats(0.3, 3)
bounded_kernels = st.one_of(
    st.builds(Gaussian, _scale),
    st.builds(Laplace, _scale),
    st.builds(Matern, _scale, nu=st.sampled_from([0.5, 1.5, 2.5])),
    st.just(Delta()),
    st.builds(lambda scale: Gaussian(scale).on(0) * Delta(0.3).on(1), _scale),
)
ridges = st.sampled_from([1e-3, 1e-2, 0.1, 1.0])


@st.composite
def samples(draw, max_rows=10):
    """Draw paired tables: dependent or not, with ties on either side, or one row."""
    X = draw(points(max_rows))
    rng = np.random.default_rng(draw(seeds))
    match draw(st.sampled_from(["near", "tied", "apart"])):
        case "near":
            return X, X[:, :2] + 0.3 * rng.normal(size=(len(X), 2))
        case "tied":
            return X, rng.integers(0, 3, size=(len(X), 2)).astype(float)
    return X, rng.normal(size=(len(X), 2))


def dependent(n, seed=0, noise=0.4):
    """Return a sample whose unconstrained model has negative weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.sin(2 * X[:, :1]) + noise * rng.normal(size=(n, 1))


def fitted(kernels, X, Y, weights=None, **options):
    options = {"regularization": 1e-2, "positivity": "none", "random_state": 0} | options
    return jd.JointDistribution(*kernels, **options).fit(X, Y, weights)


def kernel_matrices(kernels, X, Y, *, centred):
    k_x, k_y = kernels
    K_x = dense.canonical(k_x, X, X, centred=centred)
    return K_x, dense.canonical(k_y, Y, Y, centred=centred)


def on_grid(model, X, Y):
    """Return 1 + h on the grid as the paper has it: a row for each y."""
    return model.ratio(X, Y, grid=True).T


# Section 3: the representer theorem.


def assert_represents(model, H, kernels, sample, *, atol=1e-6):
    """Check that the model is the function with coefficients H, there and elsewhere."""
    (X, Y), centred = sample, model.marginals == "exact"
    rng = np.random.default_rng(1)
    far = rng.normal(size=(7, 1)) * 10
    Z = np.concatenate([X, X + 0.1, far + np.zeros(X.shape[1])])
    W = np.concatenate([Y, Y - 0.2, far + np.zeros(Y.shape[1])])
    Phi_x = dense.canonical(kernels[0], X, Z, centred=centred)
    Phi_y = dense.canonical(kernels[1], Y, W, centred=centred)
    assert_allclose(on_grid(model, Z, W), 1 + Phi_y @ H @ Phi_x.T, atol=atol)


@given(sample=samples(), k_x=bounded_kernels, k_y=bounded_kernels, ridge=ridges)
@pytest.mark.parametrize("marginals", MARGINALS)
def test_the_model_is_the_dense_solution(marginals, sample, k_x, k_y, ridge):
    """Theorem `thm:representer`: of the form Eq. `eq:state_ij_id`, and at the optimum.

    The functions are those of Eq. `PhiXYdef`; with exact marginals, of the centred kernel.
    """
    X, Y = sample
    model = fitted((k_x, k_y), X, Y, regularization=ridge, marginals=marginals)
    K = kernel_matrices((k_x, k_y), X, Y, centred=marginals == "exact")
    H = dense.solution(*K, ridge, normalised=marginals == "total")
    lost = 1e-8 / ridge  # rows apart by rounding are one landmark, and H is up to 1 / ridge
    assert_represents(model, H, (k_x, k_y), sample, atol=max(lost, 1e-6))


@pytest.mark.parametrize("marginals", MARGINALS)
@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
def test_forty_rows_are_the_dense_solution(kernels, marginals):
    X, Y = dependent(40)
    model = fitted(kernels, X, Y, regularization=3e-3, marginals=marginals)
    K = kernel_matrices(kernels, X, Y, centred=marginals == "exact")
    H = dense.solution(*K, 3e-3, normalised=marginals == "total")
    assert_represents(model, H, kernels, (X, Y))
    if marginals == "total":  # Eq. `eq:norma`
        assert_allclose(K[1].sum(axis=0) @ H @ K[0].sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("marginals", MARGINALS)
@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize(("n", "ridge"), [(8, 3e-2), (12, 1e-3)])
def test_with_positivity_too_it_is_the_dense_solution(kernels, marginals, n, ridge):
    """Eq. `optgenC` with all inequalities of Eq. `posiC`, by another solver."""
    X, Y = dependent(n)
    model = fitted(
        kernels, X, Y, regularization=ridge, marginals=marginals, positivity="grid"
    )
    K = kernel_matrices(kernels, X, Y, centred=marginals == "exact")
    H = dense.positive_solution(*K, ridge, normalised=marginals == "total")
    assert_represents(model, H, kernels, (X, Y))
    assert on_grid(model, X, Y).min() >= -1e-12
    assert_allclose(dense.objective(H, *K, ridge), model.solution_.objective, atol=1e-9)


def test_positivity_binds_in_these_examples():
    X, Y = dependent(12)
    model = fitted(KERNELS["gaussian"], X, Y, regularization=1e-3, positivity="grid")
    assert len(model.solution_.multipliers["pairs"]) > 5


@given(sample=samples(), k_x=bounded_kernels, k_y=bounded_kernels, ridge=ridges)
@pytest.mark.parametrize("marginals", MARGINALS)
def test_the_objective_is_that_of_the_paper(marginals, sample, k_x, k_y, ridge):
    """Eq. `Rcaldef` at the H of the model, and the loss of Eq. `optgen` but a constant."""
    X, Y = sample
    n = len(X)
    model = fitted((k_x, k_y), X, Y, regularization=ridge, marginals=marginals)
    K_x, K_y = kernel_matrices((k_x, k_y), X, Y, centred=marginals == "exact")
    Q_x, Q_y = expansion(model.basis_x_, n), expansion(model.basis_y_, n)
    H = Q_y @ model.coefficients_ @ Q_x.T
    value = model.solution_.objective
    assert_allclose(dense.objective(H, K_x, K_y, ridge), value, atol=1e-6)
    loss = dense.worst_case_loss(on_grid(model, X, Y))
    norm = np.sum(model.coefficients_**2)
    assert_allclose(loss + ridge * norm, n - 1 + value, atol=1e-9 * n)


def expansion(basis, n):
    """Return Q = B V with its rows of zeros."""
    Q = np.zeros((n, basis.rank))
    Q[basis.pivots] = basis.expansion
    return Q


def test_the_dense_solution_is_a_minimum(rng):
    X, Y = dependent(10)
    K = kernel_matrices(KERNELS["matern"], X, Y, centred=False)
    H = dense.solution(*K, 1e-2, normalised=False)
    least = dense.objective(H, *K, 1e-2)
    for step in 10.0 ** rng.uniform(-4, 1, size=50):
        D = step * rng.normal(size=H.shape)
        assert dense.objective(H + D, *K, 1e-2) > least


# Section 2: what is learned, and how far it is from the truth.


@pytest.mark.parametrize("marginals", MARGINALS)
@pytest.mark.parametrize("weighted", [False, True])
def test_laws_and_marginals_are_those_of_the_grid(marginals, weighted, rng):
    """Eq. `Qhdef` on the grid gives Eq. `QXYeq` and Eq. `QXYYXcond`, by their sums."""
    X, Y = dependent(30)
    X, Y = X.round(), Y.round(1)
    w = rng.integers(1, 4, size=30) if weighted else np.ones(30)
    model = fitted(KERNELS["wide"], X, Y, w if weighted else None, marginals=marginals)
    share = w / w.sum()
    Q = model.ratio(X, Y, grid=True) * np.outer(share, share)
    for of, Q_of in (("x", Q.sum(axis=1)), ("y", Q.sum(axis=0))):
        dist = model.marginal(of)
        assert_allclose(dist.mass(), Q.sum(), atol=1e-12)
        assert_allclose(dist.weights()[0] * dist.mass(), Q_of, atol=1e-12)
    given_x = model.ratio(X[:4] + 0.3, Y, grid=True) * share
    dist = model.given(x=X[:4] + 0.3)
    assert_allclose(dist.mass(), given_x.sum(axis=1), atol=1e-12)
    assert_allclose(dist.weights(), given_x / given_x.sum(axis=1)[:, None], atol=1e-12)
    given_y = model.ratio(X, Y[:4] + 0.1, grid=True).T * share
    dist = model.given(y=Y[:4] + 0.1)
    assert_allclose(dist.mass(), given_y.sum(axis=1), atol=1e-12)
    assert_allclose(dist.weights(), given_y / given_y.sum(axis=1)[:, None], atol=1e-12)


@pytest.mark.parametrize("positivity", ["none", "tightened", "pointwise", "grid"])
def test_marginals_total_and_positivity_make_a_probability(positivity):
    """Eq. `norm` holds for "total", and Eq. `posi` wherever it was asked for."""
    X, Y = dependent(40)
    model = fitted(KERNELS["gaussian"], X, Y, marginals="total", positivity=positivity)
    h = model.ratio(X, Y, grid=True) - 1
    assert_allclose(h.sum(), 0, atol=1e-9)
    if positivity == "none":
        assert h.min() < -1.1
    else:
        assert h.min() >= -1 - 1e-12


@given(sample=samples(max_rows=12), kernel=bounded_kernels)
@pytest.mark.parametrize("marginals", MARGINALS)
def test_marginals_are_kept_iff_the_sums_vanish(marginals, sample, kernel):
    """Lemma `lem:intro`, with ties on both sides; for exact marginals the sums do."""
    X, Y = sample
    model = fitted((kernel, Gaussian(0.8)), X, Y, marginals=marginals)
    h, n = model.ratio(X, Y, grid=True) - 1, len(X)
    for of, rows, table in (("x", X, h), ("y", Y, h.T)):
        _, ties = np.unique(rows, axis=0, return_inverse=True)
        sums = np.bincount(ties.ravel(), table.sum(axis=1))
        own = np.bincount(ties.ravel()) / n
        marginal = model.marginal(of)
        under_q = np.bincount(ties.ravel(), marginal.mass() * marginal.weights()[0])
        assert_allclose(under_q - own, sums / n**2, atol=1e-13)
        kept, vanish = np.abs(under_q - own).max() < 1e-9, np.abs(sums).max() < 1e-9 * n**2
        assert kept == vanish
        assert kept or marginals != "exact"


def test_free_and_total_marginals_are_not_those_of_the_sample():
    X, Y = dependent(40)
    for marginals in ("free", "total"):
        model = fitted(KERNELS["gaussian"], X, Y, marginals=marginals)
        assert np.abs(model.marginal("x").weights() - 1 / 40).max() > 1e-4


@pytest.mark.parametrize("marginals", ["total", "exact"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("ridge", [1e-3, 1e-1])
def test_the_distance_to_the_population_is_bounded(marginals, tied, ridge):
    """Lemma `lemdist`: by that of the sample, Eq. `hatPaPaeps`, and the worst-case loss.

    All distances are those of Eq. `betadef`. Of tied rows the loss is taken of their sum:
    it is then less than the formula without ties.
    """
    rng = np.random.default_rng(int(tied))
    population = np.column_stack(dependent(9, seed=3, noise=0.1))
    chance = rng.dirichlet(np.ones(9))
    z = population[rng.choice(9, 6, replace=tied, p=chance)]
    X, Y, n = z[:, :2], z[:, 2:], len(z)
    model = fitted(
        KERNELS["gaussian"],
        X,
        Y,
        regularization=ridge,
        marginals=marginals,
        positivity="grid",
    )
    ratio = on_grid(model, X, Y)
    j, i = np.indices((n, n)).reshape(2, -1)
    everywhere = np.concatenate([np.column_stack([X[i], Y[j]]), z, population])
    masses = np.zeros((3, len(everywhere)))
    masses[0, : n * n] = ratio.ravel() / n**2
    masses[1, n * n : n * n + n] = 1 / n
    masses[2, n * n + n :] = chance
    support, _ = dense.measure(everywhere, masses[0])
    Q, sample, P = (dense.measure(everywhere, mass)[1] for mass in masses)
    loss = tied_loss(X, Y, ratio)
    whole = dense.worst_case_loss(ratio)
    assert loss < whole if tied else loss == pytest.approx(whole, rel=1e-12)
    from_sample = dense.bounded_lipschitz(support, Q, sample)
    first = dense.bounded_lipschitz(support, sample, P)
    assert 0 < from_sample <= np.sqrt(loss) + 1e-9
    assert dense.bounded_lipschitz(support, Q, P) <= first + np.sqrt(loss) + 1e-9


def tied_loss(X, Y, ratio):
    """Return the squared worst-case loss by its definition, over distinct points."""
    n = len(X)
    of_x = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    of_y = np.unique(Y, axis=0, return_inverse=True)[1].ravel()
    pair = np.zeros((of_y.max() + 1, of_x.max() + 1))
    own, under_q = pair.copy(), pair.copy()
    np.add.at(own, (of_y, of_x), 1 / n)
    np.add.at(under_q, tuple(np.meshgrid(of_y, of_x, indexing="ij")), ratio / n**2)
    product = np.outer(np.bincount(of_y), np.bincount(of_x)) / n**2
    return np.sum((own - under_q) ** 2 / product)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ([1, 0], [0, 1], 2 * 3 / (2 + 3)),  # f = 0.6 and -0.6: 0.6 + 1.2 / 3 = 1
        ([0.5, 0.5], [0.5, 0.5], 0.0),
    ],
)
def test_the_distance_of_two_points_is_known(p, q, expected):
    found = dense.bounded_lipschitz(np.array([[0.0], [3.0]]), np.array(p), np.array(q))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("marginals", MARGINALS)
@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
def test_no_other_function_of_the_kernel_space_is_better(kernels, marginals, rng):
    """Eq. `optgen`: also of functions outside the span of those at the sample."""
    X, Y = dependent(12)
    n, ridge, centred = 12, 1e-3, marginals == "exact"
    options = {"regularization": ridge, "marginals": marginals, "positivity": "grid"}
    model = fitted(kernels, X, Y, **options)
    K = kernel_matrices(kernels, X, Y, centred=centred)
    H = np.zeros((n + 6, n + 6))
    H[:n, :n] = dense.positive_solution(*K, ridge, normalised=marginals == "total")
    Z, W = np.vstack([X, rng.normal(size=(6, 2))]), np.vstack([Y, rng.normal(size=(6, 1))])
    all_x = among(kernels[0], X, Z, centred=centred)
    all_y = among(kernels[1], Y, W, centred=centred)
    Phi_x, Phi_y = all_x[:, :n], all_y[:, :n]

    def regularised(H):
        loss = dense.worst_case_loss(1 + Phi_y.T @ H @ Phi_x)
        return loss + ridge * np.sum(H * (all_y @ H @ all_x))

    least = regularised(H)
    gap = model.solution_.certificate.gap * abs(model.solution_.objective)
    own = n - 1 + model.solution_.objective
    assert_allclose(own, least, atol=gap + 1e-8)
    for other in feasible(Phi_y, Phi_x, rng, normalised=marginals == "total"):
        for step in (1e-3, 0.1, 1.0):
            assert regularised(H + step * (other - H)) >= own - gap - 1e-8


def among(kernel, rows, Z, *, centred):
    """Return the kernel, or the centred one, between all points Z."""
    K = kernel(Z, Z)
    if not centred:
        return K
    mean = kernel(Z, rows).mean(axis=1)
    return K - mean[:, None] - mean + kernel(rows, rows).mean()


def feasible(Phi_y, Phi_x, rng, *, normalised):
    """Return random functions that are positive on the grid, and normalised if asked."""
    found = []
    e = np.outer(Phi_y.sum(axis=1), Phi_x.sum(axis=1))
    for _ in range(30):
        H = rng.normal(size=e.shape) * (rng.random(e.shape) < rng.random())
        if normalised:
            H -= e * np.sum(e * H) / np.sum(e * e)
        h = Phi_y.T @ H @ Phi_x
        found.append(H * min(1.0, 1 / max(-h.min(), 1e-9)))
    return found


# Section 4.3: positivity.


@given(sample=samples(max_rows=30), k_x=bounded_kernels, k_y=bounded_kernels)
@pytest.mark.parametrize("marginals", MARGINALS)
def test_a_tightened_model_is_positive_on_the_grid(marginals, sample, k_x, k_y):
    """Lemma `lemposi`."""
    X, Y = sample
    options = {"regularization": 1e-4, "marginals": marginals, "positivity": "tightened"}
    model = fitted((k_x, k_y), X, Y, **options)
    assert model.ratio(X, Y, grid=True).min() >= -1e-9


MIXED = {
    "gaussian": (Gaussian(0.7), Gaussian(0.5)),
    "matern": (Matern(1.0, nu=1.5), Matern(0.5, nu=0.5)),
    "delta": (Gaussian(0.8).on(0) * Delta().on(1), Gaussian(0.5)),
    "sum": (Delta(0.2).on(1) + Laplace(1.0), Gaussian(0.5) * Delta()),
}


@pytest.mark.parametrize("positivity", ["pointwise", "rotated", "pivot"])
@pytest.mark.parametrize("marginals", MARGINALS)
@pytest.mark.parametrize("kernels", MIXED.values(), ids=MIXED)
def test_a_pointwise_positive_model_is_positive_everywhere(
    kernels, marginals, positivity, rng
):
    """Lemma `lem:positive`: near the sample, between its points, and far away."""
    X, Y = dependent(14)
    X[:, 1] = rng.integers(0, 3, size=14)
    options = {"regularization": 1e-3, "marginals": marginals, "positivity": positivity}
    model = fitted_in_time(kernels, X, Y, **options)
    spread = 10.0 ** rng.uniform(-2, 2, size=(300, 1))
    near = X[rng.integers(0, 14, 300)] + spread * rng.normal(size=(300, 2))
    near[:150, 1] = rng.integers(-1, 5, size=150)
    Z = np.concatenate([X, near, [[1e6, 0.0], [-1e6, 7.0]]])
    W = np.concatenate(
        [Y, Y[rng.integers(0, 14, 300)] + spread * rng.normal(size=(300, 1))]
    )
    assert model.ratio(Z, W, grid=True).min() >= -1e-9
    assert model.solution_.objective < -1e-3
    free = fitted(kernels, X, Y, **options | {"positivity": "none"})
    assert free.ratio(Z, W, grid=True).min() < -0.5


@given(
    sample=samples(max_rows=20),
    kernels=st.tuples(bounded_kernels, bounded_kernels),
    far=st.sampled_from([0.1, 3.0, 100.0]),
)
@pytest.mark.parametrize("marginals", ["free", "exact"])
def test_no_point_is_beyond_the_bounds_of_the_lemma(marginals, sample, kernels, far):
    """Lemma `lem:positive` needs bounds at all points; those here are at the worst."""
    (X, Y), rng = sample, np.random.default_rng(0)
    model = fitted(kernels, X, Y, marginals=marginals)
    problem, largest = model._fitted.problem, 1.0
    for k, rows, basis in zip(kernels, sample, (problem.x, problem.y), strict=True):
        Z = np.concatenate([rows, rows + far * rng.normal(size=rows.shape)])
        Psi, mean = basis.features(Z), k(rows, rows[basis.pivots]).mean(axis=0)
        at_pivots = k(Z, rows[basis.pivots]) - (mean if marginals == "exact" else 0)
        T, lower, upper = pivot_features(basis, 1.0)
        off = 1e-12 * basis.map.amplification + 1e-9
        assert_allclose(at_pivots @ T, Psi, atol=off)
        assert (lower - off <= at_pivots).all()
        assert (at_pivots <= upper + off).all()
        largest *= np.linalg.norm(Psi, axis=1).max()
    sides = problem.y, problem.x, problem.sample
    assert largest <= norm_bound(*sides, problem.moments.weight) + 1e-7


def fitted_in_time(kernels, X, Y, **options):
    """Fit a model that is feasible, whether its program came to the optimum or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)
        return fitted(kernels, X, Y, **options)


@given(seed=seeds, size=st.tuples(st.integers(1, 4), st.integers(1, 4)))
def test_the_least_product_is_at_a_corner(seed, size):
    """Eq. `eq:condpos` is the least value of 1 + <x, H> over the box of all x.

    The program leaves coefficients for which it is not negative, and makes others zero there.
    """
    rng = np.random.default_rng(seed)
    a, b = -rng.exponential(size=size), rng.exponential(size=size)
    objective = Objective(rng.normal(size=size), np.ones(size[0]), np.ones(size[1]), 0.0)
    H = pivot_positive(objective, *map(np.eye, size), a, b, tol=1e-9).value
    corners = np.array(np.meshgrid(*[[0, 1]] * H.size)).reshape(H.size, -1).T
    corners = corners[rng.permutation(len(corners))[:1024]].reshape(-1, *size)

    def least(H):
        return 1 + np.sum(a * np.maximum(H, 0) - b * np.maximum(-H, 0))

    values = 1 + np.sum((a + (b - a) * corners) * H, axis=(1, 2))
    assert values.min() >= max(least(H), 0) - 1e-12
    if H.size <= 10:
        assert values.min() == pytest.approx(least(H), abs=1e-12)
    free = closed_form(objective).value
    if least(free) >= 0:
        assert_allclose(H, free)
    else:
        assert least(H) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("marginals", MARGINALS)
@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
def test_what_implies_more_costs_more(kernels, marginals):
    """Feasible sets that contain each other have optima in the same order."""
    X, Y = dependent(16)
    value = {}
    for positivity in ("none", "grid", "tightened", "pointwise", "rotated", "pivot"):
        options = {"regularization": 1e-3, "marginals": marginals, "positivity": positivity}
        found = fitted_in_time(kernels, X, Y, **options).solution_
        value[positivity] = found.objective
        value[positivity, "least"] = found.objective - found.certificate.gap * abs(
            found.objective
        )
    ordered = [("none", "grid"), ("grid", "tightened"), ("grid", "pointwise")]
    ordered += [("tightened", "rotated"), ("pointwise", "rotated"), ("grid", "pivot")]
    for less, more in ordered:
        assert value[less, "least"] <= value[more] + 1e-10
    assert value["rotated"] <= 0
    assert value["pivot"] <= 0


# Section 4.4: what low rank costs.


@given(
    sample=samples(max_rows=16),
    kernels=st.tuples(bounded_kernels, bounded_kernels),
    tol=st.sampled_from([0.5, 0.1, 1e-2]),
    ridge=ridges,
)
@settings(max_examples=40)
@pytest.mark.parametrize("program", ["free", "total"])
def test_the_low_rank_error_is_bounded(program, sample, kernels, tol, ridge):
    """Lemma `lem:approx` for the closed forms, at tolerances that lose much."""
    check_low_rank(program, sample, kernels, tol, ridge)


@pytest.mark.parametrize("program", ["free", "total", "grid"])
@pytest.mark.parametrize("tol", [0.3, 0.03])
@pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
def test_the_low_rank_error_is_bounded_with_positivity(kernels, tol, program):
    check_low_rank(program, dependent(14), kernels, tol, 1e-3)


def check_low_rank(program, sample, kernels, tol, ridge):
    """Compare the dense solution with the low-rank one, and with its projection."""
    K_x, K_y = kernel_matrices(kernels, *sample, centred=False)
    small = reduce_sample(*kernels, *sample, tol=tol, random_state=0)
    x, y = double_orthogonal(small, centred=False)
    H_low = low_rank_solution(program, small, sample, ridge)
    dense_solution = dense.positive_solution if program == "grid" else dense.solution
    H = dense_solution(K_x, K_y, ridge, normalised=program != "free")
    L_x, L_y = small.x.factor, small.y.factor
    projected = y.rotation.T @ L_y.T @ H @ L_x @ x.rotation  # Eq. `eq:orthoproj`
    Q_x, Q_y = expansion(x, len(H)), expansion(y, len(H))

    def squared_distance(coefficients):
        rest = H - Q_y @ coefficients @ Q_x.T
        return np.sum(rest * (K_y @ rest @ K_x))

    rounding = 1e-9 * max(np.sum(H * (K_y @ H @ K_x)), 1e-4)  # kernels are of size one
    least = squared_distance(projected)
    rng = np.random.default_rng(0)
    for _ in range(5):  # by Pythagoras, no other function of the span is nearer
        D = rng.normal(size=projected.shape)
        apart = squared_distance(projected + D)
        assert_allclose(apart, least + np.sum(D * D), rtol=1e-8, atol=rounding)
    lower = np.sum((projected - H_low) ** 2)
    lost = max(small.x.error, small.y.error)
    upper = lost * np.sum(H * H) * (np.trace(K_x) + np.trace(K_y)) + lower
    assert lower - rounding <= squared_distance(H_low) <= upper + rounding


def low_rank_solution(program, small, sample, ridge):
    """Return the coefficients of Eq. `optgenClowR`."""
    x, y = double_orthogonal(small, centred=False)
    rows = Sample(*(as_rows(Z, where="", name="") for Z in sample), None)
    marginals = "free" if program == "free" else "total"
    goal = coefficients.objective(
        coefficients.Problem(x, y, small.moments, rows, marginals, Executor()), ridge
    )
    if program != "grid":
        return closed_form(goal).value
    X, Y = sample
    return grid_positive(goal, y.features(Y), x.features(X), tol=1e-10).value


@given(sample=samples(), tol=st.sampled_from([0.5, 0.1]), kernel=bounded_kernels)
def test_the_orthogonal_projection_is_the_nearest_function(sample, tol, kernel):
    """Eq. `eq:orthoproj`: least squares over the space of Eq. `tilHdef` gives the same."""
    X, Y = sample
    n = len(X)
    kernels = kernel, Gaussian(0.8)
    K_x, K_y = kernel_matrices(kernels, X, Y, centred=False)
    small = reduce_sample(*kernels, X, Y, tol=tol, random_state=0)
    x, y = double_orthogonal(small, centred=False)
    H = np.random.default_rng(0).normal(size=(n, n))
    R_x, R_y = root(K_x), root(K_y)
    table = np.kron(R_y @ expansion(y, n), R_x @ expansion(x, n))
    nearest = np.linalg.lstsq(table, (R_y @ H @ R_x.T).ravel())[0]
    projected = y.rotation.T @ small.y.factor.T @ H @ small.x.factor @ x.rotation
    assert_allclose(nearest.reshape(projected.shape), projected, atol=1e-6 * n)


def root(K):
    """Return R with K = R' R."""
    values, U = np.linalg.eigh(K)
    return np.sqrt(np.maximum(values, 0))[:, None] * U.T


# Section 4.1 and the proofs.


@given(X=points(20), kernel=bounded_kernels)
def test_bi_orthogonality_grows_by_one_column(X, kernel):
    """Eq. `eq:blockInverse` is the identity, block by block, with Eq. `eq:ZeroColumn`."""
    low = pivoted_cholesky(kernel, X, tol=1e-6, pivoting="greedy")
    L, B = low.factor, low.biorthogonal
    L_paper, B_paper, _ = algorithm_1(kernel(X, X), 1e-6 * len(X))
    off = 1e-10 * max(low.map.amplification, 1.0)
    for L_m, B_m in ((L, B), (L_paper, B_paper)):
        for m in range(1, L_m.shape[1]):
            before, b, ell = B_m[:, :m], B_m[:, m], L_m[:, m]
            assert_allclose(before.T @ ell, np.zeros(m), atol=off)
            blocks = [before.T @ L_m[:, :m], (before.T @ ell)[:, None]]
            blocks = [blocks, [(b @ L_m[:, :m])[None, :], np.array([[b @ ell]])]]
            assert_allclose(np.block(blocks), np.eye(m + 1), atol=off)


# Beyond the paper: what exact marginals and weights promise.


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [60, 700])
@pytest.mark.parametrize("positivity", ["none", "tightened", "pointwise"])
def test_exact_marginals_give_mass_one_everywhere(n, weighted, positivity, rng):
    X, Y = dependent(n)
    w = rng.exponential(size=n) if weighted else None
    kernels = (Gaussian(0.7), Matern(0.7, nu=1.5))
    model = fitted_in_time(kernels, X, Y, weights=w, positivity=positivity)
    Z = np.concatenate([X, rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) * 1e3])
    share = np.full(n, 1 / n) if w is None else w / w.sum()
    for dist in (model.given(x=Z), model.given(y=Z[:, 0])):
        assert_allclose(dist.mass(), 1, atol=1e-12)
        assert_allclose(dist.weights().sum(axis=1), 1, atol=1e-12)
    assert_allclose(model.marginal("x").weights(), share[None, :], atol=1e-12)
    assert_allclose(model.marginal("y").weights(), share[None, :], atol=1e-12)
    assert_allclose(share @ model.given(x=X).weights(), share, atol=1e-12)
    assert_allclose(share @ model.given(y=Y).weights(), share, atol=1e-12)


@given(sample=samples(), kernel=bounded_kernels, seed=seeds)
@settings(max_examples=40)
@pytest.mark.parametrize("positivity", ["none", "grid"])
@pytest.mark.parametrize("marginals", MARGINALS)
def test_whole_weights_are_repeated_rows(marginals, positivity, sample, kernel, seed):
    """Rows of weight zero are not there. What depends on the basis need not agree."""
    X, Y = sample
    w = np.random.default_rng(seed).integers(0, 4, size=len(X))
    w[0] = 2
    kernels = kernel, Gaussian(0.8)
    options = {"marginals": marginals, "positivity": positivity}
    weighted = fitted(kernels, X, Y, w, **options)
    repeated = fitted(kernels, np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0), **options)
    assert_allclose(weighted.solution_.objective, repeated.solution_.objective, atol=1e-9)
    Z, W = np.concatenate([X, X + 0.2]), np.concatenate([Y, Y - 0.3])
    ratio = repeated.ratio(Z, W, grid=True)
    assert_allclose(weighted.ratio(Z, W, grid=True), ratio, atol=1e-6)
    dist, same = repeated.given(x=Z), weighted.given(x=Z)
    assert_allclose(same.mass(), dist.mass(), atol=1e-6)
    heavy = dist.mass() > 0.1
    assert_allclose(same.mean()[heavy], dist.mean()[heavy], atol=1e-4)
