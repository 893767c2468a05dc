"""Automatic selection of kernels and ridge: accuracy and cost.

Run ``make bench``. *Quality*: on the published splits of nine UCI sets, the test CRPS of an
automatic fit of signed distributions, over that of the best point of an exhaustive grid of the
same families of kernels: both length scales times powers of two from -6 to 3, and 19 strengths
of the ridge. The best point is an oracle: it has the lowest mean CRPS on the test rows, which
the automatic fit never sees. *Speed*: the automatic fit, compared with a fit at the selected
hyperparameters. *Ridges*: a path of 50 ridges, compared with a single one.

The sets are read from ``data/uci`` in a folder ``shared`` beside the checkout, or in the folder
that JOINTDIST_SHARED names.
"""

import argparse
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import mean

import numpy as np
from measure import console, gemm_rate, heading, seconds, table

from jointdist import JointDistribution, Selection, pivoted_cholesky, scores
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.errors import ToleranceWarning
from jointdist.kernels import Gaussian
from jointdist.selection.fold_moments import Side
from jointdist.selection.risk import Trial

SHARED = Path(os.environ.get("JOINTDIST_SHARED") or Path(__file__).parents[2] / "shared")
UCI = SHARED / "data" / "uci"
FOREST = {  # CRPS of quantile-forest, 200 trees of leaf 5, on the first splits
    "yacht": 0.404,
    "bostonHousing": 1.567,
    "energy": 0.290,
    "concrete": 2.891,
    "wine-quality-red": 0.266,
    "power-plant": 1.715,
    "kin8nm": 0.0777,
    "naval-propulsion-plant": 0.000578,
    "protein-tertiary-structure": 1.549,
}
SEED, EXACT, RANK, TOL = 0, 512, 1024, 1e-3  # as in automatic fits
FAMILIES = ("common", "each")
POWERS = np.arange(-6, 4)
STRENGTHS = 10.0 ** np.arange(2, -7.1, -0.5)
LARGE, FEWER = 20_000, np.arange(-4, 2)  # larger sets have fewer powers of X
WAYS = {
    "automatic": Selection(),
    "ratio": Selection("ratio"),
    "common": Selection(scales="common"),
}
GOOD = Gaussian(1.5), Gaussian(0.5)  # kernels for the path of ridges


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows, with the interface of the cross-validation of a selection."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @cached_property
    def sample(self) -> Sample:
        """The test rows, followed by the training rows."""
        X = np.concatenate([self.X_test, self.X])
        y = np.concatenate([self.y_test, self.y])[:, None]
        return Sample(Rows(X, "selection", "X"), Rows(y, "selection", "Y"), None)

    @cached_property
    def parts(self) -> list[np.ndarray]:
        """The indices of test and training rows in the sample."""
        return np.split(np.arange(self.sample.n), [len(self.y_test)])

    def held(self, part: int) -> Sample:
        """Return the rows of a part."""
        return self.sample.take(self.parts[part])

    def train(self, part: int) -> Sample:
        """Return the rows of the other part."""
        return self.held(1 - part)

    @property
    def tol(self) -> float:
        """The tolerance of an automatic fit."""
        return 0.0 if len(self.X) <= EXACT else TOL

    def crps(self, model: JointDistribution) -> float:
        """Return the mean CRPS of a model on the test rows."""
        return float(np.mean(scores.crps(model.given(x=self.X_test), self.y_test)))


def published(name: str, count: int | None) -> Iterator[Split]:
    """Yield the first published splits of a set: five, or two of a large one."""
    Z = np.loadtxt(UCI / name / "data.txt.gz")
    Z = Z[:, :17] if name.startswith("naval") else Z  # without its second outcome
    n, rng = len(Z), np.random.RandomState(1)  # as published
    for _ in range(count or (5 if n < 2000 else 2)):
        order = rng.choice(range(n), n, replace=False)
        train, test = np.split(Z[order], [round(0.9 * n)])
        yield Split(train[:, :-1], train[:, -1], test[:, :-1], test[:, -1])


