"""Throughput of projections and of queries, and times of fits of `DistributionRegressor`."""

from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from measure import seconds

from jointdist import Conditional, DistributionRegressor, JointDistribution
from jointdist.data.executor import Executor
from jointdist.kernels import Gaussian
from jointdist.programs.isotonic import isotonic
from jointdist.programs.tilting import Exponential

SEED = 0
DISTRIBUTIONS, CELLS, FEATURES = 20_000, 512, 15


def family(ridge: float) -> tuple[Exponential, np.ndarray, np.ndarray]:
    """Return the exponential family of a binned normal sample, signed moments, and the cells."""
    rng = np.random.default_rng(SEED)
    z = np.sort(rng.normal(size=CELLS))
    K = np.exp(-0.5 * ((z[:, None] - z) / 1.2) ** 2)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    c, V = np.linalg.eigh(centred)
    c, U = c[::-1][:FEATURES], V[:, ::-1][:, :FEATURES] * np.sqrt(CELLS)
    means = 0.8 * rng.normal(size=DISTRIBUTIONS)
    w = np.exp(-0.5 * ((z - means[:, None]) / 0.3) ** 2)
    w /= w.sum(axis=1, keepdims=True)
    targets = w @ U + 0.1 * rng.normal(size=(DISTRIBUTIONS, FEATURES))
    return Exponential(U, np.full(CELLS, 1 / CELLS), ridge * c[0] / c), targets, z


def in_parts(work: Callable[[np.ndarray], object], table: np.ndarray, rows: int) -> float:
    """Return the rows processed a second, by all threads, in parts of the given size."""
    parts = [table[i : i + rows] for i in range(0, len(table), rows)]
    time, _ = seconds(lambda: [None for _ in Executor().each(work, parts)])
    return len(table) / time


def projections() -> None:
    """Print the number of distributions projected a second."""
    print(
        f"## Projections: {DISTRIBUTIONS:,} distributions, {CELLS} cells, {FEATURES} features\n"
    )
    print("| projection | ridge | distributions a second | Newton steps |")
    print("|---|---|---|---|")
    for ridge in (0.1, 0.01, 0.001):
        tilts, targets, z = family(ridge)
        rate = in_parts(tilts.solve, targets, 512)
        steps = tilts.solve(targets[:2000]).steps.mean()
        print(f"| information | {ridge:g} | {rate:,.0f} | {steps:.1f} |")
    signed = (1 + targets @ tilts.features.T) / CELLS
    rate = in_parts(lambda w: isotonic(w, z), signed, 512)
    print(f"| isotonic | | {rate:,.0f} | |\n")


def data(n: int, d: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with a smooth mean and heteroscedastic noise."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n, d))
    y = (
        np.sin(2 * X[:, 0])
        + X[:, 1] * X[:, 2]
        + 0.3 * np.exp(X[:, 3] / 3) * rng.normal(size=n)
    )
    return X, y


def queries() -> None:
    """Print the time of queries to 10,000 distributions on 200,000 support points."""
    X, y = data(200_000, 2 + 2)
    print("## Queries: 10,000 distributions on 200,000 support points, microseconds each\n")
    print("| positivity | mean | 90 % interval | cdf | density |")
    print("|---|---|---|---|---|")
    kernels = Gaussian(2.0), Gaussian(1.0)
    model = JointDistribution(
        *kernels, regularization=1e-6, max_rank=200, random_state=SEED
    )
    model.fit(X, y)
    x, at = X[:10_000], y[:10_000]
    for positivity in ("none", "projected", "isotonic"):
        fitted = model.refit(positivity=positivity)
        fitted.given(x=x[:100]).quantile(0.5)
        tasks = (
            lambda dist: dist.mean(),
            lambda dist: dist.interval(0.9),
            lambda dist: dist.cdf(at),
            lambda dist: dist.pdf(at),
        )
        times = [seconds(partial(_answered, task, fitted, x))[0] for task in tasks]
        cells = " | ".join(f"{100 * time:.1f}" for time in times)
        print(f"| {positivity} | {cells} |", flush=True)
    print()


def _answered(
    query: Callable[[Conditional], object], model: JointDistribution, x: Any
) -> object:
    return query(model.given(x=x))


def fits(sizes: list[int], regressors: list[str]) -> None:
    """Print the times of fits, and their ratio to that of `JointDistribution`."""
    print("## Fits, d = 8, seconds\n")
    print("| n | JointDistribution | regressor | DistributionRegressor | ratio |")
    print("|---|---|---|---|---|")
    for n in sizes:
        X, y = data(n)
        plain, _ = seconds(partial(JointDistribution(random_state=SEED).fit, X, y), 1)
        for regressor in regressors:
            model = DistributionRegressor(regressor, random_state=SEED)
            time, _ = seconds(partial(model.fit, X, y), 1)
            ratio = time / plain
            print(
                f"| {n:,} | {plain:.1f} | {regressor} | {time:.1f} | {ratio:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--regressors", nargs="+", default=["kernel", "auto"])
    options = parser.parse_args()
    projections()
    queries()
    fits(options.sizes, options.regressors)
