"""Answers as arrays of the library and on the device of the conditions."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Array, like
from jointdist.data.table import Rows
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.protocols import Distributions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DeviceConditional", "answering", "in_host_memory"]

_NUMBERS = (
    "mass",
    "expect",
    "prob",
    "mean",
    "second_moment",
    "cov",
    "var",
    "std",
    "cdf",
    "quantile",
    "median",
    "interval",
    "pdf",
    "logpdf",
    "sample",
    "mode",
    "weights",
    "support_points",
    "negative_share",
    "effective_size",
    "novelty",
)


class DeviceConditional(Conditional):
    """Conditional distributions given an array of another library than NumPy.

    Numbers come as arrays of the same library, on the same device; categories as NumPy arrays.

    Parameters
    ----------
    distributions : Distributions
        What answers the questions.
    array : Array
        The conditions.
    """

    def __init__(self, distributions: Distributions, array: Array) -> None:
        super().__init__(distributions)
        self._array = array[:1, :]

    def __getitem__(self, index: Any) -> "DeviceConditional":
        """Return the chosen distributions, or those of the columns of given names."""
        chosen = in_host_memory(self)[index].distributions
        return DeviceConditional(chosen, self._array)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the densities or probabilities, as :meth:`Conditional.plot` does.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw.
        """
        return in_host_memory(self).plot(ax)

    def to_frame(self, levels: ArrayLike = (0.05, 0.5, 0.95)) -> Any:
        """Return a summary as a DataFrame, as :meth:`Conditional.to_frame` does.

        Parameters
        ----------
        levels : array of shape (l,)
            The levels of the quantiles.
        """
        return in_host_memory(self).to_frame(levels)

    def __repr__(self) -> str:
        return repr(in_host_memory(self))


def _answered(name: str) -> Callable[..., Any]:
    """Return the method of that name with its answer on the device."""
    method = getattr(Conditional, name)

    @wraps(method)
    def on_device(self: DeviceConditional, *args: Any, **kwargs: Any) -> Any:
        found = method(in_host_memory(self), *args, **kwargs)
        numbers = isinstance(found, np.ndarray) and found.dtype.kind in "biuf"
        return like(found, self._array) if numbers else found

    return on_device


for _name in _NUMBERS:
    setattr(DeviceConditional, _name, _answered(_name))


def in_host_memory(dist: Conditional) -> Conditional:
    """Return distributions whose answers are NumPy arrays.

    Parameters
    ----------
    dist : Conditional
        The distributions.
    """
    return dist if type(dist) is Conditional else Conditional(*dist.parts)


def answering(distributions: Distributions, rows: Rows, index: Any = None) -> Conditional:
    """Return distributions that answer with arrays of the kind of their conditions.

    Parameters
    ----------
    distributions : Distributions
        What answers the questions.
    rows : Rows
        The conditions.
    index : index of pandas, optional
        The labels of the conditions.
    """
    if rows.in_host_memory:
        return Conditional(distributions, index=index)
    return DeviceConditional(distributions, rows.source)
