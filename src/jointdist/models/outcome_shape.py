"""The shape of outcomes: bounds and point masses, found in the rows or given by users.

A point mass is a single value that is repeated far more often than its neighbours: the zero
of rain, the cap of a house price, a round number. The values of a lattice, such as whole
minutes, are all repeated, and none is one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._rules import Text, is_number, require
from jointdist.distributions.outcome_range import OutcomeRange

__all__ = ["OutcomeShape", "Support", "bounds_of", "outcome_shape", "require_support"]

# Rows from which signs tell bounds: of 20 normal outcomes with mean two standard deviations
# above zero, one is negative in 37 of 100 samples. With fewer rows chance would decide.
_LEAST_ROWS = 20
# A point mass has at least this share of the rows: of a smaller one, bandwidths and cells are
# wide enough. And at least so many rows, as fewer tell nothing about probabilities given x.
_LEAST_SHARE, _LEAST_OFTEN = 0.02, 10
# It is taken so many times as often as the median of its nearest neighbours: counts of a
# lattice, such as rounded normal numbers, differ by less over as many values.
_OFTENER, _NEIGHBOURS = 5.0, 10
# The most point masses: more of them are a lattice.
_MOST = 16

Support = Any
"""``"auto"``, None, a pair of bounds, or a sequence of pairs."""


@dataclass(frozen=True, eq=False)
class OutcomeShape:
    """Bounds and point masses of outcomes.

    Attributes
    ----------
    range : OutcomeRange, optional
        The bounds, and whether outcomes are whole numbers; None if there is neither.
    point_masses : array of shape (k,)
        The values that have a probability, ascending.
    """

    range: OutcomeRange | None
    point_masses: Vector

    @property
    def rest(self) -> OutcomeRange | None:
        """The range of outcomes that are no point masses, before they are rounded.

        Whole numbers beside a bound that is a point mass are at least one away from it.
        """
        found, own = self.range, self.point_masses
        if found is None or not found.whole or not len(own):
            return found
        low = np.where(np.isin(found.low, own), found.low + 1, found.low)
        high = np.where(np.isin(found.high, own), found.high - 1, found.high)
        return OutcomeRange(low, high, whole=True)


def require_support(where: str, support: Support) -> None:
    """Raise unless an argument tells bounds.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    support : "auto", None, pair of bounds, or sequence of pairs
        The argument.
    """
    if support is None or (isinstance(support, str) and support == "auto"):
        return
    rule = (
        '"auto", or a pair of a lower and a larger upper bound, None if there is none, or a '
        "pair for each column of Y"
    )
    pairs = bounds_of(support)
    require(
        pairs is not None and all(low < high for low, high in pairs or []),
        where,
        "support",
        rule,
        support,
    )


def bounds_of(support: Support) -> list[tuple[float, float]] | None:
    """Return bounds as pairs of numbers, a pair for each column; None if they are no bounds.

    Parameters
    ----------
    support : pair of bounds, or sequence of pairs
        The bounds; None where there is none.

    Examples
    --------
    >>> from jointdist.models.outcome_shape import bounds_of
    >>> bounds_of((0, None))
    [(0.0, inf)]
    """
    if not isinstance(support, tuple | list):
        return None
    if len(support) == 2 and all(_is_bound(one) for one in support):
        support = [support]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in support):
        return None
    if not all(_is_bound(one) for pair in support for one in pair):
        return None
    return [
        (-np.inf if low is None else float(low), np.inf if high is None else float(high))
        for low, high in support
    ]


def outcome_shape(
    where: str,
    support: Support,
    y: Matrix,
    weights: Vector | None,
    *,
    point_masses: bool,
    integers: bool,
) -> OutcomeShape:
    """Return the bounds and the point masses of outcomes.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    support : "auto", None, pair of bounds, or sequence of pairs
        The bounds, as users give them.
    y : array of shape (n, d)
        The outcomes, each of some weight.
    weights : array of shape (n,), optional
        Their weights.
    point_masses : bool
        Whether point masses are looked for.
    integers : bool
        Whether outcomes are whole numbers.
    """
    n, d = y.shape
    if integers:
        fraction = y[y != np.round(y)]
        rule = "False, unless all outcomes are whole numbers"
        got = Text(f"True, with an outcome of {fraction[0]:g}" if len(fraction) else "")
        require(not len(fraction), where, "integers", rule, got)
    w = np.ones(n) if weights is None else weights
    repeated = (
        [repeated_values(column, w) for column in y.T]
        if point_masses
        else [np.empty(0)] * d
    )
    if isinstance(support, str):
        pairs = np.array([_found(*both) for both in zip(y.T, repeated, strict=True)])
    else:
        pairs = _given(where, support, y)
    own = repeated[0] if d == 1 else np.empty(0)
    some = integers or np.isfinite(pairs).any()
    found = OutcomeRange(pairs[:, 0], pairs[:, 1], integers) if some else None
    return OutcomeShape(found, own)


def repeated_values(column: Vector, weights: Vector) -> Vector:
    """Return the values that are repeated far more often than their neighbours, ascending.

    Parameters
    ----------
    column : array of shape (n,)
        The outcomes.
    weights : array of shape (n,)
        Their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.models.outcome_shape import repeated_values
    >>> rain = np.maximum(np.random.default_rng(0).normal(size=500), 0)
    >>> repeated_values(rain, np.ones(500))
    array([0.])
    >>> repeated_values(np.random.default_rng(0).normal(0, 30, 500).round(), np.ones(500))
    array([], dtype=float64)
    """
    values, which, often = np.unique(column, return_inverse=True, return_counts=True)
    share = np.bincount(which.reshape(-1), weights) / weights.sum()
    likely = np.flatnonzero((share >= _LEAST_SHARE) & (often >= _LEAST_OFTEN))
    if len(values) <= _NEIGHBOURS:
        return np.empty(0)
    starts = np.clip(likely - _NEIGHBOURS // 2, 0, len(values) - 1 - _NEIGHBOURS)
    near = starts[:, None] + np.arange(_NEIGHBOURS)
    near += near >= likely[:, None]  # all but the value itself
    found = likely[share[likely] >= _OFTENER * np.median(share[near], axis=1)]
    return values[found] if len(found) <= _MOST else np.empty(0)


def _found(column: Vector, repeated: Vector) -> tuple[float, float]:
    """Return bounds of a column: a point mass at an end, or zero if it is never crossed."""
    low, high = float(column.min()), float(column.max())
    known = len(column) >= _LEAST_ROWS
    lower = low if low in repeated else 0.0 if known and low >= 0 else -np.inf
    upper = high if high in repeated else 0.0 if known and high <= 0 else np.inf
    return lower, upper


def _given(where: str, support: Support, y: Matrix) -> Matrix:
    """Return the bounds of all columns as users give them; raise if outcomes are beyond."""
    d = y.shape[1]
    pairs = [(-np.inf, np.inf)] * d if support is None else bounds_of(support) or []
    rule = (
        "a pair of bounds"
        if d == 1
        else f"a pair of bounds for each of the {d} columns of Y"
    )
    require(len(pairs) == d, where, "support", rule, support)
    for i, (low, high) in enumerate(pairs):
        column = y[:, i]
        beyond = column[(column < low) | (column > high)]
        rule = f"bounds that no outcome is beyond, unlike {(low, high)}"
        got = Text(f"an outcome of {beyond[0]:g} in column {i}" if len(beyond) else "")
        require(not len(beyond), where, "support", rule, got)
    return np.array(pairs)


def _is_bound(value: object) -> bool:
    return value is None or is_number(value, least=-np.inf, below=np.inf)
