"""Theorem `thmChol`: what every pivoted Cholesky factor satisfies, whatever its pivots."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import algorithm_1, schur_complement
from strategies import RULES, kernels, points, seeds, tolerances

from jointdist import kernels as k
from jointdist import pivoted_cholesky
from jointdist.data.executor import Executor
from jointdist.data.table import as_rows
from jointdist.errors import NotPositiveDefiniteError, ToleranceWarning
from jointdist.lowrank import greedy as pivots
from jointdist.lowrank import randomized as rounds
from jointdist.lowrank.factor import Goal, PivotSearch

EPS = np.finfo(float).eps
rules = st.sampled_from(RULES)


def rounding(low):
    """Return how far identities may be off: eps, enlarged by the inverse of the core."""
    return 1e-10 + 1e3 * EPS * low.map.amplification**0.5


@given(kernel=kernels, X=points(), rule=rules, tol=tolerances, seed=seeds)
def test_theorem_thmchol_holds_for_every_rule_and_kernel(kernel, X, rule, tol, seed):
    K, n = kernel(X, X), len(X)
    size = max(np.trace(K), 1e-300)
    low = pivoted_cholesky(kernel, X, tol=tol, pivoting=rule, random_state=seed)
    L, B, m = low.factor, low.biorthogonal, low.rank
    left = K - L @ L.T
    off = rounding(low)
    assert np.linalg.eigvalsh(left)[0] >= -off * size
    assert low.error <= tol * size * (1 + 1e-12) + 1e-12 * size
    assert_allclose(low.error, np.trace(left), atol=off * size)  # Eq. `Bprop0`
    assert_allclose(low.relative_error, low.error / size)
    assert m <= np.linalg.matrix_rank(K, tol=1e-14 * size)
    others = np.setdiff1d(np.arange(n), low.pivots)
    assert len(set(low.pivots)) == m
    assert not B[others].any()  # Eq. `Bprop3`: B lives on the pivot rows ...
    assert np.linalg.matrix_rank(B) == m  # ... and spans them
    assert_allclose(B.T @ L, np.eye(m), atol=off)  # Eq. `Bprop2`
    height = np.abs(B).max(initial=1.0) * np.abs(K).max()
    assert_allclose(K @ B, L, atol=1e-12 * n * height + 1e-12 * size)  # Eq. `Bprop1`
    assert_allclose(low.features(X), L, atol=off * np.sqrt(size))


@given(kernel=kernels, X=points(), tol=tolerances)
def test_greedy_takes_the_largest_residual_at_each_step(kernel, X, tol):
    K = kernel(X, X)
    low = pivoted_cholesky(kernel, X, tol=tol, pivoting="greedy")
    for m, pivot in enumerate(low.pivots):
        left = np.diag(schur_complement(K, low.pivots[:m]))
        assert left[pivot] >= left.max() - 1e-9 * np.abs(K).max()


@pytest.mark.parametrize("kernel", [k.Gaussian(0.8), k.Matern(nu=0.5), k.Polynomial(3)])
@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
def test_greedy_is_algorithm_1_to_the_letter(kernel, tol, rng):
    X = rng.normal(size=(120, 2))
    K = kernel(X, X)
    L, B, chosen = algorithm_1(K, tol * np.trace(K))
    low = pivoted_cholesky(kernel, X, tol=tol, pivoting="greedy")
    assert_array_equal(low.pivots, chosen)
    size = np.abs(K).max()
    assert_allclose(low.factor, L, atol=1e-8 * size)
    assert_allclose(low.biorthogonal, B, atol=1e-8 * np.abs(B).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("kernel", "tol"),
    [
        (k.Gaussian(0.8), 1e-1),
        (k.Gaussian(0.8), 1e-3),
        (k.Matern(nu=0.5), 1e-1),
        (k.Polynomial(3), 1e-6),
        (k.Gaussian([0.5, 2.0]) + k.Polynomial(1), 1e-4),
    ],
)
def test_many_greedy_pivots_in_each_pass_are_those_of_algorithm_1(
    kernel, tol, weighted, rng, monkeypatch
):
    X = rng.normal(size=(4000, 2))
    w = rng.integers(0, 3, 4000).astype(float) if weighted else None
    passes, contest = [], pivots._contest

    def counted(*arguments):
        passes.append(contest(*arguments))
        return passes[-1]

    monkeypatch.setattr(pivots, "_contest", counted)
    low = pivoted_cholesky(kernel, X, tol=tol, pivoting="greedy", sample_weight=w)
    assert 1 < len(passes) < 0.6 * low.rank
    search = _search(kernel, X, w, tol)
    other = pivots.one_by_one(search, pivots.largest_residual)
    assert_array_equal(low.pivots, other.rows)
    assert_allclose(low.error, other.error, atol=1e-10 * low.trace)
    assert_allclose(low.map.core, other.map.core, atol=1e-8)


def _search(kernel, X, w, tol):
    rows, goal = as_rows(X, where="t", name="X"), Goal(tol, True, 2000, rank_given=True)
    seed = np.random.default_rng(0)
    return PivotSearch(kernel, "kernel", float(EPS), rows, w, goal, seed, Executor())


def test_greedy_takes_the_first_of_equal_rows(rng):
    X = np.repeat(np.arange(6.0), 700)[rng.permutation(4200), None]
    low = pivoted_cholesky(k.Delta(), X, tol=0.0, pivoting="greedy")
    assert_array_equal(low.pivots, np.sort([np.argmax(X[:, 0] == v) for v in range(6)]))
    assert low.error == 0


def test_greedy_stops_at_the_rank_asked(rng):
    X = rng.normal(size=(3000, 2))
    with pytest.warns(ToleranceWarning, match="`max_rank` = 45"):
        low = pivoted_cholesky(k.Gaussian(0.3), X, max_rank=45, pivoting="greedy")
    longer = pivoted_cholesky(k.Gaussian(0.3), X, tol=0.1, pivoting="greedy")
    assert_array_equal(low.pivots, longer.pivots[:45])


def test_column_takes_the_largest_column_norm_at_each_step(rng):
    X = rng.normal(size=(60, 2))
    kernel = k.Gaussian()
    K = kernel(X, X)
    low = pivoted_cholesky(kernel, X, tol=1e-3, pivoting="column")
    for m, pivot in enumerate(low.pivots):
        norms = np.linalg.norm(schur_complement(K, low.pivots[:m]), axis=0)
        assert norms[pivot] >= norms.max() * (1 - 1e-9)


def test_column_norms_count_weights(rng):
    X, w = rng.normal(size=(60, 2)), rng.integers(0, 4, 60).astype(float)
    K = k.Gaussian()(X, X)
    low = pivoted_cholesky(k.Gaussian(), X, pivoting="column", sample_weight=w)
    for m, pivot in enumerate(low.pivots):
        norms = w @ schur_complement(K, low.pivots[:m]) ** 2
        assert norms[pivot] >= norms[w > 0].max() * (1 - 1e-9)


def test_a_subsample_takes_its_share_of_an_absolute_tolerance(rng):
    rows = as_rows(rng.normal(size=(100_000, 1)), where="t", name="X")
    w = rng.random(100_000)

    def proposed(tol, relative, weights):
        goal = Goal(tol, relative, 100, rank_given=True)
        seed, eps = np.random.default_rng(0), float(EPS)
        search = PivotSearch(
            k.Gaussian(0.5), "kernel", eps, rows, weights, goal, seed, Executor()
        )
        return rounds.on_subsample(search).rows

    for weights, trace in ((None, 100_000), (w, w.sum())):
        share = proposed(1e-3, True, weights)
        assert_array_equal(proposed(1e-3 * trace, False, weights), share)


@pytest.mark.parametrize("runs", [1000, pytest.param(8000, marks=pytest.mark.long)])
def test_rp_draws_pivots_in_proportion_to_the_residual(runs):
    """The first two pivots have the distribution of the sequential algorithm (chi-square)."""
    X = np.array([[0.0], [0.3], [1.5], [4.0], [9.0]])
    kernel = k.Gaussian(1.0) * k.Polynomial(1)  # unequal diagonal
    K = kernel(X, X)
    counts = np.zeros((5, 5))
    for seed in range(runs):
        low = pivoted_cholesky(
            kernel, X, tol=0, max_rank=2, pivoting="rp", random_state=seed
        )
        counts[tuple(low.pivots)] += 1
    expected = np.zeros((5, 5))
    for i in range(5):
        left = np.clip(np.diag(schur_complement(K, [i])), 0, None)
        left[i] = 0
        expected[i] = runs * K[i, i] / np.trace(K) * left / left.sum()
    cells = expected > 1e-9 * runs
    assert not counts[~cells].any()
    likely = expected > 5
    chi2 = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    assert chi2 < 60  # about 15 cells; the 1e-6 quantile of chi-square with 19 is 58


def test_random_draws_all_rows_alike(rng):
    X = rng.normal(size=(6, 1)) * 10
    first = [
        pivoted_cholesky(
            k.Gaussian(), X, tol=0, max_rank=1, pivoting="random", random_state=s
        )
        for s in range(1200)
    ]
    counts = np.bincount([low.pivots[0] for low in first], minlength=6)
    assert abs(counts - 200).max() < 70  # five standard deviations


@pytest.mark.parametrize("rule", ["auto", "rp", "random"])
def test_the_same_seed_gives_the_same_pivots_whatever_the_threads(rule, rng):
    X = rng.normal(size=(6000, 2))

    def pivots_with(workers, block_rows):
        executor = Executor(workers=workers, block_rows=block_rows)
        seed = np.random.default_rng(7)
        low = pivoted_cholesky(
            k.Gaussian(), X, pivoting=rule, random_state=seed, executor=executor
        )
        return low.pivots

    first = pivots_with(1, 512)
    for workers, block_rows in ((2, 512), (5, 512), (2, 4096), (1, 100_000)):
        assert_array_equal(pivots_with(workers, block_rows), first)


@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_auto_verifies_a_large_table_on_every_row(relative, weighted, monkeypatch, rng):
    """Rows that the subsample misses must still be within the tolerance."""
    monkeypatch.setattr(rounds, "SUBSAMPLE", 500)
    X = rng.normal(size=(20_000, 2))
    X[rng.choice(20_000, 150, replace=False)] += 50 * rng.normal(size=(150, 2))
    w = rng.integers(0, 3, 20_000).astype(float) if weighted else None
    tol = 1e-3 if relative else 1e-3 * 20_000
    kernel = k.Gaussian(1.5)
    low = pivoted_cholesky(
        kernel, X, tol=tol, relative=relative, sample_weight=w, random_state=0
    )
    left = 1 - (low.features(X) ** 2).sum(axis=1)
    error = left.sum() if w is None else w @ left
    assert_allclose(low.error, error, rtol=1e-9)
    assert error <= (tol * low.trace if relative else tol)
    assert_array_equal(low.landmarks, X[low.pivots])


@pytest.mark.parametrize("rule", RULES)
def test_weights_count_rows(rule, rng):
    """A row of weight two adds its error twice, one of weight zero not at all."""
    X = rng.normal(size=(200, 2))
    w = rng.integers(0, 3, 200).astype(float)
    low = pivoted_cholesky(
        k.Gaussian(), X, tol=1e-2, pivoting=rule, sample_weight=w, random_state=0
    )
    left = 1 - (low.factor**2).sum(axis=1)
    assert_allclose(low.trace, w.sum())
    assert_allclose(low.error, w @ left, atol=1e-10)
    assert low.relative_error <= 1e-2
    assert (w[low.pivots] > 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_an_absolute_tolerance_is_the_error_itself(rule, rng):
    X = rng.normal(size=(100, 2))
    low = pivoted_cholesky(
        k.Gaussian(), X, tol=0.5, relative=False, pivoting=rule, random_state=0
    )
    assert 0 < low.error <= 0.5


@pytest.mark.parametrize("rule", RULES)
def test_a_tolerance_of_zero_goes_on_to_rounding(rule, rng):
    X = rng.normal(size=(150, 2))
    low = pivoted_cholesky(k.Gaussian(), X, tol=0, pivoting=rule, random_state=0)
    assert low.relative_error <= 1e-12
    assert_allclose(low.factor @ low.factor.T, k.Gaussian()(X, X), atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_max_rank_warns_with_the_error_reached(rule, rng):
    X = rng.normal(size=(100, 2))
    message = (
        r"^pivoted_cholesky: `max_rank` = 5 was reached on `X` before `tol` = 0\.001\. "
        r"The trace error reached is [\d.]+, a share of 0\.\d+\. Raise `max_rank`"
    )
    with pytest.warns(ToleranceWarning, match=message):
        low = pivoted_cholesky(k.Gaussian(), X, max_rank=5, pivoting=rule, random_state=0)
    assert low.rank == 5
    assert_allclose(low.error, np.trace(np.eye(100) - low.factor @ low.factor.T), rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_a_tolerance_below_rounding_is_reported_as_missed(rule, rng):
    X = rng.normal(size=(150, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        low = pivoted_cholesky(k.Gaussian(), X, tol=1e-17, pivoting=rule, random_state=0)
    assert low.relative_error < 1e-12
    assert [w.category for w in caught] == [ToleranceWarning] * (low.relative_error > 1e-17)
    message = (
        "pivoted_cholesky: the limit of rounding was reached on `X` before `tol` = 1e-17"
    )
    assert all(str(w.message).startswith(message) for w in caught)
    assert all(w.filename == __file__ for w in caught)


def test_the_default_rank_does_not_cut_silently():
    X = np.arange(2100.0)[:, None]
    with pytest.warns(ToleranceWarning, match=r"`max_rank` = 2048 was reached on `X`"):
        pivoted_cholesky(k.Delta(), X, tol=0, random_state=0)
    assert pivoted_cholesky(k.Delta(), X, tol=0, max_rank=50, random_state=0).rank == 50


@pytest.mark.parametrize("rule", RULES)
def test_a_row_of_weight_zero_has_no_say(rule, rng):
    X, w = rng.normal(size=(300, 2)), np.ones(300)
    X[7], w[7] = 1e8, 0.0
    low = pivoted_cholesky(
        k.Polynomial(2), X, sample_weight=w, pivoting=rule, random_state=0
    )
    assert 1 <= low.rank <= 6
    assert low.relative_error <= 1e-3
    assert 7 not in low.pivots


@pytest.mark.parametrize("rule", RULES)
def test_an_error_far_below_the_largest_entry_is_seen(rule, rng):
    """One huge entry of the diagonal does not hide what is left of the others."""
    X = rng.normal(size=(500, 2))
    X[0] = 1e5
    kernel = k.Polynomial(2) + k.Gaussian()
    low = pivoted_cholesky(
        kernel, X, tol=1.0, relative=False, pivoting=rule, random_state=0
    )
    left = (kernel.diagonal(X) - (low.factor**2).sum(axis=1))[1:]
    assert low.rank > 10
    assert low.error <= 1.0
    assert_allclose(low.error, left.sum(), atol=1e-3)


@pytest.mark.parametrize("dimension", [3, 30, 500])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-8])
def test_tight_clusters_far_apart_are_positive_definite(dimension, tol):
    """Rounding of distances in many columns is not taken for a bad kernel."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        centres = rng.normal(size=(20, dimension))
        centres *= 80 / np.linalg.norm(centres, axis=1, keepdims=True)
        plane = rng.normal(size=(2, dimension))
        plane /= np.linalg.norm(plane, axis=1, keepdims=True)
        X = np.repeat(centres, 30, axis=0) + 0.5 * rng.normal(size=(600, 2)) @ plane
        low = pivoted_cholesky(k.Gaussian(), X, tol=tol, random_state=0)
        assert low.relative_error <= tol


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
def test_kernels_may_compute_in_other_types(dtype):
    class Typed(k.Delta):
        def __call__(self, X, Z):
            return k.Delta.__call__(self, X, Z).astype(dtype)

        def diagonal(self, X):
            return np.ones(len(X), dtype=dtype)

    X = np.repeat(np.arange(6.0), 4)[:, None]
    low = pivoted_cholesky(Typed(), X, random_state=0)
    assert low.rank == 6
    assert low.factor.dtype == np.float64


