r"""Pivots at random, in rounds.

Nothing of size n × m is stored: each round draws a batch of candidates, accepts those that the
sequential rule would have taken, and sweeps the rows once for what is left. Rounds grow with
the rank, so that all sweeps together cost little more than the last one.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, array_namespace, like, to_numpy
from jointdist.data.table import Rows
from jointdist.errors import Text, require
from jointdist.lowrank.features import FeatureMap, kernel_diagonal, kernel_matrix
from jointdist.lowrank.greedy import Pivots, require_psd
from jointdist.lowrank.problem import Search

__all__ = ["SUBSAMPLE", "in_rounds", "is_large", "on_subsample"]

SUBSAMPLE = 30_720  # rows on which the pivots of a large table are proposed


def in_rounds(
    search: Search, *, uniform: bool = False, start: Pivots | None = None
) -> Pivots:
    """Choose pivots in rounds, at random, from all rows.

    Candidates are drawn in proportion to the residual diagonal and accepted with the
    probability that is left of it when their turn comes: randomly pivoted Cholesky [1]_
    without its rows of negligible residual. If ``uniform``, all rows are drawn alike,
    which is Nyström.

    Costs :math:`O(n m^2)` time in about log(m) sweeps, and a few vectors of length n.

    References
    ----------
    .. [1] Epperly, Tropp, Webber (2024). "Embrace rejection: kernel matrix
       approximation by accelerated randomly pivoted Cholesky".
    """
    goal, rng = search.goal, search.rng
    found = start or _no_pivots(search)
    while True:
        found, residual, largest, kept = _sweep(search, found)
        enough = found.shortened(goal, kept)
        if enough is not None:
            return enough
        # Pivots much smaller than what others have left would enlarge rounding.
        floor = min(1e-6 * largest, 1e-2 * float(residual.max()))
        mass = np.where(residual > floor, 1.0 if uniform else residual, 0.0)
        if search.weights is not None:
            mass *= search.weights
        room = goal.max_rank - found.map.rank
        if room == 0 or not mass.any():
            return found
        size = min(max(128, found.map.rank), 1024)
        drawn = _draw(rng, mass, size)
        chance = np.zeros(size) if uniform else rng.random(size)
        grown, accepted = _grow(search, found.map, drawn, chance, floor=floor, room=room)
        if not accepted.size:
            return found
        rows = np.concatenate([found.rows, drawn[accepted]])
        found = found._replace(map=grown, rows=rows)


def is_large(rows: Rows) -> bool:
    """Tell whether a table is large enough to propose its pivots on a subsample."""
    return rows.n > 2 * SUBSAMPLE


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
    """What one pass over all rows says of a set of pivots."""

    found: Pivots  # with the trace and the error over all rows
    residual: NDArray[np.float64]  # k(x, x) - |phi(x)|^2, zero if rounding or weightless
    largest: float  # the largest k(x, x) of these
    kept: NDArray[np.float64]  # weighted sums of squares of the features


def _sweep(search: Search, found: Pivots) -> _Sweep:
    """Return what is left on each row and what each feature keeps, in one pass."""
    kernel, m = search.kernel, found.map.rank
    w = np.ones(search.rows.n) if search.weights is None else search.weights
    counts = w > 0
    counts[found.rows] = False
    residual = np.empty(search.rows.n)

    def block(start: int, x: Array) -> tuple[float, float, float, NDArray[np.float64]]:
        xp = array_namespace(x)
        squares = found.map.solve(found.map.columns(x))
        squares *= squares
        diagonal = kernel_diagonal(kernel, x)
        d, left = to_numpy(diagonal), to_numpy(diagonal - xp.sum(squares, axis=0))
        require_psd(search, left, d, rank=m, start=start)
        rows = slice(start, start + len(d))
        left = np.where(counts[rows], np.maximum(left, 0.0), 0.0)
        residual[rows] = np.where(left > search.rounding(m) * d, left, 0.0)
        largest = float(d.max(initial=0.0, where=w[rows] > 0))
        kept = to_numpy(squares @ like(w[rows], x))
        return largest, float(w[rows] @ d), float(w[rows] @ left), kept

    parts = search.executor.map(block, search.rows)
    largest, trace, error, kept = (list(values) for values in zip(*parts, strict=True))
    found = found._replace(trace=math.fsum(trace), error=math.fsum(error))
    return _Sweep(found, residual, max(largest), np.sum(kept, axis=0))


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
    search: Search,
    found: FeatureMap,
    drawn: NDArray[np.intp],
    chance: NDArray[np.float64],
    *,
    floor: float,
    room: int,
) -> tuple[FeatureMap, NDArray[np.intp]]:
    """Add the accepted candidates to the landmarks, at most ``room`` of them."""
    candidates = search.rows.take(drawn)
    xp = array_namespace(candidates)
    known = found.solve(found.columns(candidates))
    whole = kernel_matrix(search.kernel, candidates, candidates)
    left = to_numpy(whole - known.T @ known)
    d = np.diagonal(to_numpy(whole))
    finite = bool(np.isfinite(left).all())
    got = Text(f"values that are not finite from {search.kernel!r}")
    require(finite, search.rows.where, search.name, "finite on the data", got)
    floors = np.maximum(floor, search.rounding(found.rank + len(drawn)) * d)
    accepted, block = _accept(left, chance, floors, room)
    picked = like(accepted.astype(np.int64), candidates)
    below = to_numpy(xp.take(known, picked, axis=1)).T
    above = to_numpy(found.core)
    zeros = np.zeros((above.shape[0], block.shape[0]))
    core = like(np.block([[above, zeros], [below, block]]), found.core)
    new = xp.take(candidates, picked, axis=0)
    landmarks = xp.concat([found.landmarks, new], axis=0)
    return FeatureMap(found.kernel, landmarks, core), accepted


def _accept(
    left: NDArray[np.float64],
    chance: NDArray[np.float64],
    floors: NDArray[np.float64],
    room: int,
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
        if k < room and now > floors[i] and now > chance[i] * first:
            L[:, k] = (left[:, i] - L[:, :k] @ L[i, :k]) / np.sqrt(now)
            accepted.append(i)
    kept = np.asarray(accepted, dtype=np.intp)
    return kept, np.tril(L[kept, : len(kept)])
