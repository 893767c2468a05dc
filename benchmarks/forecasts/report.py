"""The page of the benchmark, generated from its tables alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.forecasts.claims import Tables, against, claims
from benchmarks.forecasts.methods import METHODS
from benchmarks.forecasts.published import PUBLISHED, SOURCES
from benchmarks.forecasts.texts import (
    ABLATION,
    INTRODUCTION,
    LARGE,
    PUBLISHED_TEXT,
    SCORES,
    SEEDS,
    SIMULATED,
    TIMES,
)
from benchmarks.quality.section import mean_and_error
from experiments.markdown import grid, number
from experiments.pages import provenance

__all__ = ["claims", "page", "tables"]

NAMES = ("scores", "large", "simulated", "seeds", "times", "ablation")
EARLIER = "proper-uci.csv"
TEXTS = {"revision": str, "note": str}  # a commit may look like a number


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Return the existing tables by section, and that of the evaluation before.

    Parameters
    ----------
    folder : Path
        The folder of pages.
    """
    paths = {name: folder / "tables" / f"forecasts-{name}.csv" for name in NAMES}
    paths["earlier"] = folder / "tables" / EARLIER
    found = {
        name: pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=TEXTS)
        for name, path in paths.items()
        if path.exists()
    }
    return {name: table for name, table in found.items() if len(table)}


def page(found: Tables) -> str:
    """Return the page in Markdown; sections without a table are omitted.

    Parameters
    ----------
    found : mapping
        The tables by section.
    """
    sections = {
        "scores": _scores,
        "large": _large,
        "simulated": _simulated,
        "seeds": _seeds,
        "times": _times,
        "ablation": _ablation,
    }
    parts = [INTRODUCTION, grid(["target", "verdict", "numbers"], list(claims(found)))]
    for name, section in sections.items():
        if name in found:
            table = found[name]
            parts += [*section(table), *_notes(table), provenance(table)]
    return "\n\n".join([*parts, *_published(found), *_origins(found)]) + "\n"


def _scores(table: pd.DataFrame) -> Iterator[str]:
    fresh = _ordered(table[table["protocol"] == "fresh"])
    yield SCORES
    yield _means(fresh, "crps", best=True)
    if (fresh["method"] == "auto").any():
        yield "CRPS relative to *auto*, on the splits that both have:"
        yield _relative(fresh, "auto")
    yield "Share of test rows in the central 90 % interval:"
    yield _means(fresh, "coverage")
    yield "Mean width of these intervals:"
    yield _means(fresh, "width")
    yield "Log score, of methods with densities:"
    yield _means(fresh, "log_score", best=True)
    far = fresh[fresh["far_median"].notna()]
    if len(far):
        yield "Median error of the forecast medians of the five most delayed departures, minutes:"
        yield _means(far, "far_median", best=True)
    yield "CPU seconds to fit, including all validation:"
    yield _means(fresh, "fit_seconds")
    yield "CPU seconds to predict distributions and intervals of all test rows:"
    yield _means(fresh, "predict_seconds")


def _large(table: pd.DataFrame) -> Iterator[str]:
    table = _ordered(table)
    yield LARGE
    yield _means(table, "crps", best=True)
    yield "Share of test rows in the central 90 % interval:"
    yield _means(table, "coverage")
    yield "CPU seconds to fit, including all validation:"
    yield _means(table, "fit_seconds")


def _simulated(table: pd.DataFrame) -> Iterator[str]:
    named = table["data"] + table["n"].map(", n = {:,}".format)
    table = _ordered(table.assign(data=named, split=table["seed"]))
    yield SIMULATED
    true = table["crps"] / table["crps_true"]
    parts = {
        "CRPS relative to that of the true distribution:": table.assign(ratio=true),
        "Share of test rows in the central 90 % interval:": table,
        "The same in the worst decile of x:": table,
        "Mean error of P(Y = 0):": table,
        "Largest P(Y < 0):": table,
        "Share of rows with a quantile beyond the cap:": table,
    }
    columns = (
        "ratio",
        "coverage",
        "worst_decile",
        "zero_error",
        "below_zero",
        "beyond_cap",
    )
    for (title, own), column in zip(parts.items(), columns, strict=True):
        rows = own[own[column].notna()]
        if len(rows):
            yield title
            yield _means(rows, column, best=column == "ratio")


def _seeds(table: pd.DataFrame) -> Iterator[str]:
    yield SEEDS
    groups = _ordered(table).groupby(["data", "method"], sort=False)["crps"]
    spread = (100 * groups.std() / groups.mean()).unstack("method")  # noqa: PD010
    yield grid(
        ["", *spread.columns], [[n, *map(number, row)] for n, *row in spread.itertuples()]
    )


