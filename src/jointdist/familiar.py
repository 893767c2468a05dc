"""How well a sample knows a point of X: what its kernel has seen."""

from dataclasses import dataclass

import numpy as np

from jointdist._array import Array, to_numpy
from jointdist.atoms import Vector
from jointdist.executor import Executor, executor_for
from jointdist.features import FeatureMap
from jointdist.kernels import Kernel
from jointdist.lowrank import choose_pivots
from jointdist.rounds import is_large, on_subsample
from jointdist.rows import Rows
from jointdist.search import Search, checked_goal, kernel_rounding

__all__ = ["TRUSTED", "Familiar", "familiar"]

TRUSTED = 0.1  # the share of what features represent of the sample's kernel, on average

_SURE = 0.5  # the same, of points where forecasts are
_TOL, _RANK = 1e-3, 256


@dataclass(frozen=True, eq=False)
class Familiar:
    """The landmarks of a sample, by which it knows points.

    Attributes
    ----------
    map : FeatureMap
        The features of the landmarks.
    known : float
        The share of the kernel of the sample that they represent.
    """

    map: FeatureMap
    known: float

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
            missed: Vector = to_numpy(self.map.novelty(self.map.features(z), z))
            return np.clip(missed, 0.0, 1.0)

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
    >>> from jointdist.familiar import familiar
    >>> from jointdist.kernels import Gaussian
    >>> from jointdist.rows import as_rows
    >>> rows = as_rows(np.linspace(0, 1, 50)[:, None], where="", name="")
    >>> new = as_rows(np.array([[0.5], [9.0]]), where="", name="")
    >>> familiar(Gaussian(1.0), rows).novelty(new).round(2)
    array([0., 1.])
    """
    goal = checked_goal(x.where, x, _TOL, _RANK, "auto", relative=True)
    rng, eps = np.random.default_rng(random_state), kernel_rounding(kernel, x, "kernel_x")
    workers = executor_for(x, executor)
    search = Search(kernel, "kernel_x", eps, x, weights, goal, rng, workers)
    found = on_subsample(search) if is_large(x) else choose_pivots(search, "auto")
    return Familiar(found.map, 1 - found.error / found.trace)
