"""Normal data, d = 3 + 3: figure covarspeed of the paper, with given length scales and ridges.

CPU time to fit a model and to compute 5,000 conditional second-moment matrices.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from time import process_time

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from experiments.claims import Claim, verdict
from experiments.drawing import Panel, lines
from experiments.gaussian import CONSTRAINED, FREE, GREEDY, LARGE, PAPER, TOL, D, how
from experiments.markdown import by_model, by_size, series
from experiments.moments import cme, jdl, jpdl
from experiments.protocol import Family
from experiments.store import Row, Settings
from experiments.study import Study, presets_by_size
from jointdist.datasets import NormalPair

__all__ = ["STUDY"]

SCALES_JDL = (2.0,), (2.0,)
SCALES_CME = (2.0,), (1.0,)
RIDGE = {"JDL": 1e-6, "JPDL": 0.01, "CME": 1e-4}
NAMES = FREE + CONSTRAINED
KEYS = ("n", "tol", "pivots")


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small samples first."""
    for n, seed in product(sizes, range(runs)):
        way = {"tol": PAPER.get(n, TOL), "pivots": GREEDY}
        yield {"n": n, **way, "tests": tests, "seed": seed}


def compute(one: Settings) -> list[Row]:
    """Return the times of all models on one sample."""
    n, seed = int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    pair = NormalPair.random(D, random_state=seed)
    X, Y = pair.draw(n, random_state=rng)
    X_test, _ = pair.draw(int(one["tests"]), random_state=rng)
    way = how(float(one["tol"]), str(one["pivots"]))
    kernels = jdl(SCALES_JDL, NAMES, **way), cme(SCALES_CME, NAMES, **way)
    families = [*kernels, jpdl(NAMES)]
    with threadpool_limits(1):
        return [row for family in families for row in _timed(family, X, Y, X_test)]


def _timed(family: Family, X: object, Y: object, X_test: object) -> Iterator[Row]:
    scales = family.scales_x[0], family.scales_y[0]
    for name, variant in family.variants.items():
        ridge = RIDGE[name.partition(" ")[0]]
        model = family.make(*scales).set_params(regularization=ridge, **variant.params)
        start = process_time()
        model.fit(X, Y)
        middle = process_time()
        model.given(X_test).second_moment()
        end = process_time()
        ranks = {"rank_x": model.basis_x_.rank, "rank_y": model.basis_y_.rank}
        times = {"fit_seconds": middle - start, "test_seconds": end - middle}
        yield {"model": name, **times, **ranks}


def _total(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(seconds=table["fit_seconds"] + table["test_seconds"])


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return a figure of times by sample size."""
    groups = {"unconstrained": FREE, "constrained": CONSTRAINED}
    panels = [Panel(title, _total(table), names) for title, names in groups.items()]
    return {"seconds": lines(panels, "n", "seconds", "CPU seconds", log=True)}


def report(table: pd.DataFrame) -> str:
    """Return the times in a table."""
    return (
        "CPU seconds to fit n rows, including pivots and moments, and to compute 5,000 "
        "matrices, with given length scales and ridge, on one thread:\n\n"
        + by_size(_total(table), "seconds", NAMES, by=KEYS)
    )


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about speed."""
    means = by_model(_total(table), "seconds")
    same, faster = means["JDL"] / means["CME"], means["JDL"] / means["JPDL"]
    cost = means["JDL tightened"] / means["JDL"]
    squares = means["JPDL sos"] / means["JDL tightened"]
    large = means.index >= LARGE
    return [
        Claim(
            "Without constraints JDL and CME cannot be told apart by speed.",
            verdict((same > 0.5) & (same < 2)),
            f"Time of JDL over that of CME: {series(same)}. CME has a shorter length scale of Y "
            "and therefore a higher rank.",
        ),
        Claim(
            "Without constraints JPDL is orders of magnitude faster.",
            verdict(faster > 10),
            f"Time of JDL over that of JPDL: {series(faster)}. The paper times the solution "
            "alone; these times include pivots and moments.",
        ),
        Claim(
            "Without constraints JDL is only minimally faster than with them.",
            verdict(cost < 2),
            f"Time with the paper's constraints over that without: {series(cost)}.",
        ),
        Claim(
            "With constraints JPDL is faster than JDL for large n only.",
            verdict([*(squares[~large] > 1), *(squares[large] < 1)]),
            f"Time of JPDL over that of JDL: {series(squares)}.",
        ),
    ]


STUDY = Study(
    "speed",
    "Time to fit and to query, normal data, d = 3 + 3",
    ("n", "tol", "pivots", "tests", "seed"),
    presets_by_size(quick=2, full=5),
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: 1e4 + float(one["n"]),
)
