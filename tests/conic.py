"""The programs in conic form, solved by Clarabel: slow, general, and not ours.

The variables are the coefficients that the objective keeps, scaled so that its
quadratic is the identity, and one bound for each term of an inequality.
"""

import clarabel
import numpy as np
from scipy import sparse


def tightened(objective, lower, upper, tol=1e-10):
    """Return the optimum under 1 + sum of min(lower H, upper H) >= 0."""
    size = objective.b.size
    return _single_inequality(objective, sparse.identity(size), lower, upper, tol)


def pivot_positive(objective, T_y, T_x, lower, upper):
    """Return the optimum under the same inequality for T_y H T_x'."""
    return _single_inequality(objective, np.kron(T_y, T_x), lower, upper, 1e-10)


def spectral_ball(objective, radius, tol=1e-10):
    """Return the optimum under [[r I, H], [H', r I]] >= 0, which is |H| <= r."""
    m_y, m_x = objective.b.shape
    m = m_y + m_x
    kept, root = _variables(objective)
    upper = [(i, j) for j in range(m) for i in range(j + 1)]  # stacked by columns
    place = {pair: k for k, pair in enumerate(upper)}
    rows = np.zeros((len(upper), objective.b.size))
    for i in range(m_y):
        for j in range(m_x):
            rows[place[i, m_y + j], i * m_x + j] = -np.sqrt(2)
    ends = np.array([radius * (i == j) for i, j in upper])
    blocks = [(rows[:, kept] * root, ends, clarabel.PSDTriangleConeT(m))]
    return _solve(objective, blocks, 0, tol)


def _single_inequality(objective, T, lower, upper, tol):
    kept, root = _variables(objective)
    n = objective.b.size
    T = sparse.csc_matrix(T)[:, np.flatnonzero(kept)] @ sparse.diags(root)
    one, blocks = sparse.identity(n), []
    for bound in (lower, upper):  # s <= bound * Z
        full = np.broadcast_to(np.asarray(bound, float), objective.b.shape).ravel()
        rows = sparse.hstack([-sparse.diags(full) @ T, one])
        blocks.append((rows, np.zeros(n), clarabel.NonnegativeConeT(n)))
    total = sparse.csc_matrix(np.r_[np.zeros(kept.sum()), -np.ones(n)][None, :])
    blocks.append((total, np.ones(1), clarabel.NonnegativeConeT(1)))
    return _solve(objective, blocks, n, tol)


def _variables(objective):
    kept = (objective.inverse > 0).ravel()
    return kept, np.sqrt(objective.inverse.ravel()[kept])


def _solve(objective, blocks, extra, tol):
    kept, root = _variables(objective)
    if not kept.any():
        return 0.0
    if objective.e is not None:
        e = np.r_[objective.e.ravel()[kept] * root, np.zeros(extra)][None, :]
        blocks = [(e, np.zeros(1), clarabel.ZeroConeT(1)), *blocks]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 500
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    quadratic = np.r_[np.full(kept.sum(), 2.0), np.zeros(extra)]
    linear = np.r_[-2 * objective.b.ravel()[kept] * root, np.zeros(extra)]
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(quadratic)),
        linear,
        sparse.csc_matrix(
            sparse.vstack([sparse.csc_matrix(rows) for rows, _, _ in blocks])
        ),
        np.concatenate([ends for _, ends, _ in blocks]),
        [cone for _, _, cone in blocks],
        settings,
    ).solve()
    return solved.obj_val
