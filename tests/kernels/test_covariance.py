"""Kernels: what makes them kernels, known values, and their messages."""

import math
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from strategies import kernels, points

from jointdist import kernels as kernels_module
from jointdist.kernels import (
    Columns,
    Delta,
    Gaussian,
    Kernel,
    Laplace,
    Matern,
    Polynomial,
    Product,
    Sum,
)

FAMILIES = [Gaussian, Laplace, Matern]


@given(kernel=kernels, X=points())
def test_a_kernel_matrix_is_symmetric_and_positive_semidefinite(kernel, X):
    K = kernel(X, X)
    size = np.abs(K).max()
    assert_allclose(K, K.T, atol=1e-12 * size)
    assert np.linalg.eigvalsh(K)[0] >= -1e-11 * len(X) * size


@given(kernel=kernels, X=points())
def test_the_diagonal_is_that_of_the_matrix(kernel, X):
    assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_coincident_points_are_exactly_alike(family, rng):
    X = rng.normal(size=(500, 4)) * [0.1, 1, 10, 30] + [0, 5, 1e3, -1e4]
    K = family(2.0)(X, X)
    assert_array_equal(np.diag(K), 1.0)
    assert K.max() == 1.0


@given(kernel=kernels, X=points(), Z=points())
def test_a_matrix_is_its_entries(kernel, X, Z):
    K = kernel(X, Z)
    assert K.shape == (len(X), len(Z))
    i, j = len(X) // 2, len(Z) // 3
    assert_allclose(
        K[i, j], kernel(X[i : i + 1], Z[j : j + 1])[0, 0], rtol=1e-9, atol=1e-12
    )


@given(kernel=kernels)
def test_kernels_are_protocol_values(kernel):
    assert isinstance(kernel, Kernel)
    again = eval(repr(kernel), vars(kernels_module).copy())  # noqa: S307
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert pickle.loads(pickle.dumps(kernel)) == kernel  # noqa: S301
    with pytest.raises((AttributeError, TypeError)):
        kernel.scale = 2.0


def test_known_values_between_two_points():
    x, z = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])  # r = 5
    t3, t5 = math.sqrt(3) * 5 / 2, math.sqrt(5) * 5 / 2
    known = {
        Gaussian(2.0): math.exp(-25 / 8),
        Gaussian((3.0, 4.0)): math.exp(-1.0),
        Laplace(2.0): math.exp(-7 / 2),
        Laplace((3.0, 4.0)): math.exp(-2.0),
        Matern(2.0, nu=0.5): math.exp(-5 / 2),
        Matern(2.0, nu=1.5): (1 + t3) * math.exp(-t3),
        Matern(2.0, nu=2.5): (1 + t5 + t5**2 / 3) * math.exp(-t5),
        Polynomial(3, offset=2.0): 8.0,
        Delta(): 0.0,
    }
    for kernel, value in known.items():
        assert_allclose(kernel(x, z)[0, 0], value, rtol=1e-13)
    assert_allclose(Polynomial(2, scale=2.0)(z, z), [[(25 / 4 + 1) ** 2]])


