r"""Structure constants: products of orthonormal polynomials in terms of polynomials."""

from operator import add

import numpy as np

from jointdist._array import Array, Index, Matrix, like, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.lowrank.polynomial_map import PolynomialMap

__all__ = ["structure"]

# The share of the mean square of a product that may lie outside of the span of the functions:
# rounding errors of sums, and far below any approximate relation.
_OUTSIDE = 1e-12
# By how much the Gram matrix of the functions may differ from one and still be taken for it:
# rounding of sums; over some of the rows of the sample it differs by one over their root.
_ORTHONORMAL = 1e-7


def structure(
    functions: PolynomialMap,
    rows: Rows,
    weights: Matrix | None,
    *,
    executor: Executor,
) -> tuple[Index, Matrix]:
    r"""Return the coefficients of products, :math:`\phi_i \phi_j = \sum_k C_{kij} \phi_k`.

    The factors are functions of at most half the degree. The coefficients are the means
    of :math:`\phi_k \phi_i \phi_j` over the sample, in one pass. If no function was dropped,
    the identity holds everywhere; else it holds on the sample, and wherever the relations
    among columns hold for which functions were dropped. Factors whose products are not
    combinations of the functions are left out: an approximate relation is not used.

    Parameters
    ----------
    functions : PolynomialMap
        The functions.
    rows : Rows
        The sample.
    weights : array of shape (n,), optional
        Its weights.
    executor : Executor
        Runs the row blocks.

    Returns
    -------
    tuple of arrays of shape (k,) and (m, k, k)
        The numbers of the factors, and the coefficients.
    """
    k = int(np.count_nonzero(2 * functions.exponents.sum(axis=1) <= functions.degree))
    i, j = np.triu_indices(k)
    total = float(rows.n if weights is None else weights.sum())

    def block(start: int, z: Array) -> Matrix:
        phi = to_numpy(functions.features(like(to_numpy(z), functions.core)))
        products = phi[:, i] * phi[:, j]
        w = np.ones(len(phi)) if weights is None else weights[start : start + len(phi)]
        weighted = w[:, None] * phi
        sums = np.vstack([weighted.T @ products, w @ products**2])
        gram = np.vstack([weighted.T @ phi, np.zeros((1, phi.shape[1]))])
        return np.hstack([sums, gram])

    both = executor.reduce(add, block, rows) / total
    means, gram = both[:, : len(i)], both[:-1, len(i) :]
    if not np.allclose(gram, np.eye(len(gram)), atol=_ORTHONORMAL):  # on some of the rows
        means[:-1], projected = np.linalg.solve(gram, means[:-1]), means[:-1].copy()
        means[-1] += (means[:-1] ** 2).sum(axis=0) - (means[:-1] * projected).sum(axis=0)
    C, missed = np.zeros((functions.rank, k, k)), np.zeros((k, k))
    C[:, i, j] = C[:, j, i] = means[:-1]
    left = means[-1] - (means[:-1] ** 2).sum(axis=0)
    missed[i, j] = missed[j, i] = left / np.maximum(means[-1], 1e-300)
    kept = np.arange(k)
    while (worst := missed[np.ix_(kept, kept)]).max() > _OUTSIDE:
        kept = np.delete(kept, np.unravel_index(worst.argmax(), worst.shape)[1])
    return kept, C[:, kept[:, None], kept]
