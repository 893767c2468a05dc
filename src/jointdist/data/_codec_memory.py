"""The order of the axes of arrays in memory, which decides how sums over them round.

Files hold all arrays row by row. An array that was transposed or reversed without a copy
becomes so again when it is read, so that a model of a file answers bit by bit as before.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["axes_in_memory", "in_memory"]


def axes_in_memory(array: NDArray[Any]) -> list[int] | None:
    """Return the axes from the outermost in memory to the innermost; None if as usual.

    Parameters
    ----------
    array : array
        The array.

    Returns
    -------
    list of int
        The numbers of the axes, counted from one; negative if an axis is reversed.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data._codec_memory import axes_in_memory
    >>> axes_in_memory(np.ones((2, 3)).T), axes_in_memory(np.ones((2, 3))[:, ::-1])
    ([2, 1], [1, -2])
    """
    if array.flags.c_contiguous:
        return None
    order = np.argsort([-abs(step) for step in array.strides], kind="stable").tolist()
    signed = [-1 - axis if array.strides[axis] < 0 else 1 + axis for axis in order]
    return None if signed == [*range(1, 1 + array.ndim)] else signed


def in_memory(array: NDArray[Any], axes: Sequence[int]) -> NDArray[Any]:
    """Return a copy with axes that are in memory as :func:`axes_in_memory` tells.

    Parameters
    ----------
    array : array
        The array, in row-major order.
    axes : sequence of int
        The axes.
    """
    turned = tuple(
        slice(None, None, -1 if -1 - axis in axes else None) for axis in range(array.ndim)
    )
    order = [abs(axis) - 1 for axis in axes]
    base = np.ascontiguousarray(array[turned].transpose(order))
    base.setflags(write=False)
    return base.transpose(np.argsort(order))[turned]
