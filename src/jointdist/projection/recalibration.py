r"""Laws of one column, mended by the levels that they gave to outcomes.

If :math:`F` is the cdf of a law and :math:`G` that of the levels :math:`F_i(y_i)` of outcomes
that the laws had not seen, then :math:`G(F(y))` is the cdf of a law that is right on average:
events of probability p happen in a share p of the cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Fixed
from jointdist.distributions.location_scale import Conditions, Moved
from jointdist.distributions.signed import FewSupport, Laws, Support
from jointdist.errors import ToleranceWarning, is_number, require, warn_user
from jointdist.projection.cell_density import CellLaws
from jointdist.projection.cells import CellSupport, cells_of

__all__ = ["Recalibrated", "Recalibration", "valid"]

_CELLS = 512  # of laws on all atoms
_DIGITS, _ROUNDING = 12, 1e-12  # of a cdf
_NEAR = 1e-9  # a whole number of rows


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration:
    r"""The cdf :math:`G` of levels, with one more level that is not known yet.

    Attributes
    ----------
    levels : array of shape (k,)
        The levels of outcomes, from zero to one, rising.
    upto : array of shape (k,)
        The weight of the rows up to each of them: 1, 2, ..., k without weights.
    """

    levels: Vector
    upto: Vector

    @classmethod
    def of(cls, levels: Vector, weights: Vector | None = None) -> "Recalibration":
        """Return that of levels in any order.

        Parameters
        ----------
        levels : array of shape (k,)
            The levels.
        weights : array of shape (k,), optional
            The weights of their rows.
        """
        levels = np.round(levels, _DIGITS)  # equal ones are equal
        order = np.argsort(levels)
        weights = np.ones(len(levels)) if weights is None else weights
        return cls(levels[order], np.cumsum(weights[order]))

    @property
    def size(self) -> float:
        """The weight of all rows and of one more, which is the new one."""
        return float(self.upto[-1]) + 1

    def __call__(self, F: Vector) -> Vector:
        """Return the new cdfs: linear between the levels, from zero to one."""
        found: Vector = np.interp(F, *self._line)
        return found

    @property
    def _line(self) -> tuple[Vector, Vector]:
        """The levels and the new cdfs there, both rising from zero to one."""
        last = np.append(np.diff(self.levels) > 0, True)
        used = last & (self.levels > 0) & (self.levels < 1)
        x = np.concatenate([[0.0], self.levels[used], [1.0]])
        y = np.concatenate([[0.0], self.upto[used] / self.size, [1.0]])
        return x, y

    def ends(self, level: float) -> tuple[float, float]:
        """Return the levels between which a new one is with a given probability, or more.

        At most half of the rest is on either side, by exchangeability: of k + 1 levels any one
        is as likely to be the new one. Zero and one, if rows are too few to tell.

        Parameters
        ----------
        level : float
            The probability.
        """
        half = (1 - level) / 2 * self.size
        low, high = np.floor(half + _NEAR), np.ceil(self.size - half - _NEAR)
        below, above = np.searchsorted(self.upto, np.array([low, high]) - _NEAR)
        return (
            float(self.levels[below]) if low >= 1 else 0.0,
            float(self.levels[above]) if above < len(self.levels) else 1.0,
        )


class Recalibrated(Conditional):
    """Laws whose intervals cover at least as often as they say.

    All else is asked of the recalibrated laws, whose central intervals are these ones but for
    levels that are rounded outwards, to the next that outcomes had.

    Parameters
    ----------
    base : Laws
        Valid laws of one column.
    recalibration : Recalibration
        How they are mended.
    """

    def __init__(self, base: Laws, recalibration: Recalibration) -> None:
        super().__init__(_mapped(base, recalibration))
        self._base, self._recalibration = base, recalibration

    def __getitem__(self, index: Any) -> "Recalibrated":
        """Return the chosen laws; a single number gives one law."""
        chosen = Conditional(self._base)[index]
        return Recalibrated(chosen._laws, self._recalibration)  # noqa: SLF001

    def interval(self, level: float = 0.9) -> Vector:
        """Return the lower and upper end of intervals, ``(q, 2)``.

        A new outcome is inside with at least the probability ``level``, and with at most
        ``2 / (k + 1)`` more for continuous laws and k rows of calibration, if it is
        exchangeable with these. Ends are infinite if k is less than about
        ``2 / (1 - level)``, or if too many outcomes were beyond all atoms of their laws.

        Parameters
        ----------
        level : float, default=0.9
            The probability inside; at most half of the rest is on either side.
        """
        ok = is_number(level, least=0, below=1) and level > 0
        require(ok, "Conditional.interval", "level", "a number between 0 and 1", level)
        low, high = self._recalibration.ends(level)
        over = min(high + 2 * _ROUNDING, 1.0)  # where cdfs are above it, not only reach it
        found: Vector = self._base.quantile(np.array([low, over]))[..., 0]
        if low <= 0:
            found[:, 0] = -np.inf
        if high >= 1:
            found[:, 1] = np.inf
        if low <= 0 or high >= 1:
            msg = (
                f"Conditional.interval: intervals of level {level:g} have infinite ends. "
                f"They need at least {np.ceil(2 / (1 - level) - _NEAR) - 1:.0f} rows of "
                f"calibration, here {len(self._recalibration.levels)}, of which not too many "
                "are beyond all atoms of their laws. Raise `share`, or lower the level."
            )
            warn_user(msg, ToleranceWarning)
        return found


def valid(dists: Laws) -> Laws:
    """Return laws of one column without negative weights; others stay as they are.

    The cdf of a signed law is replaced by its running maximum, within zero and one, on cells of
    the atoms.

    Parameters
    ----------
    dists : Laws
        The laws.
    """
    return dists if isinstance(dists.support, CellSupport) else _mapped(dists, None)


def _mapped(dists: Laws, how: Recalibration | None) -> Laws:
    """Return laws on cells with cdfs that are mapped at the ends of these."""
    if isinstance(dists, Moved):
        base = _mapped(dists.base, how)
        given: Any = dists.queries
        if isinstance(given, Conditions):
            given = replace(given, of_base=base.queries)
        names, unit = dists.names, dists.unit
        return Moved.of(base, given, dists.shift, dists.stretch, names=names, unit=unit)
    grid, dists = _Grid.of(dists.support), dists.normalised
    queries: Any = _Mapped(dists, grid, how)
    if isinstance(grid.support, CellSupport):
        return CellLaws(grid.support, queries)
    return Laws(grid.support, queries)


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Functions that are one on a cell and zero elsewhere, which may have any weights.

    Attributes
    ----------
    support : Support
        The atoms, with such functions.
    ends : array of shape (K, 1)
        The largest atoms of the cells, rising.
    which : array of shape (K,)
        The numbers of their functions.
    """

    support: Support
    ends: Vector
    which: Index

    @classmethod
    def of(cls, support: Support) -> "_Grid":
        if isinstance(support, FewSupport):
            atoms = support.ordered(0)
            return cls(support, atoms.values[:, None], atoms.order)
        cells = support if isinstance(support, CellSupport) else cells_of(support, _CELLS)
        ordered = cells.ordered(0)
        cell = cells.atoms.cell[ordered.order]
        last = np.flatnonzero(np.diff(cell, append=-1))
        return cls(cells, ordered.values[last, None], cell[last])


