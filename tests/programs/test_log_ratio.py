"""Maximum likelihood of a log-linear ratio: its theorems, and second-order oracles."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from strategies import seeds

from jointdist.data.executor import Executor
from jointdist.programs import Blocks, LogRatioProblem, Status, maximum_likelihood
from jointdist.programs._intercepts import (
    Intercepts,
    TiltedRows,
    best_intercepts,
    cell_probabilities,
)
from jointdist.programs._log_ratio_curvature import near_inverse


def orthogonal(rng, n, m, weights=None):
    """Return functions of weighted mean zero without correlation, and their mean squares."""
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    F = rng.normal(size=(n, m)) * 0.6 ** np.arange(m)
    F -= w @ F
    c, V = np.linalg.eigh((F * w[:, None]).T @ F)
    return F @ V, c


def instance(seed, n=80, m=6, *, K=7, r=3, weighted=True, strength=2.0):
    """Return a random problem of double-orthogonal functions, and its functions of X."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.2, 3.0, size=n) if weighted else None
    F, c_x = orthogonal(rng, n, m, w)
    tilt = strength * F[:, -1] + rng.normal(size=n)
    cells = np.searchsorted(np.quantile(tilt, np.arange(1, K) / K), tilt)
    own = np.ones(n) if w is None else w
    functions, _ = orthogonal(rng, K, r, np.bincount(cells, own, K))
    blocks = Blocks(n, m, lambda rows: F[rows], executor=Executor(block_rows=29))
    return LogRatioProblem(blocks, cells, functions, w, c_x), F


def negative_log_likelihood(problem, F, W, beta, ridge):
    """Return the objective from its definition."""
    logs = F @ W.T @ problem.functions.T + beta
    a = logsumexp(logs + np.log(problem.shares), axis=1)
    own = logs[np.arange(len(F)), problem.cells]
    return problem.row_weights @ (a - own) + ridge / 2 * np.sum(W**2)


def probabilities(problem, F, W, beta):
    return cell_probabilities(F @ W.T @ problem.functions.T + beta, problem.shares)


def second_order(problem, F, ridge):
    """Return the optimum by Newton steps on the dense Hessian of all variables."""
    (K, r), m = problem.functions.shape, F.shape[1]
    w, p = problem.row_weights, problem.shares
    D = np.einsum("kr,nm->nkrm", problem.functions, F).reshape(len(F), K, r * m)
    D = np.concatenate([D, np.broadcast_to(np.eye(K), (len(F), K, K))], axis=2)
    penalty = np.concatenate([np.full(r * m, ridge), np.full(K, 1e-12)])
    seen = D[np.arange(len(F)), problem.cells]

    def value(v):
        logs = D @ v
        own = logs[np.arange(len(F)), problem.cells]
        return w @ (logsumexp(logs + np.log(p), axis=1) - own) + penalty @ v**2 / 2

    v = np.zeros(r * m + K)
    for _ in range(100):
        P = cell_probabilities(D @ v, p)
        mean = np.einsum("nk,nkv->nv", P, D)
        slope = w @ (mean - seen) + penalty * v
        H = np.einsum("n,nk,nkv,nku->vu", w, P, D, D) - (mean * w[:, None]).T @ mean
        step = np.linalg.solve(H + np.diag(penalty), -slope)
        length = 1.0
        while value(v + length * step) > value(v) + 1e-4 * length * slope @ step:
            length /= 2
            if length < 1e-10:
                break
        v = v + length * step
        if -slope @ step < 1e-18:
            break
    return v[: r * m].reshape(r, m), v[r * m :], value(v)


@given(seeds, st.sampled_from([1e-3, 1e-2, 0.3]), st.booleans())
def test_agrees_with_a_second_order_solver_and_the_certificate_bounds_the_gap(
    seed, ridge, weighted
):
    problem, F = instance(seed, weighted=weighted)
    W, beta, best = second_order(problem, F, ridge)
    found = maximum_likelihood(problem, ridge, tol=1e-10)
    assert found.status is Status.OPTIMAL
    assert_allclose(found.objective, best, atol=1e-6)
    ours = probabilities(problem, F, found.value, found.intercept)
    assert_allclose(ours, probabilities(problem, F, W, beta), atol=1e-4)
    for most in (1, 3, 8, 100):
        coarse = maximum_likelihood(problem, ridge, max_evaluations=most)
        missing = (coarse.objective - best) / -best
        assert missing <= coarse.certificate.gap + 1e-9


