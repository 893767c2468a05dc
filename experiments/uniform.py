"""Small samples of running averages of uniform variables, d = 3 + 3: figure covarpossmall."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.claims import Claim, verdict
from experiments.drawing import Panel, lines
from experiments.gaussian import PROJECTED
from experiments.markdown import by_model, by_size, edges, series
from experiments.moments import RIDGES, SMALL, Data, Scales, cme, compared, jdl, jpdl
from experiments.protocol import Family
from experiments.store import Row, Settings
from experiments.study import Study
from jointdist.datasets import RunningAverages

__all__ = ["NAMES", "PRESETS", "STUDY", "D", "families", "panels", "settings"]

D = 3
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (0.5, 0.12, 0.25, 1.0, 2.0)  # of X, of Y
FREE = ("JDL", "JDL exact", "JPDL", "CME")
NAMES = FREE + PROJECTED
PRESETS = {
    "tiny": {"runs": 1, "sizes": (50,), "tests": 100},
    "quick": {"runs": 10, "sizes": (50, 100, 200)},
    "full": {"runs": 100, "sizes": (50, 100, 200)},
}
HOW: dict[str, Any] = {"tol": 1e-6, "pivoting": "greedy", "max_rank": 1000}


def families(scales: Scales) -> list[Family]:
    """Return all models, with larger candidate ridges than for large samples.

    Parameters
    ----------
    scales : pair of sequences of float
        The candidate length scales of X and Y.
    """
    more = (10.0, 1.0, *RIDGES)
    return [
        jdl(scales, NAMES, more, **HOW),
        jpdl(NAMES, (1e6, 1e5, 1e4, 1e3, *SMALL)),
        cme(scales, NAMES, more, **HOW),
    ]


FAMILIES = families(SCALES)


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small samples first."""
    for n, seed in product(sizes, range(runs)):
        yield {"n": n, "tests": tests, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return the scores of all models on one sample."""
    n, seed = int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    data = Data.drawn(RunningAverages(D), n, int(one["tests"]), rng)
    return list(compared(FAMILIES, data))


def panels(table: pd.DataFrame) -> list[Panel]:
    """Return the panels of a figure: signed and projected distributions.

    Parameters
    ----------
    table : DataFrame
        The results.
    """
    return [Panel("unconstrained", table, FREE), Panel("projected", table, PROJECTED)]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return figures of losses and errors by sample size."""
    panel = panels(table)
    return {
        "loss": lines(panel, "n", "loss", "second-moment loss", log=True),
        "indefinite": lines(panel, "n", "indefinite_share", "share of indefinite matrices"),
        "normalization": lines(
            panel, "n", "normalization_error", "worst normalisation error", log=True
        ),
    }


def report(table: pd.DataFrame) -> str:
    """Return losses and errors in tables."""
    return f"""\
Running averages of uniform variables, tolerance 10⁻⁶, no constraints; *projected* models project
each conditional distribution to a proper one. Second-moment loss, means with 5 % and 95 %
quantiles:

{by_size(table, "loss", NAMES)}

Share of second-moment matrices that are not positive semidefinite:

{by_size(table, "indefinite_share", NAMES)}

Largest normalisation error of 5,000 conditional distributions:

{by_size(table, "normalization_error", NAMES)}

Candidate hyperparameters, and how often the lowest or the highest candidate is selected:

{edges(table, FAMILIES)}

Models are fitted to 4/5 of the rows; the other 1/5 selects the length scales, that of X first, and
the ridge. *Projected* models inherit the length scales and ridge that are best for signed
distributions under the true moments, which are unknown in practice: projection costs accuracy with
kernels, but not with polynomials."""


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about uniform variables."""
    share = by_model(table, "indefinite_share")
    return [
        Claim(
            "Small uniform samples: JPDL has more indefinite matrices than the others.",
            verdict(share["JPDL"] > share[["JDL", "CME"]].max(axis=1)),
            f"Share: JPDL {series(share['JPDL'])}.",
        ),
        Claim(
            "JDL has fewer of them than CME.",
            verdict(share["JDL"] < share["CME"]),
            f"Share: JDL {series(share['JDL'])}; JDL exact {series(share['JDL exact'])}.",
        ),
        Claim(
            "CME has 5 % of them at n = 50, and none beyond.",
            verdict(share["CME"] <= np.where(share.index == 50, 0.05, 0.0)),
            f"Share: {series(share['CME'])}.",
        ),
    ]


STUDY = Study(
    "uniform",
    "Small samples of running averages of uniform variables, d = 3 + 3",
    ("n", "tests", "seed"),
    PRESETS,
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: 100 + float(one["n"]),
)
