"""A constrained mean embedding as one quadratic program, solved by Clarabel.

Every constraint is written out as in the paper, row by row, with the expansion T.
"""

import clarabel
import numpy as np
from scipy import sparse


def embedded(objective, T, ones, positive, *, tol=1e-11):
    """Return the coefficients, the optimum, and how the solver ended.

    The rows of ``ones`` and ``positive`` are the basis functions of X where the mass is
    one, and where no weight is negative.
    """
    kept = (objective.inverse > 0).ravel()
    root = np.sqrt(objective.inverse.ravel()[kept])
    mass, weights = np.kron(T.sum(axis=0), ones), np.kron(T, positive)
    lines = np.concatenate([mass, -weights])[:, kept] * root
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 500
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(2 * np.eye(len(root))),
        -2 * objective.b.ravel()[kept] * root,
        sparse.csc_matrix(lines),
        np.concatenate([np.ones(len(mass)), np.zeros(len(weights))]),
        [clarabel.ZeroConeT(len(mass)), clarabel.NonnegativeConeT(len(weights))],
        settings,
    ).solve()
    F = np.zeros(objective.b.size)
    F[kept] = root * np.asarray(solved.x)
    F = F.reshape(objective.b.shape)
    return F, objective(F), str(solved.status)
