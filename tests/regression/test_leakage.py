"""Noise that hides the residuals of out-of-fold forecasts."""

import numpy as np
from numpy.testing import assert_array_equal

from jointdist.regression.leakage import hide_residuals


def test_forecasts_without_leakage_stay_as_they_are():
    rng = np.random.default_rng(2)
    forecasts, residuals = rng.normal(size=(2, 500, 1))
    assert_array_equal(hide_residuals(forecasts, residuals, rng), forecasts)


def test_leave_one_out_means_do_not_reveal_their_rows():
    """The mean of all other rows is the lower, the higher a row."""
    rng = np.random.default_rng(2)
    residuals = rng.normal(size=(500, 1))
    leaking = -residuals / 499
    hidden = hide_residuals(leaking, residuals, rng)
    assert abs(np.corrcoef(hidden[:, 0], residuals[:, 0])[0, 1]) < 0.15
