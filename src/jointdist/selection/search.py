r"""Candidates judged on rows held out, and the way from one to the next.

All ridges of a candidate are judged at once; scales are changed until nothing is better.
"""

from collections.abc import Callable
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist._progress import Tell
from jointdist.data.executor import Executor
from jointdist.data.folds import held_out, settled
from jointdist.data.sample import Sample
from jointdist.errors import Text, require
from jointdist.kernels.median_heuristic import Family
from jointdist.selection.config import Candidate, Selected, Selection
from jointdist.selection.fold_moments import parted
from jointdist.selection.risk import Trial, risk_of

__all__ = ["Climb", "Contest"]

_STRENGTHS = 10.0 ** np.arange(2, -7.1, -0.5)  # ridges times the number of rows
_LATTICE = range(-6, 4)  # powers of two, by which scales are multiplied
_REPEATS, _FEW = 2, 400  # times that rows are parted at most, and rows so counted
_BETTER = 5e-3  # of the score, by which it must fall for another candidate
_CLEARLY = 0.02  # of the score, by which a scale for each column must be better
_NEARLY = 0.01, 0.015  # of the score, that a larger ridge may cost
_HOPELESS = 0.05  # of the score, by which it may rise before neighbours are not tried


class Contest:
    """Candidates, and how they fare on rows held out.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    how : Selection
        On which rows, by what, and among what.
    sample : Sample
        All rows.
    seed : int
        Decides on the rows.
    tell : callable
        Where progress goes.
    executor : Executor, optional
        How parts are worked on.
    summed : bool, default=False
        Whether ridges are added to a sum over the rows, and serve any number of them;
        otherwise to a mean.
    repeated : bool, default=True
        Whether weights tell how often a row was seen; those of classes don't.

    Attributes
    ----------
    sample : Sample
        The rows that take part.
    parts : list of arrays of int
        Parts of them; few rows are parted several times.
    group : int
        How many of the parts are all rows.
    folds : int
        How many of the parts are held out in turn; none if all rows are equal.
    """

    def __init__(
        self,
        where: str,
        how: Selection,
        sample: Sample,
        seed: int,
        tell: Tell,
        *,
        executor: Executor | None = None,
        summed: bool = False,
        repeated: bool = True,
    ) -> None:
        self.where, self.how, self.tell = where, how, tell
        self.risk = risk_of(where, how.criterion)
        self.executor = Executor() if executor is None else executor
        few = sample.choose(how.rows, seed)
        some = sample.take(few)
        self.sample = settled(some, how.rows, repeated=repeated).of(some)
        n = self.sample.n
        held = held_out(n, how.cv, seed) if self.sample.varied else []
        self.parts = parted(n, held) if held else [np.arange(n)]
        self.folds, self.group = len(held), len(self.parts)
        if self.folds > 1 and not summed:
            for again in range(1, min(_REPEATS, _FEW // n)):
                self.parts += held_out(n, how.cv, seed + again)
            self.folds = len(self.parts)
        left = 1 - sum(map(len, held)) / (n * max(len(held), 1))
        # of the rows that candidates are fitted to: their number, and their share of all
        self.size = 1.0 if summed else left * self.sample.effective_size
        self._share = 1.0 if summed else left * self.sample.size / sample.size
        self.candidates: list[Candidate] = []
        self._paths: list[Vector] = []
        self._start = perf_counter()

    def train(self, part: int) -> Sample:
        """Return the rows that are not held out with a part."""
        return self.sample.take(np.setdiff1d(np.arange(self.sample.n), self.parts[part]))

    def held(self, part: int) -> Sample:
        """Return the rows of a part."""
        return self.sample.take(self.parts[part])

    def ridges(self, regularization: float | str, unit: float) -> Vector:
        """Return the ridges that are tried on these rows, the largest first.

        Parameters
        ----------
        regularization : float, "auto" or "loo"
            The ridge of the fit to all rows, if it is given.
        unit : float
            That of the strengths, the ridges times the number of rows.
        """
        given = self.how.regularizations
        if not isinstance(regularization, str):
            given = (regularization,)
        elif regularization == "loo":
            given = (1.0,)  # for those of each fit
        if given is None:
            return _STRENGTHS * unit / self.size
        return np.sort(np.asarray(given, dtype=np.float64))[::-1] / self._share

    def enter(
        self, trial: Callable[[int], Trial], ridges: Vector, **told: Any
    ) -> Candidate:
        """Judge a candidate for all ridges.

        Parameters
        ----------
        trial : callable
            Makes a model of all parts but one.
        ridges : array of shape (l,)
            The ridges.
        **told
            What the candidate is.
        """
        start = perf_counter()

        def judged(part: int) -> Vector:
            return self.risk.path(trial(part), ridges)

        folds = range(self.folds)
        ours = self.executor.each(judged, folds) if self.risk.ours else map(judged, folds)
        return self.record(np.array(list(ours)), ridges, start, self._held, **told)

    @cached_property
    def _held(self) -> Vector:
        """The weights of the rows of each part that is held out."""
        parts = self.parts[: self.folds]
        return np.array([self.sample.take(part).size for part in parts])

    def record(
        self,
        paths: Vector,
        ridges: Vector,
        start: float,
        weights: Vector | None = None,
        **told: Any,
    ) -> Candidate:
        """Keep a candidate.

        Parameters
        ----------
        paths : array of shape (folds, l)
            Its criterion for each part held out and each ridge.
        ridges : array of shape (l,)
            The ridges.
        start : float
            When it was begun.
        weights : array of shape (folds,), optional
            The weights of the parts.
        **told
            What it is.
        """
        folds = len(paths)
        with np.errstate(invalid="ignore"):  # infinite scores
            scores = np.average(paths, axis=0, weights=weights)
            spread = paths.std(axis=0, ddof=1) if folds > 1 else np.nan * scores
        candidate = Candidate(
            ridges * self._share,
            scores,
            spread / np.sqrt(folds),
            seconds=perf_counter() - start,
            **told,
        )
        self.candidates.append(candidate)
        self._paths.append(paths)
        tried, best = len(self.candidates), min(c.score for c in self.candidates)
        self.tell(tried / (tried + 8), f"{tried} tried, best {best:.4g}")
        return candidate

    def result(self) -> Selected:
        """Return what was tried, with what is chosen.

        A scale for each column is taken if it is clearly better than a common one. Of what
        is nearly as good as the best, the lowest degree, and then the largest ridge: where
        there are no rows, laws of a tiny ridge are wild.
        """
        scores = np.array([candidate.score for candidate in self.candidates])
        rule = "a number for one candidate at least"
        got = Text("none that is finite, whatever the kernels and the ridge")
        require(np.isfinite(scores.min()), self.where, "criterion", rule, got)
        common = np.array([c.scales != "each" for c in self.candidates])
        best = int(np.where(common, scores, np.inf).argmin())
        if scores[best] > scores.min() + _CLEARLY * abs(scores.min()):
            common[:], best = True, int(scores.argmin())
        near = [
            (
                candidate.degree or 0,
                -candidate.regularizations[ridge],
                candidate.scores[ridge],
                number,
                ridge,
            )
            for number, candidate in enumerate(self.candidates)
            if common[number]
            for ridge in np.flatnonzero(self._nearly(number, best)).tolist()
        ]
        *_, number, ridge = min(near)
        seconds = perf_counter() - self._start
        found = self.candidates, number, ridge, self.risk.name
        return Selected(*found, self.sample.n, self.folds, seconds)

    def _nearly(self, number: int, best: int) -> NDArray[np.bool_]:
        """Tell for which ridges a candidate is nearly as good as the best one.

        That is by less than the standard error of the difference over the parts, but 1 %
        in any case and 1.5 % at most.
        """
        score = self.candidates[best].score
        first = self._paths[best][:, int(np.nanargmin(self.candidates[best].scores))]
        with np.errstate(invalid="ignore"):  # infinite scores
            worse = self._paths[number] - first[:, None]
            spread = (
                worse.std(axis=0, ddof=1) if len(first) > 1 else np.zeros(worse.shape[1])
            )
            error = spread / np.sqrt(len(first))
            least, most = (share * abs(score) for share in _NEARLY)
            allowed = np.clip(np.nan_to_num(error), least, most)
            return np.asarray(self.candidates[number].scores - score <= allowed)


class Climb:
    """A way down the scores on the lattice of scales.

    Along Y first, as its features are few; then along X, each time with the neighbours
    along Y; until nothing is better.

    Parameters
    ----------
    enter : callable
        From the powers of two of both scales to a score.
    families : tuple of Family
        The kernels of X and of Y.
    """

    def __init__(
        self, enter: Callable[[int, int], float], families: tuple[Family, Family]
    ) -> None:
        self._enter, self._families = enter, families
        self._seen: dict[tuple[int, int], float] = {}

    def down(self, i: int, j: int) -> tuple[int, int]:
        """Return the lowest point that is reached.

        Parameters
        ----------
        i, j : int
            The powers to begin with, for X and for Y.
        """
        j = self._along(i, j)
        for step in (-1, 1):
            first = i
            while True:
                new = i + step, self._beside(i + step, j, self._score(i, j))
                if not self._better(new, (i, j)):
                    break
                i, j = new[0], self._along(*new)
            if i != first:
                break
        return i, j

    def _along(self, i: int, j: int) -> int:
        """Go down along Y."""
        for step in (-1, 1):
            first = j
            while self._better((i, j + step), (i, j)):
                j += step
            if j != first:
                break
        return j

    def _beside(self, i: int, j: int, best: float) -> int:
        """Return the best of three along Y, if there is hope that it is better."""
        if self._score(i, j) > best + _HOPELESS * abs(best):
            return j
        return min((j, j - 1, j + 1), key=lambda k: self._score(i, k))

    def _better(self, new: tuple[int, int], old: tuple[int, int]) -> bool:
        a, b = self._score(*new), self._score(*old)
        return a < b - _BETTER * abs(b) if np.isfinite(b) else a < b

    def _score(self, i: int, j: int) -> float:
        if not (self._inside(0, i) and self._inside(1, j)):
            return np.inf
        if (i, j) not in self._seen:
            self._seen[i, j] = self._enter(i, j)
        return self._seen[i, j]

    def _inside(self, side: int, power: int) -> bool:
        return power in _LATTICE if self._families[side].free else power == 0
