"""The tuned constants of the selection."""

from dataclasses import dataclass

import numpy as np

__all__ = ["SETTINGS", "SearchSettings"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Tuned constants of the selection.

    Attributes
    ----------
    strengths : tuple of float
        Ridges that are tried, times the number of rows: half decades from 100, near
        independence, to 1e-7, where models without noise interpolate.
    powers : range
        Powers of two by which length scales are multiplied: from a sixty-fourth of the median
        heuristic, where few neighbours count, to eight times, where kernels are nearly flat.
    repeats, few : int
        How often rows are split into folds, as long as that makes at most so many rows in
        all: a single split of few rows gives noisy scores, and few rows are cheap.
    better : float
        The share of the score by which a neighbour must be better: less is noise.
    clearly_better : float
        The share of the score by which one length scale a column must beat a common one,
        because it has more freedom to overfit.
    nearly_as_good : tuple of float
        The least and the largest share of the score that a larger ridge may cost: about the
        standard error of a score over five folds.
    hopeless : float
        The share of the score above the best at which neighbours are not tried: a time
        budget.
    rank_x, rank_y : int
        The largest ranks of the factors of candidates: a time budget.
    full_rank_x : int
        The largest rank of a factor of X of rough kernels, near the best candidate if that
        was cut, and of the final fit: a time budget.
    strength : float
        The ridge times the number of rows where all rows are equal, so that any will do.
    """

    strengths: tuple[float, ...] = tuple((10.0 ** np.arange(2, -7.1, -0.5)).tolist())
    powers: range = range(-6, 4)
    repeats: int = 2
    few: int = 400
    better: float = 5e-3
    clearly_better: float = 0.02
    nearly_as_good: tuple[float, float] = (0.01, 0.015)
    hopeless: float = 0.05
    rank_x: int = 512
    rank_y: int = 256
    full_rank_x: int = 1024
    strength: float = 0.1


SETTINGS = SearchSettings()
