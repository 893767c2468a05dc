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

from jointdist._array import Array, Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.novelty import TRUSTED, within

__all__ = ["Fixed", "Queries", "told_apart"]

_KEPT = 1 << 25  # numbers that are kept in memory, a quarter of a gigabyte
_TOLD = 3  # columns that tell conditions apart, at most


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

    def labels(self) -> tuple[str, list[str]]:
        """Return no name of conditions, and the number of each law."""
        return "", _numbered(self.n)

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
    encoding : Encoding
        How words of the conditions became numbers.
    offset : float, default=0.0
        What is added to all coefficients.
    trusted : float, default=0.0
        The share of the kernel at a condition that its features must represent. Below, the
        coefficients are less in proportion, before the offset: far from the sample they say
        nothing. Zero stands for conditions that are trusted wherever they are.
    most : float, default=inf
        The largest kernel of a row of the sample. Features that are longer count as if they
        were as long, and the less the longer they are where the kernel is far beyond.
    """

    rows: Rows
    basis: Basis
    H: Vector
    executor: Executor
    encoding: Encoding
    offset: float = 0.0
    trusted: float = 0.0
    most: float = np.inf

    @property
    def n(self) -> int:
        """The number of laws."""
        return self.rows.n

    @cached_property
    def t(self) -> Vector:
        """The coefficients of all laws, of shape ``(q, m)``."""

        def block(_start: int, z: Array) -> Vector:
            psi = host_features(self.basis, z)
            t: Vector = psi @ self.H
            if self.trusted:
                known, reach = self._known(psi, z)
                trust = np.sqrt(reach * np.minimum(reach / TRUSTED, 1.0))
                trust *= np.minimum(known / self.trusted, 1.0)
                t = np.where(trust[:, None] > 0, t * trust[:, None], 0.0)
            t += self.offset
            return t

        return np.concatenate(list(self.executor.map(block, self.rows)))

    def novelty(self) -> Vector:
        """Return how unlike the sample each condition is, from zero to one."""

        def block(_start: int, z: Array) -> Vector:
            known, reach = self._known(host_features(self.basis, z), z)
            return 1 - reach * known

        return np.concatenate(list(self.executor.map(block, self.rows)))

    def _known(self, psi: Vector, z: Array) -> tuple[Vector, Vector]:
        """Return what features represent of the kernel at conditions, and their reach."""
        phi = psi + to_numpy(self.basis.mean) @ to_numpy(self.basis.rotation)  # rotated
        missed = np.clip(to_numpy(self.basis.map.novelty(phi, z)), 0.0, 1.0)
        return 1 - np.nan_to_num(missed, nan=1.0), within(self.basis.map, phi, z, self.most)

    def labels(self) -> tuple[str, list[str]]:
        """Return what tells few conditions apart: names of columns, and their values."""
        return told_apart(self.rows, self.encoding)

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


def told_apart(rows: Rows, encoding: Encoding) -> tuple[str, list[str]]:
    """Return the names of columns that tell few conditions apart, and their values.

    Parameters
    ----------
    rows : Rows
        The conditions, coded.
    encoding : Encoding
        How words of the conditions became numbers.
    """
    z = to_numpy(rows.read(0, rows.n))
    differ = np.flatnonzero((z != z[0]).any(axis=0))
    if not 0 < len(differ) <= _TOLD:
        return "", _numbered(rows.n)
    titles = encoding.titles(rows.name)
    known = encoding.decode(z)[:, differ]
    labels = [", ".join(map(_short, values)) for values in known]
    return ", ".join(titles[i] for i in differ), labels


def _numbered(dists: int) -> list[str]:
    return [f"law {i}" for i in range(dists)]


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
