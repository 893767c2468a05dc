"""Questions to fitted models: rows of X, some of whose entries may be missing."""

from typing import Protocol

from jointdist._array import Vector
from jointdist.data.design import Design, Question
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import Seen
from jointdist.models.donors import find_donors
from jointdist.models.event_rows import WeightedRows

__all__ = ["Answering", "answers"]


class Answering(Protocol):
    """A fitted model of the conditional distributions of Y given X."""

    @property
    def design_x(self) -> Design:
        """What became of the columns of X."""

    @property
    def points_x(self) -> WeightedRows:
        """The support points of X, or rows that stand for them."""

    @property
    def donors_x(self) -> WeightedRows:
        """Some rows of X, whose entries take the place of missing ones."""

    @property
    def seen(self) -> Seen | None:
        """The range and the novelty of the rows of X, if known."""

    def of_y(self, x: Rows) -> Distributions:
        """Return the distributions of Y given rows of X."""

    def of_y_averaged(self, x: Rows, groups: Groups) -> Distributions:
        """Return averages of the distributions of Y given rows of X, group by group."""

    def of_y_within(self, x: WeightedRows) -> Distributions:
        """Return the distribution of Y given that X is one of some rows."""

    def marginal_scores(self, y: Vector) -> Vector:
        """Return the energy scores of the marginal distribution of Y at outcomes."""


def answers(fitted: Answering, question: Question) -> Distributions:
    """Return the distributions of Y at rows; what is missing is integrated out.

    Parameters
    ----------
    fitted : Answering
        The model.
    question : Question
        The rows.
    """
    if question.absent is None:
        return fitted.of_y(question.rows)
    design = fitted.design_x
    found = find_donors(question.rows, question.absent, fitted.donors_x, design)
    return fitted.of_y_averaged(found.rows, found.groups).take(found.which)
