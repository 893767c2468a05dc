r"""Bounds of the basis functions, by which constraints keep the ratio positive."""

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.kernels.bounds import upper_bound
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.features import kernel_matrix
from jointdist.programs import product_bounds

__all__ = ["bounded_sides", "norm_bound", "pivot_features", "sample_bounds"]

_CHECKED = 256  # rows on whose kernel matrix a bound is checked


def sample_bounds(
    y: Basis, x: Basis, points_y: Rows, points_x: Rows, executor: Executor
) -> tuple[Vector, Vector]:
    """Return the bounds of products of basis functions over the grid of the sample.

    Parameters
    ----------
    y, x : Basis
        The bases of both sides.
    points_y, points_x : Rows
        The support points of both sides.
    executor : Executor
        Runs the row blocks.
    """
    over_y = y.bounds(points_y, executor=executor)
    over_x = x.bounds(points_x, executor=executor)
    return product_bounds(*map(to_numpy, (*over_y, *over_x)))


def bounded_sides(y: Basis, x: Basis, sample: Sample) -> tuple[float, float]:
    """Return the upper bounds of the kernels of Y and X, checked on some rows.

    Parameters
    ----------
    y, x : Basis
        The bases of both sides.
    sample : Sample
        The rows.
    """
    bounds = []
    some = sample.choose(_CHECKED, 0)
    sides = (y, sample.y), (x, sample.x)
    for name, (basis, rows) in zip(("kernel_y", "kernel_x"), sides, strict=True):
        kernel, Z = basis.map.kernel, rows.take(some)
        bound = upper_bound(kernel)
        rule = (
            "of values from 0 to a bound, its attribute `bound`, for positivity everywhere"
        )
        got = Text(f"{kernel!r}, which is not known to be")
        require(np.isfinite(bound), rows.where, name, rule, got)
        K = to_numpy(kernel_matrix(kernel, Z, Z))
        seen, slack = (float(K.min(initial=0.0)), float(K.max(initial=0.0))), 1e-12 * bound
        got = Text(f"values from {seen[0]:.3g} to {seen[1]:.3g} with bound {bound:g}")
        within = seen[0] >= -slack and seen[1] <= bound + slack
        require(within, rows.where, name, rule, got)
        bounds.append(bound)
    return bounds[0], bounds[1]


def norm_bound(y: Basis, x: Basis, sample: Sample, weight: float) -> float:
    r"""Return a bound of :math:`|\Psi_Y(y)|_2 |\Psi_X(x)|_2` over all points.

    By Bessel's inequality :math:`|\Psi(z)|^2 \le k(z, z) \le \kappa`. Centred functions
    are projections of :math:`k(z, \cdot) - \bar k`, whose squared norm is
    :math:`k(z, z) - 2 \bar k(z) + |\bar k|^2 \le \kappa + |\bar k|^2` for a kernel that
    is not negative. The low-rank features miss at most the mean trace error of
    :math:`|\bar k|^2`.

    Parameters
    ----------
    y, x : Basis
        The bases of both sides.
    sample : Sample
        The rows.
    weight : float
        The sum of their weights.
    """
    squared = 1.0
    for basis, kappa in zip((y, x), bounded_sides(y, x, sample), strict=True):
        mean = to_numpy(basis.mean)
        rest = basis.error / weight if mean.any() else 0.0
        squared *= kappa + float(mean @ mean) + rest
    return float(np.sqrt(squared))


def pivot_features(basis: Basis, kappa: float) -> tuple[Vector, Vector, Vector]:
    r"""Return the map from rotated to pivot coefficients, and bounds of pivot functions.

    :math:`\Psi = (k(\cdot, P) - \bar k(P)) T` with :math:`T = C^{-\top} V`, and each
    function :math:`k(\cdot, p) - \bar k(p)` lies from :math:`-\bar k(p)` to
    :math:`\kappa - \bar k(p)`.

    Parameters
    ----------
    basis : Basis
        The basis of a side.
    kappa : float
        The upper bound of its kernel.
    """
    mean = to_numpy(basis.map.core) @ to_numpy(basis.mean)
    T: Vector = to_numpy(basis.expansion)
    return T, -mean, kappa - mean
