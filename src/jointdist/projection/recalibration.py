r"""Recalibrated distributions of one column, and their conformal intervals.

If :math:`F` is the cdf of a distribution and :math:`G` that of the levels :math:`F_i(y_i)` of
held-out outcomes, then :math:`G(F(y))` is the cdf of a distribution that is calibrated on
average: events of probability p happen in a share p of the cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jointdist._array import Index, Vector
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.conditions import Derived, Fixed
from jointdist.distributions.embedded import Embedded
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Distributions
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.projection.partition import cells_of_values
from jointdist.projection.proper import ProperDistributions
from jointdist.projection.settings import SETTINGS

__all__ = [
    "ConformalIntervals",
    "Recalibrated",
    "Recalibration",
    "proper",
    "recalibrated",
]

_DIGITS, _ROUNDING = 12, 1e-12  # of a cdf
_NEAR = 1e-9  # a whole number of rows, up to rounding
# Levels that are kept: as many as rows are by default. Intervals of more are rounded outwards,
# to the next level that is kept, by at most 1 / 65,536 on either side.
_MOST_LEVELS = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration:
    r"""The cdf :math:`G` of levels of held-out outcomes, and of one more that is not known.

    Attributes
    ----------
    levels : array of shape (k,)
        The levels of outcomes, from zero to one, ascending.
    upto : array of shape (k,)
        The weight of the rows up to each of them: 1, 2, ..., k without weights.
    thinned : bool, default=False
        Whether these are only some of the levels, evenly spread.
    """

    levels: Vector
    upto: Vector
    thinned: bool = False

    @classmethod
    def of(cls, levels: Vector, weights: Vector | None = None) -> "Recalibration":
        """Return the recalibration by levels in any order.

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
        levels, upto = levels[order], np.cumsum(weights[order])
        if len(levels) <= _MOST_LEVELS:
            return cls(levels, upto)
        some = np.linspace(0, len(levels) - 1, _MOST_LEVELS).round().astype(np.intp)
        return cls(levels[some], upto[some], thinned=True)

    @property
    def size(self) -> float:
        """The weight of all rows and of one more, which is the new one."""
        return float(self.upto[-1]) + 1

    def __call__(self, F: Vector) -> Vector:
        """Return the recalibrated cdfs: linear between the levels, from zero to one."""
        last = np.append(np.diff(self.levels) > 0, True)
        used = last & (self.levels > 0) & (self.levels < 1)
        x = np.concatenate([[0.0], self.levels[used], [1.0]])
        y = np.concatenate([[0.0], self.upto[used] / self.size, [1.0]])
        found: Vector = np.interp(F, x, y)
        return found

    def ends(self, level: float) -> tuple[float, float]:
        """Return levels between which a new one is with at least a given probability.

        At most half of the rest is on either side, by exchangeability: of k + 1 levels any one
        is as likely to be the new one. Zero or one, where the rows are too few.

        Parameters
        ----------
        level : float
            The probability.
        """
        half = (1 - level) / 2 * self.size
        low, high = np.floor(half + _NEAR), np.ceil(self.size - half - _NEAR)
        below, above = np.searchsorted(self.upto, np.array([low, high]) - _NEAR)
        if self.thinned and below > 0:  # a level that was left out may be between the two
            below -= 1
        return (
            float(self.levels[below]) if low >= 1 else 0.0,
            float(self.levels[above]) if above < len(self.levels) else 1.0,
        )


@dataclass(frozen=True, eq=False)
class ConformalIntervals:
    """Split-conformal intervals, of finite-sample marginal coverage.

    They are the central intervals of the recalibrated distributions, but for levels that are
    rounded outwards, to the next that a held-out outcome had.

    Attributes
    ----------
    base : Distributions
        Proper distributions of one column, before recalibration.
    recalibration : Recalibration
        The levels of held-out outcomes.
    """

    base: Distributions
    recalibration: Recalibration

    def take(self, rows: Any) -> "ConformalIntervals":
        """Return the intervals of the chosen distributions."""
        return replace(self, base=self.base.take(rows))

    def at(self, level: float) -> Vector:
        """Return the lower and upper ends of intervals of a level, ``(q, 2)``."""
        low, high = self.recalibration.ends(level)
        over = min(high + 2 * _ROUNDING, 1.0)  # where cdfs are above it, not only reach it
        found: Vector = self.base.quantile(np.array([low, over]))[..., 0]
        if low <= 0:
            found[:, 0] = -np.inf
        if high >= 1:
            found[:, 1] = np.inf
        if low <= 0 or high >= 1:
            msg = (
                f"Conditional.interval: intervals of level {level:g} have infinite ends. "
                f"They need at least {np.ceil(2 / (1 - level) - _NEAR) - 1:.0f} rows of "
                f"calibration, here {len(self.recalibration.levels)}, of which not too many "
                "are beyond all support points. Raise `share`, or lower the level."
            )
            warn_user(msg, ToleranceWarning)
        return found


