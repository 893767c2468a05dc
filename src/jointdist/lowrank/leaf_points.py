r"""Support points of leaves: sampled rows, with weights that keep the mean of each leaf.

The sampled rows of a leaf have the weights :math:`b_i`. Among the weights that have the mean
of the leaf, those nearest to them in relative entropy are
:math:`p_i \propto b_i \exp(\lambda^\top u_i)`, and :math:`\lambda` minimises a convex function.
A small ridge bounds it where the mean is outside the convex hull of the rows.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Matrix, Vector

if TYPE_CHECKING:
    from jointdist.lowrank.leaf_sums import LeafSums

__all__ = ["LeafPoints", "leaf_points"]

# Ridges, in units of the standard deviations of the rows: from one that is easy to one that
# leaves means exact to nearly rounding.
_RIDGES = (1e-2, 1e-4, 1e-7, 1e-11)
# Newton steps for each ridge, at most: trials need 4 to 8.
_STEPS = 20
# Half the squared Newton decrement at which the minimum is found; about the rounding of it.
_DECREMENT = 1e-24
# The largest exponent for which the ridge is lowered on: above, the mean is at the boundary
# of the hull or outside. In trials, weights of rows from e^-3 to e^3 need less than 30.
_EXPONENT = 100.0
# Singular values relative to the largest below which rows do not span a direction.
_FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class LeafPoints:
    """Leaves that have weight, as cells, and their support points.

    Attributes
    ----------
    points : array of shape (s, d)
        The support points, in the order of their cells: rows of the sample.
    weights, squared : arrays of shape (s,)
        Their weights, and their shares of the squared weights.
    cell : array of int, of shape (s,)
        The cell of each point, ascending.
    leaf : array of int, of shape (K',)
        The number of the leaf that a cell is.
    cell_weights, cell_squared : arrays of shape (K',)
        The sums of the weights and of the squared weights of each cell.
    cell_counts : array of int, of shape (K',)
        The numbers of rows.
    cell_powers : array of shape (K', q)
        The means of the powers of the rows about the origin of the leaves.
    cell_features : array of shape (K', m)
        The means of the features.
    exact : array of bool, of shape (K',)
        Whether the points are all distinct rows of the cell, with their weights.
    """

    points: Matrix
    weights: Vector
    squared: Vector
    cell: Index
    leaf: Index
    cell_weights: Vector
    cell_squared: Vector
    cell_counts: Index
    cell_powers: Matrix
    cell_features: Matrix
    exact: NDArray[np.bool_]


def leaf_points(sums: "LeafSums") -> LeafPoints:
    """Return the support points of leaves, with the means of the leaves where possible.

    Parameters
    ----------
    sums : LeafSums
        The sums over the rows of each leaf, with the sample.
    """
    origin, weight, sample = sums.leaves.origin, sums.weight, sums.sample
    used = np.flatnonzero(weight > 0)
    number = np.full(len(weight), -1)
    number[used] = np.arange(len(used))
    whole = np.bincount(sample.group, sample.counts, len(weight)) == sums.count
    kept = np.flatnonzero((sample.weights > 0) & (number[sample.group] >= 0))
    means = sums.powers[used] / weight[used, None]
    cell, base = number[sample.group[kept]], sample.weights[kept]
    every = len(kept) == sample.size
    points, d = sample.points if every else sample.points[kept], len(origin)
    cell, base, points = _filled(cell, base, points, origin, means[:, :d])
    share = base / np.bincount(cell, base, len(used))[cell]
    exact = whole[used]
    tilted = np.flatnonzero(~exact[cell])
    if tilted.size:
        moved = points[tilted] - origin - means[cell[tilted], :d]
        share[tilted] = _tilted(cell[tilted], share[tilted], moved)
    return LeafPoints(
        points,
        np.where(exact[cell], base, share * weight[used][cell]),
        share * sums.squared[used][cell],
        cell,
        used,
        weight[used],
        sums.squared[used],
        sums.count[used],
        means,
        sums.features[used] / weight[used, None],
        exact,
    )


def _filled(
    cell: Index, base: Vector, points: Matrix, origin: Vector, means: Matrix
) -> tuple[Index, Vector, Matrix]:
    """Give a cell that has no points the point nearest to its mean."""
    without = np.setdiff1d(np.arange(len(means)), cell)
    if not without.size:
        return cell, base, points
    if not len(points):
        return without, np.ones(len(without)), origin + means[without]
    v = points - origin
    scale = v.std(axis=0)
    scale[scale == 0] = 1.0
    gaps = [(((v - means[k]) / scale) ** 2).sum(axis=1).argmin() for k in without]
    cell = np.append(cell, without)
    order = np.argsort(cell, kind="stable")
    base, points = (
        np.append(base, np.ones(len(without))),
        np.append(points, points[gaps], 0),
    )
    return cell[order], base[order], points[order]


def _tilted(cell: Index, share: Vector, moved: Matrix) -> Vector:
    """Return shares of the points of each cell whose mean of ``moved`` is zero, or near."""
    cells, row, sizes = np.unique(cell, return_inverse=True, return_counts=True)
    column = np.arange(len(cell)) - (np.cumsum(sizes) - sizes)[row]
    base = np.zeros((len(cells), sizes.max()))
    base[row, column] = share
    v = np.zeros((*base.shape, moved.shape[1]))
    v[row, column] = moved
    u, target = _whitened(base, v)
    return _entropic(base, u, target)[row, column]


def _whitened(base: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """Return uncorrelated coordinates of points, and those of zero."""
    scale = np.abs(v).max(axis=1, keepdims=True)
    v = v / np.where(scale > 0, scale, 1.0)
    there = (base > 0)[:, :, None] / np.count_nonzero(base, axis=1)[:, None, None]
    centre = (there * v).sum(axis=1, keepdims=True)
    v = v - centre
    _, size, turn = np.linalg.svd(np.sqrt(there) * v, full_matrices=False)
    spanned = size > _FLAT * size[:, :1]
    inverse = np.where(spanned, 1.0 / np.where(spanned, size, 1.0), 0.0)
    onto = turn.swapaxes(1, 2) * inverse[:, None, :]
    return np.where(there > 0, v @ onto, 0.0), (-centre @ onto)[:, 0]


def _entropic(base: Matrix, u: Matrix, target: Matrix) -> Matrix:
    """Return shares with given means of coordinates, nearest to the base in entropy.

    Damped Newton steps: with the largest change M of an exponent, the step of length
    log(1 + M) / M never overshoots, as third derivatives are at most M times the second
    (Sun and Tran-Dinh 2019).
    """
    with np.errstate(divide="ignore"):
        logs = np.log(base)
    tilt = np.zeros_like(target)
    active = np.arange(len(base))
    for ridge in _RIDGES:
        going = active
        for _ in range(_STEPS):
            b, x, t = logs[going], u[going], tilt[going]
            p = _normalised(b, x, t)
            mean = (p[:, None, :] @ x)[:, 0]
            gradient = mean - target[going] + ridge * t
            centred = x - mean[:, None, :]
            hessian = centred.swapaxes(1, 2) @ (p[:, :, None] * centred)
            hessian += ridge * np.eye(hessian.shape[1])
            step = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            change = np.abs((centred @ step[:, :, None])[:, :, 0]).max(axis=1)
            length = np.log1p(change) / np.where(change > 0, change, 1.0)
            tilt[going] = t + np.where(change > 0, length, 1.0)[:, None] * step
            going = going[-(gradient * step).sum(axis=1) > _DECREMENT]
            if not going.size:
                break
        exponents = np.abs((u[active] @ tilt[active][:, :, None])[:, :, 0]).max(axis=1)
        active = active[exponents < _EXPONENT]
        if not active.size:
            break
    return _normalised(logs, u, tilt)


def _normalised(logs: Matrix, u: Matrix, tilt: Matrix) -> Matrix:
    """Return the shares with the exponents ``tilt`` of the coordinates."""
    exponent = logs + (u @ tilt[:, :, None])[:, :, 0]
    p = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
