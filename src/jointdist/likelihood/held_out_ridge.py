"""The ridge of a fit to all rows, by its score on some rows that are held out.

The best ridge of a candidate, which is fitted to few rows with few functions, is not that of the
final fit: more functions and more rows want a smaller one, by no fixed rule.
"""

from dataclasses import replace

import numpy as np

from jointdist._array import Array, Index, Matrix, Vector, to_numpy
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.energy import Energy
from jointdist.likelihood.ridge_path import RidgePath, path_of_ridges
from jointdist.programs import LogRatioProblem, LogRatioSolution, cell_probabilities

__all__ = ["held_out_path", "held_rows"]

_SHARE, _MOST = 10, 4000  # one row of ten is held out, and so many at most
_HIGHER = 10**0.5  # the first ridge beside that of the candidate


def held_out_path(
    problem: LogRatioProblem, cells: CellSupport, y: Vector, ridge: float, seed: int
) -> RidgePath:
    """Return the scores of held-out rows along ridges, from one a little above a given one.

    Parameters
    ----------
    problem : LogRatioProblem
        The problem of all rows.
    cells : CellSupport
        The cells of Y.
    y : array of shape (n,)
        The outcomes.
    ridge : float
        The ridge that was best for few rows.
    seed : int
        The seed of the choice of rows.
    """
    held = held_rows(problem, seed)
    weights = problem.row_weights.copy()
    own, weights[held] = weights[held], 0.0
    fitted = replace(problem, weights=weights)
    energy, p = Energy.on(cells), cells.mean
    near, shares = energy.to_points(y[held, None]), fitted.shares
    F = _taken(problem, held)

    def score(solutions: list[LogRatioSolution]) -> float:
        (found,) = solutions
        logs = F @ found.value.T @ problem.functions.T + found.intercept
        P = cell_probabilities(logs, shares)
        return float(np.average(energy.scores(P / p - 1, near), weights=own))

    return path_of_ridges([fitted], score, first=_HIGHER * ridge)


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
