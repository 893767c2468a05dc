r"""The range of an unbounded kernel over a sample: its largest :math:`k(x, x)`.

Unbounded kernels, such as polynomials, reproduce points however far away; points whose
:math:`k(x, x)` exceeds the largest of the sample are out of distribution.
"""

import numpy as np

from jointdist._array import Array, Vector, like, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.lowrank.features import kernel_diagonal
from jointdist.lowrank.protocols import Features

__all__ = ["largest_kernel", "within"]

# The share of all weight that rows of the largest kernel may have and still not count.
_NEGLIGIBLE_WEIGHT = 1e-6


def largest_kernel(
    features: Features,
    x: Rows,
    weights: Vector | None = None,
    executor: Executor | None = None,
) -> float:
    """Return the largest kernel of a row with itself; infinity if all are equal.

    Rows that together have next to no weight do not count.

    Parameters
    ----------
    features : Features
        The features, with their kernel.
    x : Rows
        The rows of the sample.
    weights : array of shape (n,), optional
        Their weights.
    executor : Executor, optional
        Runs the row blocks.
    """
    if not features.rank or features.equal_diagonal:
        return np.inf

    def block(_start: int, z: Array) -> Vector:
        z = like(to_numpy(z), features.core)
        each: Vector = to_numpy(kernel_diagonal(features.kernel, z))
        return each if weights is not None else each.max(keepdims=True)

    found = np.concatenate(list(executor_for(x, executor).map(block, x)))
    if weights is None:
        return float(found.max())
    order = np.argsort(-found)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(found[order[np.searchsorted(share, _NEGLIGIBLE_WEIGHT, side="right")]])


def within(features: Features, phi: Array, z: Array, most: float) -> Vector:
    """Return one for points within the range of the sample's kernel, less beyond it.

    Beyond, it is the largest kernel of the sample over that of the point.

    Parameters
    ----------
    features : Features
        The features, with their kernel.
    phi : Array of shape (q, m)
        The features at the points, in any rotation, on any device.
    z : Array of shape (q, d)
        The points.
    most : float
        The largest kernel of a row of the sample.
    """
    if np.isinf(most):
        return np.ones(z.shape[0])
    if features.complete:
        host = to_numpy(phi)
        whole = np.einsum("qm,qm->q", host, host)
    else:
        whole = to_numpy(kernel_diagonal(features.kernel, z))
    whole = np.nan_to_num(whole, nan=np.inf)
    return np.where(whole > most, most / np.maximum(whole, most), 1.0)
