r"""Donors: rows of the sample whose entries take the place of missing ones in a question.

The distribution of Y given the known entries of a row alone is the mixture of those given the
whole row, over the distribution of the missing entries given the known ones. Donors estimate
the latter: rows of the sample, weighted by how near they are in the known columns.

The kernel of the model is not the right weight, as its length scales say how smoothly Y depends
on X: if that is smooth, they are so long that all rows would be donors. The weights are
Gaussian with the bandwidth of a density estimate (Silverman), made wider until enough donors
take part, as in many columns hardly a row is near. What bias is left is to first order taken
out: missing numbers are regressed on the known ones among the donors, and each donor is moved
along that line to the question. With very wide bandwidths that is linear regression with
residuals drawn from the sample.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index, Vector
from jointdist.data.design import Design
from jointdist.data.table import Rows
from jointdist.distributions.groups import Groups
from jointdist.distributions.support_points import standard_deviations
from jointdist.models.event_rows import WeightedRows

__all__ = ["Donors", "find_donors"]

# Donors of a question, at equidistant levels of the missing entry, with the mean and the
# variance of all: a time budget.
_DONORS = 32
_STRETCHED = 1.5  # the largest factor by which donors are spread out to that end
# Bandwidths in those of a density estimate: with a linear correction, wider is better.
_BROADER = 2.0
# The effective number of rows that a regression on k known columns rests on, at least: this
# and so many for each column.
_LEAST, _EACH = 64, 8
_WIDER, _STEPS = 1.5, 16  # bandwidths grow by this factor, so often at most
_WORKED = 1 << 20  # distances worked on at a time: 8 MB


class Donors(NamedTuple):
    """Complete rows in place of rows with missing entries.

    Attributes
    ----------
    rows : Rows
        The complete rows, group by group.
    groups : Groups
        The rows that stand for each distinct question, with their shares.
    which : array of int, of shape (q,)
        Which distinct question each one is.
    """

    rows: Rows
    groups: Groups
    which: Index


class _Known(NamedTuple):
    """The donors' side of questions with the same missing columns.

    Attributes
    ----------
    table : array of shape (n, d)
        The rows of the sample.
    weights : array of shape (n,)
        Their weights.
    unit : array of shape (d,)
        The standard deviations of the columns.
    numbers, factors : array of int
        The known columns that are numeric, and those that are categorical.
    missing : array of int
        The missing columns.
    shifted : array of int
        Those of the missing columns that are numbers of their own.
    """

    table: Vector
    weights: Vector
    unit: Vector
    numbers: Index
    factors: Index
    missing: Index
    shifted: Index

    @property
    def ends(self) -> tuple[Vector, Vector]:
        """The range of the numbers that are moved."""
        own = self.table[:, self.shifted]
        return own.min(axis=0), own.max(axis=0)

    @property
    def width(self) -> float:
        """The bandwidth, in standard deviations, by Silverman's rule."""
        size = self.weights.sum() ** 2 / (self.weights @ self.weights)
        d = len(self.numbers) + len(self.factors)
        return _BROADER * float((4 / (d + 2) / size) ** (1 / (d + 4)))


