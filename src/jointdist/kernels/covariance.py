r"""Positive definite kernels :math:`k(x, x')` (paper, section 3).

A kernel is any object with the two methods of :class:`Kernel`; there is no base class
to inherit from. The kernels of this module are frozen, and combine with ``+``, ``*``
and ``on``, so that numeric and categorical columns mix in one kernel:

>>> from jointdist.kernels import Delta, Gaussian
>>> kernel = Gaussian(2.0).on(0, 1) * Delta().on(2)
>>> kernel
Product(Gaussian(scale=2.0).on(0, 1), Delta(similarity=0.0).on(2))

Their parameters have names, so that a search can reach them. The kernels of a sum or
product are named by position, from zero; ``a * b * c`` is ``Product(Product(a, b), c)``.

>>> kernel.with_params(**{"0__kernel__scale": 3.0})
Product(Gaussian(scale=3.0).on(0, 1), Delta(similarity=0.0).on(2))
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add, mul
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from jointdist._array import Array, array_namespace, device, exp
from jointdist._params import Parametric
from jointdist.errors import Text, is_number, is_whole, require
from jointdist.kernels.distances import require_tables, squared_distances, sum_over_columns

__all__ = [
    "Columns",
    "Delta",
    "Gaussian",
    "Kernel",
    "Laplace",
    "Matern",
    "Polynomial",
    "Product",
    "Sum",
]

Scale: TypeAlias = float | tuple[float, ...]


@runtime_checkable
class Kernel(Protocol):
    """What the library asks of a kernel :math:`k`.

    Both methods get two-dimensional float64 arrays, blocks of rows, perhaps from several
    threads at once. What they return is not modified. Searches reach the parameters of
    kernels that have ``get_params`` and ``set_params``, as scikit-learn's estimators do;
    these are called on copies.

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


class _Combines(Parametric):
    """Kernels of this module combine by ``+``, ``*`` and ``on``."""

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


class _Stationary(_Combines):
    """Kernels whose diagonal is one."""

    __slots__ = ()

    def diagonal(self, X: Array) -> Array:
        """Return ones, of shape ``(n,)``."""
        return array_namespace(X).ones(X.shape[0], dtype=X.dtype, device=device(X))


@dataclass(frozen=True, slots=True)
class Gaussian(_Stationary):
    r"""The Gaussian kernel.

    .. math:: k(x, z) = \exp\Big(-\tfrac12 \sum_c \big((x_c - z_c) / \ell_c\big)^2\Big)

    Parameters
    ----------
    scale : float or sequence of float, default=1.0
        The length scale :math:`\ell > 0` in the units of the data: one number for all
        columns, or one per column. The standard deviation of each column is a common
        start. In terms of ``gamma`` elsewhere, :math:`\ell = 1 / \sqrt{2 \gamma}`.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Gaussian
    >>> Gaussian(scale=2.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.6065]])
    """

    scale: Scale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checked_scale("Gaussian", self.scale))

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        X, Z = _scaled("Gaussian", self.scale, X, Z)
        return exp(squared_distances(X, Z, factor=-0.5))


@dataclass(frozen=True, slots=True)
class Laplace(_Stationary):
    r"""The Laplace kernel, a product of exponentials over the columns.

    .. math:: k(x, z) = \exp\Big(-\sum_c |x_c - z_c| / \ell_c\Big)

    Parameters
    ----------
    scale : float or sequence of float, default=1.0
        The length scale :math:`\ell > 0`: one number, or one per column.
    """

    scale: Scale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checked_scale("Laplace", self.scale))

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        X, Z = _scaled("Laplace", self.scale, X, Z)
        xp = array_namespace(X)
        return exp(-sum_over_columns(X, Z, lambda x, z: xp.abs(x - z)))


@dataclass(frozen=True, slots=True)
class Matern(_Stationary):
    r"""The Matérn kernel with :math:`\nu` = 1/2, 3/2 or 5/2.

    With :math:`r^2 = \sum_c ((x_c - z_c) / \ell_c)^2` and
    :math:`t = \sqrt{2\nu}\, r` it is

    .. math:: e^{-t}, \qquad (1 + t)\, e^{-t}, \qquad (1 + t + t^2/3)\, e^{-t}.

    Parameters
    ----------
    scale : float or sequence of float, default=1.0
        The length scale :math:`\ell > 0`: one number, or one per column.
    nu : {0.5, 1.5, 2.5}, default=1.5
        The smoothness :math:`\nu`.
    """

    scale: Scale = 1.0
    nu: float = 1.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checked_scale("Matern", self.scale))
        known = is_number(self.nu, least=0.5) and self.nu in (0.5, 1.5, 2.5)
        require(known, "Matern", "nu", "0.5, 1.5 or 2.5", self.nu)

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        X, Z = _scaled("Matern", self.scale, X, Z)
        xp = array_namespace(X)
        # A square root turns rounding of size eps at zero into sqrt(eps), which only
        # the smooth members forgive.
        squares = squared_distances(X, Z, factor=2 * self.nu, exact=self.nu == 0.5)
        t = xp.sqrt(squares)
        if self.nu == 0.5:
            return exp(-t)
        polynomial = 1 + t if self.nu == 1.5 else 1 + t + t * t / 3
        return polynomial * exp(-t)


