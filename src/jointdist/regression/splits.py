"""Rows as they were given, and as they are learned from: in order, copies as one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist.data.folds import Settled, held_out, settled
from jointdist.data.sample import Sample
from jointdist.errors import Text, is_whole, require
from jointdist.regression.out_of_fold import Split, take_rows

__all__ = ["Training", "require_parts"]

Index: TypeAlias = NDArray[np.intp]

_SPELLED = 1 << 16  # rows that weights may be spelled out as


@dataclass(frozen=True, eq=False)
class Training:
    """Rows to learn from.

    Attributes
    ----------
    given : Sample
        Those that were given and count, coded.
    table : array or DataFrame
        Those of X, as regressors read them.
    settled : Settled
        Which of them are learned from.
    sample : Sample
        These.
    own : list of Split, optional
        Rows as given to fit to, and to hold out, if these were given, too.
    """

    given: Sample
    table: Any
    settled: Settled
    sample: Sample
    own: list[Split] | None

    @staticmethod
    def of(given: Sample, table: Any, cv: Any) -> "Training":
        """Return the rows that count.

        Parameters
        ----------
        given : Sample
            The rows.
        table : array or DataFrame
            Those of X, as regressors read them.
        cv : int, splitter or iterable of splits
            The number of parts, or the parts.
        """
        own = None if is_whole(cv, least=2) else _splits(given, table, cv)
        if given.weights is not None and not given.weights.all():
            rows = np.flatnonzero(given.weights)
            table, given = take_rows(table, rows), given.take(rows)
            own = None if own is None else _among(rows, own, given.x.where)
        if given.weights is not None and (given.weights == given.weights[0]).all():
            given = replace(given, weights=None)
        if given.weights is None and given.distinct:
            every = np.arange(given.n)
            return Training(given, table, Settled(every, None, every), given, own)
        found = settled(given, _SPELLED)
        return Training(given, table, found, found.of(given), own)

    @property
    def outcomes(self) -> Vector:
        """The outcomes of the rows that are learned from, ``(n, r)``."""
        return to_numpy(self.sample.y.read(0, self.sample.n))

    @property
    def given_outcomes(self) -> Vector:
        """The outcomes of the rows that were given, ``(n, r)``."""
        return to_numpy(self.given.y.read(0, self.given.n))

    def splits(self, cv: Any, seed: int) -> list[Split]:
        """Return which rows are fitted to and held out in turn, of those learned from.

        Parameters
        ----------
        cv : int, splitter or iterable of splits
            The number of parts; others were told when it was made.
        seed : int
            Decides on the parts.
        """
        if self.own is None:
            n = self.sample.n
            return [Split.without(part, n) for part in held_out(n, cv, seed)]
        return _among(self.settled.rows, self.own, self.given.x.where)

    def splits_given(self, cv: Any, seed: int) -> list[Split]:
        """Return the same of those that were given; copies are held out together.

        Parameters
        ----------
        cv, seed
            As in :meth:`splits`.
        """
        if self.own is not None:
            return self.own
        groups = self.settled.groups
        parts = held_out(int(groups.max()) + 1, cv, seed)
        held = (np.flatnonzero(np.isin(groups, part)) for part in parts)
        return [Split.without(part, len(groups)) for part in held]


def require_parts(where: str, cv: Any) -> None:
    """Raise unless ``cv`` is a number of parts or tells parts.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int, splitter or iterable of splits
        What was given.
    """
    several = is_whole(cv, least=2)
    if not isinstance(cv, str | dict):
        several |= hasattr(cv, "split") or isinstance(cv, Iterable)
    rule = "an integer of at least 2, a splitter, or pairs of rows, the second held out"
    require(several, where, "cv", rule, cv)


def _splits(given: Sample, table: Any, cv: Any) -> list[Split]:
    """Return the rows of each split; each row must be held out once, and only then."""
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
    often = np.bincount(np.concatenate([own.out for own in found]), minlength=n)
    row = int(np.argmax(often != 1))
    rule = "parts of which each row is held out of one"
    got = Text(f"parts of which row {row} is held out of {often[row]}")
    require(bool((often == 1).all()), where, "cv", rule, got)
    return _filled(found, where)


def _pairs(cv: Any, table: Any, y: Vector, where: str) -> Iterable[Any]:
    """Return what a splitter says, or what was given."""
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


def _among(rows: Index, own: list[Split], where: str) -> list[Split]:
    """Return splits of rows in terms of some of them."""
    found = [Split(*(np.flatnonzero(np.isin(rows, side)) for side in one)) for one in own]
    return _filled([one for one in found if len(one.out)], where)


def _filled(splits: list[Split], where: str) -> list[Split]:
    """Return splits that leave rows to fit to."""
    rule, got = "splits with rows to fit to", Text("one without, of those that count")
    require(all(len(one.fit) > 0 for one in splits), where, "cv", rule, got)
    return splits
