"""Splits of rows: which are fitted to and which are held out, and those that users give."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist._rules import Text, is_whole, require
from jointdist.data.sample import Sample

__all__ = ["Split", "checked_splits", "require_splits", "splits_among"]


class Split(NamedTuple):
    """The rows of a fold: indices to fit to, and to hold out.

    Attributes
    ----------
    fit : array of int
        The rows that a model is fitted to.
    out : array of int
        The rows that are held out.
    """

    fit: Index
    out: Index

    @classmethod
    def without(cls, out: Index, n: int) -> "Split":
        """Return the split that fits to all of n rows but those that are held out.

        Parameters
        ----------
        out : array of int
            The rows that are held out.
        n : int
            The number of all rows.
        """
        return cls(np.setdiff1d(np.arange(n), out), out)


def require_splits(where: str, cv: Any) -> None:
    """Raise unless ``cv`` is a number of folds, a splitter or splits.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int, splitter or iterable of splits
        The argument.
    """
    several = is_whole(cv, least=2)
    if not isinstance(cv, str | dict):
        several |= hasattr(cv, "split") or isinstance(cv, Iterable)
    rule = "an integer of at least 2, a splitter, or pairs of rows, the second held out"
    require(several, where, "cv", rule, cv)


def checked_splits(given: Sample, table: Any, cv: Any) -> list[Split]:
    """Return the splits that users give, after checking that each row is held out once.

    Parameters
    ----------
    given : Sample
        The rows.
    table : array or DataFrame
        Their X, as regressors read it.
    cv : splitter or iterable of splits
        The argument.
    """
    outcomes, n, where = to_numpy(given.y.read(0, given.n)), given.n, given.x.where
    y = outcomes[:, 0] if outcomes.shape[1] == 1 else outcomes
    rule = "pairs of numbers of rows, the second held out"
    found = []
    for pair in _pairs(cv, table, y, where):
        fine = isinstance(pair, tuple | list) and len(pair) == 2
        require(fine, where, "cv", rule, Text(repr(pair)))
        sides = [np.asarray(side) for side in pair]
        sides = [np.flatnonzero(z) if z.dtype == bool else z for z in sides]
        fine = all(z.ndim == 1 and z.dtype.kind in "iu" for z in sides)
        fine = fine and all(((z >= 0) & (z < n)).all() for z in sides)
        require(fine, where, "cv", f"{rule}, from 0 to {n - 1}", Text(repr(pair)))
        found.append(Split(*(z.astype(np.intp) for z in sides)))
    got = Text("none: of an iterator nothing is left for a second time")
    require(bool(found), where, "cv", rule, got)
    often = np.bincount(np.concatenate([split.out for split in found]), minlength=n)
    row = int(np.argmax(often != 1))
    rule = "parts of which each row is held out of one"
    got = Text(f"parts of which row {row} is held out of {often[row]}")
    require(bool((often == 1).all()), where, "cv", rule, got)
    return _filled(found, where)


def _pairs(cv: Any, table: Any, y: Vector, where: str) -> Iterable[Any]:
    """Return the pairs of a splitter, or those that users give."""
    if not hasattr(cv, "split"):
        given: Iterable[Any] = cv
        return given
    try:
        return list(cv.split(table, y))
    except (TypeError, ValueError) as error:
        rule = "a splitter of these rows"
        if "groups" in str(error):
            rule = "a splitter that needs no more than X and Y, or its pairs of rows"
        msg = f"{where}: `cv` must be {rule}. Got {type(cv).__name__}: {error}"
        raise ValueError(msg) from error


def splits_among(rows: Index, splits: list[Split], where: str) -> list[Split]:
    """Return splits of all rows as splits of some of them.

    Parameters
    ----------
    rows : array of int
        The indices of these rows.
    splits : list of Split
        The splits of all rows.
    where : str
        The caller, for messages.
    """
    found = [
        Split(*(np.flatnonzero(np.isin(rows, side)) for side in one)) for one in splits
    ]
    return _filled([one for one in found if len(one.out)], where)


def _filled(splits: list[Split], where: str) -> list[Split]:
    """Return the splits, after checking that each leaves rows to fit to."""
    rule, got = "splits with rows to fit to", Text("one without, of those that count")
    require(all(len(one.fit) > 0 for one in splits), where, "cv", rule, got)
    return splits
