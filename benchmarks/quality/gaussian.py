"""Second moments of normal data, d = 3 + 3: the accuracy lost by projection."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.quality.measured import quiet
from benchmarks.quality.section import DEVELOPMENT, section
from experiments.gaussian import GREEDY, SCALES_JDL, TOL, D, how
from experiments.moments import RIDGES, Data, Held
from experiments.protocol import Family, Variant, search
from experiments.store import Row, Settings
from jointdist import Conditional, JointDistribution, scores
from jointdist.datasets import NormalPair
from jointdist.kernels import Gaussian

__all__ = ["SECTION", "compute"]

SETS = {"gaussian": (10_000, 5000), "gaussian, small": (120, 50)}  # rows, test rows
GRID = {"positivity": "grid", "grid_rows": 2000}
AFRESH = range(17, 27)  # seeds 7 to 16 had been seen before a default was changed
BLOCK = 500  # distributions whose weights are formed at a time


def compute(one: Settings) -> list[Row]:
    """Return the scores of distributions that differ only in how they become proper.

    Length scales and ridge minimise the validation loss of the signed model.
    """
    seed, (n, tests) = int(one["split"]), SETS[str(one["data"])]
    rng = np.random.default_rng([seed, n])
    data = Data.drawn(NormalPair.random(D, random_state=seed), n, tests, rng)
    with quiet():
        return [{"method": name, **row} for name, row in _rows(data)]


def _rows(data: Data) -> Iterator[tuple[str, Row]]:
    best = search(
        Family(_made, {"signed": Variant(RIDGES, {"positivity": "none"})}, *SCALES_JDL),
        data.X,
        data.Y,
        lambda model: data.loss(model, data.validation),
    )["signed"]
    model = best.model
    yield "signed", _tested(model.given(data.test.X), data.test)
    yield "clipped", _clipped(model.given(data.test.X), data.test)
    for name, params in {"projected": {"positivity": "projected"}, "grid": GRID}.items():
        yield name, _tested(model.refit(**params).given(data.test.X), data.test)
    yield "signed, defaults", _default(data, "none")
    yield "projected, defaults", _default(data, "projected")


def _made(scale_x: float, scale_y: float) -> JointDistribution:
    kernels = Gaussian(scale_x), Gaussian(scale_y)
    return JointDistribution(
        *kernels, regularization=1.0, positivity="none", random_state=0, **how(TOL, GREEDY)
    )


def _default(data: Data, positivity: Any) -> Row:
    """Return the scores of a model that selects all hyperparameters itself."""
    model = JointDistribution(positivity=positivity, random_state=0).fit(data.X, data.Y)
    return _tested(model.given(data.test.X), data.test)


def _tested(dists: Conditional, held: Held) -> Row:
    share = dists.negative_share()
    return {
        "loss": float(np.mean(scores.second_moment_loss(dists, held.truth))),
        "negative_share": float(share.mean()),
        "negative_most": float(share.max()),
        "mass_error": float(scores.normalization_error(dists).max()),
    }


def _clipped(dists: Conditional, held: Held) -> Row:
    """Return the loss after setting negative weights to zero."""
    y = dists.support_points()
    products = np.einsum("ni,nj->nij", y, y).reshape(len(y), -1)
    starts = range(0, len(dists), BLOCK)
    weights = (np.maximum(dists[i : i + BLOCK].weights(), 0) for i in starts)
    parts = [w @ products / w.sum(axis=1, keepdims=True) for w in weights]
    found = np.concatenate(parts).reshape(held.truth.shape)
    away, size = (np.square(Z).sum(axis=(1, 2)) for Z in (found - held.truth, held.truth))
    return {"loss": float((away / size).mean())}


SECTION = section(
    "gaussian",
    "Second moments of normal data, d = 3 + 3",
    compute,
    tiny={"gaussian, small": (0,)},
    development={"gaussian": DEVELOPMENT},
    evaluation={"gaussian": AFRESH},
)
