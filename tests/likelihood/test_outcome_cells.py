"""Cells of several outcomes: they cover the sample, and rows are found in them again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from strategies import seeds

from jointdist.data.encoding import learn_encoding
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows
from jointdist.distributions.support_points import SupportPoints
from jointdist.likelihood.outcome_cells import cells_of_regions, safe_units


def points_of(Y, weights=None):
    """Return outcomes as support points."""
    coded = learn_encoding(Y, where="test", name="Y")
    rows = as_rows(coded.rows.table(), where="test", name="Y")
    return SupportPoints(rows, coded.encoding, weights, Executor(workers=1))


@given(seeds, st.sampled_from([1, 7, 500]), st.sampled_from([1e-200, 1.0, 1e150]))
def test_each_cell_has_weight_and_equal_outcomes_share_one(seed, most, unit):
    rng = np.random.default_rng(seed)
    Y = unit * np.round(rng.normal(size=(60, 3)), int(rng.integers(0, 3)))
    weights = rng.integers(0, 3, size=60).astype(float)
    weights[0] = 1.0
    points = points_of(Y, weights)
    cells, regions = cells_of_regions(points, most, Y[0])
    distinct = len(np.unique(Y[weights > 0], axis=0))
    assert cells.rank == min(most, distinct)
    assert (np.bincount(cells.cell, weights, cells.rank) > 0).all()
    assert_array_equal(regions.locate(points.table()), cells.cell)
    _, which = np.unique(Y, axis=0, return_inverse=True)
    for value in range(which.max() + 1):
        assert len(set(cells.cell[which.ravel() == value])) == 1


def test_new_outcomes_are_in_a_cell_and_categories_are_kept_apart():
    rng = np.random.default_rng(0)
    Y = np.column_stack([np.round(rng.normal(size=80)), rng.choice([0.0, 9.0], size=80)])
    cells, regions = cells_of_regions(points_of(Y), 500, Y[0])
    assert_array_equal(regions.locate(Y + 0.3), cells.cell)  # within half of the gaps
    assert regions.locate(np.array([[1e9, -1e9]])).max() < cells.rank


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e300])
def test_units_neither_overflow_nor_vanish(unit):
    Z = np.random.default_rng(0).uniform(-1, 1, size=(50, 2))
    shares = np.full(50, 1 / 50)
    assert np.allclose(safe_units(unit * Z, shares) / unit, Z.std(axis=0))
    assert_array_equal(safe_units(np.ones((3, 1)), np.ones(3)), [1.0])
