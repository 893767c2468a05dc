"""Small samples of running averages of Cauchy variables, d = 3 + 3: figure covarpossmall2.

Moments do not exist, so the energy score selects the models.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.claims import Claim, verdict
from experiments.drawing import lines
from experiments.markdown import by_model, by_size, edges, grid, number, series
from experiments.moments import Data, Held, compared
from experiments.store import Row, Settings
from experiments.study import Study
from experiments.uniform import NAMES, PRESETS, D, families, panels, settings
from jointdist import scores
from jointdist.datasets import RunningAverages

__all__ = ["STUDY"]

SCALES = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0), (0.2, 0.05, 0.1, 0.5, 1.0, 2.0, 4.0)
FAMILIES = families(SCALES)


def compute(one: Settings) -> list[Row]:
    """Return the scores of all models on one sample."""
    n, seed = int(one["n"]), int(one["seed"])
    rng = np.random.default_rng([seed, n])
    pair, k = RunningAverages(D, "cauchy"), n * 4 // 5
    X, Y = pair.draw(n, random_state=rng)
    held = Held(X[k:], Y[k:]), Held(*pair.draw(int(one["tests"]), random_state=rng))
    data = Data(X[:k], Y[:k], *held, scores.energy_score)
    also = {"negative_ratio_share": scores.negative_ratio_share}
    return list(compared(FAMILIES, data, also))


def draw(table: pd.DataFrame) -> dict[str, Figure]:
    """Return figures of violations of positivity by sample size."""
    panel = panels(table)
    return {
        "indefinite": lines(panel, "n", "indefinite_share", "share of indefinite matrices"),
        "negative": lines(panel, "n", "negative_ratio_share", "share of negative ratios"),
    }


def report(table: pd.DataFrame) -> str:
    """Return tables of violations of positivity."""
    return f"""\
Running averages of Cauchy variables, tolerance 10⁻⁶, no constraints; the energy score selects the
models. Where the mass of a conditional distribution is not positive, the distribution is undefined
and counts as a violation. Share of second-moment matrices that are not positive semidefinite, means
with 5 % and 95 % quantiles:

{by_size(table, "indefinite_share", NAMES)}

Share of negative density ratios, over all conditional distributions and support points:

{by_size(table, "negative_ratio_share", NAMES)}

Energy score where the distribution is defined. Medians over runs, because a few outliers dominate
means. CME is undefined far from the sample, where the other models are at their worst:

{_scores(table)}

Share of undefined conditional distributions:

{by_size(table, "undefined_share", NAMES)}

Candidate hyperparameters, and how often the lowest or the highest candidate is selected:

{edges(table, FAMILIES)}

Models are fitted to 4/5 of the rows; the other 1/5 selects the length scales, that of X first, and
the ridge. Candidates with an undefined distribution at a validation row are excluded; means of CME
exclude runs in which no candidate remains."""


def _scores(table: pd.DataFrame) -> str:
    """Return the medians of the energy score."""
    found = by_model(table, "loss", "median")
    middle = found[[name for name in NAMES if name in found]]
    lines = [[f"{n:,}", *map(number, scores)] for n, *scores in middle.itertuples()]
    return grid(["n", *middle], lines)


def claims(table: pd.DataFrame) -> list[Claim]:
    """Return the claims of the paper about Cauchy variables."""
    share = by_model(table, "indefinite_share")
    ratio = by_model(table, "negative_ratio_share")
    score = by_model(table, "loss", "median")
    others = [one[["JPDL", "CME"]].min(axis=1) for one in (share, ratio)]
    return [
        Claim(
            "Small Cauchy samples: JDL has the fewest indefinite matrices by far.",
            verdict(share["JDL"] < others[0] / 2),
            f"JDL {series(share['JDL'])}; JDL exact {series(share['JDL exact'])}; CME "
            f"{series(share['CME'])}; JPDL {series(share['JPDL'])}.",
        ),
        Claim(
            "JDL has the fewest negative ratios by far.",
            verdict(ratio["JDL"] < others[1] / 2),
            f"JDL {series(ratio['JDL'])}; JDL exact {series(ratio['JDL exact'])}; CME "
            f"{series(ratio['CME'])}; JPDL {series(ratio['JPDL'])}. Large ridges leave JPDL "
            "few of them, but do not make it a model of such data: median energy score "
            f"{series(score['JPDL'])}, of JDL {series(score['JDL'])}.",
        ),
    ]


STUDY = Study(
    "cauchy",
    "Small samples of running averages of Cauchy variables, d = 3 + 3",
    ("n", "tests", "seed"),
    PRESETS,
    settings,
    compute,
    draw,
    report,
    claims,
    cost=lambda one: 100 + float(one["n"]),
)
