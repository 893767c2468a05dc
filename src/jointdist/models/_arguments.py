"""Arguments of estimators: their rules, and tables that become paired rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from jointdist._rules import Seed, Text, generator, is_number, is_whole, require
from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.one_row import as_question
from jointdist.data.sample import Sample
from jointdist.data.table import Rows

__all__ = [
    "PairedData",
    "read_pair",
    "read_x",
    "require_arguments",
    "require_columns",
    "require_numbers_alone",
    "require_ridges",
    "y_for_Y",
]

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


def require_arguments(where: str, **arguments: object) -> None:
    """Raise unless arguments of an estimator obey their rules.

    Parameters
    ----------
    where : str
        The estimator.
    **arguments
        Some of those that estimators have in common.
    """
    for name, value in arguments.items():
        rule, obeys = _RULES[name]
        require(obeys(value), where, name, rule, value)


def require_ridges(where: str, regularization: object) -> None:
    """Raise unless an argument is a ridge, or one for each function of Y, or says how.

    Parameters
    ----------
    where : str
        The estimator.
    regularization : float, array, "auto" or "loo"
        The argument.
    """
    if isinstance(regularization, np.ndarray):
        numbers = regularization.ndim == 1 and regularization.dtype.kind in "fiu"
        good = numbers and bool((regularization >= 0).all())
    else:
        loo = isinstance(regularization, str) and regularization == "loo"
        good = loo or _is_ridge(regularization)
    rule = 'a number of at least 0, an array of such, "auto" or "loo"'
    require(good, where, "regularization", rule, regularization)


def _is_ridge(value: object) -> bool:
    return (isinstance(value, str) and value == "auto") or is_number(value, least=0)


_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "regularization": ('a number of at least 0, or "auto"', _is_ridge),
    "tol": ("a number from 0 to below 1", lambda tol: is_number(tol, least=0, below=1)),
    "grid_rows": ("an integer of at least 1", lambda rows: is_whole(rows, least=1)),
    "support_size": ("an integer of at least 1", lambda rows: is_whole(rows, least=1)),
}


def require_numbers_alone(where: str, positivity: str, sides: tuple[Encoding, ...]) -> None:
    """Raise if distributions are to be isotonic and none is of one numeric column.

    Parameters
    ----------
    where : str
        The estimator.
    positivity : str
        The argument.
    sides : tuple of Encoding
        The columns of the sides whose distributions can be asked for.
    """
    alone = any(side.width == 1 and side.numeric for side in sides)
    got = Text('"isotonic", and there is none; use "projected"')
    rule = "for distributions of one numeric column"
    require(positivity != "isotonic" or alone, where, "positivity", rule, got)


@dataclass(frozen=True, slots=True, eq=False)
class PairedData:
    """The tables of a fit, read.

    Attributes
    ----------
    sample : Sample
        The rows of X and Y as numbers, with their weights.
    encodings : tuple of Encoding
        The columns of X and Y: their names and categories.
    columns : dict
        ``n_features_in_``, and ``feature_names_in_`` if the columns of X have names.
    rng : Generator
        Random numbers from the estimator's ``random_state``.
    seed : int
        A seed drawn from it.
    """

    sample: Sample
    encodings: tuple[Encoding, Encoding]
    columns: dict[str, Any]
    rng: np.random.Generator
    seed: int


def read_pair(
    where: str, X: object, Y: object, sample_weight: object, random_state: Seed
) -> PairedData:
    """Return the tables of a fit as paired rows, with all checks made.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    X, Y : array, DataFrame or sequence
        The tables.
    sample_weight : array of shape (n,), optional
        The weights of the rows.
    random_state : int, Generator, RandomState, optional
        The seed of the estimator.
    """
    x = learn_encoding(X, where=where, name="X")
    got = Text("None: fit requires y to be passed, but the target y is None")
    require(Y is not None, where, "Y", "given", got)
    y = learn_encoding(Y, where=where, name="Y", vector=True)
    categorical = x.encoding.all_categorical
    sample = Sample.paired(x.rows, y.rows, sample_weight, categorical=categorical)
    reader = BaseEstimator()  # so that a fit that fails leaves no trace
    validate_data(reader, X, reset=True, skip_check_array=True)
    rng = generator(where, random_state)
    seed = int(rng.integers(2**32))
    return PairedData(sample, (x.encoding, y.encoding), vars(reader), rng, seed)


def require_columns(model: BaseEstimator, X: Any) -> None:
    """Raise unless a table has the columns that a model was fitted to.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : array, DataFrame or sequence
        The table. What is no table is left to its reader.
    """
    flat = np.isscalar(X) or (isinstance(X, list | tuple) and X and np.isscalar(X[0]))
    if not flat and not isinstance(X, Mapping) and getattr(X, "ndim", 2) == 2:
        validate_data(model, X, reset=False, skip_check_array=True)


def read_x(
    model: Any, encoding: Encoding, X: object, *, where: str, name: str = "X"
) -> Rows:
    """Return rows of X at which a fitted model is evaluated, checked and encoded.

    Parameters
    ----------
    model : estimator
        The fitted model.
    encoding : Encoding
        The columns of X: their names and categories.
    X : array, DataFrame, dict or sequence of shape (q, d)
        The rows. As the argument ``x`` of ``given``, a vector if X has one column.
    where : str
        The method, for messages.
    name : str, default="X"
        The argument, for messages.
    """
    X = as_question(X, encoding, where=where, name=name)
    require_columns(model, X)
    vector = name == "x" and model.n_features_in_ == 1
    return encoding.encode(X, where=where, name=name, vector=vector)
