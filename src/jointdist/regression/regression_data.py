"""Rows with the targets of a regression, and random choices of them."""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Index, Vector
from jointdist.data.folds import Folds
from jointdist.data.table import Rows
from jointdist.regression.settings import SETTINGS

__all__ = ["RegressionData", "draw_rows", "validation_rows"]


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Rows of X with the targets that they are to explain.

    Attributes
    ----------
    x : Rows
        The rows of X, encoded.
    targets : array of shape (n, r)
        The targets.
    weights : array of shape (n,), optional
        The weights of the rows.
    folds : Folds, optional
        How rows are held out, if they are not left out one by one.
    """

    x: Rows
    targets: Vector
    weights: Vector | None = None
    folds: Folds | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.x.n

    def take(self, rows: Index) -> "RegressionData":
        """Return the rows of the given indices; the data itself if these are all.

        Parameters
        ----------
        rows : array of int
            Distinct indices of rows.
        """
        if len(rows) == self.n:
            return self
        weights = None if self.weights is None else self.weights[rows]
        folds = None if self.folds is None else self.folds.take(rows)
        return RegressionData(self.x.subset(rows), self.targets[rows], weights, folds)

    def alone(self) -> "RegressionData":
        """Return the rows with folds for choices among them alone."""
        folds = None if self.folds is None else self.folds.within()
        return replace(self, folds=folds)


def validation_rows(data: RegressionData, random_state: int) -> Index:
    """Return the indices of up to 4,096 rows on which leave-one-out errors are compared.

    Parameters
    ----------
    data : RegressionData
        All rows; many are drawn in proportion to their weights.
    random_state : int
        The seed.
    """
    return draw_rows(data, SETTINGS.validation_rows, np.random.default_rng(random_state))


def draw_rows(data: RegressionData, most: int, rng: np.random.Generator) -> Index:
    """Return the sorted indices of at most so many rows, drawn in proportion to weights.

    Parameters
    ----------
    data : RegressionData
        All rows.
    most : int
        How many there may be.
    rng : Generator
        Draws them, if not all are taken.
    """
    if data.n <= most:
        return np.arange(data.n)
    weights = data.weights
    share = None if weights is None else weights / weights.sum()
    most = most if weights is None else min(most, int(np.count_nonzero(weights)))
    return np.sort(rng.choice(data.n, most, replace=False, p=share))
