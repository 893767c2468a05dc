"""Normal data, d = 1 + 1: figures tolerance and cmenormerror of the paper.

The loss of JDL and CME, and the normalisation error of CME, for three tolerances of the
low-rank factors.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.claims import Claim, verdict
from experiments.drawing import Panel, lines
from experiments.gaussian import AUTO, GREEDY, how
from experiments.markdown import by_model, by_size, edges, growth, series
from experiments.moments import Data, cme, compared, jdl
from experiments.store import Row, Settings
from experiments.study import Study, presets_by_size
from jointdist.datasets import NormalPair

__all__ = ["STUDY"]

D = 1
TOLERANCES = (1e-3, 1e-2, 1e-1)
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
SCALES_JDL = SCALES, (1.0, 2.0)
SCALES_CME = SCALES, (0.5, 0.25, 1.0)
LARGE = 10**6  # from this number of rows on, default pivots are run, too
NAMES = ("JDL", "CME")
KEYS = ("n", "tol", "pivots")


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small samples first."""
    for n, seed, tol in product(sizes, range(runs), TOLERANCES):
        for pivots in (GREEDY, AUTO) if n >= LARGE else (GREEDY,):
            yield {"n": n, "tol": tol, "pivots": pivots, "tests": tests, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return the scores of both models on one sample."""
    n, seed = int(one["n"]), int(one["seed"])
    pair = NormalPair.random(D, random_state=seed)
    data = Data.drawn(pair, n, int(one["tests"]), np.random.default_rng([seed, n]))
    kernels = how(float(one["tol"]), str(one["pivots"]))
    families = [jdl(SCALES_JDL, NAMES, **kernels), cme(SCALES_CME, NAMES, **kernels)]
    return list(compared(families, data))


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the pivots of the paper."""
    return table[table["pivots"] == GREEDY]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return the losses and the normalisation error of CME by sample size."""
    table = _shown(table)
    labels = {tol: f"tolerance {tol:g}" for tol in TOLERANCES}

    def panels(*models: str) -> list[Panel]:
        parts = {name: table[table["model"] == name] for name in models}
        return [
            Panel(name, rows.assign(model=rows["tol"].map(labels)), list(labels.values()))
            for name, rows in parts.items()
        ]

    column, label = "normalization_error", "worst normalisation error"
    error = lines(panels("CME"), "n", column, label, log=True)
    loss = lines(panels(*NAMES), "n", "loss", "second-moment loss", log=True)
    return {"loss": loss, "normalization": error}


def report(table: pd.DataFrame) -> str:
    """Return losses and errors in tables."""
    return f"""\
Second-moment loss, means with 5 % and 95 % quantiles:

{by_size(table, "loss", NAMES, by=KEYS)}

Largest normalisation error of 5,000 conditional distributions:

{by_size(table, "normalization_error", NAMES, by=KEYS)}

Models are fitted to 4/5 of the rows. The loss on the other 1/5, at most 5,000 rows, selects the
length scales, that of X before that of Y, and the ridge. Sizes with fewer runs compare tolerances,
not sizes.

*Greedy* pivots, also in the figures, are those of the paper's algorithm. *Auto* pivots are those of
the default rule, which needs fewer for the same trace error but places fewer in the tails.

Candidate hyperparameters, and how often the lowest or the highest candidate is selected:

{edges(table, [jdl(SCALES_JDL, NAMES), cme(SCALES_CME, NAMES)])}"""


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about tolerances."""
    table = _shown(table)
    low, high = (table[table["tol"] == tol] for tol in (min(TOLERANCES), max(TOLERANCES)))

    def ratio(how: str) -> pd.DataFrame:
        return by_model(high, "loss", how) / by_model(low, "loss", how)

    mean, median = ratio("mean"), ratio("median")
    error = [by_model(part, "normalization_error")["CME"] for part in (low, high)]
    step = growth(low, "normalization_error")["CME"]
    return [
        Claim(
            "d = 1: JDL is largely robust to the tolerance, CME is not.",
            verdict((mean["JDL"] < 2) & (mean["CME"] > 2)),
            f"Loss with tolerance 0.1 over that with 10⁻³: JDL {series(mean['JDL'])}; CME "
            f"{series(mean['CME'])}; medians JDL {series(median['JDL'])}; CME "
            f"{series(median['CME'])}. Runs: {series(low.groupby('n')['seed'].nunique())}. "
            "JDL is more robust in medians, but single runs have large errors.",
        ),
        Claim(
            "d = 1: CME's normalisation error falls with n at tolerance 10⁻³.",
            verdict(step < 1),
            f"Ratio to the previous size, for the runs of both sizes: {series(step)}. Means "
            f"{series(error[0])}; at 0.1: {series(error[1])}.",
        ),
    ]


STUDY = Study(
    "tolerance",
    "Low-rank tolerance and sample size, normal data, d = 1 + 1",
    ("n", "tol", "pivots", "tests", "seed"),
    presets_by_size(quick=5, full=100),
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: 1e3 + float(one["n"]),
)
