"""Figures and Markdown tables of the comparison."""

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.peers.dists import DRAWS
from benchmarks.peers.methods import METHODS, TOL
from experiments.markdown import grid, number

__all__ = ["draw", "markdown", "means"]

OURS = "JointDistribution", "DistributionRegressor"
TITLES = {
    "univariate": "Univariate distributions: CRPS",
    "joint": "Joint distributions of several columns: energy score",
    "event": "Tail events: logistic loss",
    "factor": "The low-rank step: relative trace error",
}
FIGURES = {"univariate": "univariate", "joint": "joint", "event": "events"}
SHAPES = "osD^v<>pXP*"  # markers that are easy to distinguish
WORST = 10.0  # relative scores are clipped here in figures
SAME = """\
All methods are fitted to the same rows{few}
and evaluated on the same test rows by the same scores; no fit sees test rows. Scores are means over
test rows and splits: a few outliers can dominate a mean, and differences of a few percent on a
single split are not established. A dash means not run, or failed. Memory is a lower bound; small
values mean little."""
FEW = ", or to a random subsample where marked †,"
VALIDATED = (
    "JointDistribution",
    "JointDistribution, projected",
    "DistributionRegressor",
    "ConditionalMeanEmbedding",
    "PolynomialJointDistribution",
    "JointClassifier",
    "KernelLogisticRegression",
    "Nystroem + ridge",
    "Nystroem + logistic",
    "LSCDE",
    "densratio",
    "KDE, cv_ml",
)
ABOUT = {  # by the beginnings of names
    "JointDistribution, projected": "the default, which projects each conditional "
    "distribution to a proper one; without *projected*, distributions are signed",
    "DistributionRegressor": "the average of kernel ridge regression and gradient boosting, "
    "with the distribution of their residuals",
    "JointDistribution": "scored by quantiles like all others, which is better than the CRPS of "
    "the signed distributions behind them. This package was developed while scores on splits of "
    "the UCI sets, including those on this page, were being monitored; that flatters it. "
    "`proper.md` has an evaluation on other splits",
    "quantile-forest": "200 trees with leaves of five rows",
    "NGBoost": "defaults",
    "xgboost-distribution": "at most 500 trees, early stopping on a tenth of its rows",
    "boosted quantiles": "20 levels, each a model of scikit-learn with defaults",
    "boosted classifier": "scikit-learn, early stopping, otherwise defaults",
    "random forest": "scikit-learn, 200 trees with leaves of five rows",
    "Nystroem": "grids were reduced to save time after single fits had been seen",
    "LSCDE": "least-squares conditional density estimation, implemented from its paper in "
    "`benchmarks/peers`",
    "densratio": "density ratio of the rows to permuted ones, as weights of the outcomes",
    "KDE, normal reference": "rule-of-thumb bandwidths of statsmodels, without validation",
    "marginal": "the marginal distribution of training outcomes, for every row",
}
INDEPENDENT = "univariate distributions, as if columns were independent given X"
PREDICTED = {
    "univariate": "the scored quantiles, 199 for each row or as many as a method has",
    "joint": f"the {DRAWS} scored draws from each distribution",
    "event": "the probability of the event for each row",
}
MORE = {
    "median": "Median score of the test rows",
    "coverage90": "Share of test rows in the central 90 % interval",
    "calibration": "Calibration error: mean distance of PIT shares from their levels",
    "brier": "Brier score",
    "fit_cpu": "CPU seconds to fit, including all validation",
    "predict_cpu": "CPU seconds to predict all test rows, that is to compute {predicted}",
    "memory_mb": "Peak memory above the data, MB",
}


