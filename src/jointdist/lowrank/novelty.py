"""How well a sample knows a point of X: what its kernel has seen.

A point that the landmarks represent is known, but for kernels without a bound, which represent
points however far away: beyond the largest kernel of a row, :math:`k(x, x)`, points are the less
known the larger theirs is.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import checked_goal, pivot_search
from jointdist.lowrank.features import FeatureMap, kernel_diagonal
from jointdist.lowrank.protocols import Features
from jointdist.lowrank.randomized import rough_pivots

__all__ = ["Familiar", "familiar", "largest_kernel", "within"]

TRUSTED = 0.1  # the share of what features represent of the sample's kernel, on average

_SURE = 0.5  # the same, of points where forecasts are
_TOL, _RANK = 1e-3, 256
_NEGLIGIBLE = 1e-6  # of all weight


@dataclass(frozen=True, eq=False)
class Familiar:
    """The landmarks of a sample, by which it knows points.

    Attributes
    ----------
    map : FeatureMap
        The features of the landmarks.
    known : float
        The share of the kernel of the sample that they represent.
    most : float
        The largest kernel of a row; infinite if all are equal.
    """

    map: FeatureMap
    known: float
    most: float

    def novelty(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return how unlike the sample rows are, from zero to one.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            How row blocks are worked on.
        """

        def block(_start: int, z: Array) -> Vector:
            phi = self.map.features(z)
            missed: Vector = to_numpy(self.map.novelty(phi, z))
            reach = within(self.map, to_numpy(phi), z, self.most)
            return 1 - reach * (1 - np.clip(missed, 0.0, 1.0))

        return np.concatenate(list(executor_for(x, executor).map(block, x)))

    def doubt(self, novelty: Vector) -> Vector:
        """Return how little is to be trusted at such rows: zero near the sample.

        Parameters
        ----------
        novelty : array of shape (q,)
            How unlike the sample they are.
        """
        found: Vector = 1 - np.minimum((1 - novelty) / (_SURE * self.known), 1.0)
        return found


def familiar(
    kernel: Kernel,
    x: Rows,
    weights: Vector | None = None,
    *,
    random_state: int = 0,
    executor: Executor | None = None,
) -> Familiar:
    """Return what a sample knows, by a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    x : Rows
        The rows of the sample.
    weights : array of shape (n,), optional
        Their weights.
    random_state : int, default=0
        The seed of landmarks.
    executor : Executor, optional
        How row blocks are worked on.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.lowrank.novelty import familiar
    >>> from jointdist.kernels import Gaussian
    >>> from jointdist.data.table import as_rows
    >>> rows = as_rows(np.linspace(0, 1, 50)[:, None], where="", name="")
    >>> new = as_rows(np.array([[0.5], [9.0]]), where="", name="")
    >>> familiar(Gaussian(1.0), rows).novelty(new).round(2)
    array([0., 1.])
    """
    goal, rng = checked_goal(x, _TOL, _RANK), np.random.default_rng(random_state)
    search = pivot_search(kernel, "kernel_x", x, weights, goal, rng=rng, executor=executor)
    found = rough_pivots(search)
    known = 1 - found.error / found.trace if found.trace > 0 else 1.0
    return Familiar(found.map, known, largest_kernel(found.map, x, weights, executor))


def largest_kernel(
    own: Features,
    x: Rows,
    weights: Vector | None = None,
    executor: Executor | None = None,
) -> float:
    """Return the largest kernel of a row with itself, infinity where all are equal.

    Rows of next to no weight, all together, do not count.

    Parameters
    ----------
    own : Features
        The features, with their kernel.
    x : Rows
        The rows of the sample.
    weights : array of shape (n,), optional
        Their weights.
    executor : Executor, optional
        How row blocks are worked on.
    """
    if not own.rank:
        return np.inf
    if isinstance(own, FeatureMap):
        landmarks = to_numpy(kernel_diagonal(own.kernel, own.landmarks))
        if own.rank > 1 and landmarks.min() == landmarks.max():
            return np.inf

    def block(_start: int, z: Array) -> Vector:
        each: Vector = to_numpy(kernel_diagonal(own.kernel, z))
        return each if weights is not None else each.max(keepdims=True)

    found = np.concatenate(list(executor_for(x, executor).map(block, x)))
    if weights is None:
        return float(found.max())
    order = np.argsort(-found)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(found[order[np.searchsorted(share, _NEGLIGIBLE, side="right")]])


def within(own: Features, phi: Vector, z: Array, most: float) -> Vector:
    """Return how far points are within the reach of a sample, from zero to one.

    Parameters
    ----------
    own : Features
        The features, with their kernel.
    phi : array of shape (q, m)
        The features at the points, in any rotation.
    z : Array of shape (q, d)
        The points.
    most : float
        The largest kernel of a row of the sample.
    """
    if np.isinf(most):
        return np.ones(z.shape[0])
    if own.complete:
        whole = np.einsum("qm,qm->q", phi, phi)
    else:
        whole = to_numpy(kernel_diagonal(own.kernel, z))
    whole = np.nan_to_num(whole, nan=np.inf)
    return np.where(whole > most, most / np.maximum(whole, most), 1.0)
