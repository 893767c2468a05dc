r"""The sample of one side, as the support of laws.

A law of the model puts the weight :math:`\omega_j (1 + \Psi(y_j) \cdot t) / \text{mass}`
on the atom :math:`y_j`, where :math:`t` is all that depends on the condition. What is
needed of the atoms are therefore sums :math:`\sum_j \omega_j f(y_j) (1, \Psi(y_j))`: one
pass over them answers :math:`E f(Y)` for any number of laws.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Vector, like, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.lowrank.basis import Basis, host_features
from jointdist.lowrank.moments import powers

__all__ = ["Atoms", "Distinct", "FewAtoms"]

_FEW = 30  # distinct values of a discrete variable, at most
_FEW_WORDS = 4096  # the same for rows with words in them
_REPEATED = 3  # times that each of them is taken, on average


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The distinct atoms, and the sums over those that are equal.

    Attributes
    ----------
    points : array of shape (k, d)
        The distinct rows, coded, in lexicographic order.
    sums : array of shape (k, 1 + m)
        The sums of their weights, and of weights times features.
    """

    points: Vector
    sums: Vector


@dataclass(frozen=True, eq=False)
class Atoms:
    r"""The rows of one side with their weights, seen through their basis.

    Attributes
    ----------
    basis : Basis
        The functions :math:`\Psi`.
    encoding : Encoding
        How words became numbers.
    rows : Rows
        The atoms, coded; not copied.
    weights : array of shape (n,), optional
        The weights of the rows.
    mean : array of shape (m,)
        The means of the functions over the atoms, zero if the basis is centred.
    executor : Executor
        How row blocks are worked on.
    powers : array of shape (1 + m, q), optional
        The mean of :math:`(1, \Psi)^\top p` over the atoms with the
        :func:`~jointdist.lowrank.moments.powers` about the origin, if known already.
    """

    basis: Basis
    encoding: Encoding
    rows: Rows
    weights: Vector | None
    mean: Vector
    executor: Executor
    powers: Vector | None = None

    @property
    def n(self) -> int:
        """The number of atoms."""
        return self.rows.n

    @property
    def width(self) -> int:
        """The number of columns; a law of one column is scalar."""
        return self.rows.d

    @property
    def rank(self) -> int:
        """The number of functions."""
        return self.basis.rank

    @property
    def origin(self) -> Vector:
        """The point about which powers are taken."""
        origin: Vector = to_numpy(self.basis.map.origin)
        return origin

    @cached_property
    def shares(self) -> Vector:
        r"""The weights :math:`\omega` of the atoms; their sum is one."""
        weights = np.ones(self.n) if self.weights is None else self.weights
        shares: Vector = weights / weights.sum()
        return shares

    def decoded(self, points: Vector) -> NDArray[Any]:
        """Return coded points ``(..., d)`` as users know them: words, and no last axis
        if there is one column only.
        """
        known = self.encoding.decode(points)
        return known[..., 0] if self.width == 1 else known

    def features(self, z: Array) -> Vector:
        """Return the functions at points, as rows."""
        return host_features(self.basis, z)

    def ratio(self, start: int, z: Array, t: Vector) -> Vector:
        r"""Return the ratios :math:`1 + \Psi \cdot t` of a block of atoms, ``(b, laws)``.

        Parameters
        ----------
        start : int
            The number of the first of the atoms.
        z : Array of shape (b, d)
            The atoms.
        t : array of shape (laws, m)
            The laws.
        """
        del start
        found: Vector = self.features(z) @ t.T
        found += 1.0
        return found

    def sums(self, rows: NDArray[np.intp]) -> Any:
        r"""Return :math:`\omega (1, \Psi)` of some atoms, as rows."""
        psi = self.features(self.rows.take(rows))
        return self.shares[rows, None] * np.insert(psi, 0, 1.0, axis=1)

    def order(self) -> NDArray[np.intp]:
        """Return the numbers of all atoms, those that are put together next to each other."""
        return np.arange(self.n)

    def squared_weights(self, t: Vector) -> Vector:
        """Return the sums of squared weights of laws, before they are divided by their mass.

        Parameters
        ----------
        t : array of shape (laws, m)
            The laws.
        """
        S = self.squares
        found: Vector = S[0, 0] + 2 * t @ S[0, 1:] + ((t @ S[1:, 1:]) * t).sum(axis=1)
        return found

    def expectations(self, f: Callable[[Vector], Vector]) -> Vector:
        r"""Return the mean of :math:`(1, \Psi)^\top f` over the atoms, in one pass.

        Parameters
        ----------
        f : callable
            From coded rows ``(b, d)`` to numbers ``(b, k)``.

        Returns
        -------
        array of shape (1 + m, k)
            The means.
        """

        def block(start: int, z: Array) -> Vector:
            values = f(to_numpy(z)) * self.shares[start : start + z.shape[0], None]
            return np.concatenate(
                [values.sum(axis=0)[None, :], self.features(z).T @ values]
            )

        return self.executor.reduce(add, block, self.rows)

    @cached_property
    def first_powers(self) -> Vector:
        """The mean of the features times the columns less the origin, ``(1 + m, d)``."""
        if self.powers is not None:
            return self.powers[:, : self.width]
        return self.expectations(lambda z: z - self.origin)

    @cached_property
    def second_powers(self) -> Vector:
        """The same for products of two columns, on and above the diagonal."""
        d = self.width
        products = d * (d + 1) // 2
        if self.powers is not None and self.powers.shape[1] == d + products:
            return self.powers[:, d:]

        def every(z: Vector) -> Vector:
            found: Vector = powers(self.origin, z, squared=True)[d:].T
            return found

        return self.expectations(every)

    @cached_property
    def squared_powers(self) -> Vector:
        """The same for squares of columns, ``(1 + m, d)``."""
        d = self.width
        if self.powers is not None and self.powers.shape[1] > d:
            return self.second_powers[:, [i * d - i * (i - 1) // 2 for i in range(d)]]
        return self.expectations(lambda z: (z - self.origin) ** 2)

    @cached_property
    def squares(self) -> Vector:
        r"""The sum of :math:`\omega^2 (1, \Psi)^\top (1, \Psi)` over the atoms."""
        if self.weights is None:
            inner = np.diag(to_numpy(self.basis.eigenvalues) / self.n)
            mean = self.mean[None, :]
            return np.block([[np.ones((1, 1)), mean], [mean.T, inner]]) / self.n

        def block(start: int, z: Array) -> Vector:
            share = self.shares[start : start + z.shape[0], None]
            f = np.concatenate([share, share * self.features(z)], axis=1)
            product: Vector = f.T @ f
            return product

        return self.executor.reduce(add, block, self.rows)

    @property
    def discrete(self) -> bool:
        """Whether there is no density: words, few values taken often, a constant column."""
        return not self.encoding.numeric or self.few or self._has_constant

    @cached_property
    def few(self) -> bool:
        """Whether there are few distinct atoms: numbers that are taken many times, or words."""
        limit = _FEW_WORDS
        if self.encoding.numeric:
            limit = max(min(_FEW, self.n // _REPEATED), 1)
        seen: set[tuple[float, ...]] = set()
        for block in self._blocks():
            seen.update(map(tuple, np.unique(block, axis=0)))
            if len(seen) > limit:
                return False
        return True

    @cached_property
    def _has_constant(self) -> bool:
        ends = [(block.min(axis=0), block.max(axis=0)) for block in self._blocks()]
        low, high = (
            np.min([a for a, _ in ends], axis=0),
            np.max([b for _, b in ends], axis=0),
        )
        return bool((low == high).any())

    def _blocks(self) -> Iterator[Vector]:
        """Yield the atoms that have weight, some at a time."""
        step = self.executor.block_rows
        for start in range(0, self.n, step):
            stop = min(start + step, self.n)
            block = to_numpy(self.rows.read(start, stop))
            counted = block[self.shares[start:stop] > 0]
            if len(counted):
                yield counted

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct atoms; ask only where they are few."""
        table = to_numpy(self.rows.read(0, self.n))
        points, which = np.unique(table, axis=0, return_inverse=True)
        sums = np.zeros((len(points), 1 + self.rank))
        psi = self.features(like(points, self.basis.map.core))
        sums[:, 0] = np.bincount(which.ravel(), self.shares, len(points))
        sums[:, 1:] = sums[:, :1] * psi
        return Distinct(points, sums)


@dataclass(frozen=True, eq=False)
class FewAtoms(Atoms):
    """Some of the rows of a sample, with a function for each: one there, zero elsewhere.

    Attributes
    ----------
    sample : Atoms
        All rows of the sample, which tell what kind of variable it is.
    """

    sample: Atoms = field(kw_only=True)

    @property
    def discrete(self) -> bool:
        """Whether the variable has no density."""
        return self.sample.discrete

    @property
    def few(self) -> bool:
        """Whether the variable has few distinct values."""
        return self.sample.few
