"""Positivity on a grid as one quadratic program with all its constraints, by Clarabel."""

import clarabel
import numpy as np
from scipy import sparse


def on_grid(objective, F_y, F_x, tol=1e-11):
    """Return the coefficients and the optimum, with one constraint for each pair.

    The variables are scaled so that the quadratic is the identity; coefficients that the
    objective leaves out are left out here too.
    """
    kept = objective.inverse > 0
    if not kept.any():
        return np.zeros_like(objective.b), 0.0
    root = np.sqrt(objective.inverse[kept])
    products = np.einsum("si,tj->stij", F_y, F_x)[:, :, kept].reshape(-1, kept.sum())
    rows, ends, cones = [-products * root], [np.ones(len(products))], []
    if objective.e is not None:
        rows.insert(0, (objective.e[kept] * root)[None, :])
        ends.insert(0, np.zeros(1))
        cones.append(clarabel.ZeroConeT(1))
    cones.append(clarabel.NonnegativeConeT(len(products)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(2 * np.eye(len(root))),
        -2 * objective.b[kept] * root,
        sparse.csc_matrix(np.concatenate(rows)),
        np.concatenate(ends),
        cones,
        settings,
    ).solve()
    H = np.zeros_like(objective.b)
    H[kept] = root * np.asarray(solved.x)
    return H, objective(H)
