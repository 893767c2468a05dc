"""What scikit-learn expects of estimators: its keyword for the target, checks of columns."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows

__all__ = ["read_x", "require_columns", "y_for_Y"]

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


def require_columns(model: BaseEstimator, X: Any) -> None:
    """Raise unless a table has the columns that a model was fitted to.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, DataFrame or sequence
        The table; who reads it will complain if it is none.
    """
    flat = np.isscalar(X) or (isinstance(X, list | tuple) and X and np.isscalar(X[0]))
    if not flat and getattr(X, "ndim", 2) == 2:
        validate_data(model, X, reset=False, skip_check_array=True)


def read_x(
    model: Any, encoding: Encoding, X: object, *, where: str, name: str = "X"
) -> Rows:
    """Return rows of X that a fitted model is evaluated at, checked and encoded.

    Parameters
    ----------
    model : estimator
        The fitted model.
    encoding : Encoding
        How the columns of X became numbers.
    X : array, DataFrame or sequence of shape (q, d)
        The rows. As the argument ``x`` of ``given``, a vector if X has one column.
    where : str
        The method, for messages.
    name : str, default="X"
        The argument.
    """
    require_columns(model, X)
    vector = name == "x" and model.n_features_in_ == 1
    return encoding.encode(X, where=where, name=name, vector=vector)