@given(seeds)
def test_the_gradient_at_zero_is_minus_b_and_the_hessian_is_the_diagonal_a(seed):
    ridge = 0.01
    problem, F = instance(seed)
    (K, r), m, w = problem.functions.shape, F.shape[1], problem.row_weights
    zero, p = np.zeros((r, m)), problem.shares
    c_y, c_x = p @ problem.functions**2, problem.squares
    at = problem.evaluate(zero, np.zeros(K), ridge)
    b = (problem.functions[problem.cells] * w[:, None]).T @ F
    assert_allclose(at.value, 0, atol=1e-15)
    assert_allclose(at.slope, -b, atol=1e-14)
    assert_allclose(at.cells, 0, atol=1e-15)
    a, h = np.multiply.outer(c_y, c_x) + ridge, 1e-5
    for i, j in np.ndindex(r, m):
        E = np.zeros((r, m))
        E[i, j] = h
        ahead = problem.evaluate(E, np.zeros(K), ridge).slope
        back = problem.evaluate(-E, np.zeros(K), ridge).slope
        expected = np.zeros((r, m))
        expected[i, j] = a[i, j]
        assert_allclose((ahead - back) / (2 * h), expected, atol=1e-7)


@given(seeds)
def test_the_preconditioner_at_zero_is_the_diagonal_a(seed):
    ridge = 0.01
    problem, F = instance(seed)
    (K, r), m, p = problem.functions.shape, F.shape[1], problem.shares
    at = problem.evaluate(np.zeros((r, m)), np.zeros(K), ridge, every=1)
    sides = problem.functions, problem.squares
    inverse = near_inverse(at, p, *sides, ridge)
    V = np.random.default_rng(seed).normal(size=(r, m))
    a = np.multiply.outer(p @ problem.functions**2, problem.squares) + ridge
    found = inverse(np.concatenate([(a * V).ravel(), np.zeros(K)]))
    assert_allclose(found, np.concatenate([V.ravel(), np.zeros(K)]), atol=1e-9)


@given(seeds)
def test_the_preconditioner_is_the_mean_covariance_of_the_functions(seed):
    """Against the dense second derivatives, with the covariances at rows set to their mean."""
    ridge, rng = 0.05, np.random.default_rng(seed)
    problem, F = instance(seed)
    (K, r), m, w, p = (
        problem.functions.shape,
        F.shape[1],
        problem.row_weights,
        problem.shares,
    )
    W, beta = rng.normal(size=(r, m)), rng.normal(size=K)
    at = problem.evaluate(W, beta, ridge, every=1)
    P, U = probabilities(problem, F, W, beta), problem.functions
    each = np.einsum("nk,kr,ks->nrs", P, U, U) - np.einsum("nr,ns->nrs", P @ U, P @ U)
    a = np.kron(np.einsum("n,nrs->rs", w, each), np.diag(problem.squares))
    a += ridge * np.eye(r * m)
    inverse = near_inverse(at, p, U, problem.squares, ridge)
    g, h = rng.normal(size=r * m), rng.normal(size=K)
    found = inverse(np.concatenate([g, h]))
    assert_allclose(a @ found[: r * m], g, atol=1e-8)
    bends = np.diag(w @ P + 0.01 * np.maximum(p, w @ P)) - (P * w[:, None]).T @ P
    assert_allclose(bends @ found[r * m :], h, atol=1e-8)


@given(seeds)
def test_slopes_are_those_of_the_objective(seed):
    problem, F = instance(seed)
    rng = np.random.default_rng(seed)
    (K, r), m = problem.functions.shape, F.shape[1]
    W, beta = rng.normal(size=(r, m)), rng.normal(size=K)
    dW, db, h = rng.normal(size=(r, m)), rng.normal(size=K), 1e-6
    at = problem.evaluate(W, beta, 0.2)
    assert_allclose(at.value, negative_log_likelihood(problem, F, W, beta, 0.2), rtol=1e-12)
    ends = [
        negative_log_likelihood(problem, F, W + s * h * dW, beta + s * h * db, 0.2)
        for s in (1, -1)
    ]
    slope = np.sum(at.slope * dW) + at.cells @ db
    assert_allclose((ends[0] - ends[1]) / (2 * h), slope, rtol=1e-6, atol=1e-8)


@given(seeds)
def test_score_equations_hold_at_the_optimum(seed):
    ridge = 0.02
    problem, F = instance(seed)
    found = maximum_likelihood(problem, ridge, tol=1e-12)
    P, w = probabilities(problem, F, found.value, found.intercept), problem.row_weights
    assert_allclose(w @ P, problem.shares, atol=1e-12)
    expected = ((P @ problem.functions) * w[:, None]).T @ F
    observed = (problem.functions[problem.cells] * w[:, None]).T @ F
    assert_allclose(observed - expected, ridge * found.value, atol=1e-6)
    assert (P > 0).all()
    assert_allclose(P.sum(axis=1), 1, atol=1e-14)


