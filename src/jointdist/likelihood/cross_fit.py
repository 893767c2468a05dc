"""A log-linear ratio of outcomes in cells, with its distributions of rows that are held out.

The ridge is chosen by the score of the rows that folds hold out. The fits that it was chosen by
forecast these rows, so that out-of-fold distributions cost nothing more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Matrix, Vector, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.folds import Split
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.energy import Energy
from jointdist.likelihood.cell_functions import (
    CellFunctions,
    cell_functions,
    most_functions_y,
)
from jointdist.likelihood.fit import CellOutcomes, Regressors, log_ratio_of, regressors
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.likelihood.ridge_path import (
    COARSE,
    RidgePath,
    continued_fit,
    first_ridge,
    path_of_ridges,
)
from jointdist.likelihood.settings import SETTINGS
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.factor import Landmarks
from jointdist.programs import (
    Blocks,
    LogRatioProblem,
    LogRatioSolution,
    cell_probabilities,
)

__all__ = ["CrossFit", "cross_fit"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossFit:
    """A fitted log-ratio.

    Attributes
    ----------
    log_ratio : LogRatio
        The log-ratio of all rows.
    held : array of shape (n, K)
        The probabilities of the cells at each row by fits to other rows; NaN for rows that
        are never held out.
    path : RidgePath
        The scores along ridges.
    """

    log_ratio: LogRatio
    held: Matrix
    path: RidgePath


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """A fold: rows, and the cells that have outcomes among those fitted to."""

    split: Split
    used: Index
    problem: LogRatioProblem
    features: Matrix  # of the rows held out

    def probabilities(self, found: LogRatioSolution, count: int) -> Matrix:
        """Return the probabilities of all cells at the rows held out."""
        logs = self.features @ found.value.T @ self.problem.functions.T + found.intercept
        P = np.zeros((len(logs), count))
        P[:, self.used] = cell_probabilities(logs, self.problem.shares)
        return P


def cross_fit(  # noqa: PLR0917
    low: Landmarks,
    x: Rows,
    cells: CellSupport,
    which: Index,
    y: Matrix,
    weights: Vector | None,
    splits: Sequence[Split],
    executor: Executor,
) -> CrossFit:
    """Return the log-ratio with the best ridge of the best functions of Y.

    Parameters
    ----------
    low : Landmarks
        The landmarks of X.
    x : Rows
        The rows of X.
    cells : CellSupport
        The outcomes in cells.
    which : array of int, of shape (n,)
        The cell of each row.
    y : array of shape (n, d)
        The outcomes.
    weights : array of shape (n,), optional
        The weights of the rows.
    splits : sequence of Split
        The folds.
    executor : Executor
        Runs the row blocks.
    """
    regress = regressors(low, x, weights, executor)
    F = np.concatenate(list(executor.map(lambda _, z: host_features(regress.basis, z), x)))
    energy, p = Energy.on(cells), cells.mean
    near, w = energy.to_points(y), np.ones(x.n) if weights is None else weights
    several = cells.points.width > 1
    tried = SETTINGS.located_of_several[:1] if several else SETTINGS.located[:2]
    if not cells.points.encoding.numeric:
        tried = ((0.0, 0.0),)

    def path(located: tuple[float, float]) -> tuple[list[_Fold], CellFunctions, RidgePath]:
        functions = cell_functions(cells, None, most_functions_y(cells.sample), located)
        folds = [_fold(split, F, functions, which, weights, regress) for split in splits]

        def score(solutions: list[LogRatioSolution]) -> float:
            total = 0.0
            for fold, found in zip(folds, solutions, strict=True):
                out = fold.split.out
                P = fold.probabilities(found, len(p))
                own = energy.scores(P / p - 1, near[out])
                total += float(w[out] @ own)
            return total / sum(float(w[fold.split.out].sum()) for fold in folds)

        problems = [fold.problem for fold in folds]
        start = first_ridge(located, several=several)
        return folds, functions, path_of_ridges(problems, score, first=start, effort=COARSE)

    found = list(executor.each(path, tried))
    best = int(np.argmin([one[2].score for one in found]))
    folds, functions, ridges = found[best]
    held = np.full((x.n, len(p)), np.nan)
    for fold, solution in zip(folds, ridges.at_best, strict=True):
        held[fold.split.out] = fold.probabilities(solution, len(p))
    problem = regress.problem(CellOutcomes(which, functions))
    first = first_ridge(tried[best], several=several)
    final = continued_fit(problem, ridges.best, first=first, effort=COARSE)
    return CrossFit(log_ratio_of(regress.basis, functions, final, p), held, ridges)


def _fold(  # noqa: PLR0917
    split: Split,
    F: Matrix,
    functions: CellFunctions,
    which: Index,
    weights: Vector | None,
    regress: Regressors,
) -> _Fold:
    """Return the problem of the rows that a fold is fitted to."""
    used, own = np.unique(which[split.fit], return_inverse=True)
    rows, one = F[split.fit], Executor(workers=1, block_rows=1 << 12)
    n, m = rows.shape
    blocks = Blocks(n, m, lambda part: rows[part], executor=one, dtype="float32")
    w = None if weights is None else weights[split.fit]
    total = len(which) if weights is None else float(weights.sum())
    squares = to_numpy(regress.basis.eigenvalues) / total
    problem = LogRatioProblem(blocks, own.reshape(-1), functions.values[used], w, squares)
    return _Fold(split, used, problem, F[split.out])
