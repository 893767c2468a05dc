"""Variants of the default forecast, each without one member or idea, for the ablation."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.forecasts.methods import OURS, Method, Predictor, estimator
from benchmarks.forecasts.scores import MEASURES, compute
from benchmarks.forecasts.section import Section, Settings
from benchmarks.forecasts.sets import present
from benchmarks.forecasts.splits import DEVELOPMENT, Split

__all__ = ["ABLATION", "VARIANTS"]

SPLITS = range(3)  # of development


def _default(**arguments: Any) -> Callable[[Split, int], Predictor]:
    return estimator("DistributionRegressor", **arguments)


def _effort(changes: Mapping[str, Any], split: Split, seed: int) -> Predictor:
    """Fit the default with other settings of its effort."""
    with _changed(changes):
        return _default()(split, seed)


@contextmanager
def _changed(changes: Mapping[str, Any]) -> Iterator[None]:
    """Change the settings of the default effort for a while."""
    from jointdist.regression.effort import EFFORTS  # noqa: PLC0415  # peers lack it

    kept = EFFORTS["auto"]
    EFFORTS["auto"] = replace(kept, **changes)
    try:
        yield
    finally:
        EFFORTS["auto"] = kept


def _with(settings: str, **changes: Any) -> Method:
    return Method(partial(_effort, changes), settings)


VARIANTS: dict[str, Method] = {
    "auto": OURS["auto"],
    "location and scale alone": OURS["kernel"],
    "constant scale": Method(_default(scale=False), "scale=False"),
    "no direct model": _with("effort with direct=False", direct=False),
    "one search for length scales": _with("effort with ard_shared=True", ard_shared=True),
    "no second search": _with("effort with ard_steps=(15, 0)", ard_steps=(15, 0)),
    "fewer kernels": _with("effort with kernels=2", kernels=2),
    "no larger rank": _with("effort with largest_rank=0", largest_rank=0),
    "fewer trees": _with("effort with trees=50", trees=50),
    "bounds and point masses not looked for": Method(
        _default(support=None, point_masses=False), "support=None, point_masses=False"
    ),
}


def _cases(preset: str) -> Iterator[Settings]:
    if preset != "evaluation":
        return
    for name, splits in DEVELOPMENT.items():
        if present(name.partition(",")[0]):
            for split in splits[: len(SPLITS)]:
                yield {"protocol": "published", "data": name, "split": split}


ABLATION = Section(
    "ablation",
    ("protocol", "data", "split", "method"),
    MEASURES,
    _cases,
    tuple(VARIANTS),
    compute,
    known=VARIANTS,
)
