"""Kernel matrices of many tables: those of each table alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jointdist.kernels import Columns, Delta, Gaussian, Hamming, Laplace, Matern, Product
from jointdist.kernels.stacked import stacked_matrices

KERNELS = [
    Gaussian(0.7),
    Gaussian((0.5, 2.0, 1e3)),
    Matern(1.3, 0.5),
    Matern((1.0, 2.0, 3.0), 1.5),
    Matern(0.4, 2.5),
    Laplace(1.5),
    Hamming((0.5, 4.0, 2.0)),
    Product(Matern((1.0, 0.3), 0.5).on(0, 2), Hamming(2.0).on(1)),
    Gaussian(1.0).on(2) + Delta(0.2).on(1),
    Columns(Product(Gaussian(1.0), Matern(2.0, 1.5), Gaussian(3.0)), (1,)),
]


def tables(b=4, n=6):
    rng = np.random.default_rng(0)
    found = rng.normal(size=(b, n, 3))
    found[:, :, 1] = rng.integers(3, size=(b, n))
    if b and n > 4:
        found[0, 2] = found[0, 4]
    return found


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_are_those_of_each_table(kernel):
    found = stacked_matrices(kernel, tables())
    truth = np.stack([kernel(z, z) for z in tables()])
    assert_allclose(found, truth, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 6), (3, 1)])
def test_no_tables_and_single_rows(shape):
    found = stacked_matrices(Matern(1.0, 1.5), tables(*shape)[:, :1])
    assert found.shape == (shape[0], 1, 1)
    assert (found == 1).all()


def test_rows_stay_as_they_are():
    before = tables()
    stacked_matrices(KERNELS[7], before)
    assert_allclose(before, tables(), rtol=0)
