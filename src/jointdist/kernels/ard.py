r"""How much each column of X matters: one scale for each, by Gaussian process evidence.

Let :math:`u_1, \dots, u_r` be what X is to explain: an outcome, or leading features of Y,
whitened. If each is a Gaussian process in x plus noise,
:math:`u \sim N(0, \sigma^2 (K + \rho I))`, the scales of the kernel and the noise
:math:`\rho` can be found by maximum likelihood: a column that says nothing gets a scale so
wide that it does not count. The amplitude :math:`\sigma^2` has a closed form.

Kernels are told by their smoothness :math:`\nu`, that of Matérn's; the Gaussian has an
infinite one.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

__all__ = ["evidence", "most_likely", "relevant_scales"]

Vector: TypeAlias = NDArray[np.float64]

_STEPS = 40
_PRIOR = 3.0  # the standard deviation of the logarithm of a squared inverse scale
_NOISE = 1e-6, 0.1, 1e3  # the least, the first and the most
_RANGE = 12.0  # of the logarithm of a squared inverse scale
_NEAR = 1e-6  # distances below are rounding of zero
_FAR = 1e-40  # kernels below are zero: products of tiny numbers are slow


def relevant_scales(
    Z: Vector, U: Vector, *, similarity: Vector | None = None, nu: float = math.inf
) -> Vector:
    """Return one factor for each column, by which its scale is to be multiplied.

    Parameters
    ----------
    Z : array of shape (n, d)
        The columns, each divided by a first guess of its scale.
    U : array of shape (n, r)
        What they are to explain.
    similarity : array of shape (n, n), optional
        A kernel matrix of other columns, by which that of these is multiplied.
    nu : {0.5, 1.5, inf}, default=inf
        The smoothness of the kernel.

    Returns
    -------
    array of shape (d,)
        The factors; ones if the search fails.
    """
    theta = most_likely(Z, U, similarity=similarity, nu=nu)
    factors: Vector = np.exp(-theta[:-1] / 2)
    return factors


def most_likely(
    Z: Vector,
    U: Vector,
    *,
    similarity: Vector | None = None,
    nu: float = math.inf,
    start: Vector | None = None,
    steps: int = _STEPS,
) -> Vector:
    """Return the parameters of the largest evidence, under a weak prior on the scales.

    Parameters
    ----------
    Z, U, similarity, nu
        As in :func:`relevant_scales`.
    start : array of shape (d + 1,), optional
        Where to start from, as the result for other rows; by default from scales of one.
    steps : int, default=40
        The most steps.

    Returns
    -------
    array of shape (d + 1,)
        The logarithms of the squared inverse scales, and of the noise; where the search
        started, if it fails.
    """
    d = Z.shape[1]
    Z = Z - Z.mean(axis=0)

    def loss(theta: Vector) -> tuple[float, Vector]:
        try:
            value, slope = evidence(theta, Z, U, similarity, nu=nu)
        except LinAlgError:
            return np.inf, np.zeros_like(theta)
        inner = theta[:d] / _PRIOR
        slope[:d] += inner / _PRIOR
        return value + 0.5 * float(inner @ inner), slope

    least, first, most = np.log(_NOISE)
    if start is None:
        start = np.append(np.zeros(d), first)
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_RANGE, _RANGE)] * d + [(least, most)],
        options={"maxiter": steps},
    )
    good = np.isfinite(found.fun) and np.isfinite(found.x).all()
    return np.asarray(found.x if good else start)


def evidence(
    theta: Vector,
    Z: Vector,
    U: Vector,
    similarity: Vector | None = None,
    *,
    nu: float = math.inf,
) -> tuple[float, Vector]:
    r"""Return the negative log-likelihood, but for constants, and its gradient.

    At the best amplitude it is :math:`\tfrac r2 (n \log \sigma^2 + \log|K + \rho I|)`.

    Parameters
    ----------
    theta : array of shape (d + 1,)
        The logarithms of the squared inverse scales, and of the noise.
    Z : array of shape (n, d)
        The columns.
    U : array of shape (n, r)
        What they explain.
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
