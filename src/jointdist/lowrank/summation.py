r"""The sums over all rows from which a model is solved, in four verbs.

Rows are read once, block by block: ``add`` sums a block, ``combine`` adds the sums of two parts,
``finish`` ends the pass. Threads, an accelerator or several machines run the same verbs; nothing
of the size of the data is stored.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from jointdist._array import (
    Array,
    Vector,
    array_namespace,
    device,
    like,
    symmetric,
    to_numpy,
)
from jointdist._cached import Cached, cached
from jointdist._rules import require, require_kind
from jointdist.data.executor import Executor, one_blas_thread, sized_blocks
from jointdist.data.table import Rows
from jointdist.lowrank.block_products import block_columns, cross_products, trace
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.leaves import Leaves
from jointdist.lowrank.moments import Moments, Precision, powers
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.sums import Sums
from jointdist.lowrank.support_sums import SupportFrame

__all__ = ["Summation", "collect", "require_precision", "summed"]

# The rounding error that may be risked for speed, relative to the trace: well below the
# smallest trace errors that a fit can verify (1e-8).
_AMPLIFIED_ROUNDING = 1e-10
# The largest weight of a row in sums of the support: sums of its square, and of its product
# with fourth powers of standardised values, are finite then.
_HEAVIEST = 1e100


@dataclass(frozen=True, eq=False)
class Summation(Cached):
    r"""A pass over rows: what is summed, and how.

    Features are linear in the kernel columns, :math:`\phi = C^{-1} k(P, \cdot)`, so the
    triangular solve can be applied to the sums, where it costs next to nothing, as long as
    :math:`C^{-1}` does not enlarge rounding errors too much. Otherwise it is applied to each
    block.

    Attributes
    ----------
    map_x, map_y : Features
        The features of the two sides.
    frame : SupportFrame, optional
        Where the sums of the support are collected.
    precision : {"float64", "float32"}
        The precision in which features are multiplied within a block.
    heaviest : float
        The largest weight of a row, by which weights are divided before their root is taken.
    """

    map_x: Features
    map_y: Features
    frame: SupportFrame | None = None
    precision: Precision = "float64"
    heaviest: float = 1.0

    def zero(self) -> Sums:
        """Return the sums of no rows."""
        x, y = (like(np.empty((0, side.width)), side.core) for side in self._maps)
        return self.add(x, y, None)

    def add(self, x: Array, y: Array, w: Array | None) -> Sums:
        """Return the sums of a block of rows, before :meth:`finish`.

        Parameters
        ----------
        x, y : Arrays of shape (b, d_x) and (b, d_y)
            The rows.
        w : Array of shape (b,), optional
            Their weights.
        """
        xp, n = array_namespace(x, y), x.shape[0]
        dtype = getattr(xp, self.precision)
        parts = [xp.ones((1, n), dtype=dtype, device=device(x))]
        traces, cross, sides = [], [], []
        by_row = self.has_leaves
        for i, z in enumerate((x, y)):
            side = self._maps[i]
            raw = block_columns(side, z, by_row=by_row)
            columns = raw if self._late[i] else side.solve(raw)
            p = powers(side.origin, z)
            if self.frame is not None:  # first, while the columns are in the cache
                known = {
                    "raw": raw if self._prefixed[i] else None,
                    "powers": p if self._centred[i] else None,
                }
                sides.append(self.frame.add_side(i, z, w, columns, **known))
            cross.append(cross_products(columns, p, w, by_row=by_row))
            parts.append(xp.astype(columns, dtype, copy=False))
            traces.append(0.0 if side.complete else trace(side.kernel, z, w))
        f = xp.concat([part.T for part in parts], axis=1).T if by_row else xp.concat(parts)
        if w is not None:
            f = f * xp.astype(xp.sqrt(w / self.heaviest), dtype)
        gram = xp.astype(f @ f.T, xp.float64, copy=False) * self.heaviest
        moments = Moments(
            n,
            gram,
            traces[0],
            traces[1],
            self.map_x.rank,
            self.map_y.rank,
            self._keys,
            cross[1],
            cross[0],
        )
        if self.frame is None:
            return Sums(moments)
        return Sums(moments, self.frame.joined(sides[0], sides[1], (x, y), w))

    def finish(self, sums: Sums) -> Sums:
        """Return the sums of features, given those of blocks.

        Parameters
        ----------
        sums : Sums
            The combined sums of all blocks.
        """
        total, support = sums.moments, sums.support
        gram, powers_x, powers_y = total.gram, total.powers_x, total.powers_y
        edges = (1, 1 + total.rank_x)
        sides = zip(self._maps, edges, self._late, (powers_x, powers_y), strict=True)
        for side, edge, wait, cross in sides:
            if wait:
                places = slice(edge, edge + side.rank)
                for _ in range(2):  # on the rows of the Gram matrix, then on its columns
                    gram[places, :] = side.solve(gram[places, :])
                    gram = gram.T
                if cross is not None:
                    cross[1:, :] = side.solve(cross[1:, :])
        total = replace(total, gram=symmetric(gram))
        kept = [float(squares.sum()) for _, squares in total.sides]
        total = replace(
            total,
            trace_x=kept[0] if self.map_x.complete else total.trace_x,
            trace_y=kept[1] if self.map_y.complete else total.trace_y,
        )
        if support is None:
            return Sums(total)
        solves = [
            partial(_solved, side) if wait else None
            for side, wait in zip(self._maps, self._late, strict=True)
        ]
        return Sums(total, support.solved(*solves).compact())

    @property
    def has_leaves(self) -> bool:
        """Whether features are summed over leaves too."""
        frame = self.frame
        return frame is not None and any(isinstance(s, Leaves) for s in (frame.x, frame.y))

    @property
    def _maps(self) -> tuple[Features, Features]:
        return self.map_x, self.map_y

    @cached
    def _keys(self) -> tuple[str, str]:
        return self.map_x.key, self.map_y.key

    @cached
    def _late(self) -> list[bool]:
        """For each side, whether the triangular solve is applied to the sums."""
        eps = float(np.finfo(np.float64).eps)
        return [
            self.precision == "float64" and eps * side.amplification <= _AMPLIFIED_ROUNDING
            for side in self._maps
        ]

    @cached
    def _prefixed(self) -> list[bool]:
        """For each side, whether the landmarks of the frame are the first of the map."""
        if self.frame is None:
            return [False, False]
        small = self.frame.small_maps
        return [_is_prefix(a, b) for a, b in zip(small, self._maps, strict=True)]

    @cached
    def _centred(self) -> list[bool]:
        """For each side, whether the frame takes powers about the origin of the map."""
        if self.frame is None:
            return [False, False]
        pairs = zip((self.frame.x, self.frame.y), self._maps, strict=True)
        return [
            isinstance(a, Leaves) and bool(np.array_equal(a.origin, to_numpy(b.origin)))
            for a, b in pairs
        ]


def summed(
    how: Summation, x: Rows, y: Rows, weights: Vector | None, executor: Executor
) -> Sums:
    """Return the sums over checked rows, in one pass over them.

    Parameters
    ----------
    how : Summation
        What is summed.
    x, y : Rows
        The paired rows.
    weights : array of shape (n,), optional
        Their weights.
    executor : Executor
        Runs the row blocks.
    """
    heaviest = 1.0 if weights is None else float(weights.max())
    small = how.frame is None or heaviest <= _HEAVIEST
    rule = f"at most {_HEAVIEST:g}, where more rows come than are kept; divide all by one number"
    require(small, x.where, "sample_weight", rule, heaviest)
    how = replace(how, heaviest=heaviest)
    width, grouped = how.map_x.rank + how.map_y.rank, how.has_leaves
    executor = sized_blocks(executor, width, grouped=grouped)

    def block(start: int, a: Array, b: Array) -> Sums:
        part = slice(start, start + a.shape[0])
        return how.add(a, b, None if weights is None else like(weights[part], a))

    total = executor.reduce(partial(Sums.combine, reuse=True), block, x, y)
    with one_blas_thread() as one, one:  # the matrices are small
        return how.finish(total)


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
    """Return the moments of checked rows, in one pass over them.

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
    require_precision(x.where, precision)
    how = Summation(map_x, map_y, precision=precision)
    return summed(how, x, y, weights, executor).moments


def require_precision(where: str, precision: object) -> None:
    """Raise unless an argument names a precision.

    Parameters
    ----------
    where : str
        The caller, for messages.
    precision : {"float64", "float32"}
        The argument.
    """
    require_kind(where, "precision", precision, Precision)


def _solved(side: Features, columns: Vector) -> Vector:
    """Return the features of columns in host memory."""
    found: Vector = to_numpy(side.solve(like(columns, side.core)))
    return found


def _is_prefix(small: Features | None, whole: Features) -> bool:
    """Tell whether the landmarks of a map are the first ones of another."""
    if not isinstance(small, FeatureMap) or not isinstance(whole, FeatureMap):
        return False
    r = small.rank
    same = r <= whole.rank and repr(small.kernel) == repr(whole.kernel)
    first = to_numpy(whole.landmarks[:r, :])
    return same and bool(np.array_equal(to_numpy(small.landmarks), first))
