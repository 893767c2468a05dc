"""The sum-of-squares program: steps and seconds to certified gaps, compared with SCS.

Run ``python benchmarks/sos.py``. Data: d variables on each side; Gaussian, dependent
through a random log correlation matrix, and heavy-tailed transforms of it; polynomials of
degree four, orthonormal under the sample. SCS, if installed, solves the same program in its
smallest form, a linear matrix inequality in the multipliers.
"""

import argparse
from importlib.util import find_spec
from itertools import combinations_with_replacement
from time import perf_counter

import numpy as np
from measure import console, heading, seconds, table
from scipy import sparse

from jointdist.programs import Objective, sum_of_squares

SEED = 0
GAPS = (1e-3, 1e-5, 1e-6)


def sample(kind: str, d: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n dependent rows of X and Y."""
    rng = np.random.default_rng(SEED)
    if kind == "correlation .97":
        X = rng.standard_normal((n, d))
        return X, 0.97 * X + np.sqrt(1 - 0.97**2) * rng.standard_normal((n, d))
    log = np.tril(0.5 * rng.standard_normal((2 * d, 2 * d)), -1)
    w, V = np.linalg.eigh(log + log.T)
    C = (V * np.exp(w)) @ V.T
    size = np.sqrt(np.diag(C))
    Z = rng.standard_normal((n, 2 * d)) @ np.linalg.cholesky(C / np.outer(size, size)).T
    if kind == "t3":
        Z /= np.sqrt(rng.chisquare(3, (n, 1)) / 3)
    if kind == "lognormal":
        Z = np.exp(Z)
    return Z[:, :d], Z[:, d:]


def polynomials(X: np.ndarray, degree: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal polynomials on the sample, and their structure constants."""
    n, d = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    powers = [
        list(p)
        for q in range(degree + 1)
        for p in combinations_with_replacement(range(d), q)
    ]
    V = np.stack([Z[:, p].prod(axis=1) for p in powers], axis=1)
    F, R = np.linalg.qr(V)
    F *= np.sqrt(n) * np.sign(np.diag(R))
    P = F[:, : sum(2 * len(p) <= degree for p in powers)]
    return F, np.einsum("nk,ni,nj->kij", F, P, P, optimize=True) / n


def program(kind: str, d: int, n: int, ridge: float):
    """Return the objective of a sample, and both structure constants."""
    X, Y = sample(kind, d, n)
    (F_y, C_y), (F_x, C_x) = polynomials(Y), polynomials(X)
    M = F_y.T @ F_x / n - np.outer(F_y.mean(axis=0), F_x.mean(axis=0))
    one = np.ones(len(M))
    first = np.eye(len(M))[0]
    return Objective(M, one, one, ridge, first, first), C_y, C_x


def to_gaps(cases) -> None:
    """Print steps and seconds to each gap."""
    rows = table(
        "sums of squares: steps and seconds to a certified relative gap",
        *("data", "d", "n", "λ", "Gram", "coefficients"),
        *(f"to {gap:g}" for gap in GAPS),
        "objective",
    )
    for kind, d, n, ridge in cases:
        arguments = program(kind, d, n, ridge)
        cells = []
        for gap in GAPS:
            time, solution = seconds(lambda a=arguments, g=gap: sum_of_squares(*a, tol=g))
            missed = "" if solution.status.ok else "!"
            cells.append(f"{solution.iterations}{missed} / {time:.3f} s")
        rows.add_row(
            kind,
            f"{d} + {d}",
            f"{n:,}",
            f"{ridge:g}",
            f"{len(solution.gram)}",
            f"{solution.value.size:,}",
            *cells,
            f"{solution.objective:.6f}",
        )
    console.print(rows)


def against_scs(cases) -> None:
    """Compare with SCS: minimise |M + Y|²/c + 2 Y_00 with a semidefinite L*(Y)."""
    if find_spec("scs") is None:
        console.print("SCS not installed")
        return
    rows = table(
        "against SCS at its tolerance 1e-6 (without the time to build its matrices)",
        *("d", "n", "λ", "ours, gap 1e-6", "SCS", "its steps", "its rel. objective"),
        "ours is faster by",
        left=0,
    )
    for d, n, ridge in cases:
        arguments = program("Gaussian", d, n, ridge)
        time, solution = seconds(lambda a=arguments: sum_of_squares(*a))
        theirs, steps, optimum = by_scs(*arguments)
        rows.add_row(
            f"{d} + {d}",
            f"{n:,}",
            f"{ridge:g}",
            f"{time:.3f} s",
            f"{theirs:.2f} s",
            f"{steps:,}",
            f"{optimum / solution.objective - 1:+.0e}",
            f"{theirs / time:.0f} ×",
        )
    console.print(rows)


def by_scs(objective: Objective, C_y: np.ndarray, C_x: np.ndarray):
    """Return the seconds, steps and optimum of SCS."""
    import scs  # noqa: PLC0415

    k = C_y.shape[1] * C_x.shape[1]
    full = np.einsum("kab,lij->klaibj", C_y, C_x).reshape(-1, k, k)
    i, j = np.tril_indices(k)
    order = np.lexsort((i, j))  # the lower triangle by columns
    i, j = i[order], j[order]
    rows = -(full[:, i, j] * np.where(i == j, 1.0, np.sqrt(2))).T
    rows[np.abs(rows) < 1e-12] = 0
    c = float(objective.a[0, 0])
    P = np.full(objective.b.size, 2 / c)
    P[0] = 0
    q = 2 * objective.b.ravel() / c
    q[0] = 2
    data = {
        "P": sparse.csc_matrix(sparse.diags(P)),
        "A": sparse.csc_matrix(rows),
        "b": np.zeros(len(i)),
        "c": q,
    }
    options = {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iters": 100_000}
    begin = perf_counter()
    info = scs.SCS(data, {"s": [k]}, verbose=False, **options).solve()["info"]
    constant = float(np.sum(objective.b**2)) / c
    return perf_counter() - begin, info["iter"], -info["pobj"] - constant


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="only what takes seconds")
    options = parser.parse_args()
    heading()
    kinds = ("t3", "lognormal", "correlation .97")
    cases = [("Gaussian", d, 1000, 1e-3) for d in (1, 2)]
    cases += [(kind, 2, 50, 1e-3) for kind in kinds]
    if not options.small:
        cases += [("Gaussian", 3, n, r) for n in (1000, 10_000) for r in (1e-3, 1.0)]
        cases += [(kind, 3, 1000, 1e-3) for kind in kinds]
        cases += [("Gaussian", 4, 2000, 1e-3)]
    to_gaps(cases)
    against_scs([(d, 1000, 1e-3) for d in ((1, 2) if options.small else (1, 2, 3))])


if __name__ == "__main__":
    main()
