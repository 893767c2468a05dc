"""The arguments ``cv`` and ``groups`` of users, which become folds of rows."""

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector, is_array, to_numpy
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.data.folds import Folds, Split, group_splits, window_splits

__all__ = ["is_count", "read_folds", "require_cv"]


def is_count(cv: object) -> bool:
    """Tell whether ``cv`` is a number of folds, or the share of rows that are held out."""
    share = isinstance(cv, float | np.floating) and is_number(cv, least=0, below=1)
    return is_whole(cv, least=2) or (share and bool(cv))


def require_cv(where: str, cv: Any, *, share: bool) -> None:
    """Raise unless ``cv`` says how rows are held out.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int, float, "time", splitter or iterable of splits
        The argument.
    share : bool
        Whether it may be the share of rows that are held out once.
    """
    good = is_count(cv) if share else is_whole(cv, least=2)
    if isinstance(cv, str):
        good = cv == "time"
    elif not isinstance(cv, dict | bytes):
        good |= hasattr(cv, "split") or isinstance(cv, Iterable)
    rule = "a number of folds, at least 2, "
    rule += "the share of rows held out, below 1, " * share
    rule += '"time", a splitter, or pairs of rows, the second held out'
    require(good, where, "cv", rule, cv)


def read_folds(
    where: str,
    cv: Any,
    groups: object,
    *,
    n: int,
    weights: Vector | None,
    seed: int,
    tables: tuple[Any, Any],
) -> Folds | None:
    """Return the folds of all rows of a fit; None if rows are held out at random.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int, float, "time", splitter or iterable of splits
        How rows are held out.
    groups : array, Series or sequence of shape (n,), optional
        The group of each row.
    n : int
        The number of rows.
    weights : array of shape (n,), optional
        The weights of the rows; those without one take no part.
    seed : int
        The seed of random folds.
    tables : tuple
        X, and Y as an array, for splitters.
    """
    codes, labels = (None, []) if groups is None else _read_groups(where, groups, n)
    used = np.ones(n, dtype=bool) if weights is None else weights > 0
    every = np.arange(n)
    if is_count(cv):
        if codes is None:
            return None
        found = np.unique(codes[used])
        got = Text(f"one group alone, {labels[found[0]]!r}" if len(found) else "none")
        rule = "of at least two groups of rows, some of which are held out"
        require(len(found) > 1, where, "groups", rule, got)
        splits = group_splits(np.where(used, codes, -1), cv, seed)
        return Folds.of(splits, every, codes, timed=False)
    if isinstance(cv, str):
        splits = window_splits(np.where(used, every, -1), codes)
        rule = "of rows enough to hold some back"
        rule += "" if codes is None else ", of groups that end before others begin"
        require(splits, where, "X", rule, Text(f"{used.sum()} rows, in order of time"))
        return Folds.of(splits, every, codes, timed=True)
    splits = _checked(where, _pairs(where, cv, tables, codes), n)
    if codes is not None:
        _require_together(where, splits, codes, labels)
    timed = all(split.fit.max() < split.out.min() for split in splits)
    return Folds.of(splits, every, codes, timed=timed)


def _read_groups(where: str, groups: Any, n: int) -> tuple[Index, list[Any]]:
    """Return the number of the group of each row, and the labels of the groups."""
    if is_array(groups):
        groups = to_numpy(groups)
    elif isinstance(
        series := nw.from_native(groups, pass_through=True, allow_series=True), nw.Series
    ):
        groups = series.to_list()
    several = isinstance(groups, np.ndarray | list | tuple)
    got = groups if several else Text(f"{groups!r} of {type(groups).__name__}")
    require(several, where, "groups", "a vector of labels, one for each row", got)
    values: list[Any] = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    axes = groups.ndim if isinstance(groups, np.ndarray) else 1
    require(axes == 1, where, "groups", "a vector of labels", Text(f"{axes} axes"))
    rule = f"as long as `X` ({n} rows)"
    require(len(values) == n, where, "groups", rule, Text(f"{len(values)} labels"))
    place: dict[Any, int] = {}
    codes = np.empty(n, dtype=np.intp)
    for row, value in enumerate(values):
        got = Text(f"{value!r} at row {row}")
        require(not _is_missing(value), where, "groups", "without missing labels", got)
        hashable = isinstance(value, str) or type(value).__hash__ is not None
        require(hashable, where, "groups", "labels such as strings and integers", got)
        codes[row] = place.setdefault(value, len(place))
    return codes, list(place)


def _is_missing(value: Any) -> bool:
    """Tell whether a label is None, NaN, or what libraries have in their place."""
    if value is None:
        return True
    same = value == value  # noqa: PLR0124
    return not isinstance(same, bool | np.bool) or not same


def _pairs(
    where: str, cv: Any, tables: tuple[Any, Any], groups: Index | None
) -> Iterable[Any]:
    """Return the pairs of a splitter, or those that users give."""
    if not hasattr(cv, "split"):
        given: Iterable[Any] = cv
        return given
    try:
        return list(cv.split(*tables, groups))
    except (TypeError, ValueError) as error:
        rule = "a splitter of these rows"
        if groups is None and "groups" in str(error):
            rule = "a splitter that needs no groups, unless `fit` gets `groups`"
        msg = f"{where}: `cv` must be {rule}. Got {type(cv).__name__}: {error}"
        raise ValueError(msg) from error


def _checked(where: str, pairs: Iterable[Any], n: int) -> list[Split]:
    """Return splits, after checking that each row is held out once at most."""
    rule = "pairs of numbers of rows, the second held out"
    found = []
    for pair in pairs:
        fine = isinstance(pair, tuple | list) and len(pair) == 2
        require(fine, where, "cv", rule, Text(repr(pair)))
        sides = [_rows(side) for side in pair]
        fine = all(z.ndim == 1 and z.dtype.kind in "iu" for z in sides)
        fine = fine and all(((z >= 0) & (z < n)).all() for z in sides)
        require(fine, where, "cv", f"{rule}, from 0 to {n - 1}", Text(repr(pair)))
        both = Split(*(np.unique(z).astype(np.intp) for z in sides))
        some = len(both.fit) > 0 and len(both.out) > 0
        got = Text("a split without")
        require(some, where, "cv", "splits with rows to fit to and rows held out", got)
        shared = np.intersect1d(*both)
        got = Text(f"row {shared[0]} on both sides" if len(shared) else "others")
        rule_of_sides = "splits that do not fit to rows held out"
        require(not len(shared), where, "cv", rule_of_sides, got)
        found.append(both)
    got = Text("none: of an iterator nothing is left for a second time")
    require(bool(found), where, "cv", rule, got)
    often = np.bincount(np.concatenate([split.out for split in found]), minlength=n)
    row = int(np.argmax(often))
    rule = "splits of which each row is held out of one at most"
    got = Text(f"splits of which row {row} is held out of {often[row]}")
    require(often[row] == 1, where, "cv", rule, got)
    return found


def _rows(side: Any) -> NDArray[Any]:
    """Return one side of a pair as an array; masks become numbers of rows."""
    rows = np.asarray(side)
    if rows.dtype == bool:
        return np.flatnonzero(rows)
    return rows.astype(np.intp) if not rows.size else rows


def _require_together(
    where: str, splits: list[Split], groups: Index, labels: list[Any]
) -> None:
    """Raise if a split has a group on both sides."""
    for split in splits:
        shared = np.intersect1d(groups[split.fit], groups[split.out])
        got = Text(f"{labels[shared[0]]!r} on both sides" if len(shared) else "others")
        rule = "splits that keep the rows of each group together"
        require(not len(shared), where, "cv", rule, got)
