"""Small samples of averages of uniform numbers, d = 3 + 3: figure covarpossmall."""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.drawing import Panel, lines
from experiments.moments import Data, cme, compared, jdl, jpdl
from experiments.store import Row, Settings
from experiments.study import Study
from jointdist.datasets import RunningAverages

__all__ = ["STUDY"]

D = 3
SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
SCALES_JDL = SCALES, (0.5, 0.25, 1.0)
SCALES_CME = SCALES, (0.25, 0.12, 0.5, 1.0)
NAMES = ("JDL", "JDL exact", "JPDL", "CME")
HOW = {"tol": 1e-6, "pivoting": "greedy", "max_rank": 1000}


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small ones first."""
    for n, seed in product(sizes, range(runs)):
        yield {"n": n, "tests": tests, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return how all models fare on one sample."""
    n, seed = int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    data = Data.drawn(RunningAverages(D), n, int(one["tests"]), rng)
    families = [jdl(SCALES_JDL, NAMES, **HOW), jpdl(NAMES), cme(SCALES_CME, NAMES, **HOW)]
    return list(compared(families, data))


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return losses and errors against the number of rows."""
    panel = [Panel("unconstrained", table, NAMES)]
    return {
        "loss": lines(panel, "n", "loss", "second-moment loss", log=True),
        "indefinite": lines(panel, "n", "indefinite_share", "share of indefinite matrices"),
        "normalization": lines(
            panel,
            "n",
            "normalization_error",
            "worst normalisation error",
            log=True,
            worst=True,
        ),
    }


STUDY = Study(
    "uniform",
    "Small samples of averages of uniform numbers, d = 3 + 3",
    {
        "tiny": {"runs": 1, "sizes": (50,), "tests": 100},
        "quick": {"runs": 10, "sizes": (50, 100, 200)},
        "full": {"runs": 100, "sizes": (50, 100, 200)},
    },
    settings,
    compute,
    draw,
    cost=lambda one: 100 + float(one["n"]),
)
