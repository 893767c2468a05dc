"""A small version of the paper's comparison: conditional second moments of normal data.

Run ``make bench``. For each of some random correlation matrices of 3 + 3 variables, n =
10⁴ rows are drawn; models are fitted to 4/5 of them, kernel scales and ridges chosen by
the second-moment loss, Eq. `eq:secmomloss`, on the conditions of the other 1/5, as in the
paper, and tested on 5,000 new conditions. The true conditional moments are known.
"""

import argparse
import warnings
from itertools import product
from time import perf_counter

import numpy as np
from measure import console, heading, table
from scipy.linalg import expm

from jointdist import (
    ConditionalMeanEmbedding,
    JointDistribution,
    PolynomialJointDistribution,
)
from jointdist.errors import SignedLawWarning
from jointdist.kernels import Gaussian

D = 3
SCALES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
RIDGES = 10.0 ** np.arange(-13, 0)
FIXED = {"random_state": 0, "tol": 1e-3, "pivoting": "greedy"}
FREE = {"marginals": "free", "positivity": "none"}
AVERAGE = {"normalization": "average", "positivity": "average"}


def random_correlation(rng, size: int):
    """Return a random correlation matrix: normal numbers in its matrix logarithm.

    Archakov and Hansen (2021), "A new parametrization of correlation matrices": the
    diagonal of the logarithm follows from the rest by a fixed-point iteration.
    """
    A = np.triu(rng.normal(size=(size, size)), 1)
    A = A + A.T
    for _ in range(1000):
        off = np.log(np.diag(expm(A)))
        A[np.diag_indices(size)] -= off
        if np.abs(off).max() < 1e-12:
            break
    return expm(A)


class Truth:
    """Normal variables of mean zero with a given covariance matrix."""

    def __init__(self, C):
        self.C = C
        self.slope = np.linalg.solve(C[:D, :D], C[:D, D:]).T
        self.rest = C[D:, D:] - self.slope @ C[:D, D:]

    def draw(self, rng, n: int):
        """Return n rows of X and Y."""
        Z = rng.multivariate_normal(np.zeros(2 * D), self.C, n)
        return Z[:, :D], Z[:, D:]

    def second_moments(self, X):
        """Return the conditional second moments, one matrix for each condition."""
        mean = X @ self.slope.T
        return mean[:, :, None] * mean[:, None, :] + self.rest

    def loss(self, model, X) -> float:
        """Return the second-moment squared loss of a model."""
        true = self.second_moments(X)
        error = ((model.given(x=X).second_moment() - true) ** 2).sum(axis=(1, 2))
        return float(np.mean(error / (true**2).sum(axis=(1, 2))))


def kernel_models(kind, ridges, **arguments):
    """Yield models of a kind for all scales and ridges."""
    for scale, ridge in product(SCALES, ridges):
        kernel = Gaussian(scale)
        yield kind(kernel, kernel, regularization=ridge, **arguments, **FIXED)


def candidates() -> dict:
    """Return all models that are compared, with the values they choose from."""
    ridges = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]

    def polynomial(**arguments):
        values = product((2, 4), ridges)
        return [
            PolynomialJointDistribution(q, regularization=r, **arguments) for q, r in values
        ]

    return {
        "JDL, exact marginals": [*kernel_models(JointDistribution, RIDGES)],
        "JDL, free (the paper's)": [*kernel_models(JointDistribution, RIDGES, **FREE)],
        "JPDL": polynomial(),
        "JPDL, sums of squares": polynomial(positivity="sos"),
        "CME": [*kernel_models(ConditionalMeanEmbedding, RIDGES)],
        "CME, average constraints": [
            *kernel_models(ConditionalMeanEmbedding, RIDGES, **AVERAGE)
        ],
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matrices", type=int, default=5)
    parser.add_argument("--rows", type=int, default=10**4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    heading()
    warnings.simplefilter("ignore", SignedLawWarning)  # of candidates without mass
    losses, times, chosen = {}, {}, {}
    for j in range(options.matrices):
        rng = np.random.default_rng([options.seed, j])
        truth = Truth(random_correlation(rng, 2 * D))
        (X, Y), (X_test, _) = truth.draw(rng, options.rows), truth.draw(rng, 5000)
        n = options.rows * 4 // 5
        for name, models in candidates().items():
            start = perf_counter()
            scores = [truth.loss(m.fit(X[:n], Y[:n]), X[n:]) for m in models]
            best = models[int(np.nanargmin(scores))]  # NaN: a law without mass
            times.setdefault(name, []).append((perf_counter() - start) / len(models))
            losses.setdefault(name, []).append(truth.loss(best, X_test))
            scale = (
                f"{best.kernel_x.scale:g}"
                if hasattr(best, "kernel_x")
                else f"{best.degree}"
            )
            chosen.setdefault(name, []).append(f"{scale}, {best.regularization:.0e}")
        console.print(
            f"matrix {j}: " + ", ".join(f"{k} {v[-1]:.4f}" for k, v in losses.items())
        )
    title = (
        f"Second-moment loss, n = {options.rows:,}, d = 3 + 3, mean of {options.matrices}"
    )
    rows = table(title, "model", "mean loss", "lowest", "highest", "a candidate", "chosen")
    for name, loss in losses.items():
        rows.add_row(
            name,
            f"{np.mean(loss):.4f}",
            f"{min(loss):.4f}",
            f"{max(loss):.4f}",
            f"{np.mean(times[name]):.2f} s",
            "; ".join(chosen[name]),
        )
    console.print(rows)


if __name__ == "__main__":
    main()
