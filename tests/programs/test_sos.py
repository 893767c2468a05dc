"""The sum-of-squares program: a conic solver, the identity of polynomials, hard data."""

from itertools import combinations_with_replacement

import conic_sos
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import nnls

from jointdist.programs import (
    Objective,
    Status,
    SumOfSquares,
    closed_form,
    sos,
    sum_of_squares,
)


class Polynomials:
    """Orthonormal polynomials of a sample by QR of all monomials, in order of degree."""

    def __init__(self, X, degree):
        self.mean, self.size = X.mean(axis=0), X.std(axis=0)
        self.powers = [
            list(power)
            for q in range(degree + 1)
            for power in combinations_with_replacement(range(X.shape[1]), q)
        ]
        V = self.monomials(X)
        rank, kept = 0, []
        for j in range(V.shape[1]):  # the first of those that depend on each other
            if np.linalg.matrix_rank(V[:, [*kept, j]], tol=1e-7) > rank:
                rank, kept = rank + 1, [*kept, j]
        self.powers = [self.powers[j] for j in kept]
        self.map = np.eye(rank)
        for _ in range(3):  # until rounding is all that is left
            R = np.linalg.qr(V[:, kept] @ self.map, mode="r")
            R *= np.sign(np.diag(R))[:, None] / np.sqrt(len(X))
            self.map = self.map @ np.linalg.inv(R)
        self.half = sum(len(power) <= degree // 2 for power in self.powers)
        F = self(X)
        P = F[:, : self.half]
        self.constants = np.einsum("nk,ni,nj->kij", F, P, P, optimize=True) / len(X)

    def monomials(self, X):
        Z = (X - self.mean) / self.size
        return np.stack([Z[:, power].prod(axis=1) for power in self.powers], axis=1)

    def __call__(self, X):
        return self.monomials(X) @ self.map


def sample(rng, kind, n, d_y, d_x):
    """Draw dependent rows of Y and X."""
    X = rng.normal(size=(n, d_x))
    rho = {"strong": 0.97, "weak": 0.05}.get(kind, 0.6)
    Y = rng.normal(size=(n, d_y)) * np.sqrt(1 - rho**2)
    Y[:, : min(d_y, d_x)] += rho * X[:, :d_y]
    if kind == "discrete":
        return np.clip(np.rint(Y), -1, 1), np.clip(np.rint(X), 0, 3)
    if kind == "t3":
        size = np.sqrt(rng.chisquare(3, (n, 1)) / 3)
        return Y / size, X / size
    if kind == "lognormal":
        return np.exp(Y), np.exp(X)
    return Y, X


def program(rng, kind, n, dims=(1, 1), degrees=(4, 4), *, ridge=0.1, free=False):
    """Return the objective of a sample and the polynomials of both sides."""
    Y, X = sample(rng, kind, n, *dims)
    y, x = Polynomials(Y, degrees[0]), Polynomials(X, degrees[1])
    F_y, F_x = y(Y), x(X)
    M = F_y.T @ F_x / n - np.outer(F_y.mean(axis=0), F_x.mean(axis=0))
    return objective(M, ridge, free), y, x


def objective(M, ridge, free=False):
    m_y, m_x = M.shape
    means = (None, None) if free else (np.eye(m_y)[0], np.eye(m_x)[0])
    return Objective(M, np.ones(m_y), np.ones(m_x), ridge, *means)


def expand(gram, C_y, C_x):
    """Return L(Q) by its definition."""
    k_y, k_x = C_y.shape[1], C_x.shape[1]
    Q = gram.reshape(k_y, k_x, k_y, k_x)
    return np.einsum("kab,lij,aibj->kl", C_y, C_x, Q, optimize=True)


def form(Y, C_y, C_x):
    """Return the matrix L*(Y) by its definition."""
    k = C_y.shape[1] * C_x.shape[1]
    return np.einsum("kab,kl,lij->aibj", C_y, Y, C_x, optimize=True).reshape(k, k)


def bound(goal, Y, C_y, C_x):
    """Return the lower bound of a multiplier, after making it feasible."""
    Y = Y.copy()
    Y[0, 0] += max(0.0, -np.linalg.eigvalsh(form(Y, C_y, C_x))[0])
    square = (goal.b + Y) ** 2 / goal.a
    if goal.e is not None:
        square[0, 0] = 0
    return -square.sum() - 2 * Y[0, 0]


def check(goal, C_y, C_x, solution, accuracy=1e-12):
    """The constraints hold, and the gap is what the multiplier proves."""
    assert isinstance(solution, SumOfSquares)
    H, gram = solution.value, solution.gram
    assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram)[0] >= -1e-12 * max(1, np.trace(gram))
    e = np.zeros_like(H)
    e[0, 0] = 1
    size = max(1, np.abs(expand(np.abs(gram), np.abs(C_y), np.abs(C_x))).max())
    assert_allclose(H, expand(gram, C_y, C_x) - e, rtol=0, atol=1e-13 * size)
    if goal.e is not None:
        assert abs(H[0, 0]) <= 1e-12 * size
    assert_allclose(solution.objective, goal(H), rtol=1e-12)
    lower = bound(goal, solution.multipliers["squares"], C_y, C_x)
    most = min(np.sum(goal.b**2 / goal.a), 2 * np.linalg.norm(form(goal.b, C_y, C_x), 2))
    scale = max(-solution.objective, 1e-3 * most, 1e-16 * goal.a[0, 0])
    gap = (solution.objective - lower) / scale
    assert_allclose(solution.certificate.gap, max(gap, 0), atol=accuracy)
    return lower


