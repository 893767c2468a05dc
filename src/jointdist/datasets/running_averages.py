"""Running averages of random numbers: the other designs of section 5.1."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from jointdist._rules import Seed, generator, is_whole, require, require_kind
from jointdist.datasets._designs import conditions, halves, second_moments
from jointdist.datasets.correlation import Matrix

__all__ = ["Averaged", "RunningAverages"]

Averaged: TypeAlias = Literal["uniform", "cauchy"]

_SPREAD = 0.1  # scale of the Cauchy distribution, as in the paper


@dataclass(frozen=True, slots=True)
class RunningAverages:
    """Running averages of 2d independent numbers; X is their first half, Y the second.

    X is the first d averages (U₁, (U₁ + U₂)/2, ...) and Y the last d. Uniform numbers are
    in [0, 1]; Cauchy numbers have location zero and scale 0.1.

    Parameters
    ----------
    d : int
        The number of variables of X, and of Y.
    distribution : {"uniform", "cauchy"}, default="uniform"
        The distribution of the numbers.

    Examples
    --------
    >>> from jointdist.datasets import RunningAverages
    >>> pair = RunningAverages(2)
    >>> X, Y = pair.draw(5, random_state=0)
    >>> X.shape, Y.shape
    ((5, 2), (5, 2))
    >>> mean, covariance = pair.conditional([[0.5, 0.8]])
    >>> mean.round(3)
    array([[0.7 , 0.65]])
    >>> pair.second_moments([[0.5, 0.8]]).round(3)
    array([[[0.499, 0.462],
            [0.462, 0.433]]])
    """

    d: int
    distribution: Averaged = "uniform"

    def __post_init__(self) -> None:
        whole = is_whole(self.d, least=1)
        require(whole, "RunningAverages", "d", "an integer from 1", self.d)
        require_kind("RunningAverages", "distribution", self.distribution, Averaged)

    def draw(self, n: int, random_state: Seed = None) -> tuple[Matrix, Matrix]:
        """Return n rows of X and of Y.

        Parameters
        ----------
        n : int
            The number of rows.
        random_state : int, Generator, RandomState or None, default=None
            The seed.
        """
        rng, width = generator("RunningAverages.draw", random_state), 2 * self.d
        counts = np.arange(1.0, width + 1)

        def rows(count: int) -> Matrix:
            if self.distribution == "uniform":
                U = rng.random((count, width))
            else:
                U = _SPREAD * rng.standard_cauchy((count, width))
            return np.cumsum(U, axis=1, out=U) / counts

        return halves("RunningAverages.draw", n, self.d, rows)

    def conditional(self, X: ArrayLike) -> tuple[Matrix, Matrix]:
        """Return means and the one covariance matrix of Y given rows of X.

        Averages of Cauchy numbers have neither.

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The conditions.
        """
        where, rule = "RunningAverages.conditional", "'uniform': others have no moments"
        uniform = self.distribution == "uniform"
        require(uniform, where, "distribution", rule, self.distribution)
        total = self.d * conditions(where, X, self.d)[:, -1:]
        new = np.arange(1.0, self.d + 1)  # numbers that X does not depend on
        counts = self.d + new
        covariance = np.minimum.outer(new, new) / 12 / np.multiply.outer(counts, counts)
        return (total + new / 2) / counts, covariance

    def second_moments(self, X: ArrayLike) -> Matrix:
        """Return the second moments of Y given rows of X, of shape (q, d, d).

        Averages of Cauchy numbers have none.

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The conditions.
        """
        return second_moments(*self.conditional(X))
