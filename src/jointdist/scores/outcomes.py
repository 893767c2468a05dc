"""Laws and what came of them, checked."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jointdist._array import Vector, to_numpy
from jointdist.data.table import Rows
from jointdist.distributions.arguments import numbers_of
from jointdist.distributions.conditional import Conditional
from jointdist.distributions.signed import Laws
from jointdist.errors import Text, require

__all__ = ["Outcomes", "column_of", "laws_of", "or_nan", "outcomes_of", "require_column"]


class Outcomes(NamedTuple):
    """Laws, and an outcome for each.

    Attributes
    ----------
    dists : Laws
        The laws.
    rows : Rows
        The outcomes, coded.
    """

    dists: Laws
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

    def happened(self, event: Callable[[Any], ArrayLike]) -> Vector:
        """Return one where an event came true, else zero."""
        known = self.dists.atoms.decoded(self.points)
        return numbers_of("prob", "event", event, known, bool)


def laws_of(where: str, dist: Conditional) -> Laws:
    """Return what a conditional law stands on.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The laws.
    """
    rule, got = "a Conditional, as `given` returns it", Text(type(dist).__name__)
    require(isinstance(dist, Conditional), where, "law", rule, got)
    return dist._laws  # noqa: SLF001


def require_column(where: str, dist: Conditional) -> Laws:
    """Return the laws, which must be of one column of numbers.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The laws.
    """
    dists = laws_of(where, dist)
    encoding = dists.encoding
    got = Text(f"{encoding.width} columns" if encoding.width > 1 else "words")
    ok = encoding.width == 1 and encoding.numeric
    require(ok, where, "law", "of one column of numbers", got)
    return dists


def outcomes_of(where: str, dist: Conditional, y: object, name: str = "y") -> Outcomes:
    """Return laws with an outcome for each.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The laws.
    y : array, DataFrame or sequence of shape (q,) or (q, d)
        The outcomes.
    name : str, default="y"
        Their name, for messages.
    """
    dists = laws_of(where, dist)
    rows = dists.encoding.encode(y, where=where, name=name, vector=True)
    rule = f"one outcome for each of the {len(dist)} laws"
    require(rows.n == len(dist), where, name, rule, Text(f"{rows.n} outcomes"))
    return Outcomes(dists, rows)


def column_of(where: str, dist: Conditional, y: object) -> Outcomes:
    """Return laws of one column of numbers with an outcome for each.

    Parameters
    ----------
    where : str
        The function, for messages.
    dist : Conditional
        The laws.
    y : array, Series or sequence of shape (q,)
        The outcomes.
    """
    require_column(where, dist)
    return outcomes_of(where, dist, y)


def or_nan(told: NDArray[np.bool_], of: Vector) -> Vector:
    """Return ones and zeros for True and False; NaN where what it is told of is NaN.

    Parameters
    ----------
    told : array of bool
        What is told.
    of : array of the same shape
        Of what: NaN where there is no law.
    """
    return np.where(np.isnan(of), np.nan, told)
