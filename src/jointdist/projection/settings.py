"""The tuned constants of projections."""

from dataclasses import dataclass

import numpy as np

__all__ = ["SETTINGS", "ProjectionSettings"]


@dataclass(frozen=True, slots=True)
class ProjectionSettings:
    """Constants of projections, each with the reason for its value.

    Attributes
    ----------
    interval_cells : int
        Cells of one column of projected and of recalibrated distributions. Measured: the
        CRPS is that of 4,000 cells to four digits.
    feature_cells : int
        Cells of several columns. A time budget; a round number.
    judged_cells, judged_points : int
        Cells of several columns, and points between which distances are measured, where
        ridges are compared on some rows of a large sample. Time budgets: a half each.
    isotonic_cells : int
        Cells of isotonic distributions. A memory budget; the projection costs little.
    cut_directions : int
        Leading functions along which several columns are cut; a round number.
    cut_rows : int
        Rows from which the cuts are learned: a time budget.
    distinct_search_rows : int
        Rows for each cell up to which equal rows are looked for, so that each distinct row
        may have its own cell. A time budget, as all rows are sorted for it.
    least_mass : float
        The mass of a signed distribution below which the marginal fills up what it lacks:
        a round number, by taste.
    ridges : tuple of float
        Ridges that are tried, in descending order: half decades from 1 to 1e-4, as smaller
        ones diverge.
    default_ridge : float
        The ridge where it cannot be chosen; trials chose 0.3 to 0.001 most often.
    tuning_rows : int
        Rows by which the ridge is chosen: a time budget.
    tolerated_score : float
        The multiple of the best score at which smaller ridges are not tried: a time budget,
        as the smaller a ridge, the longer it takes.
    kernel_features : tuple of int
        The least and the largest number of leading features of a kernel that are matched.
        Measured on UCI data: 15 features give the CRPS of 30 to three digits, with ridges
        of at most ``largest_ridge``.
    leading_variance : float
        The share of the variance of the first feature above which a feature is matched, up
        to their largest number: a round number.
    discrete_features : int
        The largest number of features of categories, few values or polynomials that are
        matched. As the next three, it keeps the family at a few dozen functions, whose
        Newton steps stay cheap.
    product_columns : int
        Columns up to which all their products are matched; a round number.
    square_columns : int
        Columns up to which their squares are matched; a round number.
    mean_columns : int
        Columns up to which their means are matched; a round number.
    moment_ridge : float
        The ridge of moments in units of that of the first feature: small, so that they are
        matched closely; a round number.
    largest_ridge : float
        The largest ridge of a feature: that of the measurement of ``kernel_features``.
    least_bandwidth : float
        The least bandwidth of a density in units of that of the sample: a guard against
        zero.
    mode_candidates : int
        Cells at which the density is computed to find the mode, those with the largest bound
        on it. A time budget; a round number.
    """

    interval_cells: int = 512
    feature_cells: int = 1024
    judged_cells: int = 512
    judged_points: int = 2048
    isotonic_cells: int = 2048
    cut_directions: int = 16
    cut_rows: int = 1 << 15
    distinct_search_rows: int = 4
    least_mass: float = 0.5
    ridges: tuple[float, ...] = tuple((10.0 ** np.arange(0, -4.1, -0.5)).tolist())
    default_ridge: float = 1e-2
    tuning_rows: int = 512
    tolerated_score: float = 1.005
    kernel_features: tuple[int, int] = (15, 30)
    leading_variance: float = 1e-3
    discrete_features: int = 63
    product_columns: int = 5
    square_columns: int = 16
    mean_columns: int = 64
    moment_ridge: float = 1e-2
    largest_ridge: float = 1e5
    least_bandwidth: float = 1e-3
    mode_candidates: int = 32


SETTINGS = ProjectionSettings()
