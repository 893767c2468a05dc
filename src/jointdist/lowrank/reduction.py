"""The reduction of n paired rows to low-rank factors of both sides and their moments.

The pivots of large tables are proposed on a subsample; the pass that sums the moments also
verifies the trace error on all rows.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from jointdist._array import Vector, like
from jointdist._rules import Seed, Text, generator, require
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows, as_rows, as_weights
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import (
    Goal,
    Landmarks,
    LowRank,
    Pivoting,
    Pivots,
    PivotSearch,
    checked_goal,
    pivot_search,
)
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.moments import Moments, Precision
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.randomized import (
    choose_pivots,
    in_rounds,
    is_large,
    on_subsample,
    warn_if_short,
)
from jointdist.lowrank.summation import (
    Summation,
    collect,
    require_precision,
    summed,
)
from jointdist.lowrank.sums import Sums
from jointdist.lowrank.support_proposal import FramePlan, propose_frame
from jointdist.lowrank.support_sums import SupportFrame, SupportSums

__all__ = ["Factoring", "Reduced", "Reduction", "moments", "reduce_sample"]

# The smallest relative trace error that sums can verify: a hundred times the rounding error
# that they may have (see `_AMPLIFIED_ROUNDING` in moments.py).
_VERIFIABLE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A paired sample reduced to its low-rank factors and their moments.

    Attributes
    ----------
    x, y : LowRank
        The factors of the two kernel matrices.
    moments : Moments
        The sums of their features and of all products.
    support : SupportSums, optional
        The sums of the support of both sides, if they were asked for.
    """

    x: LowRank
    y: LowRank
    moments: Moments
    support: SupportSums | None = None

    @property
    def small(self) -> "Reduced":
        """The landmarks and moments, without the rows."""
        return Reduced(self.x.small, self.y.small, self.moments)


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """The landmarks of both sides and the moments of their features, without any row.

    Attributes
    ----------
    x, y : Landmarks
        The landmarks.
    moments : Moments
        The sums of their features and of all products.
    """

    x: Landmarks
    y: Landmarks
    moments: Moments

    def changed(self, sums: Moments) -> "Reduced":
        """Return the same landmarks with the moments of other rows.

        Parameters
        ----------
        sums : Moments
            The moments.
        """
        return Reduced(
            replace(self.x, trace=sums.trace_x, error=sums.error_x),
            replace(self.y, trace=sums.trace_y, error=sums.error_y),
            sums,
        )


