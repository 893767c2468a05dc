"""Sums and products of kernels, and kernels of a part of the columns.

This file also holds what all kernels share: the protocol :class:`Kernel`, and the operators
``+``, ``*`` and ``on`` by which the kernels of the library combine.
"""

import math
from abc import ABC
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from jointdist._array import Array, array_namespace, device
from jointdist._params import Parametric, WithParameters
from jointdist._rules import is_whole, require
from jointdist.kernels.bounds import upper_bound

__all__ = ["Columns", "Combinable", "Kernel", "Product", "Sum"]


@runtime_checkable
class Kernel(Protocol):
    """The two methods that make an object a kernel :math:`k`.

    Both methods get two-dimensional float64 arrays, blocks of rows, perhaps from several
    threads at once. Their results are not modified. A kernel may also have ``get_params``
    and ``set_params``, as scikit-learn's estimators do, so that a grid search can set its
    parameters (on copies); and an attribute ``bound``, an upper bound of its values, which
    are not negative then.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import kernels, pivoted_cholesky
    >>> class Cosine:
    ...     def __call__(self, X, Z):
    ...         return np.cos(X - Z.T)
    ...     def diagonal(self, X):
    ...         return np.ones(len(X))
    >>> pivoted_cholesky(Cosine(), np.linspace(0, 9, 100)[:, None], tol=1e-9).rank
    2
    >>> mixed = kernels.Columns(Cosine(), [0]) * kernels.Delta().on(1)
    """

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the matrix :math:`k(x_i, z_j)`, of shape ``(n, m)``."""
        ...

    def diagonal(self, X: Array) -> Array:
        """Return the vector :math:`k(x_i, x_i)`, of shape ``(n,)``."""
        ...


class Combinable(WithParameters, ABC):
    """A kernel that combines with others by ``+``, ``*`` and ``on``."""

    __slots__ = ()

    def __add__(self: Kernel, other: Kernel) -> "Sum":
        return Sum(self, other)

    def __radd__(self: Kernel, other: Kernel) -> "Sum":
        return Sum(other, self)

    def __mul__(self: Kernel, other: Kernel) -> "Product":
        return Product(self, other)

    def __rmul__(self: Kernel, other: Kernel) -> "Product":
        return Product(other, self)

    def on(self: Kernel, *columns: int) -> "Columns":
        """Return this kernel acting on the given columns only."""
        return Columns(self, columns)


@dataclass(frozen=True, init=False, repr=False)
class _Combination(Combinable, ABC):
    """Kernels combined entry by entry, by an operator."""

    kernels: tuple[Kernel, ...]
    _operator: ClassVar[Any]  # a builtin function, which does not bind to the instance

    def __init__(self, *kernels: Kernel) -> None:
        object.__setattr__(self, "kernels", _checked_kernels(type(self).__name__, kernels))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.kernels))})"

    def _parts(self) -> dict[str, Any]:
        return {str(i): kernel for i, kernel in enumerate(self.kernels)}

    def _rebuilt(self, parts: dict[str, Any]) -> Self:
        return type(self)(*parts.values())

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        return reduce(self._operator, (k(X, Z) for k in self.kernels))

    def diagonal(self, X: Array) -> Array:
        """Return the diagonal of the kernel matrix."""
        return reduce(self._operator, (k.diagonal(X) for k in self.kernels))


@dataclass(frozen=True, init=False, repr=False)
class Sum(_Combination):
    """The sum of kernels, also written ``k1 + k2``.

    Parameters
    ----------
    *kernels : Kernel
        The kernels to add.

    Examples
    --------
    >>> from jointdist.kernels import Gaussian, Polynomial
    >>> Gaussian(1.0) + Polynomial(1)
    Sum(Gaussian(scale=1.0), Polynomial(degree=1, offset=1.0, scale=1.0))
    """

    _operator = add

    @property
    def bound(self) -> float:
        """The sum of the bounds of the kernels."""
        return sum(upper_bound(part) for part in self.kernels)


@dataclass(frozen=True, init=False, repr=False)
class Product(_Combination):
    """The product of kernels, also written ``k1 * k2``.

    Parameters
    ----------
    *kernels : Kernel
        The kernels to multiply.

    Examples
    --------
    A number in column 0, and a category in column 1:

    >>> from jointdist.kernels import Delta, Gaussian
    >>> Gaussian(1.0).on(0) * Delta().on(1)
    Product(Gaussian(scale=1.0).on(0), Delta(similarity=0.0).on(1))
    """

    _operator = mul

    @property
    def bound(self) -> float:
        """The product of the bounds of the kernels."""
        return math.prod(upper_bound(part) for part in self.kernels)


@dataclass(frozen=True, slots=True)
class Columns(Combinable, Parametric):
    """A kernel of a part of the columns, also written ``kernel.on(0, 2)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel to apply.
    columns : sequence of int
        The columns that it is applied to, counted from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Gaussian
    >>> Gaussian(1.0).on(1)(np.array([[5.0, 0.0]]), np.array([[7.0, 0.0]]))
    array([[1.]])
    """

    kernel: Kernel
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        _checked_kernels("Columns", (self.kernel,))
        given: Any = self.columns
        columns = tuple(given) if isinstance(given, Iterable) else ()
        whole = all(is_whole(c, least=0) for c in columns)
        require(
            columns and whole, "Columns", "columns", "column numbers from 0", self.columns
        )
        object.__setattr__(self, "columns", tuple(int(c) for c in columns))

    def __repr__(self) -> str:
        return f"{self.kernel!r}.on({', '.join(map(str, self.columns))})"

    @property
    def bound(self) -> float:
        """The bound of the kernel that is applied."""
        return upper_bound(self.kernel)

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        return self.kernel(self._select(X), self._select(Z))

    def diagonal(self, X: Array) -> Array:
        """Return the diagonal of the kernel matrix."""
        return self.kernel.diagonal(self._select(X))

    def _select(self, X: Array) -> Array:
        d, last = X.shape[1], max(self.columns)
        require(last < d, "Columns", "columns", f"below {d}, the columns of X", last)
        xp = array_namespace(X)
        chosen = xp.asarray(self.columns, dtype=xp.int64, device=device(X))
        return xp.take(X, chosen, axis=1)


def _checked_kernels(where: str, kernels: tuple[Any, ...]) -> tuple[Kernel, ...]:
    """Return the kernels, at least one and each with the two methods."""
    good = all(isinstance(k, Kernel) and not isinstance(k, type) for k in kernels)
    rule = "kernels: objects with `__call__(X, Z)` and `diagonal(X)`"
    require(kernels and good, where, "kernels", rule, kernels)
    return kernels
