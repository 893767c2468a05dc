r"""The logistic losses of many rows, and what a pass over them finds.

With the loss of two classes, or the symmetric softmax of several, and a ridge on all
coefficients but the intercepts.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Matrix, Vector
from jointdist.programs._logistic_loss import ClassLoss, Codes, SoftmaxLoss, TwoClassLoss
from jointdist.programs.feature_blocks import Blocks

__all__ = ["Likelihood", "Point"]

_LARGE = 1 << 24  # numbers in the matrices of all classes together: 128 MiB


class Point(NamedTuple):
    """Coefficients, and what a pass over the rows finds there."""

    C: Matrix
    value: float
    gradient: Matrix
    state: Matrix  # of each row, from which its second derivatives follow
    trace: float  # of the second derivatives in the intercepts
    inverse: Matrix  # of the same, a pseudoinverse


class Likelihood:
    """The objective, its gradient and second derivatives, in passes over the rows."""

    def __init__(
        self,
        blocks: Blocks,
        codes: Codes,
        weights: Vector | None,
        classes: int,
        ridge: float,
    ) -> None:
        weights = np.ones(blocks.n) if weights is None else weights
        self.unit = float(weights.max())  # of the objective, so that no square overflows
        self.blocks, self.codes, self.ridge = blocks, codes, ridge / self.unit
        self.weights = weights / self.unit
        self.loss: ClassLoss = TwoClassLoss() if classes == 2 else SoftmaxLoss()
        self.k = 1 if classes == 2 else classes
        self.penalty = np.r_[
            np.full(blocks.m, self.ridge), np.zeros(blocks.width - blocks.m)
        ]

    def prior(self) -> Vector:
        """Return the best intercepts where there are no features."""
        logs = np.log(np.bincount(self.codes, self.weights))
        odds: Vector = logs[1:] - logs[0] if self.k == 1 else logs - logs.mean()
        return odds

    def centred(self, C: Matrix) -> Matrix:
        """Return coefficients of several classes without their mean, which says nothing."""
        return C if self.k == 1 else C - C.mean(axis=0)

    def at(self, C: Matrix) -> Point:
        """Evaluate objective and gradient, in one pass."""
        state = np.empty((self.blocks.n, self.k))

        def task(rows: slice, F: Matrix) -> tuple[float, Matrix, Matrix]:
            w = self.weights[rows]
            losses, slopes, state[rows] = self.loss(F @ C.T, self.codes[rows])
            total = self.loss.total(state[rows], w)
            return float(w @ losses), (w[:, None] * slopes).T @ F, total

        value, gradient = float(np.sum(self.penalty * C * C)), 2 * self.penalty * C
        total = np.zeros((self.k, self.k))
        for part, slope, bend in self.blocks.each(task):
            value += part
            gradient += slope
            total += bend
        trace = float(np.trace(total))
        inverse = np.asarray(np.linalg.pinv(total, 0.0, hermitian=True), dtype=np.float64)
        return Point(C, value, gradient, state, trace, inverse)

    def times(self, point: Point, C: Matrix) -> Matrix:
        """Return the second derivatives times ``C``, in one pass."""

        def task(rows: slice, F: Matrix) -> Matrix:
            bent = self.loss.bend(point.state[rows], F @ C.T)
            product: Matrix = (self.weights[rows, None] * bent).T @ F
            return product

        return sum(self.blocks.each(task), 2 * self.penalty * C)

    def curvature(self, point: Point, dtype: str) -> NDArray[np.float64]:
        r"""Return :math:`F^\top \operatorname{diag}(w v) F + 2 \lambda`, in one pass.

        For each score, or for all of them if they are many.
        """
        many = self.k * self.blocks.width**2 > _LARGE

        def task(rows: slice, F: Matrix) -> NDArray[Any]:
            v = self.loss.curvature(point.state[rows])
            v = v.mean(axis=1, keepdims=True) if many else v
            scales = np.sqrt(self.weights[rows, None] * v).astype(dtype).T
            F = F.astype(dtype, copy=False)
            scaled = (scale[:, None] * F for scale in scales)
            return np.stack([S.T @ S for S in scaled])

        return sum(self.blocks.each(task), 2 * np.diag(self.penalty)[None])

    def gap(self, point: Point, gradient: Matrix | None = None) -> float:
        r"""Return by how much the objective may exceed the optimum, relative to it.

        By weak duality. Without intercept the probabilities are a dual point, and leave
        :math:`|g_c|^2 / 4 \lambda`. With one they must reproduce the weight of each class,
        and do so after a small step :math:`s` in the intercepts to first order, which
        costs at most :math:`g_b^\top s` in entropy and moves :math:`g_c` by no more than
        :math:`\max |F_i|` times the width of :math:`s` times the trace of the second
        derivatives.
        """
        g = point.gradient if gradient is None else gradient
        m, lost, moved = self.blocks.m, 0.0, 0.0
        if self.blocks.intercept:
            s = self.centred(point.inverse @ g[:, -1])
            width = float(max(s.max(), 0.0) - min(s.min(), 0.0))
            if width > 1:
                return math.inf  # the step would leave the probabilities
            lost = max(float(g[:, -1] @ s), 0.0)
            moved = self.blocks.reach * width * point.trace
        slope = float(np.linalg.norm(g[:, :m])) + moved
        return (slope**2 / (4 * self.ridge) + lost) / point.value
