"""Bins of a column: sums that are those of all rows, in any order, and that subtract."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from jointdist.lowrank.bins import Bins, propose_bins

SUMS = ("weight", "squared", "first", "second")
KINDS = ("normal", "discrete", "mixed", "constant", "offset", "cauchy")
kinds = st.sampled_from(KINDS)


def column(kind, n, rng):
    y = rng.normal(size=n)
    return {
        "normal": y,
        "discrete": np.round(3 * y),
        "mixed": np.where(rng.random(n) < 0.4, 0.0, y),  # rain: many zeros
        "constant": np.full(n, -2.5),
        "offset": 1e9 + 1e-3 * y,
        "cauchy": rng.standard_cauchy(n),
    }[kind]


def slow_sums(bins, y, w):
    """Return the five sums, one bin at a time."""
    edges = np.concatenate([[-np.inf], bins.thresholds, [np.inf]])
    found = []
    for low, high, c in zip(edges[:-1], edges[1:], bins.centres, strict=True):
        rows = (low < y) & (y <= high)
        u, v = w[rows], y[rows] - c
        found.append([u.sum(), (u * u).sum(), (u * v).sum(), (u * v * v).sum(), u.size])
    return np.array(found).T


def assert_same(a, b, rtol=1e-12):
    assert_array_equal(a.count, b.count)
    for name in SUMS:
        left, right = getattr(a, name), getattr(b, name)
        size = np.abs(right).max(initial=0.0)
        assert_allclose(left, right, rtol=rtol, atol=rtol * size, err_msg=name)


@given(
    kind=kinds, seed=seeds, weighted=st.booleans(), most=st.sampled_from([2, 9, 64, 4096])
)
def test_sums_are_those_of_the_rows_of_each_bin(kind, seed, weighted, most):
    rng = np.random.default_rng(seed)
    y = column(kind, 300, rng)
    w = rng.integers(0, 5, 300) / 2 if weighted else None
    bins = propose_bins(y[:100], None if w is None else w[:100] + 0.5, most)
    assert bins.count <= most
    assert (np.diff(bins.thresholds) > 0).all()
    assert (bins.thresholds <= bins.centres[1:]).all()
    assert (bins.centres[:-1] <= bins.thresholds).all()
    found = bins.add(y[:, None], w)
    slow = slow_sums(bins, y, np.ones(300) if w is None else w)
    for name, sums in zip((*SUMS, "count"), slow, strict=True):
        size = np.abs(sums).max()
        assert_allclose(getattr(found, name), sums, rtol=1e-12, atol=1e-12 * size)


@given(kind=kinds, seed=seeds, cuts=st.lists(st.integers(0, 400), max_size=5))
def test_sums_do_not_depend_on_blocks_or_order(kind, seed, cuts):
    rng = np.random.default_rng(seed)
    y, w = column(kind, 400, rng), rng.random(400)
    bins = propose_bins(y[:200], None, 50)
    whole, total = bins.add(y, w), bins.zero()
    order = rng.permutation(400)
    for rows in np.split(order, sorted(cuts)):
        total = total.combine(bins.add(y[rows], w[rows]))
    assert_same(total, whole)
    gone = order[:150]
    left = total.without(bins.add(y[gone], w[gone]))
    assert_same(left, bins.add(y[order[150:]], w[order[150:]]), rtol=1e-10)
    assert_array_equal(left.weight[left.count == 0], 0)
    assert (left.weight >= 0).all()
    nothing = left.without(bins.add(y[order[150:]], w[order[150:]]))
    for name in (*SUMS, "count"):
        assert_array_equal(getattr(nothing, name), 0)
    assert nothing.finish().points.shape == (0, 1)


def test_sums_of_all_libraries_agree(xp, rng):
    y, w = column("mixed", 500, rng), rng.random(500)
    bins = propose_bins(y, w, 40)
    for u in (None, w):
        found = bins.add(xp.asarray(y), None if u is None else xp.asarray(u))
        assert_same(found, bins.add(y, u))


@pytest.mark.parametrize("kind", KINDS)
def test_support_points_are_means_of_bins(kind, rng):
    y, w = column(kind, 4000, rng), rng.random(4000)
    bins = propose_bins(y[:1000], w[:1000], 100)
    binned = bins.add(y, w).finish()
    which = np.searchsorted(bins.thresholds, y)
    used = np.unique(which)
    for i, b in enumerate(used):
        rows = which == b
        v = y[rows] - bins.centres[b]
        mean, size = np.average(v, weights=w[rows]), np.abs(v).max()
        scale = max(size, abs(bins.centres[b]))
        assert_allclose(binned.points[i, 0], bins.centres[b] + mean, atol=1e-14 * scale)
        variance = np.average((v - mean) ** 2, weights=w[rows])
        assert_allclose(binned.variances[i], variance, atol=1e-13 * size**2)
        if binned.single[i]:
            assert_array_equal(y[rows], binned.points[i, 0])
            assert binned.variances[i] == 0
    assert_allclose(binned.weights, np.bincount(which, w)[used])
    assert_allclose(binned.squared, np.bincount(which, w * w)[used])
    assert_array_equal(binned.counts, np.bincount(which)[used])
    assert (np.diff(binned.points[:, 0]) > 0).all()
    several = binned.weights[~binned.single].max(initial=0.0)
    assert_allclose(binned.largest_share, several / w.sum(), atol=1e-15)


@given(seed=seeds)
def test_means_stay_in_their_bins(seed):
    rng = np.random.default_rng(seed)
    bins = Bins(np.unique(rng.normal(size=40)))
    y = np.tile(bins.thresholds, 3)  # the largest values of their bins
    points = bins.add(y, rng.random(len(y))).finish().points[:, 0]
    assert (points <= bins.thresholds).all()
    assert_allclose(points, bins.thresholds, rtol=1e-12)


def test_the_marginal_cdf_is_exact_at_thresholds_and_values_that_repeat(rng):
    y = column("mixed", 5000, rng)
    bins = propose_bins(y[:2000], None, 64)
    binned = bins.add(y).finish()
    at = np.append(bins.thresholds, 0.0)
    found = [binned.weights[binned.points[:, 0] <= t].sum() for t in at]
    assert_allclose(found, [(y <= t).sum() for t in at])
    own = binned.single & (binned.points[:, 0] == 0)
    assert binned.weights[own] == (y == 0).sum()
    assert binned.largest_share < 2.5 / 64  # a bin of 2,000 rows, by 5,000


def test_few_values_are_exact_and_new_ones_fall_between(rng):
    values = np.array([-0.0, 1.0, np.nextafter(1.0, 2.0), 5.0, 1e100, -1e100])
    y = rng.choice(values, 200)
    bins = propose_bins(np.append(values, y), None)
    binned = bins.add(y).finish()
    assert_array_equal(binned.points[:, 0], np.unique(y))
    assert_array_equal(binned.counts, np.unique(y, return_counts=True)[1])
    assert binned.single.all()
    assert binned.largest_share == 0
    new = bins.add(np.array([-1e101, -3.0, 0.5, 4.0, 6.0, 1e101]))
    assert new.count.max() == 1
    assert not new.finish().single.any()


def test_rows_without_weight_are_no_thresholds():
    bins = propose_bins(np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 1.0]))
    assert 2.0 not in bins.thresholds


def test_rows_that_are_not_there_are_refused(rng):
    y = rng.normal(size=100)
    bins = propose_bins(y, None, 10)
    sums = bins.add(y)
    rule = (
        "BinSums: `other` must be sums of rows that are there. Got more rows or weight in"
    )
    with pytest.raises(ValueError, match=f"{rule} 1 groups"):
        sums.without(bins.add(np.full(101, y.max() + 1)))
    with pytest.raises(ValueError, match=f"{rule} 1 groups"):
        sums.without(bins.add(y[:1], np.array([1e3])))
    with pytest.raises(
        ValueError, match=r"BinSums: `other` must be sums of the same bins\."
    ):
        sums.combine(Bins(bins.thresholds[1:]).add(y))


def test_equal_bins_are_the_same_frame(rng):
    y = rng.normal(size=100)
    one, two = propose_bins(y, None, 10), propose_bins(y, None, 10)
    assert one.add(y).combine(two.add(y)).count.sum() == 200


def test_no_thresholds():
    assert_array_equal(Bins(np.empty(0)).add(np.array([3.0, 5.0])).finish().points, [[4.0]])
