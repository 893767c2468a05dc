"""Default pivots against greedy ones at equal rank: losses and times; and ranks at one tolerance.

Run ``python -m benchmarks.pivots``. Normal data in d + d columns, and two public sets if they are
there. Where length scales are selected, they are so for each kind of pivots, with the ridge, by the
validation loss, as in the study `gaussian`.
"""

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import console, heading, table
from benchmarks.peers.data import load, present
from jointdist import JointDistribution, pivoted_cholesky, scores
from jointdist.datasets import NormalPair
from jointdist.kernels import Gaussian

RULES = ("auto", "greedy")
RANKS = {1: (5, 10), 2: (16, 32, 64), 3: (32, 64, 128)}
SCALES = tuple(product((1.0, 2.0, 4.0, 6.0), (2.0, 4.0)))  # some of the study's, X before Y
GIVEN = (1.0, 2.0, 4.0)
RIDGES = tuple((10.0 ** np.arange(-2, -13, -2)).tolist())
COARSE = (1e-2, 1e-3, 1e-4)  # of projected distributions, which hardly depend on them
HELD, SCORED = 1000, 500  # rows for the loss, with the true moments, and for the CRPS
PUBLIC = {"power": (64, 256), "kin8nm": (64, 256)}


class Rows(NamedTuple):
    """Training rows, and the loss of a fitted model on validation and on test rows."""

    X: Any
    Y: Any
    losses: tuple[Callable[[Any], Any], Callable[[Any], Any]]


class Tried(NamedTuple):
    """The test score of the selected model, and the median CPU seconds of a fit."""

    score: float
    seconds: float


def tried(rows: Rows, scales: Iterable[tuple[float, float]], rank: int, rule: str) -> Tried:
    """Select signed distributions with exact marginals for several outcomes; else project."""
    several = np.ndim(rows.Y) > 1
    best, times = (np.inf, np.inf), []
    for x, y in scales:
        model = JointDistribution(
            Gaussian(x),
            Gaussian(y),
            regularization=COARSE[0],
            tol=0.0,
            max_rank=rank,
            pivoting=rule,
            positivity="none" if several else "projected",
            random_state=0,
            verbose=0,
        )
        start = process_time()
        model.fit(rows.X, rows.Y)
        times.append(process_time() - start)
        for ridge in RIDGES if several else COARSE:
            model = model.refit(regularization=ridge)
            best = min(best, tuple(float(np.mean(loss(model))) for loss in rows.losses))
    return Tried(best[1], float(np.median(times)))


def moments(d: int, n: int, seed: int) -> Rows:
    """Return normal data with the second-moment loss."""
    pair, rng = NormalPair.random(d, random_state=seed), np.random.default_rng([seed, n])
    X, Y = pair.draw(n, random_state=rng)

    def loss(Z: Any, truth: Any, model: Any) -> Any:
        return scores.second_moment_loss(model.given(Z), truth)

    held = [pair.draw(HELD, random_state=rng)[0] for _ in range(2)]
    return Rows(X, Y, tuple(partial(loss, Z, pair.second_moments(Z)) for Z in held))


def column(d: int, n: int, seed: int) -> Rows:
    """Return normal data and the first column of Y, with the CRPS."""
    pair, rng = NormalPair.random(d, random_state=seed), np.random.default_rng([seed, n])
    train, *held = (pair.draw(rows, random_state=rng) for rows in (n, SCORED, SCORED))
    return outcomes(*train, held)


def public(name: str) -> Rows:
    """Return the first split of a public set in standard deviations, with the CRPS."""
    task = load(name, 0)
    X, X_test = (
        (A - task.X.mean(axis=0)) / task.X.std(axis=0) for A in (task.X, task.X_test)
    )
    Y, Y_test = ((y - task.Y.mean()) / task.Y.std() for y in (task.Y, task.Y_test))
    cut = len(Y) * 9 // 10
    return outcomes(X[:cut], Y[:cut], [(X[cut:], Y[cut:]), (X_test, Y_test)])


