r"""The intercepts of cells at which the marginal of Y is that of the sample.

For given log-ratios but for :math:`\beta`, the mean over rows of :math:`p(k \mid x_i)` is
:math:`p_k` where the likelihood is largest in :math:`\beta`. Newton's method, with a
:math:`K \times K` system a step.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import Matrix, Vector
from jointdist.data.executor import Executor

__all__ = ["best_intercepts", "cell_probabilities"]

_EXACT = 1e-12  # the error of a share, relative to it, at which Newton's method ends
_STEPS = 50  # as good as no limit: each doubles the digits
_ROWS = 1 << 12  # rows worked on at a time: 4 MB for 128 cells
_CURVED = 16  # parts of many rows that second derivatives are taken of: a time budget
_NEARLY = 1e-9  # the error below which it may not grow: that is rounding
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
        What the intercepts are multiplied by at each row, and the weight of its
        probabilities beside the marginal, from zero to one; by default one.
    """
    trust = np.ones(len(tilts)) if trust is None else trust
    if not weights @ trust > 0:  # all rows have the marginal
        return np.zeros(len(shares))
    dual = _Dual(tilts, functions, shares, weights, trust)
    beta = np.zeros(len(shares)) if start is None else start - shares @ start
    value, mean = dual.value(beta)
    best, least = beta, np.inf
    for _ in range(_STEPS):
        error = float(np.max(np.abs(mean - shares) / shares))
        if error >= least and least <= _NEARLY:  # as exact as rounding lets it be
            break
        best, least = (beta, error) if error < least else (best, least)
        if error <= _EXACT:
            break
        step = _solved(dual.curvature(beta), shares - mean)
        step -= shares @ step
        slope, length = float((shares - mean) @ step), 1.0
        while length > _EXACT:
            new = beta + length * step
            found, moved = dual.value(new)
            if found <= value - 1e-4 * length * slope + 1e-14 * abs(value):
                break
            length /= 2
        if length <= _EXACT:
            break
        beta, value, mean = new, found, moved
    return best - shares @ best


@dataclass(frozen=True, slots=True, eq=False)
class _Dual:
    r"""The convex function of the intercepts whose gradient is what the marginal misses.

    With the trust :math:`\tau_i` of rows it is :math:`\sum_i \omega_i (\log \sum_k p_k
    e^{\tau_i \beta_k + \dots} - \tau_i\, p \cdot \beta)` over :math:`\sum_i \omega_i \tau_i`.
    """

    tilts: Matrix
    functions: Matrix
    shares: Vector
    weights: Vector
    trust: Vector

    def value(self, beta: Vector) -> tuple[float, Vector]:
        """Return the value, and the mean of the probabilities."""

        def work(part: slice) -> tuple[float, Vector]:
            found, P = self._block(part, beta)
            return found, (self.weights[part] * self.trust[part]) @ P

        parts = [slice(i, i + _ROWS) for i in range(0, len(self.tilts), _ROWS)]
        each = list(Executor().each(work, parts))
        weight = float(self.weights @ self.trust)
        total = sum(value for value, _ in each) / weight - float(self.shares @ beta)
        return total, np.sum([mean for _, mean in each], axis=0) / weight

    def curvature(self, beta: Vector) -> Matrix:
        """Return the second derivatives, by some rows of many: they change steps alone."""
        n, K = len(self.tilts), len(self.shares)
        count = max(n // _ROWS, 1)
        every = max(count // _CURVED, 1)

        def work(start: int) -> tuple[float, Vector, Matrix]:
            part = slice(start, start + _ROWS)
            _, P = self._block(part, beta)
            w = self.weights[part] * self.trust[part]
            twice = w * self.trust[part]
            return float(w.sum()), twice @ P, (P * twice[:, None]).T @ P

        weight, own, second = 0.0, np.zeros(K), np.zeros((K, K))
        for each in Executor().each(work, range(0, n, _ROWS * every)):
            weight += each[0]
            own += each[1]
            second += each[2]
        found: Matrix = (np.diag(own) - second) / max(weight, np.finfo(float).tiny)
        return found

    def _block(self, part: slice, beta: Vector) -> tuple[float, Matrix]:
        """Return the sum of the logarithms of rows, and their probabilities."""
        logs = self.tilts[part] @ self.functions.T
        logs += np.multiply.outer(self.trust[part], beta) + np.log(self.shares)
        top = logs.max(axis=1, keepdims=True)
        np.exp(logs - top, out=logs)
        mass = logs.sum(axis=1)
        logs /= mass[:, None]
        return float(self.weights[part] @ (np.log(mass) + top[:, 0])), logs


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