@dataclass(frozen=True, slots=True)
class Factoring:
    """How kernel matrices of one sample are factored.

    Attributes
    ----------
    tol : float
        The share of the trace that a factor may lose.
    max_rank : int, optional
        The largest rank.
    pivoting : str
        How pivots are chosen.
    seed : int
        The seed of that choice.
    executor : Executor, optional
        Runs the row blocks.
    """

    tol: float
    max_rank: int | None
    pivoting: Pivoting
    seed: int
    executor: Executor | None = None

    def goal(self, rows: Rows, most: int | None = None) -> Goal:
        """Return when to stop, having checked the attributes.

        Parameters
        ----------
        rows : Rows
            The rows.
        most : int, optional
            The largest rank if ``max_rank`` is None.
        """
        rank = most if self.max_rank is None else self.max_rank
        return checked_goal(rows, self.tol, rank, self.pivoting)

    def factored(
        self,
        name: str,
        kernel: Kernel,
        rows: Rows,
        weights: Vector | None,
        most: int | None = None,
    ) -> LowRank:
        """Return a factor, without a warning if it misses its tolerance.

        Parameters
        ----------
        name : str
            The name of the kernel as an argument, for messages.
        kernel : Kernel
            The kernel.
        rows : Rows
            The rows.
        weights : array of shape (n,), optional
            Their weights.
        most : int, optional
            The largest rank if ``max_rank`` is None.
        """
        goal = self.goal(rows, most)
        rng, executor = np.random.default_rng(self.seed), self.executor
        search = pivot_search(kernel, name, rows, weights, goal, rng=rng, executor=executor)
        return choose_pivots(search, self.pivoting).factor(rows)


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
    plan: FramePlan | None = None,
    landmarks_y: Vector | None = None,
) -> Reduction:
    """Factor both kernel matrices and collect the moments of their features.

    The same as two calls of :func:`~jointdist.pivoted_cholesky` and one of
    :func:`moments`, in one pass over all rows where that is enough.

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
        Runs the row blocks.
    warn : bool or tuple of bool, default=True
        Whether to warn if ``max_rank`` is reached before ``tol``, on X and Y.
    plan : FramePlan, optional
        How the frame of the support is chosen, if its sums are to be collected.
    landmarks_y : array of shape (m, d), optional
        The landmarks of Y, in place of pivots among its rows.

    Returns
    -------
    Reduction
        Both factors, with exact trace errors over all rows, and the moments.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.kernels import Gaussian
    >>> from jointdist.lowrank.reduction import reduce_sample
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> small = reduce_sample(Gaussian(2.0), Gaussian(1.0), X, X[:, 0], random_state=0)
    >>> small.moments.gram_yx.shape == (small.y.rank, small.x.rank)
    True
    """
    x, y, weights = paired_rows("reduce_sample", X, Y, sample_weight)
    workers = executor_for(x, executor)
    ranks = max_rank if isinstance(max_rank, tuple) else (max_rank, max_rank)
    goals = [checked_goal(x, tol, rank, pivoting, relative=relative) for rank in ranks]
    seeds = generator(x.where, random_state).integers(2**32, size=(2, 4))
    rngs = [np.random.default_rng(seed) for seed in seeds]
    search = partial(pivot_search, weights=weights, executor=workers)
    of_x = search(kernel_x, "kernel_x", x, goal=goals[0], rng=rngs[0])
    of_y = search(kernel_y, "kernel_y", y, goal=goals[1], rng=rngs[1])
    require_precision(x.where, precision)
    fixed = None if landmarks_y is None else _at(kernel_y, landmarks_y, y)

    def sums(map_x: Features, map_y: Features, frame: SupportFrame | None) -> Sums:
        how = Summation(map_x, map_y, frame, precision)
        return summed(how, x, y, weights, workers)

    def framed(*maps: Features) -> SupportFrame | None:
        if plan is None:
            return None
        return propose_frame(plan, (maps[0], maps[1]), x, y, weights)

    # The pass can verify a tolerance only well above the rounding error of its sums.
    verifiable = relative and tol >= _VERIFIABLE and precision == "float64"
    if pivoting == "auto" and is_large(x) and verifiable:
        first_x, first_y = on_subsample(of_x), fixed or on_subsample(of_y)
        frame = framed(first_x.map, first_y.map)
        total = sums(first_x.map, first_y.map, frame)
        pivots_x = _completed(of_x, first_x, total.moments.sides[0])
        pivots_y = fixed or _completed(of_y, first_y, total.moments.sides[1])
        map_x, map_y = pivots_x.map, pivots_y.map
        grown = map_x.rank > first_x.map.rank or map_y.rank > first_y.map.rank
        total = sums(map_x, map_y, frame) if grown else total.taken(map_x, map_y)
    else:
        pivots_x = choose_pivots(of_x, pivoting)
        pivots_y = fixed or choose_pivots(of_y, pivoting)
        maps = pivots_x.map, pivots_y.map
        total = sums(*maps, framed(*maps))
    if fixed is not None:
        found = total.moments
        pivots_y = fixed._replace(trace=found.trace_y, error=found.error_y)

    warn_x, warn_y = warn if isinstance(warn, tuple) else (warn, warn)
    if warn_x:
        warn_if_short(x.where, "X", goals[0], pivots_x)
    if warn_y:
        warn_if_short(x.where, "Y", goals[1], pivots_y)
    return Reduction(pivots_x.factor(x), pivots_y.factor(y), total.moments, total.support)


def _at(kernel: Kernel, landmarks: Vector, rows: Rows) -> Pivots:
    """Return given landmarks as pivots that are no rows; their errors are not known yet."""
    found = FeatureMap.at(kernel, like(landmarks, rows.read(0, 1)))
    return Pivots(found, np.empty(0, dtype=np.intp), 0.0, 0.0)


def _completed(search: PivotSearch, proposed: Pivots, sums: tuple[float, Vector]) -> Pivots:
    """Drop pivots that are not needed on all rows, or add those that are missing.

    ``sums`` are the trace and the sums of squares of the features over all rows.
    """
    trace, squares = sums
    error = trace - float(squares.sum())
    if error >= -_VERIFIABLE * trace:  # else the kernel fails at a row: the search names it
        on_all_rows = proposed._replace(trace=trace, error=max(error, 0.0))
        enough = on_all_rows.shortened(search.goal, squares)
        if enough is not None:
            return enough
    return in_rounds(search, start=proposed)


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
        Runs the row blocks.

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
) -> tuple[Rows, Rows, Vector | None]:
    """Return the rows of both sides, equally many, and their weights."""
    x = as_rows(X, where=where, name="X")
    y = as_rows(Y, where=where, name="Y", vector=True)
    require(x.n == y.n, where, "Y", f"as long as `X` ({x.n} rows)", Text(f"{y.n} rows"))
    return x, y, as_weights(sample_weight, x)
