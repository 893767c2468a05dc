r"""The diagonal quadratic that all programs minimise, and its closed form.

In the double-orthogonal basis the regularised objective of Eq. `optgenClowR` is

.. math:: \tilde R_\lambda(H) = \sum_{ij} a_{ij} H_{ij}^2 - 2 \sum_{ij} b_{ij} H_{ij},
    \qquad a_{ij} = c_{Y,i} c_{X,j} + \lambda_i,

with the eigenvalues :math:`c = \Lambda / n` of the sample's second moments, and one ridge
:math:`\lambda` for all functions of Y, as in the paper, or one for each. It is minimised
element by element, and every :math:`\lambda` of a path costs one division.
"""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._cached import cached
from jointdist.programs.solution import Certificate, Solution

__all__ = ["Objective", "closed_form"]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Objective:
    r"""The objective, and the normalisation if there is one.

    Attributes
    ----------
    b : array of shape (m_Y, m_X)
        The linear term: the covariance of the basis functions under the sample.
    c_y, c_x : arrays of shape (m_Y,) and (m_X,)
        The eigenvalues :math:`c = \Lambda / n`, not negative.
    regularization : float or array of shape (m_Y,)
        The ridge :math:`\lambda`, not negative: one, or one for each function of Y. The
        coefficients of a function whose ridge is infinite are zero.
    mean_y, mean_x : arrays of shape (m_Y,) and (m_X,), optional
        The means of the basis functions over the sample. If given, the normalisation
        :math:`\langle e, H \rangle = 0` with :math:`e = \bar\Psi_Y \bar\Psi_X^\top` is
        imposed, Eq. `eq:normatilde`; if not, there is none.
    """

    b: Matrix
    c_y: Vector
    c_x: Vector
    regularization: float | Vector
    mean_y: Vector | None = None
    mean_x: Vector | None = None

    @cached
    def a(self) -> Matrix:
        r"""The quadratic term :math:`a = c_Y c_X^\top + \lambda`.

        Zero, like the coefficients, where the ridge is infinite.
        """
        free = np.isfinite(self._ridges)
        a = np.multiply.outer(self.c_y, self.c_x) + np.where(free, self._ridges, 0.0)
        return np.where(free, a, 0.0)

    @cached
    def inverse(self) -> Matrix:
        r"""The element-wise :math:`1 / a`, and zero where :math:`a` is.

        Without a ridge, products of functions that vanish on the sample are left out:
        their coefficients are zero, as in the limit of a small ridge.
        """
        a = self.a
        rounding = a.max(initial=0.0) * max(a.shape) * _EPS
        kept = a > np.where(self._ridges == 0, rounding, 0.0)
        return np.divide(1.0, a, out=np.zeros_like(a), where=kept)

    @property
    def _ridges(self) -> Matrix:
        """The ridges as a column."""
        return np.reshape(np.asarray(self.regularization, dtype=np.float64), (-1, 1))

    @cached
    def e(self) -> Matrix | None:
        """The direction of the normalisation with norm one; None if there is none."""
        if self.mean_y is None or self.mean_x is None:
            return None
        sides = (self.mean_y, self.c_y), (self.mean_x, self.c_x)
        unit = []
        for mean, c in sides:
            size = float(np.linalg.norm(mean))
            if size <= 1e-10 * np.sqrt(c.sum()):  # centred functions, but for rounding
                return None
            unit.append(mean / size)
        return np.multiply.outer(*unit)

    def __call__(self, H: Matrix) -> float:
        """Return the objective at given coefficients."""
        return float(np.sum((self.a * H - 2 * self.b) * H))

    def at(self, regularization: float | Vector) -> "Objective":
        """Return the objective with another ridge, for a path."""
        return replace(self, regularization=regularization)

    def normalised(self, H: Matrix) -> Matrix:
        r"""Return the nearest coefficients that are normalised, in the metric of ``a``.

        :math:`H - \mu e / a` with :math:`\mu = \langle e, H \rangle / \langle e, e / a
        \rangle`: the unconstrained optimum becomes the normalised one.
        """
        if self.e is None:
            return H
        for _ in range(2):  # the second takes off what rounding has left
            H = H - self.multiplier(H) * self.e * self.inverse
        return H

    def multiplier(self, H: Matrix) -> float:
        r"""Return the :math:`\mu` that :meth:`normalised` takes off."""
        if self.e is None:
            return 0.0
        size = float(np.sum(self.e * self.e * self.inverse))
        return float(np.sum(self.e * H)) / size if size > 0 else 0.0


def closed_form(objective: Objective) -> Solution:
    r"""Minimise without positivity: :math:`H = (b - \mu e) / a`.

    Parameters
    ----------
    objective : Objective
        The objective, with or without normalisation.

    Returns
    -------
    Solution
        With the multiplier ``"normalisation"`` if there is one. Exact up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs import Objective, closed_form
    >>> objective = Objective(np.array([[0.3]]), np.ones(1), np.ones(1), 0.5)
    >>> closed_form(objective).value
    array([[0.2]])
    """
    H = objective.b * objective.inverse
    mu = objective.multiplier(H)
    H = objective.normalised(H)
    kept = objective.inverse > 0
    residual = objective.a * H - objective.b
    off = 0.0
    if objective.e is not None:
        residual = residual + mu * objective.e
        off = abs(float(np.sum(objective.e * H))) / max(float(np.abs(H).sum()), 1.0)
    size = max(float(np.abs(objective.b).max(initial=0.0)), np.finfo(float).tiny)
    stationarity = float(np.abs(residual[kept]).max(initial=0.0)) / size
    multipliers = {} if objective.e is None else {"normalisation": mu}
    return Solution(
        H,
        objective(H),
        certificate=Certificate(stationarity=stationarity, feasibility=off),
        multipliers=multipliers,
    )
