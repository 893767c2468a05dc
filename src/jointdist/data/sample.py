"""Paired rows with weights: duplicates, representatives, and folds of cross-validation."""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Index, Vector
from jointdist._rules import Text, is_whole, require
from jointdist.data.folds import Folds
from jointdist.data.table import Rows, as_weights

__all__ = [
    "CanonicalOrder",
    "Duplicates",
    "Representatives",
    "Sample",
    "canonical_order",
    "held_out",
]

# Rows up to which representatives are chosen from all rows, sorted; of more, at random.
_SORTED_ROWS = 1 << 13
# Equal rows are copies of one observation if some numeric column has at least this many values
# for each distinct row: a column of measurements nearly tells rows apart.
_DISTINCT_SHARE = 0.5
# Rows that come at least this often, with at least this variance over mean of their counts, are
# observations that recur by chance and not a table repeated as a whole.
_RECURRING_MEAN, _RECURRING_DISPERSION = 4.0, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Duplicates:
    """The distinct rows of a sample, and which rows equal each of them.

    Attributes
    ----------
    first : array of shape (k,)
        The number of one row of each kind, in lexicographic order.
    which : array of shape (n,)
        The kind of each row.
    weights : array of shape (k,)
        The weight of each kind.
    copied : bool
        Whether equal rows are copies of one observation: where some numeric column nearly
        tells rows apart, so that they are not equal by chance. They are separate
        observations in tables of a few values or categories, and where rows recur often,
        some more often than others.
    """

    first: Index
    which: Index
    weights: Vector
    copied: bool


