"""Products of errors of distributions, beside sums over all pairs of their points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

import jointdist as jd
from jointdist.data.encoding import learn_encoding
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.energy import Energy, distances
from jointdist.distributions.energy_products import energy_products
from jointdist.distributions.support_points import SupportPoints
from jointdist.models.cell_forecasts import known_cells


def support(Y):
    """Return support points that are a cell each."""
    coded = learn_encoding(Y, where="", name="")
    points = SupportPoints(coded.rows, coded.encoding)
    cell = np.arange(len(Y))
    return CellSupport.of(points, points, cell, np.zeros(points.width))


def probabilities(q, k, seed):
    P = np.random.default_rng(seed).exponential(size=(q, k)) ** 3
    return P / P.sum(axis=1, keepdims=True)


def brute_force(members, D, near):
    """Return the products from all pairs of points."""
    found = np.empty((len(near), len(members), len(members)))
    for i, d in enumerate(near):
        for k, P in enumerate(members):
            for l, Q in enumerate(members):  # noqa: E741
                found[i, k, l] = P[i] @ d + Q[i] @ d - P[i] @ D @ Q[i]
    return found


@pytest.mark.parametrize("d", [1, 2])
def test_products_of_distributions(d):
    rng = np.random.default_rng(d)
    Y, y = rng.normal(size=(40, d)), rng.normal(size=(12, d))
    cells, unit = support(Y), np.ones(d)
    members = [probabilities(12, 40, seed) for seed in range(3)]
    dists = [known_cells(cells, P) for P in members]
    expected = brute_force(members, cdist(Y, Y), cdist(y, Y))
    found = energy_products(dists, y, unit)
    assert_allclose(found, expected, atol=0.03 if d == 1 else 0.2)
    assert_allclose(found, found.swapaxes(1, 2))
    assert (np.linalg.eigvalsh(found) > -1e-9).all()


def test_half_the_squared_norm_is_the_crps():
    rng = np.random.default_rng(0)
    Y, y = rng.normal(size=(50, 1)), rng.normal(size=(9, 1))
    dist = known_cells(support(Y), probabilities(9, 50, 0))
    found = energy_products([dist, dist], y, np.ones(1))
    scores = jd.scores.crps(jd.Conditional(dist), y[:, 0])
    assert_allclose(found[:, 0, 1] / 2, scores, atol=0.01)


def test_products_on_the_same_cells_are_exact_for_numbers_and_categories():
    rng = np.random.default_rng(0)
    number = rng.normal(size=(30, 1))
    label = rng.permutation(np.repeat(list("abcde"), 6))[:, None]
    both = np.concatenate([number.round(1).astype(object), label], axis=1)
    for Y in (number, both):
        coded = learn_encoding(Y, where="", name="")
        points = SupportPoints(coded.rows, coded.encoding)
        every = np.arange(30)
        cells = CellSupport.of(points, points, every, np.zeros(points.width))
        energy, z = Energy.on(cells), coded.rows.table()
        unit = z.std(axis=0) if points.width > 1 else np.ones(1)
        D = distances(coded.encoding, unit, z, z)
        members = [probabilities(7, 30, seed) for seed in range(2)]
        weights = [P / cells.mean for P in members]
        found = energy.products(weights, energy.to_points(z[:7]))
        assert_allclose(found, brute_force(members, D, D[:7]), atol=1e-10)
