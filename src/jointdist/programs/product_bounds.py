r"""Bounds of products of basis functions, Eq. `minCdef` and Eq. `maxCdef` of the paper."""

import numpy as np
from numpy.typing import ArrayLike

from jointdist._array import Matrix, Vector
from jointdist._rules import Text, require

__all__ = ["product_bounds"]


def product_bounds(
    lower_y: ArrayLike, upper_y: ArrayLike, lower_x: ArrayLike, upper_x: ArrayLike
) -> tuple[Matrix, Matrix]:
    r"""Bound the products of functions that are bounded one by one.

    The matrices :math:`\underline C` of Eq. `minCdef` and :math:`\overline C` of
    Eq. `maxCdef`: the least and the largest of :math:`\Psi_{Y,i} \Psi_{X,j}` over all
    pairs.

    Parameters
    ----------
    lower_y, upper_y : arrays of shape (m_Y,)
        The least and the largest value of each function of Y.
    lower_x, upper_x : arrays of shape (m_X,)
        The same of X.

    Returns
    -------
    tuple of arrays of shape (m_Y, m_X)
        The lower bounds, and the upper bounds.

    Examples
    --------
    >>> from jointdist.programs import product_bounds
    >>> product_bounds([-1.0], [2.0], [-3.0], [1.0])
    (array([[-6.]]), array([[3.]]))
    """
    where = "product_bounds"
    y = _interval(where, "lower_y", lower_y, upper_y)
    x = _interval(where, "lower_x", lower_x, upper_x)
    corners = [np.multiply.outer(of_y, of_x) for of_y in y for of_x in x]
    return np.minimum.reduce(corners), np.maximum.reduce(corners)


def _interval(
    where: str, name: str, lower: ArrayLike, upper: ArrayLike
) -> tuple[Vector, Vector]:
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    got = Text(f"shapes {low.shape} and {high.shape}")
    other = name.replace("lower", "upper")
    require(
        low.ndim == 1 and low.shape == high.shape,
        where,
        name,
        f"a vector as long as `{other}`",
        got,
    )
    require(np.all(low <= high), where, name, f"at most `{other}`", lower)
    return low, high
