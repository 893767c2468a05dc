"""Rows as they were given, and as they are learned from: in order, copies as one."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from jointdist._array import to_numpy
from jointdist.atoms import Vector
from jointdist.errors import Words, is_whole, require
from jointdist.folds import Settled, held_out, settled
from jointdist.outoffold import take_rows
from jointdist.sample import Sample

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
    part : array of shape (n,), optional
        The part that each row that was given is in, if that was given, too.
    """

    given: Sample
    table: Any
    settled: Settled
    sample: Sample
    part: Index | None

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
        w, part = given.weights, None
        if not is_whole(cv, least=2):
            part = _parts(given, table, cv)
        if w is not None and not w.all():
            rows = np.flatnonzero(w)
            table, given = take_rows(table, rows), given.take(rows)
            part = None if part is None else part[rows]
        if given.weights is not None and (given.weights == 1).all():
            given = replace(given, weights=None)
        if given.weights is None and given.distinct:
            every = np.arange(given.n)
            return Training(given, table, Settled(every, None, every), given, part)
        found = settled(given, _SPELLED)
        return Training(given, table, found, found.of(given), part)

    @property
    def outcomes(self) -> Vector:
        """The outcomes of the rows that are learned from, ``(n, r)``."""
        return to_numpy(self.sample.y.read(0, self.sample.n))

    @property
    def given_outcomes(self) -> Vector:
        """The outcomes of the rows that were given, ``(n, r)``."""
        return to_numpy(self.given.y.read(0, self.given.n))

    def held(self, cv: Any, seed: int) -> list[Index]:
        """Return the rows that are held out in turn, of those that are learned from.

        Parameters
        ----------
        cv : int, splitter or iterable of splits
            The number of parts; others were told when it was made.
        seed : int
            Decides on the parts.
        """
        if self.part is None:
            return held_out(self.sample.n, cv, seed)
        return _each(self.part[self.settled.rows])

    def held_given(self, cv: Any, seed: int) -> list[Index]:
        """Return the same of those that were given; copies are held out together.

        Parameters
        ----------
        cv, seed
            As in :meth:`held`.
        """
        groups = self.settled.groups
        if self.part is not None:
            return _each(self.part[np.unique(groups, return_index=True)[1]][groups])
        parts = held_out(int(groups.max()) + 1, cv, seed)
        return [np.flatnonzero(np.isin(groups, part)) for part in parts]


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
    if not isinstance(cv, str):
        several |= hasattr(cv, "split") or isinstance(cv, Iterable)
    rule = "an integer of at least 2, a splitter, or pairs of rows, the second held out"
    require(several, where, "cv", rule, cv)


def _parts(given: Sample, table: Any, cv: Any) -> Index:
    """Return the part that each row is in: it must be held out once."""
    outcomes = to_numpy(given.y.read(0, given.n))
    y = outcomes[:, 0] if outcomes.shape[1] == 1 else outcomes
    found, often = np.zeros(given.n, dtype=np.intp), np.zeros(given.n, dtype=np.intp)
    for part, (_, out) in enumerate(check_cv(cv).split(table, y)):
        found[out] = part
        often += np.bincount(out, minlength=given.n)
    row = int(np.argmax(often != 1))
    rule = "parts of which each row is held out of one"
    got = Words(f"parts of which row {row} is held out of {often[row]}")
    require(bool((often == 1).all()), given.x.where, "cv", rule, got)
    return found


def _each(part: Index) -> list[Index]:
    return [np.flatnonzero(part == own) for own in np.unique(part)]
