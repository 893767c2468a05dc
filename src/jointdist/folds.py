"""Which rows judge a model that was fitted to the others."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jointdist._array import to_numpy
from jointdist.errors import is_number, is_whole, require
from jointdist.sample import Sample

__all__ = ["held_out", "require_cv", "spelled_out"]


def require_cv(where: str, cv: object) -> None:
    """Raise unless ``cv`` is a number of folds or a share of rows.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int or float
        What was given.
    """
    share = isinstance(cv, float) and is_number(cv, least=0, below=1) and cv > 0
    rule = "a number of folds, at least 2, or the share of rows held out, below 1"
    require(is_whole(cv, least=2) or share, where, "cv", rule, cv)


def spelled_out(sample: Sample, most: int, *, repeated: bool = True) -> Sample:
    """Return the rows in their own order, and one of weight two as two rows.

    So neither the order of the rows nor how repeated ones are told decides on who is held
    out. Weights that are not whole numbers stay as they are.

    Parameters
    ----------
    sample : Sample
        The rows; all of them count.
    most : int
        How many rows there may be.
    repeated : bool, default=True
        Whether weights tell how often a row was seen; those of classes don't.
    """
    sides = [to_numpy(rows.read(0, rows.n)) for rows in (sample.x, sample.y)]
    order = np.lexsort(np.hstack(sides).T[::-1])
    weights = sample.weights
    if weights is None or not repeated:
        return sample.take(order)
    if weights.sum() > most or (weights != np.floor(weights)).any():
        return sample.take(order)
    often = np.repeat(order, weights[order].astype(np.intp))
    return replace(sample.take(often), weights=None)


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
