"""What distributions that others are made into have in common: the rest of their answers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

from jointdist._array import Vector
from jointdist._cached import Cached
from jointdist.data.encoding import Encoding
from jointdist.distributions.linear import LinearDistributions
from jointdist.distributions.protocols import Conditions, Distributions, Projection

__all__ = ["Reshaped"]


@dataclass(frozen=True, eq=False)
class Reshaped(Cached, ABC):
    """Distributions that others were made into.

    Attributes
    ----------
    base : Distributions
        The others.
    """

    base: Distributions

    @property
    def conditions(self) -> Conditions:
        """What the distributions are conditioned on."""
        return self.base.conditions

    @property
    def encoding(self) -> Encoding:
        """The columns: their names, and their categories."""
        return self.base.encoding

    @property
    def side(self) -> str:
        """Whose columns they are: ``"y"`` or ``"x"``."""
        return self.base.side

    @property
    def is_discrete(self) -> bool:
        """Whether there is no density."""
        return self.base.is_discrete

    @property
    def is_proper(self) -> bool:
        """Whether no weight can be negative."""
        return self.base.is_proper

    @property
    def n_points(self) -> int:
        """The number of support points of the distributions that have most."""
        return self.base.n_points

    @property
    def table(self) -> None:
        """None: the distinct values are not few."""

    @property
    def normalised(self) -> Self:
        """The same distributions, divided by their mass."""
        normalised = self.base.normalised
        return self if normalised is self.base else self._of(normalised)

    def take(self, rows: Any) -> Self:
        """Return the chosen distributions."""
        return self._of(self.base.take(rows))

    def reweighted(self, how: Callable[[LinearDistributions], LinearDistributions]) -> Self:
        """Return the same with other weights on support points.

        Parameters
        ----------
        how : callable
            From the distributions on support points to those that take their place.
        """
        return self._of(self.base.reweighted(how))

    def units(self) -> Vector:
        """Return the standard deviations of the columns in the sample, ``(d,)``."""
        return self.base.units()

    def masses(self) -> Vector:
        """Return the sums of the weights before any division, ``(q,)``."""
        return self.base.masses()

    def negative_share(self) -> Vector:
        """Return the negative weight as a share of the sum of absolute weights, ``(q,)``."""
        return self.base.negative_share()

    def negative_ratios(self, below: float) -> Vector:
        """Return the share of the sample whose ratio to the marginal is below a limit."""
        return self.base.negative_ratios(below)

    def projection(self) -> Projection | None:
        """Return how far the distributions behind these moved, if they are projected."""
        return self.base.projection()

    def _of(self, base: Distributions) -> Self:
        """Return the same of other distributions."""
        return replace(self, base=base)

    @abstractmethod
    def expect(self, f: Callable[[Vector], Vector]) -> Vector:
        """Return the expectations ``(q, k)`` of a function from ``(b, d)`` to ``(b, k)``."""
