"""The Euclidean projection onto the probability simplex."""

import numpy as np

from jointdist._array import Vector

__all__ = ["onto_simplex"]


def onto_simplex(P: Vector) -> Vector:
    """Return the nearest probability vectors, row by row, in the Euclidean distance.

    All positive entries of the result are reduced by the same amount, so that their order
    stays. The distance to any probability vector does not grow.

    Parameters
    ----------
    P : array of shape (q, k)
        Any vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.programs.simplex import onto_simplex
    >>> onto_simplex(np.array([[0.75, 0.75, -0.5]]))
    array([[0.5, 0.5, 0. ]])
    """
    P = P - P.max(axis=1, keepdims=True)  # the result is the same, and its sum exact
    falling = -np.sort(-P, axis=1)
    over = (np.cumsum(falling, axis=1) - 1) / np.arange(1, P.shape[1] + 1)
    kept = np.count_nonzero(falling > over, axis=1)
    taken: Vector = np.take_along_axis(over, kept[:, None] - 1, axis=1)
    return np.maximum(P - taken, 0.0)
