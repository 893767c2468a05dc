r"""A ridge for each function of Y, with the least leave-one-out error.

With the eigenvalues :math:`c` of the centred bases the closed form of the model,

.. math:: \tilde H_{ij} = \frac{b_{ij}}{c_{Y,i} c_{X,j} + \lambda_i}
    = \frac1{c_{Y,i}} \cdot \frac{b_{ij}}{c_{X,j} + \rho_i},
    \qquad \rho_i = \lambda_i / c_{Y,i},

is a ridge regression of each function :math:`\Psi_{Y,i}` of Y on the functions of X, with
the ridge :math:`\rho_i`. So each function can have the ridge with its least leave-one-out
error, in closed form. A function that X does not predict has an infinite ridge.

The leave-one-out regression refits constant and slopes, in the bases of all rows and with
the same :math:`n \rho`.
"""

from dataclasses import replace

import numpy as np

from jointdist._array import Vector
from jointdist.data.sample import canonical_order
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.ridge import RidgeRegression, tried_ridges
from jointdist.models.coefficients import Problem, objective

__all__ = ["loo_ridges", "regression"]

_ROWS = 4096  # rows whose errors are averaged, at most: enough to rank ridges
_VANISHING = 1e-12  # eigenvalue relative to the largest below which a function is rounding
_CELLS = 1 << 21  # residuals of a block of rows: 16 MB


def loo_ridges(problem: Problem, seed: int, rows: int = _ROWS) -> Vector:
    r"""Return the ridges :math:`\lambda_i` with the least leave-one-out errors.

    Parameters
    ----------
    problem : Problem
        Centred bases, moments and rows.
    seed : int
        Chooses the rows whose errors are averaged, if there are more than ``rows``.
    rows : int, default=4096
        The largest number of such rows.

    Returns
    -------
    array of shape (m_Y,)
        The ridges; infinite where no regression is better than the mean.
    """
    fit, c_y = regression(problem)
    sample = problem.judged.counted
    if sample.n <= 2 * rows:
        sample = canonical_order(sample, 2 * rows).of(sample)
    some = sample.take(sample.choose(rows, seed))
    targets = host_features(problem.y, some.y.read(0, some.n))
    ridges = tried_ridges(fit)
    few = max(_CELLS // (len(ridges) * max(len(c_y), 1)), 1)
    executor = problem.executor
    executor = replace(executor, block_rows=min(few, executor.block_rows))
    errors = fit.errors(some.x, targets, some.weights, ridges, executor)
    found: Vector = np.full(len(c_y), np.inf)
    told = c_y > _VANISHING * c_y.max(initial=0.0)
    found[told] = c_y[told] * ridges[errors[:, told].argmin(axis=0)]
    return found


def regression(problem: Problem) -> tuple[RidgeRegression, Vector]:
    """Return the regression of the functions of Y on those of X, and their mean squares.

    Parameters
    ----------
    problem : Problem
        Centred bases and moments.
    """
    goal, n = objective(problem, 0.0), problem.moments.weight
    mean, unit = np.zeros(len(goal.c_y)), problem.moments.trace_x / n
    return RidgeRegression(problem.x, n, mean, n * goal.b.T, unit), goal.c_y
