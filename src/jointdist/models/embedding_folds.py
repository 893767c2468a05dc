r"""The weights of an embedding, and those of embeddings without each fold of the rows."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from jointdist._array import Array, Vector, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.fold_ridge import fold_ridge
from jointdist.models.fold_calibration import MOST_ROWS, held_rows
from jointdist.programs import Solution

__all__ = ["SolvedEmbedding", "embedding_without_folds"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SolvedEmbedding:
    """The weights of an embedding, and what it takes to calibrate its projections.

    Attributes
    ----------
    solution : Solution
        The solution of the program.
    bases : tuple of Basis
        Functions of X and Y; the means of those of Y are matched by projections.
    points : Array of shape (k, d_y)
        The rows of Y that have weight.
    weights : array of shape (k, m_X)
        Their weights, as coefficients of the functions of X.
    ridge : float
        The ridge.
    mean : array of shape (m_Y,)
        The means of the functions of Y over the sample.
    in_full : bool
        Whether the points are all rows, in their order.
    """

    solution: Solution
    bases: tuple[Basis, Basis]
    points: Array
    weights: Vector
    ridge: float
    mean: Vector
    in_full: bool = False


def embedding_without_folds(
    sample: Sample, n: float, solved: SolvedEmbedding, executor: Executor
) -> tuple[Vector, Vector, Vector]:
    """Return rows of Y that are held out, their weights, and the weights of points there.

    Parameters
    ----------
    sample : Sample
        The rows, with folds.
    n : float
        The weight of all rows.
    solved : SolvedEmbedding
        The weights of the embedding.
    executor : Executor
        Runs the row blocks.

    Returns
    -------
    tuple of arrays of shapes (q, d_y), (q,) and (q, k)
        The rows, what they weigh, and the weights of the k points at each of them, of the
        embedding fitted without its fold.
    """
    sample = sample.counted
    if not solved.in_full:
        sample = sample.take(sample.choose(MOST_ROWS, 0))
    rows, weights = held_rows(sample)
    points = to_numpy(sample.y.take(rows))
    folds, (basis_x, basis_y) = sample.folds, solved.bases
    assert folds is not None  # noqa: S101  # for type checkers
    if solved.in_full:
        psi = host_features(basis_x, sample.x.read(0, sample.n))
        K, found = psi @ psi.T, np.zeros((len(rows), sample.n))
        for split in folds.rows:
            at, fit = np.flatnonzero(np.isin(rows, split.out)), split.fit
            own = K[np.ix_(fit, fit)]
            own[np.diag_indices_from(own)] += n * solved.ridge / sample.row_weights[fit]
            answers = solve(own, K[np.ix_(fit, rows[at])], assume_a="sym")
            found[np.ix_(at, fit)] = answers.T
        return points, weights, found
    ridges = np.full((1, basis_y.rank), solved.ridge)
    each = fold_ridge(
        lambda z: host_features(basis_x, z),
        sample.x,
        host_features(basis_y, sample.y.read(0, sample.n)),
        sample.weights,
        folds,
        constant="none",
        weight=n,
        executor=executor,
    )
    left = each.predict(sample.x.subset(rows), folds.take(rows), ridges, executor)
    return points, weights, left[:, 0] @ to_numpy(basis_y.expansion).T
