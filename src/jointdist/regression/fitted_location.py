"""Fitted regressors of the location: one by one, and as their weighted average."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.regression.kernel_ridge import KernelRegression
from jointdist.regression.out_of_fold import FoldModels
from jointdist.regression.protocols import Location
from jointdist.regression.trees import TreeEnsemble

__all__ = ["KernelLocation", "RegressorLocation", "StackedLocation", "TreeLocation"]


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
    """

    model: TreeEnsemble
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
        return self.model.predict(x, executor)


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
