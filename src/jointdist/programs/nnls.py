r"""Quadratic programs of a few hundred variables that may not be negative.

.. math:: \min_{w \ge 0} \tfrac12 w^\top G w + c^\top w

for a positive semidefinite :math:`G`, which may be singular. Block principal pivoting
exchanges all variables of the wrong sign at once and is most often done after a few
factorisations, but may cycle. Then Lawson and Hanson's method takes over, which only
goes down.
"""

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist.programs._active_set import RIDGE, block_pivoting, lawson_hanson

__all__ = ["nearest_in_hull", "nonnegative"]


def nonnegative(G: Matrix, c: Vector, start: Vector | None = None) -> Vector:
    r"""Minimise :math:`\tfrac12 w^\top G w + c^\top w` over :math:`w \ge 0`.

    Parameters
    ----------
    G : array of shape (k, k)
        Positive semidefinite; the minimum must be bounded from below.
    c : array of shape (k,)
        The linear term.
    start : array of shape (k,), optional
        Where it is positive, the solution is expected to be.

    Returns
    -------
    array of shape (k,)
        The solution; none of its entries is negative, whatever the accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.nnls import nonnegative
    >>> nonnegative(np.eye(2), np.array([-3.0, 1.0])).round(9)
    array([3., 0.])
    """
    size = np.sqrt(np.diagonal(G))
    scale = np.divide(1.0, size, out=np.ones_like(size), where=size > 0)
    M = scale[:, None] * G * scale
    np.fill_diagonal(M, np.diagonal(M) + RIDGE)
    q = scale * c
    first = np.zeros_like(q) if start is None else np.maximum(start, 0.0) / scale
    v = block_pivoting(M, q, first > 0)
    if v is None:
        v = lawson_hanson(M, q, first)
    return scale * v


def nearest_in_hull(P: Matrix) -> Vector:
    r"""Return the weights of the point nearest to zero in the hull of some points.

    They minimise :math:`|P^\top u|` over :math:`u \ge 0` with sum one, and are a multiple
    of the w that minimises :math:`\tfrac12 |P^\top w|^2 - 1^\top w` over :math:`w \ge 0`:
    the optimality conditions are the same.

    Parameters
    ----------
    P : array of shape (k, d)
        The points, one in each row.

    Returns
    -------
    array of shape (k,)
        The weights. If zero is in the hull, their point is zero but for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.nnls import nearest_in_hull
    >>> nearest_in_hull(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])).round(9)
    array([0.5, 0.5, 0. ])
    """
    w = nonnegative(P @ P.T, -np.ones(len(P)))
    return w / float(w.sum())
