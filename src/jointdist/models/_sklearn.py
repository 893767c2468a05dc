"""The keyword that scikit-learn uses for the target."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

__all__ = ["y_for_Y"]

P = ParamSpec("P")
T = TypeVar("T")


def y_for_Y(method: Callable[P, T]) -> Callable[P, T]:  # noqa: N802
    """Let a method with a parameter ``Y`` take the keyword ``y`` of scikit-learn too.

    Parameters
    ----------
    method : callable
        The method.
    """

    @wraps(method)
    def accepting(*args: Any, **kwargs: Any) -> T:
        if "y" in kwargs and "Y" not in kwargs:
            kwargs["Y"] = kwargs.pop("y")
        return method(*args, **kwargs)

    return cast("Callable[P, T]", accepting)
