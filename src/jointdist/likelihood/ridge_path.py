"""Scores of maximum likelihood along a path of ridges, each fit from that of the last."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jointdist._array import Vector
from jointdist.programs import (
    LogRatioProblem,
    LogRatioSolution,
    Status,
    maximum_likelihood,
)

__all__ = [
    "COARSE",
    "THOROUGH",
    "Effort",
    "RidgePath",
    "continued_fit",
    "first_ridge",
    "path_of_ridges",
]

_STEP = 10**0.5  # the factor between ridges
# The first ridges, of kernels of Y with diagonals so apart: several columns, outcomes and their
# squares among the functions of one, and neither.
_SEVERAL, _LOCATED, _PLAIN = 1e-1, 1e-2, 10**-3.5
_LEAST, _MOST = 1e-9, 1.0  # the smallest ridge, and that from which on none is larger
_WORSE, _HOPELESS = 2, 1.03  # ridges in a row that are worse, and how much worse, to stop


class Effort(NamedTuple):
    """How exact the fits along a path are.

    Attributes
    ----------
    first, others : int
        Evaluations at most of the first fit, and of those that start from the last one.
    tol : float
        The share of the gain that may be missing.
    """

    first: int
    others: int
    tol: float


# With few evaluations all candidates are as far from their optima, and are ranked nearly as at
# these: see the section *ranking* of benchmarks/likelihood.py.
COARSE = Effort(14, 7, 1e-3)
# Of final fits. On one of 16 development splits of yacht a coarse one had eight times the CRPS of
# this one and of the optimum, because of one row. In the median of these splits it was 4 % better,
# on five other sets means differed by 1.2 % at most, in either direction. Scores of simulated waves
# were lower by 0.3 % than with twelve evaluations.
THOROUGH = Effort(30, 20, 1e-4)


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


def first_ridge(located: tuple[float, float], *, several: bool) -> float:
    """Return the ridge that a path begins with.

    Parameters
    ----------
    located : tuple of float
        The weights of outcomes and their squares among the functions of Y.
    several : bool
        Whether Y has several columns.
    """
    if several:
        return _SEVERAL
    return _LOCATED if any(located) else _PLAIN


def path_of_ridges(
    problems: Sequence[LogRatioProblem],
    score: Callable[[list[LogRatioSolution]], float],
    *,
    first: float = _PLAIN,
    given: Sequence[float] | None = None,
    effort: Effort = COARSE,
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
    first : float
        The first ridge.
    given : sequence of float, optional
        The ridges, if they are given.
    effort : Effort
        How exact the fits are.
    """
    if given is not None:
        return _scored(problems, score, sorted(given, reverse=True), effort)
    path = _descended(problems, score, first, _LEAST, effort)
    while path.best == path.ridges[0] and path.ridges[0] < _MOST:
        top = 10 * path.ridges[0]
        above = _descended(problems, score, top, path.ridges[0] * _STEP**0.5, effort)
        at_best = above.at_best if above.score < path.score else path.at_best
        path = RidgePath(above.ridges + path.ridges, above.scores + path.scores, at_best)
    return path


def continued_fit(
    problem: LogRatioProblem,
    ridge: float,
    start: LogRatioSolution | None = None,
    *,
    first: float = _PLAIN,
    effort: Effort = THOROUGH,
) -> LogRatioSolution:
    """Return a fit with a ridge that a path chose, stopped early as the fits there were.

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
    first : float
        The first ridge of the path.
    effort : Effort
        How exact the fits are; the last one is as exact as a first one, unless it has a start.
    """
    most = effort.others
    if start is None:
        steps = int(np.floor(np.log(max(first / ridge, 1.0)) / np.log(_STEP) + 1e-9))
        most = effort.first
        for i in range(steps, 0, -1):
            start = maximum_likelihood(
                problem,
                ridge * _STEP**i,
                tol=effort.tol,
                start=start,
                max_evaluations=effort.first if start is None else effort.others,
                certify=False,
            )
    found = maximum_likelihood(
        problem, ridge, tol=effort.tol, start=start, max_evaluations=most
    )
    return found if found.status.ok else replace(found, status=Status.STOPPED)


def _descended(
    problems: Sequence[LogRatioProblem],
    score: Callable[[list[LogRatioSolution]], float],
    first: float,
    least: float,
    effort: Effort,
) -> RidgePath:
    """Return the scores from a ridge down, until they worsen."""
    count = int(np.floor(np.log(first / least) / np.log(_STEP))) + 1
    ridges = [first / _STEP**i for i in range(count)]
    return _scored(problems, score, ridges, effort, stop=True)


def _scored(
    problems: Sequence[LogRatioProblem],
    score: Callable[[list[LogRatioSolution]], float],
    ridges: Sequence[float],
    effort: Effort,
    *,
    stop: bool = False,
) -> RidgePath:
    """Return the scores of ridges in descending order."""
    fits: list[LogRatioSolution | None] = [None] * len(problems)
    scores: list[float] = []
    at_best: list[LogRatioSolution] = []
    for ridge in ridges:
        most, tol = effort.others if scores else effort.first, effort.tol
        solved = [
            maximum_likelihood(
                problem, ridge, tol=tol, start=start, max_evaluations=most, certify=False
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