def test_delta_compares_whole_rows():
    X = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]])
    assert_array_equal(Delta()(X, X), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_numbers_and_categories_mix_in_one_kernel(rng):
    X = np.column_stack([rng.normal(size=(20, 2)), rng.integers(0, 3, 20)])
    kernel = Gaussian(2.0).on(0, 1) * Delta().on(2) + Laplace().on(0)
    by_hand = Gaussian(2.0)(X[:, :2], X[:, :2]) * (X[:, 2:] == X[:, 2:].T)
    by_hand = by_hand + np.exp(-np.abs(X[:, :1] - X[:, :1].T))
    assert_allclose(kernel(X, X), by_hand, atol=1e-14)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_a_shift_of_the_origin_changes_nothing(family, offset, rng):
    """The fast distances lose nothing to an origin far away."""
    X = np.round(rng.normal(size=(30, 2)) * 2**20) / 2**20  # exact after the shift
    assert_allclose(family(2.0)(X + offset, X + offset), family(2.0)(X, X), atol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_points_far_out_are_compared_exactly(family):
    """Two neighbours a million scales away from the rest are still neighbours."""
    X = np.array([[0.0], [1e6], [1e6 + 1.0]])
    K = family(1.0)(X, X)
    assert_allclose(K[1, 2], family(1.0)(X[:1], X[:1] + 1)[0, 0], rtol=1e-12)
    assert_array_equal(np.diag(K), 1.0)


def test_a_kernel_with_a_kink_sees_small_distances():
    """Matérn 1/2 is not smooth at zero, so that distances may not be rounded there."""
    X = np.linspace(0, 1, 300)[:, None] * [1.0, 1.0, 1.0]
    near = X[:5] + np.array([1e-9, 0.0, 0.0])
    assert_allclose(1 - np.diag(Matern(nu=0.5)(X[:5], near)), 1e-9, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_columns_of_wildly_different_scales_work(family):
    X = np.array([[1e-200, 1e200], [0.0, 1e200], [0.0, -1e200]])
    K = family((1e-200, 1e200))(X, X)
    one = family(1.0)(np.array([[0.0]]), np.array([[1.0], [2.0]]))[0]
    assert_allclose([K[0, 1], K[1, 2]], one, rtol=1e-12)


@pytest.mark.parametrize("family", [*FAMILIES, Polynomial])
@pytest.mark.parametrize(
    "scale", [0.0, -1.0, math.nan, math.inf, (1.0, 0.0), (), "wide", None, True, [[1.0]]]
)
def test_a_bad_scale_is_named(family, scale):
    message = (
        rf"^{family.__name__}: `scale` must be a positive number, or a sequence of one"
    )
    with pytest.raises(ValueError, match=message):
        family(scale=scale)


@pytest.mark.parametrize("scale", [2, 2.0, np.float32(2), np.array(2.0), np.int64(2)])
def test_one_scale_may_be_any_number(scale):
    assert Gaussian(scale) == Gaussian(2.0)


@pytest.mark.parametrize("scale", [[1, 2], (1.0, 2.0), np.array([1, 2]), pl.Series([1, 2])])
def test_scales_may_be_any_sequence(scale):
    assert Gaussian(scale) == Gaussian((1.0, 2.0))


@pytest.mark.parametrize("kernel", [Gaussian(), Matern(), Laplace(), Polynomial(), Delta()])
def test_tables_that_do_not_fit_are_refused(kernel):
    name, X = type(kernel).__name__, np.zeros((3, 2))
    with pytest.raises(
        ValueError, match=rf"^{name}: `Z` must be a table of 2 columns.*Got 1"
    ):
        kernel(X, X[:, :1])
    with pytest.raises(ValueError, match=rf"^{name}: `X` must be a two-dim.*shape \(2,\)"):
        kernel(X[0], X)
    with pytest.raises(
        ValueError, match=rf"^{name}: `Z` must be a two-dim.*<class 'list'>"
    ):
        kernel(X, [[1.0, 2.0]])


class Mine:
    """A kernel of somebody else."""

    def __call__(self, X, Z):
        return X @ Z.T

    def diagonal(self, X):
        return (X * X).sum(axis=1)


def test_kernels_from_elsewhere_combine_on_both_sides(rng):
    X = rng.normal(size=(5, 2))
    for a, b in ((Mine(), Gaussian()), (Gaussian(), Mine())):
        assert_allclose((a * b)(X, X), a(X, X) * b(X, X))
        assert_allclose((a + b)(X, X), a(X, X) + b(X, X))


def test_as_many_scales_as_columns():
    message = (
        r"^Gaussian: `scale` must be one number, or one per column of the data \(3\)\."
    )
    with pytest.raises(ValueError, match=message + " Got 2 scales"):
        Gaussian((1.0, 2.0))(np.zeros((4, 3)), np.zeros((4, 3)))


@pytest.mark.parametrize("nu", [1.0, "1.5", None])
def test_a_bad_smoothness_is_named(nu):
    with pytest.raises(ValueError, match=r"^Matern: `nu` must be 0.5, 1.5 or 2.5. Got"):
        Matern(nu=nu)


@pytest.mark.parametrize("degree", [0, 1.5, "2", True])
def test_a_bad_degree_is_named(degree):
    with pytest.raises(ValueError, match=r"^Polynomial: `degree` must be an integer of"):
        Polynomial(degree)


@pytest.mark.parametrize("offset", [-1.0, math.nan, "0"])
def test_a_bad_offset_is_named(offset):
    with pytest.raises(ValueError, match=r"^Polynomial: `offset` must be zero or positive"):
        Polynomial(offset=offset)


@pytest.mark.parametrize("columns", [(), (-1,), (0.5,), ("a",)])
def test_bad_columns_are_named(columns):
    with pytest.raises(
        ValueError, match=r"^Columns: `columns` must be column numbers from"
    ):
        Columns(Gaussian(), columns)


def test_columns_that_the_data_lacks_are_named():
    with pytest.raises(ValueError, match=r"^Columns: `columns` must be below 2.*Got 5\."):
        Gaussian().on(0, 5)(np.zeros((3, 2)), np.zeros((3, 2)))


@pytest.mark.parametrize("combine", [Sum, Product])
@pytest.mark.parametrize("kernels", [(), (Gaussian(), "rbf"), (Gaussian,)])
def test_only_kernels_combine(combine, kernels):
    message = f"^{combine.__name__}: `kernels` must be kernels: objects with"
    with pytest.raises(ValueError, match=message):
        combine(*kernels)
