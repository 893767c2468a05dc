"""What fitted locations and fitted scales answer: forecasts and scales at rows."""

from typing import Any, Protocol

from jointdist._array import Vector
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Kernel

__all__ = ["Location", "Scale"]


class Location(Protocol):
    """A fitted regressor of the location."""

    @property
    def model(self) -> Any:
        """The regressor, as users see it."""

    @property
    def kernel(self) -> Kernel | None:
        """The leading kernel of a kernel regression; None for others."""

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        table : array or DataFrame
            The same rows, as users give them.
        doubt : array of shape (q,)
            How far the rows are out of distribution, from zero to one.
        executor : Executor, optional
            Runs the row blocks.
        """


class Scale(Protocol):
    """The scale of outcomes, as a function of x and the forecast."""

    @property
    def value(self) -> Any:
        """What users see: the numbers of a constant scale, or the regression."""

    def at(self, x: Rows, p: Rows, executor: Executor | None = None) -> Vector:
        """Return the scales at rows, ``(q, r)``.

        Parameters
        ----------
        x, p : Rows
            The rows of x, and their forecasts.
        executor : Executor, optional
            Runs the row blocks.
        """
