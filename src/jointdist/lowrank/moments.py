r"""Sufficient statistics of a paired sample: sums of products of features (paper, section 4.2).

With the features :math:`f(z) = (1, \phi_X(x), \phi_Y(y))` of a pair, a model depends on the
sample only through the matrix :math:`\sum_i w_i f(z_i) f(z_i)^\top`. Such sums add and
subtract: the sums of parts of a data set are those of the whole, and rows can be taken out
again. The same pass sums products of the features with the columns of both sides and their
squares, for conditional means and covariances.
"""

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from jointdist._array import (
    Array,
    Index,
    Vector,
    array_namespace,
    like,
    to_numpy,
)
from jointdist._rules import Text, require
from jointdist.lowrank.protocols import Features

__all__ = ["Moments", "Precision", "powers", "square_columns"]

Precision: TypeAlias = Literal["float64", "float32"]

# Columns of which all products are summed, at most: with more, the d (d + 1) / 2 products of a
# row would cost as much as its features.
_MULTIPLIED_COLUMNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    r"""Sums over a paired sample; they add and subtract.

    Attributes
    ----------
    count : int
        The number of rows.
    gram : Array of shape (1 + m_X + m_Y, 1 + m_X + m_Y)
        The matrix :math:`\sum_i w_i f_i f_i^\top` with :math:`f = (1, \phi_X, \phi_Y)`.
    trace_x, trace_y : float
        The traces :math:`\sum_i w_i k(x_i, x_i)` of the two kernel matrices.
    rank_x, rank_y : int
        The numbers of features :math:`m_X` and :math:`m_Y`.
    keys : tuple of str
        Fingerprints of the feature maps; only like adds to like.
    powers_y : Array of shape (1 + m_Y, q_Y)
        The sums :math:`\sum_i w_i (1, \phi_Y(y_i))^\top p(y_i)`, with the
        :func:`powers` of Y about the origin of its map.
    powers_x : Array of shape (1 + m_X, q_X), optional
        The same of X.
    """

    count: int
    gram: Array = field(repr=False)
    trace_x: float
    trace_y: float
    rank_x: int
    rank_y: int
    keys: tuple[str, str] = field(repr=False)
    powers_y: Array = field(repr=False)
    powers_x: Array | None = field(default=None, repr=False)

    @property
    def weight(self) -> float:
        """The total weight; the number of rows :math:`n` if there are no weights."""
        return float(self.gram[0, 0])

    @property
    def sum_x(self) -> Array:
        r"""The vector :math:`s_X = L_X^\top 1`, of shape ``(m_X,)``."""
        return self.gram[0, self._x]

    @property
    def sum_y(self) -> Array:
        r"""The vector :math:`s_Y = L_Y^\top 1`, of shape ``(m_Y,)``."""
        return self.gram[0, self._y]

    @property
    def gram_x(self) -> Array:
        r"""The matrix :math:`G_X = L_X^\top L_X`."""
        return self.gram[self._x, self._x]

    @property
    def gram_y(self) -> Array:
        r"""The matrix :math:`G_Y = L_Y^\top L_Y`."""
        return self.gram[self._y, self._y]

    @property
    def gram_yx(self) -> Array:
        r"""The matrix :math:`G_{YX} = L_Y^\top L_X`, of shape ``(m_Y, m_X)``."""
        return self.gram[self._y, self._x]

    @property
    def sides(self) -> tuple[tuple[float, Vector], ...]:
        """For X and Y, the trace and the sums of squares of the features."""
        squares = np.diagonal(to_numpy(self.gram))
        return (self.trace_x, squares[self._x]), (self.trace_y, squares[self._y])

    @property
    def error_x(self) -> float:
        r"""The trace error :math:`\operatorname{trace}(K_X - L_X L_X^\top)`."""
        trace, kept = self.sides[0]
        return max(trace - float(kept.sum()), 0.0)

    @property
    def error_y(self) -> float:
        r"""The trace error :math:`\operatorname{trace}(K_Y - L_Y L_Y^\top)`."""
        trace, kept = self.sides[1]
        return max(trace - float(kept.sum()), 0.0)

    def __add__(self, other: object) -> "Moments":
        return self._combined(other, 1) if isinstance(other, Moments) else NotImplemented

    def __radd__(self, other: object) -> "Moments":
        return self if other == 0 else NotImplemented  # so that sum() works

    def __sub__(self, other: object) -> "Moments":
        return self._combined(other, -1) if isinstance(other, Moments) else NotImplemented

    def lost_digits(self, taken: "Moments") -> float:
        """Return the decimal digits that the subtraction of ``taken`` has cost."""

        def ratio(gone: Array, left: Array) -> float:
            a, b = (float(np.abs(to_numpy(part)).max()) for part in (gone, left))
            return a / b if b > 0 else np.inf if a > 0 else 0.0

        most = max(ratio(taken.gram, self.gram), ratio(taken.powers_y, self.powers_y))
        return float(np.log10(max(most, 1.0)))

    def taken(
        self, x: Features, y: Features, kept: tuple[Index, Index] | None = None
    ) -> "Moments":
        """Return the moments of some of the features.

        Parameters
        ----------
        x, y : Features
            The maps to these features.
        kept : tuple of arrays of int, optional
            The numbers of the features, for X and for Y; by default the first ones.
        """
        kept = (np.arange(x.rank), np.arange(y.rank)) if kept is None else kept
        xp = array_namespace(self.gram)
        rows = np.concatenate([[0], 1 + kept[0], 1 + self.rank_x + kept[1]])
        places = like(rows.astype(np.int64), self.gram)
        places_x, places_y = (
            like(np.concatenate([[0], 1 + each]).astype(np.int64), self.gram)
            for each in kept
        )
        return replace(
            self,
            gram=xp.take(xp.take(self.gram, places, axis=0), places, axis=1),
            rank_x=x.rank,
            rank_y=y.rank,
            keys=(x.key, y.key),
            powers_y=xp.take(self.powers_y, places_y, axis=0),
            powers_x=None
            if self.powers_x is None
            else xp.take(self.powers_x, places_x, axis=0),
        )

    @property
    def _x(self) -> slice:
        return slice(1, 1 + self.rank_x)

    @property
    def _y(self) -> slice:
        return slice(1 + self.rank_x, 1 + self.rank_x + self.rank_y)

    def _combined(self, other: "Moments", sign: int) -> "Moments":
        rule = "moments of the same feature maps"
        require(self.keys == other.keys, "Moments", "other", rule, Text("others"))
        return Moments(
            self.count + sign * other.count,
            self.gram + sign * other.gram,
            self.trace_x + sign * other.trace_x,
            self.trace_y + sign * other.trace_y,
            self.rank_x,
            self.rank_y,
            self.keys,
            self.powers_y + sign * other.powers_y,
            None
            if self.powers_x is None or other.powers_x is None
            else self.powers_x + sign * other.powers_x,
        )


