r"""Functions of one outcome on its cells, orthonormal in the space of a kernel.

They are the eigenfunctions of a centred kernel under the shares of the cells: of mean zero,
uncorrelated, and the leading ones say most about an outcome.
"""

from typing import NamedTuple

import numpy as np

from jointdist._array import Matrix, Vector, to_numpy
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Kernel, Laplace
from jointdist.likelihood.settings import SETTINGS
from jointdist.lowrank.features import kernel_matrix

__all__ = ["CellFunctions", "cell_edges", "cell_functions", "most_functions_y"]

_LEAST = 1e-13  # the mean square beside the first below which a function is rounding

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
    located : tuple of float, default=(0, 0)
        What is added to the kernel of ranks times the products of standardised outcomes, and
        of their squares: of distributions that move and stretch, as normal ones do, these
        two functions say most, and ranks saturate in the tails.
    """
    p = cells.mean
    if kernel is None:
        ranks = (np.cumsum(p) - p / 2)[:, None]
        K = to_numpy(Laplace(SETTINGS.rank_scale)(ranks, ranks))
        for weight, f in zip(located, _standardised(cells), strict=True):
            K += weight * np.multiply.outer(f, f)
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


def most_functions_y(sample: SupportPoints) -> int:
    """Return the largest number of functions of Y.

    Parameters
    ----------
    sample : SupportPoints
        The sample of Y.
    """
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
    low, high = np.full(cells.rank, np.inf), np.full(cells.rank, -np.inf)
    np.minimum.at(low, cells.cell[counted], values[counted])
    np.maximum.at(high, cells.cell[counted], values[counted])
    if thresholds is not None and len(thresholds):
        place = np.searchsorted(thresholds, high[:-1])
        found: Vector = thresholds[np.minimum(place, len(thresholds) - 1)]
        return found
    middle = high[:-1] / 2 + low[1:] / 2
    return np.where((middle >= high[:-1]) & (middle < low[1:]), middle, high[:-1])
