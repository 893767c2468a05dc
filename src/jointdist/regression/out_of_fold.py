"""Regressors of any kind: what they forecast for rows that they were not fitted to."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from jointdist._array import Vector
from jointdist.errors import Text, require

__all__ = ["FoldModels", "Split", "out_of_fold", "seeded", "take_rows"]


class Split(NamedTuple):
    """Numbers of rows.

    Attributes
    ----------
    fit : array of int
        Those that a model is fitted to.
    out : array of int
        Those that are held out.
    """

    fit: NDArray[np.intp]
    out: NDArray[np.intp]

    @classmethod
    def without(cls, out: NDArray[np.intp], n: int) -> "Split":
        """Return all of n rows to fit to but those that are held out.

        Parameters
        ----------
        out : array of int
            The rows that are held out.
        n : int
            The number of all rows.
        """
        return cls(np.setdiff1d(np.arange(n), out), out)


@dataclass(frozen=True, eq=False)
class FoldModels:
    """Regressors of several targets, each fitted to all rows but those of a part.

    Attributes
    ----------
    models : list of list of estimator
        For each target, a model for each part.
    where : str
        The estimator they belong to, for messages.
    """

    models: list[list[Any]]
    where: str

    def predict(self, X: Any) -> Vector:
        """Return the mean forecasts of the models, ``(q, r)``.

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The rows.
        """
        found = [
            np.mean([_forecast(self.where, model, X) for model in own], axis=0)
            for own in self.models
        ]
        return np.stack(found, axis=1)


def out_of_fold(
    regressor: Any,
    X: Any,
    targets: Vector,
    weights: Vector | None,
    *,
    splits: list[Split],
    where: str,
) -> tuple[FoldModels, Vector]:
    """Return regressors, and their forecasts of the rows that are held out of each.

    Parameters
    ----------
    regressor : estimator
        A regressor of scikit-learn's kind; it is cloned.
    X : array or DataFrame of shape (n, d)
        The rows.
    targets : array of shape (n, r)
        The targets; each has its own regressors.
    weights : array of shape (n,), optional
        The weights of the rows.
    splits : list of Split
        The rows that each is fitted to, and those that are held out.
    where : str
        The caller, for messages.

    Returns
    -------
    tuple of FoldModels and array of shape (n, r)
        The models, and the forecasts.
    """
    found = np.full(targets.shape, np.nan)
    models: list[list[Any]] = [[] for _ in targets.T]
    for one in splits:
        z, out = take_rows(X, one.fit), take_rows(X, one.out)
        w = None if weights is None else weights[one.fit]
        for column, own in enumerate(models):
            model = clone(regressor)
            _fit(where, model, z, targets[one.fit, column], w)
            found[one.out, column] = _forecast(where, model, out)
            own.append(model)
    return FoldModels(models, where), found


def seeded(regressor: Any, seed: int) -> Any:
    """Return a clone whose seeds are given, also those of what it is made of.

    Parameters
    ----------
    regressor : estimator
        A regressor of scikit-learn's kind.
    seed : int
        For those that have none.
    """
    own, rng = clone(regressor), np.random.default_rng(seed)
    params = own.get_params() if hasattr(own, "get_params") else {}
    names = [name for name in sorted(params) if name.split("__")[-1] == "random_state"]
    seeds = {name: int(rng.integers(2**31)) for name in names if params[name] is None}
    return own.set_params(**seeds) if seeds else own


def _fit(where: str, model: Any, X: Any, y: Vector, weights: Vector | None) -> None:
    name, last = "", model
    while isinstance(last, Pipeline):  # whose last step gets the weights
        step, last = last.steps[-1]
        name += f"{step}__"
    name += "sample_weight"
    with _named(where, model, "fitted"):
        model.fit(X, y, **({} if weights is None else {name: weights}))


@contextmanager
def _named(where: str, model: Any, done: str) -> Iterator[None]:
    """Tell whose errors they are: users know their regressor by its name."""
    try:
        yield
    except Exception as error:
        named = "sample_weight" in str(error) and isinstance(error, TypeError | ValueError)
        rule = "one that takes `sample_weight`" if named else f"one that can be {done}"
        got = Text(f"{type(model).__name__}: {error}".rstrip("."))
        msg = f"{where}: `regressor` must be {rule}. Got {got}."
        raise ValueError(msg) from error


def _forecast(where: str, model: Any, X: Any) -> Vector:
    """Return forecasts as a vector of finite numbers."""
    with _named(where, model, "asked for forecasts"):
        found = np.asarray(model.predict(X), dtype=np.float64)
    n, name = len(X), type(model).__name__
    rule = f"one that forecasts a number for each of {n} rows"
    require(found.size == n, where, "regressor", rule, Text(f"{found.shape} of {name}"))
    good = bool(np.isfinite(found).all())
    rule = "one whose forecasts are finite"
    require(good, where, "regressor", rule, Text(f"NaN or infinity of {name}"))
    return found.reshape(n)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return rows of a table of any kind, as what it is.

    Parameters
    ----------
    X : array, DataFrame or sequence
        The table.
    rows : array of int
        The numbers of the rows.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]
