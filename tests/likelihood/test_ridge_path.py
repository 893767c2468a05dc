"""Paths of ridges: where they stop, and that they find what exhaustive search finds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist.likelihood.held_out_ridge import held_rows
from jointdist.likelihood.ridge_path import THOROUGH, continued_fit, path_of_ridges
from jointdist.programs import Blocks, LogRatioProblem, Status, maximum_likelihood


def problem(seed=0, n=200, m=12, K=6):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, m)) * 0.7 ** np.arange(m)
    F -= F.mean(axis=0)
    c_x, V = np.linalg.eigh(F.T @ F / n)
    F = F @ V
    tilt = 2 * F[:, -1] + rng.normal(size=n)
    cells = np.searchsorted(np.quantile(tilt, np.arange(1, K) / K), tilt)
    U = np.linspace(-1, 1, K)[:, None] ** np.arange(1, 3)
    U -= np.bincount(cells, minlength=K) / n @ U
    return LogRatioProblem(Blocks(n, m, lambda r: F[r]), cells, U, None, c_x)


@pytest.mark.parametrize("size", [0.02, 0.5, 2.0])
def test_it_finds_the_ridge_that_all_of_them_find(size):
    """Scores fall and rise once along the ridges: how far coefficients are from a size."""

    def score(solutions):
        return 1 + abs(float(np.linalg.norm(solutions[0].value)) - size)

    path = path_of_ridges([problem()], score)
    every = path_of_ridges([problem()], score, given=10 ** np.arange(0, -6.1, -0.5))
    assert path.ridges == sorted(path.ridges, reverse=True)
    assert path.score <= every.score + 0.05
    assert path.best == path.ridges[int(np.argmin(path.scores))]


def test_given_ridges_are_all_tried():
    path = path_of_ridges([problem()], lambda s: float(s[0].objective), given=[1.0, 1e-4])
    assert path.ridges == [1.0, 1e-4]
    assert path.scores[1] < path.scores[0]  # the training objective falls with the ridge
    assert_allclose(path.at_best[0].objective, path.scores[1])


def test_larger_ridges_are_tried_where_the_first_is_best():
    path = path_of_ridges([problem()], lambda s: float(np.abs(s[0].value).sum()))
    assert path.ridges[0] >= 1.0  # the larger the ridge, the less is the score
    assert path.best == path.ridges[0]


def test_a_continued_fit_is_near_the_optimum():
    own = problem()
    exact = maximum_likelihood(own, 1e-5, tol=1e-12, max_evaluations=2000)
    found = continued_fit(own, 1e-5, effort=THOROUGH)
    assert found.status in {Status.OPTIMAL, Status.STOPPED}
    assert found.status.ok
    assert (found.objective - exact.objective) / -exact.objective < 0.01


def test_each_cell_keeps_a_row():
    rng = np.random.default_rng(0)
    cells = np.concatenate([rng.integers(0, 40, size=400), np.arange(40, 60)])
    F = rng.normal(size=(420, 2))
    weights = np.ones(420)
    weights[:50] = 0
    own = LogRatioProblem(Blocks(420, 2, lambda r: F[r]), cells, np.eye(60), weights)
    held = held_rows(own, 0)
    assert len(held) == 37
    assert weights[held].all()
    left = np.setdiff1d(np.arange(420), held)
    assert (np.bincount(cells[left], weights[left], 60) > 0).all()
