"""Disjoint parts of rows, and which of them each fold fits to and holds out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Index
from jointdist.data.folds import Folds
from jointdist.data.sample import held_out

__all__ = ["Partition"]


@dataclass(frozen=True, eq=False)
class Partition:
    """Disjoint parts of all rows, whose sums make those of each fold.

    Attributes
    ----------
    parts : list of arrays of int
        The rows of each part. There may be several partitions of the rows.
    whole : int
        How many of the first parts are all rows.
    fit, out : list of tuples of int
        The parts that each fold fits to, and those that it holds out.
    """

    parts: list[Index]
    whole: int
    fit: list[tuple[int, ...]]
    out: list[tuple[int, ...]]

    @staticmethod
    def random(n: int, cv: float, seeds: range) -> "Partition":
        """Return folds of random rows, several times.

        Parameters
        ----------
        n : int
            The number of rows.
        cv : int or float
            The number of folds, or the share of rows of the only one.
        seeds : range
            The seed of each partition; of several, if there are several folds.
        """
        held = held_out(n, cv, seeds[0])
        rest = np.setdiff1d(np.arange(n), np.concatenate(held))
        parts, whole = ([*held, rest], len(held) + 1) if rest.size else (held, len(held))
        if len(held) == 1:
            return Partition(parts, whole, [(1,)], [(0,)])
        parts = [*parts, *(part for seed in seeds[1:] for part in held_out(n, cv, seed))]
        starts = [i // whole * whole for i in range(len(parts))]
        others = (
            tuple(j for j in range(start, start + whole) if j != i)
            for i, start in enumerate(starts)
        )
        return Partition(parts, whole, list(others), [(i,) for i in range(len(parts))])

    @staticmethod
    def none(n: int) -> "Partition":
        """Return a partition without folds.

        Parameters
        ----------
        n : int
            The number of rows.
        """
        return Partition([np.arange(n)], 1, [], [])

    @staticmethod
    def of(folds: Folds) -> "Partition":
        """Return the folds of rows that are held out together, or in time.

        Parameters
        ----------
        folds : Folds
            The folds.
        """
        labels = np.unique(folds.part)
        parts = [np.flatnonzero(folds.part == label) for label in labels]
        sides = [
            tuple(tuple(np.flatnonzero(np.isin(labels, side)).tolist()) for side in split)
            for split in folds.splits
        ]
        used = [(fit, out) for fit, out in sides if fit and out]
        fits, outs = [fit for fit, _ in used], [out for _, out in used]
        return Partition(parts, len(parts), fits, outs)

    @property
    def folds(self) -> int:
        """The number of folds."""
        return len(self.out)

    def fitted(self, fold: int) -> Index:
        """Return the rows that a fold is fitted to, sorted."""
        return np.sort(np.concatenate([self.parts[part] for part in self.fit[fold]]))

    def held(self, fold: int) -> Index:
        """Return the rows that a fold holds out, in the order of its parts."""
        return np.concatenate([self.parts[part] for part in self.out[fold]])

    def sum_fitted(self, sums: list[Any], fold: int) -> Any:
        """Return the sum over the rows that a fold is fitted to.

        Parts are added up: a heavy part that is taken off leaves its rounding behind.

        Parameters
        ----------
        sums : list
            Sums over each part.
        fold : int
            The fold.
        """
        first, *rest = self.fit[fold]
        return sum((sums[part] for part in rest), sums[first])
