"""Leaves of several columns: sums and samples of all rows, in any order, that subtract."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import seeds

from jointdist import kernels as k
from jointdist import pivoted_cholesky
from jointdist.data.executor import Executor
from jointdist.data.row_keys import END, row_keys
from jointdist.data.table import as_rows
from jointdist.lowrank import leaf_points
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.leaves import propose_leaves
from jointdist.lowrank.moments import powers
from jointdist.lowrank.polynomials import orthonormal_polynomials

KINDS = ("normal", "discrete", "tied", "mixed", "constant", "offset", "cauchy")
kinds = st.sampled_from(KINDS)
SUMS = ("weight", "squared", "powers", "features")
SAMPLE = ("keys", "group", "points", "counts", "limits")


def table(kind, n, rng, columns=2):
    z = rng.normal(size=(n, columns))
    return {
        "normal": z,
        "discrete": np.round(z),
        "tied": np.round(4 * z) / 10,
        "mixed": np.where(rng.random((n, 1)) < 0.3, -0.0, z),
        "constant": np.full((n, columns), 7.0),
        "offset": 1e9 + 1e-2 * z,
        "cauchy": rng.standard_cauchy((n, columns)),
    }[kind]


def map_at(kernel, rows, rank):
    """Return the features of the first distinct rows, nearly; they need not be good ones."""
    P = np.unique(rows[: 4 * rank], axis=0)[:rank]
    core = np.linalg.cholesky(kernel(P, P) + 1e-4 * np.eye(len(P)))
    return FeatureMap(kernel, P, core)


def framed(kind, rng, n=400, *, learned=200, **options):
    """Return rows, leaves learned from the first of them, and a map to features."""
    z = table(kind, n, rng)
    features = map_at(k.Gaussian(1e-2 if kind == "offset" else 1.0), z, 40)
    options = {"most": 8, "kept": 4, "expected_rows": n, "seed": 5} | options
    return z, propose_leaves(features, z[:learned], None, **options), features


def slow_sums(leaves, z, w, phi):
    """Return the sums of each leaf, one at a time."""
    leaf, p = leaves.locate(z), powers(leaves.origin, z).T
    parts = [leaf == j for j in range(leaves.count)]
    return {
        "weight": np.array([w[rows].sum() for rows in parts]),
        "squared": np.array([(w[rows] ** 2).sum() for rows in parts]),
        "powers": np.array([w[rows] @ p[rows] for rows in parts]),
        "features": np.array([w[rows] @ phi[rows] for rows in parts]),
        "products": (w * p.T) @ p,
    }


def slow_sample(leaves, z, w):
    """Return the k distinct rows of smallest key of each leaf below its limit, one by one."""
    leaf, keys = leaves.locate(z), row_keys(z, leaves.seed)
    found, limits = [], leaves.limits.copy()
    for j in range(leaves.count):
        here = sorted(set(keys[(leaf == j) & (keys < limits[j])].tolist()))
        if len(here) > leaves.kept:
            limits[j] = here[leaves.kept]
        for key in here[: leaves.kept]:
            rows = (keys == key) & (leaf == j)
            found.append((key, j, (z[rows] + 0.0)[0], w[rows].sum(), rows.sum()))
    return found, limits


def assert_sample(sample, found, limits, rtol=1e-12):
    assert_array_equal(sample.limits, limits)
    assert sample.size == len(found)
    if found:
        keys, group, points, weights, counts = (
            np.array(part) for part in zip(*found, strict=True)
        )
        assert_array_equal(sample.keys, keys)
        assert_array_equal(sample.group, group)
        assert_array_equal(sample.points, points)
        assert not np.signbit(sample.points[sample.points == 0]).any()
        assert_array_equal(sample.counts, counts)
        assert_allclose(sample.weights, weights, rtol=rtol)


def assert_sums(sums, slow, rtol=1e-10):
    for name in SUMS:
        size = np.abs(slow[name]).max(initial=0.0)
        assert_allclose(getattr(sums, name), slow[name], atol=rtol * size, err_msg=name)


@given(
    kind=kinds,
    seed=seeds,
    weighted=st.booleans(),
    expected=st.sampled_from([400, 10_000]),
    cuts=st.lists(st.integers(0, 400), max_size=6),
)
def test_sums_and_samples_are_those_of_all_rows(kind, seed, weighted, expected, cuts):
    rng = np.random.default_rng(seed)
    z, leaves, features = framed(kind, rng, expected_rows=expected)
    w = rng.integers(1, 5, 400) / 2 if weighted else None
    u = np.ones(400) if w is None else w
    phi = features.features(z)
    total = leaves.zero(features.rank)
    for rows in np.split(rng.permutation(400), sorted(cuts)):
        part = None if w is None else w[rows]
        total = total.combine(leaves.add(z[rows], part, phi[rows].T))
    slow = slow_sums(leaves, z, u, phi)
    assert_sums(total, slow)
    assert_allclose(total.products, slow["products"], atol=1e-10 * slow["products"].max())
    assert_array_equal(total.count, np.bincount(leaves.locate(z), minlength=leaves.count))
    assert_sample(total.sample, *slow_sample(leaves, z, u))


@given(kind=kinds, seed=seeds, cuts=st.lists(st.integers(0, 400), min_size=1, max_size=4))
def test_rows_can_be_forgotten_one_part_after_the_other(kind, seed, cuts):
    rng = np.random.default_rng(seed)
    z, leaves, features = framed(kind, rng)
    w, phi = rng.integers(1, 5, 400) / 2, features.features(z)
    parts = np.split(rng.permutation(400), sorted(cuts))
    sums = [leaves.add(z[rows], w[rows], phi[rows].T) for rows in parts]
    left = reduce(lambda a, b: a.combine(b), sums)
    for i, gone in enumerate(sums, start=1):
        limits = left.sample.limits
        left = left.without(gone)
        rows = np.concatenate([np.empty(0, dtype=int), *parts[i:]])
        assert_sums(left, slow_sums(leaves, z[rows], w[rows], phi[rows]), rtol=1e-9)
        assert_array_equal(left.sample.limits, limits)
        here = leaves.locate(z[rows])
        assert_array_equal(left.count, np.bincount(here, minlength=leaves.count))
        found, _ = slow_sample(leaves, z[rows], w[rows])
        kept = [row for row in found if row[0] < limits[row[1]]]
        assert_sample(left.sample, kept, limits, rtol=1e-9)
        if len(rows):
            assert set(left.finish().cell) == set(range(np.unique(here).size))
    for name in (*SUMS, "count"):
        assert_array_equal(getattr(left, name), 0)
    assert left.sample.size == 0
    assert left.finish().points.shape == (0, 2)


@given(seed=seeds, far=st.sampled_from([1.0, 10.0, 1e6]))
def test_products_are_exact_or_unknown_once_rows_are_forgotten(seed, far):
    rng = np.random.default_rng(seed)
    z, leaves, features = framed("normal", rng)
    z[0] *= far
    phi = features.features(z)
    sums = leaves.add(z, None, phi.T)
    left = sums.without(leaves.add(z[:9], None, phi[:9].T))
    slow = slow_sums(leaves, z[9:], np.ones(391), phi[9:])["products"]
    assert (left.products is None) == (far == 1e6)
    if left.products is not None:
        assert_allclose(left.products, slow, atol=1e-9 * slow.max())
        left = replace(left, products=None)
    assert left.combine(sums).products is None
    assert left.without(leaves.add(z[9:20], None, phi[9:20].T)).products is None


def test_products_are_of_at_most_64_powers(rng):
    z = rng.normal(size=(400, 40))
    features = map_at(k.Gaussian(9.0), z, 40)
    leaves = propose_leaves(features, z, None, expected_rows=400, seed=0, most=8)
    p = powers(leaves.origin, z)[:64]
    found = leaves.add(z, rng.random(400), features.columns(z)).products
    assert found.shape == (64, 64)
    found = leaves.add(z, None, features.columns(z)).products
    assert_allclose(found, p @ p.T, rtol=1e-10, atol=1e-10)


def test_merged_samples_do_not_depend_on_when_they_are_merged(rng, monkeypatch):
    z, leaves, features = framed("tied", rng, expected_rows=400)
    blocks = [
        leaves.add(z[i : i + 20], None, features.columns(z[i : i + 20]))
        for i in range(0, 400, 20)
    ]
    late = reduce(lambda a, b: a.combine(b), blocks)
    assert len(late.parts) == 20
    monkeypatch.setattr("jointdist.lowrank.leaf_sums._WAITING", 30)
    soon = reduce(lambda a, b: a.combine(b), blocks)
    assert len(soon.parts) <= 3
    for name in (*SAMPLE, "weights"):
        assert_array_equal(getattr(soon.sample, name), getattr(late.sample, name))
    halves = (
        reduce(lambda a, b: a.combine(b), blocks[10:]),
        reduce(lambda a, b: a.combine(b), blocks[:10]),
    )
    assert_array_equal(halves[0].combine(halves[1]).sample.keys, late.sample.keys)


def test_all_libraries_agree(xp, rng):
    z, _, features = framed("mixed", rng)
    there = FeatureMap(
        features.kernel, xp.asarray(features.landmarks), xp.asarray(features.core)
    )
    w = rng.random(400)
    options = {"most": 16, "kept": 4, "expected_rows": 4000, "seed": 5}
    leaves = propose_leaves(there, xp.asarray(z), xp.asarray(w), **options)
    here = propose_leaves(features, z, w, **options)
    assert_array_equal(here.limits, leaves.limits)
    assert here.count == 16
    for u in (None, w):
        found = leaves.add(
            xp.asarray(z),
            None if u is None else xp.asarray(u),
            there.columns(xp.asarray(z)),
        )
        known = here.add(z, u, features.columns(z))
        assert_array_equal(found.count, known.count)
        for name in (*SUMS, "products"):
            assert isinstance(getattr(found, name), np.ndarray)
            assert_allclose(
                getattr(found, name), getattr(known, name), rtol=1e-10, atol=1e-10
            )
        for name in SAMPLE:
            assert_array_equal(getattr(found.sample, name), getattr(known.sample, name))


def test_columns_in_any_memory_order_and_known_columns(rng):
    z, leaves, features = framed("normal", rng, most=32)
    columns = features.columns(z)
    first = leaves.add(z, None, columns)
    for given_ in (np.asfortranarray(columns), np.repeat(columns, 2, axis=1)[:, ::2]):
        again = leaves.add(z, None, given_, prefix_columns=given_[: leaves.map.rank])
        assert_sums(again, {name: getattr(first, name) for name in SUMS}, rtol=1e-13)
        assert_array_equal(again.count, first.count)


def test_sums_of_features_are_solved_and_taken(rng):
    z, leaves, features = framed("normal", rng)
    w = rng.random(400)
    raw = leaves.add(z, w, features.columns(z))
    phi = features.features(z)
    slow = slow_sums(leaves, z, w, phi)
    assert_sums(raw.solved(features.solve), slow)
    slow["features"] = slow["features"][:, :5]
    assert_sums(raw.solved(features.solve).taken(5), slow)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("kernel", [k.Gaussian(8.0), k.Polynomial(2), k.Laplace(10.0)])
def test_equal_rows_of_a_lattice_are_in_the_same_leaf_in_any_block(kernel, symmetric, rng):
    side = np.arange(-20.0, 21.0)
    z = np.stack(np.meshgrid(side, side / 2), axis=-1).reshape(-1, 2)
    if symmetric:  # coordinates of many rows are zero, up to rounding
        features = map_at(kernel, z[(z % 10 == 0).all(axis=1)], 15)
        sample = np.tile(z, (2, 1))
    else:
        features = map_at(kernel, rng.permutation(z), 60)
        sample = z[rng.integers(0, len(z), 1500)]
    leaves = propose_leaves(features, sample, None, expected_rows=10**6, seed=0, most=200)
    assert leaves.count > 100
    whole = leaves.locate(z)
    for size in (1, 2, 3, 7, 100):
        blocks = [leaves.locate(z[i : i + size]) for i in range(0, len(z), size)]
        assert_array_equal(np.concatenate(blocks), whole)
    own = features.columns(z[::-1])[: leaves.map.rank]
    assert_array_equal(leaves.locate(z[::-1], own), whole[::-1])


def test_features_that_enlarge_rounding_do_not_locate_rows(rng):
    z = rng.normal(size=(400, 2))
    low = pivoted_cholesky(k.Gaussian(4.0), z, tol=1e-11, random_state=0)
    assert low.map.prefix(30).amplification > 2e8
    leaves = propose_leaves(low.map, z, None, expected_rows=400, seed=0, most=32)
    assert 3 < leaves.map.rank < 30
    assert leaves.map.amplification <= 1e8
    assert_array_equal(leaves.locate(z[::-1])[::-1], leaves.locate(z))


def test_polynomial_features_locate_rows(rng):
    z = rng.normal(size=(500, 3))
    x, y = (
        as_rows(part, where="test", name=name) for part, name in ((z, "X"), (z[:, :1], "y"))
    )
    found = orthonormal_polynomials((4, 1), x, y, None, seed=0, executor=Executor())
    features = found.x
    leaves = propose_leaves(features, z, None, expected_rows=500, seed=0, most=32, kept=4)
    assert leaves.map.rank < features.rank
    assert leaves.count == 32
    known = leaves.add(z, None, features.columns(z))
    again = leaves.locate(z, features.columns(z)[: leaves.map.rank])
    assert_array_equal(known.count, np.bincount(again))


@pytest.mark.parametrize("kind", KINDS)
def test_support_points_have_the_weights_and_the_means_of_leaves(kind, rng):
    z, leaves, features = framed(kind, rng, n=3000, learned=1000, most=32, kept=16)
    w = rng.random(3000) + 0.1
    sums = leaves.add(z, w, features.columns(z))
    found, leaf = sums.finish(), leaves.locate(z)
    assert_array_equal(found.leaf, np.unique(leaf))
    assert (np.diff(found.cell) >= 0).all()
    assert (found.weights >= 0).all()
    for values, cells in (
        (found.weights, found.cell_weights),
        (found.squared, found.cell_squared),
    ):
        assert_allclose(np.bincount(found.cell, values), cells, rtol=1e-12)
    assert_allclose(found.cell_weights, np.bincount(leaf, w)[found.leaf])
    assert_array_equal(found.cell_counts, np.bincount(leaf)[found.leaf])
    missed = 0
    for i, j in enumerate(found.leaf):
        rows, here = leaf == j, found.cell == i
        v, points = z[rows] - leaves.origin, found.points[here]
        mean = w[rows] @ v / w[rows].sum()
        assert_allclose(found.cell_powers[i, :2], mean, atol=1e-12 * np.abs(v).max())
        assert_allclose(
            found.cell_features[i],
            w[rows] @ features.columns(z).T[rows] / w[rows].sum(),
            rtol=1e-9,
            atol=1e-12,
        )
        assert {tuple(p) for p in points} <= {tuple(r) for r in z[rows] + 0.0}
        distinct = np.unique(z[rows] + 0.0, axis=0)
        assert found.exact[i] == (len(distinct) == len(points))
        if found.exact[i]:
            totals = [w[rows][(z[rows] == p).all(axis=1)].sum() for p in points]
            assert_allclose(found.weights[here], totals)
        got = found.weights[here] @ (points - leaves.origin) / found.cell_weights[i]
        missed += (
            np.abs(got - mean).max()
            > 1e-8 * np.ptp(v, axis=0).max() + 1e-12 * np.abs(v).max()
        )
    assert missed <= 0.1 * len(found.leaf)
    if kind in {"constant", "discrete"}:
        assert found.exact.all()


@given(seed=seeds, columns=st.integers(1, 6), skew=st.floats(0, 3))
def test_weights_of_points_have_any_mean_inside_their_hull(seed, columns, skew):
    rng = np.random.default_rng(seed)
    cell = np.repeat(np.arange(5), 12)
    share, inside = (np.exp(rng.uniform(-1, 1, 60) * size) for size in (skew, skew / 2))
    share, inside = (part / np.bincount(cell, part)[cell] for part in (share, inside))
    points = rng.standard_t(3, size=(60, columns)) * 10.0 ** rng.integers(-6, 7, columns)
    means = np.stack([np.bincount(cell, inside * column) for column in points.T], axis=1)
    found = leaf_points._tilted(cell, share, points - means[cell])
    assert (found >= 0).all()
    got = np.stack([np.bincount(cell, found * column) for column in points.T], axis=1)
    assert_allclose((got - means) / np.abs(points).max(axis=0), 0, atol=1e-8)


def test_a_mean_outside_the_hull_moves_weight_to_the_nearest_points(rng):
    z, leaves, features = framed("normal", rng, n=3000, learned=1000, most=4, kept=2)
    sums = leaves.add(z, None, features.columns(z))
    found = sums.finish()
    assert np.bincount(found.cell).max() == 2  # a mean is nearly never on their line
    for i in range(4):
        v = found.points[found.cell == i] - leaves.origin - found.cell_powers[i, :2]
        (a, b), (wa, wb) = v / np.abs(v).max(axis=0), found.weights[found.cell == i]
        at = np.clip(-a @ (b - a) / ((b - a) @ (b - a)), 0, 1)  # the nearest to zero
        assert_allclose(wb / (wa + wb), at, atol=1e-6)


def test_a_leaf_without_sampled_rows_has_the_nearest_point(rng):
    z, leaves, features = framed("normal", rng, n=3000, learned=1000, most=4, kept=2)
    sums = leaves.add(z, None, features.columns(z))
    leaf, keys = leaves.locate(z), row_keys(z, leaves.seed)
    rows = (leaf == 2) & (keys < sums.sample.limits[2])
    left = sums.without(leaves.add(z[rows], None, features.columns(z[rows])))
    found = left.finish()
    assert np.count_nonzero(left.sample.group == 2) == 0
    assert_allclose(found.weights[found.cell == 2], left.weight[2])
    assert tuple(found.points[found.cell == 2][0]) in {tuple(p) for p in left.sample.points}
    assert not found.exact[2]


def test_discrete_data_are_exact_and_others_are_cut(rng):
    z = rng.integers(0, 8, (2000, 3)).astype(float)
    low = pivoted_cholesky(k.Gaussian(3.0), z, tol=1e-2, random_state=0)
    leaves = propose_leaves(low.map, z, None, expected_rows=2000, seed=0)
    assert (leaves.count, leaves.kept) == (1, 16_384)
    found = leaves.add(z, None, low.map.columns(z)).finish()
    distinct, counts = np.unique(z, axis=0, return_counts=True)
    order = np.lexsort(found.points.T[::-1])
    assert_array_equal(found.points[order], distinct)
    assert_array_equal(found.weights[order], counts)
    assert found.exact.all()
    small = propose_leaves(
        low.map, rng.normal(size=(50, 3)), None, expected_rows=50, seed=0
    )
    assert (small.count, small.kept) == (50, 16_384 // 50)


def test_limits_let_a_few_times_the_kept_rows_through(rng):
    z = rng.normal(size=(40_000, 2))
    low = pivoted_cholesky(k.Gaussian(), z[:2000], tol=1e-2, random_state=0)
    leaves = propose_leaves(low.map, z[:4000], None, expected_rows=40_000, seed=0, most=64)
    keys, leaf = row_keys(z, 0), leaves.locate(z)
    below = np.bincount(leaf[keys < leaves.limits[leaf]], minlength=64)
    assert leaves.limits.max() < END
    assert (below > leaves.kept).all()
    assert below.mean() < 6 * leaves.kept


def test_limits_of_values_that_repeat_keep_them_all(rng):
    z = np.round(rng.normal(size=(20_000, 2)), 1)  # about 2,500 distinct rows
    low = pivoted_cholesky(k.Gaussian(), z[:2000], tol=1e-2, random_state=0)
    leaves = propose_leaves(low.map, z[:8000], None, expected_rows=10**9, seed=0, most=256)
    assert leaves.count == 256
    full = np.bincount(leaves.locate(np.unique(z, axis=0)), minlength=256)
    sample = leaves.add(z, None, low.map.columns(z)).sample
    kept = np.bincount(sample.group, minlength=256)
    assert (kept >= np.minimum(full, leaves.kept)).mean() > 0.95


def test_rows_that_are_not_there_are_refused(rng):
    z, leaves, features = framed("normal", rng, expected_rows=400)
    sums = leaves.add(z, None, features.columns(z))
    many = np.tile(z[:1], (401, 1))
    rule = (
        "LeafSums: `other` must be sums of rows that are there. Got more rows or weight in"
    )
    with pytest.raises(ValueError, match=f"{rule} 1 groups"):
        sums.without(leaves.add(many, None, features.columns(many)))
    with pytest.raises(ValueError, match=f"{rule} 1 groups"):
        sums.without(leaves.add(z[:1], np.array([1e4]), features.columns(z[:1])))
    rule = (
        "BottomK: `other` must be a sample of rows that are there. Got rows that are not."
    )
    kept = sums.sample.points[:1]
    others = (np.nextafter(kept, 9.0), np.repeat(kept, 2, axis=0))
    low = [
        y for y in others if (row_keys(y, 5) < sums.sample.limits[leaves.locate(y)]).all()
    ]
    assert low
    for y in low:
        with pytest.raises(ValueError, match=rule):
            sums.without(leaves.add(y, None, features.columns(y)))
    rule = "LeafSums: `other` must be sums of the same leaves and features. Got others."
    with pytest.raises(ValueError, match=rule):
        sums.combine(sums.taken(3))
    with pytest.raises(ValueError, match=rule):
        sums.combine(framed("normal", rng)[1].zero(features.rank))


def test_equal_leaves_are_the_same_frame():
    one, two = (framed("normal", np.random.default_rng(0))[1] for _ in range(2))
    assert one.key == two.key
    assert one.zero(3).combine(two.zero(3)).count.sum() == 0
