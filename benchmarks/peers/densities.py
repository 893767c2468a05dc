"""Conditional densities as mixtures: kernel density estimates and least squares."""

from collections.abc import Callable
from itertools import product
from typing import TypeAlias

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.preprocessing import StandardScaler

from benchmarks.peers.dists import Mixture

__all__ = ["kernel_density", "least_squares"]

Predictor: TypeAlias = Callable[[np.ndarray], Mixture]

SCALES, RIDGES = np.logspace(-1.5, 1.5, 9), np.logspace(-3, 1, 9)
FUNCTIONS, FOLDS = 300, 5


def kernel_density(X: np.ndarray, Y: np.ndarray, bandwidths: str) -> Predictor:
    """Return conditional kernel density estimates with the bandwidths of statsmodels.

    The distributions equal those of its ``KDEMultivariateConditional``, whose cdf loops over
    points in Python.
    """
    from statsmodels.nonparametric.kernel_density import (  # noqa: PLC0415
        KDEMultivariateConditional,
    )

    varied = np.ptp(X, axis=0) > 0
    X, Y = X[:, varied], Y.reshape(len(Y), -1)
    types = "c" * Y.shape[1], "c" * X.shape[1]
    found = KDEMultivariateConditional(Y, X, *types, bandwidths, rng=0)
    of_y, of_x = np.split(found.bw, [Y.shape[1]])

    def dists(at: np.ndarray) -> Mixture:
        away = cdist(at[:, varied] / of_x, X / of_x, "sqeuclidean")
        return Mixture(softmax(-away / 2, axis=1), Y, of_y)

    return dists


def least_squares(X: np.ndarray, Y: np.ndarray, seed: int) -> Predictor:
    """Return least-squares conditional densities (Sugiyama et al., 2010).

    The density of y given x is a sum of Gaussian functions centred at rows of the sample, with
    coefficients that minimise the squared error in closed form; negative ones are set to zero.
    Length scale and ridge minimise the squared error in cross-validation. The paper uses 100
    functions, this implementation up to 300.
    """
    to_x, to_y = StandardScaler().fit(X), StandardScaler().fit(Y.reshape(len(Y), -1))
    X, Y = to_x.transform(X), to_y.transform(Y.reshape(len(Y), -1))
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(X), min(FUNCTIONS, len(X)), replace=False)
    fold = rng.permutation(len(X)) % FOLDS
    away_x, away_y = cdist(X, X[chosen], "sqeuclidean"), cdist(Y, Y[chosen], "sqeuclidean")

    def sums(scale: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms of the squared error for the rows of each fold."""
        at_x = np.exp(-away_x / (2 * scale**2))
        both = at_x * np.exp(-away_y / (2 * scale**2))
        overlap = np.exp(-away_y[chosen] / (4 * scale**2))
        overlap *= (np.sqrt(np.pi) * scale) ** Y.shape[1]
        rows = [fold == k for k in range(FOLDS)]
        return (
            np.array([at_x[own].T @ at_x[own] * overlap for own in rows]),
            np.array([both[own].sum(axis=0) for own in rows]),
        )

    def coefficients(H: np.ndarray, h: np.ndarray, n: int, ridge: float) -> np.ndarray:
        A = H / n + ridge * np.eye(len(h))
        return np.maximum(solve(A, h / n, assume_a="pos"), 0)

    def risk(H: np.ndarray, h: np.ndarray, ridge: float) -> float:
        """Return the squared error in cross-validation, up to a constant."""
        total = 0.0
        for k in range(FOLDS):
            n = (fold != k).sum()
            a = coefficients(H.sum(axis=0) - H[k], h.sum(axis=0) - h[k], n, ridge)
            total += 0.5 * a @ H[k] @ a - h[k] @ a
        return total

    tried = ((scale, sums(scale)) for scale in SCALES)
    grid = [(risk(*s, ridge), scale, ridge) for (scale, s), ridge in product(tried, RIDGES)]
    _, scale, ridge = min(grid)
    a = coefficients(*(part.sum(axis=0) for part in sums(scale)), len(X), ridge)
    used = a > 0
    centres = to_y.inverse_transform(Y[chosen][used])

    def dists(at: np.ndarray) -> Mixture:
        away = cdist(to_x.transform(at), X[chosen][used], "sqeuclidean")
        weights = softmax(np.log(a[used]) - away / (2 * scale**2), axis=1)
        return Mixture(weights, centres, scale * to_y.scale_)

    return dists
