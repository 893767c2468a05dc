"""Monomials of several variables, by their exponents: order, factors and multiples."""

from collections.abc import Iterator
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from jointdist._array import Index

__all__ = ["factors_of", "graded", "is_multiple"]


def graded(degree: int, d: int) -> Iterator[list[int]]:
    """Yield exponents by total degree: an order that products keep."""
    for total in range(degree + 1):
        for factors in combinations_with_replacement(range(d), total):
            yield [factors.count(i) for i in range(d)]


def factors_of(exponents: Index) -> tuple[Index, Index]:
    """Return two earlier functions whose product each stands for; the first is linear.

    Of linear functions the first is the number of their column.
    """
    known = {tuple(e): j for j, e in enumerate(exponents.tolist())}
    factors = np.zeros((2, len(exponents)), dtype=np.intp)
    for j, e in enumerate(exponents.tolist()):
        i = next((i for i, power in enumerate(e) if power), 0)
        rest = e.copy()
        rest[i] -= 1
        linear = [int(k == i) for k in range(len(e))]
        if sum(e) > 1:
            factors[:, j] = known[tuple(linear)], known[tuple(rest)]
        else:
            factors[0, j] = i
    return factors[0], factors[1]


def is_multiple(exponents: Index, of: Index) -> NDArray[np.bool_]:
    """Tell which monomials are multiples of any of some others."""
    divides = np.all(of <= exponents[:, None, :], axis=2)
    found: NDArray[np.bool_] = np.any(divides, axis=1)
    return found
