"""Training rows and folds: which rows regressors are fitted to, and which are held out."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.sample import CanonicalOrder, Sample, canonical_order, held_out
from jointdist.errors import Text, is_whole, require
from jointdist.regression.out_of_fold import Split, take_rows

__all__ = ["Training", "require_splits"]

# Up to so many rows, whole weights are replaced by repeated rows: a memory budget.
_REPEATED = 1 << 16


@dataclass(frozen=True, eq=False)
class Training:
    """Rows to learn from, with copies of a row merged, and how they are held out.

    Attributes
    ----------
    given : Sample
        The rows of positive weight that users give, encoded.
    table : array or DataFrame
        Their X, as regressors read it.
    settled : CanonicalOrder
        Which of these rows are learned from.
    sample : Sample
        The rows that are learned from.
    given_splits : list of Split, optional
        The splits of ``given``, if users give them.
    folds : int
        The number of folds otherwise.
    seed : int
        The seed of the folds.
    """

    given: Sample
    table: Any
    settled: CanonicalOrder
    sample: Sample
    given_splits: list[Split] | None
    folds: int
    seed: int

    @staticmethod
    def of(given: Sample, table: Any, cv: Any, seed: int) -> "Training":
        """Return the rows of positive weight, with copies of a row merged.

        Parameters
        ----------
        given : Sample
            The rows.
        table : array or DataFrame
            Their X, as regressors read it.
        cv : int, splitter or iterable of splits
            The number of folds, or the folds.
        seed : int
            The seed of the folds.
        """
        whole = is_whole(cv, least=2)
        splits = None if whole else _splits(given, table, cv)
        folds = cv if whole else 0
        if given.weights is not None and not given.weights.all():
            rows = np.flatnonzero(given.weights)
            table, given = take_rows(table, rows), given.take(rows)
            splits = None if splits is None else _among(rows, splits, given.x.where)
        if given.weights is not None and (given.weights == given.weights[0]).all():
            given = replace(given, weights=None)
        if given.weights is None and given.distinct:
            every = np.arange(given.n)
            same = CanonicalOrder(every, None, every)
            return Training(given, table, same, given, splits, folds, seed)
        found = canonical_order(given, _REPEATED)
        return Training(given, table, found, found.of(given), splits, folds, seed)

    @property
    def outcomes(self) -> Vector:
        """The outcomes of the rows that are learned from, ``(n, r)``."""
        return to_numpy(self.sample.y.read(0, self.sample.n))

    @property
    def given_outcomes(self) -> Vector:
        """The outcomes of the rows that users give, ``(n, r)``."""
        return to_numpy(self.given.y.read(0, self.given.n))

    @property
    def splits(self) -> list[Split]:
        """The splits of the rows that are learned from."""
        if self.given_splits is None:
            n = self.sample.n
            held = held_out(n, self.folds, self.seed)
            return [Split.without(rows, n) for rows in held]
        return _among(self.settled.rows, self.given_splits, self.given.x.where)

    @property
    def splits_given(self) -> list[Split]:
        """The splits of the rows that users give; copies of a row are held out together."""
        if self.given_splits is not None:
            return self.given_splits
        groups = self.settled.groups
        folds = held_out(int(groups.max()) + 1, self.folds, self.seed)
        held = (np.flatnonzero(np.isin(groups, fold)) for fold in folds)
        return [Split.without(rows, len(groups)) for rows in held]


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


def _splits(given: Sample, table: Any, cv: Any) -> list[Split]:
    """Return the splits of users, after checking that each row is held out once."""
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


def _among(rows: Index, splits: list[Split], where: str) -> list[Split]:
    """Return splits of all rows as splits of some of them."""
    found = [
        Split(*(np.flatnonzero(np.isin(rows, side)) for side in one)) for one in splits
    ]
    return _filled([one for one in found if len(one.out)], where)


def _filled(splits: list[Split], where: str) -> list[Split]:
    """Return the splits, after checking that each leaves rows to fit to."""
    rule, got = "splits with rows to fit to", Text("one without, of those that count")
    require(all(len(one.fit) > 0 for one in splits), where, "cv", rule, got)
    return splits
