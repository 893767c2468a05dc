r"""Nearly the inverse of the second derivatives of the likelihood of a log-linear ratio.

With the covariance matrix :math:`C(x)` of the functions of Y under :math:`p(\cdot \mid x)` the
second derivatives by :math:`W` are :math:`\sum_i \omega_i C(x_i) \otimes \Psi_X(x_i)
\Psi_X(x_i)^\top + \lambda I`. With the mean of :math:`C` instead of :math:`C(x_i)` they are
diagonal in the double-orthogonal functions of X and the eigenvectors of that mean. At
:math:`W = 0` this is no approximation: it is the diagonal :math:`a` of Eq. `optgenClowR`.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import Matrix, Vector
from jointdist.programs._log_ratio_sums import CurvatureSums, LikelihoodSums

__all__ = ["near_inverse"]

# The share of its probability that is added to the curvature of each cell: where few of the rows
# that curvature is taken of have a cell, or single precision loses it, it would be too small, and
# the step too large.
_DAMPED = 0.01


def near_inverse(
    at: LikelihoodSums, shares: Vector, functions: Matrix, squares: Vector, ridge: float
) -> Callable[[Vector], Vector] | None:
    """Return the product of a vector, of coefficients and intercepts, with nearly the inverse.

    None if no second derivatives were summed, or the value is not finite.

    Parameters
    ----------
    at : LikelihoodSums
        The sums over rows, of total weight one.
    shares : array of shape (K,)
        The shares of the cells.
    functions : array of shape (K, r)
        The functions of Y at the cells.
    squares : array of shape (m,)
        The mean squares of the functions of X.
    ridge : float
        The ridge.
    """
    if at.curvature is None or not np.isfinite(at.value):
        return None
    r, m, sums, p = functions.shape[1], len(squares), at.curvature, shares + at.cells
    within = (functions.T * p) @ functions - sums.means
    c, V = np.linalg.eigh((within + within.T) / 2)
    a = np.multiply.outer(np.maximum(c, 0.0), squares) + ridge
    solved = _of_intercepts(sums, np.maximum(shares, p))

    def multiplied(v: Vector) -> Vector:
        slope = v[: r * m].reshape(r, m)
        step: Matrix = V @ ((V.T @ slope) / a)
        return np.concatenate([step.ravel(), solved(v[r * m :])])

    return multiplied


def _of_intercepts(sums: CurvatureSums, least: Vector) -> Callable[[Vector], Vector]:
    r"""Return the product with the inverse of the second derivatives by intercepts.

    Of some rows with weights of sum one these are :math:`D - A^\top A`, :math:`D` being the
    diagonal of mean probabilities, and :math:`A` the rows times the roots of their weights. By
    the formula of Woodbury the system has as many unknowns as there are such rows.
    """
    share = sums.weights / max(float(sums.weights.sum()), np.finfo(float).tiny)
    D = share @ sums.some + _DAMPED * least
    A = sums.some * np.sqrt(share)[:, None]
    B = A / D
    try:
        factor = cho_factor(np.eye(len(A)) - B @ A.T)
    except LinAlgError:
        return lambda g: g / D
    return lambda g: g / D + B.T @ cho_solve(factor, B @ g)
