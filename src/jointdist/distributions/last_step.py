"""Models at the end of pipelines and searches, and the transformations before them."""

from dataclasses import dataclass
from typing import Any

from jointdist._rules import Text, require

__all__ = ["LastStep", "last_step"]

_RULE = "a model with a method `given`, or a pipeline or search with one"


@dataclass(frozen=True, slots=True)
class LastStep:
    """A model with conditional distributions, and what its rows of X go through before.

    Attributes
    ----------
    model : estimator
        The model, which has a method ``given``.
    before : tuple of transformers
        The transformations, in order.
    """

    model: Any
    before: tuple[Any, ...]

    def transformed(self, x: Any) -> Any:
        """Return rows of X as the model sees them.

        Parameters
        ----------
        x : array, DataFrame or sequence of shape (q, d)
            Rows, as the first transformation takes them.
        """
        for step in self.before:
            x = step.transform(x)
        return x


def last_step(where: str, estimator: Any) -> LastStep:
    """Return the model that an estimator ends in: itself, or that of a pipeline or search.

    Parameters
    ----------
    where : str
        The function that users call, for messages.
    estimator : estimator
        A fitted model with ``given``, a pipeline that ends in one, a search over one, or
        any combination of these.
    """
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415  # takes a second

    model, before = estimator, []
    while (inside := _inside(model)) is not None:
        inner, transformer = inside
        before += [] if transformer is None else [transformer]
        model = inner
    _require_given(where, model)
    if model is not estimator and hasattr(model, "fit"):
        check_is_fitted(model)  # before what transforms complains
    return LastStep(model, tuple(before))


def _inside(estimator: Any) -> tuple[Any, Any] | None:
    """Return the estimator inside another one, and what transforms its rows; or None."""
    from sklearn.frozen import FrozenEstimator  # noqa: PLC0415
    from sklearn.pipeline import Pipeline  # noqa: PLC0415

    if isinstance(estimator, FrozenEstimator):
        return estimator.estimator, None
    if isinstance(estimator, Pipeline):
        before = estimator[:-1]
        return estimator[-1], before if len(before) else None
    best = getattr(estimator, "best_estimator_", None)
    return None if best is None else (best, None)


def _require_given(where: str, model: Any) -> None:
    """Raise unless a model has distributions: it says which part of the rule is broken."""
    from sklearn.compose import TransformedTargetRegressor  # noqa: PLC0415
    from sklearn.utils.validation import check_is_fitted  # noqa: PLC0415

    rule, got = _RULE, Text(type(model).__name__)
    if isinstance(model, str):  # a step that is left out
        got = Text(repr(model))
    elif isinstance(model, TransformedTargetRegressor):
        rule += (
            "; transform Y before `fit`, as distributions have the unit of their outcomes"
        )
    elif not hasattr(model, "given") and {"estimator", "refit", "cv"} <= _attributes(model):
        check_is_fitted(model)
        rule, got = "a search with `refit=True`", Text(f"{got} with refit={model.refit!r}")
    require(callable(getattr(model, "given", None)), where, "estimator", rule, got)


def _attributes(model: object) -> set[str]:
    return set(getattr(model, "__dict__", ()))
