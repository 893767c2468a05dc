"""Functions on cells: orthogonality, the kernel they come from, and where cells end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from jointdist.data.encoding import learn_encoding
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows
from jointdist.distributions.support_points import SupportPoints
from jointdist.kernels import Gaussian, Laplace
from jointdist.likelihood.cell_functions import cell_functions
from jointdist.likelihood.outcome_cells import interval_edges
from jointdist.projection.partition import cells_of_points


def cells(y, most=20, weights=None):
    coded = learn_encoding(np.asarray(y)[:, None], where="test", name="Y")
    rows = as_rows(np.asarray(y)[:, None], where="test", name="Y")
    points = SupportPoints(rows, coded.encoding, weights, Executor(workers=1))
    return cells_of_points(points, points, most, rows.table()[0])


@pytest.mark.parametrize("located", [(0.0, 0.0), (100.0, 10.0)])
@pytest.mark.parametrize("kernel", [None, Gaussian(0.7)])
def test_functions_reproduce_the_centred_kernel(kernel, located):
    rng = np.random.default_rng(0)
    y, w = rng.standard_t(3, size=300), rng.uniform(size=300)
    own = cells(y, weights=w)
    p, (U, c) = own.mean, cell_functions(own, kernel, 100, located)
    assert_allclose(p @ U, 0, atol=1e-9)
    assert_allclose((U * p[:, None]).T @ U, np.diag(c), atol=1e-9 * c[0])
    assert (np.diff(c) <= 0).all()
    if kernel is None:
        u = (np.cumsum(p) - p / 2)[:, None]
        share = w / w.sum()
        z = (y - share @ y) / np.sqrt(share @ (y - share @ y) ** 2)
        means = [np.bincount(own.cell, share * f) / p for f in (z, z * z)]
        K = np.asarray(Laplace(0.3)(u, u))
        K = K + sum(a * np.outer(f, f) for a, f in zip(located, means, strict=True))
    else:
        K = np.asarray(kernel(own.centres, own.centres))
    centre = np.eye(len(p)) - p
    assert_allclose(U @ U.T, centre @ K @ centre.T, atol=1e-7 * K.max())


def test_fewer_functions_are_the_leading_ones():
    own = cells(np.random.default_rng(0).normal(size=200))
    whole, few = cell_functions(own, None, 50), cell_functions(own, None, 3)
    assert_allclose(np.abs(few.values), np.abs(whole.values[:, :3]))


@pytest.mark.parametrize("kind", ["normal", "ties", "counts", "heavy", "next"])
def test_rows_are_in_their_cells(kind):
    rng = np.random.default_rng(1)
    y = {
        "normal": lambda: rng.normal(size=500),
        "ties": lambda: rng.normal(size=500).round(1),
        "counts": lambda: rng.poisson(3, size=500).astype(float),
        "heavy": lambda: rng.standard_cauchy(size=500) * 1e200,
        "next": lambda: 1 + np.arange(500) * np.finfo(float).eps,
    }[kind]()
    own = cells(y)
    edges = interval_edges(own)
    assert len(edges) == own.rank - 1
    assert (np.diff(edges) > 0).all()
    assert_array_equal(np.searchsorted(edges, y), own.cell)


def test_a_constant_has_no_functions():
    own = cells(np.full(10, 2.0))
    assert cell_functions(own, None, 5, (100.0, 10.0)).values.shape == (1, 0)
    assert interval_edges(own).size == 0
