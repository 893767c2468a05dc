"""The kernels and the ridge of a model, chosen on rows held out."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor, one_blas_thread
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.ard import fit_length_scales, with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.factor import Goal, LowRank, Pivoting, checked_goal, pivot_search
from jointdist.lowrank.randomized import choose_pivots
from jointdist.lowrank.ridge import ridge_regression, tried_ridges
from jointdist.selection.config import Candidate
from jointdist.selection.fold_moments import Side
from jointdist.selection.risk import Trial
from jointdist.selection.search import Climb, Contest

__all__ = ["Factoring", "KernelContest", "families"]

_RANK = {"x": 512, "y": 256}  # of the factors of candidates, at most
_MOST = 1024  # of the factors of X around the best one, if that was cut, or rough
_EXPLAINED = 4  # features of Y by which columns of X are judged
_ROUGH = 1.5, 0.5  # the smoothness of Matérn kernels
_ROWS = 500  # on which they are
_FEWEST = 8  # rows below which columns are not told apart
_ROUNDING = 1e-6  # a component beside the first one
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
    executor : Executor, optional
        How row blocks are worked on.
    """

    tol: float
    max_rank: int | None
    pivoting: Pivoting
    seed: int
    executor: Executor | None = None

    def goal(self, rows: Rows, most: int | None = None) -> Goal:
        """Return when to stop, having checked these arguments.

        Parameters
        ----------
        rows : Rows
            The rows.
        most : int, optional
            The largest rank where none is given.
        """
        rank = most if self.max_rank is None else self.max_rank
        return checked_goal(rows, self.tol, rank, self.pivoting)

    def factored(
        self,
        name: str,
        kernel: Kernel,
        rows: Rows,
        weights: Vector | None,
        most: int | None = None,
    ) -> LowRank:
        """Return a factor, and no warning if it falls short of its goal.

        Parameters
        ----------
        name : str
            The kernel as an argument, for messages.
        kernel : Kernel
            The kernel.
        rows : Rows
            The rows.
        weights : array of shape (n,), optional
            Their weights.
        most : int, optional
            The largest rank where none is given.
        """
        goal, rng = self.goal(rows, most), np.random.default_rng(self.seed)
        search = pivot_search(
            kernel, name, rows, weights, goal, rng=rng, executor=self.executor
        )
        return choose_pivots(search, self.pivoting).factor(rows)


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
    regularization : float, "auto" or "loo"
        The ridge, if it is given.
    centred : bool
        Whether bases are.
    rough : bool, default=False
        Whether kernels of X may be rougher than a Gaussian.
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
        rough: bool = False,
    ) -> None:
        self.contest, self.factoring, self.make = contest, factoring, make
        self.unit, self.regularization, self.centred = unit, regularization, centred
        self.rough = rough
        self._most = dict(_RANK)
        self._sides: dict[tuple[str, Kernel, int], Side] = {}

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
        held, start = self.contest.parts[: self.contest.folds], (0, 0)
        missed = self._missed if self.rough else None
        reached = []
        for family, own in families(
            x, self.contest, held, lambda: self._features(y), missed
        ):
            most = self._most["x"] = _RANK["x"] if family.nu == math.inf else _MOST
            end = self._climb(family, own, y, start)
            reached.append((self._best.score, most, family, own, end))
            start = 0, end[1]
        _, most, family, own, end = min(reached, key=lambda entry: entry[0])
        cut = self._best.rank_x >= most and self.factoring.max_rank is None
        if cut and most < min(_MOST, self.contest.sample.n) and family.free:
            self._most["x"] = _MOST
            self._climb(family, own, y, end)

    def _features(self, y: Family) -> Vector:
        """Return the features of Y at all rows."""
        low = self._side("y", y, 0).low
        U: Vector = to_numpy(low.map.features(low.rows.read(0, low.rows.n)))
        return U

    def _missed(self, family: Family, U: Vector) -> float:
        """Return what regressions of the features of Y miss of rows that are left out.

        Of the rank of the final fit: rough kernels need more of it than smooth ones.
        """
        sample = self.contest.sample
        x, w = sample.x, sample.weights
        T = _leading(U)
        low = self.factoring.factored("kernel_x", family.at(1.0), x, w, _MOST)
        fit = ridge_regression(low, T, w, executor=self.contest.executor)
        errors = fit.errors(x, T, w, tried_ridges(fit), self.contest.executor)
        return float(errors.min(axis=0).sum())

    @property
    def _best(self) -> Candidate:
        return min(self.contest.candidates, key=lambda candidate: candidate.score)

    def _climb(
        self, x: Family, own: list[Family], y: Family, start: tuple[int, int]
    ) -> tuple[int, int]:
        """Go down along the scales, of X in the family of each fit."""

        def enter(i: int, j: int) -> float:
            sides = [self._side("x", family, i) for family in own]
            return self._enter(x, i, sides, self._side("y", y, j)).score

        return Climb(enter, (x, y)).down(*start)

    def _enter(self, family: Family, power: int, x: list[Side], y: Side) -> Candidate:
        weight, group = self.contest.sample.size, self.contest.group
        means = (sum(side.traces[:group]) / weight for side in (x[0], y))
        unit = self.unit(*means)
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
        key = name, kernel, self._most[name]
        if key not in self._sides:
            self._sides[key] = self._factored(name, kernel, 2.0**power)
        return self._sides[key]

    def _factored(self, name: str, kernel: Kernel, factor: float) -> Side:
        sample = self.contest.sample
        rows, weights = sample.x if name == "x" else sample.y, sample.weights
        argument = f"kernel_{name}"
        low = self.factoring.factored(argument, kernel, rows, weights, self._most[name])
        group, executor = self.contest.group, self.contest.executor
        return Side(low, self.contest.parts, weights, self.centred, factor, group, executor)


