"""What forecasts the location: kernels, or any regressor, and what it says of rows left out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.kernels.median_heuristic import Family
from jointdist.regression.kernel_ridge import KernelRegression, kernel_regression
from jointdist.regression.out_of_fold import FoldModels, out_of_fold, seeded
from jointdist.regression.splits import Training

__all__ = ["Forecaster", "Forecasters", "boosting"]

_RANK = 1024  # of factors
_MANY = 5_000  # rows of which trees may have more leaves


@dataclass(frozen=True, eq=False)
class Forecaster:
    """A regressor of the location.

    Attributes
    ----------
    model : KernelRegression or FoldModels
        The regressor.
    coded : bool
        Whether it reads coded numbers, or what users give.
    """

    model: KernelRegression | FoldModels
    coded: bool

    def predict(
        self, x: Rows, table: Any, doubt: Vector, executor: Executor | None
    ) -> Vector:
        """Return forecasts; where x is unlike the sample, kernels tell no more than the mean.

        Parameters
        ----------
        x : Rows
            The rows, coded.
        table : array or DataFrame
            The same, as users give them.
        doubt : array of shape (q,)
            How little kernels are to be trusted there, from zero to one.
        executor : Executor, optional
            How row blocks are worked on.
        """
        if isinstance(self.model, KernelRegression):
            told = self.model.predict(x, executor) - self.model.mean
            found: Vector = self.model.mean + (1 - doubt)[:, None] * told
            return found
        return self.model.predict(to_numpy(x.read(0, x.n)) if self.coded else table)


@dataclass(frozen=True, eq=False)
class Forecasters:
    """How regressors of the location are fitted.

    Attributes
    ----------
    data : Training
        The rows.
    family : Family
        The kernels of X.
    cv : int, splitter or iterable of splits
        The parts that are held out in turn.
    seed : int
        The seed.
    where : str
        The estimator they belong to, for messages.
    executor : Executor, optional
        How row blocks are worked on.
    """

    data: Training
    family: Family
    cv: Any
    seed: int
    where: str
    executor: Executor | None

    def kernels(self) -> tuple[Forecaster, Vector]:
        """Return kernel regression, with its forecasts of rows that are left out.

        One by one, by its formula; in parts, if these were given.
        """
        sample, T = self.data.sample, self.data.outcomes
        found, left = self._regression(np.arange(sample.n))
        forecasts = T - left
        if self.data.own is not None:
            for one in self.data.splits(self.cv, self.seed):
                fit, _ = self._regression(one.fit)
                forecasts[one.out] = fit.predict(sample.x.subset(one.out), self.executor)
        return Forecaster(found, coded=True), forecasts

    def _regression(self, rows: Any) -> tuple[KernelRegression, Vector]:
        sample, T = self.data.sample, self.data.outcomes
        every = len(rows) == sample.n
        x = sample.x if every else sample.x.subset(rows)
        w = sample.weights if every or sample.weights is None else sample.weights[rows]
        return kernel_regression(
            self.family,
            x,
            T if every else T[rows],
            w,
            max_rank=_RANK,
            random_state=self.seed,
            executor=self.executor,
        )

    def coded(self, regressor: Any) -> tuple[Forecaster, Vector]:
        """Return a regressor of coded numbers, with its forecasts of rows held out.

        Parameters
        ----------
        regressor : estimator
            The regressor.
        """
        sample, T = self.data.sample, self.data.outcomes
        splits = self.data.splits(self.cv, self.seed)
        z = to_numpy(sample.x.read(0, sample.n))
        models, found = out_of_fold(
            regressor, z, T, sample.weights, splits=splits, where=self.where
        )
        return Forecaster(models, coded=True), found

    def given(self, regressor: Any) -> tuple[Forecaster, Vector]:
        """Return a regressor of rows as they were given, with its forecasts of those held out.

        Parameters
        ----------
        regressor : estimator
            The regressor.
        """
        data = self.data
        splits = data.splits_given(self.cv, self.seed)
        rows = data.table, data.given_outcomes, data.given.weights
        own = seeded(regressor, self.seed)
        models, found = out_of_fold(own, *rows, splits=splits, where=self.where)
        return Forecaster(models, coded=False), found[data.settled.rows]


def boosting(words: list[bool], n: int) -> Any:
    """Return gradient boosting.

    Parameters
    ----------
    words : list of bool
        Which columns are categories.
    n : int
        The number of rows.
    """
    return HistGradientBoostingRegressor(
        learning_rate=0.05,
        max_iter=400,
        max_leaf_nodes=15 if n < _MANY else 63,
        min_samples_leaf=5,
        categorical_features=words if any(words) else None,
        early_stopping=False,
        random_state=0,
    )
