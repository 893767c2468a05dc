"""Folds of a selection: of a subsample, in canonical order, with copies merged."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import jointdist as jd
from jointdist.data.fold_arguments import read_folds
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.selection.cross_validation import CrossValidation
from jointdist.selection.partition import Partition


def silent(_share, _text):
    """Show no progress."""


def validation(cv, groups, rows, n=200):
    """Return the folds of a table whose rows are numbered, each of them twice."""
    numbers = np.arange(n) // 2
    folds = read_folds(
        "model", cv, groups, n=n, weights=None, seed=0, tables=(numbers, numbers)
    )
    x = Rows(numbers[:, None].astype(float), "", "X")
    sample = Sample(x, Rows(-x.source, "", "Y"), None, folds=folds)
    how = jd.Selection(cv=cv, rows=rows)
    return CrossValidation("model", how, sample, 0, silent), folds


@pytest.mark.parametrize("rows", [1000, 80])
def test_groups(rows):
    groups = np.arange(200) // 2 % 50
    found, _ = validation(5, groups, rows)
    assert found.folds == 5
    assert found.sample.n == (100 if rows > 200 else 40)
    for fold in range(5):
        fit, held = (
            set(side.x.source[:, 0].astype(int) % 50)
            for side in (found.train(fold), found.held(fold))
        )
        assert held
        assert not fit & held


@pytest.mark.parametrize("rows", [1000, 60])
def test_time(rows):
    found, _ = validation("time", None, rows)
    assert found.folds == 5
    for fold in range(5):
        fit, held = (side.x.source[:, 0] for side in (found.train(fold), found.held(fold)))
        assert fit.max() <= held.min()


def test_ridges_are_of_equal_strength_in_all_windows():
    """A ridge is added to means: over fewer rows it is larger by as much."""
    found, _ = validation("time", None, 1000)
    sizes = np.array([found.train(fold).n for fold in range(5)])
    assert_allclose(found._factors * sizes, np.mean(sizes))


def test_sums_are_those_of_the_rows_of_a_fit():
    _, folds = validation("time", np.arange(200) // 3, 1000)
    partition = Partition.of(folds)
    values = np.random.default_rng(0).normal(size=200)
    sums = [values[part].sum() for part in partition.parts]
    for fold, split in enumerate(folds.rows):
        assert_allclose(partition.sum_fitted(sums, fold), values[split.fit].sum())
        assert_array_equal(partition.fitted(fold), split.fit)
        assert_array_equal(np.sort(partition.held(fold)), split.out)
