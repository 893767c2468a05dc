"""How a table of X becomes the numbers that kernels and trees act on.

The columns of numbers are those of the table, categories as codes and times as seconds,
followed by columns that are made of them: indicators of missing entries, the calendar, and
embeddings of columns of many categories.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector
from jointdist._rules import Text, require
from jointdist.data.derived_columns import CalendarCycle, MissingIndicator
from jointdist.data.encoding import Encoding
from jointdist.data.row_keys import row_keys
from jointdist.data.table import Rows, as_rows
from jointdist.data.target_embedding import Embedding
from jointdist.errors import UnseenCategoryWarning, warn_user

__all__ = ["Design", "Question"]

FOLDS = 5  # of the means that embed categories; as many as cross-validation has


class Question(NamedTuple):
    """Rows at which a model is asked.

    Attributes
    ----------
    rows : Rows
        The rows, encoded.
    absent : array of bool of shape (q, d), optional
        Which entries of the table are integrated out: missing ones in columns that were
        complete in ``fit``, or nearly so, and categories that it has not seen; None if none.
    """

    rows: Rows
    absent: NDArray[np.bool_] | None


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """The encoding of a table of X, with the columns that are made of others.

    Attributes
    ----------
    shown : Encoding
        The columns of the table.
    encoding : Encoding
        The columns of numbers: those of the table first.
    parts : tuple, default=()
        What the other columns are made of.
    complete : tuple of bool, default=()
        Which columns of the table had no missing entry; empty if all.
    integrated : tuple of bool, default=()
        Which columns had no or so few missing entries that these are integrated out in
        questions; empty if all.
    seed : int, default=0
        The seed of the folds of rows.
    grouped : {"rows", "groups", "splits"}, default="rows"
        What decides the fold of a row: its values, its group, or splits that users give.
    """

    shown: Encoding
    encoding: Encoding
    parts: tuple[MissingIndicator | CalendarCycle | Embedding, ...] = ()
    complete: tuple[bool, ...] = ()
    integrated: tuple[bool, ...] = ()
    seed: int = 0
    grouped: str = "rows"

    @staticmethod
    def plain(encoding: Encoding) -> "Design":
        """Return the design of a table whose columns need no others.

        Parameters
        ----------
        encoding : Encoding
            The columns.
        """
        return Design(encoding, encoding)

    @property
    def is_plain(self) -> bool:
        """Whether the columns of numbers are those of the table, all of them complete."""
        return not self.parts and not self.complete and self.shown == self.encoding

    @property
    def embeddings(self) -> list[Embedding]:
        """The embeddings of columns of many categories."""
        return [part for part in self.parts if isinstance(part, Embedding)]

    @property
    def embedded(self) -> list[int]:
        """The columns of many categories, whose codes no kernel acts on."""
        d = self.shown.width
        return [i for i in self.encoding.unused if i < d]

    def encoded_columns(self, column: int) -> tuple[int, ...]:
        """Return the columns of numbers that belong to a column of the table.

        Parameters
        ----------
        column : int
            The column of the table.
        """
        found, place = [column], self.shown.width
        for part in self.parts:
            if part.column == column:
                found += range(place, place + part.width)
            place += part.width
        return tuple(found)

    def judged(self, ends: Vector) -> Vector:
        """Return the range of columns by which questions are judged, ``(2, D)``.

        Codes of categories and columns that are made of others have no range.

        Parameters
        ----------
        ends : array of shape (2, D)
            The least and the largest value of each column of numbers.
        """
        found, d = np.array(ends, dtype=np.float64), self.shown.width
        free = [i for i, known in enumerate(self.encoding.categories) if known is not None]
        free += range(d, self.encoding.width)
        found[0, free], found[1, free] = -np.inf, np.inf
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Design):
            return NotImplemented
        fields = ("shown", "encoding", "complete", "integrated", "seed", "grouped")
        same = all(getattr(self, name) == getattr(other, name) for name in fields)
        pairs = list(zip(self.parts, other.parts, strict=False))
        return same and len(self.parts) == len(other.parts) and all(map(_alike, pairs))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        titles = self.shown.titles("x")
        each = (f"{title}: {self._told(i)}" for i, title in enumerate(titles))
        return f"Design({'; '.join(each)})"

    def to_dict(self) -> dict[str, str]:
        """Return what was done to each column of the table, by its name."""
        titles = self.shown.titles("x")
        return {title: self._told(i) for i, title in enumerate(titles)}

    def _told(self, i: int) -> str:
        """Say what a column holds and what becomes of it."""
        known, kind = self.shown.categories[i], self.shown.kind(i)
        told = kind if known is None else f"{kind} of {len(known)}"
        own = [part for part in self.parts if part.column == i]
        for part in own:
            if isinstance(part, Embedding):
                told += f", embedded by {part.width} mean{'s' * (part.width > 1)} of Y"
            elif isinstance(part, CalendarCycle):
                told += f", {part.cycle}"
        embedded = any(isinstance(part, Embedding) for part in own)
        if i in self.encoding.unused and not embedded:
            told += ", no effect of its own on Y, which kernels ignore"
        if self.complete and not self.complete[i]:
            told += ", with missing entries"
        return told

    def ask(
        self,
        data: object,
        *,
        where: str,
        name: str,
        vector: bool = False,
        missing: str = "allow",
        unknown: str = "prior",
    ) -> Question:
        """Return rows at which a model is asked.

        Nothing is known about categories that were not seen in ``fit``: a warning counts
        them, and they are integrated out.

        Parameters
        ----------
        data : array, DataFrame, sequence or Coded
            The table.
        where, name : str
            The caller and its argument, for messages.
        vector : bool, default=False
            Whether a one-dimensional array stands for a table of one column.
        missing : {"allow", "error"}, default="allow"
            Whether entries may be missing.
        unknown : {"prior", "error"}, default="prior"
            Whether categories may be others than those of ``fit``.
        """
        shown = self.shown
        every = range(shown.width) if unknown == "prior" else ()
        found = shown.read(data, where=where, name=name, vector=vector, unseen=every)
        if isinstance(found, Rows):
            return self._of_rows(found, where, name)
        if missing == "error":
            shown.require_complete(found, where, name)
        absent = np.isnan(found)
        if self.integrated:
            absent &= np.array(self.integrated)
        unseen = self._unseen(found)
        if unseen.any():
            self._warn_unseen(unseen, where, name)
            absent, found = absent | unseen, np.where(unseen, np.nan, found)
        rows = self._rows(found, None, where, name)
        return Question(rows, absent if absent.any() else None)

    def pair(
        self,
        data: object,
        y: Rows,
        *,
        where: str,
        name: str,
        missing: str = "allow",
    ) -> Rows:
        """Return rows that come to a model or leave it, with their outcomes.

        Parameters
        ----------
        data : array, DataFrame, sequence or Coded
            The table.
        y : Rows
            The outcomes, encoded.
        where, name : str
            The caller and its argument, for messages.
        missing : {"allow", "error"}, default="allow"
            Whether entries may be missing where they were in ``fit``.
        """
        shown = self.shown
        found = shown.read(data, where=where, name=name, unseen=self.embedded)
        if isinstance(found, Rows) and self.is_plain:
            return found
        codes = found.table() if isinstance(found, Rows) else found
        unseen = self._unseen(codes)
        if unseen.any():
            self._warn_unseen(unseen, where, name)
        complete = np.array(self.complete or (True,) * shown.width)
        if missing == "error" or np.isnan(codes[:, complete]).any():
            self.shown.require_complete(np.where(complete, codes, 0.0), where, name)
        tables = self._tables(codes, y, where) if self.embeddings else None
        return self._rows(codes, tables, where, name)

    def rows(self, codes: Vector, tables: Index | None, where: str, name: str) -> Rows:
        """Return rows of the table as rows of numbers.

        Parameters
        ----------
        codes : array of shape (n, d)
            The codes, NaN where missing.
        tables : array of shape (n,), optional
            The tables of embeddings of each row; by default those for questions.
        where, name : str
            The caller and its argument, for messages.
        """
        return self._rows(codes, tables, where, name)

    def row_folds(self, codes: Vector, y: Vector) -> Index:
        """Return the fold of each row, by its values: that of copies is the same.

        Parameters
        ----------
        codes : array of shape (n, d)
            The codes of X, NaN where missing.
        y : array of shape (n, r)
            The rows of Y.
        """
        return fold_of(np.hstack([np.nan_to_num(codes, nan=-1.0), y]), self.seed)

    def _tables(self, codes: Vector, y: Rows, where: str) -> Index:
        got = Text(f"means of categories by {self.grouped}; fit to all rows anew")
        rule = "of a model whose means of Y are of random folds"
        require(self.grouped == "rows", where, "X, Y", rule, got)
        return self.row_folds(codes, y.table()) + 1

    def _of_rows(self, found: Rows, where: str, name: str) -> Question:
        """Return complete rows of numbers as a question."""
        if self.is_plain:
            return Question(found, None)
        return Question(self._rows(found.table(), None, where, name), None)

    def _rows(self, codes: Vector, tables: Index | None, where: str, name: str) -> Rows:
        missing, fill = np.isnan(codes), self._fill()
        filled = np.where(missing, fill, codes) if missing.any() else codes
        if self.shown.neutral:  # an entry that happens to have the value of missing ones
            same = (codes == fill) & [v is not None for v in self.shown.neutral]
            filled = np.where(same, np.nextafter(fill, np.inf), filled)
        made = [
            part.at(codes[:, part.column], tables)
            if isinstance(part, Embedding)
            else part.at(codes[:, part.column])
            for part in self.parts
        ]
        return as_rows(np.hstack([filled, *made]), where=where, name=name)

    def _fill(self) -> Vector:
        """Return what stands for a missing entry of each column."""
        shown, found = self.shown, np.zeros(self.shown.width)
        for i, known in enumerate(shown.categories):
            neutral = shown.neutral[i] if shown.neutral else None
            last = 0.0 if known is None else float(len(known))
            found[i] = last if neutral is None else neutral
        return found

    def _unseen(self, codes: Vector) -> NDArray[np.bool_]:
        """Tell which entries are categories that were not seen in ``fit``, where they matter."""
        idle = set(self.encoding.unused) - set(self.encoding.embedded)
        last = [
            np.inf if known is None or i in idle else len(known)
            for i, known in enumerate(self.shown.categories)
        ]
        found: NDArray[np.bool_] = codes > np.array(last)
        return found

    def _warn_unseen(self, unseen: NDArray[np.bool_], where: str, name: str) -> None:
        """Warn of categories that were not seen in ``fit``, and count them."""
        counts = enumerate(unseen.sum(axis=0).tolist())
        told = [
            f"{count:,} in column {self.shown.label(i)}" for i, count in counts if count
        ]
        msg = (
            f"{where}: `{name}` has categories that `fit` has not seen: {', '.join(told)}. "
            "Nothing is known about them."
        )
        warn_user(msg, UnseenCategoryWarning)


def fold_of(z: Vector, seed: int) -> Index:
    """Return the fold of each row, from zero on, by a hash of its values.

    Parameters
    ----------
    z : array of shape (n, d)
        The rows.
    seed : int
        The seed of the hash.
    """
    return np.asarray(row_keys(z, seed) % FOLDS, dtype=np.intp)


def _alike(pair: tuple[Any, Any]) -> bool:
    """Tell whether two parts of designs make the same columns."""
    one, two = pair
    if type(one) is not type(two):
        return False
    if isinstance(one, Embedding):
        return one.column == two.column and np.array_equal(one.tables, two.tables)
    return bool(one == two)
