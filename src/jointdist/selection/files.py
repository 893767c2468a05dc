"""The values of this room that a file can hold: what was to be selected, and what was."""

from jointdist._rules import Text, require
from jointdist.data.codec import (
    Added,
    Either,
    Floats,
    Number,
    Optional,
    Scalars,
    Schema,
    Sequence,
    Tuple,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.kernels.files import kernel_field
from jointdist.selection.kernel_search import Chosen
from jointdist.selection.specification import Candidate, Selected, Selection

__all__ = ["register_selection"]


def register_selection(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    kernel, number = kernel_field(), Number(infinite=True, missing=True)
    schema.register(
        Selection,
        "selection",
        criterion=Str(),
        cv=Either(Whole(least=2), Number(above=0, most=1), Str("time")),
        rows=Whole(least=2),
        scales=Str("each", "common"),
        regularizations=Optional(Scalars(float)),
    )
    scores = Floats("l", finite=False)
    schema.register(
        Candidate,
        "candidate",
        regularizations=Floats("l", least=0),
        scores=scores,
        errors=scores,
        rank_x=Whole(least=0),
        rank_y=Whole(least=0),
        seconds=number,
        kernel_x=Optional(kernel),
        kernel_y=Optional(kernel),
        factor_x=number,
        factor_y=number,
        scales=Str(),
        degree=Optional(Whole(least=0)),
        located=Added(Tuple(Number(least=0), Number(least=0))),
        folds=Added(Whole(least=1)),
    )
    schema.register(
        Selected,
        "selected",
        check=_check_selected,
        candidates=Sequence(Value(Candidate), of=list),
        best=Whole(least=0),
        ridge=Whole(least=0),
        criterion=Str(),
        rows=Whole(least=0),
        folds=Whole(least=0),
        seconds=number,
    )
    schema.register(
        Chosen,
        "chosen",
        kernel_x=kernel,
        kernel_y=kernel,
        strength=Number(least=0),
        selected=Optional(Value(Selected)),
        located=Added(Tuple(Number(least=0), Number(least=0))),
    )


def _check_selected(found: Selected) -> None:
    known = found.best < len(found.candidates)
    require(known, "Selected", "best", "the number of a candidate", found.best)
    known = found.ridge < len(found.chosen.scores)
    require(known, "Selected", "ridge", "the number of a ridge", Text(found.ridge))
