"""The convex programs: optimality conditions, theorems of the paper, and a conic solver."""

import conic
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from jointdist.programs import (
    Objective,
    Status,
    closed_form,
    pivot_positive,
    product_bounds,
    spectral_ball,
    tightened,
)

BOUNDS = ("around zero", "equal", "positive", "some zero", "constant", "any")


def eigenvalues(rng, m, decades):
    c = 10.0 ** rng.uniform(-decades, 0, m)
    if rng.random() < 0.15:
        c[rng.random(m) < 0.3] = 0  # functions that vanish on the sample
    return c


def objectives(rng, most, decades):
    """Draw an objective; bases of one function, and without normalisation, are common."""
    m_y, m_x = rng.integers(1, most + 1, 2)
    m_x = 1 if rng.random() < 0.15 else m_x
    c_y, c_x = eigenvalues(rng, m_y, decades), eigenvalues(rng, m_x, decades)
    b = rng.normal(size=(m_y, m_x)) * 10.0 ** rng.uniform(-2, 1)
    if rng.random() < 0.7:
        b *= np.sqrt(np.multiply.outer(c_y, c_x))
    ridge = float(rng.choice([0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0]))
    means = rng.normal(size=m_y), rng.normal(size=m_x)
    kind = rng.random()
    if kind < 0.3:
        return Objective(b, c_y, c_x, ridge)
    if kind < 0.4:  # centred, but for rounding
        means = 1e-18 * means[0], means[1]
    return Objective(b, c_y, c_x, ridge, *means)


def bounds(rng, shape, kind):
    lower = rng.normal(size=shape)
    upper = lower + rng.exponential(size=shape)
    match kind:
        case "around zero":
            return -np.abs(lower), np.abs(upper)
        case "equal":
            return lower, lower
        case "positive":
            return np.abs(lower), np.abs(lower) + rng.random(shape)
        case "some zero":
            zero = rng.random((2, *shape)) < 0.3
            return np.where(zero[0], 0, -np.abs(lower)), np.where(zero[1], 0, np.abs(upper))
        case "constant":
            return -1.0, 1.0
    return lower, upper


def optimality(objective, lower, upper, solution):
    """Return the scaled residuals of the conditions of Karush, Kuhn and Tucker."""
    H, nu = solution.value, solution.multipliers["positivity"]
    pull = np.zeros_like(H)
    if objective.e is not None:
        pull = solution.multipliers["normalisation"] * objective.e
    r = objective.b - pull
    low, high = r + nu * lower, r + nu * upper
    size = np.abs(objective.b) + np.abs(pull)
    size = size + nu * np.maximum(np.abs(lower), np.abs(upper))
    wanted = np.where(H > 0, low, np.where(H < 0, high, np.clip(0, low, high)))
    off = np.abs(objective.a * H - wanted) / np.maximum(size, 1e-300)
    kept = objective.inverse > 0
    assert_array_equal(H[~kept], 0)
    assert nu >= 0
    parts = np.minimum(lower * H, upper * H)
    slack = (1 + parts.sum()) / (1 + np.abs(parts).sum())
    mean = 0.0
    if objective.e is not None:
        mean = abs((objective.e * H).sum()) / max(1, np.abs(objective.e * H).sum())
    return off[kept].max(initial=0.0), mean, -slack, slack if nu > 0 else 0.0


@pytest.mark.parametrize("kind", BOUNDS)
def test_tightened_is_optimal_on_adversarial_programs(kind):
    """Ten decades of the quadratic term, bounds of any sign, 1 to 144 coefficients."""
    rng = np.random.default_rng(BOUNDS.index(kind))
    binding = 0
    for _ in range(600):
        objective = objectives(rng, most=12, decades=5)
        C = bounds(rng, objective.b.shape, kind)
        solution = tightened(objective, *C)
        residuals = optimality(objective, *C, solution)
        assert max(residuals) <= 1e-10
        assert solution.status is Status.OPTIMAL
        assert max(residuals) <= 1.01 * solution.certificate.residual + 1e-10
        assert 0 <= solution.certificate.gap <= 1e-8
        assert_allclose(solution.objective, objective(solution.value), rtol=1e-9)
        binding += solution.multipliers["positivity"] > 0
    assert binding >= 200


