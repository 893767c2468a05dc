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
