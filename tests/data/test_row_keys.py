"""Keys of rows: equal for equal rows, and otherwise as good as independent and uniform."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_array_equal
from scipy.stats import chisquare, kstest

from jointdist._array import to_numpy
from jointdist.data.row_keys import row_keys

WRAP = 1 << 64
tables = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(allow_nan=False),
)


def mixed(x):
    """Return the finaliser of SplitMix64 as it was published, in whole numbers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % WRAP
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % WRAP
    return x ^ (x >> 31)


def slow_keys(z, seed):
    keys = []
    for row in z:
        key = mixed((seed + 0x9E3779B97F4A7C15) % WRAP)
        for value in row:
            bits = (
                0 if value == 0 else int.from_bytes(np.float64(value).tobytes(), "little")
            )
            key = mixed(key ^ bits)
        keys.append(key % (1 << 63))
    return keys


@given(z=tables, seed=st.integers(0, 2**64 - 1))
def test_keys_are_those_of_whole_numbers(z, seed):
    assert row_keys(z, seed).tolist() == slow_keys(z, seed)


def test_keys_are_the_same_in_all_libraries(xp, rng):
    z = np.concatenate([rng.normal(size=(50, 3)), [[0.0, -0.0, 1e300]]])
    keys = row_keys(xp.asarray(z), 7)
    assert keys.dtype == xp.int64
    assert_array_equal(to_numpy(keys), row_keys(z, 7))


@given(z=tables, cut=st.integers(0, 6))
def test_keys_do_not_depend_on_blocks_order_or_memory(z, cut):
    keys = row_keys(z, 3)
    parts = [row_keys(z[:cut], 3), row_keys(z[cut:], 3)]
    assert_array_equal(np.concatenate(parts), keys)
    assert_array_equal(row_keys(np.asfortranarray(z)[::-1], 3), keys[::-1])


def test_equal_values_have_equal_keys():
    a = row_keys(np.array([[0.0, 2.0]]), 0)
    assert_array_equal(a, row_keys(np.array([[-0.0, 2.0]]), 0))
    assert_array_equal(a, row_keys(np.array([[0, 2]], dtype=np.float32), 0))
    assert a != row_keys(np.array([[2.0, 0.0]]), 0)


whole = np.arange(200.0)
LATTICES = {
    "integers": np.arange(40_000.0)[:, None],
    "tenths": 0.1 * np.arange(40_000)[:, None],
    "equal columns": np.tile(np.arange(40_000.0)[:, None], (1, 3)),
    "opposite columns": np.arange(40_000.0)[:, None] * [1.0, -1.0],
    "pairs": np.stack(np.meshgrid(whole, whole), axis=-1).reshape(-1, 2),
    "powers of two": np.stack(
        np.meshgrid(2.0 ** np.arange(-100, 100), 2.0 ** np.arange(200)), axis=-1
    ).reshape(-1, 2),
    "zeros but one": np.kron(np.eye(8), np.arange(1.0, 5001.0)[:, None]),
}


@pytest.mark.parametrize("name", LATTICES)
def test_keys_of_lattices_are_uniform(name):
    keys = row_keys(LATTICES[name], 0)
    assert np.unique(keys).size == len(keys)
    for shift in (55, 47, 0):  # leading bits, the next ones, and the last
        found = np.bincount((keys >> shift) & 255, minlength=256)
        assert chisquare(found).pvalue > 1e-4
    assert kstest(keys / 2.0**63, "uniform").pvalue > 1e-4


def test_neighbours_and_seeds_have_unrelated_keys(rng):
    z = rng.normal(size=(4000, 2))
    bits = np.unpackbits(row_keys(z, 0).view(np.uint8).reshape(-1, 8), axis=1)
    moved = [np.nextafter(z, np.inf), z * [1.0, -1.0], z[:, ::-1]]
    others = [row_keys(part, 0) for part in moved] + [row_keys(z, 1)]
    for keys in others:
        flips = bits ^ np.unpackbits(keys.view(np.uint8).reshape(-1, 8), axis=1)
        shares = np.delete(flips.mean(axis=0), 7 * 8)  # the sign is never set
        assert np.abs(shares - 0.5).max() < 5 * 0.5 / np.sqrt(len(z))
