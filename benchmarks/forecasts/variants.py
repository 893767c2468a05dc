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
    new = {name: to(kept) if callable(to) else to for name, to in changes.items()}
    EFFORTS["auto"] = replace(kept, **new)
    try:
        yield
    finally:
        EFFORTS["auto"] = kept


def _once(effort: Any) -> Any:
    """Return searches for length scales without the second one."""
    few = effort.search[0]
    once = replace(few, steps=(sum(few.steps), 0), every=False)
    return once, once


def _with(settings: str, **changes: Any) -> Method:
    return Method(partial(_effort, changes), settings)


VARIANTS: dict[str, Method] = {
    "auto": OURS["auto"],
    "location and scale alone": OURS["kernel"],
    "constant scale": Method(_default(scale=False), "scale=False"),
    "no direct model": _with("effort with direct=False", direct=False),
    "a forest of 40 trees": _with("effort with trees=(40, 40)", trees=(40, 40)),
    "no boosting": _with("effort with a tree", boosting=((0.05, 1), (0.05, 1))),
    "boosting in one set of folds": _with("effort with repeats=1", repeats=1),
    "one search for length scales": _with("effort without a second search", search=_once),
    "no length scales of neighbours": _with("effort with patches=0", patches=0),
    "one kernel": _with("effort with kernels=(1, 1)", kernels=(1, 1)),
    "no larger rank": _with("effort with largest_rank=0", largest_rank=0),
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
