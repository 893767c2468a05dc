"""Distributions of X given an outcome, by Bayes' rule over the support points of X.

Given that Y is in a cell, the weight of a support point of X is its share times the ratio of the
model there. So weights are linear in the ratios of all cells, and none is negative.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector
from jointdist.distributions.function_support import FunctionSupport
from jointdist.distributions.signed import Signed

__all__ = ["Posterior", "RatioSupport"]


@dataclass(frozen=True, eq=False, kw_only=True)
class RatioSupport(FunctionSupport):
    """Support points of X with the ratios of all cells of Y, less one.

    Attributes
    ----------
    ratios : callable
        From rows of X to the ratios of the cells of Y, ``(b, K)``.
    """

    ratios: Callable[[Array], Vector]

    def features(self, z: Array) -> Vector:
        """Return the ratios at points less one, as rows."""
        return self.ratios(z) - 1


@dataclass(frozen=True, eq=False)
class Posterior(Signed):
    """Distributions of X given outcomes: no weight is negative."""

    support: RatioSupport

    @property
    def is_proper(self) -> bool:
        """True: no weight is negative."""
        return True

    def variances(self) -> Vector:
        """Return the variances of columns, ``(q, d)``; rounding leaves none negative."""
        return np.maximum(self._signed_variances(), 0.0)