@pytest.mark.parametrize("kind", BOUNDS)
def test_tightened_agrees_with_a_conic_solver(kind):
    rng = np.random.default_rng(100 + BOUNDS.index(kind))
    for _ in range(40):
        objective = objectives(rng, most=6, decades=2)
        C = bounds(rng, objective.b.shape, kind)
        optimum = conic.tightened(objective, *C)
        solution = tightened(objective, *C)
        accuracy = 1e-6 * max(abs(optimum), 1e-3)
        assert solution.objective <= optimum + accuracy
        if abs(optimum) < 1e6:  # without a ridge the conic solver may stop too early
            assert solution.objective >= optimum - accuracy


def random_maps(rng, shape, decades):
    """Draw a pair of maps with singular values over some decades."""
    maps = []
    for m in shape:
        Q, R = (np.linalg.qr(rng.normal(size=(m, m)))[0] for _ in range(2))
        maps.append(Q * 10.0 ** rng.uniform(-decades, decades, m) @ R)
    return maps


def test_pivot_agrees_with_a_conic_solver_and_is_feasible():
    rng = np.random.default_rng(1)
    for i in range(60):
        objective = objectives(rng, most=5, decades=1)
        shape = objective.b.shape
        T = random_maps(rng, shape, 0.5)
        C = bounds(rng, shape, ("around zero", "some zero", "constant")[i % 3])
        optimum = conic.pivot_positive(objective, *T, *C)
        solution = pivot_positive(objective, *T, *C, tol=1e-6)
        scale = max(abs(optimum), 1e-3)
        check_bracket(solution, optimum, 1e-6 * scale)
        Z = T[0] @ solution.value @ T[1].T
        assert np.minimum(C[0] * Z, C[1] * Z).sum() >= -1 - 1e-11
        check_normalised(objective, solution.value)
        assert solution.status is Status.OPTIMAL
        assert_allclose(solution.objective, optimum, atol=3e-6 * scale)


def test_spectral_agrees_with_a_conic_solver_and_is_feasible():
    rng = np.random.default_rng(2)
    for _ in range(60):
        objective = objectives(rng, most=5, decades=1)
        radius = float(rng.choice([0.1, 1.0, 3.0]))
        optimum = conic.spectral_ball(objective, radius)
        solution = spectral_ball(objective, radius, tol=1e-7)
        scale = max(abs(optimum), 1e-3)
        check_bracket(solution, optimum, 1e-6 * scale)
        assert np.linalg.norm(solution.value, 2) <= radius * (1 + 1e-12)
        check_normalised(objective, solution.value)
        assert solution.status is Status.OPTIMAL
        assert_allclose(solution.objective, optimum, atol=3e-6 * scale)


def check_bracket(solution, optimum, accuracy):
    """The optimum lies between the objective and the certified lower bound."""
    missing = solution.certificate.gap * abs(solution.objective)
    assert solution.objective >= optimum - accuracy
    assert solution.objective - missing <= optimum + accuracy


def check_normalised(objective, H):
    if objective.e is not None:
        assert abs((objective.e * H).sum()) <= 1e-12 * max(1, np.abs(H).sum())


@pytest.mark.parametrize("seed", range(4))
def test_a_certificate_is_honest_when_steps_run_out(seed):
    rng = np.random.default_rng(seed)
    objective = Objective(
        rng.normal(size=(5, 4)), rng.random(5), rng.random(4), 1e-3, np.ones(5), np.ones(4)
    )
    T = random_maps(rng, (5, 4), 0.5)
    for solution, optimum in (
        (spectral_ball(objective, max_iter=6), conic.spectral_ball(objective, 1.0)),
        (
            pivot_positive(objective, *T, -1, 1, max_iter=6),
            conic.pivot_positive(objective, *T, -1, 1),
        ),
    ):
        assert solution.status is Status.INEXACT
        assert not solution.status.ok
        assert solution.certificate.gap > 1e-6
        check_bracket(solution, optimum, 1e-6 * abs(optimum))
        check_normalised(objective, solution.value)


