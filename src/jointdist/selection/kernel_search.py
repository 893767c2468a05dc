"""Selection of the kernels and the ridge of a model by cross-validation."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor, executor_for, one_blas_thread, progress
from jointdist.data.sample import Sample
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family, family_of
from jointdist.lowrank.fold_ridge import fold_regression
from jointdist.lowrank.reduction import Factoring
from jointdist.lowrank.ridge import ridge_regression, tried_ridges
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.fold_moments import Side
from jointdist.selection.length_scales import descend, families, leading_components
from jointdist.selection.risk import Trial
from jointdist.selection.settings import SETTINGS
from jointdist.selection.specification import Selected, Selection

__all__ = ["Chosen", "KernelSearch", "select_kernels"]

FitWithout: TypeAlias = Callable[[CrossValidation, Side, Side, int], Trial]


@dataclass(frozen=True, slots=True, eq=False)
class KernelSearch:
    """What is to be chosen, and how: the specification of a selection.

    Attributes
    ----------
    where : str
        The estimator, for messages.
    kernels : tuple of (Kernel or "auto")
        The kernels of X and Y, if they are given.
    regularization : float, array, "auto" or "loo"
        The ridge, if it is given.
    selection : Selection, optional
        Rows, folds, criterion and ridges; by default those of :class:`Selection`.
    factoring : Factoring
        How the kernel matrices of candidates are factored.
    fit_without : callable
        Fits a candidate to all rows but those of a fold, from both sides' features.
    unit : callable
        From the mean diagonals of both kernels to the unit of the ridge.
    centred : bool
        Whether the bases are centred.
    rough : bool, default=False
        Whether Matérn kernels of X are candidates, too.
    repeated : bool, default=True
        Whether a weight counts repetitions of a row.
    open_y : bool, default=False
        Whether rows of other categories of Y may come: those of one alone choose nothing.
    executor : Executor, optional
        Runs the folds.
    verbose : int, default=1
        Whether progress is shown.
    """

    where: str
    kernels: tuple[Kernel | str, Kernel | str]
    regularization: float | Vector | str
    selection: Selection | None
    factoring: Factoring
    fit_without: FitWithout
    unit: Callable[[float, float], float]
    centred: bool
    rough: bool = False
    repeated: bool = True
    open_y: bool = False
    executor: Executor | None = None
    verbose: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The hyperparameters of a fit, given or selected.

    Attributes
    ----------
    kernel_x, kernel_y : Kernel
        The kernels.
    strength : float
        The selected ridge times the number of rows.
    selected : Selected, optional
        All candidates and their scores, if there was a selection.
    located : tuple of float, optional
        The weights of outcomes and of their squares in the functions of Y, of models by
        maximum likelihood.
    """

    kernel_x: Kernel
    kernel_y: Kernel
    strength: float = SETTINGS.strength
    selected: Selected | None = None
    located: tuple[float, float] | None = None


