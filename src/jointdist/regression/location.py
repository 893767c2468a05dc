"""The location of outcomes given x: regressors with out-of-fold forecasts, stacked."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.errors import require
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.kernel_fit import RegressionData
from jointdist.regression.kernel_ridge import KernelRegression, kernel_regression
from jointdist.regression.out_of_fold import FoldModels, out_of_fold, seeded
from jointdist.regression.splits import Training
from jointdist.regression.stacking import stacking_weights

__all__ = ["Location", "StackedLocation", "fit_location", "require_regressor"]

# The largest rank of a factor of a kernel matrix: that of kernels which are chosen in all
# estimators, seconds for 10,000 rows.
_RANK = 1024
# Rows below which "auto" is kernel regression alone: folds are too small for trees.
_SMALL = 50
# Rows from which trees have 63 leaves instead of 15.
_MANY, _LEAVES = 5_000, (15, 63)


class Location(Protocol):
    """A fitted regressor of the location."""

    @property
    def model(self) -> Any:
        """The regressor, as users see it."""

    @property
    def kernel(self) -> Kernel | None:
        """The leading kernel of a kernel regression; None for others."""

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows, encoded.
        table : array or DataFrame
            The same rows, as users give them.
        doubt : array of shape (q,)
            How far the rows are out of distribution, from zero to one.
        executor : Executor, optional
            How row blocks are worked on.
        """


@dataclass(frozen=True, eq=False)
class _KernelLocation:
    """Kernel regression, which reverts to the mean out of distribution."""

    model: KernelRegression

    @property
    def kernel(self) -> Kernel | None:
        return self.model.kernel

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        del table
        mean = self.model.mean
        found: Vector = mean + (1 - doubt)[:, None] * (
            self.model.predict(x, executor) - mean
        )
        return found


@dataclass(frozen=True, eq=False)
class _EncodedLocation:
    """Regressors that read categories as numbers."""

    model: FoldModels
    kernel: Kernel | None = None

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        del table, doubt, executor
        return self.model.predict(to_numpy(x.read(0, x.n)))


@dataclass(frozen=True, eq=False)
class _TableLocation:
    """Regressors that read tables as users give them."""

    model: FoldModels
    kernel: Kernel | None = None

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        del x, doubt, executor
        return self.model.predict(table)


@dataclass(frozen=True, eq=False)
class StackedLocation:
    """A weighted average of regressors of the location.

    Attributes
    ----------
    parts : list of Location
        The regressors.
    weights : array of shape (k, r)
        Their weights for each column of outcomes; the sum is one.
    """

    parts: list[Location]
    weights: Vector

    @property
    def kernel(self) -> Kernel | None:
        """The leading kernel of kernel regression; None if there is none."""
        kernels = (part.kernel for part in self.parts)
        return next((kernel for kernel in kernels if kernel is not None), None)

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts at rows, ``(q, r)``.

        Parameters
        ----------
        x, table, doubt, executor
            As for each :class:`Location`.
        """
        found = [part.predict(x, table, doubt, executor) for part in self.parts]
        average: Vector = np.einsum("kr,kqr->qr", self.weights, np.stack(found))
        return average


def require_regressor(where: str, regressor: Any) -> None:
    """Raise unless an argument names regressors or consists of them.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    regressor : "auto", "kernel", estimator, or sequence of these
        The argument.
    """
    several = isinstance(regressor, list | tuple)
    names = {"kernel"} if several else {"auto", "kernel"}
    rule = '"auto", "kernel", a regressor, or a sequence of "kernel" and regressors'
    good = bool(regressor) if several else True
    for one in regressor if several else [regressor]:
        named = isinstance(one, str) and one in names
        good &= named or (hasattr(one, "fit") and hasattr(one, "predict"))
        good &= not isinstance(one, type) and not hasattr(one, "predict_proba")
    require(good, where, "regressor", rule, regressor)


def fit_location(
    regressor: Any,
    data: Training,
    family: Family,
    *,
    where: str,
    executor: Executor | None = None,
) -> tuple[StackedLocation, Vector]:
    """Return the average of regressors of the location, and its out-of-fold residuals.

    Parameters
    ----------
    regressor : "auto", "kernel", estimator, or sequence of these
        The regressors; ``"auto"`` are kernel regression and gradient boosting.
    data : Training
        The rows and the folds.
    family : Family
        The kernels of X.
    where : str
        The estimator, for messages.
    executor : Executor, optional
        How row blocks are worked on.

    Returns
    -------
    tuple of StackedLocation and array of shape (n, r)
        The average, and the outcomes minus its forecasts of rows held out.
    """
    auto = isinstance(regressor, str) and regressor == "auto"
    named = regressor if isinstance(regressor, list | tuple) else [regressor]
    fits = [
        _kernels(data, family, executor)
        if isinstance(one, str)
        else _as_given(one, data, where)
        for one in named
    ]
    if auto and data.sample.n >= _SMALL:
        fits.append(_boosted(data, family, where))
    parts, forecasts = zip(*fits, strict=True)
    residuals = data.outcomes - np.stack(forecasts)
    weights = stacking_weights(residuals, data.sample.weights)
    average: Vector = np.einsum("kr,knr->nr", weights, residuals)
    return StackedLocation(list(parts), weights), average


def _kernels(
    data: Training, family: Family, executor: Executor | None
) -> tuple[Location, Vector]:
    """Return kernel regression, with leave-one-out forecasts by its closed form.

    If users give folds, forecasts are those of regressions without each fold.
    """
    sample = data.sample
    every = RegressionData(sample.x, data.outcomes, sample.weights)

    def fitted(rows: RegressionData) -> tuple[KernelRegression, Vector]:
        return kernel_regression(
            family, rows, max_rank=_RANK, random_state=data.seed, executor=executor
        )

    model, residuals = fitted(every)
    forecasts = every.targets - residuals
    if data.given_splits is not None:
        for split in data.splits:
            fit, _ = fitted(every.take(split.fit))
            forecasts[split.out] = fit.predict(sample.x.subset(split.out), executor)
    return _KernelLocation(model), forecasts


def _boosted(data: Training, family: Family, where: str) -> tuple[Location, Vector]:
    """Return gradient boosting of encoded rows, with out-of-fold forecasts."""
    categorical = [known is not None for known in family.encoding.categories]
    regressor = _boosting(categorical, data.sample.n)
    z = to_numpy(data.sample.x.read(0, data.sample.n))
    rows = z, data.outcomes, data.sample.weights
    models, forecasts = out_of_fold(regressor, *rows, splits=data.splits, where=where)
    return _EncodedLocation(models), forecasts


def _as_given(regressor: Any, data: Training, where: str) -> tuple[Location, Vector]:
    """Return a regressor of rows as users give them, with out-of-fold forecasts."""
    rows = data.table, data.given_outcomes, data.given.weights
    one, splits = seeded(regressor, data.seed), data.splits_given
    models, forecasts = out_of_fold(one, *rows, splits=splits, where=where)
    return _TableLocation(models), forecasts[data.settled.rows]


def _boosting(categorical: list[bool], n: int) -> Any:
    """Return gradient boosting: slow and long, as many learners are averaged."""
    return HistGradientBoostingRegressor(
        learning_rate=0.05,
        max_iter=400,
        max_leaf_nodes=_LEAVES[n >= _MANY],
        min_samples_leaf=5,
        categorical_features=categorical if any(categorical) else None,
        early_stopping=False,
        random_state=0,
    )
