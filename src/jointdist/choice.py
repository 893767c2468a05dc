"""The kernels and the ridge of a model, chosen on rows held out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from jointdist._array import to_numpy
from jointdist.atoms import Vector
from jointdist.criteria import Trial
from jointdist.executor import Executor, executor_for, one_blas_thread
from jointdist.features import kernel_matrix
from jointdist.kernels import Kernel
from jointdist.lowrank import factored
from jointdist.relevance import relevant_scales
from jointdist.sample import Sample
from jointdist.scales import Family
from jointdist.search import Goal, Pivoting, Search, kernel_rounding
from jointdist.selection import Candidate
from jointdist.tuning import Climb, Contest, Side

__all__ = ["Factoring", "KernelContest", "relevant"]

_RANK = {"x": 512, "y": 256}  # of the factors of candidates, at most
_EXPLAINED = 4  # features of Y by which columns of X are judged
_ROWS = 500  # on which they are
_FEWEST = 8  # rows below which columns are not told apart
_MANY = 2048  # rows of which those that scales are learned from may judge them too

Try: TypeAlias = Callable[[Side, Side, int], Trial]


@dataclass(frozen=True, slots=True)
class Factoring:
    """How kernel matrices are factored.

    Attributes
    ----------
    tol : float
        The share of the trace that may be lost.
    max_rank : int, optional
        The largest rank.
    pivoting : str
        How pivots are chosen.
    seed : int
        The seed of that.
    """

    tol: float
    max_rank: int | None
    pivoting: Pivoting
    seed: int


class KernelContest:
    """Pairs of kernels, and how they fare.

    Parameters
    ----------
    contest : Contest
        The rows and the criterion.
    factoring : Factoring
        How kernel matrices are factored.
    make : callable
        Makes a trial of two sides and the part that is held out.
    unit : callable
        From the mean diagonals of both kernels to the unit of the ridge.
    regularization : float or "auto"
        The ridge, if it is given.
    centred : bool
        Whether bases are.
    """

    def __init__(
        self,
        contest: Contest,
        factoring: Factoring,
        make: Try,
        unit: Callable[[float, float], float],
        regularization: float | str,
        *,
        centred: bool,
    ) -> None:
        self.contest, self.factoring, self.make = contest, factoring, make
        self.unit, self.regularization, self.centred = unit, regularization, centred
        self._sides: dict[tuple[str, Kernel], Side] = {}

    def run(self, x: Family, y: Family) -> None:
        """Try kernels of two families, and of one with a scale for each column of X.

        Parameters
        ----------
        x, y : Family
            The kernels of X and of Y.
        """
        with one_blas_thread:  # the matrices are small
            self._run(x, y)

    def _run(self, x: Family, y: Family) -> None:
        _, j = self._climb(x, y, (0, 0), lambda _: x)
        several = len(x.scales) > 1 and self.contest.how.scales == "each"
        if not several or self.contest.sample.n < _FEWEST:
            return
        every, of_part = self._relevant(x, y)
        if every is not None:
            self._climb(every, y, (0, j), of_part)

    def _relevant(
        self, x: Family, y: Family
    ) -> tuple[Family | None, Callable[[int], Family]]:
        """Return kernels with a scale for each column, by all rows and for each part.

        Scales that were learned from rows can't be judged by them; where rows are many,
        those that scales are learned from don't matter.
        """
        contest, low = self.contest, self._side("y", y, 0).low
        U = to_numpy(low.map.features(low.rows.read(0, low.rows.n)))
        every = relevant(x, contest.sample, U)
        if contest.sample.n >= _MANY:
            return every, lambda _: every or x

        def without(part: int) -> Family:
            rows = np.setdiff1d(np.arange(contest.sample.n), contest.parts[part])
            return relevant(x, contest.sample.take(rows), U[rows]) or x

        found = list(Executor().each(without, range(contest.folds)))
        return every, lambda part: found[part]

    def _climb(
        self,
        x: Family,
        y: Family,
        start: tuple[int, int],
        of_part: Callable[[int], Family],
    ) -> tuple[int, int]:
        def enter(i: int, j: int) -> float:
            sides = [self._side("x", of_part(k), i) for k in range(self.contest.folds)]
            return self._enter(x, i, sides, self._side("y", y, j)).score

        return Climb(enter, (x, y)).down(*start)

    def _enter(self, family: Family, power: int, x: list[Side], y: Side) -> Candidate:
        sums = self.contest.sample.weights
        weight = float(self.contest.sample.n if sums is None else sums.sum())
        unit = self.unit(sum(x[0].traces) / weight, sum(y.traces) / weight)
        return self.contest.enter(
            lambda part: self.make(x[part], y, part),
            self.contest.ridges(self.regularization, unit),
            kernel_x=family.at(2.0**power),
            kernel_y=y.low.kernel,
            factor_x=2.0**power,
            factor_y=y.factor,
            scales=family.name,
            rank_x=max(side.low.rank for side in x),
            rank_y=y.low.rank,
        )

    def _side(self, name: str, family: Family, power: int) -> Side:
        kernel = family.at(2.0**power)
        if (name, kernel) not in self._sides:
            self._sides[name, kernel] = self._factored(name, kernel, 2.0**power)
        return self._sides[name, kernel]

    def _factored(self, name: str, kernel: Kernel, factor: float) -> Side:
        sample, how = self.contest.sample, self.factoring
        rows = sample.x if name == "x" else sample.y
        most = min(how.max_rank or _RANK[name], rows.n)
        goal = Goal(how.tol, relative=True, max_rank=most, rank_asked=True)
        eps = kernel_rounding(kernel, rows, f"kernel_{name}")
        rng, executor = np.random.default_rng(how.seed), executor_for(rows)
        weights = sample.weights
        search = Search(kernel, f"kernel_{name}", eps, rows, weights, goal, rng, executor)
        low = factored(search, how.pivoting)
        return Side(low, self.contest.parts, weights, self.centred, factor)


def relevant(x: Family, sample: Sample, U: Vector) -> Family | None:
    """Return the family with scales by what each column of X says about features of Y.

    None if that cannot be told. Equal rows count once: they would pretend that there is no
    noise.

    Parameters
    ----------
    x : Family
        The kernels of X, with a scale for each column of numbers.
    sample : Sample
        The rows.
    U : array of shape (n, m)
        Features of Y at them.
    """
    X = to_numpy(sample.x.read(0, sample.n))
    _, rows = np.unique(np.hstack([X, U.round(12)]), axis=0, return_index=True)
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    left, s, _ = np.linalg.svd(U[rows] - U[rows].mean(axis=0), full_matrices=False)
    few = min(_EXPLAINED, int(np.sum(s > 1e-6 * s.max(initial=0.0))))
    if few == 0:
        return None
    U = left[:, :few] * np.sqrt(len(rows))
    scales, words = np.asarray(x.scales), x.of_words
    z = sample.x.take(rows)
    similarity = None if words is None else to_numpy(kernel_matrix(words, z, z))
    Z = X[rows][:, x.numbers] / scales
    factors = relevant_scales(Z, U, similarity=similarity)
    return Family(x.coding, tuple((scales * factors).tolist()), None, "each")
