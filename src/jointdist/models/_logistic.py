"""From labelled rows to the basis in which logistic regression is solved."""

from dataclasses import dataclass, replace

from jointdist._array import Vector
from jointdist.data.executor import executor_for
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import family_of
from jointdist.lowrank.basis import Basis, host_features, orthogonal
from jointdist.lowrank.randomized import warn_if_short
from jointdist.models._kernel_fits import is_exact
from jointdist.models._labelled import LabelledData
from jointdist.programs.feature_blocks import Blocks
from jointdist.programs.logistic import LogisticSolution
from jointdist.selection.config import SETTINGS, Selected
from jointdist.selection.logistic_search import LogisticSearch, choose_logistic

__all__ = ["ReducedLogistic", "reduce_logistic", "warn_if_uncertain"]


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
    """

    data: LabelledData
    selected: Selected | None
    kernel: Kernel
    basis: Basis
    blocks: Blocks


def reduce_logistic(
    kernel_x: Kernel | str, search: LogisticSearch, data: LabelledData
) -> ReducedLogistic:
    """Choose the kernel, and return its basis with the values at all rows.

    Parameters
    ----------
    kernel_x : Kernel or "auto"
        The argument of users.
    search : LogisticSearch
        How kernel and ridge are chosen.
    data : LabelledData
        The rows and labels.
    """
    sample, pair = data.sample, data.pair
    rows, encoding = sample.x, pair.encodings[0]
    family = family_of("x", kernel_x, encoding, rows, weights=sample.weights, rng=pair.rng)
    selected = choose_logistic(search, family, sample, data.classes)
    chosen = None if selected is None else selected.chosen.kernel_x
    kernel = family.at(1.0) if chosen is None else chosen
    basis = _basis(kernel, search, data, auto=isinstance(kernel_x, str))

    def features(block: slice) -> Vector:
        return host_features(basis, rows.read(block.start, block.stop))

    workers = executor_for(rows, search.executor)
    blocks = Blocks(rows.n, basis.rank, features, search.intercept, workers)
    return ReducedLogistic(data, selected, kernel, basis, blocks)


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


def warn_if_uncertain(where: str, found: LogisticSolution, max_iter: int) -> None:
    """Warn if Newton's method stopped before its certificate holds.

    Parameters
    ----------
    where : str
        The estimator.
    found : LogisticSolution
        The solution.
    max_iter : int
        The largest number of steps.
    """
    if found.status.ok:
        return
    remedy = "Raise `max_iter` or `regularization`."
    if found.iterations < max_iter:
        remedy = "Rounding is in the way: raise `regularization`, or scale columns."
    msg = (
        f"{where}: Newton's method stopped before the optimum is certain, after "
        f"{found.iterations} steps. {remedy} {found!r}"
    )
    warn_user(msg, ToleranceWarning)
