"""Constrained mean embeddings: a conic solver, the paper's formulas, and certificates."""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from conic_embedding import embedded
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from strategies import seeds

from jointdist.kernels import Delta, Gaussian, Laplace, Matern, Polynomial
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample
from jointdist.programs import Objective, Status, closed_form, embedding
from jointdist.programs import _embedding_rows as _embedded_rows
from jointdist.programs.nnls import nearest_in_hull

SCOPES = ("none", "average", "sample")
BOTH = list(product(SCOPES, SCOPES))
KERNELS = {
    "gaussian": Gaussian(1.0),
    "laplace": Laplace(1.5),
    "matern": Matern(1.0, nu=1.5),
    "quadratic": Polynomial(2, offset=1.0),
    "delta": Delta(),
    "linear": Polynomial(1, offset=0.0),
}


class Case(NamedTuple):
    objective: Objective
    at_pivots: np.ndarray
    mean: np.ndarray
    features: np.ndarray
    T: np.ndarray

    def solve(self, normalization, positivity, **options):
        return embedding(
            *self[:3],
            normalization=normalization,
            positivity=positivity,
            features=self.features,
            **options,
        )

    def by_clarabel(self, normalization, positivity, **options):
        places = {"none": np.empty((0, len(self.mean))), "average": self.mean[None, :]}
        places["sample"] = self.features
        at = places[normalization], places[positivity]
        return embedded(self.objective, self.T, *at, **options)

    def at(self, ridge):
        return self._replace(objective=self.objective.at(ridge))


def case(X, Y, kernel_x, kernel_y, *, ridge, tol=1e-2, weights=None):
    """Return the program of a sample."""
    small = reduce_sample(
        kernel_x, kernel_y, X, Y, tol=tol, sample_weight=weights, random_state=0
    )
    x, y = double_orthogonal(small, centred=False)
    sums, n = small.moments, small.moments.weight
    M = y.rotation.T @ (sums.gram_yx / n) @ x.rotation
    objective = Objective(M, np.ones(y.rank), x.eigenvalues / n, ridge)
    S, b = y.map.core @ y.rotation, x.rotation.T @ sums.sum_x / n
    return Case(objective, S, b, x.features(X), y.expansion)


def random_case(seed, kernel_x=None, *, most=25):
    rng = np.random.default_rng(seed)
    names = list(KERNELS)
    kernel_x = kernel_x or names[rng.integers(len(names))]
    kernel_y = names[rng.integers(len(names) - 1)]
    n = int(rng.integers(5, most))
    X = rng.normal(size=(n, 2))
    X = np.round(X[:, :1]) if kernel_x == "delta" else X
    Y = X[:, :1] + 0.5 * rng.normal(size=(n, 1))
    Y = np.round(Y) if kernel_y == "delta" else Y
    weights = rng.exponential(size=n) if rng.random() < 0.4 else None
    return case(
        X,
        Y,
        KERNELS[kernel_x],
        KERNELS[kernel_y],
        ridge=float(rng.choice([1e-6, 1e-4, 1e-2, 1.0])),
        tol=float(rng.choice([1e-1, 1e-2, 1e-3])),
        weights=weights,
    )