@dataclass(frozen=True, slots=True, eq=False)
class Representatives:
    """A few rows that represent the sample.

    Attributes
    ----------
    rows : array of shape (k,)
        Their numbers.
    weights : array of shape (k,)
        The weight of the rows that each of them represents.
    own : array of shape (k,)
        The weight that leaves the sample if one is left out: that of all copies of it, or of
        one observation.
    """

    rows: Index
    weights: Vector
    own: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Paired rows with weights.

    Attributes
    ----------
    x, y : Rows
        The rows of both sides, coded; not copied.
    weights : array of shape (n,), optional
        Their weights.
    categorical : bool, default=False
        Whether all columns of X are categorical, so that rows recur.
    folds : Folds, optional
        How rows are held out that are not exchangeable one by one.
    """

    x: Rows
    y: Rows
    weights: Vector | None
    categorical: bool = False
    folds: Folds | None = None

    @staticmethod
    def paired(
        x: Rows, y: Rows, sample_weight: object, *, categorical: bool = False
    ) -> "Sample":
        """Return the rows of both sides, equally many, with checked weights."""
        rule = f"as long as `X` ({x.n} rows)"
        require(x.n == y.n, x.where, "Y", rule, Text(f"{y.n} rows"))
        return Sample(x, y, as_weights(sample_weight, x), categorical)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.x.n

    @property
    def size(self) -> float:
        """The sum of the weights; the number of rows if there are none."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def row_weights(self) -> Vector:
        """The weights; ones if there are none."""
        return np.ones(self.n) if self.weights is None else self.weights

    @property
    def effective_size(self) -> float:
        """The effective sample size of the weights, (sum w)² / sum w²."""
        if self.weights is None:
            return float(self.n)
        share = self.weights / self.weights.max()
        return float(share.sum() ** 2 / (share @ share))

    @property
    def varied(self) -> bool:
        """Whether there are two rows that differ."""
        tables = self.x.table(), self.y.table()
        return any((table != table[0]).any() for table in tables)

    @property
    def counted(self) -> "Sample":
        """The rows whose weight is not zero."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(np.flatnonzero(self.weights))

    def owned(self) -> "Sample":
        """Return a copy in host memory that nothing can change, without its folds."""
        weights = None if self.weights is None else _frozen(self.weights)
        return Sample(_owned(self.x), _owned(self.y), weights, self.categorical)

    def take(self, rows: Index) -> "Sample":
        """Return some of the rows, copied."""
        weights = None if self.weights is None else self.weights[rows]
        folds = None if self.folds is None else self.folds.take(rows)
        sides = self.x.subset(rows), self.y.subset(rows)
        return Sample(*sides, weights, self.categorical, folds)

    def choose(self, limit: int, seed: object) -> Index:
        """Return the numbers of all rows with a weight, or of ``limit`` of them at random."""
        if limit == 0:
            return np.empty(0, dtype=np.intp)
        rows = np.arange(self.n) if self.weights is None else np.flatnonzero(self.weights)
        if len(rows) <= limit:
            return rows
        rng = np.random.default_rng(seed)  # type: ignore[arg-type]
        if self.folds is not None:
            return self.folds.choose(rows, limit, rng)
        return np.sort(rng.choice(rows, limit, replace=False))

    @property
    def duplicates(self) -> Duplicates:
        """Which rows are equal."""
        both = np.concatenate([self.x.table(), self.y.table()], axis=1)
        told = both
        if self.folds is not None:  # copies are rows that are held out together
            told = np.concatenate([both, self.folds.keys[:, None]], axis=1)
        _, first, which = np.unique(told, axis=0, return_index=True, return_inverse=True)
        which = which.ravel()
        weights, often = (np.bincount(which, w) for w in (self.row_weights, None))
        values = max(len(np.unique(column)) for column in both[first].T)
        usual = (
            often.mean() >= _RECURRING_MEAN
            and often.var() >= _RECURRING_DISPERSION * often.mean()
        )
        copied = (
            not self.categorical and not usual and values >= _DISTINCT_SHARE * len(first)
        )
        return Duplicates(first, which, weights.astype(np.float64), copied)

    @property
    def distinct(self) -> bool:
        """Whether no two rows are equal; if hashes are, by chance, the answer is no, too."""
        table = np.concatenate([self.x.table(), self.y.table()], axis=1)
        table = table.astype(np.float64) + 0.0  # no negative zero
        rng, half = np.random.default_rng(0), np.uint64(32)
        odd = 2 * rng.integers(2**63, size=table.shape[1], dtype=np.uint64) + np.uint64(1)
        bits = table.view(np.uint64)
        mixed = (bits ^ (bits >> half)) * odd
        keys = np.sort((mixed ^ (mixed >> half)).sum(axis=1, dtype=np.uint64))
        return bool((keys[1:] != keys[:-1]).all())

    def representatives(self, limit: int) -> Representatives:
        """Return distinct rows that represent the sample, at most ``limit``.

        If there are more, they are spread evenly over the rows in lexicographic order, in
        which a weight of two counts as two rows; of very many rows, a random choice.
        """
        if self.n > _SORTED_ROWS:
            rows = self.choose(limit, 0)
            w = self.row_weights[rows]
            return Representatives(rows, w, np.minimum(w, 1.0))
        equal = self.duplicates
        kinds = np.flatnonzero(equal.weights)
        own = equal.weights if equal.copied else np.minimum(equal.weights, 1.0)
        weights = equal.weights[kinds]
        if len(kinds) > limit:
            places = (np.arange(limit) + 0.5) / limit * weights.sum()
            chosen, count = np.unique(
                np.searchsorted(np.cumsum(weights), places), return_counts=True
            )
            kinds, weights = kinds[chosen], count * weights.sum() / limit
        return Representatives(equal.first[kinds], weights, own[kinds])


@dataclass(frozen=True, eq=False)
class CanonicalOrder:
    """The rows of a sample in an order that does not depend on how they were given.

    Attributes
    ----------
    rows : array of shape (k,)
        The numbers of the rows.
    weights : array of shape (k,), optional
        Their weights.
    groups : array of shape (n,)
        A number for each row of the sample; those of copies are equal.
    """

    rows: Index
    weights: Vector | None
    groups: Index

    def of(self, sample: Sample) -> Sample:
        """Return the sample in this order.

        Parameters
        ----------
        sample : Sample
            The sample.
        """
        return replace(sample.take(self.rows), weights=self.weights)


def canonical_order(sample: Sample, most: int, *, repeated: bool = True) -> CanonicalOrder:
    """Return the rows in lexicographic order, with copies as one row of their weight.

    A copy of a held-out row must not be in the training fold, and neither the order of the
    rows nor whether repeated rows are given as weights may matter. Equal rows that are
    separate observations stay separate, and a row of weight two becomes two rows.

    Parameters
    ----------
    sample : Sample
        The rows; all of them count.
    most : int
        The largest number of rows that weights may be expanded to.
    repeated : bool, default=True
        Whether weights are counts of observations; class weights are not.
    """
    equal = sample.duplicates
    weights, order = sample.weights, np.argsort(equal.which, kind="stable")
    if repeated and equal.copied:
        w = None if (equal.weights == 1).all() else equal.weights
        return CanonicalOrder(equal.first, w, equal.which)
    own = np.arange(sample.n)
    if weights is None:
        return CanonicalOrder(order, None, own)
    whole = bool((weights == weights.round()).all())
    if not repeated or not whole or weights.sum() > most:
        return CanonicalOrder(order, weights[order], own)
    return CanonicalOrder(np.repeat(order, weights[order].astype(np.intp)), None, own)


def held_out(n: int, cv: float, seed: int) -> list[Index]:
    """Return the row numbers of each held-out fold.

    Parameters
    ----------
    n : int
        The number of rows, at least two.
    cv : int or float
        The number of folds, at most one for each row; or the share of rows of the only
        fold.
    seed : int
        The seed of the random permutation.
    """
    order = np.random.default_rng(seed).permutation(n)
    if not is_whole(cv, least=2):
        return [np.sort(order[: min(max(round(cv * n), 1), n - 1)])]
    return [np.sort(part) for part in np.array_split(order, min(int(cv), n))]


def _owned(rows: Rows) -> Rows:
    """Return a table of the same numbers, copied."""
    return Rows(_frozen(rows.table()), rows.where, rows.name)


def _frozen(values: Vector) -> Vector:
    """Return a copy that cannot be written to."""
    copied = np.array(values, dtype=np.float64, order="C")
    copied.setflags(write=False)
    return copied
