r"""How pivots are chosen (paper, section 4.1, line 3 of Algorithm `algo:bioChol`).

:func:`one_by_one` is the algorithm to the letter: it stores the factor and reads it once per
pivot. :func:`greedy` finds the same pivots for the paper's rule, many of them in each pass.
Pivots at random, for which nothing of size n × m is stored, are in
:mod:`jointdist.lowrank.randomized`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

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

__all__ = [
    "column_norms",
    "greedy",
    "largest_residual",
    "one_by_one",
]

# Between two passes, pivots are sought among one row in 32, and among 1,024 rows at least: few
# enough to cost little beside a pass, many enough for dozens of pivots a pass.
_CONTEST_SHARE, _CONTEST_ROWS = 32, 1024
# Pivots sought between two passes: as many as there are already, and at least these.
_BATCH_MIN = 32


Rule: TypeAlias = Callable[[Kernel, Array, Array, Array, Array | None], Array]


def one_by_one(search: PivotSearch, rule: Rule) -> Pivots:
    r"""Run Algorithm `algo:bioChol` to the letter, with the pivot rule given.

    Each step computes, with :math:`d` the diagonal of what is left,

    .. math::
        p = \arg\max_i \text{rule}_i, \qquad
        \ell = \frac{1}{\sqrt{d_p}} (K - L L^\top) e_p, \qquad
        d \leftarrow d - \ell \odot \ell.

    Costs :math:`O(n m^2)` time in ``m`` passes over the stored factor, ``n m`` memory.
    """
    kernel, rows, goal = search.kernel, search.rows, search.goal
    X = rows.read(0, rows.n)
    xp = array_namespace(X)
    w = None if search.weights is None else like(search.weights, X)
    d = diagonal = kernel_diagonal(kernel, X)
    search.require_psd(to_numpy(d), to_numpy(d), rank=0, start=0)
    trace = _total(d, w)
    L = xp.empty((min(64, goal.max_rank), rows.n), dtype=d.dtype, device=device(X))
    pivots: list[int] = []

    while _total(d, w) > goal.budget(trace) and len(pivots) < goal.max_rank:
        m = len(pivots)
        alive = xp.where(d > search.rounding(m) * diagonal, d, 0.0)
        p = int(xp.argmax(rule(kernel, X, L[:m, :], alive, w)))
        if not float(alive[p]) > 0:
            break
        column = kernel_matrix(kernel, X[p : p + 1, :], X)[0, :] - L[:m, p] @ L[:m, :]
        column = column / xp.sqrt(d[p])
        d = d - column**2
        search.require_psd(to_numpy(d), to_numpy(diagonal), rank=m + 1, start=0)
        d = xp.clip(d, min=0)
        d[p] = 0
        if m == L.shape[0]:
            L = xp.concat([L, xp.empty_like(L)], axis=0)
        L[m, :] = column
        pivots.append(p)

    chosen = np.asarray(pivots, dtype=np.intp)
    places = like(chosen.astype(np.int64), X)
    core = xp.tril(xp.take(L[: len(pivots), :], places, axis=1).T)
    found = FeatureMap(kernel, rows.take(chosen), core)
    return Pivots(found, chosen, trace, _total(d, w))


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
    trace = error = _total(d, w)
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
        error = _total(d, w)

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


def largest_residual(
    _kernel: Kernel, _X: Array, _L: Array, d: Array, w: Array | None
) -> Array:
    """Rank rows by their residual diagonal: the paper's greedy rule."""
    return d if w is None else array_namespace(d).where(w > 0, d, -1.0)


def column_norms(kernel: Kernel, X: Array, L: Array, d: Array, w: Array | None) -> Array:
    """Rank rows by the norm of their column of the Schur complement.

    The complement is summed up in row blocks, anew at each step: for small n only.
    """
    xp = array_namespace(X)
    norms, step = xp.zeros_like(d), 512
    for a in range(0, X.shape[0], step):
        b = min(a + step, X.shape[0])
        squares = (kernel_matrix(kernel, X[a:b, :], X) - L[:, a:b].T @ L) ** 2
        norms += xp.sum(squares, axis=0) if w is None else w[a:b] @ squares
    return norms if w is None else xp.where(w > 0, norms, -1.0)


def _total(d: Array, w: Array | None) -> float:
    return float(array_namespace(d).sum(d)) if w is None else float(w @ d)
