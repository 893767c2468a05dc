"""What the sections of the evaluation share: settings, and a table for each."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import pandas as pd

from benchmarks.peers.data import SETS, present
from experiments.store import Row, Settings
from experiments.study import Study

__all__ = ["DEVELOPMENT", "EVALUATION", "Sets", "mean_and_error", "section", "settings"]

Sets: TypeAlias = Mapping[str, Sequence[int]]

DEVELOPMENT, EVALUATION = range(7), range(7, 17)  # splits, and seeds of simulated sets


def settings(sets: Sets) -> Iterator[Settings]:
    """Yield the splits of all available sets; report sets whose files are missing."""
    for name, splits in sets.items():
        if name in SETS and not present(name):
            why = "its files are missing (see JOINTDIST_SHARED)"
            print(f"skipped: {name}: {why}", file=sys.stderr)
            continue
        yield from ({"data": name, "split": split} for split in splits)


def section(
    name: str,
    title: str,
    compute: Callable[[Settings], list[Row]],
    *,
    tiny: Sets,
    development: Sets,
    evaluation: Sets,
    minutes: Mapping[str, float] = MappingProxyType({}),
) -> Study:
    """Return a section; all methods on one split of a set are one computation.

    Its table has a row for each method. `minutes` are approximate run times of splits, by
    default one, from which the remaining time is estimated.
    """
    sets = {"tiny": tiny, "development": development, "evaluation": evaluation}
    return Study(
        name=f"proper-{name}",
        title=title,
        keys=("data", "split"),
        presets={preset: {"sets": own} for preset, own in sets.items()},
        settings=settings,
        compute=compute,
        draw=lambda _: {},
        cost=lambda one: minutes.get(str(one["data"]), 1.0),
    )


def mean_and_error(table: pd.DataFrame, column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return means over splits and their standard errors: sets in rows, methods in columns.

    A failure on one split makes the mean NaN; the error of a single split is NaN.
    """
    groups = table.groupby(["data", "method"], sort=False)[column]
    mean = groups.agg(lambda own: own.mean(skipna=False)).unstack("method")  # noqa: PD010
    error = groups.sem().unstack("method")  # noqa: PD010
    order = tuple(list(dict.fromkeys(table[key])) for key in ("data", "method"))
    return mean.loc[order], error.loc[order]
