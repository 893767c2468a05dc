"""Tail events, predicted from the day before: figures classloss, classpos, classspeed.

Daily excess returns of the 25 portfolios of Fama and French, 1927 to 2022: given the returns
of the first d on one day, the probability that their sum on the next day is at most q, its 1 %
quantile. The data are read from ``data/french`` in a folder ``shared`` beside the checkout, or
in the folder that JOINTDIST_SHARED names; if the file is missing, they are downloaded.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.spatial.distance import pdist

from experiments.claims import Claim, verdict
from experiments.drawing import Panel, lines
from experiments.markdown import by_size, edges, number
from experiments.protocol import Best, Family, Variant, search
from experiments.refusal import RefusalError
from experiments.store import Row, Settings
from experiments.study import Study
from jointdist import ConditionalMeanEmbedding, JointDistribution, KernelLogisticRegression
from jointdist.datasets import fetch_french_portfolios
from jointdist.errors import SignedDistributionWarning, ToleranceWarning
from jointdist.kernels import Gaussian

__all__ = ["STUDY", "Sample", "estimator", "logistic", "sample", "scored", "tested"]

SHARED = Path(os.environ.get("JOINTDIST_SHARED") or Path(__file__).parents[2] / "shared")
FILE = SHARED / "data" / "french" / "ff25_daily_raw_1926_2024.csv.gz"
PORTFOLIOS = [f"ME{i}_BM{j}" for i in range(1, 6) for j in range(1, 6)]
PERIOD = np.array(["1927-01-03", "2022-12-30"], dtype="datetime64[D]")
DAYS = 1500  # simulated days
LEVEL, ETA, TESTS = 0.01, 1e-12, 5000
LEAST = 500  # days of a sample, so that it contains some tail events
HOW: dict[str, Any] = {"max_rank": 256, "random_state": 0}  # tables state trace errors
NEAR = 1000  # rows whose median distance is the unit of length scales

SCALES_X = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
SCALES_JDL = SCALES_X, (4.0, 1.0, 8.0)
SCALES_CME = SCALES_X, (0.5, 0.125, 2.0)
RIDGES_JDL = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
RIDGES_CME = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
RIDGES_KLR = (1.0, 0.1, 1e-2, 1e-3)
RIDGES_TIGHTENED = (1e-3, 1e-6)  # solutions hardly depend on them
STRENGTHS_GRID = (10.0, 1.0, 0.1)  # ridges times rows: smaller ones take minutes
GRID = {"positivity": "grid", "grid_rows": 2000}

FREE = ("JDL", "JDL exact", "CME", "KLR", "constant")
CONSTRAINED = (
    "JDL tightened",
    "JDL exact grid",
    "CME average",
    "KLR",
    "KLR intercept",
    "constant",
)
PROJECTED = ("JDL projected", "CME projected", "KLR", "KLR intercept", "constant")
NAMES = tuple(dict.fromkeys(FREE + CONSTRAINED + PROJECTED))

Matrix = NDArray[np.float64]


class Days(NamedTuple):
    """The returns of days, and the sums of returns on the days after."""

    X: Matrix
    y: Matrix


class Sample(NamedTuple):
    """Training, validation and test days, and the threshold of the event."""

    train: Days
    validation: Days
    test: Days
    q: float

    @property
    def units(self) -> tuple[float, float]:
        """The median distances between rows of X and of y."""
        X, y = self.train
        return tuple(float(np.median(pdist(rows[:NEAR]))) for rows in (X, y[:, None]))

    def loss(self, model: Any) -> float:
        """Return the validation loss of a model; NaN if a distribution is undefined."""
        X, y = self.validation
        return logistic_loss(self.probabilities(model, X), y <= self.q)

    def probabilities(self, model: Any, X: Matrix) -> Matrix:
        """Return the predicted probabilities of sums up to the threshold."""
        if isinstance(model, KernelLogisticRegression):
            return model.predict_proba(X)[:, 1]
        return model.given(X).prob(lambda y: y <= self.q)


def logistic_loss(probabilities: Matrix, events: NDArray[np.bool_]) -> float:
    """Return the mean logistic loss, Eq. `eq:logisticloss`."""
    observed = np.where(events, probabilities, 1 - probabilities)
    return float(-np.log(np.clip(observed, ETA, 1.0)).mean())


def settings(
    runs: int, sizes: Sequence[int], widths: Sequence[int], data: str = "french"
) -> Iterator[Settings]:
    """Yield the settings of all runs; each run has all sizes and numbers of portfolios."""
    for seed, n, d in product(range(runs), sizes, widths):
        yield {"data": data, "d": d, "n": n, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return the scores of all models on one sample."""
    drawn = sample(str(one["data"]), int(one["d"]), int(one["n"]), int(one["seed"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDistributionWarning)  # no positive mass
        warnings.simplefilter("ignore", ToleranceWarning)  # the rank is limited
        return list(_compared(drawn))


def sample(data: str, d: int, n: int, seed: int) -> Sample:
    """Return n days for training and validation, and other days for testing."""
    Z = _simulated() if data == "simulated" else _portfolios()
    days = Days(Z[:-1, :d], Z[1:, :d].sum(axis=1))
    tests = DAYS // 3 if data == "simulated" else TESTS  # at least
    if not LEAST <= n <= len(days.y) - tests:
        msg = (
            f"famafrench: `--sizes` must be from {LEAST} to {len(days.y) - tests:,}: there are "
            f"{len(days.y):,} pairs of days ({data}), {tests:,} of them to test on. Got {n:,}."
        )
        raise RefusalError(msg)
    order = np.random.default_rng([seed, n, d]).permutation(len(days.y))
    parts = np.split(order[: n + TESTS], [n * 4 // 5, n])
    q = np.quantile(days.y[order[:n]], LEVEL, method="inverted_cdf")
    return Sample(*(Days(days.X[part], days.y[part]) for part in parts), float(q))


@cache
def _portfolios() -> Matrix:
    """Return the daily returns of all portfolios."""
    try:
        table = fetch_french_portfolios(FILE if FILE.exists() else None)
    except ConnectionError as error:
        msg = (
            f"famafrench: there is no file {FILE}, and the returns could not be downloaded "
            f"({error.__cause__}). The environment variable JOINTDIST_SHARED names the folder "
            "in whose data/french the file is expected; by default that is `shared` beside "
            "the checkout."
        )
        raise RefusalError(msg) from error
    first, last = PERIOD
    return table.matrix(*PORTFOLIOS)[(table["date"] >= first) & (table["date"] <= last)]


@cache
def _simulated() -> Matrix:
    """Return simulated returns with heavy tails, a common factor and persistent volatility."""
    rng = np.random.default_rng(0)
    volatility = np.exp(lfilter([1.0], [1.0, -0.95], 0.2 * rng.normal(size=(DAYS, 1)), 0))
    shape = DAYS, len(PORTFOLIOS)
    return volatility * (rng.standard_t(4, (DAYS, 1)) + 0.5 * rng.standard_t(4, shape))


def _compared(drawn: Sample) -> Iterator[Row]:
    """Yield the test scores of each model, selected on the validation days."""
    rate = float((drawn.train.y <= drawn.q).mean())
    yield {"model": "constant", **scored(np.full(len(drawn.test.y), rate), drawn)}
    joint = _searched(_joint(drawn.units), drawn)
    joint |= _searched(_positive(drawn, joint["JDL exact"]), drawn)
    embedded = _searched(_embedded(drawn.units), drawn)
    classified = {
        "KLR": logistic(drawn, intercept=False),
        "KLR intercept": logistic(drawn, intercept=True),
    }
    for name, best in (joint | embedded | classified).items():
        yield {"model": name, **tested(best, drawn)}


def _searched(family: Family, drawn: Sample) -> dict[str, Best]:
    return search(family, *drawn.train, drawn.loss)


def estimator(kind: Any, units: tuple[float, float], scale_x: float, scale_y: float) -> Any:
    """Return an estimator whose length scales are multiples of the given units."""
    kernels = Gaussian(scale_x * units[0]), Gaussian(scale_y * units[1])
    return kind(*kernels, regularization=1.0, **HOW)


def _joint(units: tuple[float, float]) -> Family:
    """Return joint distributions with free or exact marginals, or the paper's constraints."""
    tightened = {"marginals": "total", "positivity": "tightened"}
    variants = {
        "JDL": Variant(RIDGES_JDL, {"marginals": "free", "positivity": "none"}),
        "JDL exact": Variant(RIDGES_JDL, {"marginals": "exact", "positivity": "none"}),
        "JDL tightened": Variant(RIDGES_TIGHTENED, tightened),
    }
    make = partial(estimator, JointDistribution, units)
    return Family(make, variants, *SCALES_JDL, projected={"JDL projected": "JDL exact"})


def _positive(drawn: Sample, signed: Best) -> Family:
    """Return joint distributions positive on the grid, with length scales of a signed one."""
    ridges = [strength / len(drawn.train.y) for strength in STRENGTHS_GRID]
    make = partial(estimator, JointDistribution, drawn.units)
    scales = ((scale,) for scale in signed.scales)
    return Family(make, {"JDL exact grid": Variant(ridges, GRID)}, *scales)


def _embedded(units: tuple[float, float]) -> Family:
    """Return conditional mean embeddings, unconstrained or with constraints on average."""
    average = {"normalization": "average", "positivity": "average"}
    variants = {
        "CME": Variant(RIDGES_CME, {"positivity": "none"}),
        "CME average": Variant(RIDGES_CME, average),
    }
    make = partial(estimator, ConditionalMeanEmbedding, units)
    return Family(make, variants, *SCALES_CME, projected={"CME projected": "CME"})


def logistic(drawn: Sample, *, intercept: bool) -> Best:
    """Return the best logistic regression, refitted to measure its time."""
    (X, y), unit = drawn.train, drawn.units[0]
    events = y <= drawn.q
    found = []
    for scale in SCALES_X:
        model = KernelLogisticRegression(
            Gaussian(scale * unit), fit_intercept=intercept, **HOW
        )
        path = model.path(X, events, RIDGES_KLR)
        found += [(drawn.loss(one), scale, one) for one in path]
    loss, scale, best = min(found, key=lambda tried: tried[0])
    start = process_time()
    best.fit(X, events)
    fit = process_time() - start
    return Best(best, loss, (scale, np.nan), best.regularization_, fit, 0.0)


def tested(best: Best, drawn: Sample) -> Row:
    """Return the test scores of a model, and its hyperparameters."""
    start = process_time()
    probabilities = drawn.probabilities(best.model, drawn.test.X)
    test = process_time() - start
    rows, row = len(drawn.train.y), scored(probabilities, drawn)
    for side, scale, unit in zip("xy", best.scales, drawn.units, strict=True):
        if basis := getattr(best.model, f"basis_{side}_", None):
            row |= {f"scale_{side}": scale, f"unit_{side}": unit}
            row |= {f"rank_{side}": basis.rank, f"error_{side}": basis.error / rows}
    return row | {
        "ridge": best.ridge,
        "validation_loss": best.loss,
        "fit_seconds": best.fit_seconds,
        "solve_seconds": best.solve_seconds,
        "test_seconds": test,
    }


def scored(probabilities: Matrix, drawn: Sample) -> Row:
    """Return losses and shares outside [0, 1]; undefined probabilities count as zero."""
    events, defined = drawn.test.y <= drawn.q, np.nan_to_num(probabilities)
    return {
        "loss": logistic_loss(defined, events),
        "brier": float(((defined - events) ** 2).mean()),
        "negative_share": float((defined < -ETA).mean()),
        "above_share": float((defined > 1 + ETA).mean()),
        "undefined_share": float(np.isnan(probabilities).mean()),
        "positives": int(events.sum()),
    }


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return figures of losses, negative probabilities and times by sample size."""
    runs = ["data", "d", "n", "seed"]
    constant = table[table["model"] == "constant"].set_index(runs)["loss"]
    table = table.assign(
        seconds=table["fit_seconds"] + table["solve_seconds"] + table["test_seconds"],
        percent=100 * table["negative_share"],
        relative=table["loss"] / table[runs].join(constant, on=runs)["loss"],
    )
    groups = {"unconstrained": FREE, "constrained": CONSTRAINED, "projected": PROJECTED}
    figures = {}
    for title, names in groups.items():
        if not table["model"].isin(_signed(names)).any():
            continue
        panels = [Panel(f"d = {d}, {title}", part, names) for d, part in table.groupby("d")]
        dists = [panel._replace(names=_signed(names)) for panel in panels]
        figures[f"loss-{title}"] = lines(panels, "n", "loss", "logistic loss")
        label = "loss relative to the constant"
        figures[f"relative-{title}"] = lines(panels, "n", "relative", label, log=True)
        label = "negative probabilities, %"
        figures[f"negative-{title}"] = lines(dists, "n", "percent", label)
    figures["seconds"] = lines(panels[-2:], "n", "seconds", "CPU seconds", log=True)
    return figures


def _signed(names: Sequence[str]) -> list[str]:
    """Return the models whose probabilities may be negative."""
    return [name for name in names if name.startswith(("JDL", "CME"))]


def report(table: pd.DataFrame) -> str:
    """Return tables of losses and shares."""
    by, dists = ("d", "n"), [name for name in NAMES if name.startswith(("JDL", "CME"))]
    spent = table.assign(
        seconds=table["fit_seconds"] + table["solve_seconds"] + table["test_seconds"]
    )
    families = _joint((1.0, 1.0)), _embedded((1.0, 1.0))
    return f"""\
Daily excess returns of the 25 portfolios of Fama and French, 1927 to 2022, from the site of
Kenneth French. The models predict the probability of a tail event: that the sum of the first d
returns is at most its 1 % quantile, given the returns of the day before. Days are drawn at random,
regardless of their order.

Logistic loss, Eq. `eq:logisticloss`: means over subsamples, with 5 % and 95 % quantiles. *JDL*
has free marginals and *JDL exact* those of the sample; *JDL tightened* has the paper's constraints;
*JDL exact grid* is positive on the grid of 2,000 days; *CME average* has both constraints on
average. *Projected* models project each conditional distribution of *JDL exact* and *CME* to a
proper one, with the same length scales and ridge; with a selection of its own, projected JDL does
better ([proper distributions](proper.md)). *KLR* is that of the paper, *constant* the share of tail
events in the training rows.

{by_size(table, "loss", NAMES, by=by)}

Share of negative probabilities, of 5,000 test days:

{by_size(table, "negative_share", dists, by=by)}

CPU seconds to fit, to solve and to predict 5,000 test days, with given length scales and ridge:

{by_size(spent, "seconds", [name for name in NAMES if name != "constant"], by=by)}

Candidate hyperparameters, and how often the lowest or the highest candidate is selected:

{edges(table, families)}

Length scales are multiples of the median distance between rows. The logistic loss on 1/5 of the
days selects them together with the ridge, those of X first; KLR has the same candidates for X and
ridges from 0.001 to 1. Ranks are at most 256; the CSV table states trace errors. Pivots are the
defaults: random for JDL and KLR, greedy for CME. The candidates were fixed on other subsamples of
the same days. *JDL exact grid* has the length scales of *JDL exact* and only three ridges, 10, 1
and 0.1 over the number of rows, which are larger than those of the other models: at n = 1,000 they
explain much of its gain. Test days of different subsamples overlap, so means are less certain than
they look."""


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about classification."""
    table = table.assign(
        seconds=table["fit_seconds"] + table["solve_seconds"] + table["test_seconds"]
    )

    def means(column: str) -> pd.DataFrame:
        return table.pivot_table(index=["d", "n"], columns="model", values=column)

    loss, negative = means("loss"), means("negative_share")
    small = loss[loss.index.get_level_values("n") == loss.index.get_level_values("n").min()]
    par, grid = (loss[name] / loss["KLR"] for name in ("JDL tightened", "JDL exact grid"))
    free = loss["JDL exact grid"] / loss["KLR intercept"]
    cost = loss["CME average"] / loss["CME"]
    fewer = (negative["CME"] / negative["CME average"]).dropna()
    seconds = means("seconds")
    rows, widths = (loss.index.get_level_values(key) for key in ("n", "d"))
    hard = (rows == rows.min()) & (widths == widths.max())
    like, slower = (
        seconds[name] / seconds["JDL tightened"] for name in ("CME average", "KLR")
    )
    ahead = small["CME"] / small["JDL"]
    return [
        Claim(
            "Constrained JDL gives no negative probability.",
            verdict(negative["JDL tightened"] == 0),
            "Largest mean share over all d and n: tightened "
            f"{number(negative['JDL tightened'].max())}, positive on the grid "
            f"{number(negative['JDL exact grid'].max())}, unconstrained "
            f"{number(negative['JDL'].max())}. The constraints hold on the sample; "
            "test days may lie outside of it.",
        ),
        Claim(
            "Constrained JDL is on par with KLR, but for small samples in high dimensions.",
            verdict(par[~hard] < 1.05),
            f"Loss over that of KLR, for all d and n: tightened {_range(par)}; exact positivity on "
            f"the grid {_range(grid)}, below one in {(grid < 1).sum()} of {len(grid)}; over KLR "
            f"with an intercept {_range(free)}. The smallest sample with the most columns, "
            f"tightened: {', '.join(map(number, par[hard]))}.",
        ),
        Claim(
            "The fit of CME is severely hindered by the constraints.",
            verdict(cost > 1.2),
            f"Loss of CME with constraints over that without: {_range(cost)}. Length "
            "scales and ridge are selected with the constraints, which hold only on average.",
        ),
        Claim(
            "Without constraints JDL dominates CME for small samples.",
            verdict(ahead > 1),
            f"CME over JDL at the smallest n: {_range(ahead)}.",
        ),
        Claim(
            "With constraints CME takes as long as JDL, KLR slightly longer.",
            verdict((like > 0.5) & (like < 2) & (slower > 1)),
            f"Time over that of tightened JDL, for all d and n: CME {_range(like)}; KLR "
            f"{_range(slower)}. Each model selects its own length scales.",
        ),
        Claim(
            "Constraints make negative probabilities of CME two to five times fewer.",
            verdict(fewer > 2),
            f"Factor, for all d and n: {_range(fewer)}. The constraint holds on average over "
            "the sample.",
        ),
    ]


def _range(values: pd.Series) -> str:
    """Return the lowest, the median and the highest value."""
    low, middle, high = values.quantile([0, 0.5, 1])
    return f"{low:.2f} to {high:.2f}, median {middle:.2f}"


STUDY = Study(
    "famafrench",
    "Tail events of the Fama-French portfolios",
    ("data", "d", "n", "seed"),
    {
        "tiny": {"runs": 1, "sizes": (500,), "widths": (1, 5), "data": "simulated"},
        "quick": {"runs": 2, "sizes": (1000, 5000), "widths": (1, 25)},
        "full": {
            "runs": 100,
            "sizes": (1000, 5000, 10_000, 20_000),
            "widths": (1, 5, 10, 25),
        },
    },
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: (3000 + float(one["n"])) * min(float(one["d"]), 5.0),
)
