"""From n rows to a few small matrices: the pivots of both sides and all moments.

For large tables the pivots are proposed on a subsample, and the one pass that collects
the moments also verifies them on every row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jointdist._random import Seed, generator
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.lowrank.cholesky import LowRank, choose_pivots, warn_if_short
from jointdist.lowrank.greedy import Pivots
from jointdist.lowrank.moments import Moments, Precision, collect, paired_rows
from jointdist.lowrank.problem import Pivoting, Search, checked_goal, kernel_rounding
from jointdist.lowrank.randomized import in_rounds, is_large, on_subsample

__all__ = ["Reduction", "reduce_sample"]

_VISIBLE = 1e-8  # a hundred times the rounding that the sums may have


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A paired sample reduced to its low-rank factors and their moments.

    Attributes
    ----------
    x, y : LowRank
        The factors of the two kernel matrices.
    moments : Moments
        The sums of their features and of all products.
    """

    x: LowRank
    y: LowRank
    moments: Moments

    def changed(self, sums: Moments, x: Rows, y: Rows) -> "Reduction":
        """Return the same landmarks with the moments of other rows."""
        return Reduction(
            replace(self.x, trace=sums.trace_x, error=sums.error_x, rows=x),
            replace(self.y, trace=sums.trace_y, error=sums.error_y, rows=y),
            sums,
        )


def reduce_sample(
    kernel_x: Kernel,
    kernel_y: Kernel,
    X: object,
    Y: object,
    *,
    tol: float = 1e-3,
    max_rank: int | tuple[int | None, int | None] | None = None,
    pivoting: Pivoting = "auto",
    relative: bool = True,
    sample_weight: object = None,
    precision: Precision = "float64",
    random_state: Seed = None,
    executor: Executor | None = None,
    warn: bool | tuple[bool, bool] = True,
) -> Reduction:
    """Factor both kernel matrices and collect the moments of their features.

    The same as two calls of :func:`~jointdist.pivoted_cholesky` and one of
    :func:`~jointdist.lowrank.moments.moments`, in one pass over all rows where that is enough.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel
        The kernels of the two sides.
    X, Y : array, memory map or DataFrame of shape (n, d)
        The paired rows; Y may be a vector.
    tol, max_rank, pivoting, relative
        As in :func:`~jointdist.pivoted_cholesky`, for both sides; a pair of ranks for X
        and Y.
    sample_weight : array of shape (n,), optional
        Weights of the rows: a row of weight two counts as two rows.
    precision : {"float64", "float32"}, default="float64"
        The precision in which features are multiplied within a block.
    random_state : int, Generator, RandomState, optional
        The seed.
    executor : Executor, optional
        How row blocks are worked on.
    warn : bool or tuple of bool, default=True
        Whether to warn if ``max_rank`` is reached before ``tol``, on X and Y.

    Returns
    -------
    Reduction
        Both factors, with exact trace errors over all rows, and the moments.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Gaussian
    >>> from jointdist.reduction import reduce_sample
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> small = reduce_sample(Gaussian(2.0), Gaussian(1.0), X, X[:, 0], random_state=0)
    >>> small.moments.gram_yx.shape == (small.y.rank, small.x.rank)
    True
    """
    where = "reduce_sample"
    x, y, weights = paired_rows(where, X, Y, sample_weight)
    where = x.where  # who gave the rows
    ranks = max_rank if isinstance(max_rank, tuple) else (max_rank, max_rank)
    goals = [
        checked_goal(where, x, tol, rank, pivoting, relative=relative) for rank in ranks
    ]
    workers = executor_for(x, executor)
    seeds = generator(where, random_state).integers(2**32, size=(2, 4))

    def search(side: int, kernel: Kernel, name: str, rows: Rows) -> Search:
        eps, rng = kernel_rounding(kernel, rows, name), np.random.default_rng(seeds[side])
        return Search(kernel, name, eps, rows, weights, goals[side], rng, workers)

    searches = [search(0, kernel_x, "kernel_x", x), search(1, kernel_y, "kernel_y", y)]

    def sums(sides: Sequence[Pivots]) -> Moments:
        a, b = (side.map for side in sides)
        return collect(a, b, x, y, weights, precision=precision, executor=workers)

    # The pass can verify a tolerance only well above the rounding of its sums.
    visible = relative and tol >= _VISIBLE and precision == "float64"
    if pivoting == "auto" and is_large(x) and visible:
        proposed = [on_subsample(search) for search in searches]
        moments = sums(proposed)
        found = [
            _completed(*side)
            for side in zip(searches, proposed, moments.sides, strict=True)
        ]
        grown = any(a.map.rank > b.map.rank for a, b in zip(found, proposed, strict=True))
        moments = sums(found) if grown else moments.prefix(*(side.map for side in found))
    else:
        found = [choose_pivots(search, pivoting) for search in searches]
        moments = sums(found)

    told = warn if isinstance(warn, tuple) else (warn, warn)
    for name, goal, side, tell in zip("XY", goals, found, told, strict=True):
        if tell:
            warn_if_short(where, name, goal, side)
    low = [
        LowRank(f.map, f.rows, f.trace, f.error, s.rows)
        for s, f in zip(searches, found, strict=True)
    ]
    return Reduction(low[0], low[1], moments)


def _completed(
    search: Search, proposed: Pivots, seen: tuple[float, NDArray[np.float64]]
) -> Pivots:
    """Drop pivots that all rows together do not need, or add those that are missing."""
    trace, kept = seen
    error = trace - float(kept.sum())
    if error >= -_VISIBLE * trace:  # else a row is at fault, which the search will find
        on_all_rows = proposed._replace(trace=trace, error=max(error, 0.0))
        enough = on_all_rows.shortened(search.goal, kept)
        if enough is not None:
            return enough
    return in_rounds(search, start=proposed)
