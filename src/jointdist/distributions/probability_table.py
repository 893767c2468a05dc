"""Probabilities of the distinct values of discrete variables."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from jointdist._array import Vector

__all__ = ["Expectations", "Table"]


class Expectations(Protocol):
    """Distributions that give expectations of functions by their sums over the support."""

    def expected(self, F: Vector) -> Vector:
        """Return the expectations of functions given by their sums, ``(q, k)``."""

    def expected_in_pairs(self, sums: Callable[[slice], Vector]) -> Vector:
        """Return the expectation under distribution i of function i, ``(q,)``."""


class Table(NamedTuple):
    """Probabilities of the distinct values of a variable that has few.

    Attributes
    ----------
    distributions : Expectations
        The distributions.
    points : array of shape (k, d)
        The distinct values, coded.
    sums : array of shape (k, 1 + m)
        The sums of weights, and of weights times functions, over equal values.
    """

    distributions: Expectations
    points: Vector
    sums: Vector

    @property
    def marginal(self) -> Vector:
        """The shares of the values in the sample, ``(k,)``."""
        return self.sums[:, 0]

    def probabilities(self) -> Vector:
        """Return the probabilities of the values under each distribution, ``(q, k)``."""
        return self.distributions.expected(self.sums.T)

    def at(self, points: Vector) -> Vector:
        """Return the probability under distribution i of point i; zero of other values."""
        place = {tuple(point): i for i, point in enumerate(self.points.tolist())}
        at = np.array([place.get(tuple(point), -1) for point in points.tolist()])
        sums = np.append(self.sums, np.zeros_like(self.sums[:1]), axis=0)
        return self.distributions.expected_in_pairs(lambda part: sums[at[part]])
