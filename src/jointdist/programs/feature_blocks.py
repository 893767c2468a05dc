"""The features of many rows, in row blocks that are kept or computed anew."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from jointdist._array import Matrix, array_namespace
from jointdist._cached import cached
from jointdist.data.executor import Executor

__all__ = ["Blocks"]

T = TypeVar("T")

_KEPT = 1 << 28  # numbers that are kept in memory: 2 GiB in float64


@dataclass(frozen=True, eq=False)
class Blocks:
    """Features, a block of rows at a time.

    They are kept in memory if they are few enough, and otherwise computed anew in every
    pass, so that their number is not bounded by memory.

    Attributes
    ----------
    n, m : int
        The number of rows, and that of features.
    compute : callable
        From a slice of rows to their features, of shape ``(b, m)``.
    intercept : bool
        Whether a last column of ones is added.
    executor : Executor
        Runs the row blocks.
    limit : int
        The most numbers that are kept.
    dtype : {"float64", "float32"}
        The precision in which features are kept and handed over.
    """

    n: int
    m: int
    compute: Callable[[slice], Matrix]
    intercept: bool = False
    executor: Executor = field(default_factory=Executor)
    limit: int = _KEPT
    dtype: Literal["float64", "float32"] = "float64"

    @property
    def width(self) -> int:
        """The number of columns of a block."""
        return self.m + int(self.intercept)

    @cached
    def reach(self) -> float:
        """The largest norm of the features of a row."""

        def largest(_rows: slice, F: Matrix) -> float:
            return float(np.einsum("ij,ij->i", F[:, : self.m], F[:, : self.m]).max())

        return math.sqrt(max(self.each(largest)))

    def each(self, task: Callable[[slice, Matrix], T]) -> Iterator[T]:
        """Yield the results of ``task`` on all row blocks, in their order.

        Parameters
        ----------
        task : callable
            It is given the rows of a block, and their features.
        """
        kept, step = self._kept, self.executor.block_rows

        def work(rows: slice) -> T:
            F = self._read(rows) if kept is None else kept[rows.start // step]
            return task(rows, F)

        return self.executor.each(work, self._slices())

    @cached
    def _kept(self) -> list[Matrix] | None:
        if self.n * self.width > self.limit:
            return None
        return list(self.executor.each(self._read, self._slices()))

    def _slices(self) -> Iterator[slice]:
        step = self.executor.block_rows
        return (slice(a, min(a + step, self.n)) for a in range(0, self.n, step))

    def _read(self, rows: slice) -> Matrix:
        F = self.compute(rows)
        if self.dtype == "float32":
            xp = array_namespace(F)
            F = xp.astype(F, xp.float32, copy=False)
        return np.pad(F, ((0, 0), (0, 1)), constant_values=1.0) if self.intercept else F
