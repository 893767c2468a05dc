"""Scores of maximum likelihood along a path of ridges, each fit from that of the last."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Vector
from jointdist.programs import (
    LogRatioProblem,
    LogRatioSolution,
    Status,
    maximum_likelihood,
)

__all__ = ["RidgePath", "continued_fit", "path_of_ridges"]

_STEP = 10**0.5  # the factor between ridges
_LOCATED, _PLAIN = (
    1e-2,
    10**-3.5,
)  # the first ridges, of kernels of Y with diagonals so apart
_LEAST, _MOST = 1e-9, 1.0  # the smallest ridge, and that from which on none is larger
# Evaluations of the first fit and of the others: with few, all candidates are as far from
# their optima, and are ranked as at these; stopping early does no harm either.
_FIRST, _NEXT, _TOL = 14, 7, 1e-3
# The same of the last fit to few rows: on development splits of small UCI sets 40 evaluations
# were better by 1 to 3 % than 10.
_LAST, _LAST_TOL = 40, 1e-4
_WORSE, _HOPELESS = 2, 1.03  # ridges in a row that are worse, and how much worse, to stop


@dataclass(frozen=True, slots=True, eq=False)
class RidgePath:
    """Scores along ridges, in descending order.

    Attributes
    ----------
    ridges, scores : list of float
        The ridges and their scores, the lower the better.
    at_best : list of LogRatioSolution
        The fits with the best ridge.
    """

    ridges: list[float]
    scores: list[float]
    at_best: list[LogRatioSolution]

    @property
    def score(self) -> float:
        """The best score; infinite if there is none."""
        return float(_known(self.scores).min())

    @property
    def best(self) -> float:
        """The best ridge."""
        return self.ridges[self.number]

    @property
    def number(self) -> int:
        """The number of the best ridge."""
        return int(_known(self.scores).argmin())


def path_of_ridges(
    problems: Sequence[LogRatioProblem],
    score: Callable[[list[LogRatioSolution]], float],
    *,
    first: float | None = None,
    located: bool = False,
    given: Sequence[float] | None = None,
) -> RidgePath:
    """Return the scores of fits to the same problems with smaller and smaller ridges.

    It ends after two ridges that are worse than the best, or one that is much worse. Where
    the first is the best, larger ones are tried.

    Parameters
    ----------
    problems : sequence of LogRatioProblem
        The problems, such as folds.
    score : callable
        From the solutions of all problems to a number, the lower the better.
    first : float, optional
        The first ridge.
    located : bool, default=False
        Whether outcomes and their squares are among the functions of Y, which are then large.
    given : sequence of float, optional
        The ridges, if they are given.
    """
    if given is not None:
        return _scored(problems, score, sorted(given, reverse=True))
    start = (_LOCATED if located else _PLAIN) if first is None else first
    path = _descended(problems, score, start, _LEAST)
    while path.best == path.ridges[0] and path.ridges[0] < _MOST:
        top = 10 * path.ridges[0]
        above = _descended(problems, score, top, path.ridges[0] * _STEP**0.5)
        at_best = above.at_best if above.score < path.score else path.at_best
        path = RidgePath(above.ridges + path.ridges, above.scores + path.scores, at_best)
    return path


def continued_fit(
    problem: LogRatioProblem,
    ridge: float,
    start: LogRatioSolution | None = None,
    *,
    located: bool = False,
    longer: bool = False,
) -> LogRatioSolution:
    """Return a fit with a ridge that a path chose, stopped as early as the fits there.

    Without a start it goes down a path of larger ridges: few evaluations from zero would end
    elsewhere.

    Parameters
    ----------
    problem : LogRatioProblem
        The problem.
    ridge : float
        The ridge.
    start : LogRatioSolution, optional
        The fit to nearly the same problem.
    located : bool, default=False
        As in :func:`path_of_ridges`.
    longer : bool, default=False
        Whether it may stop later.
    """
    most, tol = (_LAST, _LAST_TOL) if longer else (_NEXT, _TOL)
    if start is None:
        first = _LOCATED if located else _PLAIN
        steps = int(np.floor(np.log(max(first / ridge, 1.0)) / np.log(_STEP) + 1e-9))
        most = most if steps else max(most, _FIRST)
        for i in range(steps, 0, -1):
            start = maximum_likelihood(
                problem,
                ridge * _STEP**i,
                tol=_TOL,
                start=start,
                max_evaluations=_FIRST if start is None else _NEXT,
                certify=False,
            )
    found = maximum_likelihood(problem, ridge, tol=tol, start=start, max_evaluations=most)
    return found if found.status.ok else replace(found, status=Status.STOPPED)


def _descended(
    problems: Sequence[LogRatioProblem],
    score: Callable[[list[LogRatioSolution]], float],
    first: float,
    least: float,
) -> RidgePath:
    """Return the scores from a ridge down, until they worsen."""
    count = int(np.floor(np.log(first / least) / np.log(_STEP))) + 1
    return _scored(problems, score, [first / _STEP**i for i in range(count)], stop=True)


def _scored(
    problems: Sequence[LogRatioProblem],
    score: Callable[[list[LogRatioSolution]], float],
    ridges: Sequence[float],
    *,
    stop: bool = False,
) -> RidgePath:
    """Return the scores of ridges in descending order."""
    fits: list[LogRatioSolution | None] = [None] * len(problems)
    scores: list[float] = []
    at_best: list[LogRatioSolution] = []
    for ridge in ridges:
        most = _NEXT if scores else _FIRST
        solved = [
            maximum_likelihood(
                problem, ridge, tol=_TOL, start=start, max_evaluations=most, certify=False
            )
            for problem, start in zip(problems, fits, strict=True)
        ]
        fits = list(solved)
        scores.append(score(solved))
        best = float(_known(scores).min())
        if scores[-1] <= best or not at_best:
            at_best = solved
        worse = len(scores) - 1 - int(_known(scores).argmin())
        if stop and (worse >= _WORSE or scores[-1] > best + (_HOPELESS - 1) * abs(best)):
            break
    return RidgePath(list(ridges[: len(scores)]), scores, at_best)


def _known(scores: Sequence[float]) -> Vector:
    """Return scores, infinite where they are no finite number."""
    found = np.asarray(scores, dtype=np.float64)
    return np.where(np.isfinite(found), found, np.inf)