def sample_case(n=150, ridge=1e-3, scale=1.5):
    """Return the program of a correlated normal sample."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    Y = X + 0.7 * rng.normal(size=(n, 2))
    return case(X, Y, Gaussian(scale), Gaussian(scale), ridge=ridge)


def assert_feasible(program, F, normalization, positivity):
    """Check the constraints as the paper writes them."""
    at = {"average": program.mean[None, :], "sample": program.features}
    if normalization != "none":
        mass = program.T.sum(axis=0) @ F @ at[normalization].T
        assert_allclose(mass, 1, atol=1e-8)
    if positivity != "none":
        assert (program.T @ F @ at[positivity].T).min() >= -1e-8


def assert_certified(program, solution, normalization, positivity):
    """Recompute stationarity with the expansion, and what the certificate says of it."""
    goal, T, b = program.objective, program.T, program.mean
    gradient = goal.a * solution.value - goal.b
    dual = solution.multipliers
    if positivity == "average":
        gradient -= np.outer(T.T @ dual["positivity"], b)
    elif positivity == "sample":
        gradient -= T.T @ dual["positivity"] @ program.features[dual["rows"]]
    if normalization == "average":
        gradient += dual["normalisation"] * np.outer(T.sum(axis=0), b)
    elif normalization == "sample":
        gradient += np.outer(T.sum(axis=0), dual["normalisation"])
    assert np.all(np.asarray(dual.get("positivity", 0.0)) >= 0)
    values = np.abs(program.at_pivots @ gradient).max()
    size = np.abs(program.at_pivots @ goal.b).max()
    allowed = 1e-3 if positivity == "sample" else 1e-9
    assert values <= allowed * max(size, 1.0)
    if positivity != "sample":
        assert solution.certificate.residual <= 1e-9
    assert solution.certificate.feasibility <= 1e-9


@pytest.mark.parametrize("kernel_x", KERNELS)
def test_the_optimum_is_that_of_a_conic_solver(kernel_x):
    solved = 0
    for seed, (normalization, positivity) in product(range(12), BOTH):
        program = random_case(seed, kernel_x)
        asked = normalization, positivity
        solution = program.solve(*asked, tol=1e-6, max_iter=4000)
        F, optimum, status = program.by_clarabel(*asked)
        nothing = asked == ("none", "sample") and solution.status is Status.INEXACT
        if solution.status is Status.INFEASIBLE or nothing:
            # without a positive function of x some distributions have no mass, if there are any
            mass = program.T.sum(axis=0) @ F @ program.features.T
            assert status != "Solved" or mass.min() < 1e-6
            assert not nothing or not solution.value.any()
            continue
        assert_feasible(program, solution.value, *asked)
        assert_certified(program, solution, *asked)
        assert solution.status is Status.OPTIMAL
        assert solution.objective == program.objective(solution.value)
        if status == "Solved":  # it is not where rows are repeated
            assert_allclose(solution.objective, optimum, rtol=2e-6, atol=1e-9)
            solved += 1
    assert solved >= 48


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize(("normalization", "positivity"), BOTH[:6])
def test_larger_programs_agree_too(normalization, positivity, ridge):
    program = sample_case(60, ridge, 2.0)
    solution = program.solve(normalization, positivity, tol=1e-5, max_iter=5000)
    _, optimum, _ = program.by_clarabel(normalization, positivity, tol=1e-9)
    assert_allclose(solution.objective, optimum, rtol=2e-5)
    assert_feasible(program, solution.value, normalization, positivity)
    assert solution.status.ok


@pytest.mark.parametrize(("normalization", "positivity"), BOTH)
def test_constraints_cost(normalization, positivity):
    """Each scope allows what the next one does: the objective is monotone."""
    program = random_case(3, "delta")
    values = {both: program.solve(*both, tol=1e-7).objective for both in BOTH}
    value = values[normalization, positivity]
    slack = 1e-6 * abs(value)
    for other in SCOPES[: SCOPES.index(normalization)]:
        assert values[other, positivity] <= value + slack
    for other in SCOPES[: SCOPES.index(positivity)]:
        assert values[normalization, other] <= value + slack


def test_without_constraints_and_with_all_pivots_it_is_the_closed_form_of_the_paper(rng):
    """Eq. `eq:conditionaldistributionembedding`: weights are (K + n λ)⁻¹ k(x)."""
    n, ridge = 25, 1e-2
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    small = reduce_sample(Laplace(1.0), Laplace(1.0), X, Y, tol=0.0, random_state=0)
    program = case(X, Y, Laplace(1.0), Laplace(1.0), ridge=ridge, tol=0.0)
    F = program.solve("none", "none").value
    K = Laplace(1.0)(X, X)
    expected = np.linalg.solve(K + n * ridge * np.eye(n), K)
    assert_allclose(program.T @ F @ program.features.T, expected[small.y.pivots], atol=1e-9)


@pytest.mark.parametrize(("normalization", "positivity"), BOTH)
def test_where_nothing_is_violated_the_closed_form_is_returned(normalization, positivity):
    """Cells of a table: their frequencies are distributions already, without a ridge."""
    X = np.repeat([0.0, 1.0, 2.0], [4, 6, 5])[:, None]
    Y = np.array([0, 0, 1, 2, 1, 1, 2, 2, 0, 0, 2, 2, 2, 1, 0], dtype=float)[:, None]
    program = case(X, Y, Delta(), Delta(), ridge=0.0, tol=0.0)
    solution = program.solve(normalization, positivity)
    free = closed_form(program.objective)
    assert_allclose(solution.value, free.value, atol=1e-14)
    assert solution.iterations == 0
    assert_allclose(solution.multipliers.get("positivity", 0.0), 0)
    weights = program.T @ solution.value @ program.features.T
    assert_allclose(np.sort(weights[:, 0]), [0.25, 0.25, 0.5], atol=1e-14)


@pytest.mark.parametrize("positivity", SCOPES)
def test_a_mass_of_one_at_every_row_needs_a_function_that_is_one(positivity):
    program = sample_case()
    solution = program.solve("sample", positivity)
    assert solution.status is Status.INFEASIBLE
    assert not solution.status.ok
    assert "average" in solution.status.value
    assert np.isnan(solution.value).all()
    assert solution.value.shape == program.objective.b.shape
    assert solution.objective == np.inf
    best = np.linalg.lstsq(program.features, np.ones(len(program.features)))[0]
    missing = np.abs(program.features @ best - 1).max()
    assert_allclose(solution.certificate.feasibility, missing, rtol=0.1)
    assert "INFEASIBLE" in repr(solution)


@pytest.mark.parametrize("positivity", SCOPES)
def test_at_fewer_rows_than_functions_masses_are_one_there_and_on_average(positivity):
    program = sample_case()
    few = program._replace(features=program.features[:5])
    solution = few.solve("sample", positivity)
    assert solution.status.ok
    assert_feasible(few, solution.value, "sample", positivity)
    assert_feasible(few, solution.value, "average", "none")


@pytest.mark.parametrize(("normalization", "positivity"), BOTH[3:])
def test_functions_of_mean_zero_have_no_mass(normalization, positivity, rng):
    X = rng.normal(size=(40, 2))
    X -= X.mean(axis=0)
    Y = X + rng.normal(size=(40, 2))
    program = case(X, Y, Polynomial(1, offset=0.0), Gaussian(), ridge=1e-3)
    solution = program.solve(normalization, positivity)
    assert solution.status is Status.INFEASIBLE
    assert program.solve("none", "none").status.ok
    # positive on average is no constraint
    free = closed_form(program.objective)
    assert_array_equal(program.solve("none", "average").value, free.value)
    # no weights at all are positive, but not known to be the best
    nothing = program.solve("none", "sample")
    assert nothing.status is Status.INEXACT
    assert not nothing.value.any()


@given(seed=seeds, shift=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
@settings(max_examples=60)
def test_weights_can_be_positive_if_a_linear_program_finds_a_positive_function(seed, shift):
    """Linear functions that are positive at all points; also where few are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3)) + shift
    program = case(X, rng.normal(size=30), Polynomial(1, offset=0.0), Gaussian(), ridge=0.1)
    rows = program.features / np.linalg.norm(program.features, axis=1)[:, None]
    m = rows.shape[1]
    found = linprog(
        np.r_[np.zeros(m), -1.0],
        A_ub=np.c_[-rows, np.ones(len(rows))],
        b_ub=np.zeros(len(rows)),
        bounds=[(-1, 1)] * (m + 1),
    )
    solution = program.solve("none", "sample", max_iter=50)
    assert solution.value.any() == (-found.fun > 1e-7)
    assert_feasible(program, solution.value, "none", "sample")


