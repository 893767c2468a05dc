"""Normal data, d = 3 + 3: figures covarloss, covardev, covarpos and covarspeed of the paper.

Random correlation matrices, and for each of them n rows; all models with and without
constraints. From 10⁶ rows on there are two tolerances: the paper's, and 10⁻³ as below.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.drawing import Panel, lines
from experiments.moments import Data, cme, compared, jdl, jpdl
from experiments.store import Row, Settings
from experiments.study import Study
from jointdist.datasets import NormalPair

__all__ = ["STUDY"]

D = 3
SCALES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
SCALES_JDL = SCALES, (2.0, 4.0)
SCALES_CME = SCALES, (1.0, 1.5, 3.0)
TOL = 1e-3
PAPER = {10**6: 1e-2, 10**7: 1e-1}  # tolerances of the paper, elsewhere TOL
GREEDY = 10**5  # rows up to which pivots are those of the paper's algorithm
RANK = 2000  # the most; with a limit, tolerances hold for few rows too
FREE = ("JDL", "JDL exact", "JPDL", "CME")
CONSTRAINED = ("JDL tightened", "JPDL sos", "CME average")


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small ones first."""
    for n, seed in product(sizes, range(runs)):
        for tol in sorted({PAPER.get(n, TOL), TOL}, reverse=True):
            yield {"n": n, "tol": tol, "tests": tests, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return how all models fare on one sample."""
    n, tol = int(one["n"]), float(one["tol"])
    rng = np.random.default_rng([int(one["seed"]), n])
    pair = NormalPair.random(D, random_state=int(one["seed"]))
    data = Data.drawn(pair, n, int(one["tests"]), rng)
    paper = n <= GREEDY or tol > TOL
    how = {"tol": tol, "pivoting": "greedy" if paper else "auto", "max_rank": RANK}
    names = FREE + CONSTRAINED
    families = [jdl(SCALES_JDL, names, **how), cme(SCALES_CME, names, **how)]
    if tol == PAPER.get(n, TOL):  # polynomials have no tolerance
        families.append(jpdl(names))
    return list(compared(families, data))


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return losses, errors and times against the number of rows."""
    table = table.assign(
        seconds=table["fit_seconds"] + table["solve_seconds"] + table["test_seconds"]
    )
    paper = table["tol"] == table["n"].map(PAPER).fillna(TOL)
    own = (table["tol"] == TOL) & ~table["model"].str.startswith("JPDL")
    own |= table["model"].str.startswith("JPDL")
    panels = {
        "unconstrained": FREE,
        "constrained": CONSTRAINED,
    }

    def figure(column: str, label: str, part: pd.Series, **kind: object) -> Figure:
        shown = [
            Panel(title, table[part & table["model"].isin(names)], names)
            for title, names in panels.items()
        ]
        return lines(shown, "n", column, label, **kind)

    return {
        "loss": figure("loss", "second-moment loss", paper, log=True),
        "loss-own": figure("loss", "second-moment loss", own, log=True),
        "normalization": figure(
            "normalization_error", "worst normalisation error", paper, log=True, worst=True
        ),
        "indefinite": figure("indefinite_share", "share of indefinite matrices", paper),
        "seconds": figure("seconds", "processor seconds", paper, log=True),
    }


STUDY = Study(
    "gaussian",
    "Conditional second moments of normal data, d = 3 + 3",
    {
        "tiny": {"runs": 1, "sizes": (200,), "tests": 100},
        "quick": {"runs": 3, "sizes": (10**3, 10**4)},
        "full": {"runs": 100, "sizes": tuple(10**k for k in range(3, 8))},
    },
    settings,
    compute,
    draw,
    cost=lambda one: float(one["n"]) ** 0.7,
)
