r"""The intercepts of cells at which the marginal of Y is that of the sample.

For given log-ratios but for :math:`\beta`, the mean over rows of :math:`p(k \mid x_i)` is
:math:`p_k` where the likelihood is largest in :math:`\beta`. Newton's method, with a
:math:`K \times K` system a step.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import Matrix, Vector

__all__ = ["best_intercepts", "cell_probabilities"]

_EXACT = 1e-12  # the error of a share, relative to it, at which Newton's method ends
_STEPS = 50  # as good as no limit: each doubles the digits
_ROWS = 1 << 13  # rows worked on at a time: 8 MB for 128 cells
_LIFT = 1e-12  # of the trace, where the system is singular: cells that no row tells apart


def cell_probabilities(logs: Matrix, shares: Vector) -> Matrix:
    """Return the probabilities of cells whose ratios to the shares have given logarithms.

    Parameters
    ----------
    logs : array of shape (n, K)
        The logarithms, up to a constant a row; overwritten.
    shares : array of shape (K,)
        The shares of the cells.
    """
    logs += np.log(shares)
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs


def best_intercepts(
    tilts: Matrix,
    functions: Matrix,
    shares: Vector,
    weights: Vector,
    start: Vector | None = None,
) -> Vector:
    r"""Return the intercepts with which the mean probabilities are the shares.

    Parameters
    ----------
    tilts : array of shape (n, r)
        The coefficients :math:`W \Psi_X(x_i)` of the functions of Y at the rows.
    functions : array of shape (K, r)
        The functions of Y at the cells.
    shares : array of shape (K,)
        The shares of the cells.
    weights : array of shape (n,)
        The weights of the rows, with sum one.
    start : array of shape (K,), optional
        Where to start.
    """
    beta = np.zeros(len(shares)) if start is None else start - shares @ start
    best, least = beta, np.inf
    for _ in range(_STEPS):
        value, mean, second = _moments(tilts, functions, shares, weights, beta)
        error = float(np.max(np.abs(mean - shares) / shares))
        if error < least:
            best, least = beta, error
        if error <= _EXACT:
            break
        step = _solved(np.diag(mean) - second, shares - mean)
        step -= shares @ step
        slope, length = float((shares - mean) @ step), 1.0
        while length > _EXACT:
            new = beta + length * step
            found = _value(tilts, functions, shares, weights, new)
            if found <= value - 1e-4 * length * slope + 1e-14 * abs(value):
                break
            length /= 2
        if length <= _EXACT:
            break
        beta = new
    return best - shares @ best


def _parts(n: int) -> list[slice]:
    return [slice(i, i + _ROWS) for i in range(0, n, _ROWS)]


def _moments(
    tilts: Matrix, functions: Matrix, shares: Vector, weights: Vector, beta: Vector
) -> tuple[float, Vector, Matrix]:
    """Return the objective, the mean of the probabilities, and that of their products."""
    K = len(shares)
    value, mean, second = 0.0, np.zeros(K), np.zeros((K, K))
    for part in _parts(len(tilts)):
        logs = tilts[part] @ functions.T + (beta + np.log(shares))
        top = logs.max(axis=1, keepdims=True)
        np.exp(logs - top, out=logs)
        mass = logs.sum(axis=1)
        value += float(weights[part] @ (np.log(mass) + top[:, 0]))
        logs /= mass[:, None]
        mean += weights[part] @ logs
        second += (logs * weights[part, None]).T @ logs
    return value - float(shares @ beta), mean, second


def _value(
    tilts: Matrix, functions: Matrix, shares: Vector, weights: Vector, beta: Vector
) -> float:
    """Return the objective alone."""
    value = 0.0
    for part in _parts(len(tilts)):
        logs = tilts[part] @ functions.T + (beta + np.log(shares))
        top = logs.max(axis=1, keepdims=True)
        value += float(weights[part] @ (np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]))
    return value - float(shares @ beta)


def _solved(H: Matrix, g: Vector) -> Vector:
    """Return the step of a system that is singular along the constant."""
    H = H + np.full_like(H, np.trace(H) / H.size)
    lift = 0.0
    for _ in range(3):
        try:
            step: Vector = np.asarray(cho_solve(cho_factor(H + lift * np.eye(len(H))), g))
        except LinAlgError:
            lift = max(1e3 * lift, _LIFT * float(np.trace(H)))
        else:
            return step
    return g / np.maximum(np.diag(H), np.finfo(float).tiny)
