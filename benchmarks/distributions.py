"""Time and memory of a fit and of queries to its conditional distributions.

Run ``make bench``. Data: X standard normal in three columns, Y scalar, n = 10⁶ support points,
10⁵ queries, Gaussian kernels, trace error 10⁻³. Times are compared with the feature map of the
queries in the same run; memory is above model and data.
"""

import argparse

import numpy as np
from measure import console, heading, peak_memory, seconds, table

from jointdist import JointDistribution
from jointdist.data.table import as_rows
from jointdist.kernels import Gaussian
from jointdist.lowrank.reduction import reduce_sample

SEED = 0
KERNELS = (Gaussian(1.5), Gaussian(0.5))


def data(n: int, seed: int):
    """Return n rows of X and a scalar Y that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X @ [0.5, 0.3, 0.2] + 0.6 * rng.standard_normal(n)


def fit(X, y) -> JointDistribution:
    """Compare the time of a fit with that of its pass over the data."""

    def estimate():
        model = JointDistribution(
            *KERNELS, regularization=1e-6, positivity="none", random_state=SEED
        )
        return model.fit(X, y)

    def reduce():
        return reduce_sample(*KERNELS, X, y, random_state=SEED)

    reduce()
    pairs = [(seconds(reduce, 1)[0], seconds(estimate, 1)[0]) for _ in range(5)]
    alone, whole = np.median(pairs, axis=0)
    model = estimate()
    ranks = f"{model.basis_x_.rank}, {model.basis_y_.rank}"
    rows = table(f"Fit, n = {len(X):,}", "ranks", "pass of the engine", "fit", "ratio")
    rows.add_row(ranks, f"{alone:.2f} s", f"{whole:.2f} s", f"{whole / alone:.2f}")
    console.print(rows)
    return model


def query_all(model: JointDistribution, Q, y) -> None:
    """Time queries to conditional distributions, and the feature map of the queries."""
    executor, basis = model._fitted.problem.executor, model.basis_x_  # noqa: SLF001
    queries = as_rows(Q, where="distributions", name="Q")

    def features():
        return [None for _ in executor.map(lambda _, z: basis.features(z)[0, 0], queries)]

    def moments():
        dist = model.given(x=Q)
        return dist.mean(), dist.var(), dist.second_moment()

    base = seconds(features, 5)[0]
    dist = model.given(x=Q)
    few, some = dist[:1000], dist[:100]
    tasks = {
        "feature map of the queries": (features, len(Q)),
        "mean, variance, second moment": (moments, len(Q)),
        "effective size": (dist.effective_size, len(Q)),
        "probability of an event": (lambda: dist.prob(lambda y: y > 1), len(Q)),
        "sorted support points, once": (lambda: few.quantile(0.5), len(few)),
        "three quantiles": (lambda: dist.quantile([0.05, 0.5, 0.95]), len(Q)),
        "cdf at one value each": (lambda: dist.cdf(y), len(Q)),
        "density at one value each": (lambda: dist.pdf(y), len(Q)),
        "CRPS at one value each, with set-up": (lambda: model.score(Q, y), len(Q)),
        "ten draws": (lambda: dist.sample(10, random_state=0), len(Q)),
        "negative share": (few.negative_share, len(few)),
        "all weights": (some.weights, len(some)),
    }
    title = f"Conditional distributions on {model.moments_.count:,} support points"
    heads = ("query", "distributions", "time", "× features", "a second", "memory")
    rows = table(title, *heads)
    for name, (query, dists) in tasks.items():
        with peak_memory() as peak:
            time = seconds(query, 1)[0]
        if not name.endswith(("once", "set-up")):
            time = seconds(query, 3)[0]
        rows.add_row(
            name,
            f"{dists:,}",
            f"{time:.3f} s",
            f"{time / base * len(Q) / dists:.1f}",
            f"{dists / time:,.0f}",
            f"{peak[0] / 1e6:,.0f} MB",
        )
    console.print(rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--queries", type=int, default=10**5)
    options = parser.parse_args()
    heading()
    model = fit(*data(options.rows, SEED))
    query_all(model, *data(options.queries, SEED + 1))


if __name__ == "__main__":
    main()
