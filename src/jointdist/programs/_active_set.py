r"""Active-set methods for quadratic programs whose variables may not be negative.

.. math:: \min_{v \ge 0} \tfrac12 v^\top M v + q^\top v

for a positive definite matrix :math:`M` of unit diagonal. Block principal pivoting exchanges
all variables of the wrong sign at once, but may cycle; the objective of Lawson and Hanson's
method never rises.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import Matrix, Vector

__all__ = ["RIDGE", "Mask", "block_pivoting", "lawson_hanson", "satisfies_kkt"]

Mask = NDArray[np.bool_]
# Added to the diagonal of the scaled matrix, so that a singular one has a unique solution.
RIDGE = 1e-13
# Entries below this share of the linear term, or of the solution, count as zero: rounding.
_SLACK = 1e-11
# Exchanges without fewer wrong signs after which block pivoting is taken to cycle: their number
# may grow for a few exchanges before it falls.
_PATIENCE = 8


def block_pivoting(M: Matrix, q: Vector, free: Mask, max_iter: int = 25) -> Vector | None:
    """Exchange all variables of the wrong sign at once; None if that does not end.

    References
    ----------
    .. [1] Portugal, Júdice, Vicente (1994). "A comparison of block pivoting and interior
       point algorithms for linear least squares problems with nonnegative variables".
    """
    free = free.copy()
    fewest, tries = len(q) + 1, _PATIENCE
    for _ in range(max_iter):
        v = _minimiser(M, q, free)
        wrong = np.where(free, v < -_small(v), M @ v + q < -_small(q))
        count = int(np.count_nonzero(wrong))
        if count == 0:
            v = np.maximum(v, 0.0)
            return v if satisfies_kkt(M, q, v) else None
        tries = _PATIENCE if count < fewest else tries - 1
        fewest = min(fewest, count)
        if tries == 0:
            return None
        free ^= wrong
    return None


def lawson_hanson(M: Matrix, q: Vector, start: Vector) -> Vector:
    """Free the variables that descend most, a block at a time; step back to zero.

    The objective never rises. After a block that brought nothing, one variable is
    freed at a time, which always descends.

    References
    ----------
    .. [1] Lawson, Hanson (1974). "Solving Least Squares Problems", chapter 23.
    """
    v, value = start, np.inf
    free, block = start > 0, max(len(q) // 8, 1)
    for _ in range(4 * len(q) + 16):
        v = _face_minimiser(M, q, v, free)
        free = v > 0
        gradient = M @ v + q
        wrong = np.flatnonzero(~free & (gradient < -_small(q)))
        if not wrong.size:
            break
        now = _value(M, q, v)
        if not now < value:
            if block == 1:  # rounding is all that is left
                break
            block = 1
        value = min(now, value)
        free[wrong[np.argsort(gradient[wrong])[:block]]] = True
    return v


def satisfies_kkt(M: Matrix, q: Vector, v: Vector, slack: float = 1e-8) -> bool:
    """Tell whether ``v``, not negative, is optimal: by sign and by complementarity."""
    gradient = M @ v + q
    size = slack * max(float(np.abs(q).max(initial=0.0)), 1e-300)
    active = np.abs(gradient[v > 0]).max(initial=0.0)
    return bool(gradient.min(initial=0.0) >= -size and active <= size)


def _face_minimiser(M: Matrix, q: Vector, v: Vector, free: Mask) -> Vector:
    """Go from ``v`` towards the minimiser of a face, and drop what becomes negative.

    All of it at once where that descends, else only what becomes zero first.
    """
    free = free.copy()
    while True:
        z = _minimiser(M, q, free)
        back = np.flatnonzero(free & (z <= 0))
        if not back.size:
            return z
        clipped = np.maximum(z, 0.0)
        if _value(M, q, clipped) < _value(M, q, v):
            v, free = clipped, clipped > 0
            continue
        whole = v[back] - z[back]
        steps = np.divide(v[back], whole, out=np.zeros_like(whole), where=whole > 0)
        step = float(steps.min())
        v = np.maximum(v + step * (z - v), 0.0)
        free[back[steps <= step * (1 + 1e-12)]] = False
        v = np.where(free, v, 0.0)


def _minimiser(M: Matrix, q: Vector, free: Mask) -> Vector:
    """Return the minimiser over the free variables, with zeros elsewhere."""
    v = np.zeros_like(q)
    if not free.any():
        return v
    face = M[np.ix_(free, free)]
    for ridge in (0.0, *(RIDGE * 100.0**i for i in range(8))):
        np.fill_diagonal(face, np.diagonal(face) + ridge)
        try:
            factor = cho_factor(face, lower=True, check_finite=False)
        except LinAlgError:
            continue
        v[free] = np.asarray(cho_solve(factor, -q[free], check_finite=False))
        break
    return v


def _value(M: Matrix, q: Vector, v: Vector) -> float:
    return float(v @ (M @ v) / 2 + q @ v)


def _small(v: Vector) -> float:
    return _SLACK * float(np.abs(v).max(initial=0.0))
