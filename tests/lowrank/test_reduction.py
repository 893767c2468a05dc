"""From rows to small matrices: one pass gives what three calls would."""

import re

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from strategies import RULES

from jointdist import kernels as k
from jointdist.data.executor import Executor
from jointdist.errors import ToleranceWarning
from jointdist.lowrank import randomized as rounds
from jointdist.lowrank.reduction import moments, reduce_sample


@pytest.fixture
def small_subsample(monkeypatch):
    """Make tables of a few thousand rows large."""
    monkeypatch.setattr(rounds, "SUBSAMPLE", 1000)


def assert_consistent(small, X, Y, tol, weights=None):
    """Check errors, pivots and moments against what the factors say themselves."""
    w = np.ones(len(X)) if weights is None else weights
    for low, rows in ((small.x, X), (small.y, Y)):
        left = 1 - (low.features(rows) ** 2).sum(axis=1)
        assert_allclose(low.error, w @ left, atol=1e-10 * low.trace)
        assert low.relative_error <= tol
        assert_array_equal(low.landmarks, rows[low.pivots])
    again = moments(small.x.map, small.y.map, X, Y, sample_weight=weights)
    assert small.moments.keys == again.keys
    assert_allclose(small.moments.gram, again.gram, atol=1e-9 * len(X))
    assert_allclose(small.moments.error_x, small.x.error, atol=1e-10 * small.x.trace)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_reduces_a_small_table(rule, rng):
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 1))
    small = reduce_sample(
        k.Gaussian(), k.Gaussian(0.5), X, Y, tol=1e-2, pivoting=rule, random_state=0
    )
    assert_consistent(small, X, Y, 1e-2)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_table_is_proposed_on_a_subsample(small_subsample, weighted, rng):  # noqa: ARG001
    X, Y = rng.normal(size=(20_000, 2)), rng.normal(size=(20_000, 1))
    w = rng.random(20_000) if weighted else None
    small = reduce_sample(
        k.Gaussian(), k.Gaussian(), X, Y, tol=1e-2, sample_weight=w, random_state=0
    )
    assert_consistent(small, X, Y, 1e-2, w)


def test_what_the_subsample_missed_is_added(small_subsample, rng):  # noqa: ARG001
    """Far points fall outside a subsample of one in twenty; all rows must count."""
    X, Y = rng.normal(size=(20_000, 2)), rng.normal(size=(20_000, 1))
    X[rng.choice(20_000, 100, replace=False)] *= 50
    small = reduce_sample(k.Gaussian(), k.Gaussian(), X, Y, tol=1e-3, random_state=0)
    assert_consistent(small, X, Y, 1e-3)


def test_no_pivot_is_kept_that_the_tolerance_does_not_need(small_subsample, rng):  # noqa: ARG001
    X, Y = rng.normal(size=(20_000, 2)), rng.normal(size=(20_000, 1))
    small = reduce_sample(k.Gaussian(), k.Gaussian(), X, Y, tol=1e-2, random_state=0)
    one_less = (small.x.features(X)[:, :-1] ** 2).sum()
    assert len(X) - one_less > 1e-2 * len(X)


def test_the_same_seed_gives_the_same_reduction(small_subsample, rng):  # noqa: ARG001
    X, Y = rng.normal(size=(5000, 2)), rng.normal(size=5000)

    def reduced(workers, block_rows):
        executor = Executor(workers=workers, block_rows=block_rows)
        return reduce_sample(
            k.Gaussian(), k.Gaussian(), X, Y, random_state=3, executor=executor
        )

    first = reduced(1, 512)
    for other in (reduced(3, 512), reduced(2, 2000)):
        assert_array_equal(other.x.pivots, first.x.pivots)
        assert_array_equal(other.y.pivots, first.y.pivots)
        assert_allclose(other.moments.gram, first.moments.gram, atol=1e-10 * 5000)


