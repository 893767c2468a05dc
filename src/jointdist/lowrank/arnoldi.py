r"""Vandermonde with Arnoldi: a recurrence for orthogonal polynomials of several variables.

Functions correspond to monomials in graded order, which products preserve. Each function is
the product of two earlier ones, orthogonalised against all earlier functions. The remainder is
small where columns are nearly collinear or have heavy tails, but never as small as that of a
monomial.

References
----------
.. [1] Brubeck, Nakatsukasa, Trefethen (2021). "Vandermonde with Arnoldi", SIAM Review 63.
"""

from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular

from jointdist._array import Index, Matrix
from jointdist.lowrank.monomials import factors_of, is_multiple

__all__ = ["arnoldi", "independent", "simplified"]

# Functions that are made orthogonal to the earlier ones at a time, by products of matrices.
_CHUNK = 32
# A product is linearly dependent on earlier functions if orthogonalisation leaves this share of
# its norm: well above rounding errors, well below any signal in double precision.
_DEPENDENT = 1e-9
# The share of a sum of squares below which sums over all rows cannot tell it from zero.
_INVISIBLE = 1e-12
# The condition number up to which plain monomials are accurate enough without the recurrence.
_SIMPLE_CONDITION = 200.0


def arnoldi(exponents: Index, v: Matrix, root: Matrix) -> tuple[Matrix, Index, Matrix]:
    """Return the recurrence of functions, which of them are orthonormal, and their values.

    A product that depends on earlier functions leaves nothing but rounding: it is not
    enlarged to norm one, and no later one is made orthogonal to it; nor to any multiple of
    it. Gram and Schmidt, twice.
    """
    m, total = len(exponents), exponents.sum(axis=1)
    first, second = factors_of(exponents)
    phi, R = np.ones((m, v.shape[1])), np.eye(m)
    kept = np.zeros(1, dtype=np.intp)
    for start, stop in _chunks(total):
        own = slice(start, stop)
        linear = total[start] == 1
        block = v[first[own]] if linear else phi[first[own]] * phi[second[own]]
        gone = np.setdiff1d(np.arange(start), kept)
        multiple = is_multiple(exponents[own], exponents[gone])
        block = block * root
        sizes = np.sqrt((block * block).sum(axis=1))
        before = phi[kept] * root
        for _ in range(2):
            part = block @ before.T
            R[start:stop, kept] += part
            block -= part @ before
        new = np.zeros((0, len(root)))
        for j, (row, size) in enumerate(zip(block, sizes, strict=True), start):
            for _ in range(2):
                part = new @ row
                R[j, kept[len(before) :]] += part
                row -= part @ new  # noqa: PLW2901
            left = float(np.linalg.norm(row))
            usual = max(size, 1.0)  # of factors that are orthonormal
            independent = left > _DEPENDENT * usual and not multiple[j - start]
            R[j, j] = left if independent else usual
            phi[j] = row / (R[j, j] * root)
            if independent:
                new, kept = np.vstack([new, row / left]), np.append(kept, j)
    return R, kept, phi


def _chunks(total: Index) -> Iterator[tuple[int, int]]:
    """Yield ranges of functions of one degree, not too many at a time."""
    for degree in range(1, int(total.max(initial=0)) + 1):
        a, b = np.searchsorted(total, [degree, degree + 1]).tolist()
        for start in range(a, b, _CHUNK):
            yield start, min(start + _CHUNK, b)


def simplified(
    exponents: Index, R: Matrix, phi: Matrix, w: Matrix
) -> tuple[Matrix, Matrix]:
    """Return a recurrence without sums, and the core that makes up for them, if that is safe.

    Monomials of linear functions that are orthonormal cost one product each. Where they
    are well conditioned, the core may do the rest.
    """
    first, second = factors_of(exponents)
    linear = exponents.sum(axis=1) <= 1
    monomials = phi.copy()
    for j in np.flatnonzero(~linear):
        monomials[j] = phi[first[j]] * monomials[second[j]]
    core = np.tril((monomials * w) @ phi.T)
    if np.linalg.cond(core) > _SIMPLE_CONDITION:
        return R, np.eye(len(R))
    simple = np.eye(len(R))
    simple[linear] = R[linear]
    return simple, core


def independent(exponents: Index, G: Matrix) -> tuple[Index, Matrix]:
    """Return which functions are independent, and the Cholesky factor of their Gram matrix.

    Multiples of a monomial that was dropped are dropped too.
    """
    L, gone = np.zeros_like(G), np.zeros((0, exponents.shape[1]), dtype=np.intp)
    kept = np.zeros(0, dtype=np.intp)
    for j, exponent in enumerate(exponents):
        r = len(kept)
        row = np.asarray(solve_triangular(L[:r, :r], G[kept, j], lower=True))
        left = G[j, j] - row @ row
        multiple = is_multiple(exponent[None, :], gone)[0]
        if multiple or left <= max(_INVISIBLE * G[j, j], _DEPENDENT**2):
            gone = np.vstack([gone, exponent])
            continue
        L[r, :r], L[r, r] = row, np.sqrt(left)
        kept = np.append(kept, j)
    return kept, L[: len(kept), : len(kept)]
