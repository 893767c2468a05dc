"""Novelty: how far a point is out of distribution, measured by the kernel.

A point is close to the sample if the features at the landmarks reproduce its kernel. Unbounded
kernels, such as polynomials, reproduce points however far away; there, the novelty of points
grows as their :math:`k(x, x)` exceeds the largest of the sample.
"""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.lowrank.factor import checked_goal, pivot_search
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.kernel_range import largest_kernel, within
from jointdist.lowrank.randomized import rough_pivots

__all__ = ["TRUSTED", "NoveltyDetector", "novelty_detector"]

# Answers revert to the marginal where features reproduce less than this share of what they
# reproduce of the sample's kernel on average.
TRUSTED = 0.1

# Point forecasts are trusted in full from this share on.
_FULL_TRUST = 0.5
# The tolerance and largest rank of the landmarks: a coarse picture of the sample is enough.
_TOL, _MAX_RANK = 1e-3, 256


@dataclass(frozen=True, eq=False)
class NoveltyDetector:
    """Landmarks of a sample that measure how far points are out of distribution.

    Attributes
    ----------
    map : FeatureMap
        The features at the landmarks.
    explained : float
        The share of the trace of the sample's kernel matrix that they reproduce.
    most : float
        The largest kernel of a row with itself; infinite if all are equal.
    """

    map: FeatureMap
    explained: float
    most: float

    def novelty(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return how far rows are out of distribution, from zero to one.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            Runs the row blocks.
        """

        def block(_start: int, z: Array) -> Vector:
            phi = self.map.features(z)
            missed: Vector = to_numpy(self.map.novelty(phi, z))
            reach = within(self.map, to_numpy(phi), z, self.most)
            return 1 - reach * (1 - np.clip(missed, 0.0, 1.0))

        return np.concatenate(list(executor_for(x, executor).map(block, x)))

    def doubt(self, novelty: Vector) -> Vector:
        """Return by how much forecasts revert to the marginal: zero near the sample.

        Parameters
        ----------
        novelty : array of shape (q,)
            How far the rows are out of distribution.
        """
        found: Vector = 1 - np.minimum((1 - novelty) / (_FULL_TRUST * self.explained), 1.0)
        return found


def novelty_detector(
    kernel: Kernel,
    x: Rows,
    weights: Vector | None = None,
    *,
    random_state: int = 0,
    executor: Executor | None = None,
) -> NoveltyDetector:
    """Return the novelty detector of a sample and a kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    x : Rows
        The rows of the sample.
    weights : array of shape (n,), optional
        Their weights.
    random_state : int, default=0
        The seed of the choice of landmarks.
    executor : Executor, optional
        Runs the row blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.lowrank.novelty import novelty_detector
    >>> from jointdist.kernels import Gaussian
    >>> from jointdist.data.table import as_rows
    >>> rows = as_rows(np.linspace(0, 1, 50)[:, None], where="", name="")
    >>> new = as_rows(np.array([[0.5], [9.0]]), where="", name="")
    >>> novelty_detector(Gaussian(1.0), rows).novelty(new).round(2)
    array([0., 1.])
    """
    goal, rng = checked_goal(x, _TOL, _MAX_RANK), np.random.default_rng(random_state)
    search = pivot_search(kernel, "kernel_x", x, weights, goal, rng=rng, executor=executor)
    found = rough_pivots(search)
    explained = 1 - found.error / found.trace if found.trace > 0 else 1.0
    most = largest_kernel(found.map, x, weights, executor)
    return NoveltyDetector(found.map, explained, most)
