r"""How pivots are chosen (paper, section 4.1, line 3 of Algorithm `algo:bioChol`).

:func:`one_by_one` is the algorithm to the letter: it stores the factor and reads it once per
pivot. :func:`greedy` finds the same pivots for the paper's rule, many of them in each pass.
Pivots at random, for which nothing of size n × m is stored, are in
:mod:`jointdist.lowrank.randomized`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, array_namespace, device, like, to_numpy
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import Pivots, PivotSearch
from jointdist.lowrank.features import (
    FeatureMap,
    Triangular,
    kernel_diagonal,
    kernel_matrix,
)
from jointdist.lowrank.one_by_one import largest_residual, one_by_one, weighted_sum

__all__ = ["greedy"]

# Between two passes, pivots are sought among one row in 32, and among 1,024 rows at least: few
# enough to cost little beside a pass, many enough for dozens of pivots a pass.
_CONTEST_SHARE, _CONTEST_ROWS = 32, 1024
# Pivots sought between two passes: as many as there are already, and at least these.
_BATCH_MIN = 32


def greedy(search: PivotSearch) -> Pivots:
    r"""Run Algorithm `algo:bioChol` with the paper's rule, many pivots in each pass.

    Residuals can only fall. So the largest of all is found among the few rows that had the
    largest at the last pass, as long as it is above what any other row had then: these few
    take part in a contest of their own, and all rows follow in one product of matrices.

    The pivots are those of :func:`one_by_one`, up to rounding. Costs :math:`O(n m^2)` time
    in far fewer than ``m`` passes over the stored factor, ``n m`` memory.
    """
    kernel, rows, goal = search.kernel, search.rows, search.goal
    size = max(_CONTEST_ROWS, rows.n // _CONTEST_SHARE)
    if rows.n <= 2 * size:
        return one_by_one(search, largest_residual)
    X = rows.read(0, rows.n)
    xp = array_namespace(X)
    w = None if search.weights is None else like(search.weights, X)
    d = diagonal = kernel_diagonal(kernel, X)
    search.require_psd(to_numpy(d), to_numpy(d), rank=0, start=0)
    trace = error = weighted_sum(d, w)
    L = xp.empty((min(64, goal.max_rank), rows.n), dtype=d.dtype, device=device(X))
    pivots = np.empty(0, dtype=np.intp)

    while error > goal.budget(trace) and (m := len(pivots)) < goal.max_rank:
        alive = xp.where(d > search.rounding(m) * diagonal, d, 0.0)
        left = to_numpy(largest_residual(kernel, X, L, alive, w))
        new, C = _contest(search, X, L[:m, :], like(left, X), _foremost(left, size))
        if not new.size:
            break
        while m + new.size > L.shape[0]:
            L = xp.concat([L, xp.empty_like(L)], axis=0)
        places = like(new.astype(np.int64), X)
        landmarks, old = xp.take(X, places, axis=0), xp.take(L[:m, :], places, axis=1).T
        more = _Batch(kernel, landmarks, Triangular(C), old, L, w)
        parts = list(search.executor.map(more, rows))
        kept = np.sum([part[0] for part in parts], axis=0)
        fallen = xp.concat([part[1] for part in parts])
        within = error - np.cumsum(kept) <= goal.budget(trace)
        if within.any():  # the last pivots are not needed
            new = new[: int(np.argmax(within)) + 1]
            fallen = xp.sum(L[m : m + new.size, :] ** 2, axis=0)
        d = d - fallen
        search.require_psd(to_numpy(d), to_numpy(diagonal), m + new.size, start=0)
        pivots = np.concatenate([pivots, new])
        free = np.ones(rows.n)
        free[pivots] = 0.0
        d = xp.clip(d, min=0) * like(free, X)
        error = weighted_sum(d, w)

    places = like(pivots.astype(np.int64), X)
    core = xp.tril(xp.take(L[: len(pivots), :], places, axis=1).T)
    found = FeatureMap(kernel, rows.take(pivots), core)
    return Pivots(found, pivots, trace, error)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """New rows of the stored factor, from those that are there: block by block."""

    kernel: Kernel
    landmarks: Array  # the new pivots
    triangular: Triangular  # their part of the core
    old: Array  # the other, left of it
    L: Array
    w: Array | None

    def __call__(self, start: int, x: Array) -> tuple[NDArray[np.float64], Array]:
        """Return the squares that each pivot keeps, and that each row loses."""
        xp, part = array_namespace(x), slice(start, start + x.shape[0])
        new, m = self.old.shape
        rest = kernel_matrix(self.kernel, self.landmarks, x) - self.old @ self.L[:m, part]
        solved = self.triangular.solve(rest)
        self.L[m : m + new, part] = solved
        squares = solved * solved
        kept = xp.sum(squares, axis=1) if self.w is None else squares @ self.w[part]
        return to_numpy(kept), xp.sum(squares, axis=0)


class _Bound(NamedTuple):
    """The largest residual of the rows that do not take part, and the first that has it."""

    value: float
    row: int


def _foremost(left: NDArray[np.float64], size: int) -> tuple[NDArray[np.intp], _Bound]:
    """Return the rows with the largest residuals, the first of equal ones; and the bound."""
    least = np.partition(left, -size)[-size]
    above, equal = np.flatnonzero(left > least), np.flatnonzero(left == least)
    room = size - len(above)
    few = np.sort(np.concatenate([above, equal[:room]]))
    if len(equal) > room:
        return few, _Bound(float(least), int(equal[room]))
    rest = np.delete(left, few)
    return few, _Bound(float(rest.max()), 0)


def _contest(
    search: PivotSearch,
    X: Array,
    L: Array,
    d: Array,
    foremost: tuple[NDArray[np.intp], _Bound],
) -> tuple[NDArray[np.intp], Array]:
    """Return the next pivots, as long as they are among few rows, and their core.

    ``d`` is what is left of all rows, zero or less for those that can be no pivots.
    """
    few, bound = foremost
    kernel, m, xp = search.kernel, L.shape[0], array_namespace(X)
    places = like(few.astype(np.int64), X)
    Z, d, F = xp.take(X, places, axis=0), xp.take(d, places), xp.take(L, places, axis=1)
    least = search.rounding(m) * kernel_diagonal(kernel, Z)
    most = min(max(m, _BATCH_MIN), search.goal.max_rank - m)
    new: list[int] = []
    for _ in range(most):
        p = int(xp.argmax(d))
        value, row = float(d[p]), int(few[p])
        if value <= 0 or (value, -row) < (bound.value, -bound.row):
            break
        column = kernel_matrix(kernel, Z[p : p + 1, :], Z)[0, :] - F[:, p] @ F
        column = column / value**0.5
        d = d - column**2
        d = xp.where(d > least, d, 0.0)
        d[p] = 0
        F = xp.concat([F, column[None, :]], axis=0)
        new.append(p)
    chosen = np.asarray(new, dtype=np.intp)
    core = xp.take(F[m:, :], like(chosen.astype(np.int64), X), axis=1)
    return few[chosen], xp.tril(core.T)
