r"""Functions of outcomes on their cells, orthonormal in the space of a kernel.

They are the eigenfunctions of a centred kernel under the shares of the cells: of mean zero,
uncorrelated, and the leading ones say most about an outcome.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from jointdist._array import Matrix, Vector, to_numpy
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Gaussian, Kernel, Laplace
from jointdist.likelihood.outcome_cells import coordinates, safe_units
from jointdist.likelihood.settings import SETTINGS
from jointdist.lowrank.features import kernel_matrix

__all__ = ["CellFunctions", "cell_functions", "most_functions_y"]

_LEAST = 1e-13  # the mean square beside the first below which a function is rounding

_FEW = 4  # a matrix so many times as large as wanted has few leading functions
_PAIRED = (
    32  # coordinates of several columns up to which their products count: a time budget
)
_LARGEST = 1e6  # standardised outcomes and squares: larger ones would drown all functions


class CellFunctions(NamedTuple):
    """Functions on cells.

    Attributes
    ----------
    values : array of shape (K, r)
        Their values at the cells.
    variances : array of shape (r,)
        Their mean squares, in descending order.
    """

    values: Matrix
    variances: Vector


def cell_functions(
    cells: CellSupport,
    kernel: Kernel | None,
    most: int,
    located: tuple[float, float] = (0.0, 0.0),
) -> CellFunctions:
    """Return the leading functions of a kernel on cells.

    Parameters
    ----------
    cells : CellSupport
        The cells; those of one column in its order.
    kernel : Kernel, optional
        The kernel of the means of cells; by default of one column an exponential kernel of
        ranks, which does not depend on units and tails, and of several a Gaussian kernel of
        standardised outcomes.
    most : int
        The largest number of functions.
    located : tuple of float, default=(0, 0)
        What is added to the default kernel times the products of standardised outcomes, and of
        their squares and products: of distributions that move, stretch and turn, as normal ones
        do, these functions say most.
    """
    p, several = cells.mean, cells.points.width > 1
    if kernel is not None:
        z = _representative(cells) if several else cells.centres
        K = to_numpy(kernel_matrix(kernel, z, z))
    elif several:
        K = _kernel_of_several(cells, located)
    else:
        ranks = (np.cumsum(p) - p / 2)[:, None]
        K = to_numpy(Laplace(SETTINGS.rank_scale)(ranks, ranks))
        for weight, f in zip(located, _standardised(cells), strict=True):
            K += weight * np.multiply.outer(f, f)
    K = K - p @ K
    K -= (K @ p)[:, None]
    root = np.sqrt(p)
    c, V = _leading((K + K.T) / 2 * np.multiply.outer(root, root), most)
    good = c > _LEAST * max(float(c.max(initial=0.0)), np.finfo(float).tiny)
    c, V = c[good], V[:, good]
    return CellFunctions(V * np.sqrt(c) / root[:, None], c)


def _leading(A: Matrix, most: int) -> tuple[Vector, Matrix]:
    """Return the largest eigenvalues of a symmetric matrix, in descending order."""
    K = len(A)
    if _FEW * most >= K:
        c, V = np.linalg.eigh(A)
    else:
        c, V = map(np.asarray, eigh(A, subset_by_index=[K - most, K - 1]))
    return c[::-1][:most], V[:, ::-1][:, :most]


def _kernel_of_several(cells: CellSupport, located: tuple[float, float]) -> Matrix:
    """Return the default kernel of cells of several columns."""
    points, p = cells.points, cells.mean
    table, shares = points.table(), points.shares
    counted = shares > 0
    units = safe_units(table[counted], shares[counted])
    Z = coordinates(points.encoding, units, table)
    Z -= shares @ Z

    def means(f: Matrix) -> Matrix:
        sums = np.stack([np.bincount(cells.cell, shares * each, len(p)) for each in f.T])
        found: Matrix = sums.T / p[:, None]
        return found

    C = means(Z)
    K = to_numpy(Gaussian(np.sqrt(points.width))(C, C))
    D, (linear, squared) = C.shape[1], located
    if linear and np.abs(C).max() < _LARGEST:
        K += linear * (C @ C.T)
    if squared and D <= _PAIRED and (C * C).max() < _LARGEST:
        for i in range(D):
            twice = np.where(np.arange(i, D) > i, np.sqrt(2), 1.0)
            Q = means(Z[:, [i]] * Z[:, i:] * twice)
            K += squared * ((Q - p @ Q) @ (Q - p @ Q).T)
    return K


def _representative(cells: CellSupport) -> Matrix:
    """Return a point for each cell: the mean of numbers, else the point next to it."""
    if cells.points.encoding.numeric:
        return cells.centres
    found: Matrix = cells.points.table()[cells.central]
    return found


def most_functions_y(sample: SupportPoints) -> int:
    """Return the largest number of functions of Y.

    Parameters
    ----------
    sample : SupportPoints
        The sample of Y.
    """
    if sample.width > 1:
        return SETTINGS.functions_of_several
    few = not sample.encoding.numeric
    return SETTINGS.category_functions if few else SETTINGS.functions


def _standardised(cells: CellSupport) -> tuple[Vector, Vector]:
    """Return the means of standardised outcomes and of their squares over the cells."""
    p, centres = cells.mean, cells.centres[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):
        away = centres - p @ centres
        squares = away * away + cells.variances[:, 0]
        variance = float(p @ squares)
        found = away / np.sqrt(variance), squares / variance
    if not (variance > 0 and all((np.abs(f) < _LARGEST).all() for f in found)):
        return np.zeros_like(p), np.zeros_like(p)  # as good as one row has all weight
    return found
