"""What differs from one array library to another.

The mathematics is written against the array API standard, through the namespace
returned by :func:`array_namespace`; only here and where rows are read is NumPy special.
"""

from typing import Any, TypeAlias

import array_api_compat as compat
import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Index",
    "Matrix",
    "Vector",
    "array_namespace",
    "device",
    "exp",
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


def is_array(value: object) -> bool:
    """Tell whether ``value`` is an array of a library that follows the standard."""
    return bool(compat.is_array_api_obj(value))


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
    """Return the exponential of ``a``, which the caller must own: it may be overwritten.

    Reusing the memory halves the time of a pass over large data.
    """
    if is_numpy_array(a):
        return np.exp(a, out=a)
    return array_namespace(a).exp(a)


def zero_below(a: Array, limit: float) -> Array:
    """Set to zero what is nearer to it than ``limit``, or beyond it on the other side.

    All of ``a`` has the sign of ``limit``, but for rounding. It may be overwritten.
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
