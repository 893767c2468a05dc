"""One computation, every array library, one answer."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from strategies import RULES, kernels, points

from jointdist import JointDistribution, pivoted_cholesky
from jointdist import kernels as k
from jointdist._array import to_numpy
from jointdist.data.executor import Executor
from jointdist.lowrank.basis import double_orthogonal
from jointdist.lowrank.reduction import reduce_sample


def same_kind(a, reference):
    return type(a) is type(reference)


@given(kernel=kernels, X=points())
def test_kernels_agree_with_numpy(xp, kernel, X):
    found = kernel(xp.asarray(X), xp.asarray(X[:7]))
    expected = kernel(X, X[:7])
    assert same_kind(found, xp.asarray(X))
    assert_allclose(to_numpy(found), expected, atol=1e-12 * np.abs(expected).max())
    diagonal = kernel.diagonal(xp.asarray(X))
    assert same_kind(diagonal, xp.asarray(X))
    assert_allclose(to_numpy(diagonal), kernel.diagonal(X), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_pivoted_cholesky_agrees_with_numpy(xp, rule, rng):
    X = rng.normal(size=(200, 2))
    executor = Executor(workers=1, block_rows=64)
    here, there = (
        pivoted_cholesky(
            k.Gaussian(0.5), table, pivoting=rule, random_state=0, executor=executor
        )
        for table in (xp.asarray(X), X)
    )
    assert here.rank > 64  # more than one block of the forward substitution
    assert_array_equal(here.pivots, there.pivots)
    for name in ("factor", "biorthogonal", "core", "landmarks"):
        assert same_kind(getattr(here, name), xp.asarray(X))
        found, expected = to_numpy(getattr(here, name)), getattr(there, name)
        assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())
    assert_allclose(to_numpy(here.features(xp.asarray(X[:3]))), there.factor[:3], atol=1e-9)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_and_basis_agree_with_numpy(xp, precision, weighted, rng):
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 1))
    w = rng.random(300) if weighted else None
    here, there = (
        reduce_sample(
            k.Gaussian(),
            k.Gaussian(),
            as_array(X),
            as_array(Y),
            tol=1e-2,
            sample_weight=None if w is None else as_array(w),
            precision=precision,
            random_state=0,
            executor=Executor(workers=1, block_rows=100),
        )
        for as_array in (xp.asarray, np.asarray)
    )
    assert same_kind(here.moments.gram, xp.asarray(X))
    tiny = 1e-10 if precision == "float64" else 1e-3
    assert_allclose(to_numpy(here.moments.gram), there.moments.gram, atol=300 * tiny)
    basis, reference = double_orthogonal(here)[0], double_orthogonal(there)[0]
    assert same_kind(basis.rotation, xp.asarray(X))
    assert_allclose(to_numpy(basis.eigenvalues), reference.eigenvalues, atol=300 * tiny)
    lower, upper = basis.bounds(xp.asarray(X))
    assert to_numpy(lower).max() < 0 < to_numpy(upper).min()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("columns", [1, 2])
def test_maximum_likelihood_agrees_with_numpy(xp, columns, weighted, rng):
    X = rng.normal(size=(400, 2))
    Y = X[:, :columns] * X[:, 1:] + 0.3 * rng.normal(size=(400, columns))
    w = 1 + rng.random(400) if weighted else None
    here, there = (
        JointDistribution(
            k.Gaussian(1.5),
            positivity="exponential",
            regularization=1e-3,
            max_rank=30,
            support_size=300,
            random_state=0,
            verbose=0,
            executor=Executor(workers=1, block_rows=150),
        ).fit(as_array(X), as_array(Y), sample_weight=w)
        for as_array in (xp.asarray, np.asarray)
    )
    tiny = 1e-4  # the descent ends at 1e-8 of the gain, which is quadratic near the optimum
    assert_allclose(here.coefficients_, there.coefficients_, atol=tiny)
    found, expected = (
        model.given(x=as_array(X[:9])).weights()
        for model, as_array in ((here, xp.asarray), (there, np.asarray))
    )
    assert_allclose(to_numpy(found), expected, atol=tiny * expected.max())
