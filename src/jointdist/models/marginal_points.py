"""The observed outcomes of a sample, kept as support points of bounded number."""

import numpy as np

from jointdist._array import Vector, to_numpy
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.support_points import (
    Merged,
    SupportPoints,
    standard_deviations,
)
from jointdist.lowrank.bins import propose_bins
from jointdist.models.compressed_points import compressed_points

__all__ = ["SUPPORT_SIZE", "marginal_points"]

# Rows up to which all are kept: the default of the argument `support_size` of models.
SUPPORT_SIZE = 65_536


def marginal_points(
    sample: Sample, encoding: Encoding, executor: Executor, seed: int
) -> SupportPoints:
    """Return the rows of Y as support points; of very many, fewer points in their place.

    Of one numeric column these are the means of bins, of several a random choice of rows.

    Parameters
    ----------
    sample : Sample
        The rows, with their weights.
    encoding : Encoding
        The columns of Y.
    executor : Executor
        Runs the row blocks.
    seed : int
        The seed of the choice.
    """
    if sample.n <= SUPPORT_SIZE:
        own = sample.owned()
        return SupportPoints(own.y, encoding, own.weights, executor)
    table, named = sample.y.table(), (sample.y.where, sample.y.name)
    if encoding.width == 1 and encoding.numeric:
        sums = propose_bins(table, sample.weights).add(table, sample.weights)
        return compressed_points(sums, encoding, named, executor)
    return _chosen(table, sample, encoding, executor, seed)


def _chosen(
    table: Vector, sample: Sample, encoding: Encoding, executor: Executor, seed: int
) -> SupportPoints:
    """Return a random choice of rows, with the standard deviations of all."""
    w, size = sample.row_weights, SUPPORT_SIZE
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(sample.n, size, replace=False, p=w / w.sum()))
    each = np.full(size, w.sum() / size)
    merged = Merged(
        count=sample.n,
        equal=sample.weights is None,
        squared=np.full(size, float(w @ w) / size),
        variances=None,
        units=standard_deviations(table, w),
        exact=np.zeros(size, dtype=bool),
    )
    taken = Rows(np.ascontiguousarray(to_numpy(sample.y.take(rows))), *_named(sample))
    return SupportPoints(taken, encoding, each, executor, merged)


def _named(sample: Sample) -> tuple[str, str]:
    return sample.y.where, sample.y.name
