"""The ridge of a fit to all rows, by its score on some rows that are held out.

The best ridge of a candidate, which is fitted to few rows with few functions, is not that of the
final fit: more functions and more rows want a smaller one, by no fixed rule.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jointdist._array import Array, Index, Matrix, Vector, to_numpy
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.energy import Energy
from jointdist.likelihood.fit import CellOutcomes, Regressors
from jointdist.likelihood.ridge_path import THOROUGH, RidgePath, first_ridge, path_of_ridges
from jointdist.lowrank.basis import host_features
from jointdist.programs import LogRatioProblem, LogRatioSolution, cell_probabilities

__all__ = ["held_out_path", "held_out_ridge", "held_rows"]

_SHARE, _MOST = 10, 4000  # one row of ten is held out, and so many at most
_LEVEL = 2e-3  # the share of a score that a larger ridge may lose: the noise of 500 rows
_HIGHER = 10**0.5  # the first ridge beside that of the candidate


def held_out_path(
    problem: LogRatioProblem, cells: CellSupport, y: Rows, ridge: float, seed: int
) -> RidgePath:
    """Return the scores of held-out rows along ridges, from one a little above a given one.

    Parameters
    ----------
    problem : LogRatioProblem
        The problem of all rows.
    cells : CellSupport
        The cells of Y.
    y : Rows
        The outcomes of all rows.
    ridge : float
        The ridge that was best for few rows.
    seed : int
        The seed of the choice of rows.
    """
    held = held_rows(problem, seed)
    weights = problem.row_weights.copy()
    own, weights[held] = weights[held], 0.0
    fitted = replace(problem, weights=weights)
    score = _score(cells, fitted, _taken(problem, held), to_numpy(y.take(held)), own)
    return path_of_ridges([fitted], score, first=_HIGHER * ridge)


def held_out_ridge(
    x: Regressors,
    sample: Sample,
    outcomes_of: Callable[[Sample], tuple[CellSupport, CellOutcomes]],
    seed: int,
) -> float:
    """Return the ridge for several columns of Y, whose cells hold few rows each.

    It is the largest of those that are about as good as the best: scores are flat there.
    Cells are those of the rows that are not held out: a row would be near its own cell.

    Parameters
    ----------
    x : Regressors
        The functions of X.
    sample : Sample
        All rows.
    outcomes_of : callable
        From rows to their cells and the functions on these.
    seed : int
        The seed of the choice of rows.
    """
    order = np.random.default_rng(seed).permutation(sample.choose(sample.n, seed))
    count = min(len(order) // _SHARE, _MOST)
    held, rest = np.sort(order[:count]), np.sort(order[count:])
    fitted, out = sample.take(rest), sample.take(held)
    cells, outcomes = outcomes_of(fitted)
    problem = replace(x, rows=fitted.x, weights=fitted.weights).problem(outcomes)
    F = host_features(x.basis, out.x.read(0, out.n))
    own = np.ones(out.n) if out.weights is None else out.weights
    score = _score(cells, problem, F, to_numpy(out.y.read(0, out.n)), own)
    first = first_ridge((0.0, 0.0), several=True)
    path = path_of_ridges([problem], score, first=first, effort=THOROUGH)
    good = np.asarray(path.scores) <= path.score + _LEVEL * abs(path.score)
    return path.ridges[int(np.argmax(good))]


def _score(
    cells: CellSupport, problem: LogRatioProblem, F: Matrix, y: Matrix, weights: Vector
) -> Callable[[list[LogRatioSolution]], float]:
    """Return the mean energy score of held-out rows, of a solution."""
    energy, p, shares = Energy.on(cells), cells.mean, problem.shares
    near = energy.to_points(y)

    def score(solutions: list[LogRatioSolution]) -> float:
        (found,) = solutions
        logs = F @ found.value.T @ problem.functions.T + found.intercept
        P = cell_probabilities(logs, shares)
        return float(np.average(energy.scores(P / p - 1, near), weights=weights))

    return score


def held_rows(problem: LogRatioProblem, seed: int) -> Index:
    """Return the rows that are held out: of each cell at least one stays, with weight.

    Parameters
    ----------
    problem : LogRatioProblem
        The problem of all rows.
    seed : int
        The seed of the choice.
    """
    rng, counted = np.random.default_rng(seed), np.flatnonzero(problem.row_weights > 0)
    order = rng.permutation(counted)
    first = np.unique(problem.cells[order], return_index=True)[1]
    free = np.delete(order, first)
    return np.sort(free[: min(len(order) // _SHARE, _MOST)])


def _taken(problem: LogRatioProblem, rows: Index) -> Matrix:
    """Return the functions of X at some rows, sorted by their numbers."""

    def block(part: slice, F: Array) -> Matrix:
        inside = rows[np.searchsorted(rows, part.start) : np.searchsorted(rows, part.stop)]
        return np.asarray(to_numpy(F)[inside - part.start], dtype=np.float64)

    return np.concatenate(list(problem.blocks.each(block)))
