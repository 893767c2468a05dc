r"""Ridge regression in the basis of a low-rank kernel, with its leave-one-out residuals.

In the centred basis :math:`\Psi` of X, orthogonal over the sample with sums of squares
:math:`\Lambda`, the regression of a target :math:`t` with ridge :math:`\rho` is

.. math:: f(x) = \bar t + \sum_j \Psi_j(x) \frac{\sum_i w_i \Psi_j(x_i) t_i}
    {\Lambda_j + n \rho},

and the leave-one-out residual of row i, in the same basis, is
:math:`(t_i - f(x_i)) / (1 - h_i)` with the leverage :math:`h_i = w_i (1/n + \sum_j
\Psi_j(x_i)^2 / (\Lambda_j + n \rho))`. A path of ridges needs the moments of the sample
and one pass over its rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from jointdist._array import Array, Vector, like, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Polynomial
from jointdist.lowrank.basis import Basis, host_features, side_basis
from jointdist.lowrank.factor import LowRank
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.summation import collect

__all__ = [
    "RidgeRegression",
    "leave_one_out_residuals",
    "ridge_regression",
    "tried_ridges",
]

# The ridges that are tried, in units of the kernel's mean diagonal: from 10, where nothing is
# left to fit, in half decades down to 1e-7 over the number of rows, near interpolation.
_LARGEST_RIDGE, _RIDGE_STEP, _SMALLEST_RIDGE_TIMES_N = 10.0, 10.0**-0.5, 1e-7
# A row's leverage is at most this: a lower cap would make interpolation look perfect, and
# without one rounding could make it one, or more.
_LEVERAGE = 1 - 1e-12


@dataclass(frozen=True, eq=False)
class RidgeRegression:
    r"""Regressions of several targets, with any ridge.

    Attributes
    ----------
    basis : Basis
        The functions :math:`\Psi`, centred.
    weight : float
        The sum :math:`n` of the weights.
    mean : array of shape (r,)
        The means of the targets.
    products : array of shape (m, r)
        The sums of weights times functions times targets.
    unit : float
        The mean diagonal of the kernel, a unit of ridges.
    """

    basis: Basis
    weight: float
    mean: Vector
    products: Vector
    unit: float

    def predict(self, x: Rows, ridge: Vector, executor: Executor | None = None) -> Vector:
        """Return the regressions at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows.
        ridge : array of shape (r,)
            The ridge of each target.
        executor : Executor, optional
            Runs the row blocks.
        """
        slopes = self.products * self._shrunk(ridge)

        def block(_start: int, z: Array) -> Vector:
            found: Vector = self.mean + host_features(self.basis, z) @ slopes
            return found

        return np.concatenate(list(executor_for(x, executor).map(block, x)))

    def expansion(self, ridge: Vector) -> tuple[Vector, Vector]:
        r"""Return the regressions in terms of the kernel: :math:`f(x) = c + k(x, P) B`.

        With the core :math:`C` and the rotation :math:`V` of the basis, :math:`B` solves
        :math:`C^\top B = V a` for the slopes :math:`a` of the functions :math:`\Psi`.

        Parameters
        ----------
        ridge : array of shape (r,)
            The ridge of each target.

        Returns
        -------
        tuple of arrays of shapes (r,) and (m, r)
            The constants :math:`c`, and the coefficients :math:`B` at the landmarks.
        """
        slopes = to_numpy(self.basis.rotation) @ (self.products * self._shrunk(ridge))
        core: Vector = to_numpy(self.basis.map.core)
        at_landmarks = np.asarray(solve_triangular(core, slopes, lower=True, trans=1))
        constant: Vector = self.mean - to_numpy(self.basis.mean) @ slopes
        return constant, at_landmarks

    def errors(
        self,
        x: Rows,
        targets: Vector,
        weights: Vector | None,
        ridges: Vector,
        executor: Executor | None = None,
    ) -> Vector:
        """Return the mean squared leave-one-out residuals of a path of ridges, ``(l, r)``.

        Parameters
        ----------
        x : Rows
            The rows that it was fitted to.
        targets : array of shape (n, r)
            The targets.
        weights : array of shape (n,), optional
            The weights of the rows.
        ridges : array of shape (l,)
            The ridges, the same for all targets.
        executor : Executor, optional
            Runs the row blocks.
        """
        paths = np.repeat(ridges[:, None], targets.shape[1], axis=1)

        def squares(left: Vector, w: Vector) -> Vector:
            found: Vector = np.einsum("b,blr->lr", w, left * left)
            return found

        parts = self._leave_one_out(x, targets, weights, paths, squares, executor)
        total: Vector = np.sum(list(parts), axis=0)
        return total / self.weight

    def residuals(
        self,
        x: Rows,
        targets: Vector,
        weights: Vector | None,
        ridge: Vector,
        executor: Executor | None = None,
    ) -> Vector:
        """Return the leave-one-out residuals, ``(n, r)``.

        Parameters
        ----------
        x, targets, weights
            As in :meth:`errors`.
        ridge : array of shape (r,)
            The ridge of each target.
        executor : Executor, optional
            Runs the row blocks.
        """
        parts = self._leave_one_out(
            x, targets, weights, ridge[None], lambda left, _: left[:, 0], executor
        )
        return np.concatenate(list(parts))

    def _leave_one_out(  # noqa: PLR0917
        self,
        x: Rows,
        targets: Vector,
        weights: Vector | None,
        ridges: Vector,
        use: Callable[[Vector, Vector], Vector],
        executor: Executor | None,
    ) -> Iterator[Vector]:
        """Yield ``use`` of the leave-one-out residuals ``(b, l, r)`` and weights of blocks."""
        shrunk = self._shrunk(ridges)
        slopes = self.products[:, None, :] * shrunk

        def block(start: int, z: Array) -> Vector:
            rows = slice(start, start + z.shape[0])
            w = np.ones(z.shape[0]) if weights is None else weights[rows]
            psi = host_features(self.basis, z)
            left = (targets[rows] - self.mean)[:, None, :] - np.tensordot(psi, slopes, 1)
            leverage = 1 / self.weight + np.tensordot(psi * psi, shrunk, 1)
            leverage *= w[:, None, None]
            return use(leave_one_out_residuals(left, leverage), w)

        return executor_for(x, executor).map(block, x)

    def _shrunk(self, ridges: Vector) -> Vector:
        r"""Return :math:`1 / (\Lambda + n \rho)`, of the shape ``(m, ...)``."""
        eigenvalues: Vector = to_numpy(self.basis.eigenvalues)
        both = np.add.outer(eigenvalues, self.weight * ridges)
        return np.divide(1.0, both, out=np.zeros_like(both), where=both > 0)


def leave_one_out_residuals(residuals: Vector, leverage: Vector) -> Vector:
    r"""Return the leave-one-out residuals of a linear smoother, by its leverages.

    They are :math:`(t_i - f(x_i)) / (1 - h_i)`, so that the leave-one-out prediction of a
    row is its target minus this.

    Parameters
    ----------
    residuals : array of shape (n, ...)
        The targets minus the fitted values.
    leverage : array of the same shape, or one that broadcasts to it
        The share :math:`h_i` of each target in its own fitted value.

    Examples
    --------
    The mean of three numbers, and of the two others:

    >>> import numpy as np
    >>> from jointdist.lowrank.ridge import leave_one_out_residuals
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> y - leave_one_out_residuals(y - y.mean(), np.full(3, 1 / 3))
    array([4. , 3.5, 1.5])
    """
    left: Vector = residuals / (1 - np.minimum(leverage, _LEVERAGE))
    return left


def ridge_regression(
    low: LowRank,
    targets: Vector,
    weights: Vector | None = None,
    *,
    executor: Executor | None = None,
) -> RidgeRegression:
    """Return the regression of targets on the features of a kernel, in one pass.

    Parameters
    ----------
    low : LowRank
        The factor of the kernel matrix of all rows.
    targets : array of shape (n, r)
        The targets.
    weights : array of shape (n,), optional
        The weights of the rows.
    executor : Executor, optional
        Runs the row blocks.

    Returns
    -------
    RidgeRegression
        The regression, with any ridge.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist import kernels, pivoted_cholesky
    >>> from jointdist.lowrank.ridge import ridge_regression
    >>> x = np.linspace(0, 3, 50)[:, None]
    >>> low = pivoted_cholesky(kernels.Gaussian(1.0), x, tol=1e-12)
    >>> fit = ridge_regression(low, np.sin(x))
    >>> bool(abs(fit.predict(low.rows, np.array([1e-10])) - np.sin(x)).max() < 1e-4)
    True
    """
    rows, r = low.rows, targets.shape[1]
    centre = np.average(targets, axis=0, weights=weights)
    # The features of a linear kernel at the unit vectors are the targets themselves.
    table, eye = like(targets - centre, low.core), like(np.eye(r), low.core)
    of_targets = FeatureMap(Polynomial(1, 0.0), eye, eye)
    sums = collect(
        low.map,
        of_targets,
        rows,
        Rows(table, rows.where, "targets"),
        weights,
        precision="float64",
        executor=executor_for(rows, executor),
    )
    basis = side_basis(low, sums.weight, sums.sum_x, sums.gram_x, centred=True)
    mean = to_numpy(sums.sum_y) / sums.weight
    products = to_numpy(basis.rotation.T @ sums.gram_yx.T)
    products -= np.multiply.outer(to_numpy(basis.rotation.T @ sums.sum_x), mean)
    unit = sums.trace_x / sums.weight
    return RidgeRegression(basis, sums.weight, centre + mean, products, unit)


def tried_ridges(fit: RidgeRegression) -> Vector:
    """Return the ridges that are tried, the largest first: infinity, then half decades.

    Parameters
    ----------
    fit : RidgeRegression
        The regression; the more rows, the smaller the smallest ridge.
    """
    steps = np.ceil(
        np.log(_SMALLEST_RIDGE_TIMES_N / (_LARGEST_RIDGE * fit.weight))
        / np.log(_RIDGE_STEP)
    )
    tried: Vector = np.append(
        np.inf, fit.unit * _LARGEST_RIDGE * _RIDGE_STEP ** np.arange(steps + 1)
    )
    return tried
