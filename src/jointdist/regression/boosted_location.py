"""Gradient boosting as a regressor of the location, if it brings anything beside others."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Index, Matrix, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.folds import Split
from jointdist.data.sample import held_out
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.boosting import gradient_boosting, tree_ensemble
from jointdist.regression.effort import Effort
from jointdist.regression.fitted_location import TreeLocation
from jointdist.regression.out_of_fold import FoldModels, out_of_fold
from jointdist.regression.settings import SETTINGS
from jointdist.regression.stacking import stacking_weights
from jointdist.regression.training import Training
from jointdist.regression.tree_columns import for_trees, tree_factors

__all__ = ["boosted_location"]

# Rows at which trees and the models that they were taken from are compared: a time budget, a
# tenth of a second for two thousand trees.
_COMPARED = 512


def boosted_location(  # noqa: PLR0917
    data: Training,
    outcomes: Vector,
    family: Family,
    effort: Effort,
    where: str,
    executor: Executor | None,
    leaf: int,
    others: list[Vector],
) -> tuple[TreeLocation, Vector] | None:
    """Return gradient boosting with its out-of-fold forecasts; None if it brings nothing.

    The first fold tells whether an average with the forecasts of others has smaller errors,
    and how small leaves should be. Few rows are held out in several random folds: the average
    of more models is better, and hangs less on the folds.

    Parameters
    ----------
    data : Training
        The rows and the folds.
    outcomes : array of shape (n, r)
        The outcomes.
    family : Family
        The kernels of X, which know how its columns became numbers.
    effort : Effort
        The number of trees, and that of repeats.
    where : str
        The estimator, for messages.
    executor : Executor, optional
        Fits models next to each other.
    leaf : int
        The fewest rows of a leaf that are tried, if that is less than usual.
    others : list of arrays of shape (n, r)
        The out-of-fold forecasts of other regressors.
    """
    encoding, x = family.encoding, data.sample.x
    factors = tree_factors(encoding)
    fits = _Fits(
        for_trees(to_numpy(x.read(0, x.n)), encoding),
        outcomes,
        data.sample.weights,
        [i in factors for i in range(encoding.width)],
        effort,
        where,
        executor_for(x, executor),
    )
    splits = data.splits
    out, usual = splits[0].out, SETTINGS.boosting_leaf_rows
    best, (first, forecasts) = usual, fits.fitted(usual, splits[:1])
    if not fits.helps([*others, forecasts], out):
        return None
    if leaf < usual:
        other = fits.fitted(leaf, splits[:1])
        errors = [fits.error(each, out).mean() for each in (forecasts, other[1])]
        if errors[1] < errors[0]:
            best, (first, forecasts) = leaf, other
    models, rest = fits.fitted(best, splits[1:], again=not data.in_turn)
    models = models.after(first) if data.in_turn else models
    every = [np.where(np.isnan(forecasts), rest, forecasts)]
    if data.sample.folds is None and x.n <= SETTINGS.few_rows:
        for repeat in range(1, effort.repeats):
            folds = held_out(x.n, data.folds, data.seed + repeat)
            more = [Split.without(rows, x.n) for rows in folds]
            found, forecasts = fits.fitted(best, more)
            models, every = found.after(models), [*every, forecasts]
    compared = np.unique(np.linspace(0, x.n - 1, _COMPARED).astype(np.intp))
    trees = tree_ensemble(models.models, fits.z[compared])
    plain = not (encoding.unused or encoding.neutral)
    location = TreeLocation(trees, encoding=None if plain else encoding)
    return location, np.mean(every, axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class _Fits:
    """Rows, outcomes and weights to which gradient boosting is fitted."""

    z: Matrix
    outcomes: Vector
    weights: Vector | None
    categorical: list[bool]
    effort: Effort
    where: str
    workers: Executor

    def fitted(
        self, leaf: int, splits: list[Split], *, again: bool = False
    ) -> tuple[FoldModels, Vector]:
        """Return the models of folds, and their forecasts of rows that are held out."""
        model = gradient_boosting(self.categorical, len(self.z), self.effort, leaf)
        return out_of_fold(
            model,
            self.z,
            self.outcomes,
            self.weights,
            splits=splits,
            where=self.where,
            again=again,
            executor=self.workers,
        )

    def error(self, forecasts: Vector, rows: Index) -> Vector:
        """Return mean squared errors at rows, as shares of the variances of outcomes."""
        w = None if self.weights is None else self.weights[rows]
        missed = (self.outcomes - forecasts)[rows] ** 2
        variance = np.maximum(self.outcomes.var(axis=0), np.finfo(float).tiny)
        found: Vector = np.average(missed, axis=0, weights=w) / variance
        return found

    def helps(self, forecasts: list[Vector], rows: Index) -> bool:
        """Tell whether the best average of forecasts is better than that without the last.

        By absolute errors, as the CRPS counts them.
        """
        every = np.stack(forecasts)
        if not np.isfinite(every[:, rows]).all():
            return True
        w = None if self.weights is None else self.weights[rows]

        def left(some: Vector) -> float:
            shares = stacking_weights((self.outcomes - some)[:, rows], w)
            average: Vector = np.einsum("kr,knr->nr", shares, some)
            missed = np.average(np.abs(self.outcomes - average)[rows], axis=0, weights=w)
            return float((missed / unit).mean())

        unit = np.maximum(self.outcomes.std(axis=0), np.finfo(float).tiny)
        return left(every) < (1 - SETTINGS.least_gain) * left(every[:-1])
