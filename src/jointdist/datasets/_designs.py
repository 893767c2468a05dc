"""What simulated designs share: draws of X and Y side by side, and second moments."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from jointdist._rules import is_whole, require
from jointdist.data.table import as_rows
from jointdist.datasets.correlation import Matrix

__all__ = ["conditions", "halves", "second_moments"]

_BLOCK = 65_536  # rows drawn at a time, to bound memory


def halves(
    where: str, n: int, d: int, rows: Callable[[int], Matrix]
) -> tuple[Matrix, Matrix]:
    """Return n rows drawn in blocks, their first and their last d columns."""
    require(is_whole(n, least=0), where, "n", "an integer from 0", n)
    X, Y = np.empty((n, d)), np.empty((n, d))
    for start in range(0, n, _BLOCK):
        block = slice(start, min(start + _BLOCK, n))
        Z = rows(block.stop - start)
        X[block], Y[block] = Z[:, :d], Z[:, d:]
    return X, Y


def conditions(where: str, X: ArrayLike, d: int) -> Matrix:
    rows = as_rows(X, where=where, name="X")
    rows.require_width(d)
    return rows.table()


def second_moments(mean: Matrix, covariance: Matrix) -> Matrix:
    moments: Matrix = mean[:, :, None] * mean[:, None, :] + covariance
    return moments