def test_a_kernel_in_single_precision_is_taken_at_its_word(rng):
    class Single(k.Gaussian):
        def __call__(self, X, Z):
            return k.Gaussian.__call__(self, X, Z).astype(np.float32)

    X = rng.normal(size=(500, 2))
    assert pivoted_cholesky(Single(), X, random_state=0).relative_error <= 1e-3
    low = pivoted_cholesky(Single(), X, tol=0, random_state=0)
    assert low.relative_error < 1e-3


def test_a_kernel_that_returns_lists_is_refused():
    class Lists(k.Delta):
        def diagonal(self, X):
            return [1.0] * len(X)

    with pytest.raises(ValueError, match=r"diagonal is an array of .*Got <class 'list'>"):
        pivoted_cholesky(Lists(), np.zeros((3, 1)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "X",
    [
        np.ones((50, 2)),  # constant columns, all rows alike
        np.zeros((1, 3)),  # a single row
        np.repeat(np.arange(4.0), 25)[:, None],  # four distinct rows
        np.array([[1e-9, 1e9], [2e-9, 1e9], [1e-9, -3e9], [0.0, 0.0]]),  # scales apart
        np.array([[0.0], [1e300], [-1e300]]),
        np.arange(6),  # filled in below as a column of integers
    ],
    ids=["constant", "single", "duplicates", "scales", "huge", "integers"],
)
def test_awkward_tables_work(rule, X):
    X = X[:, None] if X.ndim == 1 else X
    distinct = len(np.unique(X, axis=0))
    low = pivoted_cholesky(k.Gaussian(), X, tol=0, pivoting=rule, random_state=0)
    assert low.rank <= distinct
    assert_allclose(low.factor @ low.factor.T, k.Gaussian()(X / 1.0, X / 1.0), atol=1e-7)


def test_a_kernel_matrix_of_zeros_has_rank_zero():
    low = pivoted_cholesky(k.Polynomial(1, offset=0.0), np.zeros((5, 2)), random_state=0)
    assert (low.rank, low.error, low.relative_error) == (0, 0.0, 0.0)
    assert low.factor.shape == low.biorthogonal.shape == (5, 0)


def test_prefixes_of_a_feature_map_are_its_first_features(rng):
    X = rng.normal(size=(300, 2))
    low = pivoted_cholesky(k.Gaussian(0.5), X, random_state=0)
    assert low.rank > 80  # several blocks of the forward substitution
    assert_allclose(low.map.prefix(70).features(X), low.factor[:, :70], atol=1e-10)


class Indefinite:
    """A symmetric "kernel" with negative eigenvalues."""

    def __call__(self, X, Z):
        return 1 + np.abs(X[:, :1] - Z[:, 0])

    def diagonal(self, X):
        return np.ones(len(X))

    def __repr__(self):
        return "Indefinite()"


@pytest.mark.parametrize("rule", RULES)
def test_an_indefinite_kernel_is_found_out(rule, rng):
    message = (
        r"`kernel` must be positive semidefinite\. Got Indefinite\(\): after \d+ pivots -"
    )
    with pytest.raises(NotPositiveDefiniteError, match=message):
        pivoted_cholesky(
            Indefinite(), rng.normal(size=(50, 1)), pivoting=rule, random_state=0
        )


@pytest.mark.parametrize("rule", RULES)
def test_a_negative_diagonal_is_found_out(rule, rng):
    class Negative(Indefinite):
        def __call__(self, X, Z):
            return -super().__call__(X, Z)

        def diagonal(self, X):
            return -super().diagonal(X)

    with pytest.raises(NotPositiveDefiniteError, match="after 0 pivots -1 is left"):
        pivoted_cholesky(
            Negative(), rng.normal(size=(50, 1)), pivoting=rule, random_state=0
        )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["matrix", "diagonal", "both"])
