"""Normal data, d + d columns: figure covarspeed of the paper, with given hyperparameters.

CPU time to fit a model and to compute 5,000 conditional second-moment matrices.
"""

import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from math import comb
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from experiments.claims import Claim, verdict
from experiments.drawing import Panel, lines
from experiments.gaussian import (
    CONSTRAINED,
    FREE,
    GREEDY,
    LARGE,
    LINEAR,
    PAPER,
    TOL,
    D,
    how,
    with_columns,
)
from experiments.likelihood import EXPONENTIAL
from experiments.markdown import by_model, by_size, largest, series
from experiments.moments import cme, jdl, jpdl
from experiments.store import Row, Settings
from experiments.study import Study, presets_by_size
from jointdist import JointDistribution
from jointdist.datasets import NormalPair
from jointdist.errors import OutOfDistributionWarning, ToleranceWarning
from jointdist.kernels import Gaussian

__all__ = ["STUDY"]

SCALES_JDL = (2.0,), (2.0,)
SCALES_CME = (2.0,), (1.0,)
RIDGE = {"JDL": 1e-6, "JPDL": 0.01, "CME": 1e-4, EXPONENTIAL: 1e-3}
COLUMNS = (D, 10)
SQUARES_COLUMNS = 6  # most columns with sums of squares: a time budget
ROWS_LIKELY = 10**5  # most rows of exponential models: a time budget
NAMES = FREE + CONSTRAINED
KEYS = ("d", "n", "tol", "pivots")


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small samples first."""
    for n, seed, d in product(sizes, range(runs), COLUMNS):
        way = {"tol": PAPER.get(n, TOL), "pivots": GREEDY}
        for models in (LINEAR, EXPONENTIAL) if n <= ROWS_LIKELY else (LINEAR,):
            yield {"d": d, "n": n, **way, "tests": tests, "seed": seed, "models": models}


def compute(one: Settings) -> list[Row]:
    """Return the times of models on one sample."""
    d, n, seed = int(one["d"]), int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    pair = NormalPair.random(d, random_state=seed)
    X, Y = pair.draw(n, random_state=rng)
    X_test, _ = pair.draw(int(one["tests"]), random_state=rng)
    way = how(float(one["tol"]), str(one["pivots"]))
    make = _likely if one["models"] == EXPONENTIAL else _linear
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ToleranceWarning)  # more polynomials than rows
        warnings.simplefilter("ignore", OutOfDistributionWarning)  # rows of the same kind
        return [
            {"model": name, **_timed(model, X, Y, X_test)} for name, model in make(d, **way)
        ]


def _linear(d: int, **way: Any) -> Iterator[tuple[str, Any]]:
    """Yield models whose ratio is linear, by name."""
    names = [name for name in NAMES if d <= SQUARES_COLUMNS or name != "JPDL sos"]
    kernels = jdl(with_columns(SCALES_JDL, d), names, **way)
    for family in (kernels, cme(with_columns(SCALES_CME, d), names, **way), jpdl(names)):
        scales = family.scales_x[0], family.scales_y[0]
        for name, variant in family.variants.items():
            ridge = RIDGE[name.partition(" ")[0]]
            model = family.make(*scales)
            yield name, model.set_params(regularization=ridge, **variant.params)


def _likely(d: int, **way: Any) -> Iterator[tuple[str, Any]]:
    """Yield the exponential model, with the kernels of JDL."""
    of_x, of_y = with_columns(SCALES_JDL, d)
    kernels = Gaussian(of_x[0]), Gaussian(of_y[0])
    more = {"regularization": RIDGE[EXPONENTIAL], "random_state": 0, "verbose": 0}
    yield EXPONENTIAL, JointDistribution(*kernels, positivity=EXPONENTIAL, **more, **way)


def _timed(model: Any, X: object, Y: object, X_test: object) -> Row:
    start = process_time()
    model.fit(X, Y)
    middle = process_time()
    model.given(X_test).second_moment()
    end = process_time()
    ranks = {"rank_x": model.basis_x_.rank, "rank_y": model.basis_y_.rank}
    return {"fit_seconds": middle - start, "test_seconds": end - middle, **ranks}


def _total(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(seconds=table["fit_seconds"] + table["test_seconds"])


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return a figure of times by sample size for each number of columns."""
    groups = {"unconstrained": FREE, "constrained": (*CONSTRAINED, EXPONENTIAL)}
    found = {}
    for d, part in _total(table).groupby("d"):
        panels = [
            Panel(f"d = {d}, {title}", part, names) for title, names in groups.items()
        ]
        found[f"seconds-d{d}"] = lines(panels, "n", "seconds", "CPU seconds", log=True)
    return found


