"""How much forecasts depend on the seed: the same development split, several seeds."""

from collections.abc import Iterator

from benchmarks.forecasts.measured import Row, measured, scored
from benchmarks.forecasts.methods import OURS, Method
from benchmarks.forecasts.section import Section, Settings
from benchmarks.forecasts.sets import UCI, present
from benchmarks.forecasts.splits import load

__all__ = ["SEEDS", "compute"]

COUNT = 5
SPLIT = 0  # the first published one
SETS = (*UCI, "flights, 20,000")
MEASURES = ("rows", "tests", "crps", "coverage", "width", "fit_seconds", "predict_seconds")


def _cases(preset: str) -> Iterator[Settings]:
    sets = {"tiny": (), "development": SETS, "evaluation": SETS}[preset]
    for name in sets:
        if present(name.partition(",")[0]):
            yield from ({"data": name, "seed": seed} for seed in range(COUNT))


def compute(one: Settings, method: Method, limit: float) -> Row:
    """Return the scores of a method with one seed.

    Parameters
    ----------
    one : mapping
        The settings.
    method : Method
        The method.
    limit : float
        The CPU seconds after which it is stopped; zero for no limit.
    """
    split = load("published", str(one["data"]), SPLIT)
    found = measured(method, split, int(one["seed"]), scored, limit)
    return {key: value for key, value in found.items() if key in {*MEASURES, "note"}}


SEEDS = Section(
    "seeds", ("data", "seed", "method"), MEASURES, _cases, tuple(OURS), compute, seed="seed"
)
