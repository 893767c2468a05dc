"""Targets for proper distributions, and whether the tables meet them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
import pandas as pd

from benchmarks.quality.methods import CALIBRATED, OURS, PEERS
from benchmarks.quality.section import mean_and_error
from benchmarks.quality.uci import LEVEL
from experiments.claims import Claim
from experiments.markdown import number

__all__ = ["Tables", "claims"]

Tables: TypeAlias = Mapping[str, pd.DataFrame]

PAR = 1.05  # on par: at most this times the loss of signed distributions
BEHIND, PROTEIN = 1.03, 1.55  # of maximum likelihood, beside projections
WORST = 1.1  # at most this times the loss of the better peer on any set
AHEAD = {"auto": 8}  # of nine sets, at least
AHEAD_ELSE = 7
SETS = 9
NEAR = {"without": 0.02, "with conformal": 0.01}  # largest error of mean coverage
EVENTS = {
    "KLR": 1.0,
    "KLR, intercept": 1.0,
    "boosting": 1.03,
}  # at most this times their loss
ROUNDING = 1e-12  # largest rounding error of a total mass
INDEPENDENT = "quantile-forest, independent"


def claims(tables: Tables) -> Iterator[Claim]:
    """Yield the targets of all given tables, with their verdicts.

    Parameters
    ----------
    tables : mapping
        The tables by section.
    """
    targets: dict[str, Callable[[pd.DataFrame], Iterator[Claim]]] = {
        "proper-uci": _of_one_column,
        "proper-likelihood": _of_likelihood,
        "proper-gaussian": _of_moments,
        "proper-famafrench": _of_events,
        "proper-vector": _of_columns,
    }
    for name, section in targets.items():
        if name in tables:
            yield from section(tables[name])


def _claim(text: str, cases: object, numbers: str) -> Claim:
    """Return whether a target is met in all cases; no cases means not run."""
    held = np.ravel(cases)
    if not held.size:
        return Claim(text, "not run", "–")
    return Claim(text, "met" if held.all() else "missed", numbers)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _of_one_column(table: pd.DataFrame) -> Iterator[Claim]:
    crps, coverage = (mean_and_error(table, name)[0] for name in ("crps", "coverage"))
    for name in OURS:
        ratio = _ratio(crps, name, PEERS)
        ahead, wanted = int((ratio < 1).sum()), AHEAD.get(name, AHEAD_ELSE)
        yield _claim(
            f"{name}: CRPS below that of both peers on at least {wanted} of {SETS} sets.",
            [ahead * SETS >= wanted * len(ratio)] if len(ratio) else [],
            f"On {ahead} of {len(ratio)} sets. Ratio to the better peer: {_by_name(ratio)}.",
        )
        yield _claim(
            f"{name}: CRPS nowhere more than {_percent(WORST - 1)} above that of the better "
            "peer.",
            ratio <= WORST,
            f"Worst ratio {number(ratio.max(skipna=False))}.",
        )
    for how, names in (("without", OURS), ("with conformal", CALIBRATED)):
        means = coverage.reindex(columns=list(names)).mean(skipna=False).dropna()
        yield _claim(
            f"Mean coverage of {_percent(LEVEL)} intervals, {how} calibration, within "
            f"{_percent(NEAR[how])} of the level.",
            abs(means - LEVEL) <= NEAR[how],
            f"{_by_name(means)}.",
        )


def _of_likelihood(table: pd.DataFrame) -> Iterator[Claim]:
    crps, _ = mean_and_error(table, "crps")
    ratio = _ratio(crps, "exponential", ["projected"])
    ahead = int((ratio < 1).sum())
    yield _claim(
        f"exponential: CRPS below that of projected on at least {AHEAD_ELSE} of {SETS} sets.",
        [ahead * SETS >= AHEAD_ELSE * len(ratio)] if len(ratio) else [],
        f"On {ahead} of {len(ratio)} sets. Ratio: {_by_name(ratio)}.",
    )
    yield _claim(
        f"exponential: CRPS nowhere more than {_percent(BEHIND - 1)} above that of projected.",
        ratio <= BEHIND,
        f"Worst ratio {number(ratio.max(skipna=False))}.",
    )
    if "protein" in crps.index:
        found = crps.loc["protein", "exponential"]
        yield _claim(
            f"exponential: CRPS on protein at most {PROTEIN}.",
            [found <= PROTEIN],
            f"{number(found)}.",
        )


def _of_moments(table: pd.DataFrame) -> Iterator[Claim]:
    loss, _ = mean_and_error(table, "loss")
    for more in ("", ", defaults"):
        ratio = _ratio(loss, f"projected{more}", [f"signed{more}"])
        yield _claim(
            f"Projected distributions{more}: second-moment loss on par with signed ones.",
            ratio <= PAR,
            f"Ratio of means: {_by_name(ratio)}.",
        )
    proper = table[table["method"].str.startswith("projected")]
    most, off = proper["negative_most"], proper["mass_error"]
    yield _claim(
        "Projected distributions have no negative weight, and total mass one.",
        (most <= 0) & (off <= ROUNDING),
        f"Largest negative share {number(most.max())}, largest error of the total mass "
        f"{number(off.max())}.",
    )


def _of_events(table: pd.DataFrame) -> Iterator[Claim]:
    loss, _ = mean_and_error(table, "loss")
    for other, most in EVENTS.items():
        ratio = _ratio(loss, "projected", [other])
        yield _claim(
            f"Projected distributions: logistic loss at most {number(most)} times that of {other}.",
            ratio <= most,
            f"Ratio of means: {_by_name(ratio)}.",
        )
    ratio = _ratio(loss, "exponential", ["KLR, intercept"])
    yield _claim(
        "exponential: logistic loss at most that of KLR, intercept.",
        ratio <= 1,
        f"Ratio of means: {_by_name(ratio)}.",
    )
    share = table.loc[table["method"] == "projected", "negative_share"]
    yield _claim(
        "Projected distributions give no negative probability.",
        share == 0,
        f"Largest share of test days {number(share.max())}.",
    )


def _of_columns(table: pd.DataFrame) -> Iterator[Claim]:
    energy, _ = mean_and_error(table, "energy")
    ratio = _ratio(energy, "exponential", ["projected"])
    yield _claim(
        "exponential: energy score below that of projected.",
        ratio < 1,
        f"Ratio of means: {_by_name(ratio)}.",
    )
    for name in ("kernel", "auto"):
        ratio = _ratio(energy, name, [INDEPENDENT])
        yield _claim(
            f"{name}: energy score below that of independent forests.",
            ratio < 1,
            f"Ratio of means: {_by_name(ratio)}.",
        )


def _ratio(mean: pd.DataFrame, name: str, others: Iterable[str]) -> pd.Series:
    """Return ratios of means to the best other, by set; empty unless all of them were run.

    A failure is NaN, which meets no target.
    """
    others = list(others)
    if not {name, *others} <= set(mean):
        return pd.Series(dtype=float)
    return mean[name] / mean[others].min(axis=1)


def _by_name(values: pd.Series) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in values.items())
