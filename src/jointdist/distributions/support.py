r"""The support of distributions: points of a sample, and functions on them.

A conditional distribution of the model puts the weight :math:`\omega_j (1 + \Psi(y_j) \cdot
t) / \text{mass}` on the support point :math:`y_j`; only the coefficients :math:`t` depend on
the condition. All that is needed of the points are therefore sums :math:`\sum_j \omega_j
f(y_j) (1, \Psi(y_j))`: one pass over them answers :math:`E f(Y)` for any number of
distributions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jointdist._array import Array, Index, Vector, like, to_numpy
from jointdist.distributions.sorted_support import KernelPrefixSums, PrefixSums
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.moments import powers

if TYPE_CHECKING:
    from jointdist.distributions.cell_support import CellSupport

__all__ = [
    "Distinct",
    "KernelSupport",
    "Support",
]

LEAST_MASS = (
    1e-8  # of a distribution: below it, rounding leaves too few digits to divide by
)


class Distinct(NamedTuple):
    """The distinct support points, and sums over those that are equal.

    Attributes
    ----------
    points : array of shape (k, d)
        The distinct rows, coded, in lexicographic order.
    sums : array of shape (k, 1 + m)
        The sums of their weights, and of weights times functions.
    """

    points: Vector
    sums: Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class Support(ABC):
    r"""Support points, with the functions :math:`\Psi` that weights are linear in.

    Attributes
    ----------
    points : SupportPoints
        The points.
    sample : SupportPoints
        The whole sample, which tells what kind of variable it is.
    origin : array of shape (d,)
        The point about which powers are taken, amid the sample.
    mean : array of shape (m,)
        The means of the functions over the points.
    powers : array of shape (1 + m, q), optional
        The mean of :math:`(1, \Psi)^\top p` over the points with the
        :func:`~jointdist.lowrank.moments.powers` about the origin, where already summed.
    """

    points: SupportPoints
    sample: SupportPoints
    origin: Vector
    mean: Vector
    powers: Vector | None = None

    @property
    @abstractmethod
    def cells(self) -> "CellSupport | None":
        """The support itself, if its functions are the indicators of cells; else None."""

    @property
    @abstractmethod
    def distinct(self) -> Distinct:
        """The distinct points; only for variables of few values."""

    @abstractmethod
    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + \Psi \cdot t` of a block of points, ``(b, q)``.

        Parameters
        ----------
        start : int
            The number of the first point.
        z : Array of shape (b, d)
            The points.
        t : array of shape (q, m)
            The coefficients of distributions.
        """

    @abstractmethod
    def weighted(self, rows: Index) -> Any:
        r"""Return :math:`\omega (1, \Psi)` of points, as rows; dense or sparse."""

    @abstractmethod
    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the mean of :math:`(1, \Psi)^\top f` over the points, ``(1 + m, k)``.

        Parameters
        ----------
        f : callable
            From coded rows ``(b, d)`` to numbers ``(b, k)``.
        """

    @abstractmethod
    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights, before they are divided by the mass."""

    @abstractmethod
    def grouped(self) -> Index:
        """Return the numbers of all points, those that are alike next to each other."""

    @abstractmethod
    def prefix_sums(self, column: int) -> PrefixSums:
        """Return the sums over the points sorted by a column."""

    @property
    def rank(self) -> int:
        """The number of functions."""
        return len(self.mean)

    @cached_property
    def first_powers(self) -> Vector:
        """The mean of the functions times the columns less the origin, ``(1 + m, d)``."""
        if self.powers is not None:
            return self.powers[:, : self.points.width]
        return self.expectations(lambda z: z - self.origin)

    @cached_property
    def second_powers(self) -> Vector:
        """The same for products of two columns, on and above the diagonal."""
        d = self.points.width
        products = d * (d + 1) // 2
        if self.powers is not None and self.powers.shape[1] == d + products:
            return self.powers[:, d:]

        def all_products(z: Vector) -> Vector:
            found: Vector = powers(self.origin, z, squared=True)[d:].T
            return found

        return self.expectations(all_products)

    @cached_property
    def squared_powers(self) -> Vector:
        """The same for squares of columns, ``(1 + m, d)``."""
        d = self.points.width
        if self.powers is not None and self.powers.shape[1] > d:
            return self.second_powers[:, [i * d - i * (i - 1) // 2 for i in range(d)]]
        return self.expectations(lambda z: (z - self.origin) ** 2)


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelSupport(Support):
    r"""The sample of a kernel model, with functions that can be evaluated anywhere.

    Attributes
    ----------
    basis : Basis
        The functions :math:`\Psi`.
    """

    basis: Basis
    _prefix_sums: dict[int, KernelPrefixSums] = field(
        default_factory=dict, init=False, repr=False
    )

    @staticmethod
    def of(
        points: SupportPoints, basis: Basis, mean: Vector, powers: Vector | None = None
    ) -> "KernelSupport":
        """Return the sample of a model as a support.

        Parameters
        ----------
        points : SupportPoints
            The sample.
        basis : Basis
            The functions.
        mean : array of shape (m,)
            Their means over the sample, zero if the basis is centred.
        powers : array of shape (1 + m, q), optional
            As in :class:`Support`.
        """
        return KernelSupport(
            points=points,
            sample=points,
            origin=to_numpy(basis.map.origin),
            mean=mean,
            powers=powers,
            basis=basis,
        )

    @property
    def cells(self) -> None:
        """None: the functions are not indicators."""

    def features(self, z: Array) -> Vector:
        """Return the functions at points, as rows."""
        return host_features(self.basis, z)

    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + \Psi \cdot t` of a block of points, ``(b, q)``."""
        del start
        found: Vector = self.features(z) @ t.T
        found += 1.0
        return found

    def weighted(self, rows: Index) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of points, as rows."""
        psi = self.features(self.points.rows.take(rows))
        return self.points.shares[rows, None] * np.insert(psi, 0, 1.0, axis=1)

    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the mean of :math:`(1, \Psi)^\top f` over the points, in one pass."""
        shares = self.points.shares

        def block(start: int, z: Array) -> Vector:
            values = f(to_numpy(z)) * shares[start : start + z.shape[0], None]
            total = values.sum(axis=0)[None, :]
            return np.concatenate([total, self.features(z).T @ values])

        return self.points.executor.reduce(add, block, self.points.rows)

    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights, before they are divided by the mass."""
        S = self._squares
        found: Vector = S[0, 0] + 2 * t @ S[0, 1:] + ((t @ S[1:, 1:]) * t).sum(axis=1)
        return found

    @cached_property
    def _squares(self) -> Vector:
        r"""The sum of :math:`\omega^2 (1, \Psi)^\top (1, \Psi)` over the points."""
        points = self.points
        if points.weights is None:
            inner = np.diag(to_numpy(self.basis.eigenvalues) / points.n)
            mean = self.mean[None, :]
            return np.block([[np.ones((1, 1)), mean], [mean.T, inner]]) / points.n

        def block(start: int, z: Array) -> Vector:
            share = points.shares[start : start + z.shape[0], None]
            f = np.concatenate([share, share * self.features(z)], axis=1)
            product: Vector = f.T @ f
            return product

        return points.executor.reduce(add, block, points.rows)

    def grouped(self) -> Index:
        """Return the numbers of all points, as they are."""
        return np.arange(self.points.n)

    def prefix_sums(self, column: int) -> KernelPrefixSums:
        """Return the sums over the points sorted by a column."""
        if column not in self._prefix_sums:
            at, points = self.points.ordering(column), self.points
            rows = points.rows.subset(at.order)
            sums = KernelPrefixSums(at, rows, self.features, points.executor)
            self._prefix_sums[column] = sums
        return self._prefix_sums[column]

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct points; only for variables of few values."""
        points, which = np.unique(self.points.table(), axis=0, return_inverse=True)
        sums = np.zeros((len(points), 1 + self.rank))
        psi = self.features(like(points, self.basis.map.core))
        sums[:, 0] = np.bincount(which.ravel(), self.points.shares, len(points))
        sums[:, 1:] = sums[:, :1] * psi
        return Distinct(points, sums)

    def density_sums(self, at: Vector) -> Vector:
        r"""Return :math:`p(y) (1, \Psi(y))` at points: densities are linear in them.

        Parameters
        ----------
        at : array of shape (k, d)
            Where, coded.
        """
        sums = np.insert(self.features(at), 0, 1.0, axis=1)
        sums *= self.points.density.at(at)[:, None]
        return sums
