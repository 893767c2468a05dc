"""Kernel matrices of many small tables at once, as of the neighbours of many points."""

from collections.abc import Callable

import numpy as np

from jointdist._array import Vector
from jointdist.kernels.combined import Columns, Kernel, Product
from jointdist.kernels.covariance import Gaussian, Hamming, Matern

__all__ = ["stacked_matrices"]

_POLYNOMIALS = {0.5: (1.0,), 1.5: (1.0, 1.0), 2.5: (1.0, 1.0, 1 / 3)}  # before exp(-t)


def stacked_matrices(kernel: Kernel, tables: Vector) -> Vector:
    """Return the kernel matrix of each table.

    Parameters
    ----------
    kernel : Kernel
        The kernel. Those of the default families work on all tables at once, which threads
        can share; others on one after the other.
    tables : array of shape (b, n, d)
        The tables, numbers of host memory.

    Returns
    -------
    array of shape (b, n, n)
        Their kernel matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Gaussian
    >>> from jointdist.kernels.stacked import stacked_matrices
    >>> stacked_matrices(Gaussian(), np.array([[[0.0], [0.0]]]))
    array([[[1., 1.],
            [1., 1.]]])
    """
    if isinstance(kernel, Product):
        found = stacked_matrices(kernel.kernels[0], tables)
        for other in kernel.kernels[1:]:
            found *= stacked_matrices(other, tables)
        return found
    if isinstance(kernel, Columns):
        return stacked_matrices(kernel.kernel, tables[:, :, list(kernel.columns)])
    if isinstance(kernel, Hamming):
        return np.exp(-_over_columns(tables, kernel.scale, _differ))
    if isinstance(kernel, Gaussian):
        return np.exp(-0.5 * _over_columns(tables, kernel.scale, _squares))
    if isinstance(kernel, Matern):
        t = np.sqrt(2 * kernel.nu * _over_columns(tables, kernel.scale, _squares))
        polynomial = np.polynomial.polynomial.polyval(t, _POLYNOMIALS[kernel.nu])
        return np.asarray(polynomial * np.exp(-t), dtype=np.float64)
    return np.stack([np.asarray(kernel(z, z), dtype=np.float64) for z in tables])


def _squares(z: Vector, scale: float) -> Vector:
    """Return squared distances of the entries of a column, in units of the scale."""
    z = z / scale
    gaps: Vector = z[:, :, None] - z[:, None, :]
    gaps *= gaps
    return gaps


def _differ(z: Vector, scale: float) -> Vector:
    """Return one over the scale where entries of a column differ."""
    found: Vector = (z[:, :, None] != z[:, None, :]) / scale
    return found


def _over_columns(
    tables: Vector,
    scale: float | tuple[float, ...],
    apart: Callable[[Vector, float], Vector],
) -> Vector:
    """Return the sums over columns of what sets entries apart."""
    b, n, d = tables.shape
    scales = (scale,) * d if isinstance(scale, float) else scale
    total = np.zeros((b, n, n))
    for c, unit in enumerate(scales):
        total += apart(np.ascontiguousarray(tables[:, :, c]), unit)
    return total