def families(
    x: Family,
    contest: Contest,
    held: list[NDArray[np.intp]],
    features: Callable[[], Vector],
    missed: Callable[[Family, Vector], float] | None = None,
) -> Iterator[tuple[Family, list[Family]]]:
    """Yield the kernels of X to try, each time with those of each fit.

    First a family as it is. Then, if it is asked for and can be told, the best one with a
    scale for each column. Scales that were learned from rows can't be judged by them, so
    that those of a fit are learned from its own; where rows are many, those that scales
    are learned from don't matter.

    Parameters
    ----------
    x : Family
        The kernels of X.
    contest : Contest
        The rows, and whether there may be a scale for each column.
    held : list of arrays of int
        The rows that are held out of each fit.
    features : callable
        Gives features of Y at all rows, which columns of X should say something about.
    missed : callable, optional
        What kernels miss of these features, by which the smoothness of those with a scale
        for each column is chosen; by default they are Gaussians.
    """
    sample = contest.sample
    yield x, [x] * len(held)
    several = len(x.scales) > 1 and contest.how.scales == "each"
    if not several or sample.n < _FEWEST:
        return
    U = features()
    kinds = [x] if missed is None else [replace(x, nu=nu) for nu in (x.nu, *_ROUGH)]
    learned = contest.executor.each(lambda kind: _relevant(kind, sample, U), kinds)
    found = [family for family in learned if family is not None]
    if not found:
        return
    every = found[0] if missed is None else min(found, key=lambda own: missed(own, U))

    def without(part: NDArray[np.intp]) -> Family:
        rows = np.setdiff1d(np.arange(sample.n), part)
        kind = replace(x, nu=every.nu)
        return _relevant(kind, sample.take(rows), U[rows]) or kind

    many = sample.n >= _MANY
    yield every, [every] * len(held) if many else list(contest.executor.each(without, held))


def _relevant(x: Family, sample: Sample, U: Vector) -> Family | None:
    """Return the family with scales by what each column of X says about features of Y.

    None if that cannot be told. Equal rows count once: they would pretend that there is no
    noise.
    """
    X = to_numpy(sample.x.read(0, sample.n))
    _, rows = np.unique(np.hstack([X, U.round(12)]), axis=0, return_index=True)
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    T = _leading(U[rows])
    if not T.any():
        return None
    return with_length_scales(x, fit_length_scales(x, X[rows], T))


def _leading(U: Vector) -> Vector:
    """Return the leading components of features, each with the variance that it has.

    The first tell where laws are, and count for more than others, which tell how they
    are shaped. Their unit is that of the first.
    """
    left, s, _ = np.linalg.svd(U - U.mean(axis=0), full_matrices=False)
    few = min(_EXPLAINED, int(np.sum(s > _ROUNDING * s.max(initial=0.0))))
    found: Vector = left[:, :few] * (s[:few] / s[:1] * np.sqrt(len(U)))
    return found
