"""Conditions that are averages of others: events, and rows with missing entries.

A distribution that is linear in its coefficients is averaged by averaging these: before a
projection, where the mean of signed distributions is projected, or after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Vector
from jointdist._cached import Cached, cached
from jointdist.distributions.groups import Groups
from jointdist.distributions.protocols import Conditions, LinearConditions

__all__ = ["Averaged", "Grouped"]

_KEPT = 1 << 25  # coefficients stored: a memory budget of a quarter of a gigabyte
_WORKED = 1 << 22  # coefficients of components worked on at a time: 32 MB
_FIRST = 256  # components that tell how many coefficients there are


@dataclass(frozen=True, eq=False)
class Grouped:
    """Conditions that are groups of others.

    Attributes
    ----------
    given : Conditions
        The conditions of the components.
    groups : Groups
        The groups and the shares of the components.
    """

    given: Conditions
    groups: Groups

    @property
    def n(self) -> int:
        """The number of conditions."""
        return self.groups.n

    def novelty(self) -> Vector:
        """Return the average novelty of the components, from zero to one."""
        return self.groups.average(self.given.novelty())

    def leverage(self) -> Vector:
        """Return the average leverage of the components."""
        return self.groups.average(self.given.leverage())

    def outside(self) -> list[tuple[str, ...]]:
        """Return the columns outside the range seen of all components, in order."""
        found: list[tuple[str, ...]] = []
        each = self.given.outside()
        ends = self.groups.starts + self.groups.sizes
        for a, b in zip(self.groups.starts, ends, strict=True):
            names = [name for columns in each[a:b] for name in columns]
            found.append(tuple(dict.fromkeys(names)))
        return found

    def labels(self) -> tuple[str, list[str]]:
        """Return no name of columns, and the number of each distribution."""
        return "", [f"distribution {i}" for i in range(self.n)]

    def take(self, rows: Any) -> "Grouped":
        """Return the chosen conditions."""
        components, groups = self.groups.take(rows)
        return Grouped(self.given.take(components), groups)


@dataclass(frozen=True, eq=False)
class Averaged(Cached, Grouped):
    """Conditions whose coefficients are averages of those of others.

    Coefficients of components are computed some at a time, and not kept.
    """

    given: LinearConditions

    @cached
    def t(self) -> Vector:
        """The coefficients of all distributions, of shape ``(q, m)``."""
        which, shares, step = self.groups.which, self.groups.shares, _FIRST
        total, start = np.zeros((0, 0)), 0
        while start < len(shares):
            stop = min(start + step, len(shares))
            for part in self.given.take(np.arange(start, stop)).parts():
                if not total.size:
                    total = np.zeros((self.n, part.shape[1]))
                    step = max(_WORKED // max(part.shape[1], 1), 1)
                each = slice(start, start + len(part))
                first = np.flatnonzero(np.diff(which[each], prepend=-1))
                sums = np.add.reduceat(part * shares[each, None], first)
                total[which[each][first]] += sums
                start += len(part)
        return total

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all distributions in order, some rows at a time."""
        width = self.given.take(np.arange(1)).parts()
        step = max(_KEPT // max(next(iter(width)).shape[1], 1), 1)
        if self.n <= step:
            yield self.t
            return
        for start in range(0, self.n, step):
            yield self.take(np.arange(start, min(start + step, self.n))).t

    def take(self, rows: Any) -> "Averaged":
        """Return the chosen conditions."""
        components, groups = self.groups.take(rows)
        chosen = Averaged(self.given.take(components), groups)
        if "t" in vars(self):
            vars(chosen)["t"] = self.t[rows]
        return chosen
