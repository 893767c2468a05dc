"""Tables become paired rows: what every estimator's `fit` and questions begin with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from jointdist._random import Seed, generator
from jointdist.data.encoding import Encoding, learn_encoding
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.errors import Text, require

__all__ = ["PairedData", "read_pair", "read_x", "require_columns", "set_columns"]


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

    Arrays of up to 64 MB are copied.

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
    words = x.encoding.all_categorical
    sample = Sample.paired(x.rows, y.rows, sample_weight, categorical=words).owned()
    reader = BaseEstimator()  # so that a fit that fails leaves no trace
    validate_data(reader, X, reset=True, skip_check_array=True)
    rng = generator(where, random_state)
    seed = int(rng.integers(2**32))
    return PairedData(sample, (x.encoding, y.encoding), vars(reader), rng, seed)


def set_columns(model: BaseEstimator, columns: dict[str, Any]) -> None:
    """Set ``n_features_in_`` and, if columns have names, ``feature_names_in_`` of a model.

    Parameters
    ----------
    model : estimator
        The model; names that it had from an earlier fit are removed.
    columns : dict
        Those of :class:`PairedData`.
    """
    model.__dict__.pop("feature_names_in_", None)
    model.__dict__.update(columns)


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
    if not flat and getattr(X, "ndim", 2) == 2:
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
    X : array, DataFrame or sequence of shape (q, d)
        The rows. As the argument ``x`` of ``given``, a vector if X has one column.
    where : str
        The method, for messages.
    name : str, default="X"
        The argument, for messages.
    """
    require_columns(model, X)
    vector = name == "x" and model.n_features_in_ == 1
    return encoding.encode(X, where=where, name=name, vector=vector)
