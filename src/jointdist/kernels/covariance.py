r"""Positive definite kernels :math:`k(x, x')` (paper, section 3).

A kernel is any object with the two methods of :class:`~jointdist.kernels.Kernel`; there is
no base class to inherit from. The kernels of this module are immutable, and combine with
``+``, ``*`` and ``on``, so that numeric and categorical columns mix in one kernel:

>>> from jointdist.kernels import Delta, Gaussian
>>> kernel = Gaussian(2.0).on(0, 1) * Delta().on(2)
>>> kernel
Product(Gaussian(scale=2.0).on(0, 1), Delta(similarity=0.0).on(2))

Their parameters have names, so that a grid search can set them. The kernels of a sum or
product are named by position, from zero; ``a * b * c`` is ``Product(Product(a, b), c)``.

>>> kernel.with_params(**{"0__kernel__scale": 3.0})
Product(Gaussian(scale=3.0).on(0, 1), Delta(similarity=0.0).on(2))
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from jointdist._array import Array, array_namespace, device, exp, is_array, zero_below
from jointdist._params import Parametric
from jointdist._rules import Text, is_number, is_whole, require
from jointdist.kernels.combined import Combinable

__all__ = ["Delta", "Gaussian", "Hamming", "Laplace", "Matern", "Polynomial"]

Scale: TypeAlias = float | tuple[float, ...]


class _UnitDiagonal(Combinable, Parametric):
    """A kernel from zero to one, whose value of a point with itself is one."""

    __slots__ = ()

    @property
    def bound(self) -> float:
        """The largest value of the kernel: one."""
        return 1.0

    def diagonal(self, X: Array) -> Array:
        """Return ones, of shape ``(n,)``."""
        return array_namespace(X).ones(X.shape[0], dtype=X.dtype, device=device(X))


@dataclass(frozen=True, slots=True)
class Gaussian(_UnitDiagonal):
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
        return exp(_squared_distances(X, Z, factor=-0.5))


@dataclass(frozen=True, slots=True)
class Laplace(_UnitDiagonal):
    r"""The Laplace kernel, a product of exponentials over the columns.

    .. math:: k(x, z) = \exp\Big(-\sum_c |x_c - z_c| / \ell_c\Big)

    Parameters
    ----------
    scale : float or sequence of float, default=1.0
        The length scale :math:`\ell > 0`: one number, or one per column.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Laplace
    >>> Laplace(2.0)(np.zeros((1, 1)), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.368]])
    """

    scale: Scale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checked_scale("Laplace", self.scale))

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        X, Z = _scaled("Laplace", self.scale, X, Z)
        xp = array_namespace(X)
        return exp(-_sum_over_columns(X, Z, lambda x, z: xp.abs(x - z)))


@dataclass(frozen=True, slots=True)
class Matern(_UnitDiagonal):
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

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Matern
    >>> Matern(2.0, nu=0.5)(np.zeros((1, 1)), np.array([[0.0], [2.0]])).round(3)
    array([[1.   , 0.368]])
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
        # A square root turns a rounding error eps near zero into sqrt(eps). That is harmless
        # for the differentiable members of the family, not for nu = 1/2.
        squares = _squared_distances(X, Z, factor=2 * self.nu, exact=self.nu == 0.5)
        t = xp.sqrt(squares)
        if self.nu == 0.5:
            return exp(-t)
        polynomial = 1 + t if self.nu == 1.5 else 1 + t + t * t / 3
        return polynomial * exp(-t)


@dataclass(frozen=True, slots=True)
class Delta(_UnitDiagonal):
    r"""The kernel of categories, :math:`k(x, z) = 1` if :math:`x = z`, else :math:`\rho`.

    Categories are given as numbers, such as codes. Rows of several columns are equal when
    all their columns are.

    Parameters
    ----------
    similarity : float, default=0.0
        The similarity :math:`\rho` of two categories that differ, from zero to below one.
        Above zero, the fit for one category borrows strength from the others.

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
        _require_tables("Delta", X, Z)
        xp = array_namespace(X, Z)
        differing = _sum_over_columns(X, Z, lambda x, z: xp.astype(x != z, X.dtype))
        equal = xp.astype(differing == 0, X.dtype)
        return (
            equal if self.similarity == 0 else xp.where(equal > 0, equal, self.similarity)
        )


