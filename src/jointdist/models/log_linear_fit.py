"""The fit of a joint distribution whose log-ratio is linear in both bases."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jointdist._array import Vector, array_namespace
from jointdist.data.executor import Executor, Tell
from jointdist.data.sample import Sample
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Kernel
from jointdist.likelihood.cell_functions import cell_functions, most_functions_y
from jointdist.likelihood.fit import (
    CellOutcomes,
    exact_marginal,
    log_ratio_of,
    regressors,
)
from jointdist.likelihood.held_out_ridge import held_out_path, held_out_ridge
from jointdist.likelihood.outcome_cells import (
    CellsOfLeaves,
    Intervals,
    Locator,
    Regions,
    cells_of_regions,
    interval_edges,
)
from jointdist.likelihood.ridge_path import continued_fit, first_ridge
from jointdist.likelihood.settings import SETTINGS, most_cells, most_functions
from jointdist.lowrank.bins import BinSums
from jointdist.lowrank.factor import Landmarks
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.kernel_range import largest_kernel
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.reduction import Factoring
from jointdist.models._kernel_fits import KernelParameters
from jointdist.models.coefficients import Problem
from jointdist.models.kept_sample import KeptSample
from jointdist.models.log_linear import LogLinearJoint
from jointdist.programs import Status, maximum_likelihood
from jointdist.projection.partition import cells_of_values
from jointdist.projection.support_error import (
    CONDITIONS,
    binned_error,
    stratified_error,
)
from jointdist.selection.specification import Selection

_ENERGY = "energy", "crps", "energy_score"  # names of one score, by which ridges are chosen

__all__ = ["fit_log_linear", "may_adapt", "more_landmarks"]


def fit_log_linear(
    problem: Problem,
    kept: KeptSample,
    sample: Sample,
    low: Landmarks,
    *,
    kernel_y: Kernel | None,
    located: tuple[float, float],
    ridge: float,
    selected: bool,
    adapt: bool,
    executor: Executor,
    tell: Tell,
) -> LogLinearJoint:
    """Return the joint distribution of the largest penalised likelihood.

    Parameters
    ----------
    problem : Problem
        The bases and the moments.
    kept : KeptSample
        What is kept of the sample.
    sample : Sample
        All rows.
    low : Landmarks
        The landmarks of X.
    kernel_y : Kernel, optional
        The kernel of Y; by default one of ranks.
    located : tuple of float
        The weights of outcomes and their squares among the functions of ranks.
    ridge : float
        The ridge, positive.
    selected : bool
        Whether the ridge is that of a selection, by fits that stop early.
    adapt : bool
        Whether it is then chosen again with all rows.
    executor : Executor
        Runs the row blocks.
    tell : callable
        Takes the share of the work that is done, and a short text.
    """
    points_x, points_y = kept.points_x(problem.executor), kept.points_y(problem.executor)
    support, several = problem.support_y(points_y), points_y.width > 1
    cells, locator = _cells_of(support, sample.n, kept)
    most = most_functions_y(points_y)
    functions = cell_functions(cells, kernel_y, most, located)
    which = np.concatenate(list(executor.map(lambda _, z: locator.locate(z), sample.y)))
    x = regressors(low, sample.x, sample.weights, executor, _watch(tell))
    likelihood, start = x.problem(CellOutcomes(which, functions)), None
    counted = np.count_nonzero(likelihood.row_weights)
    if adapt and several and SETTINGS.adapted < counted <= SETTINGS.many:

        def outcomes_of(rows: Sample) -> tuple[CellSupport, CellOutcomes]:
            points = SupportPoints(rows.y, points_y.encoding, rows.weights, executor)
            most_of = most_cells(rows.n, several=True)
            own, place = cells_of_regions(points, most_of, support.origin)
            found = cell_functions(own, kernel_y, most, located)
            return own, CellOutcomes(place.locate(points.table()), found)

        ridge = held_out_ridge(x, sample, outcomes_of, kept.seed)
    elif adapt and max(SETTINGS.adapted, 2 * cells.rank) < counted <= SETTINGS.many:
        path = held_out_path(likelihood, cells, sample.y, ridge, kept.seed)
        ridge, (start,) = path.best, path.at_best
    small = sample.n * x.basis.rank <= SETTINGS.exact
    if selected:
        first = first_ridge(located, several=several)
        solution = continued_fit(likelihood, ridge, start, first=first)
    else:
        tol = SETTINGS.tight_tol if small else SETTINGS.tol
        most = SETTINGS.most_evaluations
        solution = maximum_likelihood(likelihood, ridge, tol=tol, max_evaluations=most)
    if min(solution.certificate.gap, 1.0 if selected else solution.missing) <= SETTINGS.tol:
        solution = replace(solution, status=Status.OPTIMAL)  # or as good as that
    joint = LogLinearJoint(
        problem,
        kept,
        solution,
        ridge,
        np.empty(0, dtype=np.intp),
        log_ratio_of(x.basis, functions, solution, cells.mean),
        cells,
        locator.edges if isinstance(locator, Intervals) else np.empty(0),
        (_most(problem.x.map, points_x), _most(problem.y.map, points_y)),
        regions=locator if isinstance(locator, Regions) else None,
        nearby=_nearby(low, problem.x.map),
        surest=_surest(points_y, max(float(counted), sample.size)),
    )
    seen = kept.seen(joint.features_nearby, lambda rows: joint.conditions(rows).novelty())
    novelty = joint.of_x(joint.cells.points.rows).conditions.novelty()
    joint = replace(joint, seen=seen, least_y=float(np.clip(1 - novelty.max(), 0.0, 1.0)))
    beta = exact_marginal(joint.log_ratio, joint.conditions(sample.x), sample, executor)
    joint = replace(
        joint,
        log_ratio=replace(joint.log_ratio, intercept=beta.values),
        solution=solution.with_intercepts(beta),
    )
    return replace(joint, errors=(_error_y(joint), _error_x(joint)))


def _cells_of(
    support: KernelSupport, n: int, kept: KeptSample
) -> tuple[CellSupport, Locator]:
    """Return the support points of Y in cells, and which cell a row is in."""
    points = support.points
    if points.width == 1:
        cells = cells_of_values(support, most_cells(n))
        return cells, Intervals(interval_edges(cells, _thresholds(kept)))
    if points.merged is not None and points.merged.cells is not None:
        cells = CellSupport.of_cells(points, points.merged.cells, support.origin)
        return cells, CellsOfLeaves.of(points.merged.cells)
    return cells_of_regions(points, most_cells(n, several=True), support.origin)


def _error_y(joint: LogLinearJoint) -> float:
    """Return by how much cdfs of Y differ from those on all rows, at most.

    Cells of one column end where bins do, and their weights are exact: only inside a bin cdfs
    are off. In leaves of several columns the cdf is that of sampled rows.
    """
    points = joint.cells.points
    if points.merged is None or points.merged.exact.all():
        return 0.0
    if points.width > 1:
        x = joint.kept.donors.rows
        some = x.subset(np.arange(0, x.n, max(x.n // CONDITIONS, 1)))
        ratio = 1 + np.concatenate(list(joint.of_y(some).conditions.parts()))
        cells = joint.cells
        return min(stratified_error(points, cells.cell, ratio * cells.mean), 1.0)
    largest = np.zeros(joint.cells.rank)
    share = np.where(points.merged.exact, 0.0, points.shares)
    np.maximum.at(largest, joint.cells.cell, share)
    x = joint.kept.donors.rows
    some = x.subset(np.arange(0, x.n, max(x.n // CONDITIONS, 1)))
    ratio = 1 + np.concatenate(list(joint.of_y(some).conditions.parts()))
    return min(float((ratio * largest).max()), 1.0)


def _error_x(joint: LogLinearJoint) -> float:
    """Return by how much cdfs of X given Y differ from those on all rows."""
    points = joint.sides[0]
    merged = points.merged
    if merged is None or merged.exact.all():
        return 0.0
    every = max(joint.cells.rank // CONDITIONS, 1)
    parts = joint.kept.points_x(joint.problem.executor).executor.map(
        lambda _, block: joint.ratios(block)[:, ::every], points.rows
    )
    ratio = np.concatenate(list(parts))
    if points.is_scalar:
        share = np.where(merged.exact, 0.0, points.shares)
        return min(binned_error(share, ratio), 1.0)
    cell = np.zeros(points.n, dtype=np.intp) if merged.cells is None else merged.cells.cell
    weights = points.shares[:, None] * ratio
    W = np.stack([np.bincount(cell, own).astype(np.float64) for own in weights.T])
    return min(stratified_error(points, cell, W), 1.0)


def may_adapt(
    regularization: object, selection: Selection | None, kept: KeptSample
) -> bool:
    """Tell whether a ridge that was selected may be chosen again for the final fit.

    Not by a criterion or among ridges that users give, nor where rows depend on each other.

    Parameters
    ----------
    regularization : object
        The ridge, or "auto".
    selection : Selection, optional
        How it was selected.
    kept : KeptSample
        What is kept of the sample.
    """
    how = Selection() if selection is None else selection
    plain = how.criterion in _ENERGY and how.regularizations is None
    return isinstance(regularization, str) and plain and not kept.dependent


def more_landmarks(
    model: KernelParameters, low: Landmarks, kernel: Kernel, sample: Sample, seed: int
) -> Landmarks:
    """Return landmarks of X for the functions of the log-ratio.

    They are those of the moments, unless these were cut at a rank that is given by nobody:
    the likelihood gains with rank.

    Parameters
    ----------
    model : KernelParameters
        The estimator.
    low : Landmarks
        The landmarks of the moments.
    kernel : Kernel
        The kernel of X.
    sample : Sample
        All rows.
    seed : int
        The seed of pivots.
    """
    most, tol = most_functions(sample.n), model.tol
    if sample.n <= SETTINGS.many:
        tol = min(tol, SETTINGS.trace)
    cut = low.relative_error > tol and model.max_rank is None
    if not cut or low.map.rank >= most:
        return low
    how = Factoring(tol, None, model.pivoting, seed, model.executor)
    return how.factored("kernel_x", kernel, sample.x, sample.weights, most).small


def _watch(tell: Tell) -> Callable[[float], None]:
    """Return a function that tells the objectives of evaluations, whose number is not known."""
    count = 0

    def watch(objective: float) -> None:
        nonlocal count
        count += 1
        share = count / (count + SETTINGS.usual_evaluations)
        tell(share, f"{count} evaluations, objective {objective:.4g}")

    return watch


def _surest(points_y: SupportPoints, n: float) -> float:
    """Return the largest trust: of numbers, no outcome is to be impossible.

    The share of the marginal is less than can be seen in a sample of that size.
    """
    return 1.0 if points_y.encoding.all_categorical else 1 - (1 / n) ** 2


def _nearby(low: Landmarks, coarse: Features) -> FeatureMap | None:
    """Return the features by which novelty is measured, unless they are those of the moments."""
    rank = min(low.map.rank, SETTINGS.nearby)
    if rank <= coarse.rank:
        return None
    first = low.map.prefix(rank)
    own = array_namespace(first.core).asarray(first.core, copy=True)  # not a view of all
    return replace(first, core=own)


def _most(features: Features, points: SupportPoints) -> float:
    """Return the largest kernel of a support point."""
    return largest_kernel(features, points.rows, points.weights, points.executor)


def _thresholds(kept: KeptSample) -> Vector | None:
    """Return the ends of the bins of Y, if its support points stand for these."""
    if kept.rows is not None or kept.sums is None:
        return None
    return kept.sums.y.bins.thresholds if isinstance(kept.sums.y, BinSums) else None
