"""Functions that hide the differences between array libraries, and aliases of array types.

The mathematics is written against the array API standard, through the namespace returned by
:func:`array_namespace`. Only this module and the reading of rows treat NumPy as special.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import array_api_compat as compat
import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray
from scipy.sparse import csc_array

__all__ = [
    "Array",
    "Index",
    "Matrix",
    "Vector",
    "array_namespace",
    "device",
    "exp",
    "float64_bits",
    "gather",
    "group_sums",
    "group_weights",
    "is_array",
    "is_numpy_array",
    "like",
    "symmetric",
    "to_numpy",
    "zero_below",
]

Array: TypeAlias = Any  # the standard has no Protocol for arrays yet
Vector: TypeAlias = NDArray[np.float64]  # numbers in host memory, of any shape
Matrix: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

# Rows of a matrix that are transposed at once: eight float64 numbers fill a cache line, and
# rows of 3,072 numbers, whose places in a cache coincide, are few enough to stay in it.
# Measured: 0.3 ms for 150 rows, against 1.3 ms all at once.
_TRANSPOSED = 8

# Tells whether a value is an array of a library that follows the standard.
is_array: Callable[[object], bool] = compat.is_array_api_obj


def to_numpy(a: Array) -> NDArray[Any]:
    """Return ``a`` as a NumPy array in host memory."""
    if compat.is_torch_array(a) or compat.is_cupy_array(a):
        a = compat.to_device(a, "cpu")
    return np.asarray(a)


def like(values: NDArray[Any], a: Array) -> Array:
    """Return host ``values`` as an array of the library and on the device of ``a``."""
    if is_numpy_array(a):
        return values
    return array_namespace(a).asarray(values, device=device(a))


def exp(a: Array) -> Array:
    """Return the exponential of ``a``, a temporary array that may be overwritten.

    Reusing the memory halves the time of a pass over large data.
    """
    if is_numpy_array(a):
        return np.exp(a, out=a)
    return array_namespace(a).exp(a)


def zero_below(a: Array, limit: float) -> Array:
    """Return ``a`` with entries nearer to zero than ``limit``, or of the other sign, set to zero.

    Up to rounding, all entries of ``a`` have the sign of ``limit``. ``a`` may be overwritten.
    """
    if not is_numpy_array(a):
        small = a < limit if limit > 0 else a > limit
        return array_namespace(a).where(small, 0.0, a)
    if (a.min() < limit) if limit > 0 else (a.max() > limit):  # rare, and seen fast
        a[a < limit if limit > 0 else a > limit] = 0.0
    return a


def symmetric(a: Array) -> Array:
    """Return the symmetric part of a square matrix."""
    return (a + a.T) / 2


def float64_bits(a: Array) -> Array:
    """Return the bits of float64 numbers as int64 numbers."""
    xp = array_namespace(a)
    if is_numpy_array(a) or compat.is_torch_array(a) or compat.is_cupy_array(a):
        return a.view(xp.int64)
    return like(to_numpy(a).view(np.int64), a)


def gather(a: Array, index: Array) -> Array:
    """Return the rows of ``a`` with given numbers; ``take`` of some libraries is slow."""
    if is_numpy_array(a):
        return a.take(index, axis=0)
    if compat.is_torch_array(a) or compat.is_cupy_array(a):
        return a[index]
    return array_namespace(a).take(a, index, axis=0)


def group_sums(index: Array, k: int, weights: Array | None, *values: Array) -> list[Matrix]:
    """Return weighted sums of columns by group, each of shape ``(k, m)``, in host memory.

    Parameters
    ----------
    index : Array of int, of shape (n,)
        The group of each column, from 0 to ``k - 1``.
    k : int
        The number of groups.
    weights : Array of shape (n,), optional
        The weights; one by default.
    *values : Arrays of shape (m, n)
        The columns. The transpose of an array of shape ``(n, m)`` is summed fastest.
    """
    if compat.is_torch_array(index) or compat.is_cupy_array(index):
        return [to_numpy(_scattered(index, k, weights, part)) for part in values]
    n = int(index.shape[0])
    ones = np.ones(n) if weights is None else to_numpy(weights)
    groups = csc_array((ones, to_numpy(index), np.arange(n + 1)), shape=(k, n))
    return [groups @ _transposed(to_numpy(part)) for part in values]


def group_weights(
    index: Array, k: int, weights: Array | None
) -> tuple[Vector, Vector, Index]:
    """Return the sums of weights, of their squares, and the sizes of groups, of shape ``(k,)``.

    Parameters
    ----------
    index : Array of int, of shape (n,)
        The group of each row, from 0 to ``k - 1``.
    k : int
        The number of groups.
    weights : Array of shape (n,), optional
        The weights; one by default.
    """
    if is_numpy_array(index):
        count = np.bincount(index, minlength=k)
        if weights is None:
            return count.astype(np.float64), count.astype(np.float64), count
        weight, squared = (np.bincount(index, u, k) for u in (weights, weights * weights))
        return np.asarray(weight, np.float64), np.asarray(squared, np.float64), count
    xp = array_namespace(index)
    one = xp.astype(xp.ones_like(index), xp.float64)
    u = one if weights is None else weights
    [sums] = group_sums(index, k, None, xp.stack([u, u * u, one]))
    return sums[:, 0], sums[:, 1], sums[:, 2].astype(np.intp)


def _scattered(index: Array, k: int, weights: Array | None, values: Array) -> Array:
    """Return the sums of groups on an accelerator."""
    xp = array_namespace(values)
    rows = xp.astype(values, xp.float64, copy=False).T
    rows = rows if weights is None else rows * weights[:, None]
    total = xp.zeros((k, rows.shape[1]), dtype=xp.float64, device=device(values))
    if compat.is_torch_array(values):
        return total.index_add_(0, index, rows)
    xp.add.at(total, index, rows)
    return total


def _transposed(a: Matrix) -> Matrix:
    """Return the transpose of a matrix, contiguous."""
    if a.T.flags.c_contiguous:
        return a.T
    turned = np.empty(a.T.shape)
    for start in range(0, len(a), _TRANSPOSED):
        stop = start + _TRANSPOSED
        turned[:, start:stop] = a[start:stop].T
    return turned