def test_tightened_is_feasible_with_a_valid_bound_after_one_step():
    rng = np.random.default_rng(4)
    inexact = 0
    for i in range(300):
        objective = objectives(rng, most=8, decades=3)
        C = bounds(rng, objective.b.shape, BOUNDS[i % len(BOUNDS)])
        early, solution = tightened(objective, *C, max_iter=1), tightened(objective, *C)
        inexact += not early.status.ok
        parts = np.minimum(C[0] * early.value, C[1] * early.value)
        assert 1 + parts.sum() >= -1e-11 * (1 + np.abs(parts).sum())
        if objective.e is not None:
            eh = objective.e * early.value
            assert abs(eh.sum()) <= 1e-11 * max(1, np.abs(eh).sum())
        check_bracket(early, solution.objective, 1e-9 * abs(solution.objective))
    assert inexact >= 5


def test_pivot_with_badly_conditioned_maps_is_feasible_with_a_valid_bound():
    rng = np.random.default_rng(3)
    objective = Objective(
        rng.normal(size=(6, 6)), 10.0 ** -np.arange(6), 10.0 ** -np.arange(6), 1e-4
    )
    T = random_maps(rng, (6, 6), 3)
    solution = pivot_positive(objective, *T, 0.0, 1.0, max_iter=300)
    Z = T[0] @ solution.value @ T[1].T
    assert np.minimum(Z, 0).sum() >= -1 - 1e-9
    optimum = conic.pivot_positive(objective, *T, 0.0, 1.0)
    check_bracket(solution, optimum, 1e-5 * abs(optimum))


def test_programs_are_special_cases_of_each_other(rng):
    """Identities as maps; and the sum of all |H| bounds the spectral norm."""
    objective = Objective(
        rng.normal(size=(4, 5)), rng.random(4), rng.random(5), 0.1, np.ones(4), np.ones(5)
    )
    exact = tightened(objective, -2.0, 0.5)
    other = pivot_positive(objective, np.eye(4), np.eye(5), -2.0, 0.5, tol=1e-8)
    assert_allclose(other.objective, exact.objective, rtol=1e-7)
    assert_allclose(
        other.multipliers["positivity"], exact.multipliers["positivity"], rtol=1e-2
    )
    # the rotated form of Lemma `lem:positive` is within the spectral ball
    rotated = tightened(objective, -1.0, 1.0)
    assert np.linalg.norm(rotated.value, 2) <= np.abs(rotated.value).sum() <= 1 + 1e-12
    assert spectral_ball(objective).objective <= rotated.objective * (1 - 1e-6)


