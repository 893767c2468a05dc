"""Constrained conditional mean embeddings: time compared with the closed form, and accuracy.

Run ``make bench``. Data: Gaussian, d = 3 + 3, dependent through a random log correlation
matrix; Gaussian kernels. Times are medians. Clarabel solves the full program, with all
coefficients, where it is small enough.
"""

import argparse
import warnings
from time import perf_counter

import clarabel
import numpy as np
from measure import console, heading, seconds, table
from programs import at, sample
from scipy import sparse

from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian, Polynomial
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample
from jointdist.programs import Objective, closed_form, embedding

SEED = 0
SMALL = 2500  # coefficients that Clarabel is given
ALL = [(n, p) for n in ("none", "average", "sample") for p in ("none", "average", "sample")]


def program(n: int, kernel_x, kernel_y, max_rank: int | None = None):
    """Return the objective, Y at its pivots, the mean and the rows of X; and T."""
    X, Y = sample(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # the rank is limited on purpose
        small = reduce_sample(
            kernel_x, kernel_y, X, Y, max_rank=max_rank, random_state=SEED
        )
    x, y = double_orthogonal(small, centred=False)
    M = y.rotation.T @ (small.moments.gram_yx / n) @ x.rotation
    objective = Objective(M, np.ones(y.rank), x.eigenvalues / n, 0.0)
    b = x.rotation.T @ small.moments.sum_x / n
    return objective, y.map.core @ y.rotation, b, x.features(X), y.expansion


def conic(objective: Objective, T, b) -> tuple[float, float]:
    """Return the optimum with both constraints on average, and the time of Clarabel."""
    root = np.sqrt(objective.inverse).ravel()
    lines = np.concatenate([np.kron(T.sum(axis=0), b)[None, :], -np.kron(T, b)]) * root
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    quadratic = sparse.identity(root.size, format="csc") * 2.0
    linear, ends = -2 * objective.b.ravel() * root, np.r_[1.0, np.zeros(len(T))]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(T))]
    start = perf_counter()
    solved = clarabel.DefaultSolver(
        quadratic, linear, sparse.csc_matrix(lines), ends, cones, settings
    ).solve()
    return solved.obj_val, perf_counter() - start


def on_average(sizes, ridges=(1e-1, 1e-3, 1e-5)) -> None:
    """Time both constraints on average."""
    rows = table(
        "normalised and positive on average",
        *("m_Y × m_X", "λ", "weights not zero", "closed form", "time", "residual", "gap"),
        *("Clarabel", "its rel. objective"),
        left=0,
    )
    for n, scale, rank in sizes:
        raw, S, b, _, T = program(n, Gaussian(scale), Gaussian(scale), rank)
        for ridge in ridges:
            goal = at(raw, ridge)
            first, _ = seconds(lambda g=goal: closed_form(g), 15)
            time, found = seconds(lambda g=goal, S=S, b=b: embedding(g, S, b), 15)
            optimum, theirs = np.nan, np.nan
            if raw.b.size <= SMALL:
                optimum, theirs = conic(goal, T, b)
            used = np.count_nonzero(found.multipliers["positivity"] == 0)
            rows.add_row(
                "{} × {}".format(*raw.b.shape),
                f"{ridge:g}",
                f"{used}",
                f"{1e3 * first:.2f} ms",
                f"{1e3 * time:.2f} ms",
                f"{found.certificate.residual:.0e}",
                f"{found.certificate.gap:.0e}",
                "" if np.isnan(theirs) else f"{1e3 * theirs:.0f} ms",
                "" if np.isnan(theirs) else f"{optimum / found.objective - 1:+.0e}",
            )
    console.print(rows)


def all_combinations(n: int, kernel_x, ridge: float) -> None:
    """Time all combinations of normalisation and positivity."""
    raw, S, b, features, _ = program(n, kernel_x, Gaussian(1.5), 100)
    goal = at(raw, ridge)
    rows = table(
        f"n = {n:,}, {raw.b.shape[0]} × {raw.b.shape[1]}, λ = {ridge:g}, {kernel_x}",
        *("normalization", "positivity", "status", "time", "steps", "objective", "gap"),
        "infeasible by",
        left=3,
    )
    for normalization, positivity in ALL:
        options = {"normalization": normalization, "positivity": positivity}
        time, found = seconds(
            lambda o=options: embedding(goal, S, b, features=features, **o),
            1 if positivity == "sample" else 5,
        )
        rows.add_row(
            normalization,
            positivity,
            found.status.name,
            f"{time:.1f} s" if time > 1 else f"{1e3 * time:.1f} ms",
            f"{found.iterations}",
            f"{found.objective:.6f}",
            f"{found.certificate.gap:.0e}",
            f"{found.certificate.feasibility:.0e}",
        )
    console.print(rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="only what takes seconds")
    options = parser.parse_args()
    heading(f", Clarabel {clarabel.__version__}")
    sizes = ((1000, 3.0, None), (1000, 2.0, 50), (10_000, 1.5, 100), (10_000, 1.0, 300))
    on_average(sizes[:2] if options.small else sizes)
    n = 1000 if options.small else 10_000
    for ridge in (1e-1, 1e-3):
        all_combinations(n, Gaussian(1.5), ridge)
    all_combinations(n, Polynomial(2, offset=1.0), 1e-3)


if __name__ == "__main__":
    main()
