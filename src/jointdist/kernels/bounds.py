"""Upper bounds of kernels, for positivity at all points and not just on the sample."""

import math
from typing import Protocol, runtime_checkable

__all__ = ["Bounded", "upper_bound"]


@runtime_checkable
class Bounded(Protocol):
    """A kernel that states its upper bound."""

    @property
    def bound(self) -> float:
        """A number such that no value of the kernel is below zero or above it."""
        ...


def upper_bound(kernel: object) -> float:
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
    >>> from jointdist.kernels import Delta, Gaussian, Polynomial
    >>> from jointdist.kernels.bounds import upper_bound
    >>> upper_bound(Gaussian(2.0) * Delta() + Gaussian())
    2.0
    >>> upper_bound(Polynomial(degree=2))
    inf
    """
    return float(kernel.bound) if isinstance(kernel, Bounded) else math.inf
