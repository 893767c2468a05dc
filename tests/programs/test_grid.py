"""Positivity on a grid: feasible for certain, and optimal by another solver."""

import tracemalloc
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from conic_grid import on_grid
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds
from threadpoolctl import threadpool_limits

from jointdist.kernels import Gaussian
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample
from jointdist.programs import Objective, Status, closed_form, grid, grid_positive
from jointdist.programs._active_set import block_pivoting, lawson_hanson
from jointdist.programs.grid_sweep import Grid
from jointdist.programs.nnls import nonnegative

KINDS = ["normal", "positive", "repeated", "scaled", "vanishing"]


def instance(seed, size, kind="normal", *, normalised=True, ridge=1e-3, strength=1.0):
    """Return an objective and tables that need not come from kernels."""
    rng = np.random.default_rng(seed)
    n_y, n_x, m_y, m_x = size
    F_y, F_x = rng.normal(size=(n_y, m_y)), rng.normal(size=(n_x, m_x))
    match kind:
        case "positive":
            F_y, F_x = np.abs(F_y), np.abs(F_x)
        case "repeated":
            F_y, F_x = F_y[rng.integers(0, n_y, n_y)], F_x[rng.integers(0, n_x, n_x)]
        case "scaled":
            F_y, F_x = F_y * 10.0 ** rng.integers(-3, 4), F_x * 10.0 ** rng.integers(-3, 4)
        case "vanishing":
            F_y[:, 0] = 0.0
    c_y, c_x = np.mean(F_y**2, axis=0), np.mean(F_x**2, axis=0)
    b = strength * rng.normal(size=(m_y, m_x)) * np.sqrt(np.multiply.outer(c_y, c_x))
    means = (F_y.mean(axis=0), F_x.mean(axis=0)) if normalised else (None, None)
    return Objective(b, c_y, c_x, ridge, *means), F_y, F_x


