"""Components in groups: the weighted averages that mixtures are made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Index, Vector

__all__ = ["Groups"]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Components one after the other, group by group, with their shares.

    Attributes
    ----------
    starts : array of int, of shape (q,)
        The first component of each group; no group is empty.
    shares : array of shape (N,)
        The share of each component in its group; those of a group have sum one.
    """

    starts: Index
    shares: Vector

    @staticmethod
    def of(sizes: Index, weights: Vector) -> "Groups":
        """Return groups of given sizes, with shares in proportion to weights.

        Parameters
        ----------
        sizes : array of int, of shape (q,)
            The number of components of each group, at least one.
        weights : array of shape (N,)
            Their weights, of positive sum in each group.

        Examples
        --------
        >>> import numpy as np
        >>> from jointdist.distributions.groups import Groups
        >>> groups = Groups.of(np.array([1, 2]), np.array([5.0, 1.0, 3.0]))
        >>> groups.average(np.array([2.0, 0.0, 4.0]))
        array([2., 3.])
        """
        starts = np.cumsum(sizes) - sizes
        total = np.add.reduceat(weights, starts)
        return Groups(starts, weights / np.repeat(total, sizes))

    @property
    def n(self) -> int:
        """The number of groups."""
        return len(self.starts)

    @property
    def sizes(self) -> Index:
        """The number of components of each group, ``(q,)``."""
        return np.diff(self.starts, append=len(self.shares))

    @property
    def which(self) -> Index:
        """The group of each component, ``(N,)``."""
        return np.repeat(np.arange(self.n), self.sizes)

    def average(self, values: Vector) -> Vector:
        """Return the averages of values ``(N, ...)`` in each group, ``(q, ...)``."""
        weighted = self.shares.reshape(-1, *[1] * (values.ndim - 1)) * values
        found: Vector = np.add.reduceat(weighted, self.starts, axis=0)
        return found

    def reweighted(self, factors: Vector) -> "Groups":
        """Return the same groups, with shares times factors ``(N,)`` of the components."""
        return Groups.of(self.sizes, self.shares * factors)

    def take(self, rows: Any) -> tuple[Index, "Groups"]:
        """Return the components of the chosen groups, and these groups.

        Parameters
        ----------
        rows : array of int, slice or array of bool
            The groups.
        """
        chosen = np.arange(self.n)[rows]
        sizes = self.sizes[chosen]
        ends = np.cumsum(sizes)
        inside = np.arange(int(ends[-1]) if len(ends) else 0)
        components = inside + np.repeat(self.starts[chosen] - ends + sizes, sizes)
        return components, Groups(ends - sizes, self.shares[components])
