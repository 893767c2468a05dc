"""Distances between two sets of points, column by column or by one matrix product."""

from collections.abc import Callable
from functools import reduce
from operator import add

import numpy as np

from jointdist._array import Array, array_namespace, is_array, zero_below
from jointdist.errors import Text, require

__all__ = ["require_tables", "squared_distances", "sum_over_columns"]


def squared_distances(
    X: Array, Z: Array, *, factor: float = 1.0, exact: bool = False
) -> Array:
    r"""Return ``factor`` times :math:`|x_i - z_j|^2`; zero where they coincide.

    One small matrix product of ``(x, |x|^2, 1)`` and ``(-2 z, 1, |z|^2)``, after a
    shift of the origin. Its rounding grows with the norms: squared distances below it
    are set to zero, and if any point is far out (90 units), or ``exact`` is asked for,
    points are subtracted column by column instead.
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
        return sum_over_columns(X, Z, lambda x, z: factor * (x - z) ** 2)


def sum_over_columns(X: Array, Z: Array, f: Callable[[Array, Array], Array]) -> Array:
    """Return the matrix of ``sum_c f(x_ic, z_jc)``."""
    columns = range(X.shape[1])
    return reduce(add, (f(X[:, c][:, None], Z[:, c][None, :]) for c in columns))


def require_tables(where: str, X: Array, Z: Array) -> None:
    """Raise unless both are two-dimensional arrays with the same number of columns."""
    for name, table in (("X", X), ("Z", Z)):
        good = is_array(table) and len(table.shape) == 2
        got = Text(f"shape {table.shape}") if is_array(table) else type(table)
        require(good, where, name, "a two-dimensional array", got)
    rule = f"a table of {X.shape[1]} columns, like `X`"
    require(X.shape[1] == Z.shape[1], where, "Z", rule, Z.shape[1])
