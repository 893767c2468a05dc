"""Rules of the arguments of conditional mean embeddings that depend on each other."""

from typing import Any, Protocol

from jointdist._rules import require
from jointdist.selection.specification import Selection

__all__ = ["EmbeddingParameters", "require_embedding"]


class EmbeddingParameters(Protocol):
    """The parameters of a conditional mean embedding that rules are about."""

    regularization: Any
    low_rank: bool
    normalization: Any
    positivity: Any
    selection: Selection | None


def require_embedding(model: EmbeddingParameters, where: str, scope: str) -> None:
    """Raise unless the parameters obey the rules that hold for embeddings alone.

    Parameters
    ----------
    model : EmbeddingParameters
        The estimator.
    where : str
        Its name, for messages.
    scope : str
        Where the program asks for positive weights.
    """
    ridge, selection = model.regularization, model.selection
    require(ridge != 0, where, "regularization", "positive", ridge)
    known = isinstance(model.low_rank, bool)
    require(known, where, "low_rank", "True or False", model.low_rank)
    rule = 'another than "ratio", as there is no joint distribution'
    criterion = None if selection is None else selection.criterion
    require(criterion != "ratio", where, "selection", rule, selection)
    tried = None if selection is None else selection.regularizations
    rule = "of positive ridges"
    require(not tried or min(tried) > 0, where, "selection", rule, selection)
    free, rule = model.normalization == "none", '"none" without `low_rank`'
    require(model.low_rank or free, where, "normalization", rule, model.normalization)
    rule = '"projected", "isotonic" or "none" without `low_rank`'
    free = scope == "none"
    require(model.low_rank or free, where, "positivity", rule, model.positivity)
