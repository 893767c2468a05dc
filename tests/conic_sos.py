"""The sum-of-squares program in conic form, solved by Clarabel: slow, and not ours."""

import clarabel
import numpy as np
from scipy import sparse


def sum_of_squares(objective, C_y, C_x, tol=1e-10):
    """Return the optimum over coefficients and Gram matrices, letter by letter."""
    size = objective.b.size
    k = C_y.shape[1] * C_x.shape[1]
    upper = [(i, j) for j in range(k) for i in range(j + 1)]  # stacked by columns
    full = np.einsum("kab,lij->klaibj", C_y, C_x).reshape(size, k, k)
    scale = [1.0 if i == j else np.sqrt(2) for i, j in upper]
    L = np.array([full[:, i, j] for i, j in upper]).T * scale
    entries = len(upper)
    blocks = [  # H + e00 - L(Q) = 0, and Q is semidefinite
        (np.hstack([np.eye(size), -L]), -np.eye(size)[0], clarabel.ZeroConeT(size)),
        (
            sparse.hstack([sparse.csc_matrix((entries, size)), -sparse.eye(entries)]),
            np.zeros(entries),
            clarabel.PSDTriangleConeT(k),
        ),
    ]
    if objective.e is not None:
        total = np.r_[objective.e.ravel(), np.zeros(entries)][None, :]
        blocks.insert(0, (total, np.zeros(1), clarabel.ZeroConeT(1)))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 200
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(np.r_[2 * objective.a.ravel(), np.zeros(entries)])),
        np.r_[-2 * objective.b.ravel(), np.zeros(entries)],
        sparse.csc_matrix(
            sparse.vstack([sparse.csc_matrix(rows) for rows, _, _ in blocks])
        ),
        np.concatenate([ends for _, ends, _ in blocks]),
        [cone for _, _, cone in blocks],
        settings,
    ).solve()
    assert str(solved.status) in {"Solved", "AlmostSolved"}, solved.status
    return solved.obj_val
