"""Selection of the degree and the ridge of a polynomial model by cross-validation."""

from dataclasses import dataclass
from math import comb

from jointdist._array import to_numpy
from jointdist.data.executor import Executor, progress
from jointdist.data.sample import Sample
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.polynomials import Polynomials, orthonormal_polynomials
from jointdist.lowrank.reduction import moments
from jointdist.models._arguments import PairedData
from jointdist.models.coefficients import Marginals, PolynomialPositivity, path
from jointdist.models.polynomial_problem import (
    MOST_FUNCTIONS,
    feasible_degrees,
    polynomial_executor,
    polynomial_problem,
)
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.risk import Outcomes, Trial
from jointdist.selection.specification import Selected, Selection

__all__ = ["ChosenDegree", "DegreeSearch", "select_degree"]

_HIGHEST = 4  # degree that is tried: higher ones overfit heavy tails
_ROWS_PER_FUNCTION = 2  # at least, for a degree that is tried
_UNIT = 10.0  # of the ridges that are tried, which run from 1e-6 to 1e3
_STRENGTH = 0.0  # of the ridge where all rows are equal


@dataclass(frozen=True, slots=True, eq=False)
class DegreeSearch:
    """What is to be selected, and how.

    Attributes
    ----------
    where : str
        The estimator, for messages.
    degree : int or "auto"
        The degree, if it is given.
    step : int
        The lowest degree, and the step to the next.
    regularization : float or "auto"
        The ridge, if it is given.
    marginals : str
        The constraint on the marginals.
    positivity : str
        The constraint on the ratio.
    selection : Selection, optional
        Rows, folds, criterion and ridges.
    executor : Executor, optional
        Runs the row blocks.
    verbose : int
        Whether progress is shown.
    """

    where: str
    degree: int | str
    step: int
    regularization: float | str
    marginals: Marginals
    positivity: PolynomialPositivity
    selection: Selection | None
    executor: Executor | None
    verbose: int


@dataclass(frozen=True, slots=True, eq=False)
class ChosenDegree:
    """The hyperparameters of a polynomial model, given or selected.

    Attributes
    ----------
    degree : int
        The degree.
    strength : float
        The ridge times the number of rows.
    selected : Selected, optional
        All candidates and their scores, if there was a selection.
    """

    degree: int
    strength: float = _STRENGTH
    selected: Selected | None = None


def select_degree(data: PairedData, search: DegreeSearch) -> ChosenDegree:
    """Return the degree and the ridge: those given, or the best by cross-validation.

    Parameters
    ----------
    data : PairedData
        The rows of the fit.
    search : DegreeSearch
        What is to be selected, and how.
    """
    given = not isinstance(search.degree, str)
    if given and search.regularization != "auto":
        return ChosenDegree(search.step)
    how = Selection() if search.selection is None else search.selection
    where, sample = search.where, data.sample
    with progress(f"{where}: degree and ridge", verbose=search.verbose) as tell:
        executor = polynomial_executor(sample, search.executor)
        validation = CrossValidation(where, how, sample, data.seed, tell, executor=executor)
        if not validation.folds:
            return ChosenDegree(search.step)  # all rows are equal
        for degree in _tried(search, validation):
            _enter(data, search, validation, degree)
        selected = validation.result()
    degree = selected.chosen.degree or search.step
    return ChosenDegree(degree, selected.regularization * sample.size, selected)


def _tried(search: DegreeSearch, validation: CrossValidation) -> list[int]:
    """Return the degree given, or those with few enough functions for the rows."""
    if not isinstance(search.degree, str):
        return [search.degree]
    widths, step = (validation.sample.x.d, validation.sample.y.d), search.step
    most = min(MOST_FUNCTIONS, validation.size / _ROWS_PER_FUNCTION)
    degrees = range(step, _HIGHEST + 1, step)
    few = [q for q in degrees if max(comb(d + q, q) for d in widths) <= most]
    return few or [step]


def _enter(
    data: PairedData, search: DegreeSearch, validation: CrossValidation, degree: int
) -> None:
    """Score a degree for all ridges."""

    def orthonormal(rows: Sample) -> Polynomials:
        executor = polynomial_executor(rows, search.executor)
        return orthonormal_polynomials(
            degrees,
            rows.x,
            rows.y,
            rows.weights,
            unused=data.encodings[0].unused,
            seed=data.seed,
            executor=executor,
        )

    degrees = feasible_degrees(search.where, validation.sample, degree, search.step)
    whole = orthonormal(validation.sample)
    parts = [
        moments(whole.x, whole.y, own.x, own.y, sample_weight=own.weights)
        for own in map(validation.sample.take, validation.partition.parts)
    ]

    def trial(part: int) -> Trial:
        train, held = validation.train(part), validation.held(part)
        found = whole.changed(validation.partition.sum_fitted(parts, part))
        found = orthonormal(train) if found is None else found
        problem = polynomial_problem(found, train, search.marginals, search.executor)
        psi_x, psi_y = (
            host_features(basis, side.read(0, held.n))
            for basis, side in ((problem.x, held.x), (problem.y, held.y))
        )
        support, points = problem.sample_y(data.encodings[1]), held.y.read(0, held.n)
        outcomes = Outcomes(support, to_numpy(points), held.weights, psi_y)
        return Trial(path(problem, search.positivity), psi_x, outcomes)

    unit = _UNIT * validation.size  # functions have mean square one, whatever n
    ridges = validation.ridges(search.regularization, unit)
    ranks = {"rank_x": whole.x.rank, "rank_y": whole.y.rank}
    validation.enter(trial, ridges, degree=degree, **ranks)
