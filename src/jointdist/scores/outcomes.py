"""Distributions and observed outcomes, checked."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.events import Event, happens
from jointdist.data.table import Rows
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.protocols import Distributions

__all__ = [
    "Outcomes",
    "column_of",
    "distributions_of",
    "or_nan",
    "outcomes_of",
    "require_column",
]


class Outcomes(NamedTuple):
    """Distributions, and an observed outcome for each.

    Attributes
    ----------
    dists : Distributions
        The distributions.
    rows : Rows
        The outcomes, coded.
    """

    dists: Distributions
    rows: Rows

    @property
    def points(self) -> Vector:
        """The outcomes as numbers, ``(q, d)``."""
        points: Vector = to_numpy(self.rows.read(0, self.rows.n))
        return points

    @property
    def column(self) -> Vector:
        """The first column of the outcomes, ``(q,)``."""
        return self.points[:, 0]

    def happened(self, event: Event) -> Vector:
        """Return one where an event happened, else zero.

        Parameters
        ----------
        event : str or callable
            As in :meth:`~jointdist.Conditional.prob`.
        """
        dists, where = self.dists, "Conditional.prob"
        found = happens(
            event, dists.encoding, self.points, where=where, name="event", side=dists.side
        )
        return found.astype(np.float64)


def distributions_of(where: str, dist: Conditional) -> Distributions:
    """Return what answers the questions to conditional distributions.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The distributions.
    """
    rule, got = "a Conditional, as `given` returns it", Text(type(dist).__name__)
    require(isinstance(dist, Conditional), where, "dist", rule, got)
    return dist.distributions


def require_column(where: str, dist: Conditional) -> Distributions:
    """Return the distributions, which must be of one column of numbers.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The distributions.
    """
    dists = distributions_of(where, dist)
    encoding = dists.encoding
    got = Text(f"{encoding.width} columns" if encoding.width > 1 else "categories")
    ok = encoding.width == 1 and encoding.numeric
    require(ok, where, "dist", "of one column of numbers", got)
    return dists


def outcomes_of(where: str, dist: Conditional, y: object, name: str = "y") -> Outcomes:
    """Return distributions with an observed outcome for each.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The distributions.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        The outcomes.
    name : str, default="y"
        Their name, for messages.
    """
    dists = distributions_of(where, dist)
    rows = dists.encoding.encode(y, where=where, name=name, vector=True)
    rule = f"one outcome for each of the {len(dist)} distributions"
    require(rows.n == len(dist), where, name, rule, Text(f"{rows.n} outcomes"))
    return Outcomes(dists, rows)


def column_of(where: str, dist: Conditional, y: object) -> Outcomes:
    """Return distributions of one column of numbers with an observed outcome for each.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The distributions.
    y : array, Series or sequence of shape (q,)
        The outcomes.
    """
    require_column(where, dist)
    return outcomes_of(where, dist, y)


def or_nan(truth: NDArray[np.bool_], of: Vector) -> Vector:
    """Return ones and zeros for True and False; NaN where there is no distribution.

    Parameters
    ----------
    truth : array of bool
        The truth values.
    of : array of the same shape
        What they were computed from: NaN where there is no distribution.
    """
    return np.where(np.isnan(of), np.nan, truth)
