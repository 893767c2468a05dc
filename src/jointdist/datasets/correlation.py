"""Random correlation matrices."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Seed, generator, is_number, is_whole, require

__all__ = ["Matrix", "random_correlation"]

Matrix: TypeAlias = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_MAX_STEPS = 10_000  # iterations that converge take a few hundred


def random_correlation(
    size: int, *, scale: float = 1.0, random_state: Seed = None
) -> Matrix:
    """Return a random correlation matrix, whose logarithm has normal entries.

    Any entries off the diagonal of the matrix logarithm give a correlation matrix; the
    diagonal follows from them by a fixed-point iteration [1]_.

    Parameters
    ----------
    size : int
        The number of variables.
    scale : float, default=1.0
        The standard deviation of the numbers. The larger, the more dependence.
    random_state : int, Generator, RandomState or None, default=None
        The seed.

    Returns
    -------
    array of shape (size, size)
        Positive definite, with ones on its diagonal.

    References
    ----------
    .. [1] Archakov, Hansen (2021). "A new parametrization of correlation matrices",
       Econometrica 89.

    Examples
    --------
    >>> from jointdist.datasets import random_correlation
    >>> random_correlation(3, scale=0.5, random_state=0).round(3)
    array([[ 1.   ,  0.052, -0.056],
           [ 0.052,  1.   ,  0.308],
           [-0.056,  0.308,  1.   ]])
    """
    where = "random_correlation"
    require(is_whole(size, least=1), where, "size", "an integer from 1", size)
    rule = "zero or positive, finite"
    require(is_number(scale, least=0), where, "scale", rule, scale)
    above = np.triu_indices(size, 1)
    A = np.zeros((size, size))
    A[above] = generator(where, random_state).normal(scale=scale, size=len(above[0]))
    A += A.T
    with np.errstate(all="ignore"):  # a scale that is too large has its message
        C, least = _exponential(A)
    rule = "so small that the matrix is positive definite in floating point"
    require(least > size * _EPS, where, "scale", rule, scale)
    np.fill_diagonal(C, 1.0)
    return (C + C.T) / 2


def _exponential(A: Matrix) -> tuple[Matrix, float]:
    """Change the diagonal of A until that of exp(A) is one; return exp(A).

    Also its smallest eigenvalue, or zero if there was no convergence.
    """
    diagonal = np.diag_indices_from(A)
    for _ in range(_MAX_STEPS):
        roots, V = np.linalg.eigh(A)
        C = (V * np.exp(roots)) @ V.T
        excess = np.log(C[diagonal])
        if np.abs(excess).max() <= 64 * _EPS * max(1.0, np.abs(roots).max()):
            return C, float(np.exp(roots[0]))
        if not np.isfinite(excess).all():
            break
        A[diagonal] -= excess
    return A, 0.0
