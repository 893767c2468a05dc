r"""How pivots are chosen (paper, section 4.1, line 3 of Algorithm `algo:bioChol`).

There are two ways to go through the algorithm. :func:`one_by_one` is the algorithm to
the letter: it stores the factor and reads it once per pivot. :func:`in_rounds` stores
nothing of size n × m: each round draws a batch of candidates, accepts those that the
sequential rule would have taken, and sweeps the rows once for what is left. Rounds grow
with the rank, so that all sweeps together cost little more than the last one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, array_namespace, device, like, to_numpy
from jointdist.errors import NotPositiveDefiniteError, Words, require
from jointdist.executor import Executor
from jointdist.features import FeatureMap
from jointdist.kernels import Kernel
from jointdist.rows import Rows

__all__ = [
    "Goal",
    "Pivots",
    "Search",
    "column_norms",
    "in_rounds",
    "largest_residual",
    "on_subsample",
    "one_by_one",
]

SUBSAMPLE = 32_768  # rows on which the pivots of a large table are proposed
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Goal:
    """When to stop: at a trace error, relative to the trace or not, or at a rank."""

    tol: float
    relative: bool
    max_rank: int

    def budget(self, trace: float) -> float:
        """Return the trace error that is allowed."""
        return self.tol * trace if self.relative else self.tol


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """The kernel matrix to factor, and all that the choice of its pivots depends on."""

    kernel: Kernel
    rows: Rows
    weights: NDArray[np.float64] | None
    goal: Goal
    rng: np.random.Generator
    executor: Executor


class Pivots(NamedTuple):
    """The pivots chosen, with the trace of the kernel matrix and of the remainder."""

    map: FeatureMap
    rows: NDArray[np.intp]
    trace: float
    error: float

    def shortened(
        self, goal: Goal, trace: float, kept: NDArray[np.float64]
    ) -> "Pivots | None":
        """Return the fewest of these pivots that reach the goal, or None.

        Features are nested, so the error of every smaller rank is known as well: the
        trace less the sums of squares ``kept`` by the features up to that rank.
        """
        errors = trace - np.concatenate([[0.0], np.cumsum(kept)])
        within = errors <= goal.budget(trace)
        if not within.any():
            return None
        rank = int(np.argmax(within))
        error = max(float(errors[rank]), 0.0)
        return Pivots(self.map.prefix(rank), self.rows[:rank], trace, error)


Rule: TypeAlias = Callable[[Kernel, Array, Array, Array, Array | None], Array]


def one_by_one(search: Search, rule: Rule) -> Pivots:
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
    d = kernel.diagonal(X)
    largest, trace = float(xp.max(d)), _total(d, w)
    _require_psd(kernel, to_numpy(d), largest, rank=0, first_row=0)
    L = xp.empty((min(64, goal.max_rank), rows.n), dtype=d.dtype, device=device(X))
    pivots: list[int] = []

    while _total(d, w) > goal.budget(trace) and len(pivots) < goal.max_rank:
        m = len(pivots)
        p = int(xp.argmax(rule(kernel, X, L[:m, :], d, w)))
        if float(d[p]) <= _rounding(largest, m):
            break
        column = kernel(X[p : p + 1, :], X)[0, :] - L[:m, p] @ L[:m, :]
        column = column / xp.sqrt(d[p])
        d = d - column**2
        _require_psd(kernel, to_numpy(d), largest, rank=m + 1, first_row=0)
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
        squares = (kernel(X[a:b, :], X) - L[:, a:b].T @ L) ** 2
        norms += xp.sum(squares, axis=0) if w is None else w[a:b] @ squares
    return norms if w is None else xp.where(w > 0, norms, -1.0)


def in_rounds(
    search: Search, *, uniform: bool = False, start: Pivots | None = None
) -> Pivots:
    """Choose pivots in rounds, at random, from all rows.

    Candidates are drawn in proportion to the residual diagonal and accepted with the
    probability that is left of it when their turn comes, which is randomly pivoted
    Cholesky exactly [1]_; or, if ``uniform``, all rows alike, which is Nyström.

    Costs :math:`O(n m^2)` time in about log(m) sweeps; ``8 n`` bytes of memory.

    References
    ----------
    .. [1] Epperly, Tropp, Webber (2024). "Embrace rejection: kernel matrix
       approximation by accelerated randomly pivoted Cholesky".
    """
    goal, rng = search.goal, search.rng
    found = start or _no_pivots(search)
    while True:
        residual, largest, trace, kept = _sweep(search, found.map)
        enough = found.shortened(goal, trace, kept)
        if enough is not None:
            return enough
        found = found._replace(trace=trace, error=max(trace - float(kept.sum()), 0.0))
        m = found.map.rank
        # Pivots much smaller than what others have left would enlarge rounding.
        floor = min(1e-6 * largest, 1e-2 * float(residual.max()))
        floor = max(floor, _rounding(largest, m))
        mass = np.where(residual > floor, 1.0 if uniform else residual, 0.0)
        if search.weights is not None:
            mass *= search.weights
        if m >= goal.max_rank or not mass.any():
            return found
        size = min(max(32, m), 1024)
        drawn = _draw(rng, mass, size)
        chance = np.zeros(size) if uniform else rng.random(size)
        room = goal.max_rank - m
        grown, accepted = _grow(found.map, search.rows.take(drawn), chance, room, floor)
        if not accepted.size:
            return found
        found = found._replace(
            map=grown, rows=np.concatenate([found.rows, drawn[accepted]])
        )


def on_subsample(search: Search) -> Pivots:
    """Propose pivots from a random subsample of a large table.

    A fifth of the tolerance is kept in reserve, so that the proposal most often holds
    on all rows; the caller verifies that it does.
    """
    rows, weights, goal = search.rows, search.weights, search.goal
    sample = np.sort(search.rng.choice(rows.n, SUBSAMPLE, replace=False))
    share = SUBSAMPLE / rows.n
    if weights is not None:
        share = float(weights[sample].sum() / weights.sum())
        weights = weights[sample]
    tol = goal.tol * 0.8 * (1.0 if goal.relative else share)
    smaller = replace(
        search, rows=rows.subset(sample), weights=weights, goal=replace(goal, tol=tol)
    )
    found = in_rounds(smaller)
    return found._replace(rows=sample[found.rows])


class _Sweep(NamedTuple):
    """What one pass over all rows says of a feature map."""

    residual: NDArray[np.float64]  # k(x, x) - |phi(x)|^2, per row
    largest: float  # largest k(x, x)
    trace: float  # weighted sum of k(x, x)
    kept: NDArray[np.float64]  # weighted sums of squares of the features

    def joined(self, other: "_Sweep") -> "_Sweep":
        largest = max(self.largest, other.largest)
        trace, kept = self.trace + other.trace, self.kept + other.kept
        return _Sweep(self.residual, largest, trace, kept)


def _sweep(search: Search, found: FeatureMap) -> _Sweep:
    """Return what is left on each row and what each feature keeps, in one pass."""
    residual = np.empty(search.rows.n)

    def block(start: int, x: Array) -> _Sweep:
        xp = array_namespace(x)
        squares = found.solve(found.columns(x))
        squares *= squares
        d = found.kernel.diagonal(x)
        left = to_numpy(d - xp.sum(squares, axis=0))
        largest, stop = float(xp.max(d)), start + left.shape[0]
        _require_psd(found.kernel, left, largest, found.rank, start)
        residual[start:stop] = left
        w = None if search.weights is None else like(search.weights[start:stop], x)
        kept = xp.sum(squares, axis=1) if w is None else squares @ w
        return _Sweep(residual, largest, _total(d, w), to_numpy(kept))

    return search.executor.reduce(_Sweep.joined, block, search.rows)


def _no_pivots(search: Search) -> Pivots:
    none = np.empty(0, dtype=np.intp)
    landmarks = search.rows.read(0, 0)
    empty = FeatureMap(search.kernel, landmarks, like(np.empty((0, 0)), landmarks))
    return Pivots(empty, none, trace=0.0, error=0.0)


def _draw(
    rng: np.random.Generator, mass: NDArray[np.float64], size: int
) -> NDArray[np.intp]:
    """Draw ``size`` row numbers in proportion to ``mass``, with replacement."""
    cumulative = np.cumsum(mass)
    places = rng.random(size) * cumulative[-1]
    drawn: NDArray[np.intp] = np.searchsorted(cumulative, places, side="right")
    return drawn


def _grow(
    found: FeatureMap,
    candidates: Array,
    chance: NDArray[np.float64],
    room: int,
    floor: float,
) -> tuple[FeatureMap, NDArray[np.intp]]:
    """Add the accepted candidates to the landmarks, at most ``room`` of them."""
    xp = array_namespace(candidates)
    known = found.solve(found.columns(candidates))
    left = to_numpy(found.kernel(candidates, candidates) - known.T @ known)
    finite = bool(np.isfinite(left).all())
    got = Words(f"values that are not finite from {found.kernel!r}")
    require(finite, "pivoted_cholesky", "kernel", "finite on the data", got)
    accepted, block = _accept(left, chance, floor, room)
    picked = like(accepted.astype(np.int64), candidates)
    below = to_numpy(xp.take(known, picked, axis=1)).T
    above = to_numpy(found.core)
    zeros = np.zeros((above.shape[0], block.shape[0]))
    core = like(np.block([[above, zeros], [below, block]]), found.core)
    new = xp.take(candidates, picked, axis=0)
    landmarks = xp.concat([found.landmarks, new], axis=0)
    return FeatureMap(found.kernel, landmarks, core), accepted


def _accept(
    left: NDArray[np.float64], chance: NDArray[np.float64], floor: float, room: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Go through the candidates in order; return those accepted and their core.

    A candidate is accepted if its number in [0, 1) is below the share of its residual
    that the candidates accepted before it have left.
    """
    L = np.zeros_like(left)
    accepted: list[int] = []
    for i, first in enumerate(np.diagonal(left)):
        k = len(accepted)
        now = first - L[i, :k] @ L[i, :k]
        if k < room and now > floor and now > chance[i] * first:
            L[:, k] = (left[:, i] - L[:, :k] @ L[i, :k]) / np.sqrt(now)
            accepted.append(i)
    kept = np.asarray(accepted, dtype=np.intp)
    return kept, np.tril(L[kept, : len(kept)])


def _total(d: Array, w: Array | None) -> float:
    return float(array_namespace(d).sum(d)) if w is None else float(w @ d)


def _rounding(largest: float, rank: int) -> float:
    """Return the size below which a residual is nothing but rounding."""
    return 8 * _EPS * max(rank, 64) * largest


def _require_psd(
    kernel: Kernel, left: NDArray[np.float64], largest: float, rank: int, first_row: int
) -> None:
    """Raise if the diagonal of the remainder is not finite, or negative beyond rounding."""
    lowest = int(np.argmin(left))  # a NaN counts as lowest
    row = first_row + lowest
    if not np.isfinite(left[lowest]) or not np.isfinite(largest):
        bad = first_row + int(np.argmin(np.isfinite(left)))
        got = Words(f"a value that is not finite at row {bad} from {kernel!r}")
        require(False, "pivoted_cholesky", "kernel", "finite on the data", got)
    if left[lowest] < -(_EPS**0.5) * abs(largest):
        msg = (
            f"pivoted_cholesky: `kernel` must be positive semidefinite. Got {kernel!r}: "
            f"after {rank} pivots {left[lowest]:.3g} is left of its diagonal at row {row}."
        )
        raise NotPositiveDefiniteError(msg)
