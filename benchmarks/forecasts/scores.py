"""Scores on real data: fresh splits for reports, published ones for development."""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.forecasts.dists import Forecast
from benchmarks.forecasts.measured import Row, measured, scored
from benchmarks.forecasts.methods import OURS, PEERS, Method
from benchmarks.forecasts.section import Section, Settings
from benchmarks.forecasts.sets import present
from benchmarks.forecasts.splits import DEVELOPMENT, FRESH, LARGE, Split, load

__all__ = ["LARGE_SECTION", "MEASURES", "SCORES", "compute"]

MEASURES = (
    "rows",
    "tests",
    "crps",
    "coverage",
    "width",
    "log_score",
    "far_median",
    "far_worst",
    "fit_seconds",
    "predict_seconds",
)
TINY = {"yacht": range(1)}
PRESETS: Mapping[str, tuple[str, Mapping[str, range]]] = {
    "tiny": ("published", TINY),
    "development": ("published", DEVELOPMENT),
    "evaluation": ("fresh", FRESH),
}


def _cases(preset: str) -> Iterator[Settings]:
    yield from _of(*PRESETS[preset])


def _large(preset: str) -> Iterator[Settings]:
    if preset == "evaluation":
        yield from _of("large", LARGE)


def _of(protocol: str, sets: Mapping[str, range]) -> Iterator[Settings]:
    for name, splits in sets.items():
        if present(name.partition(",")[0]):
            for split in splits:
                yield {"protocol": protocol, "data": name, "split": split}


def compute(one: Settings, method: Method, limit: float) -> Row:
    """Return the scores of a method on one split of a set.

    Parameters
    ----------
    one : mapping
        The settings.
    method : Method
        The method.
    limit : float
        The CPU seconds after which it is stopped; zero for no limit.
    """
    name, number = str(one["data"]), int(one["split"])
    split = load(str(one["protocol"]), name, number)
    score = _with_far if name.startswith("flights") else scored
    found = measured(method, split, number, score, limit)
    return {key: value for key, value in found.items() if key in {*MEASURES, "note"}}


def _with_far(forecast: Forecast, split: Split) -> Row:
    """Return scores, and how far off the medians of the most delayed departures are."""
    far = split.far()
    medians = forecast.quantile(np.array([0.5]))[far, 0]
    off = np.abs(medians - split.y_test[far])
    about: Row = {"far_median": float(np.median(off)), "far_worst": float(off.max())}
    return scored(forecast, split) | about


SCORES = Section(
    "scores",
    ("protocol", "data", "split", "method"),
    MEASURES,
    _cases,
    (*OURS, *PEERS),
    compute,
)
LARGE_SECTION = Section(
    "large",
    ("protocol", "data", "split", "method"),
    MEASURES,
    _large,
    (*OURS, *(name for name in PEERS if name != "treeffuser")),
    compute,
)
