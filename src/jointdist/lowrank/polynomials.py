r"""Polynomials of X and of Y, made orthonormal over the sample (paper, appendix B).

Functions that are orthonormal over a part of the rows, by a recurrence, nearly are over all
rows; the moments of one pass give the correction. Their order is graded, so that the first
functions span the polynomials of each lower degree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np
from scipy.linalg import solve_triangular

from jointdist._array import Matrix, like, to_numpy
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.table import Rows
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.lowrank.arnoldi import independent
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.polynomial_map import PolynomialMap
from jointdist.lowrank.rough_polynomials import extreme_rows, rough_polynomials
from jointdist.lowrank.summation import collect

__all__ = ["Polynomials", "orthonormal_polynomials"]

# Rows of the part on which functions are made orthonormal first (or four times the number of
# functions).
_PART_ROWS = 1 << 13
# The condition number of a correction that loses at most 2.5 of 16 digits, and the passes over
# all rows after which a warning says that it was not reached.
_SAFE_CONDITION, _MAX_PASSES = 300.0, 6


@dataclass(frozen=True, slots=True, eq=False)
class Polynomials:
    """The orthonormal polynomials of both sides, and their moments.

    Attributes
    ----------
    x, y : PolynomialMap
        The functions.
    moments : Moments
        Their sums over the sample, and those of all products.
    dropped : tuple of int
        How many monomials of X and of Y depend on others over the sample.
    """

    x: PolynomialMap
    y: PolynomialMap
    moments: Moments
    dropped: tuple[int, int]

    def changed(self, sums: Moments, *, again: bool = True) -> "Polynomials | None":
        """Return functions that are orthonormal under other sums of the same functions.

        None if that takes a new start: where rounding has grown too much, or functions
        were or would be dropped, as other rows may need them.

        Parameters
        ----------
        sums : Moments
            The sums.
        again : bool, default=True
            Whether a new start is possible. If not, the functions are returned all the
            same, with a warning where rounding has grown.
        """
        found, condition = _corrected(self, sums)
        if condition <= _SAFE_CONDITION and not (any(found.dropped) and again):
            return found
        if again:
            return None
        msg = (
            "PolynomialJointDistribution: the rows differ so much from those of the first fit "
            "that rounding has grown. Fit to all rows anew."
        )
        warn_user(msg, ToleranceWarning)
        return found


def _corrected(old: Polynomials, sums: Moments) -> tuple[Polynomials, float]:
    """Return functions orthonormal under sums of the old ones, and the condition of that."""
    n = sums.weight
    sides = (old.x, sums.gram_x), (old.y, sums.gram_y)
    (kept_x, C_x), (kept_y, C_y) = (
        independent(side.exponents, to_numpy(gram) / n) for side, gram in sides
    )
    x = old.x.corrected(kept_x, C_x)
    y = old.y.corrected(kept_y, C_y)
    lost = old.x.rank - x.rank, old.y.rank - y.rank
    dropped = old.dropped[0] + lost[0], old.dropped[1] + lost[1]
    sums = _solved(sums.taken(x, y, (kept_x, kept_y)), (C_x, C_y))
    new = Polynomials(x, y, sums, dropped)
    return new, max(float(np.linalg.cond(C)) for C in (C_x, C_y))


def _solved(sums: Moments, cores: tuple[Matrix, Matrix]) -> Moments:
    """Return the moments of features times the inverses of lower-triangular matrices."""
    gram, powers_y = to_numpy(sums.gram).copy(), to_numpy(sums.powers_y).copy()
    middle = 1 + sums.rank_x
    for side, core in zip((slice(1, middle), slice(middle, None)), cores, strict=True):
        for _ in range(2):  # on the rows, then on the columns
            gram[side] = solve_triangular(core, gram[side], lower=True)
            gram = gram.T
    powers_y[1:] = solve_triangular(cores[1], powers_y[1:], lower=True)
    powers_x = None if sums.powers_x is None else to_numpy(sums.powers_x).copy()
    if powers_x is not None:
        powers_x[1:] = solve_triangular(cores[0], powers_x[1:], lower=True)
    new = replace(
        sums,
        gram=like((gram + gram.T) / 2, sums.gram),
        powers_y=like(powers_y, sums.gram),
        powers_x=None if powers_x is None else like(powers_x, sums.gram),
    )
    kept_x, kept_y = (float(squares.sum()) for _, squares in new.sides)
    return replace(new, trace_x=kept_x, trace_y=kept_y)


def orthonormal_polynomials(
    degrees: tuple[int, int],
    x: Rows,
    y: Rows,
    weights: Matrix | None,
    *,
    unused: Sequence[int] = (),
    seed: int,
    executor: Executor,
) -> Polynomials:
    """Return the orthonormal polynomials of both sides, most often in one pass.

    Functions that are orthonormal over a part of the rows nearly are over all of them,
    and the sums of all rows tell what is missing. A monomial that equals a combination
    of earlier ones on all rows is dropped, and with it all its multiples.

    Parameters
    ----------
    degrees : tuple of int
        The total degrees in x and in y.
    x, y : Rows
        The paired rows.
    weights : array of shape (n,), optional
        Their weights.
    unused : sequence of int, default=()
        Columns of X that no polynomial is in.
    seed : int
        Chooses the part of the rows.
    executor : Executor
        Runs the row blocks.
    """
    counted = np.arange(x.n) if weights is None else np.flatnonzero(weights)
    widths = x.d - len(unused), y.d
    functions = [comb(q + d, q) for q, d in zip(degrees, widths, strict=True)]
    part = counted
    if len(counted) > (size := max(_PART_ROWS, 4 * max(functions))):
        part = np.random.default_rng(seed).choice(counted, size, replace=False)
        part = np.union1d(part, extreme_rows(x, y, weights, executor))
    share = None if weights is None else weights[part] / weights.max()
    final = len(part) == len(counted)
    with one_blas_thread() as one, one:  # the matrices are small
        a = rough_polynomials(degrees[0], x.take(part), share, final, unused)
        b = rough_polynomials(degrees[1], y.take(part), share, final)
        for left in reversed(range(_MAX_PASSES)):
            sums = collect(a, b, x, y, weights, precision="float64", executor=executor)
            dropped = functions[0] - a.rank, functions[1] - b.rank
            found, condition = _corrected(Polynomials(a, b, sums, dropped), sums)
            if condition <= _SAFE_CONDITION or left == 0:
                break
            a, b = found.x, found.y
    if condition <= _SAFE_CONDITION:
        return found
    msg = (
        f"{x.where}: the polynomials could not be made orthonormal over all rows, as "
        "some are too far out. Transform their columns, as by a logarithm."
    )
    warn_user(msg, ToleranceWarning)
    return found
