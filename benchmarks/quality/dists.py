"""Univariate predictive distributions with one interface: exact CRPS and central intervals."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from jointdist import Conditional

__all__ = ["Forecast", "Learned", "Normal", "Weighted"]

ROUNDING = 1e-12  # tolerance at the steps of a cdf


class Forecast(Protocol):
    """One predictive distribution for each test row."""

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS at the observed outcomes, one for each row."""
        ...

    def interval(self, level: float) -> np.ndarray:
        """Return the ends of central intervals, ``(q, 2)``."""
        ...


@dataclass(frozen=True, eq=False)
class Learned:
    """Distributions of this package; the CRPS is that of their weights on the support points.

    Attributes
    ----------
    dist : Conditional
        The conditional distributions.
    """

    dist: "Conditional"

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the scores at outcomes."""
        from jointdist import scores  # noqa: PLC0415  # peers may lack what it needs

        return scores.crps(self.dist, y)

    def interval(self, level: float) -> np.ndarray:
        """Return the ends of central intervals."""
        return self.dist.interval(level)


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal distributions.

    Attributes
    ----------
    mean, scale : array of shape (q,)
        Means and standard deviations.
    """

    mean: np.ndarray
    scale: np.ndarray

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS at the observed outcomes, in closed form."""
        z = (y - self.mean) / self.scale
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return self.scale * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))

    def interval(self, level: float) -> np.ndarray:
        """Return the ends of central intervals."""
        half = self.scale * ndtri((1 + level) / 2)
        return np.stack([self.mean - half, self.mean + half], axis=1)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Weighted samples, one for each row.

    Attributes
    ----------
    samples : list of pairs of arrays
        The sorted values of each distribution, and its cdf there.
    """

    samples: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(cls, samples: Iterable[tuple[np.ndarray, np.ndarray]]) -> "Weighted":
        """Return distributions from unsorted values and unnormalised weights."""
        return cls([_in_order(*own) for own in samples])

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Return the CRPS at the observed outcomes: E|Y - y| - E|Y - Y'| / 2."""
        pairs = zip(self.samples, y, strict=True)
        return np.array([_score(*own, at) for own, at in pairs])

    def interval(self, level: float) -> np.ndarray:
        """Return central intervals: the lowest values at which the cdf reaches both levels."""
        p = np.array([(1 - level) / 2, (1 + level) / 2]) - ROUNDING
        return np.array([v[np.searchsorted(upto, p)] for v, upto in self.samples])


def _in_order(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values)
    upto = np.cumsum(weights[order])
    return values[order], upto / upto[-1]


def _score(values: np.ndarray, upto: np.ndarray, y: float) -> float:
    """Return one CRPS; E|Y - Y'| / 2 is the integral of F (1 - F)."""
    near = np.diff(upto, prepend=0.0) @ np.abs(values - y)
    return float(near - (upto * (1 - upto))[:-1] @ np.diff(values))
