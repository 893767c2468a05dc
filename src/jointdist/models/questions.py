"""Questions to fitted models: rows of X, some of whose entries may be missing."""

from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows, as_rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.seen import Seen
from jointdist.models._arguments import read_x, require_columns
from jointdist.models.donors import find_donors
from jointdist.models.event_rows import WeightedRows

__all__ = ["Answering", "Question", "answers", "read_question"]


class Question(NamedTuple):
    """Rows of X at which a model is asked.

    Attributes
    ----------
    rows : Rows
        The rows, coded; any number where an entry is missing.
    missing : array of bool, of shape (q, d), optional
        The entries to be integrated out; None if there are none.
    """

    rows: Rows
    missing: NDArray[np.bool_] | None = None


class Answering(Protocol):
    """A fitted model of the conditional distributions of Y given X."""

    @property
    def encoding_x(self) -> Encoding:
        """The columns of X."""

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


def read_question(
    model: Any, encoding: Encoding, X: Any, *, where: str, name: str = "X"
) -> Question:
    """Return rows of X at which a fitted model is asked, checked and encoded.

    Parameters
    ----------
    model : estimator
        The fitted model. If it has ``missing`` other than ``"error"``, entries that are NaN
        are integrated out.
    encoding : Encoding
        The columns of X: their names and categories.
    X : array, DataFrame or sequence of shape (q, d)
        The rows. As the argument ``x`` of ``given``, a vector if X has one column.
    where, name : str
        The method and its argument, for messages.
    """
    if getattr(model, "missing", "error") == "error" or not encoding.numeric:
        return Question(read_x(model, encoding, X, where=where, name=name))
    require_columns(model, X)
    vector = name == "x" and encoding.width == 1
    rows = as_rows(X, where=where, name=name, vector=vector)
    table = _with_missing(rows)
    missing = np.isnan(table)
    if not missing.any():
        return Question(encoding.encode(X, where=where, name=name, vector=vector))
    filled = as_rows(np.where(missing, 0.0, table), where=where, name=name)
    filled.require_width(encoding.width)
    return Question(filled, missing)


def answers(fitted: Answering, question: Question) -> Distributions:
    """Return the distributions of Y at rows; what is missing is integrated out.

    Parameters
    ----------
    fitted : Answering
        The model.
    question : Question
        The rows.
    """
    if question.missing is None or not question.missing.any():
        return fitted.of_y(question.rows)
    found = find_donors(question.rows, question.missing, fitted.donors_x, fitted.encoding_x)
    return fitted.of_y_averaged(found.rows, found.groups).take(found.which)


def _with_missing(rows: Rows) -> Vector:
    """Return a table as numbers, NaN where they are missing."""
    source = rows.source
    if isinstance(source, nw.DataFrame):
        found: Vector = source.select(nw.all().cast(nw.Float64)).to_numpy()
        return found
    return np.asarray(to_numpy(source), dtype=np.float64)