def report(table: pd.DataFrame) -> str:
    """Return the times in a table."""
    seconds = by_size(_total(table), "seconds", (*NAMES, EXPONENTIAL), by=KEYS)
    small, large = (_gram_rows(d) for d in COLUMNS)
    linear = table[table["models"] == LINEAR]
    likely = largest(table[table["models"] == EXPONENTIAL])
    return f"""\
CPU seconds to fit n rows, including pivots and moments, and to compute 5,000 matrices, with given
length scales and ridge, on one thread:

{seconds}

Length scales are those of d = 3 times the root of d / 3, as distances grow with the root of d.
*Exponential* models ([maximum likelihood](../likelihood.md)) have the kernels of JDL. Sums of
squares are run with d = 3: the Gram matrix of their products of quadratic polynomials has
{small:,} rows there and {large:,} with d = 10. In a trial with n = 1,000 that the table does not
include, they took 0.4, 2 and 8 s with d = 4, 5 and 6. Sizes and runs are limited by a time budget:
the largest samples have {largest(linear)} rows,
and those of exponential models {likely}.
Times of a model at different d were measured on different days and beside other work: they compare
models, not numbers of columns."""


def _gram_rows(d: int) -> int:
    """Return the number of products of a quadratic monomial of X and one of Y."""
    return comb(d + 2, 2) ** 2


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about speed, for each number of columns."""
    total = _total(table)
    parts = {int(d): part for d, part in total[total["models"] == LINEAR].groupby("d")}
    return [
        claim._replace(text=f"d = {d}: {claim.text}")
        for d, part in sorted(parts.items(), reverse=True)
        for claim in _claims_of(d, by_model(part, "seconds"))
    ]


def _claims_of(d: int, means: pd.DataFrame) -> list[Claim]:
    """Return the claims for one number of columns."""
    same, faster = means["JDL"] / means["CME"], means["JDL"] / means["JPDL"]
    cost = means["JDL tightened"] / means["JDL"]
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
            f"alone; these times include pivots and moments. There are {comb(d + 4, 4):,} "
            "polynomials of each side.",
        ),
        Claim(
            "Without constraints JDL is only minimally faster than with them.",
            verdict(cost < 2),
            f"Time with the paper's constraints over that without: {series(cost)}.",
        ),
        _squares(d, means),
    ]


def _squares(d: int, means: pd.DataFrame) -> Claim:
    """Return the claim about sums of squares, which are not run with many columns."""
    text = "With constraints JPDL is faster than JDL for large n only."
    if "JPDL sos" not in means:
        why = f"The Gram matrix of the sum of squares has {_gram_rows(d):,} rows."
        return Claim(text, verdict([]), why)
    ratio, large = means["JPDL sos"] / means["JDL tightened"], means.index >= LARGE
    held = verdict([*(ratio[~large] > 1), *(ratio[large] < 1)])
    return Claim(text, held, f"Time of JPDL over that of JDL: {series(ratio)}.")


STUDY = Study(
    "speed",
    "Time to fit and to query, normal data",
    ("d", "n", "tol", "pivots", "tests", "seed", "models"),
    presets_by_size(quick=2, full=5),
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: float(one["d"]) ** 2 * (1e4 + float(one["n"])),
)
