"""Maximum likelihood of the log-ratio, beside models whose ratio is linear.

The exponential model selects its kernel of X, its functions of Y and its ridge by itself, from
the rows it is fitted to; see docs/likelihood.md.
"""

from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from experiments.device import to_device
from experiments.markdown import grid, number, spread
from experiments.moments import Data, scored
from experiments.protocol import Best
from experiments.store import Row
from jointdist import JointDistribution

__all__ = ["EXPONENTIAL", "beside", "most_likely", "shared"]

EXPONENTIAL = "exponential"
_SAMPLE = ["d", "n", "seed"]


def most_likely(data: Data, **kernels: Any) -> Row:
    """Return the test scores of the exponential model.

    Its length scale is the geometric mean of those of the columns of X, and its ranks are the
    numbers of functions in the log-ratio.

    Parameters
    ----------
    data : Data
        The rows; those for validation are not used.
    **kernels
        Arguments of the low-rank factorisation.
    """
    start = process_time()
    model = JointDistribution(
        positivity=EXPONENTIAL, random_state=0, verbose=0, **kernels
    ).fit(to_device(data.X), to_device(data.Y))
    seconds = process_time() - start
    scale = float(np.exp(np.log(model.kernel_x_.scale).mean()))
    ridge = float(model.regularization_)
    best = Best(model, np.nan, (scale, np.nan), ridge, seconds, np.nan)
    rank_y, rank_x = model.coefficients_.shape
    ranks: Row = {"rank_x": rank_x, "rank_y": rank_y}
    return {"model": EXPONENTIAL, **scored(best, data), **ranks}


def shared(table: pd.DataFrame, linear: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows of exponential models, and of others on the same samples.

    Parameters
    ----------
    table : DataFrame
        The results.
    linear : DataFrame
        The rows of the other models.
    names : sequence of str
        Those to return.
    """
    own = table[table["models"] == EXPONENTIAL]
    others = linear[linear["model"].isin(names)]
    both = own[_SAMPLE].merge(others, on=_SAMPLE)
    common = own.merge(both[_SAMPLE].drop_duplicates(), on=_SAMPLE)
    return pd.concat([common, both], ignore_index=True)


def beside(both: pd.DataFrame, names: Sequence[str]) -> str:
    """Return a table of losses on the same samples, and how often exponential models win.

    Parameters
    ----------
    both : DataFrame
        What :func:`shared` returns.
    names : sequence of str
        The other models.
    """
    named = [name for name in names if (both["model"] == name).any()]
    heads = ["d", "n", "runs", EXPONENTIAL, *named, "lower than all", "seconds to fit"]
    lines = []
    for (d, n), part in both.groupby(["d", "n"]):
        loss = part.pivot_table(index="seed", columns="model", values="loss")
        own = loss[EXPONENTIAL]
        wins = (own < loss[[name for name in named if name in loss]].min(axis=1)).mean()
        cells = [spread(loss[name]) if name in loss else "–" for name in named]
        seconds = part.loc[part["model"] == EXPONENTIAL, "fit_seconds"].mean()
        start = [f"{d}", f"{n:,}", f"{len(own)}", spread(own)]
        lines.append([*start, *cells, f"{wins:.0%}", number(seconds)])
    return grid(heads, lines)
