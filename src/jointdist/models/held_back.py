"""Rows that are held back for calibration, where rows depend on each other."""

from dataclasses import replace
from typing import Any

import numpy as np

from jointdist._array import Index, Vector
from jointdist._rules import Text, require
from jointdist.data.fold_arguments import is_count
from jointdist.data.folds import group_splits
from jointdist.data.sample import Sample

__all__ = ["calibration_weights", "folds_of", "held_back", "with_splits_of"]


def folds_of(estimator: Any) -> Any:
    """Return how an estimator holds rows out: its ``cv``, or that of its selection.

    Parameters
    ----------
    estimator : estimator
        The estimator; one without either has random folds.
    """
    selection = getattr(estimator, "selection", None)
    found = getattr(estimator, "cv", getattr(selection, "cv", 5))
    return 5 if found is None else found


def held_back(
    where: str, estimator: Any, sample: Sample, share: float, rng: np.random.Generator
) -> tuple[Index, Index]:
    """Return the rows to fit to, and the rows held back.

    Parameters
    ----------
    where : str
        The caller, for messages.
    estimator : estimator
        The estimator.
    sample : Sample
        The rows, with folds.
    share : float
        The share of rows that are held back.
    rng : Generator
        Draws groups.
    """
    folds, cv = sample.folds, folds_of(estimator)
    assert folds is not None  # noqa: S101  # for type checkers
    rows = np.flatnonzero(sample.row_weights)
    if not is_count(cv) and not isinstance(cv, str):
        splits = folds.take(rows).rows
        got = Text(f"{len(splits)}: one for calibration, and others for the estimator")
        require(len(splits) > 1, where, "estimator", "of two splits at least", got)
        return rows[splits[-1].fit], rows[splits[-1].out]
    groups = None if folds.groups is None else folds.groups[rows]
    if isinstance(cv, str):
        cut = len(rows) - int(np.ceil(share * len(rows)))
        fit, out = np.arange(cut), np.arange(cut, len(rows))
        if groups is not None:
            fit = fit[~np.isin(groups[fit], groups[out])]
    else:
        assert groups is not None  # noqa: S101  # for type checkers
        (split,) = group_splits(groups, share, int(rng.integers(2**32)))
        fit, out = split
    rule = "of rows enough to hold some back"
    require(len(fit) > 0, where, "X", rule, Text(f"{len(rows)} of them"))
    return rows[fit], rows[out]


def calibration_weights(sample: Sample) -> Vector | None:
    """Return the weights of calibration rows, of which those of a group count as one row.

    So the level of a row of a new group is exchangeable with levels of rows that are drawn
    one from each group (Lee, Barber and Willett, 2023).

    Parameters
    ----------
    sample : Sample
        The calibration rows.
    """
    if sample.folds is None or sample.folds.groups is None:
        return sample.weights
    groups, w = sample.folds.groups, sample.row_weights
    return w / np.bincount(groups, w)[groups]


def with_splits_of(estimator: Any, train: Sample) -> Any:
    """Return an estimator whose splits, if it has a list of them, are those of some rows.

    Parameters
    ----------
    estimator : estimator
        The unfitted estimator.
    train : Sample
        The rows that it is to be fitted to, with their folds.
    """
    cv = folds_of(estimator)
    if is_count(cv) or isinstance(cv, str) or hasattr(cv, "split") or train.folds is None:
        return estimator
    splits = [tuple(split) for split in train.folds.rows]
    if hasattr(estimator, "cv"):
        return estimator.set_params(cv=splits)
    return estimator.set_params(selection=replace(estimator.selection, cv=splits))