@given(seeds)
def test_distributions_are_unique_wherever_the_descent_starts(seed):
    problem, F = instance(seed)
    first = maximum_likelihood(problem, 0.01, tol=1e-11)
    far = maximum_likelihood(problem, 10.0, tol=1e-3)
    second = maximum_likelihood(problem, 0.01, tol=1e-11, start=far)
    plain = LogRatioProblem(
        problem.blocks, problem.cells, problem.functions, problem.weights
    )
    third = maximum_likelihood(plain, 0.01, tol=1e-11, max_evaluations=5_000)
    ours = probabilities(problem, F, first.value, first.intercept)
    for other in (second, third):
        assert_allclose(
            probabilities(problem, F, other.value, other.intercept), ours, atol=1e-4
        )


def test_multinomial_logistic_regression_is_a_delta_kernel_on_the_classes():
    rng = np.random.default_rng(0)
    n, K, ridge = 300, 4, 0.05
    F = rng.normal(size=(n, 3))
    F -= F.mean(axis=0)
    y = (F @ rng.normal(size=(3, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    problem = LogRatioProblem(Blocks(n, 3, lambda rows: F[rows]), y, np.eye(K))
    found = maximum_likelihood(problem, ridge, tol=1e-12, max_evaluations=2_000)
    oracle = LogisticRegression(C=1 / (n * ridge), tol=1e-10, max_iter=10_000).fit(F, y)
    ours = probabilities(problem, F, found.value, found.intercept)
    assert_allclose(ours, oracle.predict_proba(F), atol=1e-5)
    assert_allclose(found.value, oracle.coef_, atol=1e-4)


def test_weights_count_repetitions():
    problem, F = instance(3, weighted=False)
    times = np.random.default_rng(0).integers(1, 4, size=len(F))
    rows = np.repeat(np.arange(len(F)), times)
    weighted = LogRatioProblem(
        problem.blocks, problem.cells, problem.functions, times.astype(float)
    )
    copies = F[rows]
    repeated = LogRatioProblem(
        Blocks(len(rows), F.shape[1], lambda part: copies[part]),
        problem.cells[rows],
        problem.functions,
    )
    found = [maximum_likelihood(each, 0.01, tol=1e-10) for each in (weighted, repeated)]
    assert_allclose(found[0].value, found[1].value, atol=1e-5)
    assert_allclose(found[0].objective, found[1].objective, atol=1e-10)


def test_single_precision_and_the_size_of_blocks_change_nothing_but_rounding():
    problem, F = instance(5, n=500, m=20)
    own = maximum_likelihood(problem, 1e-3)
    for block, dtype in ((1 << 12, "float64"), (64, "float32")):
        blocks = Blocks(
            *F.shape, lambda rows: F[rows], executor=Executor(block_rows=block), dtype=dtype
        )
        other = LogRatioProblem(
            blocks, problem.cells, problem.functions, problem.weights, problem.squares
        )
        found = maximum_likelihood(other, 1e-3)
        exact = 1e-9 if dtype == "float64" else 1e-4
        assert_allclose(found.objective, own.objective, atol=exact)


def test_separable_labels_have_a_finite_optimum():
    F = np.linspace(-1, 1, 40)[:, None]
    cells = (F[:, 0] > 0).astype(int)
    problem = LogRatioProblem(
        Blocks(40, 1, lambda rows: F[rows]), cells, np.array([[-1.0], [1.0]])
    )
    found = maximum_likelihood(problem, 1e-6, tol=1e-8, max_evaluations=1_000)
    assert np.isfinite(found.value).all()
    P = probabilities(problem, F, found.value, found.intercept)
    assert P[np.arange(40), cells].min() > 0.5
    assert_allclose(P.mean(axis=0), problem.shares, atol=1e-9)


def test_one_cell_and_no_functions_are_the_marginal():
    F = np.arange(5.0)[:, None]
    one = LogRatioProblem(
        Blocks(5, 1, lambda rows: F[rows]), np.zeros(5, dtype=int), np.zeros((1, 1))
    )
    assert maximum_likelihood(one, 0.1).objective == 0
    none = LogRatioProblem(
        Blocks(5, 1, lambda rows: F[rows]), np.array([0, 1, 0, 1, 1]), np.zeros((2, 0))
    )
    found = maximum_likelihood(none, 0.1)
    assert found.value.shape == (0, 1)
    assert_allclose(found.intercept, 0, atol=1e-12)


def test_it_stops_near_the_tolerance():
    problem, _ = instance(1, n=2_000, m=200, K=20, r=8, strength=6.0)
    best = maximum_likelihood(problem, 1e-5, tol=1e-9, max_evaluations=1_000).objective
    for tol in (1e-2, 1e-3, 1e-4):
        found = maximum_likelihood(problem, 1e-5, tol=tol, certify=False)
        assert found.status is Status.OPTIMAL
        assert tol / 30 <= 1 - found.objective / best <= 3 * tol


def test_no_dependence_at_all_is_found_at_once():
    rng = np.random.default_rng(0)
    F = np.tile(rng.normal(size=(10, 2)), (4, 1))
    cells = np.repeat(np.arange(4), 10)
    functions, _ = orthogonal(rng, 4, 2)
    problem = LogRatioProblem(
        Blocks(40, 2, lambda rows: F[rows]),
        cells,
        functions,
        None,
        (F**2).mean(axis=0),
    )
    found = maximum_likelihood(problem, 1e-3, tol=1e-6)
    assert found.status is Status.OPTIMAL
    assert found.iterations <= 2


@given(seeds)
def test_intercepts_make_the_marginal_exact_for_any_coefficients(seed):
    rng = np.random.default_rng(seed)
    n, K, r = 60, 9, 4
    tilts, functions = 3 * rng.normal(size=(n, r)), rng.normal(size=(K, r))
    shares, weights = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(n))
    beta, error = best_intercepts([TiltedRows(tilts, weights)], functions, shares)
    assert error <= 1e-9
    P = cell_probabilities(tilts @ functions.T + beta, shares)
    assert_allclose(weights @ P, shares, rtol=1e-8)
    assert_allclose(shares @ beta, 0, atol=1e-9)

    def dual(b):
        logs = tilts @ functions.T + b + np.log(shares)
        return weights @ logsumexp(logs, axis=1) - shares @ b

    oracle = minimize(dual, np.zeros(K), method="BFGS", options={"gtol": 1e-8})
    assert dual(beta) <= oracle.fun + 1e-9


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"regularization": 0.0}, "`regularization` must be a positive number"),
        ({"regularization": np.nan}, "`regularization` must be a positive number"),
        ({"tol": -1}, "`tol` must be a number of at least zero"),
        ({"max_evaluations": 0}, "`max_evaluations` must be a whole number"),
    ],
)
def test_bad_arguments_are_refused_by_name(changed, message):
    problem, _ = instance(0)
    arguments = {"regularization": 0.1} | changed
    with pytest.raises(ValueError, match=message):
        maximum_likelihood(problem, **arguments)


