r"""What the sample is reduced to (paper, section 4.2).

With the features :math:`f(z) = (1, \phi_X(x), \phi_Y(y))` of a pair, all that the model
needs is the one matrix :math:`\sum_i w_i f(z_i) f(z_i)^\top`. Such sums add: a data set
split over files or machines is summed, not gathered, and rows can be taken out again.
The same pass sums the columns of the data and their products against the features, for
the conditional means and covariances of the model.
"""

from dataclasses import dataclass, field, replace
from operator import add
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from jointdist._array import Array, array_namespace, device, like, symmetric, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows, as_rows, as_weights
from jointdist.errors import Text, require
from jointdist.kernels import Kernel
from jointdist.lowrank.features import Features, kernel_diagonal

__all__ = ["Moments", "Precision", "collect", "moments", "paired_rows", "powers"]

Precision: TypeAlias = Literal["float64", "float32"]

_SQUARED = 8  # columns of which products are summed, at most
_AMPLIFIED_ROUNDING = 1e-10  # the most that is risked for speed, relative to the trace


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
    def sides(self) -> tuple[tuple[float, NDArray[np.float64]], ...]:
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
        """Return by how much what was taken away exceeds what is left, in powers of ten."""

        def ratio(gone: Array, left: Array) -> float:
            a, b = (float(np.abs(to_numpy(part)).max()) for part in (gone, left))
            return a / b if b > 0 else np.inf if a > 0 else 0.0

        most = max(ratio(taken.gram, self.gram), ratio(taken.powers_y, self.powers_y))
        return float(np.log10(max(most, 1.0)))

    def prefix(self, x: Features, y: Features) -> "Moments":
        """Return the moments of the first features only, those of the maps given."""
        return self._taken(x, y, (np.arange(x.rank), np.arange(y.rank)))

    def solved(
        self,
        x: Features,
        y: Features,
        kept: tuple[NDArray[np.intp], NDArray[np.intp]],
        cores: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> "Moments":
        """Return the moments of some of the features, times the inverses of matrices.

        Parameters
        ----------
        x, y : Features
            The maps to these features.
        kept : tuple of arrays of int
            The numbers of the features, for X and for Y.
        cores : tuple of arrays
            The lower-triangular matrices.
        """
        new = self._taken(x, y, kept)
        gram, powers_y = to_numpy(new.gram).copy(), to_numpy(new.powers_y).copy()
        middle = 1 + len(kept[0])
        for own, core in zip((slice(1, middle), slice(middle, None)), cores, strict=True):
            for _ in range(2):  # on the rows, then on the columns
                gram[own] = solve_triangular(core, gram[own], lower=True)
                gram = gram.T
        powers_y[1:] = solve_triangular(cores[1], powers_y[1:], lower=True)
        new = replace(
            new,
            gram=like((gram + gram.T) / 2, self.gram),
            powers_y=like(powers_y, self.gram),
        )
        kept_x, kept_y = (float(squares.sum()) for _, squares in new.sides)
        return replace(new, trace_x=kept_x, trace_y=kept_y)

    def _taken(
        self,
        x: Features,
        y: Features,
        kept: tuple[NDArray[np.intp], NDArray[np.intp]],
    ) -> "Moments":
        xp = array_namespace(self.gram)
        rows = np.concatenate([[0], 1 + kept[0], 1 + self.rank_x + kept[1]])
        places = like(rows.astype(np.int64), self.gram)
        own = like(np.concatenate([[0], 1 + kept[1]]).astype(np.int64), self.gram)
        return replace(
            self,
            gram=xp.take(xp.take(self.gram, places, axis=0), places, axis=1),
            rank_x=x.rank,
            rank_y=y.rank,
            keys=(x.key, y.key),
            powers_y=xp.take(self.powers_y, own, axis=0),
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

    An origin :math:`z_0` amid the points keeps the variance of numbers far from zero
    from being lost to rounding. Of the symmetric products those on and above the
    diagonal are given, row by row.

    Parameters
    ----------
    origin : Array of shape (d,)
        The origin.
    z : Array of shape (n, d)
        The points.
    squared : bool, optional
        Whether products are given; by default if there are at most eight columns.
    """
    xp, d = array_namespace(z), int(z.shape[1])
    v = xp.stack([z[:, i] - origin[i] for i in range(d)])
    if not (d <= _SQUARED if squared is None else squared):
        return v
    products = [v[i, :] * v[j, :] for i in range(d) for j in range(i, d)]
    return xp.concat([v, xp.stack(products)])


def moments(
    map_x: Features,
    map_y: Features,
    X: object,
    Y: object,
    *,
    sample_weight: object = None,
    precision: Precision = "float64",
    executor: Executor | None = None,
) -> Moments:
    r"""Collect the moments of paired rows in one pass, in row blocks.

    Costs one kernel row and :math:`(m_X + m_Y)^2` multiplications a row; the memory of
    a few blocks.

    Parameters
    ----------
    map_x, map_y : Features
        The features of the two sides.
    X, Y : array, memory map or DataFrame of shape (n, d)
        The paired rows; Y may be a vector.
    sample_weight : array of shape (n,), optional
        Weights of the rows: a row of weight two counts as two rows.
    precision : {"float64", "float32"}, default="float64"
        The precision in which features are multiplied within a block; sums over blocks
        are always in float64.
    executor : Executor, optional
        How row blocks are worked on.

    Returns
    -------
    Moments
        The sums over all rows.
    """
    x, y, weights = paired_rows("moments", X, Y, sample_weight)
    x.require_width(map_x.width)
    y.require_width(map_y.width)
    executor = executor_for(x, executor)
    return collect(map_x, map_y, x, y, weights, precision=precision, executor=executor)


def paired_rows(
    where: str, X: object, Y: object, sample_weight: object
) -> tuple[Rows, Rows, NDArray[np.float64] | None]:
    """Return the rows of both sides, equally many, and their weights."""
    x = as_rows(X, where=where, name="X")
    y = as_rows(Y, where=where, name="Y", vector=True)
    require(x.n == y.n, where, "Y", f"as long as `X` ({x.n} rows)", Text(f"{y.n} rows"))
    return x, y, as_weights(sample_weight, x)


def collect(
    map_x: Features,
    map_y: Features,
    x: Rows,
    y: Rows,
    weights: NDArray[np.float64] | None,
    *,
    precision: Precision,
    executor: Executor,
) -> Moments:
    r"""Run the fused pass on checked rows; see :func:`moments`.

    Features are linear in the kernel columns, :math:`\phi = C^{-1} k(P, \cdot)`, so the
    triangular solve can wait for the sums, where it costs nothing, as long as
    :math:`C^{-1}` does not enlarge rounding too much. Otherwise each block is solved.
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
            own = slice(edge, edge + side.rank)
            for _ in range(2):  # on the rows of the Gram matrix, then on its columns
                gram[own, :] = side.solve(gram[own, :])
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
