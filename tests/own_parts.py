"""Kernels and estimators as users write them, which files hold only if they are trusted."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from jointdist.kernels import Gaussian


class OwnKernel:
    """A kernel of a user."""

    def __call__(self, X, Z):
        return Gaussian(1.0)(X, Z)

    def diagonal(self, X):
        return Gaussian(1.0).diagonal(X)


class MedianRegressor(RegressorMixin, BaseEstimator):
    """A regressor of a user, which forecasts the median."""

    def fit(self, X, y):
        self.n_features_in_ = np.shape(X)[1]
        self.median_ = float(np.median(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.median_)
