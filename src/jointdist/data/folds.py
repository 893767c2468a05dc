"""Folds of rows that depend on each other: parts that are held out together, or in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from jointdist._array import Index

__all__ = ["Folds", "Split", "group_splits", "window_splits"]

# Windows of time: the first is never held out, each other one is forecast from those before.
_WINDOWS = 6
# Groups that a subsample has at least, if it is one of whole groups: enough for some in each
# of five folds.
_FEWEST_GROUPS = 20
# Groups from which on one row of each is enough to learn length scales from.
_MANY_GROUPS = 50


class Split(NamedTuple):
    """The rows of a fold: indices to fit to, and to hold out.

    Attributes
    ----------
    fit : array of int
        The rows that a model is fitted to.
    out : array of int
        The rows that are held out.
    """

    fit: Index
    out: Index

    @classmethod
    def without(cls, out: Index, n: int) -> "Split":
        """Return the split that fits to all of n rows but those that are held out.

        Parameters
        ----------
        out : array of int
            The rows that are held out.
        n : int
            The number of all rows.
        """
        return cls(np.setdiff1d(np.arange(n), out), out)


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """How rows are held out that are not exchangeable one by one.

    Rows that all splits treat alike are a part. As each row carries the number of its part,
    splits of some of the rows, in any order, are known.

    Attributes
    ----------
    part : array of int of shape (n,)
        The part of each row.
    splits : tuple of Split
        The numbers of the parts that are fitted to and held out.
    order : array of int of shape (n,)
        The place of each row in the table, which is its order in time.
    groups : array of int of shape (n,), optional
        The number of the group of each row.
    timed : bool, default=False
        Whether rows are forecast from rows before them.
    """

    part: Index
    splits: tuple[Split, ...]
    order: Index
    groups: Index | None = None
    timed: bool = False

    @staticmethod
    def of(
        splits: Sequence[Split], order: Index, groups: Index | None, *, timed: bool
    ) -> "Folds":
        """Return the folds of splits of rows.

        Parameters
        ----------
        splits : sequence of Split
            The splits.
        order : array of int of shape (n,)
            The place of each row in the table.
        groups : array of int of shape (n,), optional
            The number of the group of each row.
        timed : bool
            Whether rows are forecast from rows before them.
        """
        part = np.zeros(len(order), dtype=np.intp)
        for split in splits:
            state = np.zeros_like(part)
            state[split.fit], state[split.out] = 1, 2
            part = np.unique(3 * part + state, return_inverse=True)[1].reshape(-1)
        sides = (tuple(np.unique(part[side]) for side in split) for split in splits)
        return Folds(part, tuple(Split(*both) for both in sides), order, groups, timed)

    @property
    def rows(self) -> list[Split]:
        """The splits of the rows, without those that hold out or fit to none of them."""
        found = (
            Split(*(np.flatnonzero(np.isin(self.part, side)) for side in split))
            for split in self.splits
        )
        return [split for split in found if len(split.fit) and len(split.out)]

    @property
    def keys(self) -> Index:
        """A number for each row; equal rows of different numbers are no copies."""
        if self.groups is None:
            return self.part
        both = np.stack([self.part, self.groups], axis=1)
        return np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)

    def take(self, rows: Index) -> "Folds":
        """Return the folds of some of the rows.

        Parameters
        ----------
        rows : array of int
            The rows.
        """
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, part=self.part[rows], order=self.order[rows], groups=groups)

    def within(self) -> "Folds | None":
        """Return folds for choices among these rows alone; None if they are exchangeable.

        The splits of all rows leave few of some rows, such as those before a window of time:
        windows are cut anew, and groups dealt anew if fewer than two splits are left.
        """
        splits = self.rows
        if self.timed:
            splits = window_splits(self.order, self.groups)
        elif len(splits) < 2 and self.groups is not None:
            splits = group_splits(self.groups, _WINDOWS - 1, 0)
        if not splits:
            return None
        return Folds.of(splits, self.order, self.groups, timed=self.timed)

    def choose(self, rows: Index, limit: int, rng: np.random.Generator) -> Index:
        """Return at most ``limit`` of some rows at random: whole groups, if they are many.

        Parameters
        ----------
        rows : array of int
            The rows to choose from.
        limit : int
            How many there may be.
        rng : Generator
            Draws them.
        """
        if self.groups is not None:
            groups = self.groups[rows]
            labels, counts = np.unique(groups, return_counts=True)
            order = rng.permutation(len(labels))
            fitting = order[np.cumsum(counts[order]) <= limit]
            if len(fitting) >= _FEWEST_GROUPS:
                return rows[np.isin(groups, labels[fitting])]
        return np.sort(rng.choice(rows, limit, replace=False))

    def one_of_each(self, rows: Index, rng: np.random.Generator) -> Index:
        """Return one of the rows of each group at random; all rows, if groups are few.

        Parameters
        ----------
        rows : array of int
            The rows to choose from.
        rng : Generator
            Draws them.
        """
        if self.groups is None:
            return rows
        mixed = rng.permutation(rows)
        _, first = np.unique(self.groups[mixed], return_index=True)
        return np.sort(mixed[first]) if len(first) >= _MANY_GROUPS else rows


def group_splits(groups: Index, cv: float, seed: int) -> list[Split]:
    """Return splits that keep groups together, of about equally many rows.

    Parameters
    ----------
    groups : array of int of shape (n,)
        The group of each row; negative for rows that take no part.
    cv : int or float
        The number of folds, at most one for each group; or the share of rows of the only
        fold.
    seed : int
        The seed of the random choice of groups.

    Returns
    -------
    list of Split
        The splits; none if there are fewer than two groups.
    """
    used = np.flatnonzero(groups >= 0)
    labels, which, counts = np.unique(groups[used], return_inverse=True, return_counts=True)
    if len(labels) < 2:
        return []
    order = np.random.default_rng(seed).permutation(len(labels))
    if cv < 1:
        held = np.cumsum(counts[order]) <= max(cv * len(used), counts[order[0]])
        held[-1] = False
        folds = np.where(held, 0, -1)
    else:
        order = order[np.argsort(-counts[order], kind="stable")]
        folds = _dealt(counts[order], min(int(cv), len(labels)))
    fold = np.empty(len(labels), dtype=np.intp)
    fold[order] = folds
    of_row = fold[which.reshape(-1)]
    return [
        Split(used[of_row != k], used[of_row == k]) for k in range(int(folds.max()) + 1)
    ]


def _dealt(counts: Index, k: int) -> Index:
    """Return the fold of each group: that with the fewest rows so far."""
    sizes, folds = np.zeros(k), np.empty(len(counts), dtype=np.intp)
    for group, count in enumerate(counts.tolist()):
        folds[group] = sizes.argmin()
        sizes[folds[group]] += count
    return folds


def window_splits(order: Index, groups: Index | None = None) -> list[Split]:
    """Return expanding windows: each block of rows but the first, and all rows before it.

    Rows before a block that belong to one of its groups are not fitted to.

    Parameters
    ----------
    order : array of int of shape (n,)
        The order of the rows in time; negative for rows that take no part.
    groups : array of int of shape (n,), optional
        The group of each row.
    """
    used = np.flatnonzero(order >= 0)
    used = used[np.argsort(order[used], kind="stable")]
    blocks = np.array_split(used, min(_WINDOWS, len(used)))
    found = []
    for k in range(1, len(blocks)):
        fit, out = np.concatenate(blocks[:k]), blocks[k]
        if groups is not None:
            fit = fit[~np.isin(groups[fit], groups[out])]
        found.append(Split(np.sort(fit), np.sort(out)))
    return [split for split in found if len(split.fit)]
