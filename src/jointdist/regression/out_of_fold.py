"""Out-of-fold forecasts of any regressor with the interface of scikit-learn."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from jointdist._array import Vector
from jointdist._rules import Text, require
from jointdist.data.blas_threads import one_openmp_thread
from jointdist.data.executor import Executor
from jointdist.data.folds import Split
from jointdist.regression.tables import take_rows

__all__ = ["FoldModels", "out_of_fold", "seeded"]

_MANY = 10_000  # rows that give several threads of OpenMP enough to do


@dataclass(frozen=True, eq=False)
class FoldModels:
    """Regressors of several targets, each fitted to all rows but those of a fold.

    Attributes
    ----------
    models : list of list of estimator
        For each target, a model for each fold.
    where : str
        The estimator they belong to, for messages.
    """

    models: list[list[Any]]
    where: str

    def after(self, first: Self) -> Self:
        """Return these models and those of the folds before them.

        Parameters
        ----------
        first : FoldModels
            The models of the folds before.
        """
        pairs = zip(first.models, self.models, strict=True)
        return replace(self, models=[[*before, *own] for before, own in pairs])

    def predict(self, X: Any) -> Vector:
        """Return the mean forecasts of the models, ``(q, r)``.

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The rows.
        """
        found = [
            np.mean([_forecast(self.where, model, X) for model in folds], axis=0)
            for folds in self.models
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
    again: bool = False,
    executor: Executor | None = None,
) -> tuple[FoldModels, Vector]:
    """Return the regressors of all folds, and their forecasts of the rows held out.

    Parameters
    ----------
    regressor : estimator
        A regressor with the interface of scikit-learn; it is cloned.
    X : array or DataFrame of shape (n, d)
        The rows.
    targets : array of shape (n, r)
        The targets; each gets its regressors.
    weights : array of shape (n,), optional
        The weights of the rows.
    splits : list of Split
        The folds.
    where : str
        The caller, for messages.
    again : bool, default=False
        Whether forecasts of other rows are those of a regressor fitted to all rows, as where
        folds are of very different numbers of rows.
    executor : Executor, optional
        Fits models next to each other, each on one thread of OpenMP: threads of its own would
        wait for each other. A single one of many rows has all of them. By default one after
        the other, as users' regressors may not be thread-safe.

    Returns
    -------
    tuple of FoldModels and array of shape (n, r)
        The models, and the forecasts; NaN for rows that are never held out.
    """
    found = np.full(targets.shape, np.nan)

    def fitted(pair: tuple[Split, int]) -> tuple[Any, Vector]:
        split, column = pair
        w = None if weights is None else weights[split.fit]
        model = clone(regressor)
        with one_openmp_thread() if beside else nullcontext():
            _fit(where, model, take_rows(X, split.fit), targets[split.fit, column], w)
            return model, _forecast(where, model, take_rows(X, split.out))

    pairs = [(split, column) for split in splits for column in range(targets.shape[1])]
    beside = executor is not None and (
        executor.workers == 1 or len(pairs) > 1 or len(targets) < _MANY
    )
    done = map(fitted, pairs) if executor is None else executor.each(fitted, pairs)
    models: list[list[Any]] = [[] for _ in targets.T]
    for (split, column), (model, forecasts) in zip(pairs, done, strict=True):
        found[split.out, column] = forecasts
        models[column].append(model)
    if again:
        models = [[clone(regressor)] for _ in models]
        for column, (model,) in enumerate(models):
            _fit(where, model, X, targets[:, column], weights)
    return FoldModels(models, where), found


def seeded(regressor: Any, seed: int) -> Any:
    """Return a clone of a regressor with all its seeds set, also those of its parts.

    Parameters
    ----------
    regressor : estimator
        A regressor with the interface of scikit-learn.
    seed : int
        The seed from which those that are None are drawn.
    """
    model, rng = clone(regressor), np.random.default_rng(seed)
    params = model.get_params() if hasattr(model, "get_params") else {}
    names = [name for name in sorted(params) if name.split("__")[-1] == "random_state"]
    seeds = {name: int(rng.integers(2**31)) for name in names if params[name] is None}
    return model.set_params(**seeds) if seeds else model


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
    """Turn errors of a regressor into ours, which name it."""
    try:
        yield
    except Exception as error:
        named = "sample_weight" in str(error) and isinstance(error, TypeError | ValueError)
        rule = "one that takes `sample_weight`" if named else f"one that can be {done}"
        got = Text(f"{type(model).__name__}: {error}".rstrip("."))
        msg = f"{where}: `regressor` must be {rule}. Got {got}."
        raise ValueError(msg) from error


def _forecast(where: str, model: Any, X: Any) -> Vector:
    """Return forecasts as a vector, after checking that they are finite numbers."""
    with _named(where, model, "used for forecasts"):
        found = np.asarray(model.predict(X), dtype=np.float64)
    n, name = len(X), type(model).__name__
    rule = f"one that forecasts a number for each of {n} rows"
    require(found.size == n, where, "regressor", rule, Text(f"{found.shape} of {name}"))
    good = bool(np.isfinite(found).all())
    rule = "one whose forecasts are finite"
    require(good, where, "regressor", rule, Text(f"NaN or infinity of {name}"))
    return found.reshape(n)
