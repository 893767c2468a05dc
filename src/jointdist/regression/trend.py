"""The fit of a trend, and whether the evidence supports it.

A forecast far from all rows is an extrapolation, so a trend is judged by extrapolations: for each
column the rows at its ends are held out, and the trend of the others must forecast them.
"""

from dataclasses import replace

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.regression.fitted_trend import LinearTrend, Sparsity
from jointdist.regression.regression_data import RegressionData, draw_rows
from jointdist.regression.settings import SETTINGS

__all__ = ["fit_trend"]


def fit_trend(
    family: Family,
    data: RegressionData,
    detector: NoveltyDetector,
    forecasts: Vector,
    *,
    random_state: int = 0,
    executor: Executor | None = None,
) -> LinearTrend | None:
    """Return a linear trend; None unless it forecasts the ends of columns.

    Parameters
    ----------
    family : Family
        The kernels of X, which know the columns of numbers.
    data : RegressionData
        The rows with their outcomes, of which none is a gross outlier.
    detector : NoveltyDetector
        Tells rows that are out of distribution.
    forecasts : array of shape (n, r)
        The out-of-fold forecasts without a trend; NaN where there are none.
    random_state : int, default=0
        The seed of the rows that are looked at, if not all are.
    executor : Executor, optional
        Runs the row blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.encoding import learn_encoding
    >>> from jointdist.kernels.median_heuristic import Family
    >>> from jointdist.lowrank.novelty import novelty_detector
    >>> from jointdist.regression.regression_data import RegressionData
    >>> from jointdist.regression.trend import fit_trend
    >>> coded = learn_encoding(np.linspace(0, 1, 200)[:, None], where="", name="")
    >>> family = Family(coded.encoding, (0.3,))
    >>> detector = novelty_detector(family.at(1.0), coded.rows)
    >>> y = 2 * coded.rows.source
    >>> trend = fit_trend(family, RegressionData(coded.rows, y), detector, y)
    >>> trend.slopes.round(1)
    array([[2.]])
    """
    rng = np.random.default_rng(random_state)
    rows = draw_rows(data, SETTINGS.trend_rows, rng)
    few = data.take(rows)
    z = to_numpy(few.x.read(0, few.n))
    columns = _continuous(family, z)
    if not len(columns) or few.n < SETTINGS.trend_rows_a_column * len(columns):
        return None
    Z, Y, w = z[:, columns], few.targets, few.weights
    goes_on, error, plain = _judged(Z, Y, w)
    if not goes_on.any() or (error > SETTINGS.trend_share * plain).any():
        return None
    seen = np.stack([Z.min(axis=0), Z.max(axis=0)])
    ends = np.where(goes_on, [[-np.inf], [np.inf]], seen)
    centre, slopes, mean = _linear(Z, Y, w)
    found = LinearTrend(columns, centre, slopes, mean, ends, seen, error, None)
    held = forecasts[rows]
    if not _explains(found, few, held):
        return None
    among = replace(found, sparsity=_sparsity(detector.map, data, few, executor))
    return among if _serves(among, few, held, detector, executor) else found


def _continuous(family: Family, z: Vector) -> Index:
    """Return the columns of numbers that take enough values to have a slope."""
    counts = [(i, len(np.unique(z[:, i]))) for i in family.numbers]
    unused = set(family.encoding.unused)
    fine = [i for i, count in counts if count >= SETTINGS.trend_values and i not in unused]
    return np.array(fine, dtype=np.intp)


def _linear(Z: Vector, Y: Vector, w: Vector | None) -> tuple[Vector, Vector, Vector]:
    """Return means of columns, slopes, and means of outcomes, by ridge regression."""
    w = np.ones(len(Z)) if w is None else w
    centre, mean = np.average(Z, axis=0, weights=w), np.average(Y, axis=0, weights=w)
    A = Z - centre
    unit = np.sqrt(np.average(A**2, axis=0, weights=w))
    unit = np.where(unit > 0, unit, 1.0)
    A = A / unit
    G = (A * w[:, None]).T @ A / w.sum()
    b = (A * w[:, None]).T @ (Y - mean) / w.sum()
    slopes = np.linalg.solve(G + SETTINGS.trend_ridge * np.eye(len(G)), b)
    return centre, slopes / unit[:, None], mean


