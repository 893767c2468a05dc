"""Training rows: those that regressors are fitted to, and the folds that hold them out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import is_whole
from jointdist.data.sample import CanonicalOrder, Sample, canonical_order, held_out
from jointdist.regression.splits import Split, checked_splits, splits_among
from jointdist.regression.tables import take_rows

__all__ = ["Training"]

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
        splits = None if whole else checked_splits(given, table, cv)
        folds = cv if whole else 0
        if given.weights is not None and not given.weights.all():
            rows = np.flatnonzero(given.weights)
            table, given = take_rows(table, rows), given.take(rows)
            splits = None if splits is None else splits_among(rows, splits, given.x.where)
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
        return splits_among(self.settled.rows, self.given_splits, self.given.x.where)

    @property
    def splits_given(self) -> list[Split]:
        """The splits of the rows that users give; copies of a row are held out together."""
        if self.given_splits is not None:
            return self.given_splits
        groups = self.settled.groups
        folds = held_out(int(groups.max()) + 1, self.folds, self.seed)
        held = (np.flatnonzero(np.isin(groups, fold)) for fold in folds)
        return [Split.without(rows, len(groups)) for rows in held]
