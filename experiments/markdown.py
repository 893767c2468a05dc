"""Tables of results in Markdown."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from experiments.protocol import Family

__all__ = ["by_model", "by_size", "edges", "grid", "growth", "number", "series"]


def number(value: float) -> str:
    """Return a number with three digits; a dash if there is none."""
    if np.isnan(value):
        return "–"
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e5:
        digits, power = f"{value:.1e}".split("e")
        return f"{digits}·10{_raised(int(power))}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def grid(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table of words.

    Parameters
    ----------
    heads : sequence of str
        The names of the columns.
    lines : sequence of sequences of str
        The rows.
    """
    every = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def by_model(table: pd.DataFrame, column: str, how: str = "mean") -> pd.DataFrame:
    """Return a column by the number of rows, one column for each model.

    Parameters
    ----------
    table : DataFrame
        The results.
    column : str
        What is asked.
    how : str, default="mean"
        What is made of the runs.
    """
    return table.pivot_table(index="n", columns="model", values=column, aggfunc=how)


def growth(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return means over those of the size before, by the seeds that both sizes have.

    Parameters
    ----------
    table : DataFrame
        The results.
    column : str
        What is asked.
    """
    sizes = dict(iter(table.groupby("n")))
    ratios = {}
    for less, more in pairwise(sizes):
        common = set(sizes[less]["seed"]) & set(sizes[more]["seed"])
        low, high = (
            rows[rows["seed"].isin(common)].groupby("model")[column].mean()
            for rows in (sizes[less], sizes[more])
        )
        ratios[more] = high / low
    return pd.DataFrame(ratios, index=sorted(table["model"].unique())).T


def series(values: pd.Series) -> str:
    """Return values by the number of rows, in words."""
    return ", ".join(f"{number(v)} (n = {n:,})" for n, v in values.dropna().items())


def by_size(
    table: pd.DataFrame,
    column: str,
    names: Sequence[str],
    *,
    by: Sequence[str] = ("n", "tol"),
) -> str:
    """Return a table of models by the number of rows: means, and quantiles in brackets.

    Runs in which no candidate of a model was valid are not in its mean: then there is the
    number of those that are. Models that are nowhere in the table are left out.

    Parameters
    ----------
    table : DataFrame
        The results.
    column : str
        What is told.
    names : sequence of str
        The models.
    by : sequence of str, default=("n", "tol")
        The settings that tell lines apart, those of them that the table has.
    """
    keys = [key for key in by if key in table]
    names = [name for name in names if (table["model"] == name).any()]
    heads = [*({"tol": "tolerance"}.get(key, key) for key in keys), "runs", *names]
    lines = []
    for key, rows in table.groupby(keys):
        words = map(_word, key if isinstance(key, tuple) else (key,))
        runs = rows["seed"].nunique()
        cells = [_cell(rows.loc[rows["model"] == name, column], runs) for name in names]
        lines.append([*words, f"{runs}", *cells])
    return grid(heads, lines)


def edges(table: pd.DataFrame, families: Sequence[Family]) -> str:
    """Return what models choose from, and how often they choose an end of it.

    Parameters
    ----------
    table : DataFrame
        The results.
    families : sequence of Family
        The models.
    """
    lines = []
    for family in families:
        for name, variant in family.variants.items():
            runs = table[table["model"] == name]
            ranges = family.scales_x, family.scales_y, variant.ridges
            chosen = ("scale_x", "scale_y", "ridge")
            cells = [
                _edge(runs[column].dropna(), values)
                for column, values in zip(chosen, ranges, strict=True)
            ]
            lines.append([name, *cells])
    return grid(["model", "scale of X", "scale of Y", "ridge"], lines)


def _edge(chosen: pd.Series, values: Sequence[float]) -> str:
    """Return a range, and the shares of choices at its ends."""
    low, high = min(values), max(values)
    if low == high:
        return "–"
    told = f"{number(low)} to {number(high)}, {len(values)} values"
    ends = [float(np.isclose(chosen, end, rtol=1e-4, atol=0).mean()) for end in (low, high)]
    return f"{told}: {ends[0]:.0%} lowest, {ends[1]:.0%} highest"


def _word(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1 else number(value)


def _cell(values: pd.Series, runs: int) -> str:
    known = values.dropna()
    if known.empty:
        return "–"
    some = f", {len(known)} runs" if len(known) < runs else ""
    told = number(known.mean())
    if known.min() == known.max():
        return told + some
    low, high = known.quantile([0.05, 0.95])
    return f"{told} ({number(low)}, {number(high)}){some}"
