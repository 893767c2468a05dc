"""Slow, obvious versions of what the library computes fast."""

import numpy as np


def algorithm_1(K, tol):
    """Run the paper's Algorithm 1 literally on a stored matrix; return L, B, pivots."""
    n = len(K)
    d = np.diag(K).copy()
    L, B, pivots = np.empty((n, 0)), np.empty((n, 0)), []
    while d.sum() > tol:
        p = int(np.argmax(d))
        e = np.eye(n)[:, p]
        ell = (K - L @ L.T) @ e / np.sqrt(d[p])
        b = (np.eye(n) - B @ L.T) @ e / np.sqrt(d[p])
        L, B = np.column_stack([L, ell]), np.column_stack([B, b])
        d = d - ell * ell
        pivots.append(p)
    return L, B, pivots


def schur_complement(K, pivots):
    """Return what the pivot rows and columns leave of K."""
    pivots = list(pivots)
    inverse = np.linalg.pinv(K[np.ix_(pivots, pivots)], hermitian=True)
    return K - K[:, pivots] @ inverse @ K[pivots, :]


def moments(phi, psi, weights):
    """Return all sums over features given row by row."""
    sums = {"weight": 0.0, "sum_x": 0.0, "sum_y": 0.0}
    sums |= {"gram_x": 0.0, "gram_y": 0.0, "gram_yx": 0.0}
    for f, g, w in zip(phi, psi, weights, strict=True):
        sums["weight"] += w
        sums["sum_x"] += w * f
        sums["sum_y"] += w * g
        sums["gram_x"] += w * np.outer(f, f)
        sums["gram_y"] += w * np.outer(g, g)
        sums["gram_yx"] += w * np.outer(g, f)
    return sums
