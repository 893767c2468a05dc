"""What estimators on low-rank kernel matrices share: the options of their factorisations."""

from typing import Any, Protocol

import numpy as np

from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.errors import ToleranceWarning, warn_user
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import Pivoting
from jointdist.lowrank.reduction import Factoring, Reduced, Reduction
from jointdist.models._arguments import PairedData
from jointdist.selection.settings import SETTINGS

__all__ = [
    "EXACT",
    "KernelParameters",
    "factoring",
    "fit_options",
    "is_exact",
    "warn_if_lost",
    "warn_if_missed",
]

_TOLERATED, _NEGLIGIBLE = 10, 0.02  # the trace error of a selected kernel without warning
EXACT = 512  # rows up to which factors are exact: they cost less than choosing pivots


class KernelParameters(Protocol):
    """The parameters of an estimator on two low-rank kernel matrices."""

    kernel_x: Kernel | str
    kernel_y: Kernel | str
    tol: float
    max_rank: int | None
    pivoting: Pivoting
    executor: Executor | None


def is_exact(max_rank: int | None, sample: Sample) -> bool:
    """Tell whether rows are so few that their kernel matrices are factored to rounding.

    Parameters
    ----------
    max_rank : int, optional
        The largest rank, if it is given.
    sample : Sample
        The rows.
    """
    weights = sample.weights
    counted = sample.n if weights is None else np.count_nonzero(weights)
    return bool(counted <= EXACT) and max_rank is None


def factoring(model: KernelParameters, data: PairedData) -> Factoring:
    """Return how the kernel matrices of candidates are factored.

    Parameters
    ----------
    model : KernelParameters
        The estimator.
    data : PairedData
        The rows of the fit.
    """
    tol = 0.0 if is_exact(model.max_rank, data.sample) else model.tol
    return Factoring(tol, model.max_rank, model.pivoting, data.seed)


def fit_options(
    model: KernelParameters, sample: Sample, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the options of :func:`~jointdist.lowrank.reduction.reduce_sample` for a fit.

    A kernel that was selected has a rank of at most 1,024; see :func:`warn_if_lost`.

    Parameters
    ----------
    model : KernelParameters
        The estimator.
    sample : Sample
        The rows of the fit.
    rng : Generator
        Draws the pivots.
    """
    auto = [isinstance(kernel, str) for kernel in (model.kernel_x, model.kernel_y)]
    given = model.max_rank
    ranks = [SETTINGS.full_rank_x if own and given is None else given for own in auto]
    return {
        "tol": 0.0 if is_exact(given, sample) else model.tol,
        "max_rank": (ranks[0], ranks[1]),
        "pivoting": model.pivoting,
        "sample_weight": sample.weights,
        "random_state": rng,
        "executor": model.executor,
        "warn": (not auto[0], not auto[1]),
    }


def warn_if_missed(where: str, old: Reduced, new: Reduced, tol: float) -> None:
    """Warn if the landmarks of a model do not represent the rows that it now has.

    Parameters
    ----------
    where : str
        The estimator.
    old, new : Reduced
        The model before and after an update.
    tol : float
        The tolerance of the model.
    """
    for name, now, then in (("X", new.x, old.x), ("Y", new.y, old.y)):
        if now.relative_error > 2 * max(then.relative_error, tol):
            msg = (
                f"{where}: the landmarks miss {now.relative_error:.2g} of the kernel matrix "
                f"of {name}, where `tol` is {tol:g}: distributions may be far off. Fit to all "
                "rows anew."
            )
            warn_user(msg, ToleranceWarning)


def warn_if_lost(where: str, model: KernelParameters, reduction: Reduction) -> None:
    """Warn if the rank limit of a kernel that was selected loses much of its trace.

    Below ten times the tolerance, or two per cent, distributions hardly change.

    Parameters
    ----------
    where : str
        The estimator.
    model : KernelParameters
        Its parameters.
    reduction : Reduction
        The factors of the fit.
    """
    limit = max(_TOLERATED * model.tol, _NEGLIGIBLE)
    kernels = (model.kernel_x, model.kernel_y)
    sides = zip("XY", kernels, (reduction.x, reduction.y), strict=True)
    for name, kernel, factor in sides:
        if isinstance(kernel, str) and factor.relative_error > limit:
            msg = (
                f"{where}: the kernel selected for {name} loses "
                f"{factor.relative_error:.2g} of its trace at rank {factor.map.rank:,}, where "
                f"`tol` is {model.tol:g}: details of {name} are not seen. Raise `max_rank`, "
                f"give a wider `kernel_{name.lower()}`, leave out columns that do not matter, "
                "or raise `tol` if that is good enough."
            )
            warn_user(msg, ToleranceWarning)
