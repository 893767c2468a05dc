r"""What a support is: points of a sample, and functions on them that weights are linear in.

A conditional distribution of the model puts the weight :math:`\omega_j (1 + \Psi(y_j) \cdot
t) / \text{mass}` on the support point :math:`y_j`; only the coefficients :math:`t` depend on
the condition. All that is needed of the points are therefore sums :math:`\sum_j \omega_j
f(y_j) (1, \Psi(y_j))`: one pass over them answers :math:`E f(Y)` for any number of
distributions. For cdfs and quantiles the points are sorted and cut into blocks, and the sums up
to each block are stored: with :math:`n` points a distribution costs :math:`O(\sqrt n\, m)`,
not :math:`O(n m)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jointdist._array import Array, Index, Vector
from jointdist._cached import Cached, cached
from jointdist.data.executor import Executor
from jointdist.distributions.support_points import Ordering, SupportPoints
from jointdist.lowrank.moments import powers, square_columns

if TYPE_CHECKING:
    from jointdist.distributions.cell_support import CellSupport

__all__ = ["Distinct", "PrefixSums", "Support", "Tables"]

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


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    r"""Sums before each block of sorted points.

    Attributes
    ----------
    table : array of shape (k + 1, 1 + m)
        The sums of :math:`\omega (1, \Psi)`; the last row is over all points.
    first : array of shape (k + 1, 1 + m)
        The sums of :math:`\omega v (1, \Psi)`, of values :math:`v` less the middle one.
    slack : array of shape (k,)
        By how much a cdf may rise inside a block above both its ends, for t of norm one.
    """

    table: Vector
    first: Vector
    slack: Vector


class PrefixSums(Protocol):
    r"""Sums of :math:`\omega (1, \Psi)` over sorted support points.

    A cdf at :math:`v` is :math:`(1, t) \cdot P(v) / \text{mass}` with the sum :math:`P(v)`
    over all points up to :math:`v`; so are quantiles and the energy score linear or
    quadratic in what is stored here.
    """

    @property
    def ordering(self) -> Ordering:
        """The sorted points."""

    @property
    def executor(self) -> Executor:
        """How blocks are worked on."""

    @property
    def tables(self) -> Tables:
        """The sums before each block."""

    @property
    def spread(self) -> Vector:
        r"""The matrix :math:`D` with :math:`E |Y - Y'| = (1, t)^\top D (1, t)`."""

    def weighted(self, start: int, end: int) -> Vector:
        r"""Return :math:`\omega (1, \Psi)` of a range of sorted points, as rows."""

    def prefix(self, points: Vector) -> tuple[Vector, Vector]:
        r"""Return the sums of :math:`\omega (1, \Psi)` and of :math:`\omega v (1, \Psi)`
        over the points up to each value, of shape ``(k, 1 + m)``.
        """


@dataclass(frozen=True, eq=False, kw_only=True)
class Support(Cached, ABC):
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

    @property
    def point_mean(self) -> Vector:
        """The means of the functions over the support points, if they stand for other rows."""
        return self.mean

    @property
    def cell_means(self) -> Vector | None:
        """The means of the functions over the cells of merged rows, ``(K, m)``, if known."""
        return None

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

    @cached
    def first_powers(self) -> Vector:
        """The mean of the functions times the columns less the origin, ``(1 + m, d)``."""
        if self.powers is not None:
            return self.powers[:, : self.points.width]
        return self.expectations(lambda z: z - self.origin)

    @cached
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

    @cached
    def squared_powers(self) -> Vector:
        """The same for squares of columns, ``(1 + m, d)``."""
        d = self.points.width
        if self.powers is not None and self.powers.shape[1] == 2 * d:
            return self.powers[:, d:]
        if self.powers is not None and self.powers.shape[1] > d:
            return self.powers[:, square_columns(d, self.powers.shape[1])]
        return self.expectations(lambda z: (z - self.origin) ** 2)