def test_a_kernel_that_is_not_finite_is_found_out(rule, value, part, rng):
    class Undefined(k.Gaussian):
        def __call__(self, X, Z):
            K = k.Gaussian.__call__(self, X, Z)
            return (
                np.where((X[:, :1] > 0) & (Z[:, 0] > 0), value, K)
                if part != "diagonal"
                else K
            )

        def diagonal(self, X):
            d = np.ones(len(X))
            return np.where(X[:, 0] > 0, value, d) if part != "matrix" else d

    with pytest.raises(
        ValueError, match=r"`kernel` must be (finite|positive semid|a kernel who)"
    ):
        pivoted_cholesky(
            Undefined(), rng.normal(size=(50, 1)), pivoting=rule, random_state=0
        )


@pytest.mark.parametrize("rule", RULES)
def test_an_overflow_is_found_out(rule):
    message = r"`kernel` must be finite on the data"
    X = np.full((4, 1), 1e60)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
        pivoted_cholesky(k.Polynomial(6), X, pivoting=rule, random_state=0)


def test_a_diagonal_that_disagrees_is_found_out(rng):
    class Disagrees(Indefinite):
        def diagonal(self, X):
            return 2 * super().diagonal(X)

    message = "`diagonal` is the diagonal of its matrix. Got 2 against 1 from"
    with pytest.raises(ValueError, match=message):
        pivoted_cholesky(Disagrees(), rng.normal(size=(50, 1)))


