"""What a model has seen of its conditions: their range, and how novel left-out rows are.

Questions are out of distribution if more of them than chance allows are beyond the range of a
column, or more novel than nearly all rows of the sample were when left out. Of exchangeable
rows, the number beyond the r-th largest of n others is beta-binomial whatever their
distribution, so that a share of false alarms can be promised.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

from jointdist._array import Vector, array_namespace, like, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.table import Rows
from jointdist.lowrank.features import FeatureMap, kernel_diagonal
from jointdist.lowrank.protocols import Features

__all__ = ["About", "Seen", "columns_outside", "joined_range", "learn_seen", "range_of"]

_TRIED = (
    1024  # rows whose novelty is computed, at most: a time budget of a tenth of a second
)
_RARE = 0.01  # the share of rows that are more novel than the limit
_ROUNDING = 1e-6  # of a novelty
_BLOCK = 1 << 16  # rows whose range is taken at a time


@dataclass(frozen=True, eq=False)
class Seen:
    """The range and the novelty of the rows of a sample.

    Attributes
    ----------
    low, high : array of shape (d,)
        The least and the largest value of each column.
    count : int
        The number of rows.
    limit : float
        The novelty that one in a hundred rows exceeds when it is left out.
    trials : int
        The number of rows by which the limit was found.
    """

    low: Vector
    high: Vector
    count: int
    limit: float
    trials: int

    def beyond(self, z: Vector) -> NDArray[np.bool_]:
        """Tell which entries are below or above the range seen, ``(q, 2, d)``."""
        return np.stack([z < self.low, z > self.high], axis=1)

    def novel(self, novelty: Vector) -> NDArray[np.bool_]:
        """Tell which novelties exceed the limit, ``(q,)``."""
        found: NDArray[np.bool_] = novelty > self.limit + _ROUNDING
        return found

    def chance_beyond(self, counts: Vector, q: int) -> Vector:
        """Return the probability that so many of q rows like those seen are beyond an end.

        Parameters
        ----------
        counts : array
            How many rows are beyond.
        q : int
            The number of rows.
        """
        each = [_tail(int(k), q, 1, self.count) for k in counts.ravel()]
        return np.array(each).reshape(counts.shape)

    def chance_novel(self, count: int, q: int) -> float:
        """Return the probability that so many of q rows like those seen exceed the limit.

        Parameters
        ----------
        count : int
            How many rows exceed it.
        q : int
            The number of rows.
        """
        rank = _rank(self.trials)
        return _tail(count, q, rank, self.trials + 1 - rank)


@dataclass(frozen=True, slots=True, eq=False)
class About:
    r"""What a model knows about its conditions beyond their coefficients.

    Attributes
    ----------
    seen : Seen, optional
        The range and the novelty of the rows of the sample.
    inverse : array of shape (m,)
        The leverage of a condition is ``own`` plus the sum of these times the squares of its
        functions: :math:`1 / n (c_j + \lambda / c)` for the largest variance :math:`c` of a
        function of Y, of which it is the largest leverage.
    own : float
        What the mean adds, one over the number of rows, if the functions are centred.
    """

    seen: Seen | None
    inverse: Vector
    own: float


def columns_outside(
    rows: Rows, encoding: Encoding, about: About | None
) -> list[tuple[str, ...]]:
    """Return the names of the columns of each row that are outside the range seen.

    Parameters
    ----------
    rows : Rows
        The rows, coded.
    encoding : Encoding
        The names of the columns.
    about : About, optional
        What is known about them.
    """
    if about is None or about.seen is None:
        return [()] * rows.n
    titles = np.array(encoding.titles("x"), dtype=object)
    beyond = np.asarray(about.seen.beyond(to_numpy(rows.read(0, rows.n))).any(axis=1))
    return [tuple(titles[each]) for each in list(beyond)]


def range_of(x: Rows, weights: Vector | None = None) -> Vector:
    """Return the least and the largest value of each column, ``(2, d)``.

    Parameters
    ----------
    x : Rows
        The rows.
    weights : array of shape (n,), optional
        Their weights; rows of no weight do not count.
    """
    low, high = np.full(x.d, np.inf), np.full(x.d, -np.inf)
    for start in range(0, x.n, _BLOCK):
        z = x.read(start, min(start + _BLOCK, x.n))
        xp, least, largest = array_namespace(z), z, z
        if weights is not None:
            counts = like(weights[start : start + z.shape[0]] > 0, z)[:, None]
            least, largest = xp.where(counts, z, np.inf), xp.where(counts, z, -np.inf)
        low = np.minimum(low, to_numpy(xp.min(least, axis=0)))
        high = np.maximum(high, to_numpy(xp.max(largest, axis=0)))
    return np.stack([low, high])


def joined_range(a: Vector | None, b: Vector | None) -> Vector | None:
    """Return the range of the rows of two tables; None if one is not known.

    Parameters
    ----------
    a, b : array of shape (2, d), optional
        Their ranges.
    """
    if a is None or b is None:
        return None
    return np.stack([np.minimum(a[0], b[0]), np.maximum(a[1], b[1])])


def learn_seen(
    ends: Vector | None,
    count: int,
    x: Rows,
    features: Features,
    novelty: Callable[[Rows], Vector],
) -> Seen | None:
    """Return what was seen of a sample; None if its range is not known.

    Landmarks reproduce themselves: for rows that are landmarks, the novelty is that without
    them, in closed form.

    Parameters
    ----------
    ends : array of shape (2, d), optional
        The range of the columns.
    count : int
        The number of rows.
    x : Rows
        Rows of the sample, or some of them.
    features : Features
        The features at the landmarks.
    novelty : callable
        From rows to their novelty.
    """
    if ends is None or not x.n:
        return None
    step = -(-x.n // _TRIED)
    rows = x.subset(np.random.default_rng(0).permutation(x.n)[: -(-x.n // step)])
    found = novelty(rows)
    if isinstance(features, FeatureMap):
        own = _left_out(features)
        keys = [z.tobytes() for z in np.ascontiguousarray(rows.table()) + 0.0]
        found = np.array([own.get(k, v) for k, v in zip(keys, found, strict=True)])
    limit = np.sort(found)[-_rank(rows.n)]
    return Seen(ends[0], ends[1], count, float(np.clip(limit, 0.0, 1.0)), rows.n)


def _left_out(features: FeatureMap) -> dict[bytes, float]:
    r"""Return the novelty of landmarks, each without itself: :math:`1 / (K^{-1})_{ii} k_{ii}`."""
    inverse = to_numpy(features.inverse_core)
    whole = to_numpy(kernel_diagonal(features.kernel, features.landmarks))
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = 1 / ((inverse**2).sum(axis=0) * whole)
    missed = np.clip(np.nan_to_num(missed, nan=0.0, posinf=1.0), 0.0, 1.0)
    table = np.ascontiguousarray(to_numpy(features.landmarks)) + 0.0
    return {z.tobytes(): float(v) for z, v in zip(table, missed, strict=True)}


def _tail(k: int, q: int, a: int, b: int) -> float:
    """Return the probability of at least k of q under a beta-binomial distribution."""
    if k <= 0:
        return 1.0
    j = np.arange(k, q + 1)
    ways = gammaln(q + 1) - gammaln(j + 1) - gammaln(q - j + 1)
    return float(np.exp(ways + betaln(j + a, q - j + b) - betaln(a, b)).sum())


def _rank(n: int) -> int:
    """Return which of n novelties, from the largest, is the limit."""
    return max(int(_RARE * (n + 1)), 1)
