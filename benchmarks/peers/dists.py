"""Predictions in three forms, and their scores.

A univariate distribution is represented by its quantiles at the midpoints of k equal intervals of
levels, a multivariate one by draws, and an event by its probability.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from scipy.special import ndtr

__all__ = [
    "DRAWS",
    "LEVELS",
    "Mixture",
    "brier_score",
    "calibration_error",
    "central",
    "crps",
    "energy_score",
    "levels",
    "logistic_loss",
    "pit",
]

DRAWS = 256
TINY = 1e-12  # lowest probability, as in the paper


def levels(k: int) -> np.ndarray:
    """Return the midpoints of k equal intervals of [0, 1]."""
    return (np.arange(k) + 0.5) / k


LEVELS = levels(199)


def crps(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the CRPS of distributions with equal weights on their quantiles.

    It is twice the mean pinball loss.
    """
    p, away = levels(values.shape[1]), y[:, None] - values
    return 2 * np.maximum(p * away, (p - 1) * away).mean(axis=1)


def central(values: np.ndarray, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of central intervals, interpolated between quantiles."""
    k = values.shape[1]
    places = k * np.array([(1 - level) / 2, (1 + level) / 2]) - 0.5
    left = np.floor(places).astype(int)
    share = places - left
    ends = (1 - share) * values[:, left] + share * values[:, left + 1]
    return ends[:, 0], ends[:, 1]


def pit(values: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return randomised PIT values of the observed outcomes."""
    bounds = np.concatenate([[0.0], levels(values.shape[1]), [1.0]])
    below = bounds[(values < y[:, None]).sum(axis=1)]
    above = bounds[1 + (values <= y[:, None]).sum(axis=1)]
    return below + np.random.default_rng(seed).random(len(y)) * (above - below)


def calibration_error(u: np.ndarray) -> float:
    """Return the mean distance of PIT shares from the levels 0.05, 0.1, ..., 0.95."""
    p = np.linspace(0.05, 0.95, 19)
    return float(np.abs((u[:, None] <= p).mean(axis=0) - p).mean())


def energy_score(draws: np.ndarray, y: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Return unbiased estimates of energy scores from draws."""
    draws, y = draws / unit, y / unit
    near = np.linalg.norm(draws - y[:, None], axis=2).mean(axis=1)
    return near - 0.5 * np.array([pdist(own).mean() for own in draws])


def logistic_loss(probability: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Return the logistic losses, Eq. `eq:logisticloss`."""
    observed = np.where(events, probability, 1 - probability)
    return -np.log(np.clip(observed, TINY, 1))


def brier_score(probability: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Return the squared errors of probabilities."""
    return (probability - events) ** 2


class Mixture(NamedTuple):
    """Mixtures of Gaussians with common centres.

    Attributes
    ----------
    weights : array of shape (q, k)
        The weights, which sum to one.
    centres : array of shape (k, d)
        The centres.
    scale : array of shape (d,)
        The standard deviations.
    """

    weights: np.ndarray
    centres: np.ndarray
    scale: np.ndarray

    def quantiles(self) -> np.ndarray:
        """Return quantiles of univariate mixtures from their cdf on a grid."""
        centres, scale = self.centres[:, 0], self.scale[0]
        grid = np.linspace(centres.min() - 4 * scale, centres.max() + 4 * scale, 2048)
        cdfs = self.weights @ ndtr((grid - centres[:, None]) / scale)
        return np.array([np.interp(LEVELS, cdf, grid) for cdf in cdfs])

    def draws(self, seed: int) -> np.ndarray:
        """Return draws from each mixture."""
        rng = np.random.default_rng(seed)
        upto, u = self.weights.cumsum(axis=1), rng.random((len(self.weights), DRAWS))
        chosen = np.array([np.searchsorted(*pair) for pair in zip(upto, u, strict=True)])
        centres = self.centres[np.minimum(chosen, len(self.centres) - 1)]
        return centres + self.scale * rng.standard_normal(centres.shape)