def _judged(Z: Vector, Y: Vector, w: Vector | None) -> tuple[Vector, Vector, Vector]:
    """Return along which columns the trend goes on, and mean squared errors at all ends.

    Those of the trend, and of the mean of the rows that are not held out.
    """
    p, w = Z.shape[1], np.ones(len(Z)) if w is None else w
    goes_on = np.zeros(p, dtype=bool)
    of_trend, of_mean, total = np.zeros(Y.shape[1]), np.zeros(Y.shape[1]), 0.0
    variance = _variance(Y, w)
    levels = [SETTINGS.trend_ends, 1 - SETTINGS.trend_ends]
    for i in range(p):
        low, high = np.quantile(Z[:, i], levels, weights=w, method="inverted_cdf")
        out = (Z[:, i] < low) | (Z[:, i] > high)
        if not out.any() or out.all():
            continue
        centre, slopes, mean = _linear(Z[~out], Y[~out], w[~out])
        missed = Y[out] - mean - (Z[out] - centre) @ slopes
        stays = Z[out].copy()
        stays[:, i] = np.clip(stays[:, i], low, high)
        others = Y[out] - mean - (stays - centre) @ slopes
        own, stopped = w[out] @ missed**2, w[out] @ others**2
        goes_on[i] = (own / variance).sum() < (stopped / variance).sum()
        of_trend += own if goes_on[i] else stopped
        of_mean += w[out] @ (Y[out] - mean) ** 2
        total += float(w[out].sum())
    total = total if total > 0 else 1.0
    return goes_on, of_trend / total, of_mean / total


def _variance(Y: Vector, w: Vector | None) -> Vector:
    """Return the variances of outcomes, at least the smallest number."""
    mean = np.average(Y, axis=0, weights=w)
    found: Vector = np.average((Y - mean) ** 2, axis=0, weights=w)
    return np.maximum(found, np.finfo(float).tiny)


def _sparsity(
    map_: FeatureMap, data: RegressionData, few: RegressionData, executor: Executor | None
) -> Sparsity | None:
    """Return the sparsity of all rows, for which few stand if none has a weight.

    None if even usual rows are far from the landmarks.
    """

    def products(_start: int, z: Array) -> Vector:
        F = to_numpy(map_.features(z))
        found: Vector = F.T @ F
        return found

    workers, rho = executor_for(few.x, executor), SETTINGS.sparse_rows
    some = few if data.weights is None else data
    G = sum(workers.map(products, some.x), np.zeros((map_.rank, map_.rank)))
    G *= data.n / some.n
    remaining = rho * np.linalg.inv(G + rho * np.eye(map_.rank))
    low, high = SETTINGS.sparse
    found = Sparsity(map_, np.asarray(remaining, dtype=np.float64), low, high)
    usual = float(np.quantile(found.at(few.x, executor), 1 - SETTINGS.sparse_share))
    low = max(low, usual)
    return None if low >= high else replace(found, low=low)


def _explains(trend: LinearTrend, few: RegressionData, forecasts: Vector) -> bool:
    """Tell whether a trend explains much of what forecasts explain: a wave has none."""
    known = np.isfinite(forecasts).all(axis=1)
    if not known.any():
        return True
    y, w = few.targets[known], None if few.weights is None else few.weights[known]
    line = trend.at(few.x.subset(np.flatnonzero(known)))
    mean = np.average(y, axis=0, weights=w)
    missed = [
        np.average((y - found) ** 2, axis=0, weights=w)
        for found in (mean, forecasts[known], line)
    ]
    least = SETTINGS.trend_explains * (missed[0] - missed[1])
    return bool((missed[0] - missed[2] >= least).all())


def _serves(
    trend: LinearTrend,
    few: RegressionData,
    forecasts: Vector,
    detector: NoveltyDetector,
    executor: Executor | None,
) -> bool:
    """Tell whether rows that have few neighbours are forecast better by the trend."""
    novel = detector.doubt(detector.novelty(few.x, executor))
    doubt = trend.doubt(few.x, novel, executor)
    known = np.isfinite(forecasts).all(axis=1) & (doubt > 0)
    if not known.any():
        return True
    y, old, share = few.targets[known], forecasts[known], doubt[known, None]
    new = (1 - share) * old + share * trend.at(few.x.subset(np.flatnonzero(known)))
    unit = np.sqrt(_variance(few.targets, few.weights))
    w = None if few.weights is None else few.weights[known]
    gain = (np.abs(y - old) - np.abs(y - new)) / unit
    return bool(np.average(gain.sum(axis=1), weights=w) >= 0)
