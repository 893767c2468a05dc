"""Cross-validation of candidates: each is scored for all ridges at once."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist._cached import cached
from jointdist._rules import Text, require
from jointdist.data.executor import Executor, Tell
from jointdist.data.sample import Sample, canonical_order
from jointdist.selection.partition import Partition
from jointdist.selection.risk import Trial, risk_of
from jointdist.selection.settings import SETTINGS
from jointdist.selection.specification import Candidate, Selected, Selection

__all__ = ["CrossValidation"]


class CrossValidation:
    """The folds of a sample, and the scores of all candidates on held-out rows.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    how : Selection
        Rows, folds, criterion and ridges of the selection.
    sample : Sample
        All rows.
    seed : int
        The seed of the choice of rows and of the folds.
    tell : callable
        Receives the progress.
    executor : Executor, optional
        Runs the folds.
    summed : bool, default=False
        Whether a ridge is added to a sum over the rows, so that it suits any number of them;
        otherwise it is added to a mean.
    repeated : bool, default=True
        Whether a weight counts repetitions of a row. Weights of classes do not.

    Attributes
    ----------
    sample : Sample
        The rows that take part.
    partition : Partition
        The folds, and parts of the rows that make them. Few rows are split several times.
    folds : int
        The number of folds; zero if all rows are equal.
    size : float
        The effective number of rows that each candidate is fitted to.
    candidates : list of Candidate
        All candidates so far.
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
        some = sample.take(sample.choose(how.rows, seed))
        self.sample = canonical_order(some, how.rows, repeated=repeated).of(some)
        self.partition = _partition(self.sample, how.cv, seed, repeated=not summed)
        self.folds = self.partition.folds
        shares = _fitted_shares(self.partition, self.sample)
        left = 1.0
        if shares.size:
            left = float(shares[0] if self.sample.folds is None else shares.mean())
        self.size = 1.0 if summed else left * self.sample.effective_size
        # The weight of the rows of a fold's fit, as a share of that of all rows.
        self._share = 1.0 if summed else left * self.sample.size / sample.size
        # A ridge is added to a mean: the fewer rows a fold is fitted to, the more it is.
        self._factors = left / shares if self.sample.folds is not None else shares**0
        self.candidates: list[Candidate] = []
        self._paths: list[Vector] = []
        self._start = perf_counter()

    def train(self, fold: int) -> Sample:
        """Return the rows that a fold is fitted to."""
        return self.sample.take(self.partition.fitted(fold))

    def held(self, fold: int) -> Sample:
        """Return the held-out rows of a fold."""
        return self.sample.take(self.partition.held(fold))

    def ridges(self, regularization: float | str, unit: float) -> Vector:
        """Return the ridges that are tried in each fold, the largest first.

        Parameters
        ----------
        regularization : float, "auto" or "loo"
            The ridge of the fit to all rows, if it is given.
        unit : float
            The unit of the default ridges times the number of rows.
        """
        given = self.how.regularizations
        if not isinstance(regularization, str):
            given = (regularization,)
        elif regularization == "loo":
            given = (1.0,)  # a path of one: each fit finds its own ridges
        if given is None:
            return np.asarray(SETTINGS.strengths) * unit / self.size
        return np.sort(np.asarray(given, dtype=np.float64))[::-1] / self._share

    def enter(
        self, trial: Callable[[int], Trial], ridges: Vector, **what: Any
    ) -> Candidate:
        """Score a candidate for all ridges, and record it.

        Parameters
        ----------
        trial : callable
            Fits the candidate to the rows of a fold's fit.
        ridges : array of shape (l,)
            The ridges.
        **what
            The fields of :class:`Candidate` that describe it.
        """
        start = perf_counter()
        risk = self.risk

        def scored(part: int) -> Vector:
            fitted, path = trial(part), np.empty(len(ridges))
            for i, ridge in enumerate((ridges * self._factors[part]).tolist()):
                path[i] = risk.of(fitted, fitted.solve(ridge))
            return path

        folds = range(self.folds)
        scores = list(
            self.executor.each(scored, folds) if risk.ours else map(scored, folds)
        )
        return self.record(np.array(scores), ridges, start, self._held, **what)

    @cached
    def _held(self) -> Vector:
        """The weights of the rows that are held out of each fold."""
        return np.array([self.held(fold).size for fold in range(self.folds)])

    def record(
        self,
        paths: Vector,
        ridges: Vector,
        start: float,
        weights: Vector | None = None,
        **what: Any,
    ) -> Candidate:
        """Record the scores of a candidate.

        Parameters
        ----------
        paths : array of shape (folds, l)
            The criterion for each fold and ridge.
        ridges : array of shape (l,)
            The ridges.
        start : float
            The time at which its fits began.
        weights : array of shape (folds,), optional
            The weights of the folds.
        **what
            The fields of :class:`Candidate` that describe it.
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
            **what,
        )
        self.candidates.append(candidate)
        self._paths.append(paths)
        tried, best = len(self.candidates), min(c.score for c in self.candidates)
        self.tell(tried / (tried + 8), f"{tried} tried, best {best:.4g}")
        return candidate

    @property
    def best(self) -> Candidate:
        """The candidate with the lowest score."""
        return min(self.candidates, key=lambda candidate: candidate.score)

    def result(self) -> Selected:
        """Return all candidates and the choice among them.

        One length scale a column is chosen if it is clearly better than a common one. Among
        all that is nearly as good as the best, the choice is the lowest degree and then the
        largest ridge: with a tiny ridge distributions are erratic where there are no rows.
        """
        scores = np.array([candidate.score for candidate in self.candidates])
        rule = "a number for one candidate at least"
        got = Text("none that is finite, whatever the kernels and the ridge")
        require(np.isfinite(scores.min()), self.where, "criterion", rule, got)
        common = np.array([c.scales != "each" for c in self.candidates])
        best = int(np.where(common, scores, np.inf).argmin())
        if scores[best] > scores.min() + SETTINGS.clearly_better * abs(scores.min()):
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
            for ridge in np.flatnonzero(self._nearly_as_good(number, best)).tolist()
        ]
        *_, number, ridge = min(near)
        seconds = perf_counter() - self._start
        found = self.candidates, number, ridge, self.risk.name
        return Selected(*found, self.sample.n, self.folds, seconds)

    def _nearly_as_good(self, number: int, best: int) -> NDArray[np.bool_]:
        """Tell for which ridges a candidate is nearly as good as the best one.

        The difference may be the standard error of the difference over the folds, at least
        1 % and at most 1.5 % of the score.
        """
        score = self.candidates[best].score
        first = self._paths[best][:, int(np.nanargmin(self.candidates[best].scores))]
        with np.errstate(invalid="ignore"):  # infinite scores
            worse = self._paths[number] - first[:, None]
            spread = (
                worse.std(axis=0, ddof=1) if len(first) > 1 else np.zeros(worse.shape[1])
            )
            error = spread / np.sqrt(len(first))
            least, most = (share * abs(score) for share in SETTINGS.nearly_as_good)
            allowed = np.clip(np.nan_to_num(error), least, most)
            return np.asarray(self.candidates[number].scores - score <= allowed)


def _partition(sample: Sample, cv: Any, seed: int, *, repeated: bool) -> Partition:
    """Return the folds of a sample: its own, or random ones, of few rows several times."""
    n = sample.n
    if not sample.varied:
        return Partition.none(n)
    if sample.folds is not None:
        return Partition.of(sample.folds)
    times = min(SETTINGS.repeats, SETTINGS.few // n) if repeated else 1
    return Partition.random(n, cv, range(seed, seed + max(times, 1)))


def _fitted_shares(partition: Partition, sample: Sample) -> Vector:
    """Return the share of the rows that each fold is fitted to; of random ones, the mean."""
    n, folds = sample.n, range(partition.folds)
    if sample.folds is None:
        once = [len(partition.held(fold)) for fold in folds if fold < partition.whole]
        return np.full(len(folds), 1 - sum(once) / (n * max(len(once), 1)))
    return np.array([len(partition.fitted(fold)) / n for fold in folds])
