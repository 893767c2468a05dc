"""Targets for forecasts, and whether the tables meet them."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from benchmarks.forecasts.methods import OURS
from benchmarks.forecasts.sets import UCI
from benchmarks.forecasts.truths import FAMILIES
from experiments.claims import Claim
from experiments.markdown import number

__all__ = ["Tables", "against", "claims", "shared"]

Tables: TypeAlias = Mapping[str, pd.DataFrame]

MOST = {"protein": 1.45, "concrete": 1.85, "kin8nm": 0.038, "power": 1.40}  # CRPS
FAR = 60.0  # minutes, of the median forecast of the most delayed departures
BOOSTED = "boosted quantiles"
FAST = 1.03  # at most this times the CRPS of the earlier default
COVERS = (0.86, 0.94)  # 90 % intervals beside a gross outlier
ZERO = 0.05  # mean error of the probability of zero
DECILE = 0.84  # least coverage of 90 % intervals in a decile
NEAR = {500: 1.05, 5_000: 1.02}  # at most this times the CRPS of the true distribution
SEEDS = 0.015  # standard deviation over seeds, relative to the mean
FOREST = 3.0  # at most this times the time of a quantile forest
SECONDS = [  # method, case, most seconds of wall-clock time to fit
    ("auto", "1,000 x 8", 3.0),
    ("auto", "10,000 x 8", 30.0),
    ("fast", "1,000 x 8", 1.0),
    ("fast", "10,000 x 8", 8.0),
    ("auto", "4,000 x 64, 8 outcomes", 60.0),
    ("auto", "2,000 x 200", 20.0),
    ("auto", "1,000,000 x 8", 60.0),
]
MEMORY = ("auto", "2,000 x 200", 500.0)  # most megabytes


def claims(tables: Tables) -> Iterator[Claim]:
    """Yield the targets, with the verdicts of the tables that there are.

    Parameters
    ----------
    tables : mapping
        The tables by section; ``"earlier"`` has the figures of the evaluation before.
    """
    scores = tables.get("scores", pd.DataFrame(columns=["protocol"]))
    fresh = scores[scores["protocol"] == "fresh"]
    yield from _of_uci(fresh, tables.get("earlier"))
    yield from _of_flights(fresh)
    yield from _of_simulated(tables.get("simulated"))
    yield from _of_seeds(tables.get("seeds"))
    yield from _of_times(tables.get("times"))


def _claim(text: str, cases: object, numbers: str) -> Claim:
    """Return whether a target is met in all cases; no cases means not run."""
    held = np.ravel(cases)
    if not held.size:
        return Claim(text, "not run", "–")
    return Claim(text, "met" if held.all() else "missed", numbers)


def _by_name(values: pd.Series, digits: int = 3) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def _numbers(values: pd.Series) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


def shared(table: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Return the CRPS of two methods on the splits that both have, by set and split.

    Parameters
    ----------
    table : DataFrame
        The scores.
    one, other : str
        The methods.
    """
    found = {
        name: table[table["method"] == name].set_index(["data", "split"])["crps"]
        for name in (one, other)
    }
    return pd.DataFrame(found).dropna(how="any")


def against(table: pd.DataFrame, one: str, other: str) -> pd.Series:
    """Return ratios of mean CRPS on shared splits, by set.

    Parameters
    ----------
    table, one, other
        As for :func:`shared`.
    """
    both = shared(table, one, other).groupby(level="data", sort=False).mean()
    return both[one] / both[other]


def _ratios(fresh: pd.DataFrame) -> pd.Series:
    """Return the largest ratio of the default to a method of another package, by set."""
    if not len(fresh):
        return pd.Series(dtype=float)
    names = [name for name in fresh["method"].unique() if name not in {*OURS, "before"}]
    found = pd.DataFrame({name: against(fresh, "auto", name) for name in names})
    return found.max(axis=1).dropna()


