"""The calibration of projections where rows depend on each other: by folds of the rows.

A row that is left out alone says little where others are nearly copies of it, or come after it.
So distributions are those of models fitted without whole folds, in the bases of the model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.distributions.support_points import SupportPoints
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.fold_ridge import fold_ridge
from jointdist.models.direction import Regression, Typical
from jointdist.projection.settings import SETTINGS

__all__ = ["MOST_ROWS", "Judges", "held_rows", "judged"]

MOST_ROWS = 1 << 14  # rows that the models without each fold are fitted to: a memory budget

Few = tuple[SupportPoints | None, SupportPoints | None]


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """What the ridges of projections are chosen by, where rows depend on each other.

    Attributes
    ----------
    sample : Sample, optional
        The rows of the fit with their folds. Models do not keep them.
    ridges : tuple of float
        The ridges of Y given X, and of X given Y, that were chosen; updates keep them.
    """

    sample: Sample | None
    ridges: tuple[float | None, float | None] = (None, None)


def judged(judges: Judges, few: Few, executor: Executor) -> tuple[Typical, Typical] | None:
    """Return rows that are held out, for Y given X and for X given Y; None if there are none.

    Parameters
    ----------
    judges : Judges
        The rows of the fit with their folds.
    few : tuple of SupportPoints
        Fewer points of X and Y, on which projections are compared; or none.
    executor : Executor
        Runs the row blocks.
    """
    if judges.sample is None or judges.sample.folds is None:
        return None
    some = judges.sample.take(judges.sample.choose(MOST_ROWS, 0))
    rows, weights = held_rows(some)
    if not len(rows):
        return None
    x, y = (to_numpy(side.take(rows)) for side in (some.x, some.y))
    of_y = partial(_without_folds, some, rows, executor, reverse=False)
    of_x = partial(_without_folds, some, rows, executor, reverse=True)
    return (
        Typical(y, x, weights, weights, few[1], of_y),
        Typical(x, y, weights, weights, few[0], of_x),
    )


def held_rows(sample: Sample) -> tuple[Index, Vector]:
    """Return some rows that represent those held out, and the weights that these have.

    Parameters
    ----------
    sample : Sample
        The rows, with folds.
    """
    splits = [] if sample.folds is None else sample.folds.rows
    if not splits:
        return np.empty(0, dtype=np.intp), np.empty(0)
    held = np.sort(np.concatenate([split.out for split in splits]))
    found = sample.take(held).representatives(SETTINGS.tuning_rows)
    return held[found.rows], found.weights


def _without_folds(
    sample: Sample, rows: Index, executor: Executor, model: Regression, *, reverse: bool
) -> Vector:
    """Return the coefficients at rows of the models without their folds.

    The mean of a function of one side is a ridge regression on those of the other.
    """
    given, own = (sample.y, sample.x) if reverse else (sample.x, sample.y)
    folds, basis, n = sample.folds, model.support.basis, model.size
    assert folds is not None  # noqa: S101  # for type checkers
    c = to_numpy(basis.eigenvalues) / n
    inverse = np.divide(1.0, c, out=np.zeros_like(c), where=c > 0)
    observed = host_features(basis, own.read(0, own.n)) * inverse
    ridge, functions = _uniform(model)
    with np.errstate(invalid="ignore"):
        penalties = np.where(c > 0, ridge * inverse, np.inf)
    fit = fold_ridge(
        functions,
        given,
        observed,
        sample.weights,
        folds,
        constant="fitted" if to_numpy(model.given.mean).any() else "mean",
        weight=n,
        executor=executor,
    )
    found = fit.predict(given.subset(rows), folds.take(rows), penalties[None], executor)
    return found[:, 0]


def _uniform(model: Regression) -> tuple[Vector, Callable[[Array], Vector]]:
    """Return the ridge of each function, and the functions of the given side.

    If these have ridges of their own, they are divided by the roots of them.
    """
    if model.ridge.shape[1] == 1:
        return model.ridge[:, 0], lambda z: host_features(model.given, z)
    root = np.sqrt(np.maximum(model.ridge[0], np.finfo(float).tiny))
    return np.ones(1), lambda z: host_features(model.given, z) / root
