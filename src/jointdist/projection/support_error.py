r"""How far distributions on a compressed support are from those on all rows of the sample.

For one column the support points are the means of bins, and the cdf of the sample is exact at
their edges. Inside a bin of several values the cdf of a distribution is off by at most the weight
of the bin. A signed distribution has the ratio of the means of bins, so that the weights of the
bins err too: by at most the sum of their shares times the changes of the ratio, once for the
weights and once for their sum. The ratio of a projected distribution is constant on cells of
bins, whose two ends may be elsewhere by one bin each: three weights of a bin in all.

For several columns a few sampled rows stand for the rows of a leaf. The cdf of each column is
then that of a stratified sample, whose standard error follows from the sample itself.
"""

import numpy as np

from jointdist._array import Index, Matrix, Vector
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support_points import Merged, SupportPoints
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import Projector

__all__ = ["CONDITIONS", "binned_error", "stratified_error", "support_error"]

# Conditions at which the error is looked at, at most: a time budget.
CONDITIONS = 64
# Points of each column at which the cdf is looked at; a round number.
_LEVELS = 32
# Standard errors that are told: 32 points of a few columns under 64 conditions hardly ever
# exceed five.
_STANDARD_ERRORS = 5.0


def support_error(
    support: KernelSupport, projector: Projector | IsotonicProjector | None, t: Vector
) -> float:
    """Return by how much cdfs differ from those on all rows, at most.

    For one column this is a bound for distributions whose ratios are not more extreme than
    those at the given conditions; for several columns it is measured.

    Parameters
    ----------
    support : KernelSupport
        The support of the signed distributions.
    projector : Projector or IsotonicProjector, optional
        The projection, if there is one.
    t : array of shape (q, m)
        The coefficients of distributions at typical conditions.
    """
    merged = support.points.merged
    cells = None if projector is None else projector.cells
    whole = cells is None or support.points.is_scalar or cells.rank == cells.points.n
    if merged is None or (merged.exact.all() and whole):
        return 0.0
    every = max(len(t) // CONDITIONS, 1)
    t = t[::every][:CONDITIONS]
    if support.points.is_scalar:
        return min(_bound(support, merged, projector, t), 1.0)
    return min(_measured(support, merged, projector, t), 1.0)


def _bound(
    support: KernelSupport,
    merged: Merged,
    projector: Projector | IsotonicProjector | None,
    t: Vector,
) -> float:
    share = np.where(merged.exact, 0.0, support.points.shares)
    if projector is not None:
        cells = projector.cells
        ratio = _weights(projector, t) / cells.mean
        largest = np.zeros(cells.rank)
        np.maximum.at(largest, cells.cell, share)
        return 3 * float((ratio * largest).max())
    psi = support.features(support.points.rows.read(0, support.points.n))
    return binned_error(share, (1 + psi @ t.T) / (1 + t @ support.mean))


def binned_error(share: Vector, ratio: Matrix) -> float:
    """Return a bound of errors of cdfs whose ratios are known at the means of bins.

    Parameters
    ----------
    share : array of shape (n,)
        The shares of bins of several values; zero of others.
    ratio : array of shape (n, q)
        The ratios of distributions at the means of the bins.
    """
    between = np.maximum(share[1:], share[:-1])
    masses = between @ np.abs(np.diff(ratio, axis=0))
    return float((np.abs(ratio).T * share).max() + 2 * masses.max(initial=0.0))


def _measured(
    support: KernelSupport,
    merged: Merged,
    projector: Projector | IsotonicProjector | None,
    t: Vector,
) -> float:
    points, cells = support.points, merged.cells
    cell = np.zeros(points.n, dtype=np.intp) if cells is None else cells.cell
    known = support.cell_means
    if projector is not None:
        W, cell = _weights(projector, t), projector.cells.cell
    elif known is None or cells is None:
        W = np.ones((len(t), 1))
    else:
        W = np.abs((1 + t @ known.T) * cells.shares)
    return stratified_error(points, cell, W)


def stratified_error(points: SupportPoints, cell: Index, W: Matrix) -> float:
    """Return five standard errors of cdfs of columns, of sampled rows in cells.

    Parameters
    ----------
    points : SupportPoints
        The sampled rows.
    cell : array of shape (n,)
        The cell of each.
    W : array of shape (q, K)
        The weights of the cells under distributions.
    """
    size = np.bincount(cell)
    loose = size > 1  # of one point there is nothing to share
    share = points.shares / np.bincount(cell, points.shares)[cell]
    worst = 0.0
    for column in points.table().T:
        levels = np.quantile(column, (np.arange(_LEVELS) + 0.5) / _LEVELS)
        below = [np.bincount(cell, share * (column <= level)) for level in levels]
        P = np.clip(np.stack(below, axis=1), 0.0, 1.0)
        variance = (loose / np.maximum(size - 1, 1))[:, None] * P * (1 - P)
        worst = max(worst, float((W**2 @ variance).max()))
    return _STANDARD_ERRORS * float(np.sqrt(worst))


def _weights(projector: Projector | IsotonicProjector, t: Vector) -> Vector:
    """Return the weights of the cells under projected distributions, ``(q, K)``."""
    return projector.weights(t)