@pytest.mark.parametrize("n", [500, 5000])
def test_max_rank_warns_for_each_side(small_subsample, n, rng):  # noqa: ARG001
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=n)
    with pytest.warns(ToleranceWarning) as caught:
        small = reduce_sample(k.Gaussian(), k.Gaussian(), X, Y, max_rank=4, random_state=0)
    messages = [str(warning.message) for warning in caught]
    for message, side in zip(messages, "XY", strict=True):
        expected = f"reduce_sample: `max_rank` = 4 was reached on `{side}` before `tol`"
        assert message.startswith(expected)
    assert small.x.rank == small.y.rank == 4


def test_sides_of_different_length_are_refused():
    message = r"^reduce_sample: `Y` must be as long as `X` \(3 rows\)\. Got 2 rows"
    with pytest.raises(ValueError, match=message):
        reduce_sample(k.Gaussian(), k.Gaussian(), np.zeros((3, 1)), np.zeros(2))


def test_the_kernel_at_fault_is_named():
    message = r"^reduce_sample: `kernel_y` must be a kernel"
    with pytest.raises(ValueError, match=message):
        reduce_sample(k.Gaussian(), "rbf", np.zeros((3, 1)), np.zeros(3))


def test_an_unknown_precision_is_named(rng):
    X = rng.normal(size=(20, 1))
    with pytest.raises(
        ValueError, match=r"^reduce_sample: `precision` must be one of .*'half'"
    ):
        reduce_sample(k.Gaussian(), k.Gaussian(), X, X, precision="half")


def test_a_reduction_of_a_data_frame_is_that_of_its_numbers(rng):
    X, Y = rng.normal(size=(3000, 2)), rng.normal(size=3000)
    of_numbers = reduce_sample(k.Gaussian(), k.Gaussian(), X, Y, random_state=0)
    frames = pl.DataFrame(X, schema=["a", "b"]), pl.Series(Y)
    of_frames = reduce_sample(k.Gaussian(), k.Gaussian(), *frames, random_state=0)
    assert_array_equal(of_frames.x.pivots, of_numbers.x.pivots)
    assert_allclose(of_frames.moments.gram, of_numbers.moments.gram, atol=1e-9 * 3000)
    assert len(repr(of_frames)) < 400


class Indefinite(k.Delta):
    """Negative beyond its diagonal, and only far away from zero."""

    def __call__(self, X, Z):
        return k.Delta.__call__(self, X, Z) + 3 * ((X[:, :1] > 0) & (Z[:, 0] < 0))

    def diagonal(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize("n", [200, 5000])
def test_an_indefinite_kernel_is_named_with_its_row(small_subsample, n):  # noqa: ARG001
    X = np.zeros((n, 1))
    X[-n // 10 :: 2], X[-n // 10 + 1 :: 2] = 1.0, -1.0
    message = r"^reduce_sample: `kernel_y` must be positive semidefinite.* at row (\d+)\."
    with pytest.raises(ValueError, match=message) as caught:
        reduce_sample(k.Gaussian(), Indefinite(), X, X, random_state=0)
    assert int(re.search(message, str(caught.value)).group(1)) >= n - n // 10


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("tol", [1e-7, 1e-9])
def test_a_small_tolerance_is_verified_exactly(small_subsample, precision, tol, rng):  # noqa: ARG001
    X = rng.normal(size=(5000, 1))
    small = reduce_sample(
        k.Gaussian(2.0),
        k.Delta(),
        X,
        np.zeros(5000),
        tol=tol,
        precision=precision,
        random_state=1,
    )
    left = 1 - (small.x.features(X) ** 2).sum(axis=1)
    assert_allclose(small.x.relative_error, left.mean(), rtol=0.02)
    assert small.x.relative_error <= tol


def test_an_indefinite_kernel_on_rows_outside_the_subsample_is_found(small_subsample):  # noqa: ARG001
    """The sums of all rows give it away, and the search names the row."""
    X = np.zeros((50_000, 1))
    X[49_999] = 1.0

    class Rare(k.Delta):
        def __call__(self, X, Z):
            return k.Delta.__call__(self, X, Z) + 100 * (X[:, :1] != Z[:, 0])

        def diagonal(self, X):
            return np.ones(len(X))

    with pytest.raises(ValueError, match=r"`kernel_x` must be positive semid.*row 49999\."):
        reduce_sample(Rare(), k.Delta(), X, np.zeros(50_000), random_state=0)