def select_kernels(
    sample: Sample,
    encodings: tuple[Encoding, Encoding],
    search: KernelSearch,
    rng: np.random.Generator,
) -> Chosen:
    """Return the kernels and the ridge: those given, or the best by cross-validation.

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
    kernels = search.kernels
    x = family_of("x", kernels[0], encodings[0], sample.x, weights=sample.weights, rng=rng)
    y = family_of("y", kernels[1], encodings[1], sample.y, weights=sample.weights, rng=rng)
    default = Chosen(x.at(1.0), y.at(1.0))
    auto = isinstance(search.regularization, str) and search.regularization == "auto"
    if not (auto or x.free or y.free):
        return default
    one, rule = not isinstance(search.regularization, np.ndarray), "a number, or a string"
    rule += ", where kernels are selected"
    require(one, search.where, "regularization", rule, Text("an array"))
    how = Selection() if search.selection is None else search.selection
    with progress(f"{search.where}: kernels and ridge", verbose=search.verbose) as tell:
        executor = executor_for(sample.x, search.executor)
        seed, repeated = search.factoring.seed, search.repeated
        validation = CrossValidation(
            search.where, how, sample, seed, tell, executor=executor, repeated=repeated
        )
        codes = validation.sample.y.table()
        alone = search.open_y and not (codes != codes[0]).any()
        if alone or not validation.folds:
            return default  # all rows are equal, or of one category
        with one_blas_thread() as blas, blas:  # the matrices are small
            _Candidates(search, validation).explore(x, y)
        selected = validation.result()
    best = selected.chosen
    assert best.kernel_x is not None  # noqa: S101  # for type checkers
    assert best.kernel_y is not None  # noqa: S101
    strength = selected.regularization * sample.size
    return Chosen(best.kernel_x, best.kernel_y, strength, selected)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs of kernels, each factored once.

    Attributes
    ----------
    search : KernelSearch
        The specification.
    validation : CrossValidation
        The folds, and all candidates so far.
    """

    search: KernelSearch
    validation: CrossValidation
    _sides: dict[tuple[str, Kernel, int], Side] = field(default_factory=dict)

    def explore(self, x: Family, y: Family) -> None:
        """Score kernels of two families, and of one with a length scale for each column of X.

        Parameters
        ----------
        x, y : Family
            The kernels of X and of Y.
        """
        validation, start = self.validation, (0, 0)
        fits = [validation.partition.fitted(fold) for fold in range(validation.folds)]
        missed = self._missed if self.search.rough else None
        reached = []
        for family, of_folds in families(
            x, validation, fits, lambda: self._features(y), missed
        ):
            smooth = family.nu == math.inf
            rank = SETTINGS.rank_x if smooth else SETTINGS.full_rank_x
            score = partial(self._score, x=family, of_folds=of_folds, y=y, rank=rank)
            end = descend(score, start, (family.free, y.free))
            reached.append((validation.best.score, rank, family, of_folds, end))
            start = 0, end[1]
        _, rank, family, of_folds, end = min(reached, key=lambda entry: entry[0])
        cut = validation.best.rank_x >= rank and self.search.factoring.max_rank is None
        if cut and rank < min(SETTINGS.full_rank_x, validation.sample.n) and family.free:
            rank = SETTINGS.full_rank_x
            score = partial(self._score, x=family, of_folds=of_folds, y=y, rank=rank)
            descend(score, end, (family.free, y.free))

    def _features(self, y: Family) -> Vector:
        """Return the features of Y at all rows."""
        low = self._side("y", y, 0, SETTINGS.rank_y).low
        U: Vector = to_numpy(low.map.features(low.rows.read(0, low.rows.n)))
        return U

    def _missed(self, family: Family, U: Vector) -> float:
        """Return the out-of-fold error of regressions of the leading features of Y on X.

        At the rank of the final fit: rough kernels need more of it than smooth ones.
        """
        sample, executor = self.validation.sample, self.validation.executor
        x, w = sample.x, sample.weights
        T, rank = leading_components(U), SETTINGS.full_rank_x
        low = self.search.factoring.factored("kernel_x", family.at(1.0), x, w, rank)
        fit = ridge_regression(low, T, w, executor=executor)
        tried = tried_ridges(fit)
        if sample.folds is None:
            errors = fit.errors(x, T, w, tried, executor)
        else:
            left = fold_regression(fit, x, T, w, sample.folds, executor=executor)
            errors = left.errors(x, T, w, sample.folds, ridges=tried, executor=executor)
        return float(errors.min(axis=0).sum())

    def _score(
        self, i: int, j: int, *, x: Family, of_folds: list[Family], y: Family, rank: int
    ) -> float:
        """Return the best score of a pair of kernels, over all ridges.

        Each fold has a kernel of X of its own family.
        """
        search, validation = self.search, self.validation
        sides = [self._side("x", family, i, rank) for family in of_folds]
        other = self._side("y", y, j, SETTINGS.rank_y)
        weight, whole = validation.sample.size, validation.partition.whole
        traces = sides[0].traces[:whole], other.traces[:whole]
        ridge = search.regularization
        assert not isinstance(ridge, np.ndarray)  # noqa: S101  # for type checkers
        candidate = validation.enter(
            lambda part: search.fit_without(validation, sides[part], other, part),
            validation.ridges(ridge, search.unit(*(sum(own) / weight for own in traces))),
            kernel_x=x.at(2.0**i),
            kernel_y=other.low.kernel,
            factor_x=2.0**i,
            factor_y=other.factor,
            scales=x.name,
            rank_x=max(side.low.rank for side in sides),
            rank_y=other.low.rank,
        )
        return candidate.score

    def _side(self, name: str, family: Family, power: int, rank: int) -> Side:
        """Return one side of the sample in the features of a kernel."""
        kernel = family.at(2.0**power)
        key = name, kernel, rank
        if key not in self._sides:
            validation, factoring = self.validation, self.search.factoring
            sample = validation.sample
            rows, weights = sample.x if name == "x" else sample.y, sample.weights
            low = factoring.factored(f"kernel_{name}", kernel, rows, weights, rank)
            self._sides[key] = Side(
                low,
                validation.partition,
                weights,
                self.search.centred,
                2.0**power,
                validation.executor,
            )
        return self._sides[key]