def _of_uci(fresh: pd.DataFrame, earlier: pd.DataFrame | None) -> Iterator[Claim]:
    ratio = _ratios(fresh)
    small = ratio[ratio.index.isin(UCI)]
    for own, wanted in ((small, len(UCI)), (ratio, len(UCI) + 2)):
        ahead = int((own < 1).sum())
        flights = ", flights included" if wanted > len(UCI) else ""
        claim = _claim(
            f"auto: lowest CRPS of all packages that run here on {wanted} of {wanted} "
            f"sets{flights}.",
            own < 1,
            f"On {ahead} of {len(own)} sets that were run. Ratio to the best other package: "
            f"{_by_name(own)}.",
        )
        some = claim.verdict == "met" and len(own) < wanted
        yield claim._replace(verdict="not run on all") if some else claim
    mean = _mean(fresh, "auto")
    for name, most in MOST.items():
        own = mean[mean.index == name]
        text = f"auto: CRPS on {name} at most {number(most)}."
        yield _claim(text, own <= most, _numbers(own))
    yield from _of_earlier(fresh, earlier)


def _mean(table: pd.DataFrame, method: str, column: str = "crps") -> pd.Series:
    if not len(table):
        return pd.Series(dtype=float)
    own = table[table["method"] == method]
    return own.groupby("data", sort=False)[column].mean().dropna()


def _of_earlier(fresh: pd.DataFrame, earlier: pd.DataFrame | None) -> Iterator[Claim]:
    """Compare with the earlier default: on the same splits if it was run there."""
    for name, most in (("auto", 1.0), ("fast", FAST)):
        ratio, error, how = _earlier_ratio(fresh, earlier, name)
        slack = error if name == "auto" else 0.0 * error
        beyond = " beyond a standard error" if name == "auto" else ""
        yield _claim(
            f"{name}: CRPS on no set above {most:.2f} times that of the earlier "
            f"default{beyond}.",
            (ratio - slack <= most).to_numpy(),
            f"Ratio, {how}: {_by_name(ratio)}.",
        )


def _earlier_ratio(
    fresh: pd.DataFrame, earlier: pd.DataFrame | None, name: str
) -> tuple[pd.Series, pd.Series, str]:
    """Return ratios to the earlier default, their standard errors, and how they compare."""
    both = shared(fresh, name, "before") if len(fresh) else pd.DataFrame()
    if len(both):
        parts = both.groupby(level="data", sort=False)
        off = (both[name] - both["before"]).groupby(level="data", sort=False).sem()
        base = parts["before"].mean()
        return parts[name].mean() / base, (off / base).fillna(0), "on the same splits"
    none = pd.Series(dtype=float)
    if earlier is None or not len(fresh):
        return none, none, ""
    then = earlier[earlier["method"] == "auto"].groupby("data")["crps"]
    now = fresh[fresh["method"] == name].groupby("data", sort=False)["crps"]
    base = then.mean()
    ratio = (now.mean() / base).dropna()
    error = np.sqrt(now.sem() ** 2 + then.sem() ** 2) / base
    how = "to `proper.md`, on other splits"
    return ratio, error.reindex(ratio.index).fillna(0), how


def _of_flights(fresh: pd.DataFrame) -> Iterator[Claim]:
    own = fresh[fresh["method"] == "auto"] if len(fresh) else fresh
    far = own.dropna(subset="far_median") if len(own) else own
    yield _claim(
        "Flights: the median error of the five most delayed departures of the test rows is "
        f"at most {FAR:.0f} minutes.",
        (far["far_median"] <= FAR) if len(far) else [],
        f"Minutes, means over splits: {_numbers(_mean(own, 'auto', 'far_median'))}; the "
        f"worst of the five {_numbers(_mean(own, 'auto', 'far_worst'))}."
        if len(far)
        else "–",
    )
    ratio = against(fresh, "auto", BOOSTED) if len(fresh) else pd.Series(dtype=float)
    ratio = ratio[ratio.index.astype(str).str.startswith("flights")]
    yield _claim(
        f"Flights: CRPS below that of {BOOSTED}.", ratio < 1, f"Ratio: {_by_name(ratio)}."
    )