def sample(n, *, centred, ridge=1e-3, tol=1e-2, seed=0):
    """Return the program of a correlated normal sample."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = X + 0.7 * rng.normal(size=(n, 2))
    small = reduce_sample(Gaussian(2.0), Gaussian(2.0), X, Y, tol=tol, random_state=0)
    x, y = double_orthogonal(small, centred=centred)
    F_x, F_y = x.features(X), y.features(Y)
    mean_x, mean_y = F_x.mean(axis=0), F_y.mean(axis=0)
    b = F_y.T @ F_x / n - np.multiply.outer(mean_y, mean_x)
    means = (None, None) if centred else (mean_y, mean_x)
    c_y, c_x = y.eigenvalues / n, x.eigenvalues / n
    return Objective(b, c_y, c_x, ridge, *means), F_y, F_x


def free_size(objective):
    """Return the size of the optimum without constraints: what errors are relative to."""
    return float(np.sum(objective.b**2 * objective.inverse))


def lower_bound(solution):
    return solution.objective - solution.certificate.gap * abs(solution.objective)


def assert_feasible(solution, objective, F_y, F_x):
    assert (1 + F_y @ solution.value @ F_x.T).min() >= -1e-12
    assert solution.objective == objective(solution.value)
    assert_array_equal(solution.value[objective.inverse == 0], 0)
    if objective.e is not None:
        H = solution.value
        assert abs(np.sum(objective.e * H)) <= 1e-10 * max(np.abs(H).sum(), 1e-300)


programs = st.builds(
    instance,
    seeds,
    st.tuples(*[st.integers(1, 40)] * 2, *[st.integers(1, 6)] * 2),
    st.sampled_from(KINDS),
    normalised=st.booleans(),
    ridge=st.sampled_from([0.0, 1e-10, 1e-6, 1e-3, 1.0, 100.0]),
    strength=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
)


@given(program=programs)
@example(program=instance(0, (1, 1, 1, 1), normalised=False, ridge=0.0, strength=10.0))
@example(program=instance(0, (40, 3, 1, 6), "positive", normalised=False, strength=10.0))
@example(program=instance(0, (2, 2, 6, 6), "vanishing", ridge=0.0, strength=10.0))
@settings(max_examples=200)
def test_the_optimum_is_that_of_all_constraints_at_once(program):
    solution = grid_positive(*program, tol=1e-9)
    assert solution.status is Status.OPTIMAL
    assert solution.certificate.gap <= 1e-9
    assert solution.certificate.residual <= 1e-8
    assert_feasible(solution, *program)
    _, optimum = on_grid(*program)
    accuracy = 1e-8 * free_size(program[0])
    assert abs(solution.objective - optimum) <= accuracy
    assert lower_bound(solution) <= optimum + accuracy


@given(seed=seeds, normalised=st.booleans(), max_iter=st.integers(1, 3))
def test_stopped_early_it_is_feasible_and_the_bound_still_holds(seed, normalised, max_iter):
    program = instance(seed, (30, 30, 5, 5), normalised=normalised, strength=3.0)
    solution = grid_positive(*program, tol=1e-9, max_iter=max_iter)
    _, optimum = on_grid(*program)
    accuracy = 1e-8 * free_size(program[0])
    assert_feasible(solution, *program)
    assert solution.iterations <= max_iter
    assert lower_bound(solution) <= optimum + accuracy
    assert solution.objective >= optimum - accuracy
    assert solution.status.ok == (solution.certificate.gap <= 1e-9)


def test_one_sweep_is_not_enough_and_says_so():
    program = instance(0, (30, 30, 5, 5), strength=3.0)
    solution = grid_positive(*program, max_iter=1)
    assert solution.status is Status.INEXACT
    assert 1e-3 < solution.certificate.gap < np.inf
    assert "gap" in solution.status.value
    assert len(solution.multipliers["pairs"]) == 0


@pytest.mark.parametrize("centred", [True, False])
def test_more_sweeps_are_never_worse(centred):
    program = sample(300, centred=centred, ridge=1e-4)
    solutions = [grid_positive(*program, max_iter=k) for k in range(1, 12)]
    values = np.array([solution.objective for solution in solutions])
    assert (np.diff(values) <= 1e-5 * abs(values[-1])).all()
    for solution in solutions:
        assert_feasible(solution, *program)


@pytest.mark.parametrize("normalised", [True, False])
def test_where_nothing_is_negative_the_closed_form_is_returned(normalised):
    program = instance(0, (40, 30, 4, 3), normalised=normalised, strength=1e-3)
    solution, free = grid_positive(*program), closed_form(program[0])
    assert_allclose(solution.value, free.value, rtol=1e-14)
    assert solution.certificate.gap <= 1e-14
    assert solution.multipliers["pairs"].shape == (0, 2)
    assert solution.multipliers["positivity"].shape == (0,)
    assert ("normalisation" in solution.multipliers) is normalised


@pytest.mark.parametrize("centred", [True, False])
def test_the_multipliers_are_those_of_the_optimality_conditions(centred):
    objective, F_y, F_x = sample(300, centred=centred)
    solution = grid_positive(objective, F_y, F_x, tol=1e-10)
    H, given = solution.value, solution.multipliers
    (s, t), w = given["pairs"].T, given["positivity"]
    assert len(w) > 5
    assert (w > 0).all()
    forces = F_y[s].T @ (w[:, None] * F_x[t])
    if objective.e is not None:
        forces = forces - given["normalisation"] * objective.e
    assert_allclose(objective.a * H, objective.b + forces, atol=1e-9)
    density = 1 + F_y @ H @ F_x.T
    assert_allclose(density[s, t], 0, atol=1e-9)
    assert len(set(zip(s, t, strict=True))) == len(w)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_two_levels_reach_the_optimum_of_one(centred, seed, monkeypatch):
    program = sample(900, centred=centred, ridge=3e-4)
    one = grid_positive(*program, tol=1e-9)
    monkeypatch.setattr(grid, "SUBGRID", 150)
    two = grid_positive(*program, tol=1e-9, random_state=seed)
    assert_feasible(two, *program)
    assert two.status.ok
    assert two.iterations < one.iterations  # sweeps over the whole grid
    assert_allclose(two.objective, one.objective, rtol=2e-9)


def test_two_levels_of_unlike_sides(monkeypatch):
    objective, F_y, F_x = sample(400, centred=True)
    monkeypatch.setattr(grid, "SUBGRID", 50)
    for program in ((objective, F_y[:30], F_x), (objective, F_y, F_x[:30])):
        solution = grid_positive(*program, tol=1e-9)
        assert solution.status.ok
        assert_feasible(solution, *program)


def test_the_number_of_threads_changes_only_rounding():
    program = sample(700, centred=True)
    several = grid_positive(*program)
    with threadpool_limits(1, user_api="blas"):
        single = grid_positive(*program)
    assert_allclose(several.value, single.value, atol=1e-12)
    assert_array_equal(several.multipliers["pairs"], single.multipliers["pairs"])


def test_the_grid_is_never_in_memory():
    n = 3000
    program = sample(n, centred=False)
    tracemalloc.start()
    try:
        solution = grid_positive(*program)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert solution.status.ok
    assert len(solution.multipliers["pairs"]) > 10
    assert peak < 8 * n**2 / 3


@pytest.mark.parametrize("exact", [True, False])
def test_a_sweep_finds_the_lowest_of_each_row(exact, monkeypatch, rng):
    monkeypatch.setattr("jointdist.programs.grid_sweep._TILE", 7)
    F_y, F_x, H = rng.normal(size=(600, 3)), rng.normal(size=(50, 4)), np.ones((3, 4)) / 3
    seen = Grid(F_y, F_x).lowest(H, exact=exact)
    h = F_y @ H @ F_x.T
    below = np.flatnonzero(h.min(axis=1) < -1)
    rounding = 1e-12 if exact else 1e-5
    assert_allclose(seen.value, h.min(), atol=rounding)
    assert_array_equal(seen.pairs, np.stack([below, h[below].argmin(axis=1)], axis=1))
    assert_allclose(seen.values, h.min(axis=1)[below], atol=rounding)


def test_values_beyond_all_numbers_give_independence():
    objective = Objective(np.array([[1e100]]), np.zeros(1), np.zeros(1), 1e-10)
    F = np.array([[1e150], [-1e150]])
    solution = grid_positive(objective, F, F)
    assert solution.status is Status.INEXACT
    assert_array_equal(solution.value, 0)
    assert solution.certificate.gap == np.inf


def by_enumeration(G, c):
    """Return the smallest value over all faces; slow and obvious."""
    k, best = len(c), 0.0
    for face in chain.from_iterable(combinations(range(k), r) for r in range(1, k + 1)):
        i = np.ix_(face, face)
        w = np.zeros(k)
        w[list(face)] = np.linalg.lstsq(G[i], -c[list(face)], rcond=1e-10)[0]
        if (w >= -1e-12).all():
            best = min(best, w @ G @ w / 2 + c @ w)
    return best


@given(seed=seeds, k=st.integers(1, 7), rank=st.integers(1, 7), repeated=st.booleans())
@settings(max_examples=150)
def test_the_quadratic_program_is_solved_singular_or_not(seed, k, rank, repeated):
    """Dual programs: bounded, since zero is strictly feasible in the primal."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(k, rank)) * 10.0 ** rng.integers(-3, 4, size=(k, 1))
    Phi = Phi[rng.integers(0, k, k)] if repeated else Phi
    G, c = Phi @ Phi.T, 1 + Phi @ rng.normal(size=rank) * 3
    w = nonnegative(G, c, rng.normal(size=k) if repeated else None)
    assert (w >= 0).all()
    best = by_enumeration(G, c)
    assert_allclose(w @ G @ w / 2 + c @ w, best, rtol=1e-7, atol=1e-9 * (1 + abs(best)))


