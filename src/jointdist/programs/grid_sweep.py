"""Sweeps over a grid: the smallest value of each row, without the grid in memory.

The values are those of a bilinear form at all pairs of rows of two tables. They are
computed in tiles that fit into the cache, on a pool of threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Matrix, Vector
from jointdist._cached import cached
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows

__all__ = ["Grid", "Lowest", "Pairs"]

Pairs = NDArray[np.intp]  # of shape (k, 2): a row of the first table, one of the second
Tile = NDArray[Any]  # in single or double precision

_POOL = Executor(block_rows=256)
_TILE = 2048  # columns of a tile: with 256 rows 4 MiB of float64


@dataclass(frozen=True, slots=True, eq=False)
class Lowest:
    """The lowest values of a sweep.

    Attributes
    ----------
    value : float
        The lowest value of all.
    values : array of shape (k,)
        The lowest value of each row that has one below minus one.
    pairs : array of shape (k, 2)
        Where they are.
    """

    value: float
    values: Vector
    pairs: Pairs


@dataclass(frozen=True, eq=False)
class Grid:
    """All pairs of rows of two tables.

    Attributes
    ----------
    F_y, F_x : arrays of shape (n_Y, m_Y) and (n_X, m_X)
        The tables.
    numbers : tuple of arrays of shape (n_Y,) and (n_X,), optional
        The numbers of the rows in the larger grid they were taken from.
    """

    F_y: Matrix
    F_x: Matrix
    numbers: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    @cached
    def size(self) -> float:
        """The largest norm of the product of two rows."""
        y, x = (np.einsum("ij,ij->i", F, F).max() for F in (self.F_y, self.F_x))
        return float(np.sqrt(y) * np.sqrt(x))

    def subset(self, rows_y: NDArray[np.intp], rows_x: NDArray[np.intp]) -> "Grid":
        """Return the grid of some rows of either table."""
        return Grid(self.F_y[rows_y], self.F_x[rows_x], (rows_y, rows_x))

    def at(self, H: Matrix, pairs: Pairs) -> Vector:
        """Return the values at some pairs."""
        f_y, f_x = self.rows(pairs)
        values: Vector = np.einsum("ki,ki->k", f_y @ H, f_x)
        return values

    def rows(self, pairs: Pairs) -> tuple[Matrix, Matrix]:
        """Return the rows of both tables at some pairs."""
        return self.F_y[pairs[:, 0]], self.F_x[pairs[:, 1]]

    def lowest(self, H: Matrix, *, exact: bool = True) -> Lowest:
        """Sweep all pairs, in double precision if ``exact``, else in single."""
        with np.errstate(over="ignore"):  # the caller sees what is not finite
            F: Tile = self.F_x if exact else self.F_x.astype(np.float32)
        rows = as_rows(self.F_y, where="grid_positive", name="F_y")

        def block(start: int, f: Matrix) -> tuple[float, Vector, Pairs]:
            with np.errstate(over="ignore", invalid="ignore"):
                low, columns = _row_minima((f @ H).astype(F.dtype), F)
            below = np.flatnonzero(low < -1)
            pairs = np.stack([start + below, columns[below]], axis=1)
            return float(low.min()), low[below].astype(np.float64), pairs

        parts = list(_POOL.map(block, rows))
        low, values, pairs = (list(part) for part in zip(*parts, strict=True))
        places = np.concatenate(pairs)
        if self.numbers is not None:
            numbers = zip(self.numbers, places.T, strict=True)
            places = np.stack([number[i] for number, i in numbers], axis=1)
        return Lowest(float(np.min(low)), np.concatenate(values), places)


def _row_minima(left: Tile, F: Tile) -> tuple[Tile, NDArray[np.intp]]:
    """Return the minimum of each row of ``left @ F.T``; where it is, if below -1."""
    low = np.full(len(left), np.inf, dtype=left.dtype)
    columns = np.zeros(len(left), dtype=np.intp)
    for start in range(0, len(F), _TILE):
        values = left @ F[start : start + _TILE].T
        least = values.min(axis=1)
        better = np.flatnonzero((least < low) & (least < -1))
        columns[better] = start + values[better].argmin(axis=1)
        low = np.minimum(low, least)
    return low, columns