def test_an_empty_cell_and_a_start_of_another_shape_are_refused():
    problem, F = instance(0)
    empty = LogRatioProblem(problem.blocks, problem.cells * 0, problem.functions)
    with pytest.raises(ValueError, match="each at least once with weight"):
        maximum_likelihood(empty, 0.1)
    other, _ = instance(0, m=5)
    start = maximum_likelihood(other, 0.1)
    with pytest.raises(ValueError, match="`start` must be of shape"):
        maximum_likelihood(problem, 0.1, start=start)
    assert F.shape[1] == 6


@pytest.mark.parametrize("evaluations", [2, 5, 30])
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_intercepts_are_solved_for_where_rows_are_sure_of_their_cells(evaluations, spread):
    """Second derivatives vanish there."""
    rng = np.random.default_rng(evaluations)
    n = 80
    F = rng.normal(size=(n, 30))
    U = rng.normal(size=(n, 20)) * 3
    weights = np.exp(spread * rng.normal(size=n))
    U -= weights @ U / weights.sum()
    own = LogRatioProblem(Blocks(n, 30, lambda r: F[r]), np.arange(n), U, weights)
    found = maximum_likelihood(own, 1e-9, max_evaluations=evaluations)
    assert found.certificate.feasibility < 1e-6
    at = own.evaluate(found.value, found.intercept, 1e-9)
    assert_allclose(at.cells / own.shares, 0, atol=1e-5)


def test_what_is_not_solved_for_is_not_certified(monkeypatch):
    module = "jointdist.programs.log_ratio.best_intercepts"
    monkeypatch.setattr(module, lambda *given: Intercepts(given[-1], 0.5))
    found = maximum_likelihood(instance(0)[0], 0.1)
    assert found.status is Status.INEXACT
    assert found.certificate.gap == np.inf
    assert "marginal of Y is off by up to 0.5" in found.sentence


def test_evaluations_can_be_watched():
    own, seen = instance(1)[0], []
    found = maximum_likelihood(replace(own, watch=seen.append), 1e-3, certify=False)
    assert len(seen) == found.iterations
    assert min(seen) == found.objective
