"""The tuned constants of regressions."""

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["SETTINGS", "RegressionSettings"]


@dataclass(frozen=True, slots=True)
class RegressionSettings:
    """Constants of regressions of location and scale, each with the reason for its value.

    Attributes
    ----------
    smoothness : tuple of float
        The smoothness of the kernels that are tried: those of Rasmussen and Williams (2006),
        section 4.2, but for 5/2, which is between others.
    trial_rank, small_trial_rank : int
        The rank at which kernels are compared, and that of few rows. A third of that of the
        final fit costs a tenth.
    max_rank : int
        The largest rank of a factor of a kernel matrix of many rows: a time budget.
    few_rows : int
        The rows that are few.
    most_work : float
        The largest number of rows times the square of that rank: a time budget of ten
        seconds. The rank is below the largest from 240,000 rows on.
    rank_gain, rank_work : float
        The share of the error that landmarks must have brought beyond those of the trial, so
        that more of them are tried; and the largest number of rows times the square of that
        of landmarks, a time budget of seconds.
    rank_tolerance : float
        The share of the trace of the kernel matrix that its factor may lose. Near rounding,
        as outcomes may have no noise; ``max_rank`` usually stops the factorisation before.
    ridges : tuple of float
        Ridges that are tried, in units of the mean diagonal of the kernel: half decades from
        interpolation, up to rounding, to nearly the mean.
    validation_rows : int
        Rows on which leave-one-out errors are compared. A power of two: their relative
        standard error is then about 2 %, and candidates are compared on the same rows.
    ard_patches : int
        Patches of neighbours that the rows of the second search form, 50 rows each; a round
        number.
    ard_pool_rows : int
        Rows among which these neighbours are looked for. A memory budget, and enough to be
        dense.
    ard_least_rows : int
        Rows below which evidence cannot tell the length scales of columns apart.
    least_weight, least_weight_to_refit : float
        The weight of a kernel in the average below which it is dropped: where all rows were
        regressed on, and, higher, where it would have to be fitted again to all of them.
        Round numbers.
    kriging_above_rows : int
        Rows above which a regression on nearest neighbours joins the average. Up to these,
        low-rank factors represent rough kernels.
    kriging_most_rows : int
        Rows up to which it does, and up to which several kernels are averaged. A time
        budget: beyond, one linear system a row takes too long, and one kernel alone is fitted
        to all rows.
    kriging_smoothness : tuple of float
        The smoothness of its kernel: those below an infinite one, as smooth kernels have low
        rank.
    kriging_trial_rows : int
        Rows whose leave-one-out residuals choose between length scales: a time budget. Those
        of the evidence of the rough kernel were the best on power-plant, those of a smoother
        one on protein, by 10 % each.
    patch_steps : int
        The steps of the search for its length scales by the evidence of patches of neighbours:
        a time budget of a second. On power-plant, CRPS were 4.4 % lower than by the length
        scales of evidence of a thousand rows, and hung less on the seed: by 0.5 instead of
        3 %.
    neighbours : int
        The neighbours of a point. A power of two; a linear system takes a fraction of a
        millisecond.
    kriging_ridges : tuple of float
        Ridges that are tried on neighbours: from interpolation to the mean of the neighbours.
        Coarser than ``ridges``, as each costs one linear system a row.
    kriging_validation_rows : int
        Rows whose leave-one-out residuals choose that ridge: a time budget.
    category_distance : float
        The distance of two categories in units of the length scales of numbers. So large
        that neighbours have the same categories, unless these are rare.
    extrapolation : float
        How far predictions may leave the range of the targets, in units of this range; a
        round number.
    boosting_least_rows : int
        Rows below which ``"auto"`` is kernel regression alone: folds are too small for
        trees.
    boosting_features : float
        The share of columns among which a split is looked for: with half of them errors were
        up to 7 % lower on concrete and boston, and 1 % higher on power-plant.
    boosting_leaves : tuple of int
        The leaves of a tree of few rows, and of many: about half and twice the 31 that are
        scikit-learn's default, by taste.
    boosting_many_rows : int
        Rows from which trees have the larger number of leaves; a round number.
    boosting_leaf_rows : int
        The fewest rows in a leaf, a round number. Where the best forest has smaller leaves
        these are tried, too: errors on energy, which has little noise, were 8 % lower.
    least_gain : float
        By what share an average with trees must have smaller absolute errors in the first
        fold, for trees to be fitted to the other folds. Gains of .3 to .7 % on flights were
        worth .7 % of the CRPS; on four simulated tables there was less than .02 %.
    forest_leaves : tuple of int
        The fewest rows of a leaf that are tried: the less noise, the fewer.
    forest_trials : int
        These are compared by one of so many trees: a time budget. Fewer trees than that make
        large leaves look better than they are: by .2 % of the CRPS on flights.
    forest_share, forest_rows : float, int
        The share of the rows that a tree is grown on, that of distinct rows of a bootstrap
        sample, and the most rows: the size of a fitted forest does not grow further.
    forest_features : float
        The share of columns among which a split is looked for: a third and all were worse.
    forest_columns : int
        The most columns among which a split is looked for: a time budget.
    forest_bins : int
        The bins of a column of numbers: as fine as the levels of a thousand rows.
    forest_cells : int
        The cells of outcomes: as fine as the cdf of 65,536 pairs of rows shows.
    residual_floor : float
        The constant below which squared residuals level off before logarithms are taken, in
        units of the median absolute residual. A tenth bounds the logarithm of the residuals
        that happen to be near zero, and leaves the others as they are.
    scale_levels : tuple of float
        The levels of the quantiles of the fitted logarithms of scales at which these are
        clipped; round numbers.
    scale_max_rank : int
        The largest rank of regressions of the scale: logarithms of residuals are noisy, so
        that few functions can be learned.
    scale_ridges : tuple of float
        Ridges of the scale that are tried. None is tiny, as the out-of-fold forecasts know
        their residuals: the smaller a ridge, the more of them shows.
    forecast_scale_factor : float
        The length scale of the kernel of the forecast in units of the median heuristic.
        Half, as the shape of residuals varies within the range of the forecast.
    leakage_correlation, leakage_standard_errors : float
        The mean correlation of forecasts and residuals, among rows of nearly the same
        forecast, up to which forecasts stay as they are; or so many standard errors, if
        that is more. Round numbers.
    leakage_window : int
        The fewest rows of nearly the same forecast whose correlation is looked at; a round
        number.
    tail : float
        The level of the quantiles by which gross outliers are told: round, and below it there
        may be a few outliers among some hundred rows.
    outcome_fence, residual_fence : float
        How many times as far from the median as these quantiles outcomes and residuals are
        outliers. Normal ones never are, and of a t distribution with two degrees of freedom
        one in 10⁵ is beyond the first.
    explained_outliers : float
        The share of the error at outcomes beyond the fence that may be left if they are no
        outliers but explained by x; and by what factor errors elsewhere may not grow. A half.
    moved_to : float
        To how many times that distance the residuals of outliers are moved: as far as those
        of rows that are no outliers.
    trend_rows : int
        Rows that a trend is learned from: a time budget.
    trend_rows_a_column, trend_values : int
        The rows for each column of a trend, and the distinct values of a column; round
        numbers, below which slopes mean little.
    trend_ridge : float
        The ridge of a trend of standardised columns: nearly none, but columns may be collinear.
    trend_ends : float
        The share of rows held out at each end of a column: a tenth is far enough from the
        others to tell a trend from a wave.
    trend_share, trend_explains : float
        The share of the variance there that a trend may leave unexplained, and that of the
        variance explained by forecasts that it must explain over all rows. Halves; a wave has
        nearly no trend over all rows, though it may have one at its ends.
    sparse_rows : float
        The number of rows that say as much as there is noise; a round number.
    sparse : tuple of float
        The sparsity from which on forecasts follow a trend, and that from which they do so
        alone: about fifteen rows and two rows near a point.
    sparse_share : float
        The share of the rows of the sample that may be sparse.
    beyond : float
        How far beyond the range seen of a column nothing of the rows is trusted, in units of
        that range: half of it, as smooth kernels extrapolate and are sure of it. Doubt grows
        as the square of the distance, so that rows just beyond are hardly concerned.
    tiny_share : float
        Shares of a kernel below it are zero.
    leakage_noise : tuple of float
        The standard deviations of noise that are tried, in units of that of the residuals:
        quarters of a decade from one that rounding hides to one that hides any forecast.
    """

    smoothness: tuple[float, ...] = (math.inf, 1.5, 0.5)
    trial_rank: int = 384
    small_trial_rank: int = 256
    max_rank: int = 1024
    few_rows: int = 2000
    rank_tolerance: float = 1e-10
    ridges: tuple[float, ...] = tuple((10.0 ** np.arange(-12, 1.1, 0.5)).tolist())
    validation_rows: int = 4096
    ard_patches: int = 20
    ard_pool_rows: int = 1 << 15
    ard_least_rows: int = 8
    least_weight: float = 0.1
    least_weight_to_refit: float = 0.3
    kriging_above_rows: int = 2_000
    kriging_most_rows: int = 50_000
    kriging_smoothness: tuple[float, ...] = (0.5, 1.5)
    kriging_trial_rows: int = 300
    patch_steps: int = 30
    most_work: float = 2.5e11
    rank_gain: float = 0.05
    rank_work: float = 1e11
    neighbours: int = 64
    kriging_ridges: tuple[float, ...] = tuple(
        (10.0 ** np.array([-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0])).tolist()
    )
    kriging_validation_rows: int = 1000
    category_distance: float = 3.0
    extrapolation: float = 0.25
    boosting_least_rows: int = 50
    boosting_features: float = 0.5
    boosting_leaves: tuple[int, int] = (15, 63)
    boosting_many_rows: int = 5_000
    boosting_leaf_rows: int = 5
    least_gain: float = 0.002
    forest_leaves: tuple[int, ...] = (1, 5, 20)
    forest_trials: int = 5
    forest_share: float = 0.632
    forest_rows: int = 16_384
    forest_features: float = 0.5
    forest_columns: int = 32
    forest_bins: int = 1000
    forest_cells: int = 256
    residual_floor: float = 0.1
    scale_levels: tuple[float, float] = (0.005, 0.995)
    scale_max_rank: int = 256
    scale_ridges: tuple[float, ...] = tuple((10.0 ** np.arange(-4, 2.1, 0.5)).tolist())
    forecast_scale_factor: float = 0.5
    leakage_correlation: float = 0.1
    leakage_standard_errors: float = 2.5
    leakage_window: int = 20
    tail: float = 0.01
    outcome_fence: float = 20.0
    residual_fence: float = 10.0
    explained_outliers: float = 0.5
    moved_to: float = 2.0
    trend_rows: int = 1 << 14
    trend_rows_a_column: int = 10
    trend_values: int = 20
    trend_ridge: float = 1e-4
    trend_ends: float = 0.1
    trend_share: float = 0.5
    trend_explains: float = 0.5
    sparse_rows: float = 5.0
    sparse: tuple[float, float] = (0.25, 0.75)
    sparse_share: float = 0.02
    beyond: float = 0.5
    tiny_share: float = 1e-12
    leakage_noise: tuple[float, ...] = tuple((10.0 ** np.arange(-4, 1.1, 0.25)).tolist())


SETTINGS = RegressionSettings()
