"""Selection of the kernel of X, the functions of Y and the ridge of a log-linear ratio.

Candidates are coarse: fits to a few thousand rows, with few functions of X and few evaluations,
each from the solution of the ridge before. They are compared by their scores on held-out rows,
all of them on one fold, the best on several.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple, TypeAlias

import numpy as np

from jointdist._array import Index, Matrix, Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for, one_blas_thread, progress
from jointdist.data.sample import Sample
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.likelihood.cell_functions import (
    CellFunctions,
    cell_functions,
    most_functions_y,
)
from jointdist.likelihood.fit import regressors
from jointdist.likelihood.outcome_cells import cells_of_regions
from jointdist.likelihood.ridge_path import RidgePath, first_ridge, path_of_ridges
from jointdist.likelihood.settings import SETTINGS as LIKELIHOOD
from jointdist.lowrank.basis import host_features
from jointdist.programs import (
    Blocks,
    LogRatioProblem,
    LogRatioSolution,
    cell_probabilities,
)
from jointdist.projection.partition import cells_of_points
from jointdist.projection.pooled import Pooled
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.kernel_search import Chosen, KernelSearch
from jointdist.selection.length_scales import relevant_family
from jointdist.selection.risk import Outcomes, Trial
from jointdist.selection.specification import Candidate, Selected, Selection

__all__ = ["select_likelihood"]

Located: TypeAlias = tuple[float, float]

_SMOOTHNESS = np.inf, 1.5, 0.5  # of the kernels of X that are tried
_RANK = 600  # functions of X of a candidate: a time budget
_POWERS = 4  # length scales are tried up to two to this power from where they start
# The same of functions of several columns of Y: of candidates that were better by 0.4 %, the fits
# to all rows of simulated waves were worse by as much.
_CLEARLY = 1e-2
_BETTER = 3e-3  # the share of the score by which a candidate must be better: less is noise
# Folds that candidates are judged by unless users say, from so many rows on: a time budget. A
# third of the rows, held out once, is enough of many. With 455 rows of a UCI set the CRPS of what
# was chosen by five folds was 4 % lower than by three (20 development splits).
_FOLDS: tuple[tuple[int, float], ...] = (3000, 1 / 3), (700, 3)
_MOST_FOLDS = 5  # of few rows, which are split several times
_FEWEST = 8  # rows below which columns cannot be told apart


class _Place(NamedTuple):
    """A candidate: the number of its family, the power of its length scales, functions of Y."""

    family: int
    power: int
    located: Located


@dataclass(frozen=True, eq=False)
class _Fold:
    """Outcomes of the rows that a fold is fitted to, in cells, and those held out.

    Attributes
    ----------
    fit, held : arrays of int
        The rows.
    cells : CellSupport
        The cells of the outcomes of the fit, one for each row.
    outcomes : Outcomes
        The held-out outcomes.
    """

    fit: Index
    held: Index
    cells: CellSupport
    outcomes: Outcomes


@dataclass(frozen=True, eq=False)
class _CellTrial(Trial):
    """Held-out rows whose distributions are given by their coefficients on cells."""

    def coefficients(self, H: Vector) -> Vector:
        """Return the coefficients of the distributions at held-out rows, ``(q, m)``."""
        return H


def select_likelihood(
    sample: Sample,
    encodings: tuple[Encoding, Encoding],
    search: KernelSearch,
    rng: np.random.Generator,
) -> Chosen:
    """Return the kernel of X, the functions of Y and the ridge of a log-linear ratio.

    Parameters
    ----------
    sample : Sample
        All rows.
    encodings : tuple of Encoding
        The columns of X and Y.
    search : KernelSearch
        What is to be chosen, and how.
    rng : Generator
        Chooses the rows that the median heuristic compares.
    """
    kernels, weights = search.kernels, sample.weights
    x = family_of("x", kernels[0], encodings[0], sample.x, weights=weights, rng=rng)
    y = family_of("y", kernels[1], encodings[1], sample.y, weights=weights, rng=rng)
    kernel_y = y.at(1.0)
    located: tuple[Located, ...] = ((0.0, 0.0),)
    if y.given is None and encodings[1].width > 1:
        located = LIKELIHOOD.located_of_several
    elif y.given is None and encodings[1].numeric:
        located = LIKELIHOOD.located
    default = Chosen(x.at(1.0), kernel_y, located=located[0])
    auto = isinstance(search.regularization, str)
    if not (auto or x.free or len(located) > 1):
        return default
    how = Selection() if search.selection is None else search.selection
    rule = 'another for positivity "exponential", whose ratio is not linear'
    require(how.criterion != "ratio", search.where, "criterion", rule, how.criterion)
    least = min(how.regularizations or (1.0,))
    rule = 'positive for positivity "exponential"'
    require(least > 0, search.where, "regularizations", rule, least)
    if search.selection is None and sample.folds is None:
        how = replace(how, cv=_folds(min(sample.n, how.rows)))
    with progress(f"{search.where}: kernel and ridge", verbose=search.verbose) as tell:
        executor = executor_for(sample.x, search.executor)
        seed, repeated = search.factoring.seed, search.repeated
        validation = CrossValidation(
            search.where, how, sample, seed, tell, executor=executor, repeated=repeated
        )
        codes = validation.sample.y.table()
        if not validation.folds or not (codes != codes[0]).any():
            return default
        free = encodings[1].numeric or encodings[1].width > 1
        given = None if y.given is None and free else kernel_y
        found = _Candidates(search, validation, encodings[1], given)
        with one_blas_thread() as blas, blas:  # the matrices are small
            found.explore(x, located)
    return found.chosen(kernel_y, sample.size)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidates, each scored once.

    Attributes
    ----------
    search : KernelSearch
        The specification.
    validation : CrossValidation
        The rows and the folds.
    encoding : Encoding
        The columns of Y.
    kernel_y : Kernel, optional
        The kernel of Y; None for that of ranks.
    """

    search: KernelSearch
    validation: CrossValidation
    encoding: Encoding
    kernel_y: Kernel | None
    families: list[Family] = field(default_factory=list)
    _folds: list[_Fold] = field(default_factory=list)
    _functions: dict[tuple[int, Located], CellFunctions] = field(default_factory=dict)
    _bases: dict[tuple[int, int], tuple[Matrix, Vector]] = field(default_factory=dict)
    _paths: dict[tuple[_Place, int], RidgePath] = field(default_factory=dict)
    _seconds: dict[tuple[_Place, int], float] = field(default_factory=dict)
    _errors: dict[tuple[_Place, int], dict[float, float]] = field(default_factory=dict)
    _best: list[_Place] = field(default_factory=list)

    def explore(self, x: Family, located: tuple[Located, ...]) -> None:
        """Search for the best candidate.

        Parameters
        ----------
        x : Family
            The kernels of X.
        located : tuple of tuples of float
            The weights of outcomes and their squares in the kernel of Y, to be tried.
        """
        folds = self.validation.folds
        if self.search.selection is None:
            folds = min(folds, _MOST_FOLDS)
        self._folds.extend(self._fold(i) for i in range(folds))
        self.families.extend(self._kinds(x))
        tried = located[:1] if self._several else located[:2]
        first = [_Place(i, 0, a) for i in range(len(self.families)) for a in tried]
        self._score(first, 1)
        ranked = sorted(first, key=lambda place: self._at(place, 1))
        other = next((p for p in ranked if p.family != ranked[0].family), ranked[0])
        best = self._first_of([ranked[0], other])
        rival = ranked[0].family + other.family - best.family
        start = best
        near = [a for a in located if any(best.located) or self._several or a[0] < 1e3]
        margin = _CLEARLY if self._several else _BETTER
        for a in near:
            best = self._better(best, best._replace(located=a), margin)
        if x.free:
            best = self._along(best)
        if best != start and rival != best.family:
            best = self._better(best, best._replace(family=rival))
        self._best.append(best)

    def chosen(self, kernel_y: Kernel, size: float) -> Chosen:
        """Return the best candidate.

        Parameters
        ----------
        kernel_y : Kernel
            The kernel of Y, for moments.
        size : float
            The weight of all rows.
        """
        (best,), every = self._best, len(self._folds)
        candidates = [self._entry(*key) for key in self._paths]
        number = list(self._paths).index((best, every))
        path = self._paths[best, every]
        rule = "a number for one candidate at least"
        got = Text("none that is finite, whatever the kernel and the ridge")
        require(np.isfinite(path.score), self.search.where, "criterion", rule, got)
        ridge = path.number
        seconds = sum(self._seconds.values())
        name, n = self.validation.risk.name, self.validation.sample.n
        selected = Selected(candidates, number, ridge, name, n, every, seconds)
        strength = path.best * size
        kernel_x = self.families[best.family].at(2.0**best.power)
        return Chosen(kernel_x, kernel_y, strength, selected, best.located)

    def _entry(self, place: _Place, few: int) -> Candidate:
        """Return the record of a candidate."""
        path, family = self._paths[place, few], self.families[place.family]
        F, _ = self._bases[place.family, place.power]
        errors = self._errors[place, few]
        return Candidate(
            np.array(path.ridges),
            np.array(path.scores),
            np.array([errors.get(score, np.nan) for score in path.scores]),
            rank_x=F.shape[1],
            rank_y=len(self._functions[0, place.located].variances),
            seconds=self._seconds[place, few],
            kernel_x=family.at(2.0**place.power),
            kernel_y=self.kernel_y,
            factor_x=2.0**place.power,
            scales=family.name,
            located=place.located,
            folds=few,
        )

    @property
    def _several(self) -> bool:
        """Whether Y has several columns."""
        return self.encoding.width > 1

    def _kinds(self, x: Family) -> list[Family]:
        """Return the families of kernels to try.

        A length scale for each column is learned from rows that the first fold is fitted to.
        """
        if not x.free:
            return [x]
        kinds = [replace(x, nu=nu) for nu in _SMOOTHNESS]
        first, how = self._folds[0], self.validation.how
        if not x.several or how.scales != "each" or len(first.fit) < _FEWEST:
            return kinds
        of_y = LIKELIHOOD.located_of_several[0] if self._several else (0.0, 0.0)
        U = self._functions_of(0, of_y).values[first.cells.cell]
        rows = self.validation.sample.take(first.fit)
        learned = self.validation.executor.each(
            lambda kind: relevant_family(kind, rows, U), kinds
        )
        return [*kinds, *(family for family in learned if family is not None)]

    def _fold(self, number: int) -> _Fold:
        partition, sample = self.validation.partition, self.validation.sample
        fit, held = partition.fitted(number), partition.held(number)
        rows, out = sample.take(fit), sample.take(held)
        points = SupportPoints(rows.y, self.encoding, rows.weights, Executor(workers=1))
        origin = points.table()[0]
        if self._several:
            cells, _ = cells_of_regions(points, LIKELIHOOD.trial_cells_of_several, origin)
        else:
            cells = cells_of_points(points, points, LIKELIHOOD.trial_cells, origin)
        observed = to_numpy(out.y.read(0, out.n))
        return _Fold(fit, held, cells, Outcomes(cells, observed, out.weights, kind=Pooled))

    def _functions_of(self, fold: int, located: Located) -> CellFunctions:
        """Return functions of Y on the cells of a fold."""
        if (fold, located) not in self._functions:
            cells = self._folds[fold].cells
            most = most_functions_y(cells.sample)
            found = cell_functions(cells, self.kernel_y, most, located)
            self._functions[fold, located] = found
        return self._functions[fold, located]

    def _basis(self, family: int, power: int) -> tuple[Matrix, Vector]:
        """Return the functions of X at all rows, and their mean squares."""
        if (family, power) not in self._bases:
            kernel, sample = self.families[family].at(2.0**power), self.validation.sample
            factoring = replace(
                self.search.factoring, tol=min(self.search.factoring.tol, LIKELIHOOD.trace)
            )
            w, one = sample.weights, Executor(workers=1)
            low = factoring.factored("kernel_x", kernel, sample.x, w, _RANK)
            basis = regressors(low, sample.x, w, one).basis
            F = host_features(basis, sample.x.read(0, sample.n))
            self._bases[family, power] = F, to_numpy(basis.eigenvalues) / sample.size
        return self._bases[family, power]

    def _score(self, places: Iterable[_Place], few: int) -> None:
        """Score candidates on the first folds, several at a time."""
        new = [p for p in dict.fromkeys(places) if (p, few) not in self._paths]
        executor, ours = self.validation.executor, self.validation.risk.ours
        for a in {place.located for place in new}:
            for fold in range(few):
                self._functions_of(fold, a)
        bases = list(dict.fromkeys((p.family, p.power) for p in new))
        list(executor.each(lambda key: self._basis(*key), bases))
        start = perf_counter()

        def path(place: _Place) -> RidgePath:
            return self._path(place, few)

        found = list(executor.each(path, new) if ours else map(path, new))
        for place, each in zip(new, found, strict=True):
            self._paths[place, few] = each
            self._seconds[place, few] = (perf_counter() - start) / len(new)
            best = min(own.score for own in self._paths.values())
            tried = len(self._paths)
            self.validation.tell(tried / (tried + 8), f"{tried} tried, best {best:.4g}")

    def _path(self, place: _Place, few: int) -> RidgePath:
        """Return the scores of a candidate along ridges."""
        F, c_x = self._basis(place.family, place.power)
        problems, trials = [], []
        weights = self.validation.sample.weights
        for number in range(few):
            fold, functions = self._folds[number], self._functions_of(number, place.located)
            blocks = _blocks(F[fold.fit])
            w = None if weights is None else weights[fold.fit]
            cells = fold.cells.cell
            problems.append(LogRatioProblem(blocks, cells, functions.values, w, c_x))
            trials.append(_CellTrial(_unused, F[fold.held], fold.outcomes))
        held = [float(trial.outcomes.shares.size) for trial in trials]
        errors = self._errors.setdefault((place, few), {})

        def score(solutions: list[LogRatioSolution]) -> float:
            each = [
                self._risk(number, place.located, trial, solution)
                for number, (trial, solution) in enumerate(
                    zip(trials, solutions, strict=True)
                )
            ]
            mean = float(np.average(each, weights=held))
            if few > 1:
                errors[mean] = float(np.std(each, ddof=1)) / few**0.5
            return mean

        given, ridge = self.validation.how.regularizations, self.search.regularization
        if not isinstance(ridge, str):
            given = (float(ridge),)
        start = first_ridge(place.located, several=self._several)
        return path_of_ridges(problems, score, first=start, given=given)

    def _risk(
        self, fold: int, located: Located, trial: _CellTrial, solution: LogRatioSolution
    ) -> float:
        """Return the score of the held-out rows of a fold."""
        functions, cells = self._functions[fold, located], self._folds[fold].cells
        logs = trial.psi @ solution.value.T @ functions.values.T + solution.intercept
        P = cell_probabilities(logs, cells.mean)
        return self.validation.risk.of(trial, P / cells.mean - 1)

    def _at(self, place: _Place, few: int | None = None) -> float:
        few = len(self._folds) if few is None else few
        self._score([place], few)
        return self._paths[place, few].score

    def _first_of(self, places: list[_Place]) -> _Place:
        """Return the best of some candidates on all folds."""
        self._score(places, len(self._folds))
        return min(places, key=self._at)

    def _better(self, old: _Place, new: _Place, margin: float = _BETTER) -> _Place:
        """Return a candidate if it is better than another, else that."""
        now, then = self._at(new), self._at(old)
        return new if now < then - margin * abs(then) else old

    def _along(self, best: _Place) -> _Place:
        """Return the best power of the length scales."""
        self._score([best._replace(power=p) for p in (-1, 1)], len(self._folds))
        for step in (-1, 1):
            first = best
            while abs(best.power + step) <= _POWERS:
                further = self._better(best, best._replace(power=best.power + step))
                if further == best:
                    break
                best = further
            if best != first:
                break
        return best


def _folds(n: int) -> float:
    """Return the number of folds of n rows, or the share that is held out once."""
    return next((folds for rows, folds in _FOLDS if n > rows), Selection().cv)


def _blocks(F: Matrix) -> Blocks:
    """Return features as one thread reads them."""
    one = Executor(workers=1, block_rows=1 << 12)
    n, m = F.shape
    return Blocks(n, m, lambda rows: F[rows], executor=one, dtype="float32")


def _unused(_: float) -> Vector:
    raise AssertionError