def _of_simulated(table: pd.DataFrame | None) -> Iterator[Claim]:
    def of(name: str, column: str) -> pd.Series:
        if table is None:
            return pd.Series(dtype=float)
        rows = table[(table["data"] == name) & (table["method"] == "auto")]
        return rows[column].dropna()

    covered = of("outlier", "coverage")
    yield _claim(
        "One outlier of 10⁶ in 300 rows: 90 % intervals cover 86 to 94 % on average.",
        [COVERS[0] <= covered.mean() <= COVERS[1]] if len(covered) else [],
        f"{covered.mean():.3f}, means over {len(covered)} seeds; lowest {covered.min():.3f}.",
    )
    error, below = of("zero-inflated", "zero_error"), of("zero-inflated", "below_zero")
    yield _claim(
        f"Zero-inflated gamma, n = 2,000: mean error of P(Y = 0) at most {ZERO}.",
        [error.mean() <= ZERO] if len(error) else [],
        f"{error.mean():.3f}.",
    )
    yield _claim(
        "Zero-inflated gamma: P(Y < 0) = 0.", below == 0, f"{number(below.max())}."
    )
    beyond = of("capped", "beyond_cap")
    yield _claim(
        "Capped outcome: no quantile beyond the cap.",
        beyond == 0,
        f"Share of rows with one: {number(beyond.max())}.",
    )
    worst = of("bimodal", "worst_decile")
    yield _claim(
        "Bimodal with a gap that depends on x, n = 5,000: 90 % intervals cover at least 84 % "
        "in every decile of x.",
        [worst.mean() >= DECILE] if len(worst) else [],
        f"Worst decile, means over {len(worst)} seeds: {worst.mean():.3f}; lowest "
        f"{worst.min():.3f}.",
    )
    for n, most in NEAR.items():
        ratio = _to_truth(table, "auto", n)
        yield _claim(
            f"CRPS within {most} times that of the true distribution, n = {n:,}.",
            ratio <= most,
            f"Ratio: {_by_name(ratio)}.",
        )


def _to_truth(table: pd.DataFrame | None, method: str, n: int) -> pd.Series:
    """Return ratios of mean CRPS to that of the true distributions."""
    if table is None:
        return pd.Series(dtype=float)
    rows = table[
        (table["method"] == method) & (table["n"] == n) & table["data"].isin(list(FAMILIES))
    ]
    means = rows.groupby("data", sort=False)[["crps", "crps_true"]].mean()
    return (means["crps"] / means["crps_true"]).dropna()


def _of_seeds(table: pd.DataFrame | None) -> Iterator[Claim]:
    spread = pd.Series(dtype=float)
    if table is not None:
        own = table[table["method"] == "auto"].groupby("data", sort=False)["crps"]
        spread = (own.std() / own.mean()).dropna()
    yield _claim(
        "Five seeds: standard deviation of the test CRPS at most 1.5 % of its mean on every "
        "set.",
        spread <= SEEDS,
        ", ".join(f"{name} {100 * value:.1f} %" for name, value in spread.items()) + ".",
    )


def _of_times(table: pd.DataFrame | None) -> Iterator[Claim]:
    def of(method: str, case: str, column: str = "fit_wall") -> Any:
        if table is None:
            return np.nan
        rows = table[(table["method"] == method) & (table["data"] == case)]
        return rows[column].median()

    def known(*values: float) -> bool:
        return bool(np.isfinite(values).all())

    for method, case, most in SECONDS:
        found = of(method, case)
        yield _claim(
            f"{method}: {case} in at most {number(most)} s.",
            [found <= most] if known(found) else [],
            f"{number(found)} s.",
        )
    method, case, most = MEMORY
    found = of(method, case, "memory_mb")
    yield _claim(
        f"{method}: {case} in at most {number(most)} MB.",
        [found <= most] if known(found) else [],
        f"{number(found)} MB.",
    )
    ours, theirs = of("auto", "1,000 x 8"), of("NGBoost", "1,000 x 8")
    yield _claim(
        "auto: 1,000 x 8 no slower than NGBoost's defaults in the same run.",
        [ours <= theirs] if known(ours, theirs) else [],
        f"{number(ours)} s, NGBoost {number(theirs)} s.",
    )
    for case in ("1,000 x 8", "10,000 x 8"):
        ours, theirs = of("fast", case), of("quantile-forest", case)
        yield _claim(
            f"fast: {case} within {FOREST:.0f} times a quantile forest of 200 trees.",
            [ours <= FOREST * theirs] if known(ours, theirs) else [],
            f"{number(ours)} s, quantile forest {number(theirs)} s.",
        )
