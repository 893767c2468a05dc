r"""Algorithm `algo:bioChol` of the paper to the letter: one pivot after the other."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from jointdist._array import Array, array_namespace, device, like, to_numpy
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import Pivots, PivotSearch
from jointdist.lowrank.features import (
    FeatureMap,
    kernel_diagonal,
    kernel_matrix,
)

__all__ = ["Rule", "column_norms", "largest_residual", "one_by_one", "weighted_sum"]

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
    trace = weighted_sum(d, w)
    L = xp.empty((min(64, goal.max_rank), rows.n), dtype=d.dtype, device=device(X))
    pivots: list[int] = []

    while weighted_sum(d, w) > goal.budget(trace) and len(pivots) < goal.max_rank:
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
    return Pivots(found, chosen, trace, weighted_sum(d, w))


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


def weighted_sum(d: Array, w: Array | None) -> float:
    """Return the sum of a diagonal, weighted if there are weights."""
    return float(array_namespace(d).sum(d)) if w is None else float(w @ d)