@st.composite
def features(draw):
    """Draw values of a few functions at a few points; of one sign in some cases."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 12))
    F = [rng.normal(size=(n, draw(st.integers(1, 5)))) for _ in range(2)]
    signs = [draw(st.sampled_from([None, 1.0, -1.0])) for _ in range(2)]
    return [f if s is None else s * np.abs(f) for f, s in zip(F, signs, strict=True)], rng


@given(features())
def test_product_bounds_are_attained(drawn):
    """Eq. `minCeq` and Eq. `maxCeq`, and the sums of parts that define them."""
    (F_y, F_x), _ = drawn
    y, x = (F_y.min(axis=0), F_y.max(axis=0)), (F_x.min(axis=0), F_x.max(axis=0))
    lower, upper = product_bounds(*y, *x)
    products = np.einsum("si,tj->stij", F_y, F_x)
    assert_array_equal(lower, products.min(axis=(0, 1)))
    assert_array_equal(upper, products.max(axis=(0, 1)))
    (ly, uy), (lx, ux) = ([side[:, None] for side in y], x)

    def plus(c):
        return np.maximum(c, 0)

    def minus(c):
        return np.maximum(-c, 0)

    least = (  # Eq. `minCdef`, letter by letter
        plus(ly) * plus(lx)
        + minus(uy) * minus(ux)
        - np.maximum(plus(uy) * minus(lx), minus(ly) * plus(ux))
    )
    largest = (  # Eq. `maxCdef`; it needs the case of one sign each
        np.maximum(plus(uy) * plus(ux), minus(ly) * minus(lx))
        - minus(uy) * plus(lx)
        - plus(ly) * minus(ux)
    )
    assert_allclose(lower, least, atol=1e-14)
    assert_allclose(upper, largest, atol=1e-14)


@given(a=st.floats(-5, 5), width=st.floats(0, 5), y=st.floats(-5, 5))
def test_the_elementary_identity(a, width, y):
    """Eq. `elemineq`: the least of x y over an interval takes one of its ends."""
    b = a + width
    inside = np.linspace(a, b, 7) * y
    (((least,),), _) = product_bounds([a], [b], [y], [y])
    assert inside.min() >= least - 1e-12
    assert_allclose(least, a * max(y, 0) - b * max(-y, 0), atol=1e-12)


@settings(max_examples=150)
@given(
    drawn=features(),
    ridge=st.sampled_from([0.0, 1e-9, 1e-4, 0.1]),
    normalised=st.booleans(),
)
def test_tightened_densities_are_positive_on_the_grid(drawn, ridge, normalised):
    """Lemma `lemposi`, with an objective from the same features."""
    (F_y, F_x), rng = drawn
    b = F_y.T @ F_x[rng.permutation(len(F_x))] / len(F_y) * rng.choice([1, 30])
    c_y, c_x = (np.mean(F**2, axis=0) for F in (F_y, F_x))
    means = (F_y.mean(axis=0), F_x.mean(axis=0)) if normalised else (None, None)
    objective = Objective(b, c_y, c_x, ridge, *means)
    C = product_bounds(F_y.min(axis=0), F_y.max(axis=0), F_x.min(axis=0), F_x.max(axis=0))
    H = tightened(objective, *C).value
    size = 1 + np.abs(np.minimum(C[0] * H, C[1] * H)).sum()
    assert (1 + F_y @ H @ F_x.T).min() >= -1e-9 * size


@pytest.mark.parametrize("normalised", [True, False])
def test_the_closed_form_solves_the_dense_conditions(normalised, rng):
    """Against a linear system with the normalisation as its last row."""
    b, c_y, c_x = rng.normal(size=(4, 3)), rng.random(4), rng.random(3)
    means = (rng.normal(size=4), rng.normal(size=3)) if normalised else (None, None)
    objective = Objective(b, c_y, c_x, 0.1, *means)
    e = np.zeros(12) if objective.e is None else objective.e.ravel()
    system = np.zeros((13, 13))
    system[:12, :12] = np.diag(np.kron(c_y, c_x) + 0.1)
    system[12, :12] = system[:12, 12] = e
    system[12, 12] = not normalised
    dense = np.linalg.solve(system, np.append(b.ravel(), 0))
    solution = closed_form(objective)
    assert_allclose(solution.value.ravel(), dense[:12], rtol=1e-10, atol=1e-12)
    if normalised:
        assert_allclose(solution.multipliers["normalisation"], dense[12])
        assert abs(means[0] @ solution.value @ means[1]) <= 1e-12
    assert solution.certificate.residual <= 1e-14
    assert_allclose(solution.objective, -np.sum(b.ravel() * dense[:12]))


def test_a_constraint_that_does_not_bind_leaves_the_closed_form(rng):
    objective = Objective(
        1e-3 * rng.normal(size=(3, 4)), np.ones(3), np.ones(4), 0.1, np.ones(3), np.ones(4)
    )
    free = closed_form(objective)
    for solution in (
        tightened(objective, -1.0, 1.0),
        spectral_ball(objective),
        pivot_positive(objective, np.eye(3), np.eye(4), -1.0, 1.0),
    ):
        assert_array_equal(solution.value, free.value)
        assert solution.iterations == 0
        assert solution.multipliers.keys() > free.multipliers.keys()


@pytest.mark.parametrize("ridge", [1.0, 3e-2, 1e-3, 1e-6])
def test_many_coefficients_are_solved_on_a_few_and_verified_on_all(ridge, rng):
    """Too many to be tried at once: added when needed, few or nearly all of them."""
    c = 1 / np.arange(1, 91.0) ** 2
    b = rng.normal(size=(90, 90)) * np.sqrt(np.multiply.outer(c, c))
    objective = Objective(b, c, c, ridge, c + 0.01, np.sqrt(c))
    C = bounds(rng, b.shape, "any") if ridge < 1e-3 else (-c[:, None], c)
    solution = tightened(objective, *C)
    assert solution.multipliers["positivity"] > 0
    assert max(optimality(objective, *C, solution)) <= 1e-12


def test_an_objective_of_zeros_has_the_solution_zero():
    nothing = Objective(np.ones((2, 3)), np.zeros(2), np.zeros(3), 0.0)
    assert_array_equal(tightened(nothing, -1.0, 1.0).value, 0)
    assert_array_equal(spectral_ball(nothing).value, 0)
    assert_array_equal(pivot_positive(nothing, np.eye(2), np.eye(3), -1, 1).value, 0)


WRONG = {
    "tightened: `lower` must be at most `upper`": lambda o: tightened(o, 1.0, -1.0),
    "tightened: `upper` must be a number or of shape": lambda o: tightened(
        o, -1, np.ones(7)
    ),
    "tightened: `lower` must be finite": lambda o: tightened(o, -np.inf, 1.0),
    "product_bounds: `lower_y` must be at most `upper_y`": lambda _: product_bounds(
        [1.0], [0.0], [0.0], [1.0]
    ),
    "product_bounds: `lower_x` must be a vector as long": lambda _: product_bounds(
        [0.0], [0.0], [0.0], [1.0, 2.0]
    ),
    "tightened: `max_iter` must be a whole number": lambda o: tightened(
        o, -1, 1, max_iter=0
    ),
    "spectral_ball: `radius` must be a positive number": lambda o: spectral_ball(o, 0.0),
    "spectral_ball: `tol` must be a number of at least": lambda o: spectral_ball(
        o, tol=-1.0
    ),
    "spectral_ball: `max_iter` must be a whole number": lambda o: spectral_ball(
        o, max_iter=0
    ),
    "pivot_positive: `T_y` must be of shape": lambda o: pivot_positive(
        o, np.eye(3), np.eye(3), -1, 1
    ),
    "pivot_positive: `lower` must be at most zero": lambda o: pivot_positive(
        o, np.eye(2), np.eye(3), 0.1, 1
    ),
    "pivot_positive: `upper` must be at least zero": lambda o: pivot_positive(
        o, np.eye(2), np.eye(3), 0, -1
    ),
    "pivot_positive: `upper` must be a number or of": lambda o: pivot_positive(
        o, np.eye(2), np.eye(3), 0, np.ones(3)
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments_are_named(message):
    objective = Objective(np.ones((2, 3)), np.ones(2), np.ones(3), 0.1)
    with pytest.raises(ValueError, match=f"^{message}"):
        WRONG[message](objective)


def test_bounds_that_are_hardly_any_do_not_overflow():
    objective = Objective(np.array([[3.0, 3.0]]), np.ones(1), np.ones(2), 0.0)
    lower = np.array([[-1.0, -1e-310]])
    solution = tightened(objective, lower, np.ones((1, 2)))
    assert_allclose(solution.value, [[1.0, 3.0]])
    assert solution.status.ok


def test_nothing_is_left_out_while_there_is_a_ridge():
    b = np.array([[0.5, 1e-9]])
    solution = closed_form(Objective(b, np.ones(1), np.array([1.0, 1e-17]), 1e-18))
    assert_allclose(solution.value, b / [[1.0, 1.1e-17]])
