"""Times of polynomials and conditional mean embeddings, compared with JDL.

Run ``make bench``. Data: X standard normal in three columns, Y = X / 2 + noise in three
columns, as in the benchmark of the engine. Runs are interleaved.
"""

import argparse

import numpy as np
from measure import console, heading, peak_memory, seconds, table

from jointdist import (
    ConditionalMeanEmbedding,
    JointDistribution,
    PolynomialJointDistribution,
)
from jointdist.kernels import Gaussian

SEED = 0


def data(n: int):
    """Return n rows of three columns on each side."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, 3))
    return X, X / 2 + np.sqrt(0.75) * rng.standard_normal((n, 3))


def interleaved(calls: dict, repeat: int) -> dict[str, float]:
    """Return the median time of each call, over interleaved runs."""
    rounds = [[seconds(call, 1)[0] for call in calls.values()] for _ in range(repeat)]
    return dict(zip(calls, np.median(rounds, axis=0), strict=True))


def polynomials(n: int) -> None:
    """Compare JPDL of degree four with JDL at trace error 10⁻³."""
    X, Y = data(n)
    joint = JointDistribution(Gaussian(1.5), Gaussian(1.5), random_state=SEED)
    polynomial = PolynomialJointDistribution(4, random_state=SEED)
    calls = {
        "JDL, tol 1e-3": lambda: joint.fit(X, Y),
        "JPDL, degree 4": lambda: polynomial.fit(X, Y),
    }
    polynomial.fit(X[:1000], Y[:1000])
    times = interleaved(calls, 5)
    rows = table(f"Polynomials, n = {n:,}, d = 3 + 3", "model", "ranks", "fit", "JDL / it")
    for name, model in zip(calls, (joint, polynomial), strict=True):
        ranks = f"{model.basis_x_.rank}, {model.basis_y_.rank}"
        ratio = times["JDL, tol 1e-3"] / times[name]
        rows.add_row(name, ranks, f"{times[name]:.2f} s", f"{ratio:.1f}")
    console.print(rows)
    with peak_memory() as peak:
        polynomial.fit(X, Y)
    above = peak[0] / 1e6
    console.print(f"Memory of JPDL above the data: {above:,.0f} MB\n")


def embeddings(n: int) -> None:
    """Compare CME with JDL for the same pivots, and with constrained CME."""
    X, Y = data(n)
    kernels = Gaussian(1.5), Gaussian(1.5)
    average = {"normalization": "average", "positivity": "average"}
    for tol, pivoting in ((1e-3, "rp"), (1e-2, "rp"), (1e-3, "greedy"), (1.3e-2, "greedy")):
        rest = {"random_state": SEED, "tol": tol, "pivoting": pivoting}
        models = {
            "JDL": JointDistribution(*kernels, **rest),
            "CME": ConditionalMeanEmbedding(*kernels, **rest),
            "CME, average": ConditionalMeanEmbedding(*kernels, **rest, **average),
        }
        calls = {name: lambda m=model: m.fit(X, Y) for name, model in models.items()}
        models["JDL"].fit(X, Y)
        times = interleaved(calls, 9)
        title = f"Embeddings, n = {n:,}, tol {tol:g}, {pivoting}"
        rows = table(title, "model", "ranks", "fit", "/ JDL", "beyond CME")
        for name, model in models.items():
            ranks = f"{model.basis_x_.rank}, {model.basis_y_.rank}"
            rows.add_row(
                name,
                ranks,
                f"{times[name] * 1e3:.0f} ms",
                f"{times[name] / times['JDL']:.2f}",
                f"{(times[name] - times['CME']) * 1e3:+.1f} ms",
            )
        console.print(rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    options = parser.parse_args()
    heading()
    polynomials(options.rows)
    embeddings(10_000)


if __name__ == "__main__":
    main()
