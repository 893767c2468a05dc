r"""Nearly the inverse of the second derivatives of the likelihood of a log-linear ratio.

With the covariance matrix :math:`C(x)` of the functions of Y under :math:`p(\cdot \mid x)` the
second derivatives by :math:`W` are :math:`\sum_i \omega_i C(x_i) \otimes \Psi_X(x_i)
\Psi_X(x_i)^\top + \lambda I`. With the mean of :math:`C` instead of :math:`C(x_i)` they are
diagonal in the double-orthogonal functions of X and the eigenvectors of that mean. At
:math:`W = 0` this is no approximation: it is the diagonal :math:`a` of Eq. `optgenClowR`.
"""

from collections.abc import Callable

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist.programs._intercepts import solver_of_intercepts
from jointdist.programs._log_ratio_sums import CurvatureSums

__all__ = ["near_inverse"]

# The share of its probability that is added to the curvature of each cell: where few of the rows
# that curvature is summed over have a cell, it would be too small, and the step too large.
_DAMPED = 0.01


def near_inverse(
    sums: CurvatureSums,
    probabilities: Vector,
    functions: Matrix,
    squares: Vector,
    ridge: float,
) -> Callable[[Vector], Vector]:
    """Return the product of a vector, of coefficients and intercepts, with nearly the inverse.

    Parameters
    ----------
    sums : CurvatureSums
        The sums over rows, of total weight one.
    probabilities : array of shape (K,)
        The mean probabilities of the cells.
    functions : array of shape (K, r)
        The functions of Y at the cells.
    squares : array of shape (m,)
        The mean squares of the functions of X.
    ridge : float
        The ridge.
    """
    r, m = functions.shape[1], len(squares)
    within = (functions.T * probabilities) @ functions - sums.means
    c, V = np.linalg.eigh((within + within.T) / 2)
    a = np.multiply.outer(np.maximum(c, 0.0), squares) + ridge
    weight = max(float(sums.cells.sum()), np.finfo(float).tiny)
    bends = (np.diag(sums.cells) - sums.pairs) / weight
    solved = solver_of_intercepts(bends + np.diag(_DAMPED * probabilities))

    def multiplied(v: Vector) -> Vector:
        slope = v[: r * m].reshape(r, m)
        step: Matrix = V @ ((V.T @ slope) / a)
        return np.concatenate([step.ravel(), solved(v[r * m :])])

    return multiplied
