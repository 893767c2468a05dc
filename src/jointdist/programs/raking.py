r"""Raking: factors of the rows and columns of a matrix that give it both margins.

Iterative proportional fitting looks for :math:`q_{ik} = a_i P_{ik} b_k` with given row sums
:math:`w` and column sums :math:`v`. The logarithms :math:`g` of the column factors minimise the
convex function :math:`\sum_i w_i \log \sum_k P_{ik} e^{g_k} - \sum_k v_k g_k`, whose gradient is
the error of the column sums when those of the rows are met. Proportional fitting descends it one
side after the other, slowly where each row has few large numbers; Newton's method needs a few
steps, each solved by conjugate gradients in products with the matrix. All is in logarithms, as
factors may be larger than numbers of double precision.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jointdist._array import Matrix, Vector

__all__ = ["Raking", "rake"]

_FITTED = 5  # sweeps of proportional fitting before the first step of Newton's method
_STEPS = 100  # of both kinds, at most: half a minute for 4,096 x 512
_CONJUGATE = 200  # products with the matrix in a step, at most: a second for 4,096 x 512
_FARTHEST = 4.0  # by how much a logarithm moves in a step, at most
_HALVED = 4  # times that a step is halved before a sweep takes its place
_ROUNDING = 1e-14  # of the convex function, relative to its size: sums of thousands
_TINY = float(np.finfo(np.float64).tiny)


class Raking(NamedTuple):
    """Logarithms of the factors of rows and columns, with their certificate.

    Attributes
    ----------
    rows : array of shape (n,)
        The logarithms of the factors of the rows.
    columns : array of shape (K,)
        Those of the columns.
    error : float
        The largest relative error of a column sum; the row sums are exact.
    """

    rows: Vector
    columns: Vector
    error: float


def rake(logs: Matrix, rows: Vector, columns: Vector, *, tol: float = 1e-11) -> Raking:
    """Return factors of rows and columns that give a matrix both margins.

    Parameters
    ----------
    logs : array of shape (n, K)
        The logarithms of the numbers of the matrix. Minus infinity is a zero; no row has zeros
        alone.
    rows : array of shape (n,)
        The sums of the rows, positive.
    columns : array of shape (K,)
        The sums of the columns, positive, of the same total.
    tol : float, default=1e-11
        The relative error of a column sum that is small enough.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.raking import rake
    >>> P = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> found = rake(np.log(P), np.array([0.8, 0.2]), np.array([0.5, 0.5]))
    >>> joint = np.exp(found.rows)[:, None] * P * np.exp(found.columns)
    >>> joint.sum(axis=0).round(9), joint.sum(axis=1).round(9)
    (array([0.5, 0.5]), array([0.8, 0.2]))
    """
    problem = _Problem(logs, rows, columns)
    fit = problem.at(np.log(columns))
    best, least = fit, np.inf
    for step in range(_STEPS):
        error = float(np.abs(fit.margin / columns - 1).max())
        if error < least:
            best, least = fit, error
        if error <= tol:
            break
        newton = problem.stepped(fit) if step >= _FITTED else None
        fit = problem.swept(fit) if newton is None else newton
    return Raking(np.log(rows) - best.sums, best.g, least)


class _Fit(NamedTuple):
    """The state at logarithms of column factors.

    Attributes
    ----------
    g : array of shape (K,)
        The logarithms.
    sums : array of shape (n,)
        The logarithms of the sums of the rows times the column factors.
    parts : array of shape (n, K)
        The share of each number in the sum of its row.
    margin : array of shape (K,)
        The sums of the columns when those of the rows are met.
    value : float
        The convex function.
    """

    g: Vector
    sums: Vector
    parts: Matrix
    margin: Vector
    value: float


class _Problem(NamedTuple):
    """The logarithms of a matrix, and the margins that it is to have."""

    logs: Matrix
    w: Vector
    v: Vector

    def at(self, g: Vector) -> _Fit:
        """Return the state at logarithms of column factors."""
        parts = self.logs + g
        top = parts.max(axis=1)
        parts -= top[:, None]
        np.exp(parts, out=parts)
        total = parts.sum(axis=1)
        parts /= total[:, None]
        sums = top + np.log(total)
        value = float(self.w @ sums - self.v @ g)
        return _Fit(g, sums, parts, self.w @ parts, value)

    def swept(self, fit: _Fit) -> _Fit:
        """Return the state after a sweep of proportional fitting."""
        return self.at(fit.g + np.log(self.v / np.maximum(fit.margin, _TINY)))

    def stepped(self, fit: _Fit) -> _Fit | None:
        """Return the state after a step of Newton's method; None if it does not descend."""

        def curvature(p: Vector) -> Vector:
            found: Vector = fit.margin * p - (self.w * (fit.parts @ p)) @ fit.parts
            return found

        step = _conjugate(curvature, self.v - fit.margin, fit.margin)
        step *= _FARTHEST / max(float(np.abs(step).max()), _FARTHEST)
        allowed = fit.value + _ROUNDING * (abs(fit.value) + 1)
        for _ in range(_HALVED):
            found = self.at(fit.g + step)
            if found.value <= allowed:
                return found
            step /= 2
        return None


def _conjugate(
    product: Callable[[Vector], Vector], right: Vector, diagonal: Vector
) -> Vector:
    """Return a solution by conjugate gradients, the closer the smaller the right side is."""
    diagonal = np.maximum(diagonal, _TINY)
    x, r = np.zeros_like(right), right.copy()
    z = r / diagonal
    p, size = z, float(r @ z)
    enough = size * min(size, 1e-4)  # of squares: steps converge quadratically
    for _ in range(_CONJUGATE):
        if size <= enough:
            break
        turned = product(p)
        bend = float(p @ turned)
        if bend <= 0:  # by rounding
            break
        x += size / bend * p
        r -= size / bend * turned
        z = r / diagonal
        before, size = size, float(r @ z)
        p = z + size / before * p
    return x
