"""Encoded columns as decision trees read them."""

import numpy as np

from jointdist._array import Vector
from jointdist.data.encoding import Encoding

__all__ = ["for_trees", "tree_factors"]

# Categories of a column that trees can tell apart, beside a missing and an unseen one.
_MOST_CATEGORIES = 250


def for_trees(z: Vector, encoding: Encoding) -> Vector:
    """Return encoded rows as trees read them: NaN where an entry is missing.

    Columns that no model acts on are zero.

    Parameters
    ----------
    z : array of shape (n, D)
        The rows, encoded.
    encoding : Encoding
        Their columns.
    """
    if not encoding.unused and not encoding.neutral:
        return z
    found = np.array(z, dtype=np.float64)
    found[:, [i for i in encoding.unused if i not in tree_factors(encoding)]] = 0.0
    for i, neutral in enumerate(encoding.neutral):
        if neutral is not None:
            found[found[:, i] == neutral, i] = np.nan
    return found


def tree_factors(encoding: Encoding) -> list[int]:
    """Return the categorical columns that trees split on, but for those that are embedded.

    A column of many categories that has no effect of its own may still have one with others.

    Parameters
    ----------
    encoding : Encoding
        The columns.
    """
    found = []
    for i, known in enumerate(encoding.categories):
        few = known is not None and len(known) <= _MOST_CATEGORIES
        if few and i not in encoding.embedded:
            found.append(i)
    return found