@dataclass(frozen=True, slots=True, eq=False)
class _Mapped:
    """Coefficients of laws whose cdfs are those of others, mapped at the ends of cells.

    Attributes
    ----------
    dists : Laws
        The others.
    grid : _Grid
        The cells.
    how : Recalibration or None
        The map; None if cdfs only have to rise.
    """

    dists: Laws
    grid: _Grid
    how: Recalibration | None

    @property
    def n(self) -> int:
        """The number of laws."""
        return self.dists.queries.n

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all laws, some at a time."""
        p, which = self.grid.support.atoms.mean, self.grid.which
        for t in self.dists.queries.parts():
            F = np.maximum.accumulate(self._cdfs(t), axis=1)
            np.clip(F, 0.0, 1.0, out=F)
            F = F if self.how is None else self.how(F)
            ratio = np.empty_like(F)
            ratio[:, which] = np.diff(F, axis=1, prepend=0.0)
            ratio /= p
            ratio -= 1
            yield ratio

    def _cdfs(self, t: Vector) -> Vector:
        """Return the cdfs of some laws at the ends of cells, rising to one."""
        atoms, which = self.grid.support.atoms, self.grid.which
        if self.dists.support is self.grid.support:
            F = np.cumsum((1 + t[:, which]) * atoms.mean[which], axis=1)
            return F / F[:, -1:]
        return Laws(self.dists.support, Fixed(t)).cdf(self.grid.ends, paired=False)

    def novelty(self) -> Vector:
        """Return how unlike the sample each condition is, from zero to one."""
        return self.dists.queries.novelty()

    def labels(self) -> tuple[str, list[str]]:
        """Return what tells few conditions apart."""
        return self.dists.queries.labels()

    def take(self, rows: Any) -> "_Mapped":
        """Return the chosen laws."""
        chosen = replace(self.dists, queries=self.dists.queries.take(rows))
        return replace(self, dists=chosen)
