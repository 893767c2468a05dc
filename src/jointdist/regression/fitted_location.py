"""Fitted regressors of the location: one by one, and as their weighted average."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.regression.forest import Forest
from jointdist.regression.kernel_ridge import KernelRegression
from jointdist.regression.out_of_fold import FoldModels
from jointdist.regression.protocols import Location
from jointdist.regression.tree_columns import for_trees
from jointdist.regression.trees import TreeEnsemble

__all__ = [
    "ForestLocation",
    "KernelLocation",
    "RegressorLocation",
    "StackedLocation",
    "TreeLocation",
]

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


@dataclass(frozen=True, eq=False)
class ForestLocation:
    """The mean of the distributions of a forest.

    Attributes
    ----------
    model : Forest
        The forest.
    centres : array of shape (K, r)
        The mean outcome of each cell.
    kernel : None
        There is none.
    """

    model: Forest
    centres: Vector
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
        del table, doubt
        parts = executor_for(x, executor).map(lambda _, z: self.model.weights(z), x)
        return np.concatenate([part @ self.centres for part in parts])


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
