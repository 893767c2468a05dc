r"""Automatic relevance determination (ARD): a length scale for each column, by evidence.

Let :math:`u_1, \dots, u_r` be targets that X is to explain: an outcome, or leading features
of Y. If each is a Gaussian process in x plus noise,
:math:`u \sim N(0, \sigma^2 (K + \rho I))`, the length scales of the kernel and the noise
:math:`\rho` can be found by maximum likelihood: a column that says nothing gets a length
scale so wide that it does not count. The amplitude :math:`\sigma^2` has a closed form.

The kernel is a Matérn kernel of smoothness :math:`\nu`, which for an infinite one is the
Gaussian, times :math:`\exp(-\sum_c [x_c \ne z_c] / \ell_c)` over the categorical columns.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize

from jointdist._array import Vector
from jointdist.kernels.median_heuristic import Family
from jointdist.kernels.settings import SETTINGS

__all__ = [
    "fit_length_scales",
    "maximise_evidence",
    "negative_log_evidence",
    "pair_values",
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
) -> tuple[Vector, float]:
    """Return the parameters of the kernel of a family with the largest evidence.

    Parameters
    ----------
    family : Family
        The kernels, with first guesses of the length scales.
    X : array of shape (n, d)
        Distinct rows of X, encoded.
    targets : array of shape (n, r)
        What they are to explain, centred.
    start : array of shape (p + c + 1,), optional
        Where to start from, as the result for other rows.
    steps : int, default=40
        The largest number of steps.

    Returns
    -------
    tuple of array of shape (p + c + 1,) and float
        For each of the p numeric columns the logarithm of the squared factor by which its
        length scale is divided, for each of the c categorical ones that of the factor, and
        the logarithm of the noise; and the loss, minus the logarithm of the evidence and of
        the prior, up to constants.
    """
    Z = X[:, family.numbers] / np.asarray(family.scales)
    return maximise_evidence(
        Z, targets, categories=_matches(family, X), nu=family.nu, start=start, steps=steps
    )


def with_length_scales(family: Family, theta: Vector) -> Family:
    """Return the family with a length scale for each column.

    Categorical columns that hardly count drop out: their length scale is infinite.

    Parameters
    ----------
    family : Family
        The kernels, with the first guesses of their length scales.
    theta : array of shape (p + c + 1,)
        The result of :func:`fit_length_scales`.
    """
    p = len(family.scales)
    scales = np.asarray(family.scales) * np.exp(-theta[:p] / 2)
    each = np.asarray(family.category_scales) * np.exp(-theta[p:-1])
    out = 1 / each < SETTINGS.category_least
    if len(out) and not p:
        out[each.argmin()] = False
    return replace(
        family,
        scales=tuple(scales.tolist()),
        category_scales=tuple(np.where(out, np.inf, each).tolist()),
        name="each",
    )


def _matches(family: Family, X: Vector) -> list[Vector]:
    """Return indicators of the categories of each column, over the root of its length scale."""
    found = []
    for column, scale in zip(family.factors, family.category_scales, strict=False):
        levels = np.unique(X[:, column])
        found.append((X[:, column][:, None] == levels) / np.sqrt(scale))
    return found


def maximise_evidence(
    Z: Vector,
    U: Vector,
    *,
    categories: Sequence[Vector] = (),
    nu: float = math.inf,
    start: Vector | None = None,
    steps: int = SETTINGS.ard_steps,
) -> tuple[Vector, float]:
    """Return the parameters with the largest evidence, under a weak prior on length scales.

    Parameters
    ----------
    Z : array of shape (n, d)
        The columns, each divided by a first guess of its length scale.
    U : array of shape (n, r)
        The targets.
    categories : sequence of arrays of shape (n, k)
        For each categorical column the indicators of its categories, divided by the root of
        a first guess of its length scale.
    nu : {0.5, 1.5, inf}, default=inf
        The smoothness of the kernel.
    start : array of shape (d + c + 1,), optional
        Where to start from, as the result for other rows; by default from the first guesses.
    steps : int, default=40
        The largest number of steps.

    Returns
    -------
    tuple of array of shape (d + c + 1,) and float
        The logarithms of the squared inverse length scales of numbers, of the inverse ones of
        categories, and of the noise; where the search started, if it fails. And the loss,
        minus the logarithm of the evidence and of the prior, up to constants.
    """
    d = Z.shape[1] + len(categories)
    Z = Z - Z.mean(axis=0)

    def loss(theta: Vector) -> tuple[float, Vector]:
        try:
            value, slope = negative_log_evidence(theta, Z, U, categories, nu=nu)
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
    return (np.asarray(found.x), float(found.fun)) if good else (start, np.inf)


def negative_log_evidence(
    theta: Vector,
    Z: Vector,
    U: Vector,
    categories: Sequence[Vector] = (),
    *,
    nu: float = math.inf,
) -> tuple[float, Vector]:
    r"""Return the negative log marginal likelihood, up to constants, and its gradient.

    At the best amplitude the former is :math:`\tfrac r2 (n \log \sigma^2 + \log|K + \rho I|)`.

    Parameters
    ----------
    theta : array of shape (d + c + 1,)
        The logarithms of the squared inverse length scales of numbers, of the inverse ones of
        categories, and of the noise.
    Z : array of shape (n, d)
        The columns.
    U : array of shape (n, r)
        The targets.
    categories : sequence of arrays of shape (n, k)
        The indicators of the categories of each categorical column.
    nu : {0.5, 1.5, inf}, default=inf
        The smoothness of the kernel.
    """
    (n, d), r = Z.shape, U.shape[1]
    square, strength = np.exp(theta[:d]), np.exp(theta[d:-1])
    rho = float(np.exp(theta[-1]))
    A = Z * np.sqrt(square)
    norms = np.sum(A * A, axis=1)
    squares = np.maximum(norms[:, None] + norms - 2 * A @ A.T, 0.0)
    np.fill_diagonal(squares, 0.0)
    M, P = pair_values(squares, nu)
    if categories:
        similarity = _similarity(categories, strength)
        M *= similarity
        P *= similarity
    far = M < _FAR
    M[far] = P[far] = 0.0
    K = M.copy() if categories else M
    M[np.diag_indices(n)] += rho
    L = np.asarray(cholesky(M, lower=True, overwrite_a=True))
    alpha = np.asarray(cho_solve((L, True), U))
    amplitude = max(float(np.sum(U * alpha)) / (n * r), np.finfo(float).tiny)
    logs = 2 * float(np.log(np.diag(L)).sum())
    value = 0.5 * r * (n * float(np.log(amplitude)) + logs)
    inverse, _ = dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    W = r * inverse - alpha @ alpha.T / amplitude
    slope = np.empty(len(theta))
    slope[-1] = 0.5 * rho * float(np.trace(W))
    if categories:
        slope[d:-1] = -0.5 * strength * _mismatches(categories, W * K)
    W *= P
    across = 2 * (Z * Z).T @ W.sum(axis=1) - 2 * np.sum(Z * (W @ Z), axis=0)
    slope[:d] = -0.25 * across * square
    return value, slope


def _similarity(categories: Sequence[Vector], strength: Vector) -> Vector:
    """Return the kernel matrix of categorical columns, each with its strength."""
    total = sum(
        s * float(one[0] @ one[0]) for s, one in zip(strength, categories, strict=True)
    )
    A = np.hstack([np.sqrt(s) * one for s, one in zip(strength, categories, strict=True)])
    found: Vector = np.exp(np.minimum(A @ A.T - total, 0.0))
    return found


def _mismatches(categories: Sequence[Vector], G: Vector) -> Vector:
    """Return the sum of a matrix over pairs of rows that differ, for each column."""
    A, total = np.hstack(categories), float(G.sum())
    equal = np.sum(A * (G @ A), axis=0)
    ends = np.cumsum([one.shape[1] for one in categories])[:-1]
    units = np.array([float(one[0] @ one[0]) for one in categories])
    matched = np.array([part.sum() for part in np.split(equal, ends)])
    found: Vector = units * total - matched
    return found


def pair_values(squares: Vector, nu: float) -> tuple[Vector, Vector]:
    """Return the kernel at squared distances, and minus twice its derivative by them.

    Parameters
    ----------
    squares : array
        The squared distances in units of the length scales.
    nu : {0.5, 1.5, inf}
        The smoothness of the kernel.
    """
    if nu == math.inf:
        K = np.exp(-0.5 * squares)
        return K, K.copy()
    t = np.sqrt(2 * nu * squares)
    decay = np.exp(-t)
    if nu == 0.5:
        return decay, np.where(t > _NEAR, decay / np.maximum(t, _NEAR), 0.0)
    return (1 + t) * decay, 3 * decay
