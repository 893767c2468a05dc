r"""Length scales by the evidence of patches of neighbours, as if these were independent.

A regression on nearest neighbours uses the kernel within patches alone. The product of their
likelihoods is a composite likelihood (Vecchia, 1988; Varin, Reid and Firth, 2011): it costs
n³ for each patch of n rows, so that many patches from all over the data can be looked at. Each
patch has a mean of its own, which is that of generalised least squares.
"""

import numpy as np
from scipy.optimize import minimize

from jointdist._array import Vector
from jointdist.kernels.ard import pair_values
from jointdist.kernels.median_heuristic import Family
from jointdist.kernels.settings import SETTINGS

__all__ = ["fit_patch_scales", "negative_log_patch_evidence"]


def fit_patch_scales(
    family: Family, patches: Vector, targets: Vector, *, steps: int = SETTINGS.ard_steps
) -> Vector:
    """Return the parameters of the kernel of a family with the largest evidence of patches.

    Parameters
    ----------
    family : Family
        The kernels, with first guesses of the length scales.
    patches : array of shape (b, n, d)
        The rows of each patch, encoded.
    targets : array of shape (b, n, r)
        What they are to explain.
    steps : int, default=40
        The largest number of steps.

    Returns
    -------
    array of shape (p + c + 1,)
        As by :func:`~jointdist.kernels.ard.fit_length_scales`;
        where it started if the search fails.
    """
    Z = patches[:, :, family.numbers] / np.asarray(family.scales)
    each = zip(family.factors, family.category_scales, strict=False)
    differ = [
        (patches[:, :, None, c] != patches[:, None, :, c]) / scale for c, scale in each
    ]
    d = Z.shape[2] + len(differ)

    def loss(theta: Vector) -> tuple[float, Vector]:
        try:
            value, slope = negative_log_patch_evidence(
                theta, Z, targets, differ, nu=family.nu
            )
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(theta)
        inner = theta[:d] / SETTINGS.ard_prior_deviation
        slope[:d] += inner / SETTINGS.ard_prior_deviation
        return value + 0.5 * float(inner @ inner), slope

    least, first, most = np.log(SETTINGS.ard_noise)
    start, bound = np.append(np.zeros(d), first), SETTINGS.ard_bound
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * d + [(least, most)],
        options={"maxiter": steps},
    )
    good = np.isfinite(found.fun) and np.isfinite(found.x).all()
    return np.asarray(found.x) if good else start


def negative_log_patch_evidence(
    theta: Vector, Z: Vector, U: Vector, differ: list[Vector], *, nu: float
) -> tuple[float, Vector]:
    r"""Return the negative log likelihood of patches, up to constants, and its gradient.

    Parameters
    ----------
    theta : array of shape (d + c + 1,)
        The logarithms of the squared inverse length scales of numbers, of the inverse ones of
        categories, and of the noise.
    Z : array of shape (b, n, d)
        The columns of each patch, in units of first guesses of their length scales.
    U : array of shape (b, n, r)
        The targets.
    differ : list of arrays of shape (b, n, n)
        For each categorical column one over a first guess of its length scale where the
        categories of two rows differ, and zero elsewhere.
    nu : {0.5, 1.5, inf}
        The smoothness of the kernel.
    """
    (b, n, d), r = Z.shape, U.shape[2]
    square, strength = np.exp(theta[:d]), np.exp(theta[d:-1])
    rho = float(np.exp(theta[-1]))
    A = Z * np.sqrt(square)
    norms = np.sum(A * A, axis=2)
    squares = norms[:, :, None] + norms[:, None] - 2 * A @ A.transpose(0, 2, 1)
    each = np.arange(n)
    squares = np.maximum(squares, 0.0)
    squares[:, each, each] = 0.0
    K, P = pair_values(squares, nu)
    for part, s in zip(differ, strength, strict=True):
        K, P = (found * np.exp(-s * part) for found in (K, P))
    M = K.copy()
    M[:, each, each] += rho
    L = np.linalg.cholesky(M)
    logs = 2 * float(np.log(np.diagonal(L, axis1=1, axis2=2)).sum())
    inverse = np.linalg.inv(M)
    ones = inverse.sum(axis=2)
    mean = np.einsum("bn,bnr->br", ones, U) / ones.sum(axis=1)[:, None]
    left = U - mean[:, None]
    alpha = inverse @ left
    amplitude = max(float(np.sum(left * alpha)) / (b * n * r), np.finfo(float).tiny)
    value = 0.5 * r * (b * n * float(np.log(amplitude)) + logs)
    W = r * inverse - alpha @ alpha.transpose(0, 2, 1) / amplitude
    slope = np.empty(len(theta))
    slope[-1] = 0.5 * rho * float(np.einsum("bnn->", W))
    for i, (part, s) in enumerate(zip(differ, strength, strict=True)):
        slope[d + i] = -0.5 * s * float(np.sum(W * K * part))
    W *= P
    across = 2 * np.einsum("bnd,bn->d", Z * Z, W.sum(axis=2))
    across -= 2 * np.einsum("bnd,bnd->d", Z, W @ Z)
    slope[:d] = -0.25 * across * square
    return value, slope