def means(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the means over splits for one kind of task: methods in rows, sets in columns.

    Failures on any split, and methods that were not run, are NaN.

    Parameters
    ----------
    table : DataFrame
        The results of this kind.
    column : str
        The column to average.
    """
    cells = table.groupby(["method", "data"])[column].agg(lambda s: s.mean(skipna=False))
    wide = cells.unstack("data")  # noqa: PD010
    rows = table.groupby("data")["rows"].first().sort_values(kind="stable")
    return wide.loc[_by_mean_rank(table, wide.index), rows.index]


def _by_mean_rank(table: pd.DataFrame, methods: pd.Index) -> list[str]:
    """Return the methods of this package first, then the others by mean rank."""
    ranks = table.groupby("data")["score"].rank(pct=True)
    order = ranks.groupby(table["method"]).mean().sort_values()
    own = _family(table)
    return sorted(
        methods, key=lambda name: (name not in OURS, name not in own, order[name])
    )


def _family(table: pd.DataFrame) -> set[str]:
    """Return the methods of this package."""
    return set(table["method"][table["version"].str.startswith("jointdist ")])


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return a figure for each kind: relative scores, and CPU seconds to fit.

    Parameters
    ----------
    table : DataFrame
        The results.
    """
    kinds = (kind for kind in FIGURES if (table["kind"] == kind).any())
    marks = _marks(table["method"])
    return {
        FIGURES[kind]: _figure(table[table["kind"] == kind], kind, marks) for kind in kinds
    }


def _marks(methods: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return marker and colour of each method, the same in all figures."""
    listed = (name for own in METHODS.values() for name in own)
    names = dict.fromkeys([*listed, *methods])
    return {name: (SHAPES[i % len(SHAPES)], f"C{i % 10}") for i, name in enumerate(names)}


def _figure(table: pd.DataFrame, kind: str, marks: dict[str, tuple[str, str]]) -> Figure:
    scores, seconds = means(table, "score"), means(table, "fit_cpu")
    figure = Figure(figsize=(10, 1.6 + 0.45 * scores.shape[1]), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _dots(left, (scores / scores.min()).clip(upper=WORST), marks)
    _dots(right, seconds, marks)
    figure.suptitle(TITLES[kind])
    left.set(xscale="log", xlabel="score / best of the set")
    ticks = [1, 1.5, 2, 3, 5, WORST]
    left.set_xticks(ticks, [*map("{:g}".format, ticks[:-1]), f"≥ {WORST:g}"])
    left.minorticks_off()
    left.invert_yaxis()
    right.set(xscale="log", xlabel="CPU seconds to fit, including all validation")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right", fontsize="small", frameon=False)
    return figure


def _dots(ax: Axes, values: pd.DataFrame, marks: dict[str, tuple[str, str]]) -> None:
    """Draw a row of markers for each set, one for each method; ours are filled."""
    at = np.arange(values.shape[1])
    ax.set_yticks(at, values.columns)
    ax.hlines(at, *np.nanquantile(values, [0, 1]), color="0.9", zorder=0)
    for name, row in values.iterrows():
        ours, (marker, own) = name in OURS, marks[name]
        shape = {"marker": marker, "s": 55 if ours else 32}
        colour = {"facecolors": own if ours else "none", "edgecolors": own}
        ax.scatter(row, at, label=name, zorder=3 if ours else 2, **shape, **colour)


def markdown(table: pd.DataFrame) -> str:
    """Return the comparison as Markdown.

    Parameters
    ----------
    table : DataFrame
        The results.
    """
    kinds = [kind for kind in TITLES if (table["kind"] == kind).any()]
    parts = [part for kind in kinds for part in _parts(table[table["kind"] == kind], kind)]
    versions = ", ".join(sorted(table["version"].unique()))
    few = FEW if (table["train_rows"] < table["rows"]).any() else ""
    about = "\n".join(f"* {line}" for line in _about(list(table["method"].unique())))
    opening = [SAME.format(few=few), about] if about else [SAME.format(few=few)]
    return "\n\n".join([*opening, *parts, f"Versions: {versions}."]) + "\n"


def _about(methods: list[str]) -> Iterator[str]:
    """Yield a description of each method in the table."""
    found = [name for name in VALIDATED if name in methods]
    if found:
        yield f"{'; '.join(found)}: hyperparameters by validation on training rows."
    for start, text in ABOUT.items():
        if any(name.startswith(start) for name in methods):
            yield f"{start}: {text}."
    if any(name.endswith(", independent") for name in methods):
        yield f"independent: {INDEPENDENT}."


def _parts(table: pd.DataFrame, kind: str) -> Iterator[str]:
    """Yield the tables of one kind: scores first, then all other measurements."""
    scores = means(table, "score")
    few = means(table, "train_rows") < means(table, "rows")
    yield f"### {TITLES[kind]}"
    if kind == "factor":
        yield from _factors(table)
        return
    yield _grid(scores, few, sizes=_sizes(table), best=True)
    if few.to_numpy().any():
        yield "† fitted to a random subsample: " + _fewer(table) + "."
    for name in OURS:
        if name in scores.index:
            yield _standing(name, scores.drop(index=_family(table) - {name}))
    for name in table.get("note", pd.Series(dtype=object)).dropna().unique():
        yield f"Failed: {name}"
    for column, title in MORE.items():
        if column in table and table[column].notna().any():
            yield f"{title.format(predicted=PREDICTED[kind])}:"
            yield _grid(means(table, column), few)


def _factors(table: pd.DataFrame) -> Iterator[str]:
    """Yield a table for each set of the low-rank step."""
    columns = {"score": "trace error", "rank": "rank", "fit_cpu": "CPU seconds"}
    for _, own in table.groupby("data", sort=False):
        values = own.groupby("method")[list(columns)].mean().rename(columns=columns)
        yield f"Normal data of {own['rows'].iloc[0]:,} rows, tolerance {number(TOL)}:"
        yield _grid(values, values.isna())


def _grid(
    values: pd.DataFrame,
    few: pd.DataFrame,
    *,
    sizes: list[str] | None = None,
    best: bool = False,
) -> str:
    """Return a table of numbers, optionally with the lowest of each column in bold."""
    lowest = values == values.min()

    def cell(name: str, data: str) -> str:
        text = number(values.loc[name, data])
        text = f"**{text}**" if best and lowest.loc[name, data] else text
        return text + " †" * bool(few.loc[name, data])

    lines = [["*rows, splits*", *sizes]] if sizes else []
    lines += [[name, *(cell(name, data) for data in values)] for name in values.index]
    return grid(["", *values.columns], lines)


def _sizes(table: pd.DataFrame) -> list[str]:
    sets = table.groupby("data").agg({"rows": "first", "split": "nunique"})
    sets = sets.sort_values("rows", kind="stable")
    return [f"{rows:,.0f}, {splits}" for rows, splits in sets.itertuples(index=False)]


def _fewer(table: pd.DataFrame) -> str:
    few = table[table["train_rows"] < table["rows"]]
    sizes = few.groupby("method")["train_rows"].first()
    return ", ".join(f"{name} {rows:,.0f}" for name, rows in sizes.items())


def _standing(name: str, scores: pd.DataFrame) -> str:
    """Return the score ratios of one of our methods to the best of other packages."""
    others = scores.drop(index=name)
    ratio = (scores.loc[name] / others.min()).dropna().sort_values()
    ratios = (
        f"{data} {value:.2f} ({others[data].idxmin()})" for data, value in ratio.items()
    )
    won = int((ratio < 1).sum())
    return (
        f"Ratio of {name} to the best method of other packages (in brackets): "
        f"{', '.join(ratios)}. It is ahead on {won} of {len(ratio)} sets."
    )
