"""The steps of a logistic regression: check, choose the kernel, reduce the rows, solve."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector
from jointdist._rules import Text, is_number, is_whole, require, require_kind
from jointdist.data.design import Design
from jointdist.data.executor import Executor, executor_for
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.lowrank.basis import Basis, host_features, orthogonal
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.moments import Precision
from jointdist.lowrank.randomized import warn_if_short
from jointdist.lowrank.reduction import Factoring
from jointdist.models._arguments import require_arguments
from jointdist.models._kernel_fits import is_exact
from jointdist.models._labelled import LabelledData
from jointdist.models.donors import find_donors
from jointdist.models.event_rows import WeightedRows
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import LogisticSolution, logistic
from jointdist.selection.logistic_loss import probabilities, scores_of
from jointdist.selection.logistic_search import LogisticSearch, choose_logistic
from jointdist.selection.settings import SETTINGS
from jointdist.selection.specification import (
    Selected,
    Selection,
    require_selection,
)

__all__ = [
    "LogisticParameters",
    "ReducedLogistic",
    "averaged_scores",
    "feature_blocks",
    "reduce_logistic",
    "require_logistic",
    "solve_logistic",
]

# The ridge where no rows can be held out to choose it: weak, for a kernel of unit diagonal.
_RIDGE = 0.01


class LogisticParameters(Protocol):
    """The parameters of a kernel logistic regression."""

    kernel_x: Kernel | str
    regularization: float | str
    fit_intercept: bool
    class_weight: dict[Any, float] | str | None
    tol: float
    max_rank: int | None
    pivoting: Pivoting
    precision: Precision
    max_iter: int
    support_size: int
    selection: Selection | None
    executor: Executor | None
    verbose: int


@dataclass(frozen=True, eq=False)
class ReducedLogistic:
    """A kernel with its low-rank basis, which the fits for all ridges share.

    Attributes
    ----------
    data : LabelledData
        The rows and labels.
    selected : Selected, optional
        The candidates for kernel and ridge with their scores, if any were compared.
    kernel : Kernel
        The kernel.
    basis : Basis
        Its low-rank basis.
    blocks : Blocks
        The values of the basis at all rows.
    kept : Sample, optional
        All rows with the codes of their classes, owned, if they are few enough to be kept.
    """

    data: LabelledData
    selected: Selected | None
    kernel: Kernel
    basis: Basis
    blocks: Blocks
    kept: Sample | None


def require_logistic(model: LogisticParameters) -> None:
    """Raise unless the parameters obey their rules.

    Parameters
    ----------
    model : LogisticParameters
        The estimator.
    """
    where, ridge = type(model).__name__, model.regularization
    auto = isinstance(ridge, str)
    good = ridge == "auto" if auto else is_number(ridge, least=np.finfo(float).tiny)
    require(good, where, "regularization", 'a positive number, or "auto"', ridge)
    flag = isinstance(model.fit_intercept, bool | np.bool)
    require(flag, where, "fit_intercept", "True or False", model.fit_intercept)
    require_arguments(where, tol=model.tol, support_size=model.support_size)
    require_kind(where, "precision", model.precision, Precision)
    whole = is_whole(model.max_iter, least=1)
    require(whole, where, "max_iter", "an integer of at least 1", model.max_iter)
    require_selection(where, model.selection, model.verbose)


def reduce_logistic(
    model: LogisticParameters, data: LabelledData, ridges: tuple[float, ...] | None
) -> ReducedLogistic:
    """Choose the kernel, and return its basis with the values at all rows.

    Parameters
    ----------
    model : LogisticParameters
        The estimator.
    data : LabelledData
        The rows and labels.
    ridges : tuple of float, optional
        The ridges among which to choose, if users give them.
    """
    sample, pair = data.sample, data.pair
    rows, encoding, kernel_x = sample.x, pair.encodings[0], model.kernel_x
    family = family_of("x", kernel_x, encoding, rows, weights=sample.weights, rng=pair.rng)
    search = LogisticSearch(
        type(model).__name__,
        model.selection,
        ridges,
        Factoring(model.tol, model.max_rank, model.pivoting, pair.seed),
        intercept=bool(model.fit_intercept),
        repeated=model.class_weight is None,
        executor=model.executor,
        verbose=model.verbose,
    )
    selected = choose_logistic(search, family, sample, data.classes)
    chosen = None if selected is None else selected.chosen.kernel_x
    kernel = family.at(1.0) if chosen is None else chosen
    basis = _basis(kernel, search, data, auto=isinstance(kernel_x, str))
    kept = sample.owned() if sample.n <= model.support_size else None
    blocks = feature_blocks(model, basis, rows)
    return ReducedLogistic(data, selected, kernel, basis, blocks, kept)


def averaged_scores(
    scores: Callable[[Rows], Vector],
    rows: Rows,
    absent: NDArray[np.bool_],
    kept: Sample | None,
    design: Design,
) -> Vector:
    """Return the scores of the mean probabilities over donors of rows with missing entries.

    Parameters
    ----------
    scores : callable
        From complete rows to their scores.
    rows : Rows
        The rows, encoded.
    absent : array of bool of shape (q, d)
        Which entries of the table are missing.
    kept : Sample, optional
        The rows that donors are found among.
    design : Design
        What became of the columns of X.
    """
    rule = "complete: missing entries need a fit to at most `support_size` rows"
    require(kept is not None, rows.where, rows.name, rule, Text("missing entries"))
    assert kept is not None  # noqa: S101  # for type checkers
    sample = WeightedRows(kept.x, kept.row_weights).positive()
    found = find_donors(rows, absent, sample, design)
    mean = found.groups.average(probabilities(scores(found.rows)))
    return scores_of(mean[found.which])


def feature_blocks(model: LogisticParameters, basis: Basis, rows: Rows) -> Blocks:
    """Return the values of a basis at rows, in blocks.

    Parameters
    ----------
    model : LogisticParameters
        The estimator.
    basis : Basis
        The basis.
    rows : Rows
        The rows.
    """

    def features(block: slice) -> Vector:
        return host_features(basis, rows.read(block.start, block.stop))

    workers = executor_for(rows, model.executor)
    return Blocks(rows.n, basis.rank, features, bool(model.fit_intercept), workers)


def _basis(
    kernel: Kernel, search: LogisticSearch, data: LabelledData, *, auto: bool
) -> Basis:
    """Return the basis of a kernel, and warn if one that users give misses the tolerance."""
    rows, weights, how = data.sample.x, data.sample.weights, search.factoring
    tol = 0.0 if is_exact(how.max_rank, data.sample) else how.tol
    workers = executor_for(rows, search.executor)
    how = replace(how, tol=tol, executor=workers)
    low = how.factored(
        "kernel_x", kernel, rows, weights, SETTINGS.full_rank_x if auto else None
    )
    if not auto:
        warn_if_short(search.where, "X", how.goal(rows), low)
    return orthogonal(low, weights, executor=workers)


def solve_logistic(
    model: LogisticParameters,
    reduced: ReducedLogistic,
    start: LogisticSolution | None = None,
) -> tuple[LogisticSolution, float]:
    """Return the coefficients, and the ridge; warn if Newton's method stopped early.

    Parameters
    ----------
    model : LogisticParameters
        The estimator.
    reduced : ReducedLogistic
        The basis and the rows.
    start : LogisticSolution, optional
        Where to start from, as the solution for another ridge.
    """
    data, selected, ridge = reduced.data, reduced.selected, model.regularization
    if isinstance(ridge, str):
        ridge = _RIDGE if selected is None else selected.regularization
    found = logistic(
        reduced.blocks,
        data.codes,
        float(ridge),
        classes=len(data.classes),
        weights=data.sample.weights,
        precision=model.precision,
        start=start,
        max_iter=model.max_iter,
    )
    if not found.status.ok:
        remedy = "Raise `max_iter` or `regularization`."
        if found.iterations < model.max_iter:
            remedy = "Rounding is in the way: raise `regularization`, or scale columns."
        msg = (
            f"{type(model).__name__}: Newton's method stopped before the optimum is certain, after "
            f"{found.iterations} steps. {remedy} {found!r}"
        )
        warn_user(msg, ToleranceWarning)
    return found, float(ridge)
