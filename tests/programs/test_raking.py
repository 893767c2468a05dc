"""Raking: both margins are met, and the factors are those of proportional fitting."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist.programs.raking import rake


def margins(rng, n):
    found = rng.uniform(0.2, 2.0, size=n)
    return found / found.sum()


@pytest.mark.parametrize("seed", range(3))
def test_both_margins_are_met_as_by_proportional_fitting(seed):
    rng = np.random.default_rng(seed)
    P = rng.gamma(1.0, size=(40, 25))
    w, v = margins(rng, 40), margins(rng, 25)
    found = rake(np.log(P), w, v)
    joint = np.exp(found.rows[:, None] + np.log(P) + found.columns)
    assert found.error < 1e-11
    assert_allclose(joint.sum(axis=1), w, rtol=1e-12)
    assert_allclose(joint.sum(axis=0), v, rtol=1e-10)
    fitted = P * w.sum()
    for _ in range(2000):
        fitted *= (w / fitted.sum(axis=1))[:, None]
        fitted *= v / fitted.sum(axis=0)
    assert_allclose(joint, fitted, rtol=1e-8)


def test_narrow_rows_where_proportional_fitting_would_take_thousands_of_sweeps():
    """Normal forecasts that explain 99.8 % of the variance."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    y = np.quantile(x + 0.04 * rng.normal(size=600), (np.arange(200) + 0.5) / 200)
    logs = -0.5 * ((y - x[:, None]) / 0.04) ** 2
    w, v = np.full(600, 1 / 600), np.full(200, 1 / 200)
    found = rake(logs, w, v)
    joint = np.exp(found.rows[:, None] + logs + found.columns)
    assert found.error < 1e-10
    assert_allclose(joint.sum(axis=0), v, rtol=1e-9)
    assert_allclose(joint.sum(axis=1), w, rtol=1e-9)


def test_what_has_both_margins_stays():
    rng = np.random.default_rng(0)
    P = rng.gamma(1.0, size=(10, 8))
    P /= P.sum()
    found = rake(np.log(P), P.sum(axis=1), P.sum(axis=0))
    assert_allclose(np.exp(found.rows[:, None] + found.columns), 1.0, rtol=1e-9)


def test_margins_that_zeros_rule_out_are_reported():
    logs = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    found = rake(logs, np.array([0.3, 0.7]), np.array([0.5, 0.5]))
    assert np.isfinite(found.rows).all()
    assert found.error == pytest.approx(0.4)
