"""The convex programs, compared with a conic solver and with one pass over the arrays.

Run ``make bench``. Data: Gaussian, d = 3 + 3, dependent through a
random log correlation matrix; Gaussian kernels; raw (not centred) bases, normalised.
Times are medians, reported with accuracy.
"""

import argparse
import warnings
from time import perf_counter

import clarabel
import numpy as np
from measure import console, heading, seconds, table
from scipy import sparse

from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample
from jointdist.programs import (
    Objective,
    pivot_positive,
    product_bounds,
    spectral_ball,
    tightened,
)

SEED = 0


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n dependent rows of X and Y."""
    rng = np.random.default_rng(SEED)
    log = np.tril(0.5 * rng.standard_normal((6, 6)), -1)
    w, V = np.linalg.eigh(log + log.T)
    C = (V * np.exp(w)) @ V.T
    size = np.sqrt(np.diag(C))
    Z = rng.standard_normal((n, 6)) @ np.linalg.cholesky(C / np.outer(size, size)).T
    return Z[:, :3], Z[:, 3:]


def program(n: int, scale: float, tol: float, max_rank: int | None = None):
    """Return the objective of a sample, its product bounds, and both bases."""
    X, Y = sample(n)
    kernel = Gaussian(scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # the rank is limited on purpose
        small = reduce_sample(
            kernel, kernel, X, Y, tol=tol, max_rank=max_rank, random_state=SEED
        )
    x, y = double_orthogonal(small, centred=False)
    sums = small.moments
    mean_x, mean_y = x.rotation.T @ sums.sum_x / n, y.rotation.T @ sums.sum_y / n
    b = y.rotation.T @ (sums.gram_yx / n) @ x.rotation - np.outer(mean_y, mean_x)
    objective = Objective(b, y.eigenvalues / n, x.eigenvalues / n, 0.0, mean_y, mean_x)
    return objective, product_bounds(*y.bounds(Y), *x.bounds(X)), (x, y)


def at(objective: Objective, ridge: float) -> Objective:
    """Return the objective with a ridge, with its cached matrices computed."""
    objective = objective.at(ridge)
    _ = objective.a, objective.inverse, objective.e
    return objective


def conic(objective: Objective, lower, upper) -> tuple[float, float]:
    """Return the optimum of the tightened program and the time of Clarabel alone."""
    n = objective.b.size
    one, zero = sparse.identity(n), np.zeros(n)
    rows = [
        sparse.hstack(
            [sparse.csc_matrix(objective.e.reshape(1, -1)), sparse.csc_matrix((1, n))]
        ),
        sparse.hstack([-sparse.diags(lower.ravel()), one]),
        sparse.hstack([-sparse.diags(upper.ravel()), one]),
        sparse.csc_matrix(np.r_[zero, -np.ones(n)][None, :]),
    ]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    quadratic = sparse.diags(np.r_[2 * objective.a.ravel(), zero]).tocsc()
    linear, ends = np.r_[-2 * objective.b.ravel(), zero], np.r_[np.zeros(2 * n + 1), 1]
    A = sparse.vstack(rows).tocsc()
    start = perf_counter()
    solver = clarabel.DefaultSolver(quadratic, linear, A, ends, cones, settings)
    solved = solver.solve()
    return solved.obj_val, perf_counter() - start


def one_inequality(sizes: tuple[tuple[int, float, int], ...], ridges=(1e-2, 1e-4)) -> None:
    """Compare the tightened program with Clarabel."""
    rows = table(
        "tightened: one inequality",
        *("coefficients", "λ", "not zero", "time", "residual", "gap"),
        *("Clarabel", "its rel. objective", "ours is faster by"),
        left=0,
    )
    for n, scale, rank in sizes:
        raw, C, _ = program(n, scale, 1e-3, rank)
        for ridge in ridges:
            objective = at(raw, ridge)
            time, solution = seconds(lambda o=objective, C=C: tightened(o, *C), 15)
            optimum, theirs = conic(objective, *C)
            rows.add_row(
                f"{raw.b.size:,}",
                f"{ridge:g}",
                f"{np.count_nonzero(solution.value):,}",
                f"{1e3 * time:.2f} ms",
                f"{solution.certificate.residual:.0e}",
                f"{solution.certificate.gap:.0e}",
                f"{1e3 * theirs:,.0f} ms",
                f"{optimum / solution.objective - 1:+.0e}",
                f"{theirs / time:,.0f} ×",
            )
    console.print(rows)


def one_pass(n: int, scale: float, rank: int, ridges=(0.2, 0.05, 1e-2, 1e-4)) -> None:
    """Compare a large tightened program with one pass over its five arrays."""
    raw, C, _ = program(n, scale, 1e-9, rank)
    rows = table(
        "tightened: many coefficients, against a pass (a sum over each of its five arrays)",
        *("coefficients", "λ", "not zero", "steps", "time", "residual"),
        *("passes in all", "passes a step", "np.sum(a * b) a step"),
        left=0,
    )
    for ridge in ridges:
        objective = at(raw, ridge)
        arrays = (objective.a, objective.b, objective.e, *C)
        pass_, _ = seconds(lambda arrays=arrays: [np.sum(x) for x in arrays], 15)
        two, _ = seconds(lambda o=objective: np.sum(o.a * o.b), 15)
        time, solution = seconds(lambda o=objective: tightened(o, *C), 9)
        rows.add_row(
            f"{raw.b.size:,}",
            f"{ridge:g}",
            f"{np.count_nonzero(solution.value):,}",
            f"{solution.iterations}",
            f"{1e3 * time:.1f} ms",
            f"{solution.certificate.residual:.0e}",
            f"{time / pass_:.0f}",
            f"{time / pass_ / max(solution.iterations, 1):.1f}",
            f"{time / two / max(solution.iterations, 1):.1f}",
        )
    console.print(rows)


def everywhere(name: str, solve, cases) -> None:
    """Print time and certified gap of a program with positivity everywhere."""
    rows = table(name, "coefficients", "λ", "steps", "time", "gap", "objective", left=0)
    for objective, *rest in cases:
        time, solution = seconds(lambda o=objective, r=rest: solve(o, *r), 3)
        rows.add_row(
            " × ".join(str(m) for m in objective.b.shape),
            f"{objective.regularization:g}",
            f"{solution.iterations}",
            f"{time:.3f} s",
            f"{solution.certificate.gap:.0e}",
            f"{solution.objective:.6f}",
        )
    console.print(rows)


def spectral_norm() -> None:
    """Time the spectral ball at about 100 × 100 coefficients."""
    raw, _, _ = program(1000, 1.2, 1e-3, 100)
    cases = [(at(raw, ridge),) for ridge in (1e-3, 1e-4, 1e-5)]
    everywhere("spectral ball of radius one", spectral_ball, cases)


def pivot_features() -> None:
    """Time the program in pivot features at about 50 × 50 coefficients."""
    raw, _, (x, y) = program(1000, 2.0, 1e-3)
    cases = [
        (at(raw, ridge), y.expansion, x.expansion, 0.0, 1.0) for ridge in (1e-2, 1e-3, 1e-4)
    ]
    everywhere("pivot features with products in [0, 1]", pivot_positive, cases)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="only what takes seconds")
    options = parser.parse_args()
    heading(f", Clarabel {clarabel.__version__}")
    sizes = ((1000, 2.0, 32), (2000, 1.2, 141), (3000, 0.7, 316))
    one_inequality(sizes[:1] if options.small else sizes)
    if not options.small:
        one_pass(3000, 0.4, 1000)
    spectral_norm()
    pivot_features()


if __name__ == "__main__":
    main()
