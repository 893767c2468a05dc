"""Polynomials that are orthonormal over a part of the rows, the start of those over all."""

from collections.abc import Sequence

import numpy as np

from jointdist._array import Array, Index, Matrix, array_namespace, like, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.lowrank.arnoldi import arnoldi, simplified
from jointdist.lowrank.monomials import graded, is_multiple
from jointdist.lowrank.polynomial_map import PolynomialMap

__all__ = ["extreme_rows", "rough_polynomials"]

# The rows with the highest and lowest values of each column that join the part.
_EXTREME_ROWS = 32
# The standard deviation of a scaled column below which it counts as constant: rounding.
_CONSTANT = 1e-14


def extreme_rows(x: Rows, y: Rows, weights: Matrix | None, executor: Executor) -> Index:
    """Return the indices of rows with the highest and lowest values of each column.

    At most one of either in each block of rows, and not too many.

    Parameters
    ----------
    x, y : Rows
        The paired rows.
    weights : array of shape (n,), optional
        Their weights; rows of weight zero do not count.
    executor : Executor
        Runs the row blocks.
    """

    def block(start: int, *tables: Array) -> Matrix:
        ends = []
        for z in tables:
            xp = array_namespace(z)
            low, high = xp.argmin(z, axis=0), xp.argmax(z, axis=0)
            ends.append(
                [*map(to_numpy, (-xp.min(z, axis=0), low, xp.max(z, axis=0), high))]
            )
        found = np.hstack(ends)  # how extreme, and at which row, downwards and upwards
        found[1::2] += start
        return found

    found = np.stack(list(executor.map(block, x, y)))
    size = np.concatenate([found[:, 0], found[:, 2]], axis=1)
    rows = np.concatenate([found[:, 1], found[:, 3]], axis=1).astype(np.intp)
    most = np.argsort(-size, axis=0)[:_EXTREME_ROWS]
    chosen = np.unique(np.take_along_axis(rows, most, axis=0))
    return chosen if weights is None else chosen[weights[chosen] > 0]


def rough_polynomials(
    degree: int,
    Z: Array,
    weights: Matrix | None,
    final: bool,
    unused: Sequence[int] = (),
) -> PolynomialMap:
    """Return functions that are orthonormal over some rows.

    Parameters
    ----------
    degree : int
        The total degree.
    Z : Array of shape (n, d)
        The rows.
    weights : array of shape (n,), optional
        Their weights.
    final : bool
        Whether functions that vanish at these rows are dropped; else other rows may need them.
    unused : sequence of int, default=()
        Columns that no polynomial is in.
    """
    z = to_numpy(Z)
    w = np.full(len(z), 1.0) if weights is None else weights
    w = w / w.sum()
    size = np.abs(z).max(axis=0)
    size[size == 0] = 1.0
    centre = w @ (z / size)
    scale = np.sqrt(w @ (z / size - centre) ** 2)
    scale[scale <= _CONSTANT] = 1.0
    used = np.setdiff1d(np.arange(z.shape[1]), np.array(unused, dtype=np.intp))
    few = np.array(list(graded(degree, len(used))), dtype=np.intp)
    exponents = np.zeros((len(few), z.shape[1]), dtype=np.intp)
    exponents[:, used] = few
    R, kept, phi = arnoldi(exponents, ((z / size - centre) / scale).T, np.sqrt(w))
    core = np.eye(len(R))
    if len(kept) == len(R):
        R, core = simplified(exponents, R, phi, w)
    rough = PolynomialMap(
        degree,
        exponents,
        like(centre * size, Z),
        like(scale * size, Z),
        like(R, Z),
        like(core, Z),
        doubtful=len(kept) < len(R),
    )
    if not final:
        return rough
    multiple = is_multiple(exponents, np.delete(exponents, kept, axis=0))
    kept = kept[~multiple[kept]]
    return rough.corrected(kept, np.eye(len(kept)))