def square_columns(d: int, q: int) -> list[int]:
    """Return which of q :func:`powers` of d columns are the squares of these.

    Parameters
    ----------
    d, q : int
        The numbers of columns and of powers.
    """
    if q == 2 * d:
        return list(range(d, 2 * d))
    return [d + i * d - i * (i - 1) // 2 for i in range(d)]


def powers(origin: Array, z: Array, *, squared: bool | None = None) -> Array:
    r"""Return :math:`p(z) = (v, v v^\top)` as columns, with :math:`v = z - z_0`.

    An origin :math:`z_0` in the middle of the points keeps the variance of numbers far from
    zero from being lost to rounding. Of the symmetric products, those on and above the
    diagonal are returned, row by row; of more than eight columns, the squares alone.

    Parameters
    ----------
    origin : Array of shape (d,)
        The origin.
    z : Array of shape (n, d)
        The points.
    squared : bool, optional
        Whether to return all products; by default if there are at most eight columns.
    """
    xp, d = array_namespace(z), int(z.shape[1])
    v = xp.stack([z[:, i] - origin[i] for i in range(d)])
    if not (d <= _MULTIPLIED_COLUMNS if squared is None else squared):
        return xp.concat([v, v * v])
    products = [v[i, :] * v[j, :] for i in range(d) for j in range(i, d)]
    return xp.concat([v, xp.stack(products)])
