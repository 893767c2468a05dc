"""Tail events: the paper's binary task, with proper distributions and with classifiers."""

from collections.abc import Iterator
from functools import partial
from time import process_time

import numpy as np

from benchmarks.peers.data import Task
from benchmarks.peers.methods import METHODS
from benchmarks.quality.measured import quiet
from benchmarks.quality.section import DEVELOPMENT, EVALUATION, section
from experiments.famafrench import (
    HOW,
    RIDGES_JDL,
    SCALES_JDL,
    Sample,
    estimator,
    logistic,
    sample,
    scored,
    tested,
)
from experiments.protocol import Best, Family, Variant, search
from experiments.store import Row, Settings
from jointdist import JointDistribution
from jointdist.kernels import Gaussian

__all__ = ["SECTION", "compute"]

SETS = {
    "famafrench, d = 5": ("french", 5, 20_000),
    "famafrench, d = 25": ("french", 25, 20_000),
    "famafrench, simulated": ("simulated", 5, 500),
}
# Of "exponential": scales and ridges, chosen on splits 0 to 2.
SCALES_EXPONENTIAL, WIDE, RIDGES_EXPONENTIAL = (0.5, 1.0), 8.0, (2e-4, 5e-5)
BOOSTED = METHODS["event"]["boosted classifier"]


def compute(one: Settings) -> list[Row]:
    """Return the scores of all models on one subsample of the days."""
    seed = int(one["split"])
    drawn = sample(*SETS[str(one["data"])], seed)
    with quiet():
        return [{"method": name, **row} for name, row in _rows(drawn, seed)]


def _rows(drawn: Sample, seed: int) -> Iterator[tuple[str, Row]]:
    """Yield models selected as in the paper; boosting has its own early stopping."""
    make = partial(estimator, JointDistribution, drawn.units)
    variants = {
        name: Variant(RIDGES_JDL, {"positivity": positivity})
        for name, positivity in (("signed", "none"), ("projected", "projected"))
    }
    found = search(Family(make, variants, *SCALES_JDL), *drawn.train, drawn.loss)
    for name, best in found.items():
        yield name, tested(best, drawn)
    yield "exponential", tested(_exponential(drawn), drawn)
    yield "KLR", tested(logistic(drawn, intercept=False), drawn)
    yield "KLR, intercept", tested(logistic(drawn, intercept=True), drawn)
    task = _task(drawn)
    yield "boosting", scored(BOOSTED.fit(task, seed)(task.X_test), drawn)


def _exponential(drawn: Sample) -> Best:
    """Return the log-linear model with the least loss on the validation days.

    The wide kernel keeps the days of crises within reach: out of distribution a model reverts
    to the marginal, and there most events are.
    """
    (X, y), (unit_x, unit_y), found = drawn.train, drawn.units, []
    for scale in SCALES_EXPONENTIAL:
        kernels = Gaussian(scale * unit_x) + Gaussian(WIDE * unit_x), Gaussian(4 * unit_y)
        first = JointDistribution(*kernels, positivity="exponential", **HOW)
        model = None
        for ridge in RIDGES_EXPONENTIAL:
            start = process_time()
            if model is None:
                model = first.set_params(regularization=ridge).fit(X, y)
            else:
                model = model.refit(regularization=ridge)
            time = process_time() - start
            found.append(Best(model, drawn.loss(model), (scale, 4.0), ridge, time, 0.0))
    return min(found, key=lambda best: best.loss)


def _task(drawn: Sample) -> Task:
    """Return training and validation days together; early stopping splits them itself."""
    X, y = (
        np.concatenate(part) for part in zip(drawn.train, drawn.validation, strict=True)
    )
    return Task("event", X, y, *drawn.test, drawn.q)


SECTION = section(
    "famafrench",
    "Tail events of the Fama-French portfolios",
    compute,
    tiny={"famafrench, simulated": (0,)},
    development=dict.fromkeys(list(SETS)[:2], DEVELOPMENT),
    evaluation=dict.fromkeys(list(SETS)[:2], EVALUATION),
)
