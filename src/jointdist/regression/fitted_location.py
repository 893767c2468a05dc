"""Fitted regressors of the location: one by one, and as their weighted average."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.regression.kernel_ridge import KernelRegression
from jointdist.regression.out_of_fold import FoldModels
from jointdist.regression.protocols import Location
from jointdist.regression.trees import TreeEnsemble

__all__ = [
    "KernelLocation",
    "RegressorLocation",
    "StackedLocation",
    "TreeLocation",
    "for_trees",
    "tree_factors",
]

# Categories of a column that trees can tell apart, beside a missing and an unseen one.
_MOST_CATEGORIES = 250

_BLOCK = 4096  # rows that trees work on at a time: a memory budget


@dataclass(frozen=True, eq=False)
class KernelLocation:
    """Kernel regression, which reverts to the mean out of distribution."""

    model: KernelRegression

    @property
    def kernel(self) -> Kernel | None:
        """The leading kernel."""
        return self.model.kernel

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x, table, doubt, executor
            As for each :class:`Location`.
        """
        del table
        mean = self.model.mean
        found: Vector = mean + (1 - doubt)[:, None] * (
            self.model.predict(x, executor) - mean
        )
        return found


@dataclass(frozen=True, eq=False)
class RegressorLocation:
    """Regressors in the manner of scikit-learn, which read tables as users give them.

    Attributes
    ----------
    model : FoldModels
        The regressors, one for each fold.
    """

    model: FoldModels
    kernel: Kernel | None = None

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x, table, doubt, executor
            As for each :class:`Location`.
        """
        del x, doubt, executor
        return self.model.predict(table)


@dataclass(frozen=True, eq=False)
class TreeLocation:
    """Gradient boosting of encoded rows.

    Attributes
    ----------
    model : TreeEnsemble
        The trees of all folds.
    kernel : None
        There is none.
    encoding : Encoding, optional
        The columns of X, if some are unused or may be missing.
    """

    model: TreeEnsemble
    kernel: Kernel | None = None
    encoding: Encoding | None = None

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x, table, doubt, executor
            As for each :class:`Location`.
        """
        del table, doubt
        if self.encoding is not None:
            z = for_trees(to_numpy(x.read(0, x.n)), self.encoding)
            return np.concatenate([self.model.at(part) for part in _parts(z)])
        return self.model.predict(x, executor)


def for_trees(z: Vector, encoding: Encoding) -> Vector:
    """Return encoded rows as trees read them: NaN where an entry is missing.

    Columns that no model acts on are zero.

    Parameters
    ----------
    z : array of shape (n, D)
        The rows, encoded.
    encoding : Encoding
        Their columns.
    """
    if not encoding.unused and not encoding.neutral:
        return z
    found = np.array(z, dtype=np.float64)
    found[:, [i for i in encoding.unused if i not in tree_factors(encoding)]] = 0.0
    for i, neutral in enumerate(encoding.neutral):
        if neutral is not None:
            found[found[:, i] == neutral, i] = np.nan
    return found


def tree_factors(encoding: Encoding) -> list[int]:
    """Return the categorical columns that trees split on, but for those that are embedded.

    A column of many categories that has no effect of its own may still have one with others.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    """
    found = []
    for i, known in enumerate(encoding.categories):
        few = known is not None and len(known) <= _MOST_CATEGORIES
        if few and i not in encoding.embedded:
            found.append(i)
    return found


def _parts(z: Vector) -> Iterator[Vector]:
    """Yield blocks of rows, as many as trees work on at a time."""
    for start in range(0, len(z), _BLOCK):
        yield z[start : start + _BLOCK]


@dataclass(frozen=True, eq=False)
class StackedLocation:
    """A weighted average of regressors of the location.

    Attributes
    ----------
    parts : list of Location
        The regressors.
    weights : array of shape (k, r)
        Their weights for each column of outcomes; the sum is one.
    """

    parts: list[Location]
    weights: Vector

    @property
    def kernel(self) -> Kernel | None:
        """The leading kernel of kernel regression; None if there is none."""
        kernels = (part.kernel for part in self.parts)
        return next((kernel for kernel in kernels if kernel is not None), None)

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x, table, doubt, executor
            As for each :class:`Location`.
        """
        found = [part.predict(x, table, doubt, executor) for part in self.parts]
        average: Vector = np.einsum("kr,kqr->qr", self.weights, np.stack(found))
        return average
