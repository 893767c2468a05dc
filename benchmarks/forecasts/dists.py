"""Forecasts of one outcome in the forms that packages give, with one interface for scores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.peers import dists as levelled
from benchmarks.quality import dists as exact

if TYPE_CHECKING:
    from jointdist import Conditional

__all__ = ["Draws", "Forecast", "Learned", "Leaves", "Normal", "Quantiles"]

ROUNDING = 1e-12  # tolerance at the steps of a cdf


class Forecast(Protocol):
    """One predictive distribution for each test row."""

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS at the observed outcomes, one for each row."""
        ...

    def interval(self, level: float) -> np.ndarray:
        """Return the ends of central intervals, ``(q, 2)``."""
        ...

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Return quantiles, ``(q, l)``."""
        ...

    def cdf(self, value: float) -> np.ndarray:
        """Return the probability of outcomes up to a value, one for each row."""
        ...

    def log_score(self, y: np.ndarray) -> np.ndarray | None:
        """Return negative log densities at the observed outcomes; None without a density."""
        ...


@dataclass(frozen=True, eq=False)
class Learned(exact.Learned):
    """Distributions of this package."""

    dist: "Conditional"

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Return quantiles, ``(q, l)``."""
        return self.dist.quantile(levels)

    def cdf(self, value: float) -> np.ndarray:
        """Return the probability of outcomes up to a value."""
        return self.dist.cdf(value)

    def log_score(self, y: np.ndarray) -> np.ndarray | None:
        """Return negative log densities; of discrete outcomes, negative log probabilities."""
        from jointdist import scores  # noqa: PLC0415  # peers may lack what it needs

        return scores.log_score(self.dist, y)


@dataclass(frozen=True, eq=False)
class Normal(exact.Normal):
    """Normal distributions."""

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Return quantiles, ``(q, l)``."""
        return self.mean[:, None] + self.scale[:, None] * ndtri(levels)

    def cdf(self, value: float) -> np.ndarray:
        """Return the probability of outcomes up to a value."""
        return ndtr((value - self.mean) / self.scale)

    def log_score(self, y: np.ndarray) -> np.ndarray | None:
        """Return negative log densities."""
        z = (y - self.mean) / self.scale
        return z**2 / 2 + np.log(self.scale) + np.log(2 * np.pi) / 2


@dataclass(frozen=True, eq=False)
class Leaves(exact.Weighted):
    """Weighted samples of training outcomes, those of the leaves of a forest."""

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Return quantiles: the lowest values at which the cdf reaches the levels."""
        p = np.asarray(levels) - ROUNDING
        return np.array([v[np.searchsorted(upto, p)] for v, upto in self.samples])

    def cdf(self, value: float) -> np.ndarray:
        """Return the probability of outcomes up to a value."""
        places = (np.searchsorted(v, value, "right") for v, _ in self.samples)
        return np.array(
            [
                upto[at - 1] if at else 0.0
                for at, (_, upto) in zip(places, self.samples, strict=True)
            ]
        )

    def log_score(self, y: np.ndarray) -> np.ndarray | None:
        """Return None: samples have no density."""
        del y
        return None


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Distributions with equal weights on their quantiles.

    Attributes
    ----------
    values : array of shape (q, k)
        The quantiles at the midpoints of k equal intervals of levels, sorted.
    """

    values: np.ndarray

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS, which is twice the mean pinball loss."""
        return levelled.crps(self.values, y)

    def interval(self, level: float) -> np.ndarray:
        """Return central intervals, interpolated between quantiles."""
        return np.stack(levelled.central(self.values, level), axis=1)

    def quantile(self, levels: np.ndarray) -> np.ndarray:
        """Return quantiles, interpolated between those that are known."""
        known = levelled.levels(self.values.shape[1])
        return np.array([np.interp(levels, known, own) for own in self.values])

    def cdf(self, value: float) -> np.ndarray:
        """Return the share of quantiles up to a value."""
        return (self.values <= value).mean(axis=1)

    def log_score(self, y: np.ndarray) -> np.ndarray | None:
        """Return None: quantiles have no density."""
        del y
        return None


class Draws(Quantiles):
    """Distributions that are known by draws, sorted."""

    @classmethod
    def of(cls, draws: Any) -> "Draws":
        """Return distributions from draws in any order, ``(q, k)``."""
        return cls(np.sort(np.asarray(draws, dtype=float), axis=1))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return unbiased estimates of the CRPS: no draw is compared with itself."""
        k = self.values.shape[1]
        near = np.abs(self.values - y[:, None]).mean(axis=1)
        ranks = 2 * np.arange(k) - k + 1
        return near - (self.values * ranks).sum(axis=1) / (k * (k - 1))
