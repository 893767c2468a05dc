"""Forecasts of probabilities of cells of outcomes, as distributions: direct members of a pool."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from jointdist._array import Array, Matrix, Vector
from jointdist._cached import Cached, cached
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.protocols import Conditions
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.projection.proper import ProperDistributions
from jointdist.regression.forest import Forest

__all__ = ["CellDistributions", "CellForecasts", "CellModel", "known_cells"]

_KEPT = 1 << 25  # probabilities stored: a memory budget of a quarter of a gigabyte
_WORKED = 1 << 22  # probabilities worked on at a time: 32 MB


class CellModel(Protocol):
    """A fitted model of the probabilities of cells given x."""

    def weights(self, z: Array) -> Matrix:
        """Return the probabilities of the cells at rows of X, ``(b, K)``."""


@dataclass(frozen=True, eq=False)
class CellForecasts:
    """A model of the probabilities of cells, with the outcomes in these.

    Attributes
    ----------
    model : Forest or LogRatio
        The model.
    cells : CellSupport
        The outcomes in cells.
    """

    model: Forest | LogRatio
    cells: CellSupport

    def of_y(
        self, conditions: Conditions, x: Rows, executor: Executor | None
    ) -> "CellDistributions":
        """Return the distributions of Y given rows of X.

        Parameters
        ----------
        conditions : Conditions
            The rows, as conditions.
        x : Rows
            The rows, encoded.
        executor : Executor, optional
            Runs the row blocks.
        """
        found = CellConditions(conditions, x, self.model, self.cells.mean, executor)
        return CellDistributions(self.cells, found)


@dataclass(frozen=True, eq=False)
class CellConditions(Cached):
    """Rows of X as conditions of probabilities of cells.

    Attributes
    ----------
    given : Conditions
        The conditions.
    rows : Rows
        The rows, encoded.
    model : CellModel
        The model.
    shares : array of shape (K,)
        The shares of the cells in the sample.
    executor : Executor, optional
        Runs the row blocks.
    """

    given: Conditions
    rows: Rows
    model: CellModel
    shares: Vector
    executor: Executor | None

    @property
    def n(self) -> int:
        """The number of conditions."""
        return self.given.n

    def parts(self) -> Iterator[Matrix]:
        """Yield the coefficients of all distributions in order, some rows at a time."""
        if self.n * len(self.shares) <= _KEPT:
            yield self.t
            return
        step = max(_WORKED // len(self.shares), 1)
        for start in range(0, self.n, step):
            yield self._between(start, min(start + step, self.n))

    @cached
    def t(self) -> Matrix:
        """The coefficients of all distributions, ``(q, K)``."""
        return self._between(0, self.n)

    def _between(self, start: int, stop: int) -> Matrix:
        rows = self.rows.subset(np.arange(start, stop))
        if not rows.n:
            return np.empty((0, len(self.shares)))
        workers = executor_for(rows, self.executor)
        parts = workers.map(lambda _, z: self.model.weights(z), rows)
        found = np.concatenate(list(parts))
        found /= self.shares
        found -= 1
        return found

    def novelty(self) -> Vector:
        """Return how far out of distribution each condition is, from zero to one."""
        return self.given.novelty()

    def leverage(self) -> Vector:
        """Return the weight of an outcome at each condition in the forecast there."""
        return self.given.leverage()

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns of each condition that are outside the range seen."""
        return self.given.outside()

    def labels(self) -> tuple[str, list[str]]:
        """Return the names of the columns that tell conditions apart, and their values."""
        return self.given.labels()

    def take(self, rows: Any) -> "CellConditions":
        """Return the chosen conditions."""
        chosen = self.rows.subset(np.arange(self.n)[rows])
        found = replace(self, given=self.given.take(rows), rows=chosen)
        if "t" in vars(self):
            vars(found)["t"] = self.t[rows]
        return found


@dataclass(frozen=True, eq=False)
class CellDistributions(ProperDistributions):
    """Distributions given by the probabilities of cells."""

    def projection(self) -> None:
        """Return None: these are proper without a projection."""


def known_cells(cells: CellSupport, probabilities: Matrix) -> CellDistributions:
    """Return distributions whose probabilities of cells are known.

    Parameters
    ----------
    cells : CellSupport
        The cells.
    probabilities : array of shape (q, K)
        The probabilities.
    """
    return CellDistributions(cells, Fixed(probabilities / cells.mean - 1))
