"""Tables of results in Markdown."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd

from experiments.protocol import Family

__all__ = [
    "by_model",
    "by_size",
    "edges",
    "grid",
    "growth",
    "largest",
    "number",
    "series",
    "spread",
]


def number(value: float) -> str:
    """Format a number with three significant digits; NaN is a dash."""
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
    """Return a Markdown table.

    Parameters
    ----------
    heads : sequence of str
        The names of the columns.
    lines : sequence of sequences of str
        The rows.
    """
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def by_model(table: pd.DataFrame, column: str, how: str = "mean") -> pd.DataFrame:
    """Aggregate a column over runs, by sample size (rows) and model (columns).

    Parameters
    ----------
    table : DataFrame
        The results.
    column : str
        The column to aggregate.
    how : str, default="mean"
        The aggregation over runs.
    """
    return table.pivot_table(index="n", columns="model", values=column, aggfunc=how)


def growth(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the ratio of means at successive sample sizes, over the seeds they share.

    Parameters
    ----------
    table : DataFrame
        The results.
    column : str
        The column to average.
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
    """Format values by sample size, separated by commas."""
    return ", ".join(f"{number(v)} (n = {n:,})" for n, v in values.dropna().items())


def largest(table: pd.DataFrame) -> str:
    """Format the largest sample size by number of columns."""
    sizes = table.groupby("d")["n"].max()
    return ", ".join(f"{n:,} (d = {d})" for d, n in sizes.items())


def by_size(
    table: pd.DataFrame,
    column: str,
    names: Sequence[str],
    *,
    by: Sequence[str] = ("n", "tol"),
) -> str:
    """Return a table of models by sample size: means with quantiles in brackets.

    Means exclude runs in which a model had no feasible candidate; the cell then states the
    number of runs that count. Models that are not in the table are omitted.

    Parameters
    ----------
    table : DataFrame
        The results.
    column : str
        The column to show.
    names : sequence of str
        The models.
    by : sequence of str, default=("n", "tol")
        The settings that identify a line; those not in the table are ignored.
    """
    keys = [key for key in by if key in table]
    names = [name for name in names if (table["model"] == name).any()]
    heads = [*({"tol": "tolerance"}.get(key, key) for key in keys), "runs", *names]
    lines = []
    for key, rows in table.groupby(keys):
        labels = map(_label, key if isinstance(key, tuple) else (key,))
        runs = rows["seed"].nunique()
        cells = [_cell(rows.loc[rows["model"] == name, column], runs) for name in names]
        lines.append([*labels, f"{runs}", *cells])
    return grid(heads, lines)


def edges(table: pd.DataFrame, families: Sequence[Family]) -> str:
    """Return the candidate hyperparameters, and how often the extremes are selected.

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
    return grid(["model", "length scale of X", "length scale of Y", "ridge"], lines)


def _edge(chosen: pd.Series, values: Sequence[float]) -> str:
    """Return the range of candidates, and the shares of selections at its ends."""
    low, high = min(values), max(values)
    if low == high:
        return "–"
    candidates = f"{number(low)} to {number(high)}, {len(values)} values"
    ends = [float(np.isclose(chosen, end, rtol=1e-4, atol=0).mean()) for end in (low, high)]
    return f"{candidates}: {ends[0]:.0%} lowest, {ends[1]:.0%} highest"


def _label(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if value >= 1 else number(value)


def _cell(values: pd.Series, runs: int) -> str:
    finite = values.dropna()
    if finite.empty:
        return "–"
    some = f", {len(finite)} run{'s' if len(finite) > 1 else ''}"
    fewer = some if len(finite) < runs else ""
    return spread(finite) + fewer


def spread(values: pd.Series) -> str:
    """Format the mean of numbers, with their 5 % and 95 % quantiles if they differ.

    Parameters
    ----------
    values : Series
        The numbers.
    """
    mean = number(values.mean())
    if values.min() == values.max():
        return mean
    low, high = values.quantile([0.05, 0.95])
    return f"{mean} ({number(low)}, {number(high)})"