def outcomes(X: Any, Y: Any, held: Iterable[tuple[Any, Any]]) -> Rows:
    """Return rows with the CRPS of one outcome, the first column of each Y."""

    def loss(Z: Any, y: Any, model: Any) -> Any:
        return scores.crps(model.given(Z), y)

    first = [(Z, y.reshape(len(y), -1)[:, 0]) for Z, y in [(X, Y), *held]]
    return Rows(*first[0], tuple(partial(loss, *one) for one in first[1:]))


def ranks(cases: list[tuple[int, int]]) -> None:
    """Print ranks and CPU times of the choice of pivots at the default tolerance."""
    heads = "data", "scale", "auto", "greedy", "auto takes", "greedy takes"
    rows = table("Pivots at tolerance 0.001", *heads)
    for (d, n), scale in product(cases, GIVEN):
        X, _ = NormalPair.random(d, random_state=0).draw(n, random_state=1)
        found, times = [], []
        for rule in RULES:
            start = process_time()
            low = pivoted_cholesky(Gaussian(scale), X, pivoting=rule, random_state=0)
            times.append(f"{process_time() - start:.2f} s")
            found.append(f"{low.rank}")
        rows.add_row(f"d = {d}, n = {n:,}", f"{scale:g}", *found, *times)
    console.print(rows)


class Losses:
    """A table of means of both rules, with the ratio of means and the geometric mean of ratios."""

    def __init__(self, title: str) -> None:
        heads = "ratio", "geometric", "auto fits in", "greedy fits in"
        self.rows = table(title, "data", "scales", "rank", *RULES, *heads, left=2)

    def add(self, name: str, how: str, rank: int, trial: list[dict[str, Tried]]) -> None:
        """Add the trials of all seeds."""
        score = {rule: np.array([one[rule].score for one in trial]) for rule in RULES}
        time = {rule: np.mean([one[rule].seconds for one in trial]) for rule in RULES}
        auto, greedy = (score[rule] for rule in RULES)
        cells = [f"{auto.mean():.3g}", f"{greedy.mean():.3g}"]
        cells += [f"{auto.mean() / greedy.mean():.2f}"]
        cells += [f"{np.exp(np.log(auto / greedy).mean()):.2f}"]
        self.rows.add_row(
            name, how, f"{rank}", *cells, *(f"{t:.2f} s" for t in time.values())
        )


def normal(cases: list[tuple[int, int]], seeds: int) -> None:
    """Print losses on normal data, with length scales selected and with given ones."""
    selected = Losses("Second-moment loss at equal rank, length scales selected")
    given = Losses("The same, length scales given, at the rank of the default at 0.001")
    single = Losses("CRPS of one column at equal rank")
    for d, n in cases:
        data = [moments(d, n, seed) for seed in range(seeds)]
        columns = [column(d, n, seed) for seed in range(seeds)]
        name = f"d = {d}, n = {n:,}"
        for rank in RANKS[d]:
            selected.add(name, "selected", rank, both(data, SCALES, rank))
            single.add(name, "2, 1", rank, both(columns, [(2.0, 1.0)], rank))
        for scale in GIVEN:
            low = pivoted_cholesky(Gaussian(scale), data[0].X, random_state=0)
            trial = both(data, [(scale, scale)], low.rank)
            given.add(name, f"{scale:g}, {scale:g}", low.rank, trial)
    for losses in (selected, given, single):
        console.print(losses.rows)


def both(data: list[Rows], scales: Any, rank: int) -> list[dict[str, Tried]]:
    """Return what both rules give on each sample."""
    return [{rule: tried(rows, scales, rank, rule) for rule in RULES} for rows in data]


def sets() -> None:
    """Print the CRPS of public sets."""
    losses = Losses("CRPS of public sets, in standard deviations, at equal rank")
    for name in filter(present, PUBLIC):
        data = [public(name)]
        scale = float(np.sqrt(data[0].X.shape[1]))
        for rank in PUBLIC[name]:
            losses.add(name, f"{scale:.1f}, 1", rank, both(data, [(scale, 1.0)], rank))
    console.print(losses.rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**4, 10**5])
    parser.add_argument("--dimensions", type=int, nargs="+", default=list(RANKS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    heading()
    cases = list(product(options.dimensions, options.sizes))
    ranks(cases)
    sets()
    normal(cases, options.seeds)


if __name__ == "__main__":
    main()
