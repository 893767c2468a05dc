"""Small samples of averages of uniform numbers, d = 3 + 3: figure covarpossmall."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.claims import Claim, verdict
from experiments.drawing import Panel, lines
from experiments.gaussian import VALID
from experiments.markdown import by_model, by_size, edges, series
from experiments.moments import RIDGES, SMALL, Data, Scales, cme, compared, jdl, jpdl
from experiments.protocol import Family
from experiments.store import Row, Settings
from experiments.study import Study
from jointdist.datasets import RunningAverages

__all__ = ["NAMES", "PRESETS", "STUDY", "D", "families", "panels", "settings"]

D = 3
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0), (0.5, 0.12, 0.25, 1.0, 2.0)  # of X and of Y
FREE = ("JDL", "JDL exact", "JPDL", "CME")
NAMES = FREE + VALID
PRESETS = {
    "tiny": {"runs": 1, "sizes": (50,), "tests": 100},
    "quick": {"runs": 10, "sizes": (50, 100, 200)},
    "full": {"runs": 100, "sizes": (50, 100, 200)},
}
HOW: dict[str, Any] = {"tol": 1e-6, "pivoting": "greedy", "max_rank": 1000}


def families(scales: Scales) -> list[Family]:
    """Return all models, with larger ridges than for many rows.

    Parameters
    ----------
    scales : pair of sequences of float
        The scales of the kernels of X and of Y.
    """
    more = (10.0, 1.0, *RIDGES)
    return [
        jdl(scales, NAMES, more, **HOW),
        jpdl(NAMES, (1e6, 1e5, 1e4, 1e3, *SMALL)),
        cme(scales, NAMES, more, **HOW),
    ]


FAMILIES = families(SCALES)


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small ones first."""
    for n, seed in product(sizes, range(runs)):
        yield {"n": n, "tests": tests, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return how all models fare on one sample."""
    n, seed = int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    data = Data.drawn(RunningAverages(D), n, int(one["tests"]), rng)
    return list(compared(FAMILIES, data))


def panels(table: pd.DataFrame) -> list[Panel]:
    """Return the panels of a picture: laws as they are, and made valid.

    Parameters
    ----------
    table : DataFrame
        The results.
    """
    return [Panel("unconstrained", table, FREE), Panel("made valid", table, VALID)]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return losses and errors against the number of rows."""
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
Averages of uniform numbers, tolerance 10⁻⁶, no constraints; *projected* laws are made valid one
by one. Second-moment loss, means with 5 % and 95 % quantiles:

{by_size(table, "loss", NAMES)}

Share of second-moment matrices that are not positive semidefinite:

{by_size(table, "indefinite_share", NAMES)}

Largest normalisation error of 5,000 laws:

{by_size(table, "normalization_error", NAMES)}

What models choose from, and how often they choose the lowest or the highest value:

{edges(table, FAMILIES)}

Models are fitted to 4/5 of the rows; on 1/5 scales and ridge are chosen, the scale of X first.
*Projected* laws have the scales and ridge that are best for signed ones, by true moments, which
nobody knows of data: with kernels they lose accuracy by being made valid, with polynomials they
do not."""


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return what the paper says of averages of uniform numbers."""
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
    "Small samples of averages of uniform numbers, d = 3 + 3",
    ("n", "tests", "seed"),
    PRESETS,
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: 100 + float(one["n"]),
)
