r"""The conditions of laws, and what the model makes of them.

Of a condition :math:`x` a law needs the coefficients :math:`t(x) = \tilde H \Psi_X(x)`
and nothing else. They are computed when first asked for and kept, or made anew in parts
where they would take too much memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from jointdist._array import Array, to_numpy
from jointdist.atoms import Vector, host_features
from jointdist.basis import Basis
from jointdist.executor import Executor
from jointdist.rows import Rows

__all__ = ["Fixed", "Queries"]

_KEPT = 1 << 25  # numbers that are kept in memory, a quarter of a gigabyte


@dataclass(frozen=True, slots=True, eq=False)
class Fixed:
    """Coefficients that are given.

    Attributes
    ----------
    t : array of shape (q, m)
        The coefficients.
    """

    t: Vector

    @property
    def n(self) -> int:
        """The number of laws."""
        return len(self.t)

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all laws, some at a time."""
        yield self.t

    def novelty(self) -> Vector:
        """Return zeros: there is no condition that could be far from the sample."""
        return np.zeros(self.n)

    def take(self, rows: Any) -> "Fixed":
        """Return the chosen laws."""
        return Fixed(self.t[rows])


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows of conditions.

    Attributes
    ----------
    rows : Rows
        The conditions, coded.
    basis : Basis
        The basis of the side that they are on.
    H : array of shape (m_given, m)
        The coefficients of the model, towards the side of the laws.
    executor : Executor
        How row blocks are worked on.
    offset : float, default=0.0
        What is added to all coefficients.
    """

    rows: Rows
    basis: Basis
    H: Vector
    executor: Executor
    offset: float = 0.0

    @property
    def n(self) -> int:
        """The number of laws."""
        return self.rows.n

    @cached_property
    def t(self) -> Vector:
        """The coefficients of all laws, of shape ``(q, m)``."""

        def block(_start: int, z: Array) -> Vector:
            t: Vector = host_features(self.basis, z) @ self.H
            t += self.offset
            return t

        return np.concatenate(list(self.executor.map(block, self.rows)))

    def novelty(self) -> Vector:
        """Return how unlike the sample each condition is, from zero to one."""
        shift = to_numpy(self.basis.mean) @ to_numpy(self.basis.rotation)

        def block(_start: int, z: Array) -> Vector:
            phi = host_features(self.basis, z) + shift  # but for a rotation
            missed: Vector = np.clip(self.basis.map.novelty(phi, z), 0.0, 1.0)
            return missed

        return np.concatenate(list(self.executor.map(block, self.rows)))

    def parts(self) -> Iterator[Vector]:
        """Yield the coefficients of all laws, as many at a time as may be kept."""
        step = max(_KEPT // max(self.H.shape[1], 1), 1)
        if self.n <= step:
            yield self.t
            return
        for start in range(0, self.n, step):
            yield self.take(np.arange(start, min(start + step, self.n))).t

    def take(self, rows: Any) -> "Queries":
        """Return the chosen laws."""
        chosen = replace(self, rows=self.rows.subset(np.arange(self.n)[rows]))
        if "t" in vars(self):
            vars(chosen)["t"] = self.t[rows]
        return chosen
