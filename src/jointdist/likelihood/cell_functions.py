r"""Functions of one outcome on its cells, orthonormal in the space of a kernel.

They are the eigenfunctions of a centred kernel under the shares of the cells: of mean zero,
uncorrelated, and the leading ones say most about an outcome.
"""

from typing import NamedTuple

import numpy as np

from jointdist._array import Matrix, Vector, to_numpy
from jointdist.distributions.cell_support import CellSupport
from jointdist.kernels import Kernel, Laplace
from jointdist.likelihood.settings import SETTINGS
from jointdist.lowrank.features import kernel_matrix

__all__ = ["CellFunctions", "cell_edges", "cell_functions"]

_LEAST = 1e-10  # the mean square beside the first below which a function is rounding


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


def cell_functions(cells: CellSupport, kernel: Kernel | None, most: int) -> CellFunctions:
    """Return the leading functions of a kernel on cells of one column.

    Parameters
    ----------
    cells : CellSupport
        The cells, in the order of the column.
    kernel : Kernel, optional
        The kernel of the means of cells; by default an exponential kernel of their ranks,
        which does not depend on units and tails.
    most : int
        The largest number of functions.
    """
    p = cells.mean
    if kernel is None:
        ranks = (np.cumsum(p) - p / 2)[:, None]
        K = to_numpy(Laplace(SETTINGS.rank_scale)(ranks, ranks))
    else:
        K = to_numpy(kernel_matrix(kernel, cells.centres, cells.centres))
    K = K - p @ K
    K -= (K @ p)[:, None]
    root = np.sqrt(p)
    c, V = np.linalg.eigh((K + K.T) / 2 * np.multiply.outer(root, root))
    c, V = c[::-1][:most], V[:, ::-1][:, :most]
    good = c > _LEAST * max(float(c.max(initial=0.0)), np.finfo(float).tiny)
    c, V = c[good], V[:, good]
    return CellFunctions(V * np.sqrt(c) / root[:, None], c)


def cell_edges(cells: CellSupport, thresholds: Vector | None = None) -> Vector:
    """Return the upper ends of all cells of one column but the last.

    They are halfway between the points of neighbouring cells.

    Parameters
    ----------
    cells : CellSupport
        The cells, in the order of the column.
    thresholds : array of shape (B,), optional
        The ends of the bins that the points stand for, if they do: cells end where bins do.
    """
    values = cells.points.table()[:, 0]
    counted = cells.points.shares > 0
    low, high = np.full((2, cells.rank), np.nan)
    low[:], high[:] = np.inf, -np.inf
    np.minimum.at(low, cells.cell[counted], values[counted])
    np.maximum.at(high, cells.cell[counted], values[counted])
    if thresholds is not None and len(thresholds):
        place = np.searchsorted(thresholds, high[:-1])
        found: Vector = thresholds[np.minimum(place, len(thresholds) - 1)]
        return found
    middle = high[:-1] / 2 + low[1:] / 2
    return np.where((middle >= high[:-1]) & (middle < low[1:]), middle, high[:-1])
