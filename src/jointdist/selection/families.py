"""Candidate kernels of X: one common length scale, or one for each column."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.sample import Sample
from jointdist.kernels.ard import fit_length_scales, with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.selection.search import CrossValidation

__all__ = ["families", "leading_components"]

_EXPLAINED = 4  # components of the features of Y by which columns of X are judged
_ROUGH = 1.5, 0.5  # the smoothness of Matérn kernels
_ROWS = 500  # by which length scales are learned: evidence costs n cubed
_FEWEST = 8  # rows below which columns cannot be told apart
_ROUNDING = 1e-6  # a component beside the first one
_MANY = 2048  # rows from which on folds share length scales: 500 rows hardly overfit them


def families(
    x: Family,
    validation: CrossValidation,
    held: list[Index],
    features: Callable[[], Vector],
    missed: Callable[[Family, Vector], float] | None = None,
) -> Iterator[tuple[Family, list[Family]]]:
    """Yield the kernels of X to try, each time with those of each fit.

    First a family as it is. Then, if it is asked for and can be told, the best one with a
    scale for each column. Scales that were learned from rows can't be judged by them, so
    that those of a fit are learned from its own; where rows are many, those that scales
    are learned from don't matter.

    Parameters
    ----------
    x : Family
        The kernels of X.
    validation : CrossValidation
        The rows, and whether there may be a length scale for each column.
    held : list of arrays of int
        The rows that are held out of each fit.
    features : callable
        Gives features of Y at all rows, which columns of X should say something about.
    missed : callable, optional
        What kernels miss of these features, by which the smoothness of those with a scale
        for each column is chosen; by default they are Gaussians.
    """
    sample = validation.sample
    yield x, [x] * len(held)
    several = len(x.scales) > 1 and validation.how.scales == "each"
    if not several or sample.n < _FEWEST:
        return
    U = features()
    kinds = [x] if missed is None else [replace(x, nu=nu) for nu in (x.nu, *_ROUGH)]
    learned = validation.executor.each(lambda kind: _relevant(kind, sample, U), kinds)
    found = [family for family in learned if family is not None]
    if not found:
        return
    every = found[0] if missed is None else min(found, key=lambda own: missed(own, U))

    def without(part: Index) -> Family:
        rows = np.setdiff1d(np.arange(sample.n), part)
        kind = replace(x, nu=every.nu)
        return _relevant(kind, sample.take(rows), U[rows]) or kind

    many = sample.n >= _MANY
    yield (
        every,
        [every] * len(held) if many else list(validation.executor.each(without, held)),
    )


def _relevant(x: Family, sample: Sample, U: Vector) -> Family | None:
    """Return the family with scales by what each column of X says about features of Y.

    None if that cannot be told. Equal rows count once: they would pretend that there is no
    noise.
    """
    X = to_numpy(sample.x.read(0, sample.n))
    _, rows = np.unique(np.hstack([X, U.round(12)]), axis=0, return_index=True)
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    T = leading_components(U[rows])
    if not T.any():
        return None
    return with_length_scales(x, fit_length_scales(x, X[rows], T))


def leading_components(U: Vector) -> Vector:
    """Return the leading principal components of features, in units of the first.

    The first components tell where distributions are and have the largest variances; the
    others tell their shapes, and count for less.

    Parameters
    ----------
    U : array of shape (n, m)
        The features.
    """
    left, s, _ = np.linalg.svd(U - U.mean(axis=0), full_matrices=False)
    few = min(_EXPLAINED, int(np.sum(s > _ROUNDING * s.max(initial=0.0))))
    found: Vector = left[:, :few] * (s[:few] / s[:1] * np.sqrt(len(U)))
    return found
