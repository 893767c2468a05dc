r"""What needs all weights of a law: a scan over the atoms, in blocks.

A law costs :math:`O(n m)` here. Blocks of atoms meet blocks of laws, so that no array of
all laws by all atoms is formed.
"""

from collections.abc import Callable
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.distributions.sorted_support import groups
from jointdist.distributions.support_points import Atoms

__all__ = [
    "all_weights",
    "clipped_draws",
    "largest",
    "likeliest",
    "negative_share",
    "paired_sums",
    "slices",
]

_CELLS = 1 << 21  # of atoms by laws that are worked on at a time


def all_weights(atoms: Atoms, t: Vector, mass: Vector) -> Vector:
    """Return the weights of all atoms under each law, of shape ``(q, n)``."""
    weights = np.empty((len(t), atoms.n))

    def block(start: int, z: Array) -> None:
        own = slice(start, start + z.shape[0])
        weights[:, own] = _weights(atoms, start, z, t, mass).T

    for _ in atoms.executor.map(block, atoms.rows):
        pass
    return weights


def negative_share(atoms: Atoms, t: Vector, mass: Vector) -> Vector:
    """Return the negative weight of each law, as a share of all weight taken as positive."""

    def share(t: Vector, mass: Vector) -> Vector:
        def block(start: int, z: Array) -> Vector:
            w = _weights(atoms, start, z, t, mass)
            below = -np.minimum(w, 0).sum(axis=0)
            return np.stack([below, np.abs(w, out=w).sum(axis=0)])

        below, whole = atoms.executor.reduce(add, block, atoms.rows)
        ratio: Vector = below / whole + 0.0  # no negative zero
        return ratio

    return _by_laws(share, atoms, t, mass)


def paired_sums(
    atoms: Atoms, t: Vector, mass: Vector, f: Callable[[Vector, slice], Vector]
) -> Vector:
    """Return the mean of a function of its own under each law.

    Parameters
    ----------
    atoms : Atoms
        The atoms.
    t, mass : arrays of shape (q, m) and (q,)
        The laws.
    f : callable
        From coded atoms ``(b, d)`` and a slice of the laws to values ``(b, laws)``.
    """

    def mean(t: Vector, mass: Vector, own: slice) -> Vector:
        def block(start: int, z: Array) -> Vector:
            w = _weights(atoms, start, z, t, mass)
            total: Vector = (w * f(to_numpy(z), own)).sum(axis=0)
            return total

        return atoms.executor.reduce(add, block, atoms.rows)

    return np.concatenate(
        [mean(t[own], mass[own], own) for own in _by_block(atoms, len(t))]
    )


def largest(atoms: Atoms, t: Vector, mass: Vector, factor: Vector) -> Index:
    """Return the atom of each law with the largest ratio times a factor of the atom."""

    class Best(NamedTuple):
        value: Vector
        atom: Index

        def or_later(self, other: "Best") -> "Best":
            better = other.value > self.value
            return Best(
                np.where(better, other.value, self.value),
                np.where(better, other.atom, self.atom),
            )

    def atom(t: Vector, mass: Vector) -> Index:
        def block(start: int, z: Array) -> Best:
            value = atoms.ratio(start, z, t) / mass
            value *= factor[start : start + z.shape[0], None]
            return Best(value.max(axis=0), start + value.argmax(axis=0))

        return atoms.executor.reduce(Best.or_later, block, atoms.rows).atom

    return _by_laws(atom, atoms, t, mass)


def likeliest(sums: Vector, t: Vector) -> Index:
    r"""Return which of some sums of :math:`\omega (1, \Psi)` has the largest weight.

    Parameters
    ----------
    sums : array of shape (k, 1 + m)
        The sums.
    t : array of shape (q, m)
        The laws.
    """
    parts = (t[own] for own in slices(len(sums), len(t)))
    return np.concatenate([(p @ sums[:, 1:].T + sums[:, 0]).argmax(axis=1) for p in parts])


def clipped_draws(atoms: Atoms, t: Vector, mass: Vector, uniform: Vector) -> Index:
    """Return atoms drawn from laws whose negative weights are set to zero.

    Parameters
    ----------
    atoms : Atoms
        The atoms.
    t, mass : arrays of shape (q, m) and (q,)
        The laws.
    uniform : array of shape (q, size)
        Uniform numbers from zero to below one: the atom where the sum of the clipped
        weights, in the order of the atoms, first exceeds that share of the whole.
    """
    dists = _by_block(atoms, len(t))
    return np.concatenate([_draws(atoms, t[own], mass[own], uniform[own]) for own in dists])


def _draws(atoms: Atoms, t: Vector, mass: Vector, uniform: Vector) -> Index:
    def total(start: int, z: Array) -> Vector:
        clipped: Vector = np.maximum(_weights(atoms, start, z, t, mass), 0).sum(axis=0)
        return clipped

    by_block = np.cumsum(list(atoms.executor.map(total, atoms.rows)), axis=0)
    before = np.concatenate([np.zeros((1, len(t))), by_block])
    sought = (uniform * by_block[-1][:, None]).ravel()
    dists = np.repeat(np.arange(len(t)), uniform.shape[1])
    columns = zip(by_block.T, np.split(sought, len(t)), strict=True)
    block = np.concatenate([np.searchsorted(sums, u, side="right") for sums, u in columns])
    block = np.minimum(block, len(by_block) - 1)
    drawn = np.zeros(len(sought), dtype=np.intp)

    def work(group: Index) -> tuple[Index, Index]:
        b = int(block[group[0]])
        own, first = np.unique(dists[group], return_index=True)
        start = b * atoms.executor.block_rows
        z = atoms.rows.read(start, min(start + atoms.executor.block_rows, atoms.n))
        w = np.maximum(_weights(atoms, start, z, t[own], mass[own]), 0)
        sums = np.cumsum(w, axis=0) + before[b, own]
        last = len(w) - 1 - (w[::-1] > 0).argmax(axis=0)  # of positive weight: rounding
        each = zip(sums.T, np.split(sought[group], first[1:]), last, strict=True)
        found = [np.minimum(np.searchsorted(c, u, side="right"), k) for c, u, k in each]
        return group, start + np.concatenate(found)

    for group, found in atoms.executor.each(work, groups(np.arange(len(sought)), block)):
        drawn[group] = found
    return drawn.reshape(uniform.shape)


def _weights(atoms: Atoms, start: int, z: Array, t: Vector, mass: Vector) -> Vector:
    """Return the weights of a block of atoms under laws, of shape ``(b, laws)``."""
    w = atoms.ratio(start, z, t)
    w *= atoms.shares[start : start + len(w), None] / mass
    return w


def _by_laws(
    f: Callable[[Vector, Vector], NDArray[Any]], atoms: Atoms, t: Vector, mass: Vector
) -> NDArray[Any]:
    return np.concatenate([f(t[own], mass[own]) for own in _by_block(atoms, len(t))])


def _by_block(atoms: Atoms, n: int) -> list[slice]:
    """Return slices of the laws, so few that a block of atoms by them fits in memory."""
    return slices(min(atoms.executor.block_rows, atoms.n), n)


def slices(width: int, n: int) -> list[slice]:
    """Return slices of ``n`` rows, so few that a table of them of a width fits in memory.

    Parameters
    ----------
    width : int
        The number of columns of the table.
    n : int
        The number of its rows.
    """
    step = max(_CELLS // width, 1)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
