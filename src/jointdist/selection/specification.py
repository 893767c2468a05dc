"""What a selection is to choose between and by which score, and what it chose."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from jointdist._array import Vector
from jointdist._params import Parametric
from jointdist._rules import is_number, is_whole, require, require_kind
from jointdist.data.fold_arguments import is_count, require_cv
from jointdist.data.frames import to_frame
from jointdist.kernels import Kernel
from jointdist.selection.risk import Criterion, risk_of

__all__ = ["Candidate", "Scales", "Selected", "Selection", "require_selection"]

Scales: TypeAlias = Literal["each", "common"]


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
    cv : int, float, "time", splitter or iterable of splits, default=5
        The number of folds, each held out in turn; or the share of rows that are held out
        once, as 0.2 in the paper. These folds are random, of whole groups if ``fit`` gets
        ``groups``. ``"time"``: the rows are in order of time, in six blocks, and each block
        but the first is held out of a fit to all rows before it. Or the folds, by a splitter
        of scikit-learn, which gets ``groups``, or as pairs of arrays of row indices, of which
        the second are held out: each row once at most. Rows that depend on each other belong
        to one fold. What holds for kernels and ridge holds for the ridge of projections, too.
        Without a ``Selection``, models may split few rows more often, and with
        ``positivity="exponential"`` many rows less often.
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
    cv: Any = 5
    rows: int = 4096
    scales: Scales = "each"
    regularizations: Sequence[float] | None = field(default=None)

    def __post_init__(self) -> None:
        where = "Selection"
        risk_of(where, self.criterion)
        require_cv(where, self.cv, share=True)
        if not is_count(self.cv) and not isinstance(self.cv, str):
            object.__setattr__(self, "cv", _kept_pairs(self.cv))
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


@dataclass(frozen=True, eq=False)
class Candidate:
    """A candidate of a selection, with its scores for all ridges.

    Attributes
    ----------
    regularizations : array of shape (l,)
        The ridges, in units of the fit to all rows.
    scores : array of shape (l,)
        The criterion for each ridge, the lower the better; NaN where it is undefined.
    errors : array of shape (l,)
        The standard errors of the scores over the folds; NaN for a single fold.
    rank_x, rank_y : int
        The ranks.
    seconds : float
        The time of its fits; of several that ran together, an equal share.
    kernel_x, kernel_y : Kernel, optional
        The kernels.
    factor_x, factor_y : float, default=1.0
        The length scales of the kernels, as multiples of those of the median heuristic.
    scales : str, default=""
        Whether the length scales of X are ``"common"``, one for ``"each"`` column, or given.
    degree : int, optional
        The degree of the polynomials.
    located : tuple of float, optional
        Of maximum likelihood: the weights of outcomes, and of their squares and products,
        among the functions of Y.
    folds : int, optional
        The number of folds that it is scored on; None if on all of them. Scores on other folds
        cannot be compared.
    """

    regularizations: Vector = field(repr=False)
    scores: Vector = field(repr=False)
    errors: Vector = field(repr=False)
    rank_x: int
    rank_y: int
    seconds: float
    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    factor_x: float = 1.0
    factor_y: float = 1.0
    scales: str = ""
    degree: int | None = None
    located: tuple[float, float] | None = None
    folds: int | None = None

    @property
    def score(self) -> float:
        """The best score; infinite if there is none."""
        known = self.scores[~np.isnan(self.scores)]
        return float(known.min(initial=np.inf))


@dataclass(frozen=True, eq=False, repr=False)
class Selected:
    """The result of a selection: the attribute ``selection_`` of a model.

    :func:`jointdist.plots.ridge_path` and :func:`jointdist.plots.scale_map` draw it.

    Attributes
    ----------
    candidates : list of Candidate
        All candidates, in the order in which they were tried.
    best, ridge : int
        The index of the chosen candidate and of its ridge: the largest ridge that is nearly
        as good as the best, since tiny ridges are erratic where there are no rows; of maximum
        likelihood the best.
    criterion : str
        The criterion that was minimised.
    rows, folds : int
        The number of rows that took part, and of folds.
    seconds : float
        The time of the selection.

    Examples
    --------
    >>> import numpy as np
    >>> import jointdist as jd
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 200))
    >>> found = jd.JointDistribution(random_state=0).fit(x[:, None], x + noise).selection_
    >>> found.criterion, found.rows, found.folds
    ('energy', 200, 10)
    >>> found.chosen.kernel_x == found.candidates[found.best].kernel_x
    True
    """

    candidates: list[Candidate]
    best: int
    ridge: int
    criterion: str
    rows: int
    folds: int
    seconds: float

    @property
    def chosen(self) -> Candidate:
        """The chosen candidate."""
        return self.candidates[self.best]

    @property
    def regularization(self) -> float:
        """The chosen ridge, in units of the fit to all rows."""
        return float(self.chosen.regularizations[self.ridge])

    @property
    def score(self) -> float:
        """The score of the choice."""
        return float(self.chosen.scores[self.ridge])

    def __repr__(self) -> str:
        chosen = self.chosen
        names = ("kernel_x", "kernel_y", "degree")
        what = {name: getattr(chosen, name) for name in names}
        choice = ", ".join(f"{name}={value!r}" for name, value in what.items() if value)
        if chosen.located is not None and chosen.kernel_y is None:
            a, b = chosen.located
            choice += f", functions of Y: ranks + {a:g} outcomes + {b:g} squares"
        return (
            f"Selected({choice}, regularization={self.regularization:.3g}: {self.criterion} "
            f"{self.score:.4g} on {self.rows:,} rows in {self.folds} folds, best of "
            f"{len(self.candidates)} candidates in {self.seconds:.1f} s)"
        )

    def to_frame(self) -> Any:
        """Return all candidates as a DataFrame, with a row for each ridge.

        With the columns of :class:`Candidate`, and ``chosen``. Scores can be compared if
        their number of ``folds`` is the same: where candidates are many, the first scores are
        those on one fold.
        """
        columns: dict[str, list[Any]] = {}
        for number, candidate in enumerate(self.candidates):
            kernels = {"x": candidate.kernel_x, "y": candidate.kernel_y}
            common: dict[str, Any] = {"candidate": number}
            if candidate.degree is None:
                common |= {"scales": candidate.scales, "factor_x": candidate.factor_x}
                common |= {"factor_y": candidate.factor_y}
                common |= {f"kernel_{side}": repr(k) for side, k in kernels.items() if k}
            else:
                common |= {"degree": candidate.degree}
            if candidate.located is not None:
                common |= zip(
                    ("weight_outcomes", "weight_squares"), candidate.located, strict=True
                )
            common |= {"rank_x": candidate.rank_x, "rank_y": candidate.rank_y}
            common |= {"seconds": candidate.seconds, "folds": candidate.folds or self.folds}
            for i in range(len(candidate.scores)):
                row = common | {
                    "regularization": float(candidate.regularizations[i]),
                    "score": float(candidate.scores[i]),
                    "error": float(candidate.errors[i]),
                    "chosen": number == self.best and i == self.ridge,
                }
                for name, value in row.items():
                    columns.setdefault(name, []).append(value)
        return to_frame({name: np.asarray(values) for name, values in columns.items()})


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


def _kept_pairs(cv: Any) -> Any:
    """Return a splitter, or all pairs of an iterator, which can be asked once only."""
    return cv if hasattr(cv, "split") else tuple(cv)
