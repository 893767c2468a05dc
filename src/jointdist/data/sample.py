"""The paired rows a model was fitted to; they come and go."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from jointdist._array import to_numpy
from jointdist.data.table import Rows, as_weights
from jointdist.errors import Text, require

__all__ = ["Equal", "Sample", "Typical"]

_SORTED = 1 << 13  # rows that are looked through for equal ones
_COPIED = 1 << 26  # bytes of an array that is copied
_TELLING = 0.5  # the values of a column, for each distinct row, that tell rows apart
_OFTEN, _UNEVEN = 4.0, 0.5  # how often rows come, and variance over mean, of observations


@dataclass(frozen=True, slots=True, eq=False)
class Equal:
    """Rows of a sample that are equal.

    Attributes
    ----------
    first : array of shape (k,)
        The number of one row of each kind, kinds from the lowest to the highest.
    which : array of shape (n,)
        The kind of each row.
    weights : array of shape (k,)
        The weight of each kind.
    copied : bool
        Whether equal rows are copies of one observation: where some column of numbers nearly
        tells rows apart, so that they are not equal by chance. They are observations of
        their own in tables of a few values or words, and where rows come often, and some
        more often than others.
    """

    first: NDArray[np.intp]
    which: NDArray[np.intp]
    weights: NDArray[np.float64]
    copied: bool


@dataclass(frozen=True, slots=True, eq=False)
class Typical:
    """Rows that stand for all.

    Attributes
    ----------
    rows : array of shape (k,)
        Their numbers.
    weights : array of shape (k,)
        How many rows each of them stands for.
    own : array of shape (k,)
        What leaves the sample if one is left out: all copies of it, or one observation.
    """

    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    own: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Paired rows with weights.

    Attributes
    ----------
    x, y : Rows
        The rows of both sides, coded; not copied.
    weights : array of shape (n,), optional
        Their weights.
    words : bool, default=False
        Whether X is of words only, which come again.
    """

    x: Rows
    y: Rows
    weights: NDArray[np.float64] | None
    words: bool = False

    @staticmethod
    def paired(x: Rows, y: Rows, sample_weight: object, *, words: bool = False) -> "Sample":
        """Return the rows of both sides, equally many, with checked weights."""
        rule = f"as long as `X` ({x.n} rows)"
        require(x.n == y.n, x.where, "Y", rule, Text(f"{y.n} rows"))
        return Sample(x, y, as_weights(sample_weight, x), words)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.x.n

    @property
    def size(self) -> float:
        """How many rows the sample counts for: the sum of its weights."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def effective_size(self) -> float:
        """How many rows of equal weight the sample is worth, whatever their unit."""
        if self.weights is None:
            return float(self.n)
        share = self.weights / self.weights.max()
        return float(share.sum() ** 2 / (share @ share))

    @property
    def varied(self) -> bool:
        """Whether there are two rows that differ."""
        tables = (to_numpy(rows.read(0, rows.n)) for rows in (self.x, self.y))
        return any((table != table[0]).any() for table in tables)

    @property
    def counted(self) -> "Sample":
        """The rows whose weight is not zero."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(np.flatnonzero(self.weights))

    def owned(self) -> "Sample":
        """Return the sample with copies of small arrays, which others may change."""
        weights = None if self.weights is None else self.weights.copy()
        return Sample(_copied(self.x), _copied(self.y), weights, self.words)

    def take(self, rows: NDArray[np.intp]) -> "Sample":
        """Return some of the rows, copied."""
        weights = None if self.weights is None else self.weights[rows]
        return Sample(self.x.subset(rows), self.y.subset(rows), weights, self.words)

    def choose(self, limit: int, seed: object) -> NDArray[np.intp]:
        """Return the numbers of all rows that count, or of ``limit`` of them at random."""
        if limit == 0:
            return np.empty(0, dtype=np.intp)
        rows = np.arange(self.n) if self.weights is None else np.flatnonzero(self.weights)
        if len(rows) <= limit:
            return rows
        rng = np.random.default_rng(seed)  # type: ignore[arg-type]
        return np.sort(rng.choice(rows, limit, replace=False))

    @property
    def equal(self) -> Equal:
        """Which rows are equal."""
        both = np.concatenate([_table(self.x), _table(self.y)], axis=1)
        _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
        which = which.ravel()
        weights, often = (np.bincount(which, w) for w in (_weights(self), None))
        values = max(len(np.unique(column)) for column in both[first].T)
        usual = often.mean() >= _OFTEN and often.var() >= _UNEVEN * often.mean()
        copied = not self.words and not usual and values >= _TELLING * len(first)
        return Equal(first, which, weights.astype(np.float64), copied)

    @property
    def distinct(self) -> bool:
        """Whether no two rows are equal; if hashes are, by chance, the answer is no, too."""
        table = np.concatenate([_table(self.x), _table(self.y)], axis=1)
        table = table.astype(np.float64) + 0.0  # no negative zero
        rng, half = np.random.default_rng(0), np.uint64(32)
        odd = 2 * rng.integers(2**63, size=table.shape[1], dtype=np.uint64) + np.uint64(1)
        bits = table.view(np.uint64)
        mixed = (bits ^ (bits >> half)) * odd
        keys = np.sort((mixed ^ (mixed >> half)).sum(axis=1, dtype=np.uint64))
        return bool((keys[1:] != keys[:-1]).all())

    def typical(self, limit: int) -> Typical:
        """Return distinct rows that stand for all.

        All of them, or ``limit`` that are spread evenly over the rows in their order: a weight
        of two is two rows, wherever they are. Of many rows, a random choice.

        Parameters
        ----------
        limit : int
            The number of rows.
        """
        if self.n > _SORTED:
            rows = self.choose(limit, 0)
            w = _weights(self)[rows]
            return Typical(rows, w, np.minimum(w, 1.0))
        equal = self.equal
        kinds = np.flatnonzero(equal.weights)
        own = equal.weights if equal.copied else np.minimum(equal.weights, 1.0)
        weights = equal.weights[kinds]
        if len(kinds) > limit:
            places = (np.arange(limit) + 0.5) / limit * weights.sum()
            chosen, count = np.unique(
                np.searchsorted(np.cumsum(weights), places), return_counts=True
            )
            kinds, weights = kinds[chosen], count * weights.sum() / limit
        return Typical(equal.first[kinds], weights, own[kinds])

    def joined(self, other: "Sample") -> "Sample":
        """Return the rows of both samples, copied."""
        weights = None
        if self.weights is not None or other.weights is not None:
            weights = np.concatenate([_weights(self), _weights(other)])
        x = np.concatenate([_table(self.x), _table(other.x)])
        y = np.concatenate([_table(self.y), _table(other.y)])
        return Sample(_like(self.x, x), _like(self.y, y), weights, self.words)

    def without(self, other: "Sample") -> "Sample":
        """Return the rows less those of another sample, each of which must be there."""
        have, gone = _keys(self), _keys(other)
        order, back = np.argsort(have, kind="stable"), np.argsort(gone, kind="stable")
        have, gone = have[order], gone[back]
        first = np.searchsorted(have, gone, side="left")
        repeat = np.arange(len(gone)) - np.searchsorted(gone, gone, side="left")
        place = first + repeat
        known = place < np.searchsorted(have, gone, side="right")
        if not known.all():
            got = Text(f"row {back[~known].min()}, which is not, or not so often")
            rule = "rows that the model was fitted to, with their weights"
            require(False, other.x.where, "X, Y", rule, got)
        rest = np.delete(np.arange(self.n), order[place])
        got = Text("all of them")
        left = rest.size and (self.weights is None or self.weights[rest].any())
        require(left, other.x.where, "X, Y", "not all rows of the model", got)
        return self.take(rest)


def _copied(rows: Rows) -> Rows:
    source = rows.source
    if isinstance(source, np.ndarray) and not isinstance(source, np.memmap):
        return replace(rows, source=source.copy()) if source.nbytes <= _COPIED else rows
    return rows


def _table(rows: Rows) -> NDArray[np.float64]:
    table: NDArray[np.float64] = to_numpy(rows.read(0, rows.n))
    return table


def _like(rows: Rows, table: NDArray[np.float64]) -> Rows:
    return Rows(table, rows.where, rows.name)


def _weights(sample: Sample) -> NDArray[np.float64]:
    return np.ones(sample.n) if sample.weights is None else sample.weights


def _keys(sample: Sample) -> NDArray[np.void]:
    """Return each row with its weight as one value that can be sorted."""
    parts = [_table(sample.x), _table(sample.y), _weights(sample)[:, None]]
    table = np.ascontiguousarray(np.concatenate(parts, axis=1)) + 0.0  # no negative zero
    return table.view([("row", np.void, table.shape[1] * 8)])["row"].ravel()
