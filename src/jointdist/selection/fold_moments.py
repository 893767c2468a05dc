r"""One side of a sample in parts, of which all but one are a sample to fit to.

Every sum over the rows that a model is fitted to is that over all rows without the rows
held out. The features of a side, its sums and its bases are those of one kernel, whatever
the other side's; for each pair of kernels only :math:`G_{YX}` is new.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from jointdist._array import Array, Index, Vector, array_namespace, like, to_numpy
from jointdist._cached import cached
from jointdist.data.executor import Executor
from jointdist.lowrank.basis import Basis, side_basis
from jointdist.lowrank.factor import LowRank
from jointdist.lowrank.features import kernel_diagonal
from jointdist.lowrank.moments import Moments, powers
from jointdist.selection.partition import Partition

__all__ = ["Side", "paired_moments"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Side:
    r"""One side of a sample in the features of one kernel, in parts.

    Attributes
    ----------
    low : LowRank
        The factor of the kernel matrix.
    partition : Partition
        Disjoint parts of the rows, and which of them each fold fits to.
    weights : array of shape (n,), optional
        The weights of the rows.
    centred : bool
        Whether bases are.
    factor : float
        The multiple of the scales of the kernel.
    executor : Executor
        How parts are worked on.
    """

    low: LowRank
    partition: Partition
    weights: Vector | None
    centred: bool
    factor: float
    executor: Executor
    kept: dict[Hashable, Any] = field(default_factory=dict)

    @cached
    def f(self) -> list[Array]:
        r"""The functions :math:`(1, \phi)` of each part, as rows."""

        def of(part: Index) -> Array:
            phi = self.low.map.features(self.low.rows.take(part))
            xp = array_namespace(phi)
            return xp.concat([xp.ones_like(phi[:, :1]), phi], axis=1)

        return list(self.executor.each(of, self.partition.parts))

    @cached
    def weighted(self) -> list[Array]:
        """The same, times the weights of the rows."""
        if self.weights is None:
            return self.f
        parts = zip(self.f, self.partition.parts, strict=True)
        return [like(self.weights[part], f)[:, None] * f for f, part in parts]

    @cached
    def grams(self) -> list[Array]:
        r"""The sums :math:`\sum w (1, \phi)^\top (1, \phi)` over each part."""
        return [a.T @ b for a, b in zip(self.f, self.weighted, strict=True)]

    @cached
    def powers(self) -> list[Array]:
        r"""The sums :math:`\sum w (1, \phi)^\top p` over each part; see ``Moments``."""
        origin, rows = self.low.map.origin, self.low.rows
        values = (powers(origin, rows.take(part)) for part in self.partition.parts)
        return [f.T @ p.T for f, p in zip(self.weighted, values, strict=True)]

    @cached
    def traces(self) -> list[float]:
        """The traces of the kernel matrix over each part."""
        rows, kernel = self.low.rows, self.low.map.kernel
        diagonals = (
            kernel_diagonal(kernel, rows.take(part)) for part in self.partition.parts
        )
        ones = (f[:, 0] for f in self.weighted)
        return [float(w @ k) for w, k in zip(ones, diagonals, strict=True)]

    def fitted(self, fold: int) -> Array:
        """Return the Gram matrix of the rows that a fold is fitted to."""
        sums = self.partition.sum_fitted
        return self.remember(("gram", fold), lambda: sums(self.grams, fold))

    def basis(self, fold: int) -> Basis:
        """Return the basis of the rows that a fold is fitted to."""

        def make() -> Basis:
            G = self.fitted(fold)
            return side_basis(
                self.low, float(G[0, 0]), G[0, 1:], G[1:, 1:], centred=self.centred
            )

        return self.remember(("basis", fold), make)

    def psi(self, fold: int) -> Vector:
        r"""Return :math:`\Psi` at the rows that a fold holds out, in the basis of its fit."""

        def make() -> Vector:
            basis, held = self.basis(fold), self.partition.out[fold]
            each = [
                to_numpy((self.f[part][:, 1:] - basis.mean) @ basis.rotation)
                for part in held
            ]
            return np.concatenate(each) if len(each) > 1 else each[0]

        return self.remember(("psi", fold), make)

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


def paired_moments(x: Side, y: Side, fold: int) -> Moments:
    """Return the moments of the rows that a fold is fitted to.

    Parameters
    ----------
    x, y : Side
        The sides.
    fold : int
        The fold.
    """
    sums = x.partition.sum_fitted
    key = "cross", y.low.map.key
    crosses = x.remember(
        key, lambda: [b.T @ a for a, b in zip(x.weighted, y.f, strict=True)]
    )
    G_x, G_y, cross = x.fitted(fold), y.fitted(fold), sums(crosses, fold)
    xp = array_namespace(G_x)
    m_x, m_y = x.low.rank, y.low.rank
    gram = xp.concat(
        [
            xp.concat([G_x, cross[1:, :].T], axis=1),
            xp.concat([cross[1:, :], G_y[1:, 1:]], axis=1),
        ]
    )
    count = sums([len(own) for own in x.partition.parts], fold)
    trace_x, trace_y = (sums(side.traces, fold) for side in (x, y))
    keys = x.low.map.key, y.low.map.key
    third = sums(y.powers, fold)
    return Moments(count, gram, trace_x, trace_y, m_x, m_y, keys, third)
