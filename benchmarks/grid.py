"""Exact positivity on the grid of the sample: time, gap, and remaining negativity.

Run ``make bench``. X and Y are jointly normal, d = 3 + 3, with the
correlation of a random matrix logarithm (Archakov and Hansen, 2021); Gaussian kernels of
length scale 2. Times are compared with one sweep over all pairs in double precision in the
same run.
"""

import argparse

import numpy as np
from measure import console, heading, seconds, table
from scipy.linalg import expm

from jointdist.kernels import Gaussian
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample
from jointdist.programs import Objective, grid_positive
from jointdist.programs.grid_sweep import Grid

SCALE, SEED = 2.0, 0
HEADS = ("n", "basis", "λ", "m", "time", "× sweep", "sweeps", "gap", "active")
HEADS += ("negative before", "lowest 1 + h")


def correlation(d: int, rng) -> np.ndarray:
    """Return a correlation matrix whose logarithm is standard normal off the diagonal."""
    A = rng.standard_normal((d, d))
    A = np.tril(A, -1) + np.tril(A, -1).T
    for _ in range(200):
        A -= np.diag(np.log(np.diag(expm(A))))
    return expm(A)


def program(n: int, *, centred: bool, tol: float):
    """Return the objective without ridge, and the basis functions at the sample."""
    rng = np.random.default_rng(SEED)
    Z = rng.multivariate_normal(np.zeros(6), correlation(6, rng), n)
    X, Y, kernel = Z[:, :3], Z[:, 3:], Gaussian(SCALE)
    small = reduce_sample(kernel, kernel, X, Y, tol=tol, random_state=SEED)
    x, y = double_orthogonal(small, centred=centred)
    F_x, F_y = x.features(X), y.features(Y)
    mean_x, mean_y = F_x.mean(axis=0), F_y.mean(axis=0)
    b = F_y.T @ F_x / n - np.multiply.outer(mean_y, mean_x)
    means = (None, None) if centred else (mean_y, mean_x)
    return Objective(b, y.eigenvalues / n, x.eigenvalues / n, 0.0, *means), F_y, F_x


def density(H, F_y, F_x, step: int = 512) -> tuple[float, float]:
    """Return the lowest 1 + h over all pairs, and the share of negative values."""
    lowest, negative = np.inf, 0
    for start in range(0, len(F_y), step):
        values = 1 + F_y[start : start + step] @ (H @ F_x.T)
        lowest = min(lowest, float(values.min()))
        negative += np.count_nonzero(values < 0)
    return lowest, negative / (len(F_y) * len(F_x))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 5000, 20_000])
    parser.add_argument("--ridge", type=float, nargs="+", default=[1e-3])
    parser.add_argument("--tol", type=float, default=3e-5, help="of the low-rank factors")
    options = parser.parse_args()
    heading()
    rows = table("Positivity at all n² pairs, gap 1e-5", *HEADS, left=0)
    for n in options.rows:
        for centred in (False, True):
            objective, F_y, F_x = program(n, centred=centred, tol=options.tol)
            for ridge in options.ridge:
                now = objective.at(ridge)
                free = now.normalised(now.b * now.inverse)
                grid = Grid(F_y, F_x)
                sweep, _ = seconds(lambda g=grid, H=free: g.lowest(H))
                time, found = seconds(lambda o=now, y=F_y, x=F_x: grid_positive(o, y, x), 1)
                _, before = density(free, F_y, F_x)
                lowest, _ = density(found.value, F_y, F_x)
                rows.add_row(
                    f"{n:,}",
                    "centred" if centred else "raw",
                    f"{ridge:g}",
                    "{} × {}".format(*now.b.shape),
                    f"{time:.2f} s" + ("" if found.status.ok else " (inexact)"),
                    f"{time / sweep:.0f}",
                    f"{found.iterations}",
                    f"{found.certificate.gap:.0e}",
                    f"{len(found.multipliers['pairs'])}",
                    f"{before:.0%}",
                    f"{lowest:.0e}",
                )
    console.print(rows)


if __name__ == "__main__":
    main()
