"""Sections 2 and 3 of the paper, as they are written: n² unknowns, for a few rows.

Tables of values on the grid have a row for each y and a column for each x, as in the
paper; ``JointDistribution.ratio`` has them the other way round.
"""

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.spatial.distance import cdist


def canonical(kernel, rows, Z, *, centred=False):
    r"""Return :math:`\Phi(z) = [k(x_1, z), ..., k(x_n, z)]` for each z, as rows.

    The centred kernel is the inner product of :math:`k(z, \cdot) - \bar k`, with the mean
    :math:`\bar k` of the functions :math:`k(x_i, \cdot)`.
    """
    K = kernel(Z, rows)
    if not centred:
        return K
    among = kernel(rows, rows)
    return K - K.mean(axis=1, keepdims=True) - among.mean(axis=0) + among.mean()


def objective(H, K_x, K_y, ridge):
    """Return the regularised objective of Theorem `thm:representer`, trace by trace."""
    n, one = len(H), np.ones(len(H))
    return (
        np.trace(H.T @ K_y @ K_y @ H @ K_x @ K_x) / n**2
        - 2 / n * np.trace(K_y @ H @ K_x)
        + 2 / n**2 * one @ K_y @ H @ K_x @ one
        + ridge * np.trace(H.T @ K_y @ H @ K_x)
    )


def solution(K_x, K_y, ridge, *, normalised):
    """Return the H that minimises the objective, by one system with n² unknowns.

    The gradient is K_y times what vanishes here times K_x: H is a minimum also where the
    kernel matrices are singular, and the system is not.
    """
    n = len(K_x)
    A = np.kron(K_y, K_x) / n**2 + ridge * np.eye(n * n)
    b = (np.eye(n) / n - 1 / n**2).ravel()
    if not normalised:
        return np.linalg.solve(A, b).reshape(n, n)
    s = np.outer(K_y.sum(axis=0), K_x.sum(axis=0)).ravel()
    top = np.column_stack([A, np.ones(n * n)])
    last = np.append(s / np.abs(s).max(), 0.0)
    return np.linalg.solve(np.vstack([top, last]), np.append(b, 0.0))[:-1].reshape(n, n)


def positive_solution(K_x, K_y, ridge, *, normalised, tol=1e-12):
    """Return the H that minimises the objective with all n² inequalities, by Clarabel.

    The unknowns are those of an orthonormal basis of the kernel spaces, where the norm of
    h is that of its coefficients.
    """
    n = len(K_x)
    (L_y, inverse_y), (L_x, inverse_x) = _root(K_y), _root(K_x)
    to_grid = np.kron(L_y, L_x)
    P = 2 * (to_grid.T @ to_grid / n**2 + ridge * np.eye(to_grid.shape[1]))
    q = -2 * to_grid.T @ (np.eye(n) / n - 1 / n**2).ravel()
    rows, ends, cones = [-to_grid], [np.ones(n * n)], [clarabel.NonnegativeConeT(n * n)]
    total = to_grid.sum(axis=0)
    if normalised and np.linalg.norm(total) > 1e-9 * np.linalg.norm(to_grid):
        rows.insert(0, total[None, :] / np.linalg.norm(total))
        ends.insert(0, np.zeros(1))
        cones.insert(0, clarabel.ZeroConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    constraints = sparse.csc_matrix(np.concatenate(rows))
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), q, constraints, np.concatenate(ends), cones, settings
    ).solve()
    A = np.asarray(solved.x).reshape(L_y.shape[1], L_x.shape[1])
    return inverse_y.T @ A @ inverse_x


def _root(K):
    """Return L with K = L L', and its pseudo-inverse."""
    values, U = np.linalg.eigh(K)
    kept = values > 1e-13 * max(values.max(), 1e-300)
    L = U[:, kept] * np.sqrt(values[kept])
    return L, (U[:, kept] / np.sqrt(values[kept])).T


def worst_case_loss(ratio):
    """Return the squared distance of Q(h) to the sample, whose own ratio is n on pairs."""
    n = len(ratio)
    return float(np.sum((n * np.eye(n) - ratio) ** 2)) / n**2


def measure(points, masses):
    """Return distinct points and what they weigh together."""
    distinct, where = np.unique(points, axis=0, return_inverse=True)
    return distinct, np.bincount(where.ravel(), masses, minlength=len(distinct))


def bounded_lipschitz(points, p, q):
    """Return the dual bounded Lipschitz distance of two measures, a linear program.

    The unknowns are the values of f at the points, its supremum and its slope; such an f
    extends from the points to the whole space.
    """
    n, distance = len(points), cdist(points, points)
    i, j = np.nonzero(distance)
    rows = np.arange(len(i))
    slope = np.zeros((len(i), n + 2))
    slope[rows, i], slope[rows, j], slope[rows, n + 1] = 1, -1, -distance[i, j]
    within = np.eye(n, n + 2)
    within[:, n] = -1
    below = -np.eye(n, n + 2)
    below[:, n] = -1
    norm = np.zeros((1, n + 2))
    norm[0, n:] = 1
    found = linprog(
        np.concatenate([q - p, [0.0, 0.0]]),
        A_ub=np.concatenate([slope, within, below, norm]),
        b_ub=np.append(np.zeros(len(i) + 2 * n), 1.0),
        bounds=[(None, None)] * n + [(0, None)] * 2,
    )
    assert found.status == 0, found.message
    return -found.fun
