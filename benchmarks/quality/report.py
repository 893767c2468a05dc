"""The page of the exam, made from its tables alone."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.quality.claims import Tables, claims
from benchmarks.quality.section import mean_and_error
from experiments.markdown import grid, number
from experiments.pages import made

__all__ = ["page"]

INTRODUCTION = """\
# Valid laws, examined

Laws that are valid by construction, with no negative weight and of mass one, beside signed ones and
other packages. `python -m benchmarks.quality` makes the tables in `tables/proper-*.csv` and this
page. Means over splits are followed by their standard errors; splits share rows, so that these are
somewhat too small. Defaults of this package were settled on other splits than those here. Sections
were run one after the other while the code went on: laws of one column and days of large losses
before the ridge of moments of several columns was changed, which they do not have, and before
laws of `DistributionRegressor` became wider far from the data."""

UCI = """\
## Laws of one column: the UCI sets

Published splits, nine tenths of the rows to fit to. All methods of a split run in one process, one
after the other, on one thread. CRPS, exact for every law: *quantile-forest* (200 trees, at least 5
rows a leaf) is the weighted sample of training outcomes behind its quantiles, *NGBoost* (defaults)
a normal law in closed form, ours a weight on each atom. *kernel* and *auto* are
`DistributionRegressor` with that `regressor`, *projected* and *isotonic* `JointDistribution` with
that `positivity`; *conformal* is the same estimator in `ConformalCalibration`, which keeps a fifth
of the rows to calibrate."""

GAUSSIAN = """\
## Second moments of normal data

d = 3 + 3 and 10,000 rows, random correlation matrices as in the study *gaussian*: 4/5 of the rows
to fit to, scales and ridge by the loss of the signed law on 1/5. The first four laws differ in how
they are made valid, and in nothing else: *clipped* sets negative weights to zero, *grid* is
positive on the grid of 2,000 rows. Models with *defaults* choose all by themselves. Second-moment
loss, Eq. `eq:secmomloss`. Matrices 17 to 26: on 7 to 16 projected laws had 2.05 times the loss of
signed ones, because of two matrices of strong dependence; then the ridge of moments of several
columns was changed. These were run twice: with a ridge that still depended on the origin of Y the
ratio was 1.035."""

FRENCH = """\
## Days of large losses

The task of the study *famafrench* with 20,000 days: 4/5 to fit to, scales and ridge by the loss on
1/5, 5,000 test days. *signed* and *projected* are `JointDistribution` with exact marginals,
*boosting* is `HistGradientBoostingClassifier`, fitted to all 20,000 days, of which it keeps some to
stop early. Logistic loss, Eq. `eq:logisticloss`."""

VECTOR = """\
## Laws of several columns

Energy scores of 256 draws from each law, without bias, with distances in standard deviations of the
training rows. *naval, both* has the two outcomes of that set, *waves* three simulated ones whose
means are not linear and whose correlations depend on X, also in sign, with 5,000 rows; *truth* is
the true law. *Independent* forests are one for each column, whose draws are independent given X;
*quantile-forest* draws rows from leaves that all columns share."""


def page(tables: Tables) -> str:
    """Return the page in Markdown; sections without a table are left out.

    Parameters
    ----------
    tables : mapping
        The tables of sections, by the names of these.
    """
    sections = {
        "proper-uci": _uci,
        "proper-gaussian": _gaussian,
        "proper-famafrench": _french,
        "proper-vector": _vector,
    }
    parts = [INTRODUCTION, grid(["claim", "here", "numbers"], list(claims(tables)))]
    for name, section in sections.items():
        if name in tables:
            parts += [*section(tables[name]), *_notes(tables[name]), made(tables[name])]
    return "\n\n".join(parts) + "\n"


def _uci(table: pd.DataFrame) -> Iterator[str]:
    yield UCI
    yield _told(table, "crps", best=True)
    yield "Share of test rows in the central 90 % interval:"
    yield _told(table, "coverage", total=True)
    yield "Mean width of these intervals:"
    yield _told(table, "width")
    yield "Processor seconds to fit, with all validation:"
    yield _told(table, "fit_seconds")
    yield "Processor seconds for the laws and the intervals of all test rows:"
    yield _told(table, "predict_seconds")


def _gaussian(table: pd.DataFrame) -> Iterator[str]:
    yield GAUSSIAN
    yield _told(table, "loss", best=True)
    yield "Negative weight, as a share of all weight taken as positive:"
    yield _told(table, "negative_share")
    yield "Largest error of the mass of a law:"
    yield _told(table, "mass_error")


def _french(table: pd.DataFrame) -> Iterator[str]:
    yield FRENCH
    yield _told(table, "loss", best=True)
    yield "Share of negative probabilities:"
    yield _told(table, "negative_share")


def _vector(table: pd.DataFrame) -> Iterator[str]:
    yield VECTOR
    yield _told(table, "energy")
    yield "Processor seconds to fit, with all validation:"
    yield _told(table, "fit_seconds")


def _told(
    table: pd.DataFrame, column: str, *, best: bool = False, total: bool = False
) -> str:
    """Return means and standard errors: sets in lines, methods in columns.

    The best of a line may stand in bold, and the mean of all sets below.
    """
    mean, error = mean_and_error(table, column)
    splits = table.groupby("data")["split"].nunique()

    def cell(name: str, method: str) -> str:
        value, off = mean.loc[name, method], error.loc[name, method]
        told = "∞" if np.isinf(value) else number(value)
        told += "" if np.isnan(off) else f" ± {number(off)}"
        return f"**{told}**" if best and value == mean.loc[name].min() else told

    lines = [
        [name, f"{splits[name]}", *(cell(name, m) for m in mean)] for name in mean.index
    ]
    if total:
        lines.append(["mean", "", *(number(value) for value in mean.mean(skipna=False))])
    return grid(["", "splits", *mean.columns], lines)


def _notes(table: pd.DataFrame) -> Iterator[str]:
    """Yield what failed."""
    if "note" in table:
        failed = table.dropna(subset="note")
        for name, method, why in zip(
            failed["data"], failed["method"], failed["note"], strict=True
        ):
            yield f"Failed: {method} on {name}: {why}"