@given(seed=seeds, k=st.integers(1, 60), rank=st.integers(1, 60))
def test_the_monotone_method_agrees_with_pivoting(seed, k, rank):
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(k, rank))
    Phi /= np.linalg.norm(Phi, axis=1, keepdims=True)
    M, q = Phi @ Phi.T + 1e-10 * np.eye(k), 1 + Phi @ rng.normal(size=rank) * 3
    slow = lawson_hanson(M, q, np.zeros(k))
    assert (slow >= 0).all()
    value = slow @ M @ slow / 2 + q @ slow
    for start in (np.zeros(k), np.ones(k), rng.random(k) - 0.5):
        w = lawson_hanson(M, q, np.maximum(start, 0))
        assert_allclose(w @ M @ w / 2 + q @ w, value, rtol=1e-6, atol=1e-8)
        w = block_pivoting(M, q, start > 0)
        if w is not None:
            assert_allclose(w @ M @ w / 2 + q @ w, value, rtol=1e-6, atol=1e-8)


def test_where_pivoting_does_not_end_the_monotone_method_takes_over(monkeypatch):
    program = sample(300, centred=True)
    expected = grid_positive(*program)
    monkeypatch.setattr("jointdist.programs.nnls.block_pivoting", lambda *_: None)
    solution = grid_positive(*program)
    assert solution.status.ok
    assert_allclose(solution.objective, expected.objective, rtol=1e-5)


F = np.array([[1.0, 2.0], [-1.0, 0.5]])
GOOD = Objective(np.eye(2), np.ones(2), np.ones(2), 0.1)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            (replace(GOOD, b=np.full((2, 2), np.nan)), F, F),
            {},
            "`objective` must be finite. Got numbers that are not finite.",
        ),
        ((GOOD, F[:, :1], F), {}, "`F_y` must be a table of 2 columns. Got 1."),
        ((GOOD, F, F[0]), {}, "`F_x` must be a table of n rows and d columns."),
        ((GOOD, F, F * np.nan), {}, "`F_x` must be finite"),
        ((GOOD, F, F), {"tol": 0}, "`tol` must be positive. Got 0."),
        ((GOOD, F, F), {"tol": "1"}, "`tol` must be positive. Got '1'."),
        ((GOOD, F, F), {"max_iter": 0}, "`max_iter` must be an integer of at least 1."),
        ((GOOD, F, F), {"random_state": -1}, "`random_state` must be zero or a positive"),
    ],
)
def test_bad_arguments_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=r"^grid_positive: ") as error:
        grid_positive(*arguments, **options)
    assert message in str(error.value)
