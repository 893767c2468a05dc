"""Methods that are there once a model is fitted."""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from sklearn.utils.validation import check_is_fitted

__all__ = ["after_fit"]

T = TypeVar("T")


class after_fit(Generic[T]):  # noqa: N801
    """A method that an estimator has only after ``fit``.

    Before, asking for it raises ``NotFittedError``, and ``hasattr`` says no.

    Parameters
    ----------
    method : callable
        The method.
    """

    def __init__(self, method: Callable[..., T]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, model: Any, owner: type) -> Callable[..., T]:
        if model is None:
            return self.method
        name = self.method.__name__
        msg = f"%(name)s.{name}: call `fit` first; `{name}` changes a model that is fitted."
        check_is_fitted(model, msg=msg)
        return partial(self.method, model)