def recalibrated(
    base: Distributions, recalibration: Recalibration, index: Any = None
) -> Conditional:
    """Return recalibrated distributions with conformal intervals.

    Parameters
    ----------
    base : Distributions
        Proper distributions of one column.
    recalibration : Recalibration
        The levels of held-out outcomes.
    index : index of pandas, optional
        The labels of the conditions.
    """
    mapped = base.reweighted(lambda dists: _mapped(dists, recalibration))
    return Conditional(mapped, ConformalIntervals(base, recalibration), index)


def proper(dists: Distributions) -> Distributions:
    """Return distributions of one column without negative weights; proper ones as they are.

    The cdf of a signed distribution is replaced by its running maximum, within zero and one,
    on cells of the support points.

    Parameters
    ----------
    dists : Distributions
        The distributions.
    """
    if dists.is_proper:
        return dists
    return dists.reweighted(lambda signed: _mapped(signed, None))


def _mapped(
    dists: LinearDistributions, recalibration: Recalibration | None
) -> LinearDistributions:
    """Return distributions on cells whose cdfs are mapped at the ends of the cells."""
    given = dists.support.cells
    cells = (
        cells_of_values(dists.support, SETTINGS.interval_cells) if given is None else given
    )
    conditions = MappedWeights.of(dists.normalised, cells, recalibration)
    if given is None or dists.is_proper:
        return Recalibrated(cells, conditions)
    return Embedded(cells, conditions)  # a cell for each support point, as before


@dataclass(frozen=True, eq=False)
class MappedWeights(Derived):
    """Conditions of distributions whose cdfs are those of others, mapped at ends of cells.

    Attributes
    ----------
    dists : LinearDistributions
        The others.
    cells : CellSupport
        The cells.
    ends : array of shape (K, 1)
        The largest support points of the cells, ascending.
    order : array of shape (K,)
        The numbers of the cells in this order.
    recalibration : Recalibration or None
        The map; None if cdfs only become monotone.
    """

    dists: LinearDistributions
    cells: CellSupport
    ends: Vector
    order: Index
    recalibration: Recalibration | None

    @staticmethod
    def of(
        dists: LinearDistributions, cells: CellSupport, recalibration: Recalibration | None
    ) -> "MappedWeights":
        """Return the conditions of mapped distributions.

        Parameters
        ----------
        dists : LinearDistributions
            The distributions before.
        cells : CellSupport
            The cells, which are intervals.
        recalibration : Recalibration or None
            The map.
        """
        at = cells.points.ordering(0)
        cell = cells.cell[at.order]
        last = np.flatnonzero(np.diff(cell, append=-1))
        ends = at.values[last, None]
        return MappedWeights(
            dists.conditions, dists, cells, ends, cell[last], recalibration
        )

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time."""
        for t in self.given.parts():
            F = np.maximum.accumulate(self._cdfs(t), axis=1)
            np.clip(F, 0.0, 1.0, out=F)
            F = F if self.recalibration is None else self.recalibration(F)
            ratio = np.empty_like(F)
            ratio[:, self.order] = np.diff(F, axis=1, prepend=0.0)
            ratio /= self.cells.mean
            ratio -= 1
            yield ratio

    def take(self, rows: Any) -> "MappedWeights":
        """Return the chosen conditions."""
        chosen = self.dists.take(rows)
        return replace(self, given=chosen.conditions, dists=chosen)

    def _cdfs(self, t: Vector) -> Vector:
        """Return cdfs at the ends of cells, for given coefficients."""
        if self.dists.support is self.cells:
            F = np.cumsum((1 + t[:, self.order]) * self.cells.mean[self.order], axis=1)
            return F / F[:, -1:]
        return replace(self.dists, conditions=Fixed(t)).cdf(self.ends, paired=False)


@dataclass(frozen=True, eq=False)
class Recalibrated(ProperDistributions):
    """Proper distributions whose cdfs were mapped by a recalibration, or made monotone."""

    def projection(self) -> None:
        """Return None: these are not projected."""
