"""Normal data, d + d columns: figures covarloss, covardev and covarpos of the paper.

Random correlation matrices with n rows each, and all models with and without constraints.
Pivots are those of the paper's algorithm with its tolerances; with d = 3, from 10⁵ rows on, also
the default pivots, with these tolerances and with 10⁻³. Exponential models are fitted to some of
the same samples.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.claims import Claim
from experiments.drawing import Panel, lines
from experiments.gaussian_claims import across, claims_of
from experiments.likelihood import EXPONENTIAL, beside, most_likely, shared
from experiments.markdown import by_size, edges, largest, number, series
from experiments.moments import Data, Scales, cme, compared, jdl, jpdl
from experiments.protocol import Family
from experiments.store import Row, Settings
from experiments.study import Study, presets_by_size
from jointdist.datasets import NormalPair

__all__ = [
    "AUTO",
    "CONSTRAINED",
    "FREE",
    "GREEDY",
    "LARGE",
    "LINEAR",
    "PAPER",
    "PROJECTED",
    "STUDY",
    "TOL",
    "D",
    "how",
    "with_columns",
]

D = 3  # columns of X and of Y in the paper's other figures; candidates are given for these
COLUMNS = (1, 2, D)
SCALES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
SCALES_JDL = SCALES, (2.0, 4.0)
SCALES_CME = SCALES, (1.0, 1.5, 3.0)
TOL = 1e-3
PAPER = {10**6: 1e-2, 10**7: 1e-1}  # tolerances of the paper by n; otherwise TOL
GREEDY, AUTO = "greedy", "auto"  # pivots of the paper's algorithm, and default pivots
LARGE = 10**5  # from this number of rows on, both kinds of pivots are run
RANK = 2000  # the largest rank; with a limit, small samples observe tolerances, too
FREE = ("JDL", "JDL exact", "JPDL", "CME")
CONSTRAINED = ("JDL tightened", "JPDL sos", "CME average")
PROJECTED = ("JDL projected", "JPDL projected", "CME projected")
NAMES = FREE + CONSTRAINED + PROJECTED
LINEAR = "linear"  # models whose ratio is linear in the coefficients
PROJECTED_ROWS = 1000  # most rows with which projected models are run, d = 3: a time budget
SUPPORT = 65_536  # most rows that estimators keep by default
TOL_LIKELY = 1e-5  # tolerance of the functions of X that maximum likelihood has by default
# The most runs of exponential models for samples of at most so many rows: a time budget.
RUNS_LIKELY = {1000: 20, 10**4: 8, 10**5: 1}
KEYS = ("d", "n", "tol", "pivots")
GROUPS = {"unconstrained": FREE, "constrained": CONSTRAINED, "projected": PROJECTED}
BESIDE = ("JDL exact", "JPDL", "CME", "JDL tightened", "JPDL sos")
LOSS, ERROR = "second-moment loss", "worst normalisation error"
SHARE = "share of indefinite matrices"


def settings(runs: int, sizes: Sequence[int], tests: int = 5000) -> Iterator[Settings]:
    """Yield the settings of all runs, small samples first."""
    for n, d in product(sizes, COLUMNS):
        paper = PAPER.get(n, TOL)
        ways = [(paper, GREEDY)]
        if n >= LARGE and d == D:
            ways += [(tol, AUTO) for tol in sorted({paper, TOL}, reverse=True)]
        likely = next((most for size, most in RUNS_LIKELY.items() if n <= size), 0)
        kinds = [(*way, LINEAR, runs) for way in ways]
        kinds += [(TOL_LIKELY, AUTO, EXPONENTIAL, min(runs, likely))]
        for tol, pivots, models, count in kinds:
            for seed in range(count):
                way = {"tol": tol, "pivots": pivots, "tests": tests}
                yield {"d": d, "n": n, **way, "seed": seed, "models": models}


def how(tol: float, pivots: str) -> dict[str, Any]:
    """Return the arguments of the low-rank factorisation."""
    return {"tol": tol, "pivoting": pivots, "max_rank": RANK}


def with_columns(scales: Scales, d: int) -> Scales:
    """Return length scales for d columns: distances grow with the root of d.

    Parameters
    ----------
    scales : pair of sequences of float
        Those of X and Y for d = 3.
    d : int
        The number of columns of X and of Y.
    """
    factor = float(np.sqrt(d / D))
    of_x, of_y = (tuple(factor * scale for scale in side) for side in scales)
    return of_x, of_y


def compute(one: Settings) -> list[Row]:
    """Return the scores of models on one sample."""
    d, n, seed = int(one["d"]), int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    data = Data.drawn(NormalPair.random(d, random_state=seed), n, int(one["tests"]), rng)
    kernels = how(float(one["tol"]), str(one["pivots"]))
    if one["models"] == EXPONENTIAL:
        return [most_likely(data, **kernels)]
    few = d == D and n <= PROJECTED_ROWS
    families = _families(d, NAMES if few else FREE + CONSTRAINED, **kernels)
    if one["pivots"] != GREEDY:
        families = families[:-1]  # polynomials have neither pivots nor a tolerance
    return list(compared(families, data))


def _families(d: int, names: Sequence[str] = NAMES, **kernels: Any) -> list[Family]:
    """Return all models whose ratio is linear."""
    joint = jdl(with_columns(SCALES_JDL, d), names, **kernels)
    return [joint, cme(with_columns(SCALES_CME, d), names, **kernels), jpdl(names)]


def _paper(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the tolerances and the pivots of the paper."""
    return table[(table["pivots"] == GREEDY) & (table["models"] == LINEAR)]


