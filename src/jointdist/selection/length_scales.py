"""Candidate length scales: common or one for each column, and coordinate descent."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from jointdist._array import Index, Vector, to_numpy
from jointdist.data.sample import Sample
from jointdist.kernels.ard import fit_length_scales, with_length_scales
from jointdist.kernels.median_heuristic import Family
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.settings import SETTINGS

__all__ = ["descend", "families", "leading_components", "relevant_family"]

Score: TypeAlias = Callable[[int, int], float]

_EXPLAINED = 4  # components of the features of Y by which columns of X are judged
_ROUGH = 1.5, 0.5  # the smoothness of Matérn kernels
_ROWS = 500  # by which length scales are learned: evidence costs n cubed
_FEWEST = 8  # rows below which columns cannot be told apart
_ROUNDING = 1e-6  # a component beside the first one
_MANY = 2048  # rows from which on folds share length scales: 500 rows hardly overfit them


def families(
    x: Family,
    validation: CrossValidation,
    fits: list[Index],
    features: Callable[[], Vector],
    missed: Callable[[Family, Vector], float] | None = None,
) -> Iterator[tuple[Family, list[Family]]]:
    """Yield families of kernels of X to try, each with the families of all folds.

    First the given family. Then, if the selection allows it and there are several columns,
    the best family with a length scale for each column. Length scales are learned
    from the rows of each fold's fit, since rows that they were learned from cannot judge
    them; where there are many rows that are exchangeable, folds share them.

    Parameters
    ----------
    x : Family
        The kernels of X.
    validation : CrossValidation
        The rows, and whether there may be a length scale for each column.
    fits : list of arrays of int
        The rows that each fold is fitted to.
    features : callable
        Returns the features of Y at all rows, which relevant columns of X explain.
    missed : callable, optional
        The leave-one-out error of a family's regression of these features, by which the
        smoothness of the kernel is chosen; by default it is Gaussian.
    """
    sample = validation.sample
    yield x, [x] * len(fits)
    several = x.several and validation.how.scales == "each"
    if not several or sample.n < _FEWEST:
        return
    U = features()
    smooth = missed is None or not x.free
    kinds = [x] if smooth else [replace(x, nu=nu) for nu in (x.nu, *_ROUGH)]
    learned = list(
        validation.executor.each(lambda kind: relevant_family(kind, sample, U), kinds)
    )
    found = [family for family in learned if family is not None]
    if not found:
        return
    every = found[0] if missed is None else min(found, key=lambda own: missed(own, U))

    def of_fit(rows: Index) -> Family:
        kind = replace(x, nu=every.nu)
        return relevant_family(kind, sample.take(rows), U[rows]) or kind

    many = sample.n >= _MANY and sample.folds is None
    yield (
        every,
        [every] * len(fits) if many else list(validation.executor.each(of_fit, fits)),
    )


def relevant_family(x: Family, sample: Sample, U: Vector) -> Family | None:
    """Return the family with length scales by the relevance of each column of X for Y.

    None if the features of Y do not vary. Equal rows count once: they would suggest that
    there is no noise. So do rows of a group: of many groups there is one row each.

    Parameters
    ----------
    x : Family
        The kernels of X.
    sample : Sample
        The rows.
    U : array of shape (n, m)
        The features of Y at the rows.
    """
    X = to_numpy(sample.x.read(0, sample.n))
    _, rows = np.unique(np.hstack([X, U.round(12)]), axis=0, return_index=True)
    if sample.folds is not None:
        rows = sample.folds.one_of_each(rows, np.random.default_rng(0))
    if len(rows) > _ROWS:
        rows = np.random.default_rng(0).choice(rows, _ROWS, replace=False)
    T = leading_components(U[rows])
    if not T.any():
        return None
    return with_length_scales(x, fit_length_scales(x, X[rows], T)[0])


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


def descend(
    score: Score, start: tuple[int, int], free: tuple[bool, bool]
) -> tuple[int, int]:
    """Return the powers of two of the length scales that coordinate descent ends at.

    It goes along Y first, whose features are few; then along X, at each step with the
    neighbours along Y; until no neighbour is better.

    Parameters
    ----------
    score : callable
        From the powers of the length scales of X and Y to a score, the lower the better.
    start : tuple of int
        The powers to begin with.
    free : tuple of bool
        Whether the length scales of X and of Y may change.
    """
    at = _on_lattice(score, free)
    i, j = start[0], _down_y(at, *start)
    for step in (-1, 1):
        first = i
        while True:
            best, k = at(i, j), j
            if at(i + step, j) <= best + SETTINGS.hopeless * abs(best):
                k = min((j, j - 1, j + 1), key=lambda k: at(i + step, k))
            if not _better(at(i + step, k), best):
                break
            i, j = i + step, _down_y(at, i + step, k)
        if i != first:
            break
    return i, j


def _down_y(at: Score, i: int, j: int) -> int:
    """Descend along Y."""
    for step in (-1, 1):
        first = j
        while _better(at(i, j + step), at(i, j)):
            j += step
        if j != first:
            break
    return j


def _better(new: float, old: float) -> bool:
    return new < old - SETTINGS.better * abs(old) if np.isfinite(old) else new < old


def _on_lattice(score: Score, free: tuple[bool, bool]) -> Score:
    """Return the score, computed once a point, and infinite off the lattice."""
    powers = [SETTINGS.powers if may else range(1) for may in free]
    seen: dict[tuple[int, int], float] = {}

    def at(i: int, j: int) -> float:
        if i not in powers[0] or j not in powers[1]:
            return np.inf
        if (i, j) not in seen:
            seen[i, j] = score(i, j)
        return seen[i, j]

    return at
