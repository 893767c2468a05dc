"""Isotonic distributions: proper ones of the nearest cdf to that of signed ones.

For one column of numbers. The distance is that of the CRPS, which the projection does not
raise at any outcome; see :mod:`jointdist.programs.isotonic`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Index, Vector
from jointdist._cached import Cached, cached
from jointdist._rules import Text, require
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.conditions import Derived
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Projection
from jointdist.distributions.support import Support
from jointdist.distributions.support_points import standard_deviations
from jointdist.programs.isotonic import isotonic
from jointdist.projection.partition import cells_of_values
from jointdist.projection.proper import ProperDistributions
from jointdist.projection.settings import SETTINGS
from jointdist.projection.signed_cells import SignedCells, report_rows

__all__ = ["Isotonic", "IsotonicProjector", "MonotoneWeights"]

_WORKED = 1 << 18  # weights worked on at a time: 2 MB, which stay in cache


@dataclass(frozen=True, eq=False)
class IsotonicProjector(Cached):
    """The map from signed distributions of one column to those of the nearest cdf.

    Attributes
    ----------
    signed : Support
        The support of the signed distributions.
    cells : CellSupport
        The same in cells; each value has its own if they are at most 2,048.
    """

    signed: Support
    cells: CellSupport

    @staticmethod
    def on(signed: Support, where: str) -> "IsotonicProjector":
        """Return the projector of signed distributions.

        Parameters
        ----------
        signed : Support
            The support of the signed distributions.
        where : str
            The function that the user called, for messages.
        """
        got = Text('"isotonic", for several columns or categories; ask for "projected"')
        rule = "for distributions of one column of numbers"
        require(signed.points.is_scalar, where, "positivity", rule, got)
        return IsotonicProjector(signed, cells_of_values(signed, SETTINGS.isotonic_cells))

    def weights(self, t: Vector) -> Vector:
        """Return the weights of the cells, given coefficients of signed distributions."""
        order, centres = self.in_order
        found = np.empty((len(t), len(order)))
        found[:, order] = isotonic(self.signed_cells.weights(t)[:, order], centres)
        return found

    def project(self, signed: LinearDistributions) -> "Isotonic":
        """Return the projections of signed distributions."""
        return Isotonic(self.cells, MonotoneWeights(signed.conditions, self))

    @cached
    def signed_cells(self) -> SignedCells:
        """The weights of cells under signed distributions."""
        return SignedCells.of(self.signed, self.cells)

    @cached
    def in_order(self) -> tuple[Index, Vector]:
        """The cells from the lowest to the highest, and their means."""
        centres = self.cells.centres[:, 0]
        order = np.argsort(centres)
        return order, centres[order]


@dataclass(frozen=True, eq=False)
class MonotoneWeights(Derived):
    """Conditions of isotonic distributions.

    Attributes
    ----------
    projector : IsotonicProjector
        The projection.
    """

    projector: IsotonicProjector

    def weights(self) -> Iterator[Vector]:
        """Yield the weights of the cells under all distributions, some at a time."""
        projector = self.projector
        step = max(_WORKED // projector.cells.rank, 1)
        for t in self.given.parts():
            slices = (t[i : i + step] for i in range(0, len(t), step))
            yield from projector.signed.points.executor.each(projector.weights, slices)

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time."""
        for w in self.weights():
            np.divide(w, self.projector.cells.mean, out=w)
            yield np.subtract(w, 1, out=w)

    def take(self, rows: Any) -> "MonotoneWeights":
        """Return the chosen conditions."""
        return MonotoneWeights(self.given.take(rows), self.projector)


@dataclass(frozen=True, eq=False)
class Isotonic(ProperDistributions):
    """Isotonic projections of signed distributions of one column."""

    conditions: MonotoneWeights

    def projection(self) -> Projection:
        """Return how far the distributions are from the signed ones."""
        projector, start, rows = self.conditions.projector, 0, []
        cells = projector.cells
        unit = standard_deviations(cells.centres, cells.mean)
        signed = np.concatenate(list(self.conditions.given.parts()))
        for w in self.conditions.weights():
            before = projector.signed_cells.weights(signed[start : start + len(w)])
            missed = (w - before) @ cells.centres / unit
            rows.append(report_rows(missed, w, before, cells))
            start += len(w)
        missed, moved, information, size = np.concatenate(rows).T
        converged = np.ones(start, dtype=bool)
        return Projection("isotonic", missed, moved, information, size, converged)
