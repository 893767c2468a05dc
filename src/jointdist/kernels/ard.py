r"""Automatic relevance determination (ARD): a length scale for each column, by evidence.

Let :math:`u_1, \dots, u_r` be targets that X is to explain: an outcome, or leading features
of Y. If each is a Gaussian process in x plus noise,
:math:`u \sim N(0, \sigma^2 (K + \rho I))`, the length scales of the kernel and the noise
:math:`\rho` can be found by maximum likelihood: a column that says nothing gets a length
scale so wide that it does not count. The amplitude :math:`\sigma^2` has a closed form.

The kernel is a Matérn kernel of smoothness :math:`\nu`, which for an infinite one is the
Gaussian, times one of the categorical columns.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from jointdist._array import Vector, to_numpy
from jointdist.kernels.median_heuristic import Family
from jointdist.kernels.settings import SETTINGS

__all__ = [
    "fit_length_scales",
    "maximise_evidence",
    "negative_log_evidence",
    "with_length_scales",
]

_NEAR = 1e-6  # distances below are rounding of zero
_FAR = 1e-40  # kernels below are zero: products of subnormal numbers are slow


def fit_length_scales(
    family: Family,
    X: Vector,
    targets: Vector,
    *,
    start: Vector | None = None,
    steps: int = SETTINGS.ard_steps,
) -> Vector:
    """Return the parameters of the kernel of a family with the largest evidence.

    Parameters
    ----------
    family : Family
        The kernels, with first guesses of the length scales.
    X : array of shape (n, d)
        Distinct rows of X, encoded.
    targets : array of shape (n, r)
        What they are to explain, centred.
    start : array of shape (p + 1,), optional
        Where to start from, as the result for other rows.
    steps : int, default=40
        The largest number of steps.

    Returns
    -------
    array of shape (p + 1,)
        For each of the p columns of numbers the logarithm of the squared factor by which
        its length scale is divided, and the logarithm of the noise.
    """
    categorical = family.categorical_kernel
    similarity = None
    if categorical is not None:
        similarity = to_numpy(categorical(X, X)).astype(np.float64, copy=False)
    Z = X[:, family.numbers] / np.asarray(family.scales)
    return maximise_evidence(
        Z, targets, similarity=similarity, nu=family.nu, start=start, steps=steps
    )


def with_length_scales(family: Family, theta: Vector) -> Family:
    """Return the family with a length scale for each column.

    Parameters
    ----------
    family : Family
        The kernels, with the first guesses of their length scales.
    theta : array of shape (p + 1,)
        The result of :func:`fit_length_scales`.
    """
    scales = np.asarray(family.scales) * np.exp(-theta[:-1] / 2)
    return replace(family, scales=tuple(scales.tolist()), name="each")


def maximise_evidence(
    Z: Vector,
    U: Vector,
    *,
    similarity: Vector | None = None,
    nu: float = math.inf,
    start: Vector | None = None,
    steps: int = SETTINGS.ard_steps,
) -> Vector:
    """Return the parameters with the largest evidence, under a weak prior on length scales.

    Parameters
    ----------
    Z : array of shape (n, d)
        The columns, each divided by a first guess of its length scale.
    U : array of shape (n, r)
        The targets.
    similarity : array of shape (n, n), optional
        The kernel matrix of other columns, by which that of these is multiplied.
    nu : {0.5, 1.5, inf}, default=inf
        The smoothness of the kernel.
    start : array of shape (d + 1,), optional
        Where to start from, as the result for other rows; by default from length scales
        of one.
    steps : int, default=40
        The largest number of steps.

    Returns
    -------
    array of shape (d + 1,)
        The logarithms of the squared inverse length scales, and of the noise; where the
        search started, if it fails.
    """
    d = Z.shape[1]
    Z = Z - Z.mean(axis=0)

    def loss(theta: Vector) -> tuple[float, Vector]:
        try:
            value, slope = negative_log_evidence(theta, Z, U, similarity, nu=nu)
        except LinAlgError:
            return np.inf, np.zeros_like(theta)
        inner = theta[:d] / SETTINGS.ard_prior_deviation
        slope[:d] += inner / SETTINGS.ard_prior_deviation
        return value + 0.5 * float(inner @ inner), slope

    least, first, most = np.log(SETTINGS.ard_noise)
    if start is None:
        start = np.append(np.zeros(d), first)
    bound = SETTINGS.ard_bound
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-bound, bound)] * d + [(least, most)],
        options={"maxiter": steps},
    )
    good = np.isfinite(found.fun) and np.isfinite(found.x).all()
    return np.asarray(found.x if good else start)


def negative_log_evidence(
    theta: Vector,
    Z: Vector,
    U: Vector,
    similarity: Vector | None = None,
    *,
    nu: float = math.inf,
) -> tuple[float, Vector]:
    r"""Return the negative log marginal likelihood, up to constants, and its gradient.

    At the best amplitude the former is :math:`\tfrac r2 (n \log \sigma^2 + \log|K + \rho I|)`.

    Parameters
    ----------
    theta : array of shape (d + 1,)
        The logarithms of the squared inverse length scales, and of the noise.
    Z : array of shape (n, d)
        The columns.
    U : array of shape (n, r)
        The targets.
    similarity : array of shape (n, n), optional
        A matrix by which the kernel matrix is multiplied.
    nu : {0.5, 1.5, inf}, default=inf
        The smoothness of the kernel.
    """
    (n, d), r = Z.shape, U.shape[1]
    square, rho = np.exp(theta[:d]), float(np.exp(theta[d]))
    A = Z * np.sqrt(square)
    norms = np.sum(A * A, axis=1)
    squares = np.maximum(norms[:, None] + norms - 2 * A @ A.T, 0.0)
    np.fill_diagonal(squares, 0.0)
    M, P = _kernel(squares, nu)
    far = M < _FAR
    M[far] = P[far] = 0.0
    if similarity is not None:
        M *= similarity
        P = P * similarity
    M[np.diag_indices(n)] += rho
    L = np.asarray(cholesky(M, lower=True, overwrite_a=True))
    alpha = np.asarray(cho_solve((L, True), U))
    amplitude = max(float(np.sum(U * alpha)) / (n * r), np.finfo(float).tiny)
    logs = 2 * float(np.log(np.diag(L)).sum())
    value = 0.5 * r * (n * float(np.log(amplitude)) + logs)
    inverse, _ = dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    W = r * inverse - alpha @ alpha.T / amplitude
    slope = np.empty(d + 1)
    slope[d] = 0.5 * rho * float(np.trace(W))
    W *= P
    across = 2 * (Z * Z).T @ W.sum(axis=1) - 2 * np.sum(Z * (W @ Z), axis=0)
    slope[:d] = -0.25 * across * square
    return value, slope


def _kernel(squares: Vector, nu: float) -> tuple[Vector, Vector]:
    """Return the kernel at squared distances, and minus twice its derivative by them."""
    if nu == math.inf:
        K = np.exp(-0.5 * squares)
        return K, K.copy()
    t = np.sqrt(2 * nu * squares)
    decay = np.exp(-t)
    if nu == 0.5:
        return decay, np.where(t > _NEAR, decay / np.maximum(t, _NEAR), 0.0)
    return (1 + t) * decay, 3 * decay
