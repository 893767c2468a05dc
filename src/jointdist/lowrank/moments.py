r"""Sufficient statistics of a paired sample: sums of products of features (paper, section 4.2).

With the features :math:`f(z) = (1, \phi_X(x), \phi_Y(y))` of a pair, a model depends on the
sample only through the matrix :math:`\sum_i w_i f(z_i) f(z_i)^\top`. Such sums add and
subtract: the sums of parts of a data set are those of the whole, and rows can be taken out
again. The same pass sums products of the features with the columns of Y and their squares, for
conditional means and covariances.
"""

from dataclasses import dataclass, field, replace
from operator import add
from typing import Literal, TypeAlias

import numpy as np

from jointdist._array import (
    Array,
    Index,
    Vector,
    array_namespace,
    device,
    like,
    symmetric,
    to_numpy,
)
from jointdist._rules import Text, require
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.lowrank.features import kernel_diagonal
from jointdist.lowrank.protocols import Features

__all__ = ["Moments", "Precision", "collect", "powers"]

Precision: TypeAlias = Literal["float64", "float32"]

# Columns of Y of which all products are summed, at most: with more, the d (d + 1) / 2 products
# of a row would cost as much as its features.
_SQUARED_COLUMNS = 8
# The rounding error that may be risked for speed, relative to the trace: well below the
# smallest trace errors that a fit can verify (1e-8).
_AMPLIFIED_ROUNDING = 1e-10


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
    powers_y : Array of shape (1 + m_Y, q)
        The sums :math:`\sum_i w_i (1, \phi_Y(y_i))^\top p(y_i)`, with the
        :func:`powers` of Y about the origin of its map.
    """

    count: int
    gram: Array = field(repr=False)
    trace_x: float
    trace_y: float
    rank_x: int
    rank_y: int
    keys: tuple[str, str] = field(repr=False)
    powers_y: Array = field(repr=False)

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
        places_y = like(np.concatenate([[0], 1 + kept[1]]).astype(np.int64), self.gram)
        return replace(
            self,
            gram=xp.take(xp.take(self.gram, places, axis=0), places, axis=1),
            rank_x=x.rank,
            rank_y=y.rank,
            keys=(x.key, y.key),
            powers_y=xp.take(self.powers_y, places_y, axis=0),
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
        )


def powers(origin: Array, z: Array, *, squared: bool | None = None) -> Array:
    r"""Return :math:`p(z) = (v, v v^\top)` as columns, with :math:`v = z - z_0`.

    An origin :math:`z_0` in the middle of the points keeps the variance of numbers far from
    zero from being lost to rounding. Of the symmetric products, those on and above the
    diagonal are returned, row by row.

    Parameters
    ----------
    origin : Array of shape (d,)
        The origin.
    z : Array of shape (n, d)
        The points.
    squared : bool, optional
        Whether to return the products; by default if there are at most eight columns.
    """
    xp, d = array_namespace(z), int(z.shape[1])
    v = xp.stack([z[:, i] - origin[i] for i in range(d)])
    if not (d <= _SQUARED_COLUMNS if squared is None else squared):
        return v
    products = [v[i, :] * v[j, :] for i in range(d) for j in range(i, d)]
    return xp.concat([v, xp.stack(products)])


def collect(
    map_x: Features,
    map_y: Features,
    x: Rows,
    y: Rows,
    weights: Vector | None,
    *,
    precision: Precision,
    executor: Executor,
) -> Moments:
    r"""Return the moments of checked rows, in one pass over them.

    Features are linear in the kernel columns, :math:`\phi = C^{-1} k(P, \cdot)`, so the
    triangular solve can be applied to the sums, where it costs next to nothing, as long as
    :math:`C^{-1}` does not enlarge rounding errors too much. Otherwise it is applied to each
    block.

    Parameters
    ----------
    map_x, map_y : Features
        The features of the two sides.
    x, y : Rows
        The paired rows.
    weights : array of shape (n,), optional
        Their weights.
    precision : {"float64", "float32"}
        The precision in which features are multiplied within a block.
    executor : Executor
        Runs the row blocks.
    """
    allowed = ("float64", "float32")
    require(precision in allowed, x.where, "precision", f"one of {allowed}", precision)
    maps = (map_x, map_y)
    eps = float(np.finfo(np.float64).eps)
    late = [
        precision == "float64" and eps * side.amplification <= _AMPLIFIED_ROUNDING
        for side in maps
    ]
    heaviest = 1.0 if weights is None else float(weights.max())
    ranks, keys = (map_x.rank, map_y.rank), (map_x.key, map_y.key)
    origin = map_y.origin

    def block(start: int, *blocks: Array) -> Moments:
        xp, n = array_namespace(*blocks), blocks[0].shape[0]
        dtype = getattr(xp, precision)
        parts = [xp.ones((1, n), dtype=dtype, device=device(blocks[0]))]
        traces = []
        w = None if weights is None else like(weights[start : start + n], blocks[0])
        for side, wait, z in zip(maps, late, blocks, strict=True):
            columns = side.columns(z)
            columns = columns if wait else side.solve(columns)
            parts.append(xp.astype(columns, dtype, copy=False))
            traces.append(0.0 if side.complete else _trace(side.kernel, z, w))
        f = xp.concat(parts, axis=0)
        p = powers(origin, blocks[1]) if w is None else w * powers(origin, blocks[1])
        cross = xp.concat([xp.sum(p, axis=1)[None, :], columns @ p.T])
        if w is not None:
            f = f * xp.astype(xp.sqrt(w / heaviest), dtype)
        gram = xp.astype(f @ f.T, xp.float64, copy=False) * heaviest
        return Moments(n, gram, traces[0], traces[1], *ranks, keys, cross)

    total: Moments = executor.reduce(add, block, x, y)
    gram = total.gram
    for side, edge, wait in zip(maps, (1, 1 + ranks[0]), late, strict=True):
        if wait:
            places = slice(edge, edge + side.rank)
            for _ in range(2):  # on the rows of the Gram matrix, then on its columns
                gram[places, :] = side.solve(gram[places, :])
                gram = gram.T
    if late[1]:
        total.powers_y[1:, :] = map_y.solve(total.powers_y[1:, :])
    total = replace(total, gram=symmetric(gram))
    kept = [float(squares.sum()) for _, squares in total.sides]
    return replace(
        total,
        trace_x=kept[0] if map_x.complete else total.trace_x,
        trace_y=kept[1] if map_y.complete else total.trace_y,
    )


def _trace(kernel: Kernel, z: Array, w: Array | None) -> float:
    diagonal = kernel_diagonal(kernel, z)
    return float(array_namespace(z).sum(diagonal) if w is None else w @ diagonal)
