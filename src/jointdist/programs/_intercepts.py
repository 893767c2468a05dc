r"""The intercepts of cells at which the marginal of Y is that of the sample.

For given log-ratios but for :math:`\beta`, the mean over rows of :math:`p(k \mid x_i)` is
:math:`p_k` where the likelihood is largest in :math:`\beta`. Newton's method, with a
:math:`K \times K` system a step. Where rows are so sure of their cells that second derivatives
vanish, steps are bounded, by a bound that grows while whole steps succeed: intercepts of tiny
shares may be in the thousands. Rows are worked on wherever they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from jointdist._array import (
    Array,
    Matrix,
    Vector,
    array_namespace,
    exp,
    is_numpy_array,
    like,
    to_numpy,
)
from jointdist.data.executor import Executor

__all__ = ["Intercepts", "TiltedRows", "best_intercepts", "cell_probabilities"]

_EXACT = 1e-12  # the error of a share, relative to it, at which Newton's method ends
_STEPS = 200  # as good as no limit: near the end each doubles the digits
# What the first step may add to an intercept whose second derivative vanishes: a factor of e^32
# in its probability is nearly that between none and all. The bound then grows or shrinks so.
_FARTHEST, _FARTHER = 32.0, 4.0
_ROWS = 1 << 12  # rows worked on at a time: 4 MB for 128 cells
_DEVICE_ROWS = 1 << 18  # the same on an accelerator: 0.4 GB for 200 cells
_CURVED = 16  # parts of many rows that second derivatives are taken of: a time budget
_NEARLY = 1e-9  # the error below which it may not grow: that is rounding
_LIFT = (
    1e-12  # of the diagonal, where the system is singular: cells that no row tells apart
)


class Intercepts(NamedTuple):
    """Intercepts, and how exact the marginal of Y is with them.

    Attributes
    ----------
    values : array of shape (K,)
        The intercepts.
    error : float
        The largest error of a share, relative to it.
    """

    values: Vector
    error: float


class TiltedRows(NamedTuple):
    r"""Some rows of X, on any device.

    Attributes
    ----------
    tilts : Array of shape (b, r)
        The coefficients :math:`W \Psi_X(x_i)` of the functions of Y at the rows.
    weights : Array of shape (b,)
        The weights of the rows.
    trust : Array of shape (b,), optional
        What the intercepts are multiplied by at each row, and the weight of its
        probabilities beside the marginal, from zero to one; by default one.
    """

    tilts: Array
    weights: Array
    trust: Array | None = None

    def split(self) -> "Iterable[TiltedRows]":
        """Yield parts that are worked on at a time."""
        step = _ROWS if is_numpy_array(self.tilts) else _DEVICE_ROWS
        count = self.tilts.shape[0]
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            trust = None if self.trust is None else self.trust[part]
            yield TiltedRows(self.tilts[part, :], self.weights[part], trust)

    @property
    def counted(self) -> Array:
        """The weights of the probabilities: those of the rows times their trust."""
        return self.weights if self.trust is None else self.weights * self.trust


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
    rows: Iterable[TiltedRows],
    functions: Matrix,
    shares: Vector,
    start: Vector | None = None,
) -> Intercepts:
    r"""Return the intercepts with which the mean probabilities are the shares.

    Parameters
    ----------
    rows : iterable of TiltedRows
        All rows, in parts.
    functions : array of shape (K, r)
        The functions of Y at the cells.
    shares : array of shape (K,)
        The shares of the cells.
    start : array of shape (K,), optional
        Where to start.
    """
    parts = [part for each in rows for part in each.split()]
    counted = [float(array_namespace(w).sum(w)) for w in (part.counted for part in parts)]
    if not sum(counted) > 0:  # all rows have the marginal
        return Intercepts(np.zeros(len(shares)), 0.0)
    dual = _Dual(parts, sum(counted), functions, shares)
    beta = np.zeros(len(shares)) if start is None else start - shares @ start
    value, mean = dual.value(beta)
    best, least, farthest = beta, np.inf, _FARTHEST
    for _ in range(_STEPS):
        error = float(np.max(np.abs(mean - shares) / shares))
        if error >= least and least <= _NEARLY:  # as exact as rounding lets it be
            break
        best, least = beta, error
        if error <= _EXACT:
            break
        step = _solved(dual.curvature(beta), shares - mean, farthest)
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
        farthest *= _FARTHER if length == 1 else 1 / _FARTHER
        beta, value, mean = new, found, moved
    return Intercepts(best - shares @ best, least)


@dataclass(frozen=True, slots=True, eq=False)
class _Dual:
    r"""The convex function of the intercepts whose gradient is what the marginal misses.

    With the trust :math:`\tau_i` of rows it is :math:`\sum_i \omega_i (\log \sum_k p_k
    e^{\tau_i \beta_k + \dots} - \tau_i\, p \cdot \beta)` over :math:`\sum_i \omega_i \tau_i`.

    Attributes
    ----------
    parts : sequence of TiltedRows
        The rows.
    weight : float
        The sum of their weights times their trust.
    functions, shares
        As for :func:`best_intercepts`.
    """

    parts: Sequence[TiltedRows]
    weight: float
    functions: Matrix
    shares: Vector

    @property
    def _executor(self) -> Executor:
        """Many threads in host memory; one keeps an accelerator busy."""
        return Executor(workers=None if is_numpy_array(self.parts[0].tilts) else 1)

    def value(self, beta: Vector) -> tuple[float, Vector]:
        """Return the value, and the mean of the probabilities."""

        def work(part: TiltedRows) -> tuple[float, Vector]:
            found, P = self._block(part, beta)
            return found, to_numpy(part.counted @ P)

        each = list(self._executor.each(work, self.parts))
        total = sum(value for value, _ in each) / self.weight - float(self.shares @ beta)
        return total, np.sum([mean for _, mean in each], axis=0) / self.weight

    def curvature(self, beta: Vector) -> Matrix:
        """Return the second derivatives, by some rows of many: they change steps alone."""
        K, every = len(self.shares), max(len(self.parts) // _CURVED, 1)

        def work(part: TiltedRows) -> tuple[float, Vector, Matrix]:
            _, P = self._block(part, beta)
            w = part.counted
            twice = w if part.trust is None else w * part.trust
            own, second = twice @ P, (P * twice[:, None]).T @ P
            return float(array_namespace(w).sum(w)), to_numpy(own), to_numpy(second)

        weight, own, second = 0.0, np.zeros(K), np.zeros((K, K))
        for each in self._executor.each(work, self.parts[::every]):
            weight += each[0]
            own += each[1]
            second += each[2]
        found: Matrix = (np.diag(own) - second) / max(weight, np.finfo(float).tiny)
        return found

    def _block(self, part: TiltedRows, beta: Vector) -> tuple[float, Array]:
        """Return the sum of the logarithms of rows, and their probabilities."""
        xp, T = array_namespace(part.tilts), part.tilts
        logs = T @ like(self.functions.T, T)
        if part.trust is None:
            logs += like(np.log(self.shares) + beta, T)[None, :]
        else:
            logs += part.trust[:, None] * like(beta, T)[None, :]
            logs += like(np.log(self.shares), T)[None, :]
        top = xp.max(logs, axis=1)
        logs -= top[:, None]
        logs = exp(logs)
        mass = xp.sum(logs, axis=1)
        logs /= mass[:, None]
        return float(xp.sum(part.weights * (xp.log(mass) + top))), logs


def _solved(H: Matrix, g: Vector, farthest: float) -> Vector:
    """Return the step of a system that is singular along the constant.

    Its diagonal is raised where an intercept alone would move farther than it may.
    """
    D = np.maximum(np.diag(H), np.abs(g) / farthest + np.finfo(float).tiny)
    unit = 1 / np.sqrt(D)
    S = H * np.multiply.outer(unit, unit)
    constant = 1 / unit
    constant /= np.sqrt(constant @ constant)
    S += np.multiply.outer(constant, constant)
    lift = _LIFT
    np.fill_diagonal(S, 1 + constant * constant)
    for _ in range(4):
        try:
            factor = cho_factor(S + lift * np.eye(len(S)))
        except LinAlgError:
            lift *= 1e3
        else:
            return np.asarray(unit * cho_solve(factor, unit * g))
    return g / D
