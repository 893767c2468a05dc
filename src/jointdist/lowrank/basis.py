r"""The double-orthogonal basis (paper, section 4.2).

A rotation :math:`V` of the features that is orthonormal in the kernel's space and
orthogonal on the sample, so that the quadratic part of the objective is diagonal. The
centred form subtracts the mean feature first: then every function of the model has
mean zero over the sample, and both marginals are reproduced whatever the coefficients.
"""

from dataclasses import dataclass
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import (
    Array,
    Vector,
    array_namespace,
    device,
    is_numpy_array,
    like,
    symmetric,
    to_numpy,
)
from jointdist._rules import Text, require
from jointdist.data.executor import Executor, executor_for, one_blas_thread
from jointdist.data.table import as_rows
from jointdist.lowrank.factor import Landmarks, LowRank
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.reduction import Reduced, Reduction

__all__ = [
    "Basis",
    "Bounds",
    "double_orthogonal",
    "host_features",
    "near_basis",
    "orthogonal",
    "side_basis",
]


class Bounds(NamedTuple):
    """The smallest and largest value of each basis function over a set of rows."""

    lower: Array
    upper: Array

    def joined(self, other: "Bounds") -> "Bounds":
        """Return the bounds over both sets of rows."""
        xp = array_namespace(self.lower)
        lower = xp.minimum(self.lower, other.lower)
        return Bounds(lower, xp.maximum(self.upper, other.upper))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Basis:
    r"""The functions :math:`\Psi(z) = (\phi(z) - \bar\phi) V`.

    Attributes
    ----------
    map : Features
        The features :math:`\phi`.
    rotation : Array of shape (m, m)
        The orthogonal matrix :math:`V`.
    eigenvalues : Array of shape (m,)
        The sums of squares :math:`\Lambda` of the functions over the sample, largest
        first.
    mean : Array of shape (m,)
        The mean feature :math:`\bar\phi = s / n` of the sample; zero if not centred.
    pivots : array of shape (m,)
        The numbers of the rows chosen as landmarks.
    error, relative_error : float
        The trace error of the low-rank factor, and its share of the trace.
    """

    map: Features
    rotation: Array
    eigenvalues: Array
    mean: Array
    pivots: NDArray[np.intp]
    error: float
    relative_error: float

    def __repr__(self) -> str:
        return f"Basis(rank {self.rank}, relative_error={self.relative_error:.3g})"

    @property
    def rank(self) -> int:
        """The number of functions :math:`m`."""
        return self.map.rank

    @property
    def expansion(self) -> Array:
        r"""The rows of :math:`Q = B V` at the pivots, Eq. `eq:spectralQ`.

        The other rows are zero: the functions are :math:`\Psi(z) = k(z, P) Q`, less
        their mean if centred.
        """
        return self.map.inverse_core.T @ self.rotation

    def features(self, Z: Array) -> Array:
        r"""Return :math:`\Psi(z_i)` as rows, for a block of checked points."""
        return (self.map.features(Z) - self.mean) @ self.rotation

    def bounds(self, Z: object, *, executor: Executor | None = None) -> Bounds:
        """Return the column minima and maxima over rows, in one pass over them.

        Parameters
        ----------
        Z : array, memory map or DataFrame of shape (n, d)
            The rows.
        executor : Executor, optional
            Runs the row blocks.
        """
        rows = as_rows(Z, where="Basis.bounds", name="Z", vector=True)
        rows.require_width(self.map.width)

        def block(_start: int, z: Array) -> Bounds:
            values = host_features(self, z)
            return Bounds(values.min(axis=0), values.max(axis=0))

        return executor_for(rows, executor).reduce(Bounds.joined, block, rows)


def double_orthogonal(
    small: Reduction | Reduced, *, centred: bool = True
) -> tuple[Basis, Basis]:
    r"""Return the bases of X and Y that diagonalise the objective.

    From :math:`V \Lambda V^\top = L^\top L` (Eq. `eq:spectralQ`), where
    :math:`L - 1 \bar\phi^\top` takes the place of :math:`L` if ``centred``. The
    functions are orthonormal in the kernel's space, Eq. `orthoPsiH`, and orthogonal
    over the sample.

    Parameters
    ----------
    small : Reduction or Reduced
        The factors and moments of a sample.
    centred : bool, default=True
        Whether the mean over the sample is subtracted, so that both marginals are
        reproduced.

    Returns
    -------
    tuple of Basis
        The basis of X and that of Y.
    """
    sums = small.moments
    got = Text(f"moments of weight {sums.weight:g}")
    require(sums.weight > 0, "double_orthogonal", "small", "of positive weight", got)
    x = side_basis(small.x, sums.weight, sums.sum_x, sums.gram_x, centred=centred)
    y = side_basis(small.y, sums.weight, sums.sum_y, sums.gram_y, centred=centred)
    return x, y


def orthogonal(
    low: LowRank,
    weights: NDArray[np.float64] | None = None,
    *,
    executor: Executor | None = None,
) -> Basis:
    r"""Return the basis of one side alone, not centred, in one pass over its rows.

    Parameters
    ----------
    low : LowRank
        The factor of its kernel matrix.
    weights : array of shape (n,), optional
        The weights of the rows.
    executor : Executor, optional
        Runs the row blocks.
    """

    def block(start: int, z: Array) -> Array:
        phi = low.map.features(z)
        if weights is not None:
            w = like(weights[start : start + z.shape[0]], z)
            phi = phi * array_namespace(w).sqrt(w)[:, None]
        return phi.T @ phi

    G = executor_for(low.rows, executor).reduce(add, block, low.rows)
    none = array_namespace(G).zeros(low.rank, dtype=G.dtype, device=device(G))
    return side_basis(low, 1.0, none, G, centred=False)


def side_basis(
    low: Landmarks, weight: float, s: Array, G: Array, *, centred: bool
) -> Basis:
    r"""Return the basis of one side, given its sums.

    Parameters
    ----------
    low : Landmarks
        Those of its kernel matrix, with the trace error.
    weight : float
        The number of rows.
    s : Array of shape (m,)
        The sums of the features.
    G : Array of shape (m, m)
        The sums of their products.
    centred : bool
        Whether the mean is subtracted.
    """
    xp = array_namespace(G)
    mean = s / weight if centred else xp.zeros_like(s)
    if centred:
        G = G - s[:, None] * mean[None, :]
    with one_blas_thread() as one, one:  # the matrix is small
        eigenvalues, V = xp.linalg.eigh(symmetric(G))
    eigenvalues, V = xp.flip(eigenvalues), xp.flip(V, axis=1)
    return Basis(
        low.map,
        V,
        xp.clip(eigenvalues, min=0),
        mean,
        low.pivots,
        low.error,
        low.relative_error,
    )


def near_basis(basis: Basis, z: Array) -> Array:
    """Return points on the device on which the functions of a basis are evaluated.

    Parameters
    ----------
    basis : Basis
        The basis.
    z : Array of shape (b, d)
        The points, on any device.
    """
    core = basis.map.core
    if is_numpy_array(core) or is_numpy_array(z):
        return like(to_numpy(z), core)
    return z


def host_features(basis: Basis, z: Array) -> Vector:
    r"""Return :math:`\Psi(z_i)` as rows in host memory, wherever the points are."""
    features: Vector = to_numpy(basis.features(near_basis(basis, z)))
    return features
