"""What the table says: pictures, and tables for a page."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["draw", "markdown", "means"]

OURS = "JointDistribution"
TITLES = {
    "law": "Laws of one column: CRPS",
    "joint": "Joint laws of several columns: energy score",
    "event": "Rare events: logistic loss",
    "factor": "The low-rank step: relative trace error",
}
FIGURES = {"law": "laws", "joint": "joint-laws", "event": "events"}
WORST = 10.0  # of relative scores that are drawn where they are
INTRODUCTION = """\
All methods see the same rows and are judged on the same others, by the same functions; none was
tuned on test rows. `JointDistribution`, `ConditionalMeanEmbedding`, `KernelLogisticRegression`,
Nystroem and LSCDE choose their parameters by validation on the rows they are fitted to; quantile
forests have 200 trees with leaves of five rows, xgboost-distribution at most 500 trees and stops
early on a part of its rows; NGBoost and boosted quantiles (scikit-learn) are as by default. LSCDE,
least-squares conditional density estimation, is written after its paper in `benchmarks/peers`.
Scores are means over test rows and splits: few rows that are far off can ruin one, and differences
of a few percent on a set of one split are not established. Ours are scored by their quantiles like
all others, which is better than the signed laws behind them. The grids of Nystroem were cut for
time after single fits had been seen. Memory is a lower bound: small values mean little."""
MORE = {
    "median": "Median score of the test rows",
    "coverage90": "Share of test rows in the central 90 % interval",
    "calibration": "Calibration error: mean distance of PIT shares from their levels",
    "brier": "Brier score",
    "fit_cpu": "CPU seconds to fit, with all validation",
    "predict_cpu": "CPU seconds to predict all test rows",
    "memory_mb": "Peak memory above the data, MB",
}


def means(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the means over splits of one kind of task: methods in rows, sets in columns.

    Both are in the order of work. What failed on one split is NaN; so is what was not run.

    Parameters
    ----------
    table : DataFrame
        The rows of the kind.
    column : str
        What is averaged.
    """
    cells = table.groupby(["method", "data"])[column].agg(lambda s: s.mean(skipna=False))
    wide = cells.unstack("data")  # noqa: PD010
    rows = table.groupby("data")["rows"].first().sort_values(kind="stable")
    return wide.loc[_by_mean_rank(table, wide.index), rows.index]


def _by_mean_rank(table: pd.DataFrame, methods: pd.Index) -> list[str]:
    """Return the methods: ours first, then others by their mean rank of the score."""
    ranks = table.groupby("data")["score"].rank(pct=True)
    order = ranks.groupby(table["method"]).mean().sort_values()
    own = _family(table)
    return sorted(methods, key=lambda name: (name != OURS, name not in own, order[name]))


