"""Simulated X and Y with known conditional distributions: the designs of section 5.1."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from jointdist._random import Seed, generator
from jointdist.data.table import as_rows
from jointdist.datasets.correlation import Matrix, random_correlation
from jointdist.errors import Text, is_whole, require, require_kind

__all__ = ["Averaged", "NormalPair", "RunningAverages"]

Averaged: TypeAlias = Literal["uniform", "cauchy"]

_BLOCK = 65_536  # rows drawn at a time, to bound memory
_SPREAD = 0.1  # scale of the Cauchy distribution, as in the paper


@dataclass(frozen=True, eq=False)
class NormalPair:
    """Normal X and Y of mean zero, d variables each.

    Parameters
    ----------
    covariance : array of shape (2d, 2d)
        The covariance matrix of X and Y, those of X first. Positive definite.

    Examples
    --------
    >>> from jointdist.datasets import NormalPair
    >>> pair = NormalPair([[1.0, 0.6], [0.6, 1.0]])
    >>> X, Y = pair.draw(5, random_state=0)
    >>> X.shape, Y.shape
    ((5, 1), (5, 1))
    >>> mean, covariance = pair.conditional([[2.0]])
    >>> mean.round(3), covariance.round(3)
    (array([[1.2]]), array([[0.64]]))
    >>> pair.second_moments([[2.0]]).round(3)
    array([[[2.08]]])
    """

    covariance: Matrix

    def __post_init__(self) -> None:
        rule = "a symmetric, positive definite matrix of even size"
        C = _numbers(self.covariance)
        require(C is not None, "NormalPair", "covariance", rule, self.covariance)
        assert C is not None  # noqa: S101  # for type checkers
        even = C.ndim == 2 and C.shape[0] == C.shape[1] and len(C) > 0 and len(C) % 2 == 0
        got = Text(f"shape {C.shape}")
        require(even, "NormalPair", "covariance", rule, got)
        rounding = 1e-12 * np.abs(C).max()
        symmetric = np.isfinite(C).all() and (np.abs(C - C.T) <= rounding).all()
        require(symmetric, "NormalPair", "covariance", rule, self.covariance)
        C.setflags(write=False)
        object.__setattr__(self, "covariance", C)
        try:
            _ = self._root
        except np.linalg.LinAlgError:
            least = Text(f"smallest eigenvalue {np.linalg.eigvalsh(C)[0]:.3g}")
            require(False, "NormalPair", "covariance", rule, least)

    @classmethod
    def random(cls, d: int, *, scale: float = 1.0, random_state: Seed = None) -> Self:
        """Return a pair whose covariance is a random correlation matrix.

        Parameters
        ----------
        d : int
            The number of variables of X, and of Y.
        scale : float, default=1.0
            The strength of dependence, see :func:`random_correlation`.
        random_state : int, Generator, RandomState or None, default=None
            The seed.
        """
        require(is_whole(d, least=1), "NormalPair.random", "d", "an integer from 1", d)
        return cls(random_correlation(2 * d, scale=scale, random_state=random_state))

    @property
    def d(self) -> int:
        """The number of variables of X, and of Y."""
        return len(self.covariance) // 2

    @cached_property
    def _root(self) -> Matrix:
        return np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)

    @cached_property
    def _conditional(self) -> tuple[Matrix, Matrix]:
        """The slope and the covariance of Y given X."""
        d, L = self.d, self._root
        slope = np.asarray(np.linalg.solve(L[:d, :d].T, L[d:, :d].T).T, dtype=np.float64)
        return slope, L[d:, d:] @ L[d:, d:].T

    def draw(self, n: int, random_state: Seed = None) -> tuple[Matrix, Matrix]:
        """Return n rows of X and of Y.

        Parameters
        ----------
        n : int
            The number of rows.
        random_state : int, Generator, RandomState or None, default=None
            The seed.
        """
        rng, width = generator("NormalPair.draw", random_state), 2 * self.d

        def rows(count: int) -> Matrix:
            return rng.standard_normal((count, width)) @ self._root.T

        return _halves("NormalPair.draw", n, self.d, rows)

    def conditional(self, X: ArrayLike) -> tuple[Matrix, Matrix]:
        """Return means and the one covariance matrix of Y given rows of X.

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The conditions.
        """
        slope, covariance = self._conditional
        return _conditions("NormalPair.conditional", X, self.d) @ slope.T, covariance

    def second_moments(self, X: ArrayLike) -> Matrix:
        """Return the second moments of Y given rows of X, of shape (q, d, d).

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The conditions.
        """
        return _second_moments(*self.conditional(X))


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

        return _halves("RunningAverages.draw", n, self.d, rows)

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
        total = self.d * _conditions(where, X, self.d)[:, -1:]
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
        return _second_moments(*self.conditional(X))


def _numbers(values: object) -> Matrix | None:
    """Return a copy of real numbers; None if they are something else."""
    try:
        given = np.asarray(values)
        return np.array(given, dtype=np.float64) if given.dtype.kind in "biufO" else None
    except (OverflowError, TypeError, ValueError):
        return None


def _halves(
    where: str, n: int, d: int, rows: Callable[[int], Matrix]
) -> tuple[Matrix, Matrix]:
    """Return n rows drawn in blocks, their first and their last d columns."""
    require(is_whole(n, least=0), where, "n", "an integer from 0", n)
    X, Y = np.empty((n, d)), np.empty((n, d))
    for start in range(0, n, _BLOCK):
        block = slice(start, min(start + _BLOCK, n))
        Z = rows(block.stop - start)
        X[block], Y[block] = Z[:, :d], Z[:, d:]
    return X, Y


def _conditions(where: str, X: ArrayLike, d: int) -> Matrix:
    rows = as_rows(X, where=where, name="X")
    rows.require_width(d)
    return rows.table()


def _second_moments(mean: Matrix, covariance: Matrix) -> Matrix:
    moments: Matrix = mean[:, :, None] * mean[:, None, :] + covariance
    return moments