def test_a_kernel_of_the_wrong_shape_is_found_out(rng):
    class Wrong(Indefinite):
        def diagonal(self, X):
            return super().diagonal(X)[:, None]

    with pytest.raises(
        ValueError, match=r"`kernel` .* diagonal is an array of shape \(3,\) for 3"
    ):
        pivoted_cholesky(Wrong(), rng.normal(size=(50, 1)))


@pytest.mark.parametrize("kernel", ["gaussian", None, k.Gaussian, lambda X, Z: X @ Z.T])
def test_what_is_not_a_kernel_is_named(kernel):
    with pytest.raises(
        ValueError, match=r"^pivoted_cholesky: `kernel` must be a kernel: an"
    ):
        pivoted_cholesky(kernel, np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tol": -1e-3}, r"`tol` must be a number in \[0, 1\) when relative\. Got -0\.001"),
        ({"tol": 1.0}, r"`tol` must be a number in \[0, 1\) when relative\. Got 1\.0"),
        ({"tol": np.nan}, r"`tol` must be a number in \[0, 1\) when relative\. Got nan"),
        (
            {"tol": "small"},
            r"`tol` must be a number in \[0, 1\) when relative\. Got 'small'",
        ),
        (
            {"tol": -1, "relative": False},
            r"`tol` must be zero or positive, finite\. Got -1",
        ),
        ({"max_rank": 0}, r"`max_rank` must be an integer of at least 1, or None\. Got 0"),
        (
            {"max_rank": 2.5},
            r"`max_rank` must be an integer of at least 1, or None\. Got 2",
        ),
        ({"pivoting": "best"}, r"`pivoting` must be one of \('auto', .*\)\. Got 'best'"),
        ({"random_state": "x"}, r"`random_state` must be None, an integer from 0, .*'x'"),
        ({"random_state": -1}, r"`random_state` must be None, an integer from 0, .*-1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=r"^pivoted_cholesky: " + message):
        pivoted_cholesky(k.Gaussian(), np.zeros((3, 1)), **arguments)


def test_columns_in_another_order_are_refused(rng):
    frame = pd.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
    low = pivoted_cholesky(k.Gaussian(), frame, random_state=0)
    assert_array_equal(low.features(frame), low.features(frame.to_numpy()))
    message = r"`Z` must be of columns \['a', 'b'\]\. Got \['b', 'a'\]"
    with pytest.raises(ValueError, match=message):
        low.features(frame[["b", "a"]])


def test_a_factor_says_in_short_what_it_is(rng):
    low = pivoted_cholesky(k.Gaussian(), rng.normal(size=(20, 1)), tol=1e-2, random_state=0)
    expected = (
        f"LowRank(rank {low.rank} for 20 rows, relative_error={low.relative_error:.3g}, "
    )
    assert repr(low) == expected + "kernel=Gaussian(scale=1.0))"


def test_a_factor_survives_pickling(rng):
    low = pivoted_cholesky(k.Gaussian(), rng.normal(size=(20, 1)), random_state=0)
    again = pickle.loads(pickle.dumps(low))  # noqa: S301
    assert_array_equal(again.factor, low.factor)


def test_what_is_not_an_executor_is_named():
    with pytest.raises(
        ValueError, match=r"`executor` must be an Executor, or None\. Got 4"
    ):
        pivoted_cholesky(k.Gaussian(), np.zeros((3, 1)), executor=4)


def test_features_of_points_with_other_columns_are_refused(rng):
    low = pivoted_cholesky(k.Gaussian(), rng.normal(size=(20, 2)), random_state=0)
    with pytest.raises(ValueError, match=r"`Z` must be a table of 2 columns. Got 3"):
        low.features(np.zeros((4, 3)))


@pytest.mark.parametrize(
    "seed", [3, np.random.RandomState(3), np.random.default_rng(3), None]
)
def test_every_usual_seed_is_taken(seed, rng):
    X = rng.normal(size=(100, 1))
    assert pivoted_cholesky(k.Gaussian(), X, random_state=seed).relative_error <= 1e-3
