"""The choice of the frame of the support, on a subsample of the rows."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import one_blas_thread
from jointdist.data.table import Rows
from jointdist.lowrank.bins import propose_bins
from jointdist.lowrank.leaves import propose_leaves
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.support_sums import Frame, SupportFrame, pair_limits

__all__ = ["FramePlan", "propose_frame"]

# Rows on which bins are proposed, at most: about four for each of 16,384.
_ROWS = 61_440
# Rows on which leaves are proposed, at most: thirty for each of 1,024, a time budget.
_LEAF_ROWS = 30_720


@dataclass(frozen=True, slots=True)
class FramePlan:
    """How the frame of the support is chosen.

    Attributes
    ----------
    one_column : tuple of bool
        For X and Y, whether the side is one numeric column, which has bins; all others have
        leaves.
    seed : int
        The seed of the subsample and of the keys of rows.
    """

    one_column: tuple[bool, bool]
    seed: int


def propose_frame(
    plan: FramePlan,
    maps: tuple[Features, Features],
    x: Rows,
    y: Rows,
    weights: Vector | None,
) -> SupportFrame:
    """Return the frame of the support of rows.

    Parameters
    ----------
    plan : FramePlan
        How it is chosen.
    maps : tuple of Features
        The features of X and Y.
    x, y : Rows
        The paired rows.
    weights : array of shape (n,), optional
        Their weights.
    """
    rng = np.random.default_rng(plan.seed)
    counted = np.arange(x.n) if weights is None else np.flatnonzero(weights)
    n = len(counted)
    if n > _ROWS:
        chosen = rng.choice(n, _ROWS, replace=False)
        counted = counted[np.sort(chosen)]
    w = None if weights is None else weights[counted]

    every = max(len(counted) // _LEAF_ROWS, 1)

    def side(number: int, rows: Rows) -> Frame:
        if plan.one_column[number]:
            return propose_bins(to_numpy(rows.take(counted)), w)
        z, own = rows.take(counted[::every]), None if w is None else w[::every]
        return propose_leaves(maps[number], z, own, expected_rows=n, seed=plan.seed)

    with one_blas_thread() as one, one:  # the matrices are small
        return SupportFrame(side(0, x), side(1, y), plan.seed, pair_limits(n))
