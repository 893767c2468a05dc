"""A constrained mean embedding as one quadratic program, solved by Clarabel.

Every constraint is written out as in the paper, row by row, with the expansion T.
"""

import clarabel
import numpy as np
from scipy import sparse


def embedded(objective, T, b, rows, normalization, positivity, tol=1e-11):
    """Return the coefficients, the optimum, and whether it was found."""
    m_y, m_x = objective.b.shape
    kept = (objective.inverse > 0).ravel()
    root = np.sqrt(objective.inverse.ravel()[kept])
    points = {"none": np.empty((0, m_x)), "average": b[None, :], "sample": rows}
    at = points[normalization]
    total = np.kron(T.sum(axis=0), at)
    weights = np.kron(T, points[positivity])
    lines = np.concatenate([total, -weights])[:, kept] * root
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 500
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(2 * np.eye(len(root))),
        -2 * objective.b.ravel()[kept] * root,
        sparse.csc_matrix(lines),
        np.concatenate([np.ones(len(at)), np.zeros(len(weights))]),
        [clarabel.ZeroConeT(len(at)), clarabel.NonnegativeConeT(len(weights))],
        settings,
    ).solve()
    F = np.zeros(m_y * m_x)
    F[kept] = root * np.asarray(solved.x)
    F = F.reshape(m_y, m_x)
    return F, objective(F), str(solved.status)
