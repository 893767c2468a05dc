r"""Embeddings of categorical columns by what their categories say about Y.

A column of many categories becomes a few numbers: the means of leading features of Y in its
category, shrunken towards the mean of all rows by as much as their noise asks for. With
:math:`n_c` rows of category :math:`c`, the variance :math:`s^2` inside categories and
:math:`\tau^2` between them, by analysis of variance, the best linear forecast of the mean of a
category is :math:`\bar u + n_c \tau^2 / (n_c \tau^2 + s^2) (\bar u_c - \bar u)`.

Rows that a model is fitted to get the means of other folds: a mean that contains a row's own
outcome would tell it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from jointdist._array import Index, Vector
from jointdist.data.encoding import Encoding

__all__ = ["Embedding", "OutOfFold", "learn_embedding", "outcome_features"]

_LEADING = 3  # principal components of Y that means are taken of: location, mostly
_WINSORISED = 0.005, 0.995  # quantiles at which outcomes are cut off: means of few rows
# The probability, by the F distribution, that means of categories differ so much by chance:
# that of three standard errors. Means that differ by less are noise, and all of them zero.
_CHANCE = 0.00135
# The share of folds that must find a mean, too: else fitted rows are told nothing by it.
_MOST_FOLDS = 0.5
_LEAST_ROWS = 8  # of a category whose spread is looked at; a round number
_ROUNDING = 1e-9  # components of less of the variance are rounding


class OutOfFold(NamedTuple):
    """Which rows the numbers of each row are learned from.

    Attributes
    ----------
    fits : list of arrays of bool, of shape (n,)
        The rows of each table but the first, which is of all rows.
    table : array of shape (n,)
        The table of each row, from one on.
    """

    fits: list[NDArray[np.bool_]]
    table: Index

    @staticmethod
    def of(fold: Index) -> "OutOfFold":
        """Return tables without each fold, for the rows of the fold.

        Parameters
        ----------
        fold : array of shape (n,)
            The fold of each row, from zero on.
        """
        return OutOfFold([fold != k for k in range(int(fold.max()) + 1)], fold + 1)

    @staticmethod
    def of_splits(splits: Sequence[tuple[Index, Index]], n: int) -> "OutOfFold":
        """Return tables of the rows that splits fit to, for those that they hold out.

        Rows that are never held out have a table of no rows: they are told nothing.

        Parameters
        ----------
        splits : sequence of pairs of arrays of int
            Rows to fit to, and rows held out.
        n : int
            The number of rows.
        """
        fits, table = [], np.zeros(n, dtype=np.intp)
        for fit, out in splits:
            rows = np.zeros(n, dtype=bool)
            rows[fit] = True
            fits.append(rows)
            table[out] = len(fits)
        if not table.all():
            fits.append(np.zeros(n, dtype=bool))
            table[table == 0] = len(fits)
        return OutOfFold(fits, table)


@dataclass(frozen=True, slots=True, eq=False)
class Embedding:
    """Numbers in place of the categories of one column.

    Attributes
    ----------
    column : int
        The column.
    tables : array of shape (folds + 1, K + 2, r)
        The numbers of the K categories, of a missing one and of an unseen one: first those
        from all rows, for questions; then those without each fold, for its rows.
    """

    column: int
    tables: Vector

    @property
    def width(self) -> int:
        """The number of numbers."""
        return int(self.tables.shape[2])

    def at(self, codes: Vector, tables: Index | None = None) -> Vector:
        """Return the numbers of rows, ``(n, r)``.

        Parameters
        ----------
        codes : array of shape (n,)
            The codes of the categories; NaN where missing.
        tables : array of shape (n,), optional
            Which table is that of each row; by default the first.
        """
        missing = self.tables.shape[1] - 2
        place = np.where(np.isnan(codes), missing, codes).astype(np.intp)
        found: Vector = self.tables[0 if tables is None else tables, place]
        return found


def outcome_features(y: Vector, encoding: Encoding, weights: Vector | None) -> Vector:
    """Return leading features of Y, whose means embed categories, ``(n, r)``.

    Principal components of standardised numbers, which are cut off far out, and of
    indicators of categories.

    Parameters
    ----------
    y : array of shape (n, d)
        The rows of Y, encoded.
    encoding : Encoding
        The columns of Y.
    weights : array of shape (n,), optional
        The weights of the rows.
    """
    w = np.ones(len(y)) if weights is None else weights
    parts = []
    for column, known in zip(y.T, encoding.categories, strict=True):
        if known is None:
            low, high = np.quantile(column[w > 0], _WINSORISED)
            z = np.clip(column, low, high)[:, None]
        else:
            z = (column[:, None] == np.arange(len(known))).astype(np.float64)
        z = z - np.average(z, axis=0, weights=w)
        spread = np.sqrt(np.average(z**2, axis=0, weights=w).sum())
        parts.append(z / (spread if spread > 0 else 1.0))
    U = np.hstack(parts)
    if U.shape[1] == 1:
        return U
    values, vectors = np.linalg.eigh((U * w[:, None]).T @ U / w.sum())
    kept = values > _ROUNDING * max(float(values[-1]), 1.0)
    found: Vector = U @ vectors[:, kept][:, ::-1][:, :_LEADING]
    return found


def learn_embedding(
    column: int,
    codes: Vector,
    count: int,
    U: Vector,
    weights: Vector | None,
    *,
    folds: OutOfFold,
) -> Embedding | None:
    """Return the embedding of a categorical column; None if it says nothing about Y.

    Parameters
    ----------
    column : int
        The column.
    codes : array of shape (n,)
        The codes of its categories; NaN where missing.
    count : int
        The number of categories.
    U : array of shape (n, r)
        Features of Y.
    weights : array of shape (n,), optional
        The weights of the rows.
    folds : OutOfFold
        Which rows the means for each row are taken of.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.target_embedding import OutOfFold, learn_embedding
    >>> codes, folds = np.tile([0.0, 1.0], 50), OutOfFold.of(np.arange(100) // 2 % 5)
    >>> U = np.where(codes > 0, 1.0, -1.0)[:, None]
    >>> learn_embedding(0, codes, 2, U, None, folds=folds).at(np.array([0.0, 1.0, 3.0]))[:, 0]
    array([-1.,  1.,  0.])
    """
    w = np.ones(len(codes)) if weights is None else _counts(weights)
    place = np.where(np.isnan(codes), count, codes).astype(np.intp)
    rows = [np.ones(len(codes), dtype=bool), *folds.fits]
    means = np.stack([shrunken_means(place[r], U[r], w[r], count + 2) for r in rows])
    spread = np.stack([_shrunken_spread(place[r], U[r, :1], w[r], count + 2) for r in rows])
    tables = np.concatenate([means, spread], axis=2)
    alive = np.abs(tables).max(axis=1) > 0
    telling = alive[0] & (alive[1:].mean(axis=0) > _MOST_FOLDS)
    return Embedding(column, tables[:, :, telling].copy()) if telling.any() else None


def _counts(weights: Vector) -> Vector:
    """Return weights as counts of rows; those that cannot be, as they are small, of mean one."""
    some = np.count_nonzero(weights)
    total = float(weights.sum())
    return weights if total >= some else weights * (some / total)


def shrunken_means(place: Index, U: Vector, w: Vector, count: int) -> Vector:
    """Return the shrunken means of features in each category, about the mean of all.

    Zero for categories without rows; all zero if means differ by no more than their noise.

    Parameters
    ----------
    place : array of shape (n,)
        The category of each row.
    U : array of shape (n, r)
        The features.
    w : array of shape (n,)
        The weights of the rows.
    count : int
        The number of categories.
    """
    size: Vector = np.bincount(place, w, count).astype(np.float64)
    total, some = float(size.sum()), int(np.count_nonzero(size))
    shape = count, U.shape[1]
    if total <= 0 or some < 2 or total <= some:
        return np.zeros(shape)
    centred = U - (w @ U) / total
    sums = np.stack([np.bincount(place, w * u, count) for u in centred.T], axis=1)
    mean = sums / np.where(size > 0, size, 1.0)[:, None]
    freedom = some - 1, total - some
    within = (w @ (centred - mean[place]) ** 2) / freedom[1]
    squares = size @ mean**2
    ratio = squares / np.where(within > 0, freedom[0] * within, 1.0)
    chance = fdtrc(freedom[0], freedom[1], ratio)
    between = (squares - freedom[0] * within) / (total - float(size @ size) / total)
    between = np.where((chance < _CHANCE) | (within <= 0), np.maximum(between, 0.0), 0.0)
    all_of_it = size[:, None] * between + within
    share = np.divide(
        size[:, None] * between, all_of_it, where=all_of_it > 0, out=np.zeros(shape)
    )
    return share * mean


def _shrunken_spread(place: Index, U: Vector, w: Vector, count: int) -> Vector:
    """Return the shrunken mean distance of a feature from its mean in each category.

    As in Levene's test of equal variances. Categories of few rows tell nothing: their
    distances are nearly the same.
    """
    size: Vector = np.bincount(place, w, count).astype(np.float64)
    mean = np.bincount(place, w * U[:, 0], count) / np.where(size > 0, size, 1.0)
    several = size[place] >= _LEAST_ROWS
    place, n = place[several], size[place[several]]
    apart = np.abs(U[several, 0] - mean[place]) * np.sqrt(n / (n - 1))
    return shrunken_means(place, apart[:, None], w[several], count)
