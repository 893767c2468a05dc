"""Logistic regression on low-rank features against scikit-learn's Newton solver.

Run ``python benchmarks/logistic.py``. Data: three standard normal columns, a rare or a
common event; Gaussian kernel, rank 300. Both solve the same problem on the same features
in memory, without intercept: ours to a certified gap of 1e-8, scikit-learn's
``newton-cholesky`` with its loosest tolerance, a power of ten, that reaches the optimum to
1e-8. Runs are interleaved; times are medians.
"""

import argparse
import warnings
from statistics import median
from time import perf_counter

import numpy as np
from measure import console, heading, table
from sklearn.linear_model import LogisticRegression

import jointdist as jd
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian
from jointdist.lowrank.basis import orthogonal
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import logistic

SEED = 0
GAP = 1e-8  # relative to the objective


def sample(n: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of n rows, and a risk whose quantile defines the event."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # the rank is limited on purpose
        low = jd.pivoted_cholesky(Gaussian(1.0), X, max_rank=rank, random_state=SEED)
    risk = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.logistic(size=n)
    return orthogonal(low).features(X), risk


def objective(F: np.ndarray, y: np.ndarray, ridge: float, c: np.ndarray) -> float:
    """Return the loss plus the ridge."""
    return float(np.logaddexp(0, (1 - 2 * y) * (F @ c)).sum() + ridge * c @ c)


def theirs(F: np.ndarray, y: np.ndarray, ridge: float, tol: float) -> LogisticRegression:
    """Return the fit of scikit-learn."""
    model = LogisticRegression(
        C=1 / (2 * ridge), solver="newton-cholesky", fit_intercept=False, tol=tol
    )
    return model.fit(F, y)


def loosest(F: np.ndarray, y: np.ndarray, ridge: float, best: float) -> float:
    """Return the loosest tolerance with which scikit-learn reaches the optimum to the gap."""
    for digits in range(3, 12):
        c = theirs(F, y, ridge, 10.0**-digits).coef_[0]
        if objective(F, y, ridge, c) <= best * (1 + GAP):
            break
    return 10.0**-digits


def compare(n: int, rank: int, repeat: int) -> None:
    """Time the solvers, interleaved, for a rare and a common event and two ridges."""
    F, risk = sample(n, rank)
    rows = table(
        f"n = {n:,}, m = {F.shape[1]}: seconds (steps, objective above the optimum)",
        *("event", "λ", "float64", "float32", "scikit-learn", "its tol"),
        *("float64 is faster by", "float32 is faster by"),
        left=0,
    )
    for share in (0.01, 0.3):
        y = (risk > np.quantile(risk, 1 - share)).astype(np.intp)
        for ridge in (1e-2, 1.0):
            blocks = Blocks(*F.shape, lambda rows: F[rows])
            best = logistic(blocks, y, ridge).objective  # to rounding; blocks are kept now
            tol = loosest(F, y, ridge, best)
            solvers = {
                "float64": lambda b=blocks, y=y, r=ridge: logistic(b, y, r, tol=GAP),
                "float32": lambda b=blocks, y=y, r=ridge: logistic(
                    b, y, r, tol=GAP, precision="float32"
                ),
                "theirs": lambda y=y, r=ridge, tol=tol: theirs(F, y, r, tol),
            }
            times = {name: [] for name in solvers}
            reached = {}
            for _ in range(repeat):
                for name, solve in solvers.items():
                    start = perf_counter()
                    found = solve()
                    times[name].append(perf_counter() - start)
                    own = name != "theirs"
                    c = (found.value if own else found.coef_)[0]
                    steps = found.iterations if own else found.n_iter_[0]
                    above = objective(F, y, ridge, c) / best - 1
                    reached[name] = f"({steps}, {max(above, 0):.0e})"
            middle = {name: median(seconds) for name, seconds in times.items()}
            rows.add_row(
                f"{share:.0%}",
                f"{ridge:g}",
                *(f"{middle[name]:.2f} {reached[name]}" for name in solvers),
                f"{tol:.0e}",
                *(
                    f"{middle['theirs'] / middle[name]:.1f} ×"
                    for name in ("float64", "float32")
                ),
            )
    console.print(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    quick = parser.parse_args().quick
    heading()
    compare(10_000 if quick else 100_000, 300, 3)


if __name__ == "__main__":
    main()