def find_donors(
    rows: Rows, absent: NDArray[np.bool_], sample: WeightedRows, design: Design
) -> Donors:
    """Return complete rows that stand for rows with missing entries.

    Equal questions share their donors. A row without a known entry gets the whole sample.

    Parameters
    ----------
    rows : Rows
        The questions, coded.
    absent : array of bool, of shape (q, d)
        Which entries of the table are missing.
    sample : WeightedRows
        The rows of the sample.
    design : Design
        What became of the columns of X.
    """
    missing = _encoded(absent, design)
    table = np.where(missing, 0.0, rows.table())
    both = np.concatenate([table, missing], axis=1)
    _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
    table, missing = table[first], missing[first]
    found: list[tuple[Vector, Vector]] = [(row[None], np.ones(1)) for row in table]
    for pattern in np.unique(missing[missing.any(axis=1)], axis=0):
        same = np.flatnonzero((missing == pattern).all(axis=1))
        known = _known(sample, pattern, design)
        step = max(_WORKED // known.table.size, 1)
        for start in range(0, len(same), step):
            part = same[start : start + step]
            for i, each in zip(part, _completed(table[part], known), strict=True):
                found[i] = each
    sizes = np.array([len(each) for each, _ in found])
    groups = Groups.of(sizes, np.concatenate([w for _, w in found]))
    complete = Rows(np.concatenate([each for each, _ in found]), rows.where, rows.name)
    return Donors(complete, groups, which.ravel())


def _encoded(absent: NDArray[np.bool_], design: Design) -> NDArray[np.bool_]:
    """Return which encoded entries are missing: all that belong to one of the table."""
    found = np.zeros((len(absent), design.encoding.width), dtype=bool)
    for i, column in enumerate(absent.T):
        found[:, list(design.encoded_columns(i))] = column[:, None]
    return found


def _known(sample: WeightedRows, pattern: NDArray[np.bool_], design: Design) -> _Known:
    """Return the donors' side of questions in which some columns are missing.

    Numbers that others are made of, such as times with their calendar, are not moved: the
    columns of a donor belong together.
    """
    table, weights, encoding = sample.rows.table(), sample.weights, design.encoding
    unit = standard_deviations(table, weights)
    numbers, factors, moved = np.zeros((3, encoding.width), dtype=bool)
    numbers[list(encoding.numbers)] = factors[list(encoding.factors)] = True
    alone = [i for i in range(design.shown.width) if len(design.encoded_columns(i)) == 1]
    moved[[i for i in alone if encoding.categories[i] is None]] = True
    kinds = (~pattern & numbers, ~pattern & factors, pattern, pattern & moved & numbers)
    return _Known(table, weights, unit, *(np.flatnonzero(kind) for kind in kinds))


def _completed(table: Vector, known: _Known) -> list[tuple[Vector, Vector]]:
    """Return the complete rows of each question, and their weights."""
    if not len(known.numbers) + len(known.factors):
        return [(known.table, known.weights) for _ in table]
    w, own = _weights(table, known), known.table[:, known.missing]
    values = np.broadcast_to(own, (len(table), *own.shape)).copy()
    moved = np.isin(known.missing, known.shifted)
    if moved.any() and len(known.numbers):
        values[:, :, moved] -= _shifts(table, known, w)
        np.clip(values, own.min(axis=0), own.max(axis=0), out=values)
    chosen = _even(values[:, :, np.argmax(moved)], w)
    found = []
    for i, (row, which) in enumerate(zip(table, chosen, strict=True)):
        complete = np.repeat(row[None], len(which), axis=0)
        complete[:, known.missing] = values[i][which]
        numbers = complete[:, known.shifted]
        spread = _spread(numbers, values[i][:, moved], w[i])
        complete[:, known.shifted] = np.clip(spread, *known.ends)
        found.append((complete, np.ones(len(which))))
    return found


def _spread(chosen: Vector, values: Vector, w: Vector) -> Vector:
    """Return chosen numbers, moved and stretched to the mean and variance of all."""
    mean = w @ values
    spread = np.sqrt(w @ (values - mean) ** 2)
    own = chosen.std(axis=0)
    factor = np.divide(spread, own, out=np.ones_like(own), where=own > 0)
    factor = np.clip(factor, 1 / _STRETCHED, _STRETCHED)
    found: Vector = mean + factor * (chosen - chosen.mean(axis=0))
    return found


def _weights(table: Vector, known: _Known) -> Vector:
    """Return the weights of all rows of the sample for each question, ``(q, n)``.

    A category that differs is as far as one standard deviation of a number in a density
    estimate: no line corrects for it.
    """
    far = np.zeros((len(table), len(known.table)))
    for i in known.numbers:
        far += ((table[:, i, None] - known.table[:, i]) / known.unit[i]) ** 2
    for i in known.factors:
        far += _BROADER**2 * (table[:, i, None] != known.table[:, i])
    far -= far.min(axis=1, keepdims=True)
    width = np.full(len(table), known.width)
    least = _LEAST + _EACH * (len(known.numbers) + len(known.factors))
    total = known.weights.sum() ** 2 / (known.weights @ known.weights)
    for _ in range(_STEPS):
        w = known.weights * np.exp(-far / (2 * width[:, None] ** 2))
        size = w.sum(axis=1) ** 2 / (w**2).sum(axis=1)
        few = size < min(least, total / 2)
        if not few.any():
            break
        width[few] *= _WIDER
    found: Vector = w / w.sum(axis=1, keepdims=True)
    return found


def _shifts(table: Vector, known: _Known, w: Vector) -> Vector:
    """Return by how much donors' numbers change along the known columns, ``(q, n, s)``.

    The slopes are those of a weighted linear regression with a ridge of one row.
    """
    away = (known.table[:, known.numbers] - table[:, None, known.numbers]) / known.unit[
        known.numbers
    ]
    values = known.table[:, known.shifted]
    centred = away - np.einsum("qn,qnk->qk", w, away)[:, None]
    size = 1 / (w**2).sum(axis=1)
    both = centred * w[:, :, None]
    G = np.einsum("qnk,qnl->qkl", both, centred)
    trace = np.trace(G, axis1=1, axis2=2) / G.shape[1]
    ridge = np.maximum(trace / size, np.finfo(float).tiny)
    G += ridge[:, None, None] * np.eye(G.shape[1])
    slopes = np.linalg.solve(G, np.einsum("qnk,ns->qks", both, values))
    found: Vector = np.einsum("qnk,qks->qns", away, slopes)
    return found


def _even(values: Vector, w: Vector) -> Index:
    """Return the numbers of donors at equidistant levels of their values, ``(q, k)``."""
    order = np.argsort(values, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(w, order, axis=1), axis=1)
    levels = (np.arange(_DONORS) + 0.5) / _DONORS
    places = np.stack([np.searchsorted(F[:-1], levels) for F in sums])
    return np.take_along_axis(order, places, axis=1)
