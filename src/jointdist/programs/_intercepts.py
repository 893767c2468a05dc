r"""The intercepts of cells at which the marginal of Y is that of the sample.

For given log-ratios but for :math:`\beta`, the mean over rows of :math:`p(k \mid x_i)` is
:math:`p_k` where the likelihood is largest in :math:`\beta`. Newton's method, with a
:math:`K \times K` system a step.
"""

from dataclasses import dataclass

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
    *,
    trust: Vector | None = None,
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
    trust : array of shape (n,), optional
        What the intercepts are multiplied by at each row, from zero to one; by default one.
    """
    dual = _Dual(tilts, functions, shares, weights, trust)
    beta = np.zeros(len(shares)) if start is None else start - shares @ start
    best, least = beta, np.inf
    for _ in range(_STEPS):
        value, mean, H = dual.moments(beta)
        error = float(np.max(np.abs(mean - shares) / shares))
        if error < least:
            best, least = beta, error
        if error <= _EXACT:
            break
        step = _solved(H, shares - mean)
        step -= shares @ step
        slope, length = float((shares - mean) @ step), 1.0
        while length > _EXACT:
            new = beta + length * step
            if dual.value(new) <= value - 1e-4 * length * slope + 1e-14 * abs(value):
                break
            length /= 2
        if length <= _EXACT:
            break
        beta = new
    return best - shares @ best


@dataclass(frozen=True, slots=True, eq=False)
class _Dual:
    r"""The convex function of the intercepts whose gradient is what the marginal misses.

    With the trust :math:`\tau_i` of rows it is :math:`\sum_i \omega_i \log \sum_k p_k
    e^{\tau_i \beta_k + \dots} / \tau_i - p \cdot \beta`.
    """

    tilts: Matrix
    functions: Matrix
    shares: Vector
    weights: Vector
    trust: Vector | None

    def moments(self, beta: Vector) -> tuple[float, Vector, Matrix]:
        """Return the value, the mean of the probabilities, and the second derivatives."""
        K = len(self.shares)
        value, mean, own, second = 0.0, np.zeros(K), np.zeros(K), np.zeros((K, K))
        for part in self._parts():
            found, P, trust = self._block(part, beta)
            w = self.weights[part]
            value += found
            mean += w @ P
            own += (w * trust) @ P
            second += (P * (w * trust)[:, None]).T @ P
        return value - float(self.shares @ beta), mean, np.diag(own) - second

    def value(self, beta: Vector) -> float:
        """Return the value alone."""
        total = sum(self._block(part, beta)[0] for part in self._parts())
        return total - float(self.shares @ beta)

    def _parts(self) -> list[slice]:
        return [slice(i, i + _ROWS) for i in range(0, len(self.tilts), _ROWS)]

    def _block(self, part: slice, beta: Vector) -> tuple[float, Matrix, Vector]:
        """Return the value of rows, their probabilities, and their trust."""
        trust = np.ones(len(self.tilts[part])) if self.trust is None else self.trust[part]
        logs = self.tilts[part] @ self.functions.T
        logs += np.multiply.outer(trust, beta) + np.log(self.shares)
        top = logs.max(axis=1, keepdims=True)
        np.exp(logs - top, out=logs)
        mass = logs.sum(axis=1)
        logs /= mass[:, None]
        none = trust <= 0  # these are the marginal
        log_sums = np.log(mass) + top[:, 0]
        each = np.where(none, self.shares @ beta, log_sums / np.where(none, 1.0, trust))
        return float(self.weights[part] @ each), logs, trust


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
