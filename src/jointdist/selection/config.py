"""The specification of a selection."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from jointdist._params import Parametric
from jointdist.errors import is_number, is_whole, require, require_kind
from jointdist.selection.risk import Criterion, risk_of

__all__ = ["SETTINGS", "Scales", "SearchSettings", "Selection", "require_selection"]

Scales: TypeAlias = Literal["each", "common"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Tuned constants of the selection.

    Attributes
    ----------
    strengths : tuple of float
        Ridges that are tried, times the number of rows: half decades from 100, near
        independence, to 1e-7, where models without noise interpolate.
    powers : range
        Powers of two by which length scales are multiplied: from a sixty-fourth of the median
        heuristic, where few neighbours count, to eight times, where kernels are nearly flat.
    repeats, few : int
        How often rows are split into folds, as long as that makes at most so many rows in
        all: a single split of few rows gives noisy scores, and few rows are cheap.
    better : float
        The share of the score by which a neighbour must be better: less is noise.
    clearly_better : float
        The share of the score by which one length scale a column must beat a common one,
        because it has more freedom to overfit.
    nearly_as_good : tuple of float
        The least and the largest share of the score that a larger ridge may cost: about the
        standard error of a score over five folds.
    hopeless : float
        The share of the score above the best at which neighbours are not tried: a time
        budget.
    rank_x, rank_y : int
        The largest ranks of the factors of candidates: a time budget.
    full_rank_x : int
        The largest rank of a factor of X of rough kernels, near the best candidate if that
        was cut, and of the final fit: a time budget.
    strength : float
        The ridge times the number of rows where all rows are equal, so that any will do.
    """

    strengths: tuple[float, ...] = tuple((10.0 ** np.arange(2, -7.1, -0.5)).tolist())
    powers: range = range(-6, 4)
    repeats: int = 2
    few: int = 400
    better: float = 5e-3
    clearly_better: float = 0.02
    nearly_as_good: tuple[float, float] = (0.01, 0.015)
    hopeless: float = 0.05
    rank_x: int = 512
    rank_y: int = 256
    full_rank_x: int = 1024
    strength: float = 0.1


SETTINGS = SearchSettings()


@dataclass(frozen=True)
class Selection(Parametric):
    r"""How arguments that are ``"auto"`` are chosen: on which rows, by which score.

    :class:`~jointdist.KernelLogisticRegression` has criteria and ridges of its own.

    Parameters
    ----------
    criterion : str or callable, default="energy"
        The score on held-out rows that is minimised. ``"energy"``: the energy score of the
        conditional distributions, which is the CRPS if Y has one column. ``"ratio"``: the
        squared distance of the ratio of the joint distribution to the true one. ``"crps"``,
        ``"energy_score"``, ``"interval_score"``, ``"log_score"``,
        ``"second_moment_loss"``: functions of :mod:`jointdist.scores`. Or a function of a
        :class:`~jointdist.Conditional` and of the outcomes that returns a number, or one
        for each distribution; the lower the better.
    cv : int or float, default=5
        The number of folds, each held out in turn; or the share of rows that are held out
        once, as 0.2 in the paper. Folds are random.
    rows : int, default=4096
        The largest number of rows that take part in the selection; of more, a random
        subsample. The model is then fitted to all rows once.
    scales : {"each", "common"}, default="each"
        The length scales of the kernel of X. ``"common"``: those of the median heuristic
        times a common factor. ``"each"``: also one length scale for each column, by Gaussian
        process evidence on up to 500 rows, so that irrelevant columns drop out; chosen if it
        is better by 2 %. Without constraints on the sign of the weights the kernel may then
        be Matérn with :math:`\nu` = 3/2 or 1/2 instead of Gaussian, whichever has the least
        leave-one-out error.
    regularizations : sequence of float, optional
        The ridges that are tried, in units of the fit to all rows. By default 19 from
        :math:`10^{-7}` to :math:`100` over the number of rows, times the mean diagonals of
        the kernels.

    Examples
    --------
    The protocol of the paper, by its second-moment loss on a fifth of the rows:

    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> Y = X + 0.5 * rng.normal(size=(300, 2))
    >>> paper = jd.Selection("second_moment_loss", cv=0.2)
    >>> model = jd.JointDistribution(selection=paper, random_state=0).fit(X, Y)
    >>> model.selection_.criterion, model.selection_.folds
    ('second_moment_loss', 1)
    """

    criterion: Criterion = "energy"
    cv: float = 5
    rows: int = 4096
    scales: Scales = "each"
    regularizations: Sequence[float] | None = field(default=None)

    def __post_init__(self) -> None:
        where = "Selection"
        risk_of(where, self.criterion)
        _require_cv(where, self.cv)
        require(is_whole(self.rows, least=2), where, "rows", "an integer from 2", self.rows)
        require_kind(where, "scales", self.scales, Scales)
        if self.regularizations is None:
            return
        ridges: Any = self.regularizations
        several = np.ndim(ridges) == 1 and len(ridges) > 0
        good = several and all(is_number(r, least=0) for r in ridges)
        rule = "a sequence of numbers of at least 0, or None"
        require(good, where, "regularizations", rule, ridges)
        object.__setattr__(self, "regularizations", tuple(float(r) for r in ridges))


def require_selection(where: str, selection: object, verbose: object) -> None:
    """Raise unless the arguments ``selection`` and ``verbose`` of an estimator are valid.

    Parameters
    ----------
    where : str
        The estimator.
    selection : Selection, optional
        The argument.
    verbose : int
        Whether progress is shown.
    """
    good = selection is None or isinstance(selection, Selection)
    require(good, where, "selection", "a Selection, or None", selection)
    whole = isinstance(verbose, bool) or is_whole(verbose, least=0)
    require(whole, where, "verbose", "an integer of at least 0", verbose)


def _require_cv(where: str, cv: object) -> None:
    """Raise unless ``cv`` is a number of folds or a share of rows.

    Parameters
    ----------
    where : str
        The caller, for messages.
    cv : int or float
        What was given.
    """
    share = (
        isinstance(cv, float | np.floating) and is_number(cv, least=0, below=1) and cv > 0
    )
    rule = "a number of folds, at least 2, or the share of rows held out, below 1"
    require(is_whole(cv, least=2) or share, where, "cv", rule, cv)