def test_rows_that_vanish_have_no_distribution_to_be_positive():
    """An outlier that no pivot explains has features of zero."""
    program = sample_case(40)
    far = program._replace(
        features=np.vstack([program.features, np.zeros(len(program.mean))])
    )
    a, b = (p.solve("average", "sample", tol=1e-5) for p in (program, far))
    assert_allclose(a.objective, b.objective, rtol=2e-5)
    assert b.status.ok


@pytest.mark.parametrize("normalization", ["none", "average"])
def test_stopped_early_it_is_feasible_and_the_bound_holds(normalization):
    program = sample_case()
    best = program.solve(normalization, "sample", tol=1e-6, max_iter=5000)
    for steps in (1, 10, 50):
        early = program.solve(normalization, "sample", tol=1e-6, max_iter=steps)
        assert early.status is Status.INEXACT
        assert early.iterations == steps
        assert_feasible(program, early.value, normalization, "sample")
        gap = early.certificate.gap * abs(early.objective)
        assert early.objective >= best.objective * (1 + 1e-6)
        assert early.objective - gap <= best.objective


@cache
def solved_on_all_rows(normalization):
    """Return a program of eighty rows, and its solution by default."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = X[:, :1] + 0.5 * rng.normal(size=(80, 1))
    program = case(X, Y, Polynomial(2, offset=1.0), Laplace(1.5), ridge=1e-3)
    return program, program.solve(normalization, "sample", tol=2e-5, max_iter=5000)


@pytest.mark.parametrize("some", [1, 7, 40])
@pytest.mark.parametrize("normalization", SCOPES)
def test_rows_that_are_missing_join(monkeypatch, normalization, some):
    program, wanted = solved_on_all_rows(normalization)
    monkeypatch.setattr(_embedded_rows, "SOME", some)
    solution = program.solve(normalization, "sample", tol=2e-5, max_iter=5000)
    assert wanted.iterations > 0
    assert solution.status is Status.OPTIMAL
    assert_feasible(program, solution.value, normalization, "sample")
    assert_certified(program, solution, normalization, "sample")
    assert_allclose(solution.objective, wanted.objective, rtol=4e-5)
    assert len(np.unique(solution.multipliers["rows"])) == len(solution.multipliers["rows"])


@pytest.mark.parametrize("normalization", ["none", "average"])
def test_pivots_that_are_nearly_the_same_leave_it_feasible(normalization, rng):
    """The condition of S is 1e8: weights are not unique, but the distributions are."""
    X = rng.normal(size=(200, 1))
    Y = X + 0.3 * rng.normal(size=(200, 1))
    program = case(X, Y, Gaussian(0.5), Gaussian(3.0), ridge=1e-4, tol=1e-14)
    assert np.linalg.cond(program.at_pivots) >= 1e6
    solution = program.solve(normalization, "average")
    assert solution.status.ok
    assert solution.certificate.gap <= 1e-8
    weights = np.linalg.solve(program.at_pivots.T, solution.value @ program.mean)
    assert weights.min() >= -1e-7
    if normalization == "average":
        assert_allclose(weights.sum(), 1, atol=1e-7)


def test_no_ridge_leaves_out_what_the_sample_does_not_see():
    """Functions of x that vanish on the sample have no coefficients."""
    program = sample_case(60, 0.0)
    c_x, b = program.objective.c_x.copy(), program.mean.copy()
    M, F = program.objective.b.copy(), program.features.copy()
    c_x[-1], b[-1], M[:, -1], F[:, -1] = 0, 0, 0, 0
    goal = replace(program.objective, b=M, c_x=c_x)
    for asked in BOTH[:6]:
        solution = Case(goal, program.at_pivots, b, F, program.T).solve(*asked, max_iter=50)
        assert_array_equal(solution.value[:, -1], 0)
        assert np.isfinite(solution.value).all()


@given(seed=seeds, k=st.integers(1, 30), d=st.integers(1, 6), shift=st.floats(0, 3))
def test_the_nearest_point_of_a_hull_is_seen_from_all_points(seed, k, d, shift):
    """All points are beyond the plane through it; or it is zero."""
    P = np.random.default_rng(seed).normal(size=(k, d)) + shift
    u = nearest_in_hull(P)
    assert u.min() >= 0
    assert_allclose(u.sum(), 1)
    x = P.T @ u
    assert (P @ x).min() >= x @ x - 1e-8 * np.abs(P).max() ** 2


WRONG = {
    "objective` must be one of coefficients, with `c_y` of ones": {
        "objective": Objective(np.ones((2, 3)), np.full(2, 2.0), np.ones(3), 0.1)
    },
    "objective` must be one .* without a normalisation": {
        "objective": Objective(
            np.ones((2, 3)), np.ones(2), np.ones(3), 0.1, np.ones(2), np.ones(3)
        )
    },
    "objective` must be finite": {
        "objective": Objective(np.full((2, 3), np.nan), np.ones(2), np.ones(3), 0.1)
    },
    r"at_pivots` must be of shape \(2, 2\)": {"at_pivots": np.eye(3)},
    "at_pivots` must be finite": {"at_pivots": np.diag([1.0, np.inf])},
    "at_pivots` must be invertible": {"at_pivots": np.ones((2, 2))},
    r"mean` must be of shape \(3,\)": {"mean": np.ones(2)},
    "normalization` must be one of": {"normalization": "total"},
    "positivity` must be one of": {"positivity": True},
    "features` must be the basis functions of X at all rows": {"positivity": "sample"},
    "features` must be .*3 columns": {
        "normalization": "sample",
        "features": np.ones((4, 2)),
    },
    "tol` must be positive": {"tol": 0.0},
    "max_iter` must be an integer of at least 1": {"max_iter": 0},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    right = {
        "objective": Objective(np.ones((2, 3)), np.ones(2), np.ones(3), 0.1),
        "at_pivots": np.eye(2),
        "mean": np.ones(3),
    }
    with pytest.raises(ValueError, match=f"^embedding: `{message}"):
        embedding(**{**right, **WRONG[message]})
