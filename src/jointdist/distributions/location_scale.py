r"""Laws that are moved and stretched: those of :math:`a(x) + s(x) u` with laws of :math:`u`.

A forecast of the location and of the scale of Y takes the peak out of its law; what remains
is a law of residuals. All that is asked of it is asked of the law of :math:`u` at other
points, or of its atoms, moved.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist

from jointdist._array import Vector
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.distributions.conditions import told_apart
from jointdist.distributions.signed import Laws, Projection

__all__ = ["Conditions", "Moved"]

_STAND = 4096  # atoms that stand for all where each law has its own
_WORKED = 1 << 20  # numbers that are worked on at a time
_ROUNDING = 4 * np.finfo(float).eps
_DRAWS = 512  # by which laws of several columns are scored


@dataclass(frozen=True, eq=False)
class Conditions:
    """Rows of x, which forecasts stand for in laws of residuals.

    Attributes
    ----------
    of_base : Queries
        The conditions of the laws of residuals.
    rows : Rows
        The conditions, coded.
    encoding : Encoding
        How words of the conditions became numbers.
    unlike : array of shape (q,)
        How unlike the sample they are.
    """

    of_base: Any
    rows: Rows
    encoding: Encoding
    unlike: Vector

    @property
    def n(self) -> int:
        """The number of laws."""
        return self.rows.n

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all laws of residuals, some at a time."""
        yield from self.of_base.parts()

    def novelty(self) -> Vector:
        """Return how unlike the sample each condition is, from zero to one."""
        return self.unlike

    def labels(self) -> tuple[str, list[str]]:
        """Return what tells few conditions apart."""
        return told_apart(self.rows, self.encoding)

    def take(self, rows: Any) -> "Conditions":
        """Return the chosen ones."""
        chosen = self.rows.subset(np.arange(self.n)[rows])
        base = self.of_base.take(rows)
        return replace(self, of_base=base, rows=chosen, unlike=self.unlike[rows])


