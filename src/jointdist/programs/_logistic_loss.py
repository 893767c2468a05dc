"""The logistic loss of two classes, and the symmetric softmax loss of several.

Each has two derivatives. The state of a row is what its second derivative follows from.
"""

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from jointdist._array import Matrix, Vector

__all__ = ["ClassLoss", "Codes", "SoftmaxLoss", "TwoClassLoss"]

Codes: TypeAlias = NDArray[np.intp]


class ClassLoss(Protocol):
    """A loss of scores ``f`` of shape (b, k), with two derivatives."""

    def __call__(self, f: Matrix, y: Codes) -> tuple[Vector, Matrix, Matrix]:
        """Return the losses, their gradients, and the states."""
        ...

    def bend(self, state: Matrix, f: Matrix) -> Matrix:
        """Return the second derivatives times ``f``."""
        ...

    def curvature(self, state: Matrix) -> Matrix:
        """Return the second derivatives in each score."""
        ...

    def total(self, state: Matrix, w: Vector) -> Matrix:
        """Return the sum of the second derivatives over the rows, of shape (k, k)."""
        ...


class TwoClassLoss:
    """The logistic loss; the state is its second derivative."""

    def __call__(self, f: Matrix, y: Codes) -> tuple[Vector, Matrix, Matrix]:
        sign = (1.0 - 2.0 * y)[:, None]
        against, towards = expit(sign * f), expit(-sign * f)
        losses = np.logaddexp(0.0, sign * f)[:, 0]
        return losses, sign * against, against * towards

    def bend(self, state: Matrix, f: Matrix) -> Matrix:
        return state * f

    def curvature(self, state: Matrix) -> Matrix:
        return state

    def total(self, state: Matrix, w: Vector) -> Matrix:
        return (w @ state)[:, None]


class SoftmaxLoss:
    """The symmetric softmax; the state is the probabilities."""

    def __call__(self, f: Matrix, y: Codes) -> tuple[Vector, Matrix, Matrix]:
        rows = np.arange(len(y))
        top, own = f.max(axis=1), f[rows, y]
        p = np.exp(f - top[:, None])
        others = p.copy()
        others[rows, y] = 0.0
        rest, sums = others.sum(axis=1), p.sum(axis=1)
        losses = np.where(own == top, np.log1p(rest), np.log(sums) + (top - own))
        others[rows, y] = -rest  # without the cancellation of p - 1
        return losses, others / sums[:, None], p / sums[:, None]

    def bend(self, state: Matrix, f: Matrix) -> Matrix:
        mean = np.einsum("ij,ij->i", state, f)
        product: Matrix = state * (f - mean[:, None])
        return product

    def curvature(self, state: Matrix) -> Matrix:
        return state * (1 - state)

    def total(self, state: Matrix, w: Vector) -> Matrix:
        weighted = w[:, None] * state
        return np.diag(weighted.sum(axis=0)) - weighted.T @ state
