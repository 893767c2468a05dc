"""How well laws of labels do without the row that they are asked about."""

from operator import add

import numpy as np

from jointdist._array import Array, to_numpy
from jointdist.atoms import Vector, host_features
from jointdist.fitting import Problem, objective

__all__ = ["leave_one_out_scores"]

_JUDGED = 20_000  # rows by which ridges are judged
_LEAST = 1e-12  # that a single row leaves, when it is left out


def leave_one_out_scores(
    problem: Problem, ridges: Vector, units: Vector | None = None
) -> Vector:
    r"""Return the leave-one-out Brier score of each ridge, in one pass over the rows.

    With exact marginals and without positivity, the expectation of :math:`\Psi_{Y,i}`
    given x is a ridge regression with an intercept on :math:`\Psi_X`, of ridge
    :math:`\lambda / c_{Y,i}`. Its error at row l without that row is the one with it, over
    one less the leverage :math:`(1 + \sum_j \Psi_{X,j}(x_l)^2 / (c_{X,j} + \lambda /
    c_{Y,i})) / n`. For the kernel Delta the sum of the squared errors over i is the Brier
    score. Of a row of weight two one of two is left out; one of weight below one, all. The
    weights of classes are no such repetitions, and are left out as a whole.

    Parameters
    ----------
    problem : Problem
        Centred bases, moments and rows; of more than 20,000 rows, a random 20,000 count.
    ridges : array of shape (l,)
        Positive ridges.
    units : array of shape (k,), optional
        What a single row of each class counts for; one by default.
    """
    goal, n = objective(problem, 0.0), problem.moments.weight
    some = problem.sample.take(problem.sample.choose(_JUDGED, 0))
    weights = np.ones(some.n) if some.weights is None else some.weights
    single = np.ones(some.n)
    if units is not None:
        single = units[to_numpy(some.y.read(0, some.n))[:, 0].astype(np.intp)]
    single = np.minimum(weights, single)
    inverses = [(goal.c_y[:, None] / goal.at(ridge).a).T for ridge in ridges.tolist()]

    def block(start: int, x: Array, y: Array) -> Vector:
        F_x, F_y = host_features(problem.x, x), host_features(problem.y, y)
        rows = slice(start, start + len(F_x))
        own, squares, one = weights[rows, None], F_x**2, single[rows, None]
        scores = np.empty(len(inverses))
        for i, D in enumerate(inverses):
            left = 1 - one * (1 + squares @ D) / n
            error = (F_y - F_x @ (goal.b.T * D)) / np.maximum(left, _LEAST)
            scores[i] = np.sum(own * error**2)
        return scores

    mean: Vector = problem.executor.reduce(add, block, some.x, some.y) / weights.sum()
    return mean