@dataclass(frozen=True, slots=True)
class Polynomial(_Combines):
    r"""The polynomial kernel.

    .. math:: k(x, z) = \big(a + \textstyle\sum_c x_c z_c / \ell_c^2\big)^q

    Parameters
    ----------
    degree : int, default=2
        The degree :math:`q \ge 1`.
    offset : float, default=1.0
        The constant :math:`a \ge 0`; with zero only monomials of degree :math:`q`
        are left.
    scale : float or sequence of float, default=1.0
        The length scale :math:`\ell > 0`: one number, or one per column.
    """

    degree: int = 2
    offset: float = 1.0
    scale: Scale = 1.0

    def __post_init__(self) -> None:
        whole = is_whole(self.degree, least=1)
        require(whole, "Polynomial", "degree", "an integer of at least 1", self.degree)
        zero_up = is_number(self.offset, least=0.0)
        require(zero_up, "Polynomial", "offset", "zero or positive", self.offset)
        object.__setattr__(self, "scale", _checked_scale("Polynomial", self.scale))

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        X, Z = _scaled("Polynomial", self.scale, X, Z)
        return (X @ Z.T + self.offset) ** self.degree

    def diagonal(self, X: Array) -> Array:
        """Return the diagonal of the kernel matrix."""
        X, _ = _scaled("Polynomial", self.scale, X, X)
        return (array_namespace(X).sum(X * X, axis=1) + self.offset) ** self.degree


@dataclass(frozen=True, slots=True)
class Delta(_Stationary):
    r"""The kernel of labels, :math:`k(x, z) = 1` if :math:`x = z`, else :math:`\rho`.

    Categories are numbers here, such as codes; rows of several columns are equal when
    all their columns are.

    Parameters
    ----------
    similarity : float, default=0.0
        The similarity :math:`\rho` of two that differ, from zero to below one. Above
        zero, categories learn from each other.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Delta
    >>> Delta()(np.array([[1.0]]), np.array([[1.0], [2.0]]))
    array([[1., 0.]])
    """

    similarity: float = 0.0

    def __post_init__(self) -> None:
        good = is_number(self.similarity, least=0, below=1)
        rule = "a number from 0 to below 1"
        require(good, "Delta", "similarity", rule, self.similarity)

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        require_tables("Delta", X, Z)
        xp = array_namespace(X, Z)
        differing = sum_over_columns(X, Z, lambda x, z: xp.astype(x != z, X.dtype))
        equal = xp.astype(differing == 0, X.dtype)
        return (
            equal if self.similarity == 0 else xp.where(equal > 0, equal, self.similarity)
        )


@dataclass(frozen=True, init=False, repr=False)
class _Combination(_Combines):
    """Kernels combined entry by entry, by the operator of a subclass."""

    kernels: tuple[Kernel, ...]
    _operator: ClassVar[Any]  # a builtin, which does not bind to the instance

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
    """

    _operator = add


@dataclass(frozen=True, init=False, repr=False)
class Product(_Combination):
    """The product of kernels, also written ``k1 * k2``.

    Parameters
    ----------
    *kernels : Kernel
        The kernels to multiply.
    """

    _operator = mul


@dataclass(frozen=True, slots=True)
class Columns(_Combines):
    """A kernel that sees only some columns; also made by ``kernel.on(0, 2)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel to apply.
    columns : sequence of int
        The columns it sees, counted from zero.
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


def _checked_scale(where: str, scale: Any) -> Scale:
    """Return a positive number, or a tuple of positive numbers."""
    if isinstance(scale, str) or np.ndim(scale) == 0:
        values = [scale.item() if isinstance(scale, np.ndarray) else scale]
    else:
        values = list(scale) if np.ndim(scale) == 1 else []
    positive = values and all(is_number(v, least=math.ulp(0.0)) for v in values)
    rule = "a positive number, or a sequence of one per column"
    require(positive, where, "scale", rule, scale)
    numbers = tuple(float(v) for v in values)
    return numbers if np.ndim(scale) else numbers[0]


def _checked_kernels(where: str, kernels: tuple[Any, ...]) -> tuple[Kernel, ...]:
    """Return the kernels, at least one and each with the two methods."""
    good = all(isinstance(k, Kernel) and not isinstance(k, type) for k in kernels)
    rule = "kernels: objects with `__call__(X, Z)` and `diagonal(X)`"
    require(kernels and good, where, "kernels", rule, kernels)
    return kernels


def _scaled(where: str, scale: Scale, X: Array, Z: Array) -> tuple[Array, Array]:
    """Divide the columns of both arrays by their scales."""
    require_tables(where, X, Z)
    if isinstance(scale, float):
        return X / scale, Z / scale
    rule = f"one number, or one per column of the data ({X.shape[1]})"
    require(len(scale) == X.shape[1], where, "scale", rule, Text(f"{len(scale)} scales"))
    xp = array_namespace(X, Z)
    row = xp.asarray(scale, dtype=X.dtype, device=device(X))
    return X / row, Z / row