@dataclass(frozen=True, slots=True)
class Hamming(_UnitDiagonal):
    r"""The kernel of several categorical columns, by the columns in which rows differ.

    .. math:: k(x, z) = \exp\Big(-\sum_c [x_c \ne z_c] / \ell_c\Big)

    It is the product of a :class:`Delta` kernel of similarity :math:`e^{-1/\ell_c}` for each
    column. The wider the length scale, the less a column counts.

    Parameters
    ----------
    scale : float or sequence of float, default=1.0
        The length scale :math:`\ell > 0`: one number, or one per column.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Hamming
    >>> rows = np.array([[0.0, 2.0], [0.0, 1.0], [1.0, 1.0]])
    >>> Hamming((1.0, 0.5))(rows[:1], rows).round(3)
    array([[1.   , 0.135, 0.05 ]])
    """

    scale: Scale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _checked_scale("Hamming", self.scale))

    def __call__(self, X: Array, Z: Array) -> Array:
        """Return the kernel matrix."""
        _require_tables("Hamming", X, Z)
        xp, d = array_namespace(X, Z), X.shape[1]
        scales = (self.scale,) * d if isinstance(self.scale, float) else self.scale
        rule, got = f"one number, or one per column of the data ({d})", len(scales)
        require(got == d, "Hamming", "scale", rule, Text(f"{got} scales"))
        left, right = [], []
        for c, scale in enumerate(scales):
            levels = xp.unique_values(Z[:, c])[None, :]
            left.append(xp.astype(X[:, c][:, None] == levels, X.dtype) / scale)
            right.append(xp.astype(Z[:, c][:, None] == levels, X.dtype))
        equal = xp.concat(left, axis=1) @ xp.concat(right, axis=1).T
        total = sum(1 / scale for scale in scales)
        rounding = 8 * d * float(xp.finfo(X.dtype).eps) * total
        return exp(-zero_below(total - equal, rounding))


@dataclass(frozen=True, slots=True)
class Polynomial(Combinable, Parametric):
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

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Polynomial
    >>> Polynomial(2)(np.ones((1, 1)), np.array([[0.0], [2.0]]))
    array([[1., 9.]])
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


def _checked_scale(where: str, scale: Any) -> Scale:
    """Return a length scale as a positive number, or as a tuple of positive numbers."""
    if isinstance(scale, str) or np.ndim(scale) == 0:
        values = [scale.item() if isinstance(scale, np.ndarray) else scale]
    else:
        values = list(scale) if np.ndim(scale) == 1 else []
    positive = values and all(is_number(v, least=math.ulp(0.0)) for v in values)
    rule = "a positive number, or a sequence of one per column"
    require(positive, where, "scale", rule, scale)
    numbers = tuple(float(v) for v in values)
    return numbers if np.ndim(scale) else numbers[0]


def _scaled(where: str, scale: Scale, X: Array, Z: Array) -> tuple[Array, Array]:
    """Return both arrays with their columns divided by the length scales."""
    _require_tables(where, X, Z)
    if isinstance(scale, float):
        return X / scale, Z / scale
    rule = f"one number, or one per column of the data ({X.shape[1]})"
    require(len(scale) == X.shape[1], where, "scale", rule, Text(f"{len(scale)} scales"))
    xp = array_namespace(X, Z)
    row = xp.asarray(scale, dtype=X.dtype, device=device(X))
    return X / row, Z / row


def _squared_distances(
    X: Array, Z: Array, *, factor: float = 1.0, exact: bool = False
) -> Array:
    r"""Return ``factor`` times :math:`|x_i - z_j|^2`; zero where two points coincide.

    The distances are one product of the matrices with rows ``(x, |x|^2, 1)`` and
    ``(-2 z, 1, |z|^2)``, after a shift of the origin. Its rounding error grows with the
    norms: squared distances below it are set to zero. If any point is more than 90 units
    from the origin (a norm of eps**-0.25), or if ``exact``, the points are subtracted
    column by column instead.
    """
    xp = array_namespace(X, Z)
    with np.errstate(over="ignore", invalid="ignore"):
        if not exact and X.shape[0] and Z.shape[0]:
            origin = xp.mean(X, axis=0, keepdims=True)
            x, z = X - origin, Z - origin
            xx = xp.sum(x * x, axis=1, keepdims=True)
            zz = xp.sum(z * z, axis=1, keepdims=True)
            eps = float(xp.finfo(x.dtype).eps)
            largest = max(float(xp.max(xx)), float(xp.max(zz)))
            if largest <= eps**-0.25:
                left = [(-2 * factor) * x, factor * xx, xp.ones_like(xx)]
                right = [z, xp.ones_like(zz), factor * zz]
                product = xp.concat(left, axis=1) @ xp.concat(right, axis=1).T
                return zero_below(product, 32 * eps * largest * factor)
        return _sum_over_columns(X, Z, lambda x, z: factor * (x - z) ** 2)


def _sum_over_columns(X: Array, Z: Array, f: Callable[[Array, Array], Array]) -> Array:
    """Return the matrix of ``sum_c f(x_ic, z_jc)``."""
    total = f(X[:, :1], Z[:, 0][None, :])
    for c in range(1, X.shape[1]):
        total = total + f(X[:, c][:, None], Z[:, c][None, :])
    return total


def _require_tables(where: str, X: Array, Z: Array) -> None:
    """Raise unless both are two-dimensional arrays with the same number of columns."""
    for name, table in (("X", X), ("Z", Z)):
        if not (is_array(table) and len(table.shape) == 2):
            got = Text(f"shape {table.shape}") if is_array(table) else type(table)
            require(False, where, name, "a two-dimensional array", got)
    if X.shape[1] != Z.shape[1]:
        rule = f"a table of {X.shape[1]} columns, like `X`"
        require(False, where, "Z", rule, Z.shape[1])