KINDS = ("gaussian", "strong", "weak", "discrete", "t3", "lognormal")
SHAPES = (
    ((1, 1), (4, 4)),
    ((1, 1), (2, 6)),
    ((2, 1), (2, 4)),
    ((1, 2), (2, 2)),
    ((3, 1), (2, 2)),
)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_a_conic_solver(kind, free):
    rng = np.random.default_rng(KINDS.index(kind))
    for i in range(20):
        dims, degrees = SHAPES[i % len(SHAPES)]
        ridge = 10.0 ** rng.uniform(-6, 1)
        n = int(rng.choice([50, 1000]))
        goal, y, x = program(rng, kind, n, dims, degrees, ridge=ridge, free=free)
        C = y.constants, x.constants
        solution = sum_of_squares(goal, *C, tol=1e-8)
        assert solution.status is Status.OPTIMAL
        lower = check(goal, *C, solution)
        optimum = conic_sos.sum_of_squares(goal, *C)
        assert_allclose(solution.objective, optimum, rtol=1e-6)
        assert lower <= optimum * (1 - 1e-7)  # negative: weak duality, but for theirs
        assert solution.certificate.residual <= 1e-4


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_cheap_steps_agree_with_a_conic_solver(kind, free, monkeypatch):
    """The splitting that large programs begin with, alone and followed by the other."""
    monkeypatch.setattr(sos, "_SMALL", 0)
    rng = np.random.default_rng(10 + KINDS.index(kind))
    for dims, degrees in SHAPES:
        goal, y, x = program(rng, kind, 200, dims, degrees, ridge=0.01, free=free)
        C = y.constants, x.constants
        optimum = conic_sos.sum_of_squares(goal, *C)
        solution = sum_of_squares(goal, *C)
        assert solution.status is Status.OPTIMAL
        assert check(goal, *C, solution) <= optimum * (1 - 1e-7)
        assert_allclose(solution.objective, optimum, rtol=2e-6)
        early = sum_of_squares(goal, *C, max_iter=12)  # cheap steps only
        assert early.iterations <= 12
        assert check(goal, *C, early) <= optimum * (1 - 1e-7)
        assert early.objective >= optimum * (1 + 1e-7)


@pytest.mark.parametrize("kind", ["gaussian", "t3"])
def test_three_variables_each_are_solved(kind, rng):
    goal, y, x = program(rng, kind, 500, (3, 3), ridge=1e-2)
    C = y.constants, x.constants
    solution = sum_of_squares(goal, *C, tol=1e-5)
    assert solution.gram.shape == (100, 100)
    assert solution.status is Status.OPTIMAL
    check(goal, *C, solution)


