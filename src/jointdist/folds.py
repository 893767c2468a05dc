"""Which rows judge a model that was fitted to the others."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jointdist._array import to_numpy
from jointdist.errors import is_number, is_whole, require
from jointdist.sample import Sample

__all__ = ["held_out", "require_cv", "settled"]

_OWN = 0.75  # of the rows that are distinct, where equal ones are observations
_SAME = 1.1  # distinct rows for each distinct x, where y hardly ever differs for the same


def require_cv(where: str, cv: object) -> None:
    """Raise unless ``cv`` is a number of folds or a share of rows.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int or float
        What was given.
    """
    share = (
        isinstance(cv, float | np.floating) and is_number(cv, least=0, below=1) and cv > 0
    )
    rule = "a number of folds, at least 2, or the share of rows held out, below 1"
    require(is_whole(cv, least=2) or share, where, "cv", rule, cv)


def settled(sample: Sample, most: int, *, repeated: bool = True) -> Sample:
    """Return the rows in their own order, with equal ones as one row of their weight.

    Rows that are held out must not be among those that a model is fitted to, and neither
    the order of the rows nor how repeated ones are told may matter. Equal rows stay apart,
    and a row of weight two is spelled out as two, where they are observations of their own:
    where few rows are equal, or the same x comes with several y, as in tables of a few
    values.

    Parameters
    ----------
    sample : Sample
        The rows; all of them count.
    most : int
        How many rows there may be.
    repeated : bool, default=True
        Whether weights tell how often a row was seen; those of classes don't.
    """
    x, y = (to_numpy(rows.read(0, rows.n)) for rows in (sample.x, sample.y))
    both = np.hstack([x, y])
    _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
    weights = np.ones(sample.n) if sample.weights is None else sample.weights
    order = np.lexsort(both.T[::-1])
    whole, total = (weights == weights.round()).all(), float(weights.sum())
    values = len(first) > _SAME * len(np.unique(x, axis=0))
    if not repeated or values or (whole and len(first) >= _OWN * total):
        if not repeated or not whole or total > most:
            return sample.take(order)
        often = np.repeat(order, weights[order].astype(np.intp))
        return replace(sample.take(often), weights=None)
    w = np.bincount(which.ravel(), weights).astype(np.float64)
    return replace(sample.take(first), weights=None if (w == 1).all() else w)


def held_out(n: int, cv: float, seed: int) -> list[NDArray[np.intp]]:
    """Return the numbers of the rows that are held out, for each model that is fitted.

    Parameters
    ----------
    n : int
        The number of rows, at least two.
    cv : int or float
        The number of parts that are held out in turn, at most one for each row; or the
        share of rows that are held out, once.
    seed : int
        Decides on the parts.
    """
    order = np.random.default_rng(seed).permutation(n)
    if not is_whole(cv, least=2):
        return [np.sort(order[: min(max(round(cv * n), 1), n - 1)])]
    return [np.sort(part) for part in np.array_split(order, min(int(cv), n))]