class Grid:
    """The test CRPS of every point of the grid on one split, without a fit for each.

    Each kernel matrix of the training rows is factored once, with the pivots that the
    estimator would select; moments of training rows are those of all rows less the test rows.
    """

    def __init__(self, split: Split, model: JointDistribution) -> None:
        self.split, self.model = split, model
        self.powers = FEWER if len(split.X) > LARGE else POWERS
        tried = model.selection_.candidates
        first = {c.scales: c.kernel_x for c in tried if c.factor_x == 1}
        self.kernels = [first[name] for name in FAMILIES]
        self.kernel_y = next(c.kernel_y for c in tried if c.factor_y == 1)
        rng = np.random.default_rng(SEED)
        rng.integers(2**32)  # the estimator draws its other seed first
        self.seeds = rng.integers(2**32, size=(2, 4))

    def scores(self) -> np.ndarray:
        """Return the CRPS by family, power of X, power of Y, and strength."""
        ridges = (STRENGTHS / len(self.split.X)).tolist()
        scales = [widened(self.kernel_y, power) for power in POWERS]
        ys = list(Executor().each(lambda kernel: self.side(1, kernel), scales))

        def by_y(kernel: Gaussian) -> list[list[float]]:
            x, data = self.side(0, kernel), self.model._data  # noqa: SLF001
            fit = self.model._fit_without  # noqa: SLF001
            trials = (fit(data, self.split, x, y, 0) for y in ys)
            return [[test_crps(trial, ridge) for ridge in ridges] for trial in trials]

        scales = [widened(k, power) for k in self.kernels for power in self.powers]
        found = np.array(list(Executor().each(by_y, scales)))
        return found.reshape(len(FAMILIES), -1, *found.shape[1:])

    def side(self, number: int, kernel: Gaussian) -> Side:
        """Return X or Y in the features of a kernel, with its moments."""
        split, rng = self.split, np.random.default_rng(self.seeds[number])
        both = (split.sample.x, split.sample.y)[number]
        own = both.subset(split.parts[1])
        low = pivoted_cholesky(kernel, own, tol=split.tol, max_rank=RANK, random_state=rng)
        rest = {"centred": True, "factor": 1.0, "group": 2, "executor": Executor()}
        return Side(replace(low, rows=both), split.parts, None, **rest)

    def fitted(self, point: tuple[int, ...]) -> float:
        """Return the CRPS of a point, computed by the estimator."""
        family, i, j, strength = point
        model = JointDistribution(
            widened(self.kernels[family], self.powers[i]),
            widened(self.kernel_y, POWERS[j]),
            regularization=STRENGTHS[strength] / len(self.split.X),
            tol=self.split.tol,
            max_rank=RANK,
            positivity="none",
            random_state=SEED,
        )
        return self.split.crps(model.fit(self.split.X, self.split.y))

    def named(self, point: tuple[int, ...]) -> str:
        """Return a description of a point."""
        family, i, j, strength = point
        scales = f"{FAMILIES[family]} {2.0 ** self.powers[i]:g}, {2.0 ** POWERS[j]:g}"
        return f"{scales}, {STRENGTHS[strength]:.0e}"


def test_crps(trial: Trial, ridge: float) -> float:
    """Return the mean CRPS of the distributions at the held-out rows."""
    held, dists = trial.outcomes, trial.dists(trial.solve(ridge))
    return held.mean(held.energy.scores(dists, held.near))


def widened(kernel: Gaussian, power: int) -> Gaussian:
    """Return a kernel with its length scales times a power of two."""
    return Gaussian((2.0**power * np.atleast_1d(kernel.scale)).tolist())


def lowest(values: np.ndarray) -> tuple[int, ...]:
    """Return the index of the lowest value."""
    return np.unravel_index(np.argmin(values), values.shape)


@dataclass(frozen=True, eq=False)
class Result:
    """Scores of automatic fits and of the grid on one split."""

    grid: Grid
    values: np.ndarray  # of the grid
    crps: dict[str, float]  # of automatic fits, by their way
    seconds: float  # of the plain one

    @staticmethod
    def of(split: Split) -> "Result":
        """Return the scores of a split."""
        crps, models, times = {}, {}, {}
        for way, how in WAYS.items():
            model = JointDistribution(selection=how, positivity="none", random_state=SEED)
            times[way], models[way] = seconds(lambda m=model: m.fit(split.X, split.y), 1)
            crps[way] = split.crps(models[way])
        grid = Grid(split, models["automatic"])
        return Result(grid, grid.scores(), crps, times["automatic"])

    @property
    def thumb(self) -> float:
        """The CRPS with the median heuristic and a ridge of a tenth over the number of rows."""
        zeros = (np.flatnonzero(powers == 0)[0] for powers in (self.grid.powers, POWERS))
        return self.values[0, *zeros, np.argmin(np.abs(STRENGTHS - 0.1))]

    @property
    def chosen(self) -> str:
        """The selection of the automatic fit, described like points of the grid."""
        model = self.grid.model
        best = model.selection_.chosen
        strength = model.regularization_ * model.moments_.count
        return f"{best.scales} {best.factor_x:g}, {best.factor_y:g}, {strength:.0e}"

    def check(self) -> None:
        """Raise unless the estimator agrees with the grid at its best and at a smooth point."""
        for point in (lowest(self.values), (0, len(self.grid.powers) - 2, 6, 8)):
            fitted, seen = self.grid.fitted(point), self.values[point]
            assert abs(seen / fitted - 1) < 1e-6, (point, seen, fitted)  # noqa: S101


