"""The result of a selection: all candidates, their scores, and the choice."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist.data.frames import to_frame
from jointdist.kernels import Kernel

__all__ = ["Candidate", "Selected"]


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
        The time of its fits.
    kernel_x, kernel_y : Kernel, optional
        The kernels.
    factor_x, factor_y : float, default=1.0
        The length scales of the kernels, as multiples of those of the median heuristic.
    scales : str, default=""
        Whether the length scales of X are ``"common"``, one for ``"each"`` column, or given.
    degree : int, optional
        The degree of the polynomials.
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
        as good as the best, since tiny ridges are erratic where there are no rows.
    criterion : str
        The criterion that was minimised.
    rows, folds : int
        The number of rows that took part, and of folds.
    seconds : float
        The time of the selection.
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
        return (
            f"Selected({choice}, regularization={self.regularization:.3g}: {self.criterion} "
            f"{self.score:.4g} on {self.rows:,} rows in {self.folds} folds, best of "
            f"{len(self.candidates)} candidates in {self.seconds:.1f} s)"
        )

    def to_frame(self) -> Any:
        """Return all candidates as a DataFrame, with a row for each ridge.

        With the columns of :class:`Candidate`, and ``chosen``.
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
            common |= {"rank_x": candidate.rank_x, "rank_y": candidate.rank_y}
            common |= {"seconds": candidate.seconds}
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
