"""Maximum likelihood beside projections: the same model class, on the same splits, run together."""

from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.data import load
from benchmarks.peers.methods import Method
from benchmarks.quality.measured import measured
from benchmarks.quality.section import section
from benchmarks.quality.uci import LEVEL, sets, simulated
from experiments.store import Row, Settings
from jointdist import Conditional, JointDistribution, scores

__all__ = ["SECTION", "compute"]

KINDS = ("projected", "exponential")
SIMULATED = "simulated, both"


def compute(one: Settings) -> list[Row]:
    """Return the scores of both models on one split of a set."""
    name, split = str(one["data"]), int(one["split"])
    task = simulated(split) if name == SIMULATED else load(name, split)
    methods = {kind: Method(partial(_fitted, kind), "jointdist") for kind in KINDS}
    return measured(methods, task, split, _scores)


def _fitted(positivity: Any, task: Any, seed: int) -> Any:
    model = JointDistribution(positivity=positivity, random_state=seed, verbose=0)
    return model.fit(task.X, task.Y).given


def _scores(dist: Conditional, task: Any) -> Row:
    y, (low, high) = task.Y_test, dist.interval(LEVEL).T
    return {
        "rows": len(task.Y),
        "tests": len(y),
        "crps": float(np.mean(scores.crps(dist, y))),
        "log_score": float(np.mean(scores.log_score(dist, y))),
        "coverage": float(((low <= y) & (y <= high)).mean()),
    }


SECTION = section(
    "likelihood",
    "Maximum likelihood beside projections",
    compute,
    tiny={SIMULATED: (0,)},
    development=sets(0),
    evaluation=sets(1),
    minutes={
        "yacht": 0.1,
        "wine": 0.3,
        "power": 0.6,
        "kin8nm": 0.6,
        "naval": 1,
        "protein": 4,
    },
)
