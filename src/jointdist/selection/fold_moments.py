r"""One side of a sample in parts, of which all but one are a sample to fit to.

Every sum over the rows that a model is fitted to is that over all rows without the rows
held out. The features of a side, its sums and its bases are those of one kernel, whatever
the other side's; for each pair of kernels only :math:`G_{YX}` is new.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Vector, array_namespace, like, to_numpy
from jointdist._cached import cached
from jointdist.data.executor import Executor
from jointdist.lowrank.basis import Basis, side_basis
from jointdist.lowrank.factor import LowRank
from jointdist.lowrank.features import kernel_diagonal
from jointdist.lowrank.moments import Moments, powers

__all__ = ["Side", "paired_moments", "parted", "sum_without"]

T = TypeVar("T")


def parted(n: int, held: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Return disjoint parts of all rows: those held out, and the rest if there is one.

    Parameters
    ----------
    n : int
        The number of rows.
    held : list of arrays of int
        The rows held out.
    """
    rest = np.setdiff1d(np.arange(n), np.concatenate(held))
    return [*held, rest] if rest.size else held


@dataclass(frozen=True, eq=False)
class Side:
    r"""One side of a sample in the features of one kernel, in parts.

    Attributes
    ----------
    low : LowRank
        The factor of the kernel matrix.
    parts : list of arrays of int
        Disjoint parts of the rows.
    weights : array of shape (n,), optional
        The weights of the rows.
    centred : bool
        Whether bases are.
    factor : float
        The multiple of the scales of the kernel.
    group : int
        How many of the parts are all rows; there may be several such partitions.
    executor : Executor
        How parts are worked on.
    """

    low: LowRank
    parts: list[NDArray[np.intp]]
    weights: Vector | None
    centred: bool
    factor: float
    group: int
    executor: Executor
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @cached
    def f(self) -> list[Array]:
        r"""The functions :math:`(1, \phi)` of each part, as rows."""

        def of(part: NDArray[np.intp]) -> Array:
            phi = self.low.map.features(self.low.rows.take(part))
            xp = array_namespace(phi)
            return xp.concat([xp.ones_like(phi[:, :1]), phi], axis=1)

        return list(self.executor.each(of, self.parts))

    @cached
    def weighted(self) -> list[Array]:
        """The same, times the weights of the rows."""
        if self.weights is None:
            return self.f
        parts = zip(self.f, self.parts, strict=True)
        return [like(self.weights[part], f)[:, None] * f for f, part in parts]

    @cached
    def grams(self) -> list[Array]:
        r"""The sums :math:`\sum w (1, \phi)^\top (1, \phi)` over each part."""
        return [a.T @ b for a, b in zip(self.f, self.weighted, strict=True)]

    @cached
    def powers(self) -> list[Array]:
        r"""The sums :math:`\sum w (1, \phi)^\top p` over each part; see ``Moments``."""
        origin, rows = self.low.map.origin, self.low.rows
        values = (powers(origin, rows.take(part)) for part in self.parts)
        return [f.T @ p.T for f, p in zip(self.weighted, values, strict=True)]

    @cached
    def traces(self) -> list[float]:
        """The traces of the kernel matrix over each part."""
        rows, kernel = self.low.rows, self.low.map.kernel
        diagonals = (kernel_diagonal(kernel, rows.take(part)) for part in self.parts)
        ones = (f[:, 0] for f in self.weighted)
        return [float(w @ k) for w, k in zip(ones, diagonals, strict=True)]

    def without(self, part: int) -> Array:
        """Return the Gram matrix of all rows less those of a part."""
        return self.remember(("gram", part), lambda: self.sum_without(self.grams, part))

    def basis(self, part: int) -> Basis:
        """Return the basis of all rows less those of a part."""

        def make() -> Basis:
            G = self.without(part)
            return side_basis(
                self.low, float(G[0, 0]), G[0, 1:], G[1:, 1:], centred=self.centred
            )

        return self.remember(("basis", part), make)

    def psi(self, part: int) -> Vector:
        r"""Return :math:`\Psi` at the rows of a part, in the basis of the others."""

        def make() -> Vector:
            basis = self.basis(part)
            found: Vector = to_numpy((self.f[part][:, 1:] - basis.mean) @ basis.rotation)
            return found

        return self.remember(("psi", part), make)

    def sum_without(self, sums: list[Any], part: int) -> Any:
        """Return the sum over all rows but those of a part.

        Parameters
        ----------
        sums : list
            Sums over each part.
        part : int
            Which is left out.
        """
        return sum_without(sums, part, self.group)

    def remember(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what was made before under a key, or make it.

        Parameters
        ----------
        key : hashable
            The key.
        make : callable
            How it is made.
        """
        if key not in self.kept:
            self.kept[key] = make()
        found: T = self.kept[key]
        return found


def paired_moments(x: Side, y: Side, part: int) -> Moments:
    """Return the moments of all rows less those of a part.

    Parameters
    ----------
    x, y : Side
        The sides.
    part : int
        Which part is left out.
    """
    key = "cross", y.low.map.key
    crosses = x.remember(
        key, lambda: [b.T @ a for a, b in zip(x.weighted, y.f, strict=True)]
    )
    G_x, G_y, cross = x.without(part), y.without(part), x.sum_without(crosses, part)
    xp = array_namespace(G_x)
    m_x, m_y = x.low.rank, y.low.rank
    gram = xp.concat(
        [
            xp.concat([G_x, cross[1:, :].T], axis=1),
            xp.concat([cross[1:, :], G_y[1:, 1:]], axis=1),
        ]
    )
    count = x.sum_without([len(own) for own in x.parts], part)
    trace_x, trace_y = (side.sum_without(side.traces, part) for side in (x, y))
    keys = x.low.map.key, y.low.map.key
    third = y.sum_without(y.powers, part)
    return Moments(count, gram, trace_x, trace_y, m_x, m_y, keys, third)


def sum_without(sums: list[Any], part: int, group: int) -> Any:
    """Return the sum over all rows but those of a part.

    The other parts are added up: a heavy part that is taken off leaves its rounding behind.

    Parameters
    ----------
    sums : list
        Sums over each part.
    part : int
        Which is left out.
    group : int
        How many of the parts are all rows.
    """
    start = part // group * group
    own = [i for i in range(start, start + group) if i != part]
    return sum((sums[i] for i in own[1:]), sums[own[0]])