def quality(names: list[str], count: int | None) -> None:
    """Compare automatic fits with the best point of the grid."""
    title = "Quality: test CRPS of automatic fits, over that of the best point of the grid"
    heads = ("data", "rows", "splits", "CRPS", "fit", "best", "/ best", "/ best of each")
    heads += ("common / its best", "ratio / best", "thumb / best", "forest")
    rows = table(title, *heads)
    title = (
        "Points: length scales of X with their factor, factor of Y, strength of the ridge"
    )
    points = table(title, "data", "best", "chosen", left=3)
    for name in names:
        if not (UCI / name).is_dir():
            console.print(f"{name}: skipped, data/uci is missing (see JOINTDIST_SHARED)")
            continue
        found = [Result.of(split) for split in published(name, count)]
        found[0].check()
        short, grid = name.partition("-")[0], np.array([one.values for one in found])
        over = grid.mean(axis=0)
        best, free = over.min(), mean(one.values.min() for one in found)
        crps = {way: mean(one.crps[way] for one in found) for way in WAYS}
        rows.add_row(
            short,
            f"{len(found[0].grid.split.X):,}",
            f"{len(found)}",
            f"{crps['automatic']:.3g}",
            f"{mean(one.seconds for one in found):.1f} s",
            f"{best:.3g}",
            f"{crps['automatic'] / best:.3f}",
            f"{crps['automatic'] / free:.3f}",
            f"{crps['common'] / over[0].min():.3f}",
            f"{crps['ratio'] / best:.3f}",
            f"{mean(one.thumb for one in found) / best:.2f}",
            f"{FOREST[name]:g}",
        )
        chosen = "; ".join(one.chosen for one in found)
        points.add_row(short, found[0].grid.named(lowest(over)), chosen)
    console.print(rows)
    console.print(points)


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of three columns, and their outcomes."""
    rng = np.random.default_rng(SEED)
    X = rng.standard_normal((n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)


def speed(n: int) -> None:
    """Compare the automatic fit with a fit at the selected hyperparameters."""
    X, y = data(n)
    whole, tuned, alone = [], [], []
    for _ in range(3):
        time, model = seconds(lambda: JointDistribution(random_state=SEED).fit(X, y), 1)
        kernels, ridge = (model.kernel_x_, model.kernel_y_), model.regularization_
        plain = JointDistribution(*kernels, regularization=ridge, random_state=SEED)
        whole.append(time)
        tuned.append(model.selection_.seconds)
        alone.append(seconds(lambda m=plain: m.fit(X, y), 1)[0])
    auto, one = min(whole), min(alone)
    rest = min(a - b for a, b in zip(whole, tuned, strict=True))
    heads = ("ranks", "tried", "automatic", "selection", "explicit")
    rows = table(
        f"Speed, n = {n:,}, d = 3 + 1", *heads, "automatic / explicit", "rest / explicit"
    )
    rows.add_row(
        f"{model.basis_x_.rank}, {model.basis_y_.rank}",
        f"{len(model.selection_.candidates)}",
        f"{auto:.2f} s",
        f"{min(tuned):.2f} s",
        f"{one:.2f} s",
        f"{auto / one:.1f}",
        f"{rest / one:.2f}",
    )
    console.print(rows)


def ridges(n: int) -> None:
    """Compare a path of ridges with a single one."""
    X, y = data(n)
    paths = {"one": [1e-5], "many": np.logspace(-7, 0, 50)}
    models = {
        name: JointDistribution(
            *GOOD, selection=Selection(regularizations=path), random_state=SEED
        )
        for name, path in paths.items()
    }
    times = {name: [] for name in paths}
    for _ in range(5):
        for name, model in models.items():
            times[name].append(seconds(lambda m=model: m.fit(X, y), 1)[0])
    one, many = (min(times[name]) for name in paths)
    tuned = " to ".join(f"{m.selection_.seconds * 1e3:.0f} ms" for m in models.values())
    heads = ("ranks", "one ridge", "50 ridges", "ratio", "selection alone")
    rows = table(f"Ridges, n = {n:,}, d = 3 + 1, kernels given", *heads)
    ranks = f"{models['one'].basis_x_.rank}, {models['one'].basis_y_.rank}"
    rows.add_row(ranks, f"{one:.2f} s", f"{many:.2f} s", f"{many / one:.3f}", tuned)
    console.print(rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=list(FOREST), choices=list(FOREST))
    parser.add_argument("--splits", type=int, help="of each set; default 5, or 2 if large")
    parser.add_argument("--rows", type=int, default=10**5, help="of speed and of ridges")
    options = parser.parse_args()
    heading(f", GEMM at {gemm_rate() / 1e9:.0f} GF/s")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # the rank is limited on purpose
        quality(options.sets, options.splits)
    speed(options.rows)
    ridges(options.rows)


if __name__ == "__main__":
    main()
