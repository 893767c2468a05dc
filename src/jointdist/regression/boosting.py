"""Gradient boosting with the settings that ``regressor="auto"`` uses, and its trees."""

from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

from jointdist._array import Index, Vector
from jointdist._rules import Text, refusal, require
from jointdist.regression.effort import EFFORTS, Effort
from jointdist.regression.settings import SETTINGS
from jointdist.regression.tree_rules import MOST_CATEGORIES
from jointdist.regression.trees import TreeEnsemble

__all__ = ["gradient_boosting", "tree_ensemble"]


def gradient_boosting(
    categorical: list[bool],
    n: int,
    effort: Effort = EFFORTS["auto"],
    leaf: int = SETTINGS.boosting_leaf_rows,
) -> Any:
    """Return unfitted gradient boosting.

    Parameters
    ----------
    categorical : list of bool
        Which columns of X are categorical.
    n : int
        The number of rows.
    effort : Effort, optional
        The learning rate and the number of trees.
    leaf : int, optional
        The fewest rows of a leaf, if that is less than usual.
    """
    many = n >= SETTINGS.boosting_many_rows
    rate, rounds = effort.boosting[many]
    return HistGradientBoostingRegressor(
        learning_rate=rate,
        max_iter=rounds,
        max_features=SETTINGS.boosting_features,
        max_leaf_nodes=SETTINGS.boosting_leaves[many],
        min_samples_leaf=min(leaf, SETTINGS.boosting_leaf_rows),
        categorical_features=categorical if any(categorical) else None,
        early_stopping=False,
        random_state=0,
    )


def tree_ensemble(models: list[list[Any]], X: Vector) -> TreeEnsemble:
    """Return the trees of fitted gradient boosting, with the same forecasts to the last bit.

    Parameters
    ----------
    models : list of list of HistGradientBoostingRegressor
        For each target, a model for each fold. Categories are codes, integers from zero.
    X : array of shape (n, d)
        Rows at which the forecasts of the trees and of the models are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.regression.boosting import gradient_boosting, tree_ensemble
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> model = gradient_boosting([False], 60).fit(X, np.sin(9 * X[:, 0]))
    >>> trees = tree_ensemble([[model]], X)
    >>> bool((trees.at(X)[:, 0] == model.predict(X)).all())
    True
    """
    where, rule = (
        "tree_ensemble",
        "gradient boosting of scikit-learn whose trees can be read",
    )
    try:
        trees = _converted(models)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        got = Text(f"version {sklearn.__version__}: {error}")
        raise ValueError(refusal(where, "models", rule, got)) from error
    trees.check()
    means = [np.mean([model.predict(X) for model in folds], axis=0) for folds in models]
    same = np.array_equal(trees.at(X), np.stack(means, axis=1))
    got = Text(f"version {sklearn.__version__}, with other forecasts than its trees")
    require(same, where, "models", rule, got)
    return trees


def _converted(models: list[list[Any]]) -> TreeEnsemble:
    """Return the arrays of scikit-learn's nodes, with columns in the order of X."""
    every = [model for folds in models for model in folds]
    trees = [stage[0] for model in every for stage in model._predictors]  # noqa: SLF001
    sizes = [len(tree.nodes) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    counts = [len(model._predictors) for model in every]  # noqa: SLF001
    columns = [_columns(model) for model in every]
    if any((one != columns[0]).any() for one in columns):
        msg = "members with different columns"
        raise ValueError(msg)
    nodes = np.concatenate([tree.nodes for tree in trees])
    numbers, start = np.arange(len(nodes)), np.repeat(roots[:-1], sizes)
    leaf, by_category = nodes["is_leaf"] != 0, nodes["is_categorical"] != 0
    by_category &= ~leaf
    if (nodes["left"] + start)[~leaf].tolist() != (numbers + 1)[~leaf].tolist():
        msg = "left children that are not the next nodes"
        raise ValueError(msg)
    subsets = [_subsets(tree) for tree in trees]
    threshold = np.where(by_category, 0.0, nodes["num_threshold"])
    base = np.array([float(model._baseline_prediction[0, 0]) for model in every])  # noqa: SLF001
    return TreeEnsemble(
        column=np.where(leaf, -1, columns[0][nodes["feature_idx"]]).astype(np.int32),
        value=np.where(leaf, nodes["value"], threshold),
        right=np.where(leaf, 0, nodes["right"] + start).astype(np.int32),
        missing_left=(nodes["missing_go_to_left"] != 0).astype(np.uint8),
        roots=roots,
        members=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        baseline=base.reshape(len(models), -1),
        width=len(columns[0]),
        categorical=np.flatnonzero(_categorical(every[0])).astype(np.int32),
        codes=_codes(models[0]),
        subsets=np.concatenate(subsets).astype(np.uint32),
    )


def _categorical(model: Any) -> NDArray[np.bool_]:
    """Tell which columns of X are categorical."""
    none = np.zeros(model.n_features_in_, dtype=bool)
    return none if model.is_categorical_ is None else np.asarray(model.is_categorical_)


def _columns(model: Any) -> Index:
    """Return the columns of X in the order of the model: categorical ones first."""
    categorical = _categorical(model)
    return np.argsort(~categorical, kind="stable")


def _subsets(tree: Any) -> NDArray[np.uint32]:
    """Return the numbers of categories that go left, for each split by category."""
    nodes = tree.nodes
    chosen = nodes[(nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)]["bitset_idx"]
    found: NDArray[np.uint32] = tree.raw_left_cat_bitsets.reshape(
        -1, MOST_CATEGORIES // 32
    )[chosen]
    return found


def _codes(folds: list[Any]) -> NDArray[np.int16]:
    """Return how the models of the folds number the codes of categories; -1 if unknown."""
    if not _categorical(folds[0]).any():
        return np.empty((len(folds), 0, 0), dtype=np.int16)
    known = [
        [np.asarray(one)[~np.isnan(one)] for one in encoder.categories_]
        for encoder in (
            model._preprocessor.named_transformers_["encoder"]  # noqa: SLF001
            for model in folds
        )
    ]
    whole = (
        (one >= 0).all() and (one == np.floor(one)).all() for each in known for one in each
    )
    if not all(whole):
        msg = "categories that are not codes"
        raise ValueError(msg)
    most = 1 + int(max(one.max(initial=0) for each in known for one in each))
    found = np.full((len(folds), len(known[0]), most), -1, dtype=np.int16)
    for table, each in zip(found, known, strict=True):
        for codes, one in zip(table, each, strict=True):
            codes[one.astype(np.intp)] = np.arange(len(one))
    return found
