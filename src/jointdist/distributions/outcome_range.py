"""The range of outcomes: bounds of each column, and whether they are whole numbers."""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Vector
from jointdist.distributions.location_scale import LocationScale
from jointdist.distributions.mapped import Mapped
from jointdist.distributions.protocols import Distributions
from jointdist.distributions.reflected import Reflected

__all__ = ["OutcomeRange"]


@dataclass(frozen=True, eq=False)
class OutcomeRange:
    """Where outcomes can be.

    Attributes
    ----------
    low, high : array of shape (d,)
        The bounds of each column, which outcomes can reach; infinite if there is none.
    whole : bool
        Whether outcomes are whole numbers.
    """

    low: Vector
    high: Vector
    whole: bool = False

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.low)

    def of(self, dists: Distributions) -> Distributions:
        """Return distributions that are within the range.

        Those of one column are reflected at the bounds; locations beyond one are moved to it
        before, as a forecast far below zero says that outcomes are close to zero. Those of
        several columns have what is beyond a bound moved to it. Whole numbers are rounded: half
        of the way to the next one beyond a bound is within.

        Parameters
        ----------
        dists : Distributions
            The distributions without bounds, divided by their mass.
        """
        if self.width > 1:
            return Mapped(dists, self.low, self.high, self.whole)
        if np.isfinite([self.low, self.high]).any():
            if isinstance(dists, LocationScale):
                within = np.clip(dists.location, self.low, self.high)
                dists = replace(dists, location=within)
            more = 0.5 if self.whole else 0.0
            dists = Reflected(dists, float(self.low[0]) - more, float(self.high[0]) + more)
        return Mapped(dists, self.low, self.high, whole=True) if self.whole else dists
