"""The only module that tells one array library from another.

Everything else is written against the array API standard through the namespace
returned by :func:`array_namespace`.
"""

from typing import Any, TypeAlias

import array_api_compat as compat
import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from numpy.typing import NDArray

__all__ = [
    "Array",
    "array_namespace",
    "device",
    "exp",
    "is_array",
    "is_numpy_array",
    "like",
    "symmetric",
    "to_numpy",
    "towards_zero",
]

Array: TypeAlias = Any  # the standard has no Protocol for arrays yet


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


def towards_zero(a: Array, *, sign: float) -> Array:
    """Set to zero what has not the given sign; ``a`` may be overwritten."""
    xp = array_namespace(a)
    if not is_numpy_array(a):
        return xp.clip(a, max=0.0) if sign < 0 else xp.clip(a, min=0.0)
    if sign < 0:  # most often there is nothing to do, which is seen fast
        return np.minimum(a, 0.0, out=a) if a.max(initial=0.0) > 0 else a
    return np.maximum(a, 0.0, out=a) if a.min(initial=0.0) < 0 else a


def symmetric(a: Array) -> Array:
    """Return the symmetric part of a square matrix."""
    return (a + a.T) / 2
