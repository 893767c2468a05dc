"""Jointly normal X and Y with known conditional moments: the first design of section 5.1."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from jointdist._cached import cached
from jointdist._rules import Seed, Text, generator, is_whole, require
from jointdist.datasets._designs import conditions, halves, second_moments
from jointdist.datasets.correlation import Matrix, random_correlation

__all__ = ["NormalPair"]


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

    @cached
    def _root(self) -> Matrix:
        return np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)

    @cached
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

        return halves("NormalPair.draw", n, self.d, rows)

    def conditional(self, X: ArrayLike) -> tuple[Matrix, Matrix]:
        """Return means and the one covariance matrix of Y given rows of X.

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The conditions.
        """
        slope, covariance = self._conditional
        return conditions("NormalPair.conditional", X, self.d) @ slope.T, covariance

    def second_moments(self, X: ArrayLike) -> Matrix:
        """Return the second moments of Y given rows of X, of shape (q, d, d).

        Parameters
        ----------
        X : array or DataFrame of shape (q, d)
            The conditions.
        """
        return second_moments(*self.conditional(X))


def _numbers(values: object) -> Matrix | None:
    """Return a copy of real numbers; None if they are something else."""
    try:
        given = np.asarray(values)
        return np.array(given, dtype=np.float64) if given.dtype.kind in "biufO" else None
    except (OverflowError, TypeError, ValueError):
        return None
