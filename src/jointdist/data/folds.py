"""Which rows judge a model that was fitted to the others."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jointdist.data.sample import Sample
from jointdist.errors import is_number, is_whole, require

__all__ = ["Settled", "held_out", "require_cv", "settled"]


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


@dataclass(frozen=True, eq=False)
class Settled:
    """Which rows stand for a sample, in an order of their own.

    Attributes
    ----------
    rows : array of shape (k,)
        The numbers of the rows.
    weights : array of shape (k,), optional
        Their weights.
    groups : array of shape (n,)
        A number for each row of the sample; those of copies are equal.
    """

    rows: NDArray[np.intp]
    weights: NDArray[np.float64] | None
    groups: NDArray[np.intp]

    def of(self, sample: Sample) -> Sample:
        """Return the rows.

        Parameters
        ----------
        sample : Sample
            What they are rows of.
        """
        return replace(sample.take(self.rows), weights=self.weights)


def settled(sample: Sample, most: int, *, repeated: bool = True) -> Settled:
    """Return the rows in their own order, with copies as one row of their weight.

    Rows that are held out must not be among those that a model is fitted to, and neither
    the order of the rows nor how repeated ones are told may matter. Equal rows that are
    observations of their own stay apart, and a row of weight two is spelled out as two.

    Parameters
    ----------
    sample : Sample
        The rows; all of them count.
    most : int
        How many rows there may be.
    repeated : bool, default=True
        Whether weights tell how often a row was seen; those of classes don't.
    """
    equal = sample.equal
    weights, order = sample.weights, np.argsort(equal.which, kind="stable")
    if repeated and equal.copied:
        w = None if (equal.weights == 1).all() else equal.weights
        return Settled(equal.first, w, equal.which)
    own = np.arange(sample.n)
    if weights is None:
        return Settled(order, None, own)
    whole = bool((weights == weights.round()).all())
    if not repeated or not whole or weights.sum() > most:
        return Settled(order, weights[order], own)
    return Settled(np.repeat(order, weights[order].astype(np.intp)), None, own)


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