def _times(table: pd.DataFrame) -> Iterator[str]:
    yield TIMES
    table = _ordered(table)
    for column, title in (
        ("fit_wall", "Seconds of wall-clock time to fit:"),
        ("predict_wall", "Seconds to forecast 1,000 rows, with their CRPS:"),
        ("memory_mb", "Peak memory above the data, MB:"),
        ("crps", "CRPS:"),
    ):
        groups = table.groupby(["data", "method"], sort=False)[column]
        wide = groups.median().unstack("method")  # noqa: PD010
        yield title
        yield grid(
            ["", *wide.columns], [[n, *map(number, row)] for n, *row in wide.itertuples()]
        )
    threads = ", ".join(map(str, sorted(table["threads"].unique())))
    yield f"Cores that a process could use: {threads}."


def _ablation(table: pd.DataFrame) -> Iterator[str]:
    yield ABLATION
    yield _relative(table, "auto")
    yield "CPU seconds to fit:"
    yield _means(table, "fit_seconds")


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the methods in the order of their definition."""
    place = {name: i for i, name in enumerate(METHODS)}
    return table.sort_values("method", key=lambda names: names.map(place), kind="stable")


def _means(table: pd.DataFrame, column: str, *, best: bool = False) -> str:
    """Return means and standard errors: sets in rows, methods in columns.

    The number of splits follows in brackets where it is smaller than that of others; `best`
    sets the lowest of a row in bold, of methods that have all splits.
    """
    known = table.dropna(subset=column)
    mean, error = mean_and_error(known, column)
    counts = known.groupby(["data", "method"])["split"].nunique().unstack("method")  # noqa: PD010
    mean, error = mean.sort_index(), error.sort_index()
    lowest = mean.where(counts.eq(counts.max(axis=1), axis=0)).min(axis=1)

    def cell(name: str, method: str) -> str:
        value, off = mean.loc[name, method], error.loc[name, method]
        if np.isnan(value):
            return "–"
        text = "∞" if np.isinf(value) else number(value)
        text += "" if np.isnan(off) else f" ± {number(off)}"
        text = f"**{text}**" if best and value == lowest[name] else text
        count = counts.loc[name, method]
        return text if count == counts.loc[name].max() else f"{text} ({count:.0f})"

    lines = [
        [name, f"{counts.loc[name].max():.0f}", *(cell(name, m) for m in mean)]
        for name in mean.index
    ]
    return grid(["", "splits", *mean.columns], lines)


def _relative(table: pd.DataFrame, base: str) -> str:
    """Return ratios of the CRPS of each method to that of one, on shared splits."""
    names = [name for name in table["method"].unique() if name != base]
    wide = pd.DataFrame({name: against(table, name, base) for name in names}).sort_index()
    return grid(["", *names], [[n, *map(number, row)] for n, *row in wide.itertuples()])


def _published(found: Tables) -> Iterator[str]:
    """Yield the published figures beside those of the default here."""
    yield PUBLISHED_TEXT
    lines = []
    for own in PUBLISHED:
        table = found.get("large" if own.protocol == "large" else "scores")
        here = pd.Series(dtype=float)
        if table is not None:
            rows = table[(table["protocol"] == own.protocol) & (table["method"] == "auto")]
            here = rows.loc[rows["data"] == own.data, "crps"].dropna()
        figure = number(own.crps) + (
            "" if np.isnan(own.error) else f" ± {number(own.error)}"
        )
        trained = f"{own.trained:,}" if own.trained else "unknown"
        mean = number(here.mean()) if len(here) else "–"
        lines.append([own.data, own.method, trained, figure, f"[{own.source}]", mean])
    heads = ["", "method", "training rows", "published CRPS", "source", "*auto* here"]
    yield grid(heads, lines)
    yield "\n".join(f"* [{key}] {text}." for key, text in SOURCES.items())


def _origins(found: Tables) -> Iterator[str]:
    """Yield the settings, versions and revisions of all rows."""
    columns = ["method", "settings", "version", "revision"]
    parts = [t[columns] for name, t in found.items() if name not in {"earlier", "ablation"}]
    if not parts:
        return
    yield "## Settings and versions"
    whole = _ordered(pd.concat(parts).astype(object).fillna("").drop_duplicates())
    groups = whole.groupby(["method", "settings"], sort=False)
    lines = [
        [*key, ", ".join(sorted(own["version"].unique())), _listed(own["revision"])]
        for key, own in groups
    ]
    yield grid(["method", "settings", "version", "revision"], lines)


def _listed(values: pd.Series) -> str:
    return ", ".join(sorted(value for value in values.unique() if value)) or "–"


def _notes(table: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each kind of failure."""
    failed = table.dropna(subset="note")
    for (data, method, why), rows in failed.groupby(["data", "method", "note"], sort=False):
        yield f"{method} on {data}, {len(rows)} rows of the table: {why}."
