"""The objective of embeddings, and their fits to all rows but those of a fold."""

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.moments import Moments
from jointdist.models.pivot_support import embedded_outcomes, summed_weights
from jointdist.programs import Objective, closed_form
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.fold_moments import Side, paired_moments
from jointdist.selection.risk import Trial

__all__ = ["embedding_objective", "fit_without"]


def fit_without(
    validation: CrossValidation,
    x: Side,
    y: Side,
    part: int,
    *,
    encoding: Encoding,
    executor: Executor | None,
    divided: bool,
) -> Trial:
    """Return the embedding of all rows but those of a fold, as a function of the ridge.

    Parameters
    ----------
    validation : CrossValidation
        The folds.
    x, y : Side
        Both sides in the features of their kernels.
    part : int
        The fold.
    encoding : Encoding
        The columns of Y.
    executor : Executor, optional
        Runs the row blocks.
    divided : bool
        Whether distributions will be divided by their mass.
    """
    sums, rows = paired_moments(x, y, part), validation.train(part)
    basis_y, workers = y.basis(part), executor_for(rows.x, executor)
    _, goal = embedding_objective(sums, x.basis(part), basis_y, 0.0)
    pivots, held = y.low.map.landmarks, validation.held
    which, outcomes = y.remember(
        ("outcomes", part),
        lambda: embedded_outcomes(
            pivots, encoding, rows, held(part), workers, divided=divided
        ),
    )
    weights = summed_weights(to_numpy(basis_y.expansion), which)
    expansion = len(weights) * weights

    def solve(ridge: float) -> Vector:
        found: Vector = expansion @ closed_form(goal.at(ridge)).value
        return found

    return Trial(solve, x.psi(part), outcomes)


def embedding_objective(
    sums: Moments, x: Basis, y: Basis, ridge: float
) -> tuple[Vector, Objective]:
    """Return the means of the functions of X, and the objective, Eq. `eq:lowrankprog` over n.

    Parameters
    ----------
    sums : Moments
        The moments of the features.
    x, y : Basis
        The bases.
    ridge : float
        The ridge.
    """
    n, V_x, V_y = sums.weight, to_numpy(x.rotation), to_numpy(y.rotation)
    M = V_y.T @ to_numpy(sums.gram_yx) @ V_x / n
    c_x = to_numpy(x.eigenvalues) / n
    mean: Vector = V_x.T @ to_numpy(sums.sum_x) / n
    return mean, Objective(M, np.ones(len(M)), c_x, ridge)