def _family(table: pd.DataFrame) -> set[str]:
    """Return the methods of this package."""
    return set(table["method"][table["version"].str.startswith("jointdist ")])


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return a figure for each kind: scores over the best of a set, and CPU seconds to fit.

    Parameters
    ----------
    table : DataFrame
        The results.
    """
    kinds = (kind for kind in FIGURES if (table["kind"] == kind).any())
    return {FIGURES[kind]: _figure(table[table["kind"] == kind], kind) for kind in kinds}


def _figure(table: pd.DataFrame, kind: str) -> Figure:
    scores, seconds = means(table, "score"), means(table, "fit_cpu")
    figure = Figure(figsize=(10, 1.6 + 0.45 * scores.shape[1]), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _dots(left, (scores / scores.min()).clip(upper=WORST))
    _dots(right, seconds)
    left.set(title=TITLES[kind], xscale="log", xlabel="score / best of the set")
    ticks = [1, 1.5, 2, 3, 5, WORST]
    left.set_xticks(ticks, [*map("{:g}".format, ticks[:-1]), f"{WORST:g} or more"])
    left.minorticks_off()
    left.invert_yaxis()
    right.set(title="Fit, with all validation", xscale="log", xlabel="CPU seconds")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right", fontsize="small", frameon=False)
    return figure


def _dots(ax: Axes, values: pd.DataFrame) -> None:
    """Draw a line of dots for each set, a mark for each method; ours are filled."""
    at = np.arange(values.shape[1])
    ax.set_yticks(at, values.columns)
    ax.hlines(at, *np.nanquantile(values, [0, 1]), color="0.9", zorder=0)
    for i, (name, row) in enumerate(values.iterrows()):
        ours = name == OURS
        shape = {"marker": "osD^v<>phXP*d"[i % 13], "s": 55 if ours else 32}
        colour = {"facecolors": "C0" if ours else "none", "edgecolors": f"C{i % 10}"}
        ax.scatter(row, at, label=name, zorder=3 if ours else 2, **shape, **colour)


def markdown(table: pd.DataFrame) -> str:
    """Return the tables of a page.

    Parameters
    ----------
    table : DataFrame
        The results.
    """
    kinds = [kind for kind in TITLES if (table["kind"] == kind).any()]
    parts = [part for kind in kinds for part in _parts(table[table["kind"] == kind], kind)]
    versions = ", ".join(sorted(table["version"].unique()))
    return "\n\n".join([INTRODUCTION, *parts, f"Versions: {versions}."]) + "\n"


def _parts(table: pd.DataFrame, kind: str) -> Iterator[str]:
    """Yield the tables of a kind: scores first, then all else that was measured."""
    scores = means(table, "score")
    few = means(table, "train_rows") < means(table, "rows")
    yield f"### {TITLES[kind]}"
    if kind == "factor":
        columns = {"score": "trace error", "rank": "rank", "fit_cpu": "CPU seconds"}
        one = table.set_index("method")[list(columns)].rename(columns=columns)
        yield _grid(one, one.isna(), sizes=[f"{table['rows'].iloc[0]:,} rows", "", ""])
        return
    yield _grid(scores, few, sizes=_sizes(table), best=True)
    if few.to_numpy().any():
        yield "† fitted to a random choice of fewer rows: " + _fewer(table) + "."
    if OURS in scores.index:
        yield _standing(scores.drop(index=_family(table) - {OURS}))
    for name in table.get("note", pd.Series(dtype=object)).dropna().unique():
        yield f"Failed: {name}"
    for column, title in MORE.items():
        if column in table and table[column].notna().any():
            yield f"{title}:"
            yield _grid(means(table, column), few)


def _grid(
    values: pd.DataFrame,
    few: pd.DataFrame,
    *,
    sizes: list[str] | None = None,
    best: bool = False,
) -> str:
    """Return a table of numbers; the lowest of each column may stand in bold."""
    lowest = values == values.min()

    def cell(name: str, data: str) -> str:
        value = values.loc[name, data]
        told = "–" if np.isnan(value) else f"{value:.3g}"
        told = f"**{told}**" if best and lowest.loc[name, data] else told
        return told + " †" * bool(few.loc[name, data])

    lines = [["", *values.columns], ["---"] * (1 + values.shape[1])]
    lines += [["*rows, splits*", *sizes]] if sizes else []
    lines += [[name, *(cell(name, data) for data in values)] for name in values.index]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _sizes(table: pd.DataFrame) -> list[str]:
    sets = table.groupby("data").agg({"rows": "first", "split": "nunique"})
    sets = sets.sort_values("rows", kind="stable")
    return [f"{rows:,.0f}, {splits}" for rows, splits in sets.itertuples(index=False)]


def _fewer(table: pd.DataFrame) -> str:
    few = table[table["train_rows"] < table["rows"]]
    sizes = few.groupby("method")["train_rows"].first()
    return ", ".join(f"{name} {rows:,.0f}" for name, rows in sizes.items())


def _standing(scores: pd.DataFrame) -> str:
    """Say where ours is best, and how far behind it is elsewhere."""
    others = scores.drop(index=OURS)
    ratio = (scores.loc[OURS] / others.min()).sort_values()
    told = (
        f"{data} {value:.2f} ({others[data].idxmin()})" for data, value in ratio.items()
    )
    won = int((ratio < 1).sum())
    return (
        f"{OURS} over the best method of other packages, which is named: "
        f"{', '.join(told)}. It is ahead on {won} of {len(ratio)} sets."
    )
