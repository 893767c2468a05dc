"""The interface of tables that algorithms read in blocks of rows."""

from typing import Protocol, Self

from jointdist._array import Array, Index

__all__ = ["RowSource"]


class RowSource(Protocol):
    """A table of ``n`` rows and ``d`` columns of numbers, read in blocks.

    All passes over data need no more than this; :class:`~jointdist.data.table.Rows`
    implements it for arrays in memory and on accelerators, memory maps and data frames. A
    source does not change, and several threads may read it at once. Blocks are
    two-dimensional float64 arrays of one array library and device, with finite numbers only:
    a source raises ``ValueError`` that names the first bad row otherwise.
    """

    @property
    def n(self) -> int:
        """The number of rows."""
        ...

    @property
    def d(self) -> int:
        """The number of columns."""
        ...

    @property
    def in_host_memory(self) -> bool:
        """Whether blocks are NumPy arrays."""
        ...

    def read(self, start: int, stop: int) -> Array:
        """Return the rows from ``start`` to below ``stop``."""
        ...

    def take(self, rows: Index) -> Array:
        """Return the given rows, in the given order."""
        ...

    def subset(self, rows: Index) -> Self:
        """Return a table of the given rows, copied into memory."""
        ...
