"""Upper bounds of kernels, for positivity at every point and not just on the sample."""

import math
from typing import Protocol, runtime_checkable

from jointdist._array import Array
from jointdist.kernels import (
    Columns,
    Delta,
    Gaussian,
    Kernel,
    Laplace,
    Matern,
    Product,
    Sum,
)

__all__ = ["Bounded", "upper_bound"]


@runtime_checkable
class Bounded(Protocol):
    """A kernel of one's own that states its bound."""

    @property
    def bound(self) -> float:
        """A number such that no value of the kernel is below zero or above it."""
        ...

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        ...

    def diagonal(self, X: Array) -> Array:
        """Return the diagonal of the kernel matrix of ``X`` with itself."""
        ...


def upper_bound(kernel: Kernel) -> float:
    """Return a number such that all values of the kernel lie from zero to it.

    Parameters
    ----------
    kernel : Kernel
        A kernel of this package, or one with an attribute ``bound``.

    Returns
    -------
    float
        The bound; infinity if the kernel has none, or states none.

    Examples
    --------
    >>> from jointdist.bounded import upper_bound
    >>> from jointdist.kernels import Delta, Gaussian, Polynomial
    >>> upper_bound(Gaussian(2.0) * Delta() + Gaussian())
    2.0
    >>> upper_bound(Polynomial(degree=2))
    inf
    """
    match kernel:
        case Gaussian() | Laplace() | Matern() | Delta():
            return 1.0
        case Sum():
            return sum(upper_bound(part) for part in kernel.kernels)
        case Product():
            return math.prod(upper_bound(part) for part in kernel.kernels)
        case Columns():
            return upper_bound(kernel.kernel)
        case Bounded():
            return float(kernel.bound)
    return math.inf
