r"""The choice of pivots; by default at random, in rounds.

Nothing of size n × m is stored: each round draws a batch of candidates, accepts those that the
sequential algorithm would have taken, and passes over the rows once for the residual diagonal.
Batches grow with the rank, so that all passes together cost little more than the last one.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from jointdist._array import Array, Index, Vector, array_namespace, like, to_numpy
from jointdist._rules import Text, require
from jointdist.data.table import Rows
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.factor import Goal, LowRank, Pivoting, Pivots, PivotSearch
from jointdist.lowrank.features import FeatureMap, kernel_diagonal, kernel_matrix
from jointdist.lowrank.greedy import greedy
from jointdist.lowrank.one_by_one import column_norms, one_by_one

__all__ = [
    "SUBSAMPLE",
    "choose_pivots",
    "in_rounds",
    "is_large",
    "on_subsample",
    "rough_pivots",
    "warn_if_short",
]

# Rows of the subsample on which the pivots of a large table are proposed: ten blocks of the
# default executor. Chosen when the engine was timed, so that proposals cost little next to one
# pass over 10^6 rows and most often hold on all rows.
SUBSAMPLE = 30_720
# The share of the tolerance that a proposal may use. The rest is a reserve for the difference
# between the subsample and all rows.
_PROPOSED_SHARE = 0.8
# Rows are candidates if their residual exceeds these shares of the largest k(x, x) or of the
# largest residual, whichever is less: smaller pivots would enlarge rounding errors.
_FLOOR_OF_DIAGONAL, _FLOOR_OF_RESIDUAL = 1e-6, 1e-2
# A batch has as many candidates as there are pivots, within these limits: enough for products
# of matrices to be fast, and a kernel matrix of candidates of at most 8 MiB.
_BATCH_MIN, _BATCH_MAX = 128, 1024


def choose_pivots(search: PivotSearch, pivoting: Pivoting) -> Pivots:
    """Return the pivots by the rule ``pivoting``, with the trace error over all rows.

    Parameters
    ----------
    search : PivotSearch
        The kernel matrix and the goal.
    pivoting : {"auto", "rp", "greedy", "random", "column"}
        The rule; see :func:`~jointdist.pivoted_cholesky`.
    """
    if pivoting == "greedy":
        return greedy(search)
    if pivoting == "column":
        return one_by_one(search, column_norms)
    proposed = pivoting == "auto" and is_large(search.rows)
    start = on_subsample(search) if proposed else None
    return in_rounds(search, uniform=pivoting == "random", start=start)


def warn_if_short(where: str, name: str, goal: Goal, found: Pivots | LowRank) -> None:
    """Warn if the tolerance was not reached.

    A tolerance of zero means ``max_rank`` pivots, or as many as rounding allows.

    Parameters
    ----------
    where, name : str
        The caller and the table, for the message.
    goal : Goal
        The goal.
    found : Pivots or LowRank
        The result.
    """
    full = found.map.rank >= goal.max_rank
    as_requested = goal.tol == 0 and (goal.rank_given or not full)
    if found.error > goal.budget(found.trace) and not as_requested:
        limit = f"`max_rank` = {goal.max_rank}" if full else "the limit of rounding"
        remedy = (
            "Raise `max_rank` or `tol`, or take a wider kernel" if full else "Raise `tol`"
        )
        msg = (
            f"{where}: {limit} was reached on `{name}` before `tol` = {goal.tol:g}. The "
            f"trace error reached is {found.error:.3g}, a share of "
            f"{found.error / found.trace:.3g}. {remedy}."
        )
        warn_user(msg, ToleranceWarning)


def in_rounds(
    search: PivotSearch, *, uniform: bool = False, start: Pivots | None = None
) -> Pivots:
    """Return pivots drawn at random from all rows, in rounds.

    Candidates are drawn in proportion to the residual diagonal, and accepted with the
    share of it that is left when their turn comes as the probability: randomly pivoted
    Cholesky [1]_ that skips rows of negligible residual. If ``uniform``, all rows are
    equally likely, which is the Nyström approximation.

    Costs :math:`O(n m^2)` time in about log(m) passes, and a few vectors of length n.

    Parameters
    ----------
    search : PivotSearch
        The kernel matrix and the goal.
    uniform : bool, default=False
        Whether all rows are equally likely.
    start : Pivots, optional
        Pivots to begin with.

    References
    ----------
    .. [1] Epperly, Tropp, Webber (2024). "Embrace rejection: kernel matrix
       approximation by accelerated randomly pivoted Cholesky".
    """
    goal, rng = search.goal, search.rng
    found = start or _no_pivots(search)
    while True:
        found, residual, largest, squares = _residuals(search, found)
        enough = found.shortened(goal, squares)
        if enough is not None:
            return enough
        highest = float(residual.max())
        floor = min(_FLOOR_OF_DIAGONAL * largest, _FLOOR_OF_RESIDUAL * highest)
        mass = np.where(residual > floor, 1.0 if uniform else residual, 0.0)
        if search.weights is not None:
            mass *= search.weights
        room = goal.max_rank - found.map.rank
        if room == 0 or not mass.any():
            return found
        size = min(max(_BATCH_MIN, found.map.rank), _BATCH_MAX)
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


def on_subsample(search: PivotSearch) -> Pivots:
    """Return pivots proposed on a random subsample of a large table.

    They are meant to reach less than the tolerance on the subsample, so that the proposal
    most often holds on all rows; the caller verifies that it does.

    Parameters
    ----------
    search : PivotSearch
        The kernel matrix of all rows and the goal.
    """
    rows, weights, goal = search.rows, search.weights, search.goal
    sample = np.sort(search.rng.choice(rows.n, SUBSAMPLE, replace=False))
    share = SUBSAMPLE / rows.n
    if weights is not None:
        share = float(weights[sample].sum() / weights.sum())
        weights = weights[sample]
    tol = goal.tol * _PROPOSED_SHARE * (1.0 if goal.relative else share)
    smaller = replace(
        search, rows=rows.subset(sample), weights=weights, goal=replace(goal, tol=tol)
    )
    found = in_rounds(smaller)
    return found._replace(rows=sample[found.rows])


def rough_pivots(search: PivotSearch) -> Pivots:
    """Return pivots that need not reach the goal on all rows: a subsample is enough.

    Parameters
    ----------
    search : PivotSearch
        The kernel matrix of all rows and the goal.
    """
    return on_subsample(search) if is_large(search.rows) else in_rounds(search)


class _Residuals(NamedTuple):
    """The residual diagonal of a set of pivots, over all rows."""

    found: Pivots  # with the trace and the error over all rows
    residual: Vector  # k(x, x) - |phi(x)|^2, zero if it is rounding or has no weight
    largest: float  # the largest k(x, x) of rows with a weight
    squares: Vector  # weighted sums of squares of the features


def _residuals(search: PivotSearch, found: Pivots) -> _Residuals:
    """Return the residual diagonal and the sums of squares of features, in one pass."""
    kernel, m = search.kernel, found.map.rank
    w = np.ones(search.rows.n) if search.weights is None else search.weights
    counts = w > 0
    counts[found.rows] = False
    residual = np.empty(search.rows.n)

    def block(start: int, x: Array) -> tuple[float, float, float, Vector]:
        xp = array_namespace(x)
        squares = found.map.solve(found.map.columns(x))
        squares *= squares
        diagonal = kernel_diagonal(kernel, x)
        d, left = to_numpy(diagonal), to_numpy(diagonal - xp.sum(squares, axis=0))
        search.require_psd(left, d, rank=m, start=start)
        rows = slice(start, start + len(d))
        left = np.where(counts[rows], np.maximum(left, 0.0), 0.0)
        residual[rows] = np.where(left > search.rounding(m) * d, left, 0.0)
        largest = float(d.max(initial=0.0, where=w[rows] > 0))
        sums = to_numpy(squares @ like(w[rows], x))
        return largest, float(w[rows] @ d), float(w[rows] @ left), sums

    parts = list(search.executor.map(block, search.rows))
    largest, trace, error, sums = zip(*parts, strict=True)
    found = found._replace(trace=math.fsum(trace), error=math.fsum(error))
    return _Residuals(found, residual, max(largest), np.sum(sums, axis=0))


def _no_pivots(search: PivotSearch) -> Pivots:
    none = np.empty(0, dtype=np.intp)
    landmarks = search.rows.read(0, 0)
    empty = FeatureMap(search.kernel, landmarks, like(np.empty((0, 0)), landmarks))
    return Pivots(empty, none, trace=0.0, error=0.0)


def _draw(rng: np.random.Generator, mass: Vector, size: int) -> Index:
    """Draw ``size`` row numbers in proportion to ``mass``, with replacement."""
    cumulative = np.cumsum(mass)
    places = rng.random(size) * cumulative[-1]
    drawn: Index = np.searchsorted(cumulative, places, side="right")
    return drawn


def _grow(
    search: PivotSearch,
    found: FeatureMap,
    drawn: Index,
    chance: Vector,
    *,
    floor: float,
    room: int,
) -> tuple[FeatureMap, Index]:
    """Add the accepted candidates to the landmarks, at most ``room`` of them."""
    candidates = search.rows.take(drawn)
    xp = array_namespace(candidates)
    features = found.solve(found.columns(candidates))
    whole = kernel_matrix(search.kernel, candidates, candidates)
    left = to_numpy(whole - features.T @ features)
    d = np.diagonal(to_numpy(whole))
    finite = bool(np.isfinite(left).all())
    got = Text(f"values that are not finite from {search.kernel!r}")
    require(finite, search.rows.where, search.name, "finite on the data", got)
    floors = np.maximum(floor, search.rounding(found.rank + len(drawn)) * d)
    accepted, block = _accept(left, chance, floors, room)
    picked = like(accepted.astype(np.int64), candidates)
    below = to_numpy(xp.take(features, picked, axis=1)).T
    above = to_numpy(found.core)
    zeros = np.zeros((above.shape[0], block.shape[0]))
    core = like(np.block([[above, zeros], [below, block]]), found.core)
    new = xp.take(candidates, picked, axis=0)
    landmarks = xp.concat([found.landmarks, new], axis=0)
    return FeatureMap(found.kernel, landmarks, core), accepted


def _accept(
    left: Vector,
    chance: Vector,
    floors: Vector,
    room: int,
) -> tuple[Index, Vector]:
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
