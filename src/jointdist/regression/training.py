"""Training rows: those that regressors are fitted to, and the folds that hold them out."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, is_whole, require
from jointdist.data.folds import Split
from jointdist.data.sample import CanonicalOrder, Sample, canonical_order, held_out
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
    folds : int
        The number of folds, if they are random.
    seed : int
        The seed of the folds.
    """

    given: Sample
    table: Any
    settled: CanonicalOrder
    sample: Sample
    folds: int
    seed: int

    @staticmethod
    def of(given: Sample, table: Any, cv: Any, seed: int) -> "Training":
        """Return the rows of positive weight, with copies of a row merged.

        Parameters
        ----------
        given : Sample
            The rows, with their folds if these are not random.
        table : array or DataFrame
            Their X, as regressors read it.
        cv : int, "time", splitter or iterable of splits
            The number of folds, if these are random.
        seed : int
            The seed of the folds.
        """
        folds = cv if is_whole(cv, least=2) else 0
        if given.weights is not None and not given.weights.all():
            rows = np.flatnonzero(given.weights)
            table, given = take_rows(table, rows), given.take(rows)
        if given.weights is not None and (given.weights == given.weights[0]).all():
            given = replace(given, weights=None)
        rule, got = "splits of rows that have a weight", Text("none that has some")
        some = given.folds is None or given.folds.rows
        require(some, given.x.where, "cv", rule, got)
        if given.weights is None and given.distinct:
            every = np.arange(given.n)
            same = CanonicalOrder(every, None, every)
            return Training(given, table, same, given, folds, seed)
        found = canonical_order(given, _REPEATED)
        return Training(given, table, found, found.of(given), folds, seed)

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
        if self.sample.folds is not None:
            return self.sample.folds.rows
        n = self.sample.n
        return [Split.without(rows, n) for rows in held_out(n, self.folds, self.seed)]

    @property
    def splits_given(self) -> list[Split]:
        """The splits of the rows that users give; copies of a row are held out together."""
        if self.given.folds is not None:
            return self.given.folds.rows
        groups = self.settled.groups
        folds = held_out(int(groups.max()) + 1, self.folds, self.seed)
        held = (np.flatnonzero(np.isin(groups, fold)) for fold in folds)
        return [Split.without(rows, len(groups)) for rows in held]

    @property
    def in_turn(self) -> bool:
        """Whether all rows are held out in turn, so that the models of all folds are alike."""
        folds = self.sample.folds
        held = sum(len(split.out) for split in self.splits)
        return folds is None or (held == self.sample.n and not folds.timed)
