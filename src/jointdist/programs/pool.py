r"""Weights of the linear pool of distributions that has the least energy score.

The error of a distribution :math:`F` at an outcome is :math:`F - \delta_y`. Energy distances
make a scalar product of errors, :math:`\langle k, l \rangle = E|Y_k - y| + E|Y_l - y| - E|Y_k -
Y_l|`, and half the squared norm is the energy score; of numbers it is the CRPS. That of the pool
:math:`\sum_k \alpha_k F_k` is therefore the convex quadratic :math:`\tfrac12 \alpha^\top M
\alpha` with the mean products :math:`M`.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from jointdist._array import Index, Matrix, Vector

__all__ = ["PoolWeights", "least_members", "least_norm", "pool_weights"]

_ERRORS = 1.0  # standard errors that a member must bring: the rule of one standard error


class PoolWeights(NamedTuple):
    """The weights of a pool, with their certificate.

    Attributes
    ----------
    weights : array of shape (k,)
        The weights: zero or positive, of sum one.
    score : float
        The mean score of the pool.
    gap : float
        By how much the score may at most be above the least one. Zero but for rounding.
    """

    weights: Vector
    score: float
    gap: float


def least_norm(R: Matrix) -> Vector:
    """Return the convex combination of columns with the least Euclidean norm, ``(k,)``.

    Parameters
    ----------
    R : array of shape (m, k)
        The columns.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.pool import least_norm
    >>> least_norm(np.diag([1.0, 2.0]))
    array([0.8, 0.2])
    """
    size = float(np.abs(R).max(initial=0.0))
    # The last row asks for sum one; whatever it weighs, the solution of NNLS is a multiple of
    # the optimum.
    A = np.vstack([R / size if size > 0 else R, np.ones(R.shape[1])])
    found = nnls(A, np.append(np.zeros(len(R)), 1.0))[0]
    weights: Vector = found / found.sum()
    return weights


def pool_weights(M: Matrix) -> PoolWeights:
    r"""Return the weights that minimise :math:`\tfrac12 \alpha^\top M \alpha` on the simplex.

    Parameters
    ----------
    M : array of shape (k, k)
        The mean products of errors; positive semidefinite but for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.pool import pool_weights
    >>> found = pool_weights(np.array([[2.0, 0.0], [0.0, 2.0]]))
    >>> found.weights, found.score
    (array([0.5, 0.5]), 0.5)
    """
    c, V = np.linalg.eigh((M + M.T) / 2)
    root = np.sqrt(np.maximum(c, 0.0))[:, None] * V.T
    alpha = least_norm(root)
    slopes = M @ alpha
    score = 0.5 * float(alpha @ slopes)
    vertex = int(np.diag(M).argmin())
    if 0.5 * float(M[vertex, vertex]) < score:  # by rounding of roots of small numbers
        alpha = np.eye(len(M))[vertex]
        slopes = M @ alpha
        score = 0.5 * float(M[vertex, vertex])
    gap = float(alpha @ slopes - slopes.min())  # of a convex function on the simplex
    return PoolWeights(alpha, score, max(gap, 0.0))


def least_members(products: Vector, weights: Vector | None = None) -> PoolWeights:
    """Return the weights of the pool of few members that is as good as the best of all.

    It is not worse than the best member. Its score is above that of the best pool by at most
    a standard error of their difference, and of such pools with the fewest members it is the
    best.

    Parameters
    ----------
    products : array of shape (n, k, k)
        The products of errors of each row.
    weights : array of shape (n,), optional
        The weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.pool import least_members
    >>> errors = np.random.default_rng(0).normal([0.0, 0.0, 9.0], 1.0, (500, 3))
    >>> products = 2 * errors[:, :, None] * errors[:, None, :]
    >>> least_members(products).weights.round(1)
    array([0.5, 0.5, 0. ])
    """
    n, k, _ = products.shape
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    M = np.einsum("n,nkl->kl", w, products)
    best = pool_weights(M)
    single = 0.5 * float(np.diag(M).min())
    for size in range(1, k):
        pools = [_among(M, np.array(some)) for some in combinations(range(k), size)]
        found = min(pools, key=lambda pool: pool.score)
        if found.score <= single and _as_good(products, w, found, best):
            return found
    return best


def _among(M: Matrix, some: Index) -> PoolWeights:
    """Return the best pool of some members, as weights of all."""
    found = pool_weights(M[np.ix_(some, some)])
    weights = np.zeros(len(M))
    weights[some] = found.weights
    return found._replace(weights=weights)


def _as_good(products: Vector, w: Vector, pool: PoolWeights, best: PoolWeights) -> bool:
    """Tell whether a pool is as good as the best, but for a standard error."""
    each = [np.einsum("nkl,k,l->n", products, a, a) / 2 for a in (pool[0], best[0])]
    more = each[0] - each[1]
    mean = float(w @ more)
    error = float(np.sqrt(w @ (more - mean) ** 2 * (w @ w)))
    return mean <= _ERRORS * error
