"""Section 4.2: the basis is orthogonal twice, raw and centred."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import kernels, points, seeds

from jointdist import kernels as k
from jointdist.data.executor import Executor
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample


def reduced(kernel, X, seed=0, weights=None, tol=1e-3):
    rng = np.random.default_rng(seed)
    Y = X[:, 0] + rng.normal(size=len(X))
    return reduce_sample(
        kernel, k.Gaussian(), X, Y, tol=tol, sample_weight=weights, random_state=seed
    )


@given(kernel=kernels, X=points(), seed=seeds)
def test_the_identities_after_orthopsih_hold(kernel, X, seed):
    """Orthonormal in the kernel's space, orthogonal with eigenvalues over the sample."""
    small = reduced(kernel, X, seed)
    basis, _ = double_orthogonal(small, centred=False)
    K, m, n = kernel(X, X), basis.rank, len(X)
    size = max(np.trace(K), 1.0)
    off = 1e-9 + 1e3 * np.finfo(float).eps * small.x.map.amplification
    Q = np.zeros((n, m))
    Q[basis.pivots] = basis.expansion
    assert_allclose(Q.T @ K @ Q, np.eye(m), atol=off)  # Eq. `orthoPsiH`
    Psi = basis.features(X)
    assert_allclose(Psi, K @ Q, atol=off * np.sqrt(size))  # Psi = Phi Q
    assert_allclose(Psi.T @ Psi, np.diag(basis.eigenvalues), atol=1e-8 * size)
    assert_allclose(small.x.factor @ basis.rotation, Psi, atol=off * np.sqrt(size))
    assert_array_equal(np.sort(basis.eigenvalues)[::-1], basis.eigenvalues)
    assert (basis.eigenvalues >= 0).all()


@given(kernel=kernels, X=points(), seed=seeds, weighted=st.booleans())
def test_the_centred_basis_has_zero_means_and_is_orthogonal_twice(
    kernel, X, seed, weighted
):
    w = np.random.default_rng(seed).integers(1, 4, len(X)) if weighted else None
    small = reduced(kernel, X, seed, w)
    for basis, low in zip(double_orthogonal(small), (small.x, small.y), strict=True):
        rows, size = low.rows.source, max(low.trace, 1.0)
        Psi = basis.features(rows)
        weights = np.ones(len(X)) if w is None else w
        assert_allclose(weights @ Psi, 0, atol=1e-9 * size)
        gram = (Psi * weights[:, None]).T @ Psi
        assert_allclose(gram, np.diag(basis.eigenvalues), atol=1e-8 * size)
        V = basis.rotation
        assert_allclose(V.T @ V, np.eye(basis.rank), atol=1e-12)


def test_the_eigenvalues_are_those_of_the_low_rank_matrix(rng):
    X = rng.normal(size=(150, 2))
    small = reduced(k.Gaussian(), X)
    basis, _ = double_orthogonal(small, centred=False)
    L = small.x.factor
    largest = np.linalg.eigvalsh(L @ L.T)[::-1][: basis.rank]
    assert_allclose(basis.eigenvalues, largest, atol=1e-10 * len(X))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("block", [17, 5000])
def test_bounds_are_the_column_minima_and_maxima(centred, block, rng):
    X = rng.normal(size=(500, 2))
    basis, other = double_orthogonal(reduced(k.Gaussian(), X), centred=centred)
    lower, upper = basis.bounds(X, executor=Executor(block_rows=block))
    assert_allclose(lower, basis.features(X).min(axis=0), atol=1e-12)
    assert_allclose(upper, basis.features(X).max(axis=0), atol=1e-12)
    assert other.bounds(X[:, 0]).upper.shape == (other.rank,)


def test_moments_without_weight_have_no_basis(rng):
    small = reduced(k.Gaussian(), rng.normal(size=(30, 2)))
    empty = replace(small, moments=small.moments - small.moments)
    with pytest.raises(
        ValueError, match=r"^double_orthogonal: `small` must be of positive"
    ):
        double_orthogonal(empty)


def test_a_basis_says_what_was_kept(rng):
    small = reduced(k.Gaussian(), rng.normal(size=(300, 2)))
    basis, _ = double_orthogonal(small)
    assert basis.error == small.x.error
    assert basis.relative_error == small.x.relative_error <= 1e-3
    assert_array_equal(basis.pivots, small.x.pivots)


def test_bounds_of_rows_with_other_columns_are_refused(rng):
    basis, _ = double_orthogonal(reduced(k.Gaussian(), rng.normal(size=(30, 2))))
    with pytest.raises(
        ValueError, match=r"^Basis\.bounds: `Z` must be a table of 2 columns"
    ):
        basis.bounds(np.zeros((4, 3)))