@pytest.mark.parametrize(("seed", "free"), [(0, False), (1, True)])
def test_two_variables_each_agree_with_a_conic_solver(seed, free):
    rng = np.random.default_rng(seed)
    goal, y, x = program(rng, "gaussian", 1000, (2, 2), ridge=1e-3, free=free)
    C = y.constants, x.constants
    solution = sum_of_squares(goal, *C, tol=1e-8)
    assert solution.gram.shape == (36, 36)
    assert solution.iterations <= 30
    check(goal, *C, solution)
    assert_allclose(solution.objective, conic_sos.sum_of_squares(goal, *C), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-15, 1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_hard_data_and_any_scale_take_few_steps(kind, scale, rng):
    """Structure constants up to the root of n, nearly no or all dependence."""
    for free in (False, True):
        goal, y, x = program(rng, kind, 50, (2, 2), ridge=1e-4, free=free)
        goal = objective(scale * goal.b, 1e-4, free)
        solution = sum_of_squares(goal, y.constants, x.constants)
        assert solution.status is Status.OPTIMAL
        assert solution.iterations <= 60
        check(goal, y.constants, x.constants, solution, 1e-7)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize(("dims", "degrees"), SHAPES)
def test_the_density_is_the_gram_form_far_from_the_sample(dims, degrees, free, rng):
    goal, y, x = program(rng, "gaussian", 300, dims, degrees, ridge=1e-2, free=free)
    solution = sum_of_squares(goal, y.constants, x.constants)
    for radius in (1, 30, 1000):
        Y, X = (radius * rng.normal(size=(50, d)) for d in dims)
        F_y, F_x = y(Y), x(X)
        ratio = 1 + np.einsum("ni,ij,nj->n", F_y, solution.value, F_x)
        z = np.einsum("na,ni->nai", F_y[:, : y.half], F_x[:, : x.half]).reshape(50, -1)
        square = np.einsum("na,ab,nb->n", z, solution.gram, z)
        size = np.einsum("na,ab,nb->n", np.abs(z), np.abs(solution.gram), np.abs(z))
        assert_allclose(ratio / size, square / size, atol=1e-9)
        assert (square / size).min() >= -1e-12


def test_sums_of_squares_are_all_positive_polynomials_of_degree_two_by_two(rng):
    """So that for d = 1 + 1 and q = 2 a fine grid with points at infinity agrees.

    Without normalisation the program projects on a cone; that of the grid is slightly
    larger, and the projection on its polar is a problem of nonnegative least squares.
    """
    goal, y, x = program(rng, "gaussian", 100, degrees=(2, 2), ridge=0.2, free=True)
    solution = sum_of_squares(goal, y.constants, x.constants, tol=1e-9)
    angle = np.linspace(0, np.pi, 90, endpoint=False)
    point = np.cos(angle), np.sin(angle)
    line = np.stack([point[0] ** 2, point[0] * point[1], point[1] ** 2], axis=1)
    rows = np.einsum("si,tj->stij", line @ y.map, line @ x.map).reshape(-1, 9)
    e = np.eye(9)[0]
    wanted = (goal.b * goal.inverse).ravel() + e
    weights, _ = nnls(-rows.T, wanted)
    on_grid = goal((wanted + rows.T @ weights - e).reshape(3, 3))
    assert on_grid <= solution.objective
    assert_allclose(solution.objective, on_grid, rtol=2e-3)
    assert solution.objective >= 0.99 * closed_form(goal).objective
    assert np.linalg.norm(weights) > 0


def test_both_sides_may_change_places(rng):
    goal, y, x = program(rng, "lognormal", 200, (2, 1), (2, 6), ridge=0.01)
    here = sum_of_squares(goal, y.constants, x.constants, tol=1e-9)
    there = sum_of_squares(objective(goal.b.T, 0.01), x.constants, y.constants, tol=1e-9)
    assert_allclose(here.objective, there.objective, rtol=1e-8)
    assert_allclose(here.value, there.value.T, atol=1e-4)


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("free", [False, True])
def test_a_certificate_is_honest_when_steps_run_out(steps, free, rng):
    goal, y, x = program(rng, "strong", 200, free=free)
    C = y.constants, x.constants
    solution = sum_of_squares(goal, *C, max_iter=steps)
    assert solution.status is Status.INEXACT
    assert solution.iterations == steps
    assert solution.certificate.gap > 1e-6
    lower = check(goal, *C, solution)
    optimum = conic_sos.sum_of_squares(goal, *C)
    assert lower <= optimum <= solution.objective <= 0


def test_rounding_ends_what_no_tolerance_does(rng):
    goal, y, x = program(rng, "gaussian", 200)
    solution = sum_of_squares(goal, y.constants, x.constants, tol=0)
    assert solution.certificate.gap <= 1e-11
    check(goal, y.constants, x.constants, solution)


@pytest.mark.parametrize("free", [False, True])
def test_no_dependence_has_the_solution_zero(free, rng):
    goal, y, x = program(rng, "gaussian", 100)
    C = y.constants, x.constants
    solution = sum_of_squares(objective(0 * goal.b, 0.1, free), *C)
    assert_allclose(solution.value, 0, atol=1e-14)
    assert solution.objective == solution.certificate.gap == solution.iterations == 0
    assert solution.status is Status.OPTIMAL
    # a function that no positive density can follow
    polar = np.zeros_like(goal.b)
    polar[2, 2] = -1.0
    solution = sum_of_squares(objective(polar, 0.1, free), *(Hermite, Hermite))
    assert_allclose(solution.value, 0, atol=1e-3)
    assert solution.status is Status.OPTIMAL
    assert abs(solution.objective) <= 1e-6


Hermite = np.zeros((5, 2, 2))
Hermite[0], Hermite[1], Hermite[2, 1, 1] = np.eye(2), np.eye(2)[::-1], np.sqrt(2)


def test_functions_that_no_square_contains_have_no_coefficients(rng):
    """Structure constants with rows of zeros."""
    goal = objective(0.3 * rng.normal(size=(5, 3)), 0.1)
    solution = sum_of_squares(goal, Hermite, Hermite[:3], tol=1e-8)
    assert_allclose(solution.value[3:], 0, atol=1e-15)
    assert solution.status is Status.OPTIMAL
    small = objective(goal.b[:3], 0.1)
    same = sum_of_squares(small, Hermite[:3], Hermite[:3], tol=1e-8)
    assert_allclose(solution.objective, same.objective, rtol=1e-6)
    optimum = conic_sos.sum_of_squares(small, Hermite[:3], Hermite[:3])
    assert_allclose(same.objective, optimum, rtol=1e-6)


def test_nothing_but_the_constant_allows_nothing_but_one():
    goal = objective(np.zeros((1, 1)), 0.0)
    solution = sum_of_squares(goal, np.ones((1, 1, 1)), np.ones((1, 1, 1)))
    assert_array_equal(solution.value, 0)
    assert_array_equal(solution.gram, 1)


def other(C, place, value):
    C = C.copy()
    C[place] = value
    return C


WRONG = {
    "objective` must be one with a positive, constant quad": lambda o, C: sum_of_squares(
        Objective(o.b, np.arange(1, 6.0), np.ones(5), 0.1), C, C
    ),
    "objective.mean_y` must be the first unit vector": lambda o, C: sum_of_squares(
        Objective(o.b, np.ones(5), np.ones(5), 0.1, np.ones(5), np.eye(5)[0]), C, C
    ),
    "objective.mean_x` must be the first unit vector": lambda o, C: sum_of_squares(
        Objective(o.b, np.ones(5), np.ones(5), 0.1, np.eye(5)[0], np.eye(5)[1]), C, C
    ),
    r"C_y` must be of shape \(5, k, k\)": lambda o, C: sum_of_squares(o, C[:4], C),
    r"C_x` must be of shape \(5, k, k\)": lambda o, C: sum_of_squares(o, C, C[:, :1]),
    "C_x` must be finite": lambda o, C: sum_of_squares(o, C, other(C, (2, 1, 1), np.nan)),
    "C_y` must be symmetric constants of orthonormal": lambda o, C: sum_of_squares(
        o, other(C, (0, 1, 1), 2.0), C
    ),
    "C_x` must be symmetric constants of orthonormal": lambda o, C: sum_of_squares(
        o, C, other(C, (2, 0, 1), 2.0)
    ),
    "tol` must be a number of at least zero": lambda o, C: sum_of_squares(o, C, C, tol=-1),
    "max_iter` must be a whole number": lambda o, C: sum_of_squares(o, C, C, max_iter=0),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    with pytest.raises(ValueError, match=f"^sum_of_squares: `{message}"):
        WRONG[message](objective(np.zeros((5, 5)), 0.1), Hermite)


def test_a_solution_says_what_it_is(rng):
    goal, y, x = program(rng, "gaussian", 100)
    text = repr(sum_of_squares(goal, y.constants, x.constants))
    assert text.startswith("Solution(OPTIMAL, 5 × 5 coefficients")