def _own(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with one tolerance for all sizes, and default pivots for large ones.

    Polynomials have no pivots; their rows are included.
    """
    table = table[table["models"] == LINEAR]
    pivots = np.where(table["n"] < LARGE, GREEDY, AUTO)
    kernels = (table["tol"] == TOL) & (table["pivots"] == pivots)
    return table[kernels | table["model"].str.startswith("JPDL")]


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return losses and errors against the number of rows, for each number of columns."""
    found = {}
    for d, part in table.groupby("d"):
        paper, own = _paper(part), _own(part)
        found[f"loss-d{d}"] = _figure(paper, "loss", LOSS)
        found[f"normalization-d{d}"] = _figure(paper, "normalization_error", ERROR)
        if paper["indefinite_share"].any():
            found[f"indefinite-d{d}"] = _figure(paper, "indefinite_share", SHARE, log=False)
        if (own["pivots"] == AUTO).any():
            more = ", default pivots, 0.001"
            found[f"loss-default-pivots-d{d}"] = _figure(own, "loss", LOSS, more=more)
    both = shared(table, _paper(table), BESIDE)
    if len(both):
        names = [name for name in (EXPONENTIAL, *BESIDE) if name not in CONSTRAINED]
        panels = [Panel(f"d = {d}", part, names) for d, part in both.groupby("d")]
        found["exponential"] = lines(panels, "n", "loss", LOSS, log=True)
    return found


def _figure(
    part: pd.DataFrame, column: str, label: str, *, log: bool = True, more: str = ""
) -> Figure:
    """Return a panel for each group of models that were run with several sizes."""
    sizes = part.groupby("model")["n"].nunique()
    panels = [
        Panel(f"d = {part['d'].iloc[0]}, {title}{more}", part, names)
        for title, names in GROUPS.items()
        if sizes.reindex(names).max() >= min(part["n"].nunique(), 2)  # a line
    ]
    return lines(panels, "n", column, label, log=log)


def report(table: pd.DataFrame) -> str:
    """Return losses and errors in tables."""
    error, share = "normalization_error", "indefinite_share"
    linear = table[table["models"] == LINEAR]
    return f"""\
Second-moment loss, Eq. `eq:secmomloss`, with d columns of X and d of Y: means over correlation
matrices, with 5 % and 95 % quantiles. *JDL* has free marginals and *JDL exact* those of the sample;
*JDL tightened* has the paper's constraints `eq:normatilde` and `eq:tightening`; *JPDL sos* is a sum
of squares; *CME average* has both constraints on average. *Projected* models project each
conditional distribution of *JDL exact*, *JPDL* and *CME* to a proper one, with the same length
scales and ridge, for d = 3 and n = 1,000; for n = 10,000 see [proper distributions](proper.md).

{by_size(linear, "loss", NAMES, by=KEYS)}

{_projected(linear)}

{_exponential(table)}

Largest normalisation error of 5,000 conditional distributions:

{by_size(linear, error, NAMES, by=KEYS)}

With d = 1 and 2, models of more than {SUPPORT:,} rows keep sums in place of rows, the default:
errors of JDL and JPDL are then zero or rounding. Zeros are drawn at 10⁻¹⁷.

Share of second-moment matrices that are not positive semidefinite:

{by_size(linear, share, NAMES, by=KEYS)}

Candidate hyperparameters, and how often the lowest or the highest candidate is selected:

{_edges(linear)}

The matrix logarithms of the correlation matrices have independent standard normal entries off the
diagonal. Models are fitted to 4/5 of the rows. The loss on the other 1/5, at most 5,000 rows,
selects the length scales, that of X before that of Y, and the ridge. Candidates of length scales
are those of d = 3 times the root of d / 3, as distances grow with the root of d. The column *runs*
counts correlation matrices, the first ones at each d and n: fewer with d = 1 and 2 and at the
largest sizes, a time budget, so that means compare models, not sizes or numbers of columns. The
largest samples have {largest(linear)} rows. Ranks are at most {RANK:,}.
*Greedy* pivots are those of the paper's algorithm. *Auto* pivots are those of the default rule,
which needs fewer for the same trace error; they are run with d = 3. Equal trace error does not mean
equal accuracy: greedy pivots spread over the tails, where second moments are large.

Where models select the end of a grid, wider grids change little. In trials with d = 3 that the
tables do not include, on the first 3 to 12 matrices with n = 1,000 and 10,000, half the length
scale of Y changed mean losses of JDL and CME by about 1 % at ten times the cost, and sums of
squares never selected ridges above 1. At n = 100,000, half the length scale changed losses of JDL
on the first three matrices by −18, +0.6 and −0.7 %: there JDL and CME are too close to rank with
certainty."""


def _edges(linear: pd.DataFrame) -> str:
    """Return the candidates for each number of columns."""
    tables = [
        f"d = {d}:\n\n{edges(part, _families(int(d)))}" for d, part in linear.groupby("d")
    ]
    return "\n\n".join(tables)


def _exponential(table: pd.DataFrame) -> str:
    """Compare exponential models with others on the same samples."""
    both = shared(table, _paper(table), BESIDE)
    if both.empty:
        return ""
    own = both[both["model"] == EXPONENTIAL]
    return f"""\
Second-moment loss of *exponential* models ([maximum likelihood](../likelihood.md)), and of others
on the same samples; their other losses above are means over all matrices:

{beside(both, BESIDE)}

Exponential models are proper: their largest normalisation error is
{number(own["normalization_error"].max())}, and the share of indefinite matrices
{number(own["indefinite_share"].max())}. They are fitted to the same 4/5 of the rows and select by
themselves the kernel of X, functions of Y and ridge, by the energy score in cross-validation, as
`JointDistribution(positivity="exponential")` does by default. So they see neither the rows for
validation nor the true moments there, but may have a length scale for each column of X. Functions
of X have tolerance 10⁻⁵, the default, default pivots and ranks of at most {RANK:,}. CPU seconds to
fit include the selection. A time budget limits their matrices; the largest samples have
{largest(own)} rows."""


def _projected(table: pd.DataFrame) -> str:
    """Compare losses of projected and signed distributions in the same runs."""
    loss = table.pivot_table(index=list(STUDY.keys), columns="model", values="loss")
    ratios = []
    for name, signed in zip(PROJECTED, ("JDL exact", "JPDL", "CME"), strict=True):
        if name in loss:
            both = loss[[name, signed]].dropna()
            mean = both.groupby("n").mean()
            better = (both[name] < both[signed]).groupby("n").mean()
            ratios.append(
                f"{name} over {signed} {series(mean[name] / mean[signed])}; share of runs in "
                f"which it is lower {series(better)}"
            )
    if not ratios:
        return ""
    return f"Mean loss of projected over that of signed distributions. {'. '.join(ratios)}."


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about normal data."""
    paper, own, found = _paper(table), _own(table), []
    for d in sorted(paper["d"].unique(), reverse=True):
        default = own[own["d"] == d]
        default = default if d == D else default[:0]
        found += claims_of(int(d), paper[paper["d"] == d], default)
    return found + across(paper)


STUDY = Study(
    "gaussian",
    "Conditional second moments of normal data",
    ("d", "n", "tol", "pivots", "tests", "seed", "models"),
    presets_by_size(quick=3, full=100),
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: float(one["n"]) ** 0.7,
)
