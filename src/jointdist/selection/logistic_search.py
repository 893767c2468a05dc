"""The kernel and the ridge of logistic regression, chosen by cross-validation."""

from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from jointdist._rules import require
from jointdist.data.executor import Executor, executor_for, progress
from jointdist.data.sample import Sample
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.reduction import Factoring
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.logistic_candidates import LogisticCandidates
from jointdist.selection.logistic_loss import loss_of
from jointdist.selection.specification import Selected, Selection
from jointdist.selection.stratified import stratified

__all__ = ["LogisticSearch", "choose_logistic"]


@dataclass(frozen=True, eq=False)
class LogisticSearch:
    """How the kernel and the ridge of a logistic regression are chosen.

    Attributes
    ----------
    where : str
        The estimator, for messages.
    selection : Selection, optional
        The criterion, the folds, the rows; by default the log loss in five folds.
    ridges : tuple of float, optional
        The ridges among which to choose, if users give them.
    factoring : Factoring
        How kernel matrices are factored.
    intercept : bool
        Whether there is an intercept.
    repeated : bool
        Whether weights tell how often a row was seen; those of classes don't.
    executor : Executor, optional
        How folds are worked on.
    verbose : int
        Whether progress is shown.
    """

    where: str
    selection: Selection | None
    ridges: tuple[float, ...] | None
    factoring: Factoring
    intercept: bool
    repeated: bool
    executor: Executor | None
    verbose: int


def choose_logistic(
    search: LogisticSearch, family: Family, sample: Sample, classes: NDArray[Any]
) -> Selected | None:
    """Return the best kernel and ridge; None if there is nothing to choose, or no rows
    that could tell.

    Parameters
    ----------
    search : LogisticSearch
        How to choose.
    family : Family
        The kernels of X.
    sample : Sample
        The rows, with the codes of their classes as Y.
    classes : array of shape (K,)
        The labels.
    """
    where, how = search.where, search.selection or Selection("log_score")
    loss = loss_of(where, how.criterion, classes)
    positive = 0.0 not in (how.regularizations or ())
    rule = "None, or of positive `regularizations`"
    require(positive, where, "selection", rule, how.regularizations)
    if search.ridges is not None and not family.free:
        return None
    if search.ridges is not None:
        how = replace(how, regularizations=search.ridges)
    with progress(f"{where}: kernel and ridge", verbose=search.verbose) as tell:
        few = stratified(where, sample, how.rows, search.factoring.seed)
        validation = CrossValidation(
            where,
            how,
            few,
            search.factoring.seed,
            tell,
            executor=executor_for(few.x, search.executor),
            summed=True,
            repeated=search.repeated,
        )
        trials = LogisticCandidates(
            validation, search.factoring, loss, intercept=search.intercept
        )
        if not trials.held:
            return None
        trials.run(family)
        return validation.result()
