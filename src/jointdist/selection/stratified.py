"""A stratified subsample of labelled rows, on which classifiers are compared."""

from dataclasses import replace

import numpy as np

from jointdist._array import Index, to_numpy
from jointdist._rules import Text, require
from jointdist.data.sample import Sample

__all__ = ["class_codes", "stratified"]


def stratified(where: str, sample: Sample, most: int, seed: int) -> Sample:
    """Return a stratified subsample: half by the shares of the classes, half balanced.

    Weights make up for the shares. Their common factor is such that the variance of the
    gradients of the losses equals their curvature, as it does without weights: so the same
    ridges are good.

    Parameters
    ----------
    where : str
        The estimator, for messages.
    sample : Sample
        All rows, with the codes of their classes as Y.
    most : int
        The largest number of rows.
    seed : int
        The seed of the subsample.
    """
    rows = sample.choose(sample.n, seed)
    if len(rows) <= most:
        return sample
    codes = class_codes(sample)[rows]
    counts = np.bincount(codes)
    n, K = len(rows), len(counts)
    rule = f"None, or of `rows` of at least {2 * K}, twice the number of classes"
    require(most >= 2 * K, where, "selection", rule, Text(f"`rows` of {most}"))
    taken = np.minimum(counts, most // (2 * K) + most * counts // (2 * n))
    order = np.random.default_rng(seed).permutation(n)
    few = [order[codes[order] == k][:m] for k, m in enumerate(taken.tolist())]
    chosen = np.sort(np.concatenate(few))
    share, stands = counts / n, counts / taken
    slopes = 1 - 2 * share + share @ share  # squared, at probabilities that are the shares
    stands *= (counts @ slopes) / (counts * stands @ slopes)
    small = sample.take(rows[chosen])
    weights = np.ones(small.n) if small.weights is None else small.weights
    return replace(small, weights=weights * stands[codes[chosen]])


def class_codes(sample: Sample) -> Index:
    """Return the codes of the classes of the rows.

    Parameters
    ----------
    sample : Sample
        The rows, with the codes of their classes as Y.
    """
    codes: Index = to_numpy(sample.y.read(0, sample.n))[:, 0].astype(np.intp)
    return codes
