r"""The likelihood of a log-linear ratio and its slopes: a sum over row blocks, in four verbs.

``add`` sums a block of rows, ``combine`` adds the sums of two parts, ``finish`` divides by the
total weight and subtracts the shares of the cells. Blocks may lie on any device and in single
precision; sums are in double precision and in host memory.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import (
    Array,
    Matrix,
    Vector,
    array_namespace,
    exp,
    gather,
    like,
    to_numpy,
)

__all__ = ["CurvatureSums", "Evaluation", "LikelihoodSums"]


@dataclass(frozen=True, slots=True, eq=False)
class CurvatureSums:
    r"""What a pass over rows learns of second derivatives.

    Attributes
    ----------
    means : array of shape (r, r)
        The sum of :math:`\omega_i \mu(x_i) \mu(x_i)^\top`, of the means of the functions of Y.
    some : array of shape (s, K)
        The probabilities :math:`p(k \mid x_i)` of some rows.
    weights : array of shape (s,)
        The weights of these rows.
    """

    means: Matrix
    some: Matrix
    weights: Vector

    def plus(self, other: "CurvatureSums") -> "CurvatureSums":
        """Return the sums of the rows of both."""
        return CurvatureSums(
            self.means + other.means,
            np.concatenate([self.some, other.some]),
            np.concatenate([self.weights, other.weights]),
        )

    def over(self, weight: float) -> "CurvatureSums":
        """Return the sums, divided by a weight."""
        return CurvatureSums(self.means / weight, self.some, self.weights / weight)


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodSums:
    r"""What a pass over rows sums up.

    Attributes
    ----------
    value : float
        The negative log-likelihood of the ratio: the sum of :math:`\omega_i (a(x_i) -
        \eta_{k_i}(x_i))`.
    slope : array of shape (r, m)
        Its derivatives by :math:`W`.
    cells : array of shape (K,)
        The sums of the probabilities; when finished, the derivatives by :math:`\beta`.
    curvature : CurvatureSums, optional
        What second derivatives are made of, if it was asked for.
    """

    value: float
    slope: Matrix
    cells: Vector
    curvature: CurvatureSums | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    r"""The likelihood at coefficients: what is summed over rows.

    .. math:: \eta_k(x) = \Psi_Y(y_k)^\top W \Psi_X(x) + \beta_k, \qquad
       a(x) = \log \sum_k p_k e^{\eta_k(x)}

    Attributes
    ----------
    W : array of shape (r, m)
        The coefficients.
    beta : array of shape (K,)
        The intercepts of the cells.
    functions : array of shape (K, r)
        The functions of Y at the cells.
    shares : array of shape (K,)
        The shares :math:`p` of the cells.
    every : int, default=0
        Of so many rows one is taken for the second derivatives by intercepts; with zero, none
        are summed.
    """

    W: Matrix
    beta: Vector
    functions: Matrix
    shares: Vector
    every: int = 0

    def zero(self) -> LikelihoodSums:
        """Return the sums of no rows."""
        r, K = len(self.W), len(self.beta)
        curvature = CurvatureSums(np.zeros((r, r)), np.zeros((0, K)), np.zeros(0))
        return LikelihoodSums(
            0.0,
            np.zeros_like(self.W),
            np.zeros_like(self.beta),
            curvature if self.every else None,
        )

    def add(self, F: Array, cells: Array, weights: Array, start: int = 0) -> LikelihoodSums:
        """Return the sums of a block of rows.

        Parameters
        ----------
        F : Array of shape (b, m)
            Their functions of X, in the precision and on the device to compute with.
        cells : Array of int, of shape (b,)
            The cell of the outcome of each, on the same device.
        weights : Array of shape (b,)
            Their weights, in float64 on the same device.
        start : int, default=0
            The number of the first row, among all rows.
        """
        xp, dtype = array_namespace(F), F.dtype

        def near(values: Matrix) -> Array:
            return xp.astype(like(values, F), dtype, copy=False)

        functions, beta = near(self.functions), near(self.beta)
        w = xp.astype(weights, dtype, copy=False)
        observed = gather(functions, cells).T
        T = near(self.W) @ F.T  # rows become columns: sums over cells are fast
        E = functions @ T
        E += near(np.log(self.shares) + self.beta)[:, None]
        top = xp.max(E, axis=0)
        E -= top[None, :]
        E = exp(E)
        mass = xp.sum(E, axis=0)
        losses = top + xp.log(mass) - xp.sum(T * observed, axis=0) - gather(beta, cells)
        means = (functions.T @ E) / mass[None, :]
        curvature = None
        if self.every:
            some = slice(-start % self.every, None, self.every)
            P = E[:, some] / mass[None, some]
            squares = (means * w[None, :]) @ means.T
            curvature = CurvatureSums(
                _doubled(squares), _doubled(P.T), to_numpy(weights[some])
            )
        means -= observed
        means *= w[None, :]
        return LikelihoodSums(
            float(xp.sum(xp.astype(losses, xp.float64, copy=False) * weights)),
            _doubled(means @ F),
            _doubled(E @ (w / mass)),
            curvature,
        )

    @staticmethod
    def combine(a: LikelihoodSums, b: LikelihoodSums) -> LikelihoodSums:
        """Return the sums of the rows of both; those of ``a`` are lost."""
        a.slope.__iadd__(b.slope)
        a.cells.__iadd__(b.cells)
        curvature = a.curvature and b.curvature and a.curvature.plus(b.curvature)
        return LikelihoodSums(a.value + b.value, a.slope, a.cells, curvature)

    def finish(self, sums: LikelihoodSums, weight: float, ridge: float) -> LikelihoodSums:
        r"""Return the means over rows, plus the penalty :math:`\lambda |W|^2 / 2`.

        Parameters
        ----------
        sums : LikelihoodSums
            The combined sums of all blocks.
        weight : float
            The total weight of the rows.
        ridge : float
            The ridge :math:`\lambda`.
        """
        penalty = ridge / 2 * float(np.sum(self.W * self.W))
        return LikelihoodSums(
            sums.value / weight + penalty,
            sums.slope / weight + ridge * self.W,
            sums.cells / weight - self.shares,
            sums.curvature and sums.curvature.over(weight),
        )


def _doubled(values: Array) -> Vector:
    """Return an array in double precision and host memory."""
    found: Vector = to_numpy(values).astype(np.float64, copy=False)
    return found
