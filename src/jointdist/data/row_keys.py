"""Keys of rows: a hash of their values, by which samples of distinct rows are drawn.

Equal rows have equal keys. The keys of distinct rows are as good as independent and uniform,
so that the rows with the smallest keys are a random sample of the distinct rows, which does
not depend on the order of the rows or on where they are read.
"""

from jointdist._array import Array, array_namespace, device, float64_bits

__all__ = ["END", "row_keys"]

END = (1 << 63) - 1  # the largest int64 number; keys are from 0 to this

# The finaliser of SplitMix64 (Steele, Lea and Flood 2014; Stafford's variant 13 of the
# multipliers): shifts and multipliers under which each bit depends on all others.
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: the increment of SplitMix64


def row_keys(z: Array, seed: int) -> Array:
    """Return the key of each row, an int64 number from 0 to below 2^63.

    Parameters
    ----------
    z : Array of shape (n, d)
        The rows. Zero and negative zero are the same value.
    seed : int
        Another seed gives other keys.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.row_keys import row_keys
    >>> row_keys(np.array([[1.0, 0.0], [1.0, -0.0], [0.0, 1.0]]), seed=0).tolist()
    [790515523727221284, 790515523727221284, 1050707909450435400]
    """
    xp = array_namespace(z)
    z = xp.astype(z, xp.float64, copy=False)
    start = _signed(_mixed_number(seed % (1 << 64) + _GOLDEN))
    keys = xp.full((z.shape[0],), start, dtype=xp.int64, device=device(z))
    for i in range(z.shape[1]):
        keys ^= float64_bits(z[:, i] + 0.0)  # negative zero becomes zero
        keys = _mixed(keys)
    return keys & END


def _mixed(keys: Array) -> Array:
    """Return int64 numbers, mixed in the arithmetic of unsigned 64-bit integers."""
    for shift, factor in _STEPS:
        moved = keys >> shift
        moved &= (1 << (64 - shift)) - 1  # what the sign has filled up
        keys ^= moved
        if factor != 1:
            keys *= _signed(factor)  # wraps around
    return keys


def _mixed_number(number: int) -> int:
    """Return one integer, mixed likewise."""
    for shift, factor in _STEPS:
        number %= 1 << 64
        number = (number ^ (number >> shift)) * factor
    return number % (1 << 64)


def _signed(number: int) -> int:
    """Return the int64 number with the bits of an unsigned one."""
    return number - (1 << 64) if number > END else number
