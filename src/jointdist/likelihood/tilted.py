"""Distributions of a log-linear ratio: exponential tilts of the marginal on cells.

No projection is needed: they are positive and have mass one by construction.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist.distributions.conditions import Derived
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.projection.proper import ProperDistributions

__all__ = ["LogRatios", "Tilted"]

_WORKED = 1 << 22  # weights worked on at a time: 32 MB


@dataclass(frozen=True, eq=False)
class LogRatios(Derived):
    """Conditions of distributions on cells, given by trust times tilts and the trust.

    Attributes
    ----------
    log_ratio : LogRatio
        The model.
    """

    log_ratio: LogRatio

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time."""
        step = max(_WORKED // len(self.log_ratio.shares), 1)
        for t in self.given.parts():
            for start in range(0, len(t), step):
                found = self.log_ratio.ratios(t[start : start + step])
                yield np.subtract(found, 1, out=found)

    def take(self, rows: Any) -> "LogRatios":
        """Return the chosen conditions."""
        return LogRatios(self.given.take(rows), self.log_ratio)


@dataclass(frozen=True, eq=False)
class Tilted(ProperDistributions):
    """Conditional distributions of a log-linear ratio."""

    def projection(self) -> None:
        """Return None: these are proper without a projection."""