@dataclass(frozen=True, eq=False, kw_only=True)
class Moved(Laws):
    """Laws of location plus scale times a residual.

    Attributes
    ----------
    base : Laws
        The laws of the residuals, of numbers.
    shift : array of shape (q, d)
        The locations.
    stretch : array of shape (q, d)
        The scales, positive.
    names : Encoding
        What the columns are.
    unit : array of shape (d,)
        In what distances along each of several columns are measured.
    """

    base: Laws
    shift: Vector
    stretch: Vector
    names: Encoding
    unit: Vector

    @staticmethod
    def of(
        base: Laws,
        conditions: Any,
        shift: Vector,
        stretch: Vector,
        *,
        names: Encoding,
        unit: Vector,
    ) -> "Moved":
        """Return laws, moved.

        Parameters
        ----------
        base : Laws
            The laws of the residuals, of numbers.
        conditions : Conditions, or the queries of the base
            What they are given.
        shift, stretch : arrays of shape (q, d)
            The locations, and the scales, positive.
        names : Encoding
            What the columns are.
        unit : array of shape (d,)
            In what distances along each of several columns are measured.
        """
        base = base.normalised
        return Moved(
            support=base.support,
            queries=conditions,
            base=base,
            shift=shift,
            stretch=stretch,
            names=names,
            unit=unit,
        )

    @property
    def encoding(self) -> Encoding:
        """What the columns are."""
        return self.names

    @property
    def units(self) -> Vector:
        """In what distances along each of several columns are measured."""
        return self.unit

    @property
    def origin(self) -> Vector:
        """Zero: laws of small numbers are not to be taken around residuals."""
        return np.zeros(self.shift.shape[1])

    @property
    def few(self) -> bool:
        """Whether there are few distinct values: not, as each law has its own."""
        return False

    @property
    def normalised(self) -> Laws:
        """The same laws."""
        return self

    def take(self, rows: Any) -> "Moved":
        """Return the chosen laws."""
        base = self.base.take(rows)
        shift, stretch = self.shift[rows], self.stretch[rows]
        queries = self.queries.take(rows)
        return replace(self, queries=queries, base=base, shift=shift, stretch=stretch)

    def means(self) -> Vector:
        """Return the means, ``(q, d)``."""
        return self.shift + self.stretch * (self.base.means() + self.base.origin)

    def covariances(self) -> Vector:
        """Return the covariances, ``(q, d, d)``."""
        both = self.stretch[:, :, None] * self.stretch[:, None, :]
        found: Vector = both * self.base.covariances()
        return found

    def variances(self) -> Vector:
        """Return the variances of columns, ``(q, d)``."""
        return self.stretch**2 * self.base.variances()

    def products(self) -> Vector:
        """Return the means of products of columns, ``(q, d, d)``."""
        v = self.means()
        found: Vector = self.covariances() + v[:, :, None] * v[:, None, :]
        return found

    def squares(self) -> Vector:
        """Return the means of squares of columns, ``(q, d)``."""
        return self.variances() + self.means() ** 2

    def quantile(self, levels: Vector) -> Vector:
        """Return the quantiles of each column, ``(q, l, d)``."""
        found = self.base.quantile(levels)
        return self.shift[:, None, :] + self.stretch[:, None, :] * found

    def cdf(self, points: Vector, *, paired: bool) -> Vector:
        """Return cdfs at points ``(k, d)``: law i at point i, or all laws at all points."""
        if paired:
            return self.base.cdf(self._back(points), paired=True)
        each = [self.base.cdf(self._back(point), paired=True) for point in points]
        return np.stack(each, axis=1)

    def density(self, points: Vector, *, paired: bool, log: bool = False) -> Vector:
        """Return densities at points ``(k, d)``, paired or all, or their logarithms."""
        if paired:
            found = self.base.density(self._back(points), paired=True, log=log)[:, None]
        else:
            at = (points - self.shift[:, None, :]) / self.stretch[:, None, :]
            found = self.base.densities(at, log=log)
        unit = np.log(self.stretch).sum(axis=1, keepdims=True)
        found = found - unit if log else found * np.exp(-unit)
        one: Vector = found[:, 0]
        return one if paired else found

    def _back(self, points: Vector) -> Vector:
        """Return points, moved back, and up by rounding: atoms are not above themselves."""
        size = _ROUNDING * np.maximum(np.abs(points), np.abs(self.shift))
        moved: Vector = (points - self.shift + size) / self.stretch
        return moved

    def draws(self, uniform: Vector) -> NDArray[Any]:
        """Return draws made from uniform numbers ``(q, size)``, as points ``(..., d)``."""
        return self._moved(self.base.draws(uniform))

    def modes(self) -> Vector:
        """Return the points of the highest density, ``(q, d)``."""
        found: Vector = self.shift + self.stretch * self.base.modes()
        return found

    def points(self) -> Vector:
        """Return the atoms of each law, ``(q, n, d)``."""
        return self._moved(self.base.points()[None])

    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations of functions, ``(q, k)``.

        Of more than 4,096 atoms, that many stand for all, by the weights of these.

        Parameters
        ----------
        f : callable
            From points ``(b, d)`` to numbers ``(b, k)``.
        """
        found = []
        for own, w, u in self._standing():
            at = self.shift[own, None] + self.stretch[own, None] * u
            values = f(at.reshape(-1, at.shape[-1])).reshape(*w.shape, -1)
            found.append(np.einsum("qr,qrk->qk", w, values))
        return np.concatenate(found)

    def energy(self, points: Vector, unit: Vector) -> Vector:
        """Return the energy scores of laws of several columns at a point each.

        By 512 atoms of each, spread evenly over its weights.

        Parameters
        ----------
        points : array of shape (q, d)
            The points.
        unit : array of shape (d,)
            The units of the columns.
        """
        levels = (np.arange(_DRAWS) + 0.5) / _DRAWS
        found = np.empty(len(points))
        step = max(_WORKED // _DRAWS, 1)
        for start in range(0, len(points), step):
            own = slice(start, min(start + step, len(points)))
            part = self.take(np.arange(own.start, own.stop))
            even = np.broadcast_to(levels, (len(part.shift), _DRAWS))
            drawn = part.draws(even) / unit
            for i, (y, z) in enumerate(zip(points[own] / unit, drawn, strict=True)):
                apart = pdist(z).sum() / _DRAWS**2  # each pair once: half the mean
                found[start + i] = cdist(z, y[None]).mean() - apart
        return found

    def projection(self) -> Projection | None:
        """Return how far the laws of the residuals are from signed ones."""
        return self.base.projection()

    def _standing(self) -> Iterator[tuple[slice, Vector, Vector]]:
        """Yield some laws, their weights on atoms that stand for all, and these atoms."""
        atoms, start = self.atoms, 0
        rows = self.base.in_order()
        often = np.ones(len(rows))
        if len(rows) > _STAND:
            share = atoms.shares[rows]
            places = (np.arange(_STAND) + 0.5) / _STAND * share.sum()
            which, count = np.unique(
                np.searchsorted(np.cumsum(share), places), return_counts=True
            )
            rows, often = rows[which], count / share[which]
        sums, u = atoms.sums(rows), np.asarray(self.base.points()[rows])
        sums *= often[:, None]
        for t in self.base.queries.parts():
            step = max(_WORKED // len(rows), 1)
            for i in range(0, len(t), step):
                part = np.insert(t[i : i + step], 0, 1.0, axis=1)
                w = np.asarray((sums @ part.T).T)
                w /= w.sum(axis=1)[:, None]
                yield slice(start, start + len(part)), w, u
                start += len(part)

    def _moved(self, points: NDArray[Any]) -> Vector:
        """Return points of each law, ``(q, k, d)``, moved."""
        found: Vector = self.shift[:, None, :] + self.stretch[:, None, :] * points
        return found
