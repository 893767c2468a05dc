r"""Kernel regression on neighbours: a small kernel matrix of its own for every point.

The forecast at x is that of a Gaussian process with an unknown mean, given the 64 nearest
rows alone. Where rows are many, and a kernel is so rough that no factor of low rank can
represent it, nothing else is as near to the regression on all rows. What a row is missed by
if it is left out is found by leaving it out of its own neighbours.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from jointdist._array import Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.table import Rows
from jointdist.kernels import Kernel
from jointdist.kernels.median_heuristic import Family
from jointdist.lowrank.features import kernel_matrix

__all__ = ["Kriging", "kriging"]

_NEIGHBOURS = 64
_RIDGES = 10.0 ** np.array([-6.0, -4.0, -3.0, -2.0, -1.5, -1.0, -0.5, 0.0])
_JUDGED = 1000  # rows by which ridges are judged
_APART = 3.0  # of two words, in units of the scales of numbers


@dataclass(frozen=True, eq=False)
class Kriging:
    """Regressions on neighbours.

    Attributes
    ----------
    kernel : Kernel
        The kernel.
    rows : array of shape (n, d)
        All rows.
    targets : array of shape (n, r)
        The targets.
    noise : array of shape (n,)
        The ridge of each row in units of ``ridge``: one over its weight.
    tree : KDTree
        Finds neighbours.
    unit : array of shape (d,)
        In what distances of neighbours are measured.
    ridge : array of shape (r,)
        The ridge of each target.
    """

    kernel: Kernel
    rows: Vector
    targets: Vector
    noise: Vector
    tree: KDTree
    unit: Vector
    ridge: Vector

    def predict(self, x: Rows, executor: Executor | None = None) -> Vector:
        """Return the regressions at rows, ``(q, r)``.

        Parameters
        ----------
        x : Rows
            The rows.
        executor : Executor, optional
            How row blocks are worked on.
        """
        points = to_numpy(x.read(0, x.n))
        _, near = self.tree.query(points / self.unit, min(_NEIGHBOURS, len(self.rows)))
        near = near.reshape(len(points), -1)
        return _of_each(self._regressed(points, near, self.ridge, x, executor))

    def left_out(
        self, which: NDArray[np.intp], ridges: Vector, x: Rows, executor: Executor | None
    ) -> Vector:
        """Return the regressions at rows of its own, each left out, ``(k, l, r)``.

        Parameters
        ----------
        which : array of shape (k,)
            The numbers of the rows.
        ridges : array of shape (l,)
            The ridges.
        x : Rows
            All rows, for the choice of an executor.
        executor : Executor, optional
            How row blocks are worked on.
        """
        points = self.rows[which]
        most = min(_NEIGHBOURS + 1, len(self.rows))
        _, near = self.tree.query(points / self.unit, most)
        own = near == which[:, None]
        own[~own.any(axis=1), -1] = True  # rows that are equal to many others
        near = near[~own].reshape(len(points), -1)
        return self._regressed(points, near, ridges, x, executor)

    def _regressed(
        self,
        points: Vector,
        near: NDArray[np.intp],
        ridges: Vector,
        x: Rows,
        executor: Executor | None,
    ) -> Vector:
        """Return regressions at points given their neighbours, with several ridges."""
        eye = np.eye(near.shape[1])

        def at(i: int) -> Vector:
            own = near[i]
            Z, T = self.rows[own], self.targets[own]
            K = kernel_matrix(self.kernel, Z, np.vstack([Z, points[i]]))
            A = K[:, :-1] + ridges[:, None, None] * (self.noise[own] * eye)
            b = K[:, -1]
            S = np.linalg.solve(A, np.insert(T, 0, 1.0, axis=1)[None])
            mean = S[:, :, 1:].sum(axis=1) / S[:, :, :1].sum(axis=1)
            found: Vector = mean + b @ S[:, :, 1:] - mean * (b @ S[:, :, :1])
            return found

        def block(start: int) -> list[Vector]:
            return [at(i) for i in range(start, min(start + _JUDGED, len(points)))]

        workers = executor_for(x, executor)
        parts = workers.each(block, range(0, len(points), _JUDGED))
        return np.asarray([one for part in parts for one in part])


def kriging(
    family: Family,
    x: Rows,
    targets: Vector,
    weights: Vector | None = None,
    *,
    random_state: int = 0,
    executor: Executor | None = None,
) -> tuple[Kriging, Vector]:
    """Return a regression on neighbours, and its residuals when each row is left out.

    Parameters
    ----------
    family : Family
        The kernel, with the scales by which neighbours are told.
    x : Rows
        The rows of X, coded.
    targets : array of shape (n, r)
        What X is to explain.
    weights : array of shape (n,), optional
        The weights of the rows, all positive.
    random_state : int, default=0
        The seed of the rows by which ridges are judged.
    executor : Executor, optional
        How row blocks are worked on.

    Returns
    -------
    tuple of Kriging and array of shape (n, r)
        The regression, and what it misses of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.encoding import learn_encoding
    >>> from jointdist.kriging import kriging
    >>> from jointdist.scales import Family
    >>> coded = learn_encoding(np.linspace(0, 9, 300)[:, None], where="", name="")
    >>> y = np.sin(coded.rows.source)
    >>> fit, left = kriging(Family(coded.encoding, (2.0,), nu=1.5), coded.rows, y)
    >>> bool(abs(left).max() < 0.01)
    True
    """
    rows = to_numpy(x.read(0, x.n))
    unit = np.full(rows.shape[1], 1 / _APART)
    unit[family.numbers] = family.scales
    noise = np.ones(len(rows)) if weights is None else weights.mean() / weights
    kernel, tree = family.at(1.0), KDTree(rows / unit)
    none = np.zeros(targets.shape[1])
    first = Kriging(kernel, rows, targets, noise, tree, unit, none)
    rng = np.random.default_rng(random_state)
    some = rng.choice(len(rows), min(_JUDGED, len(rows)), replace=False)
    missed = targets[some, None, :] - first.left_out(some, _RIDGES, x, executor)
    w = None if weights is None else weights[some]
    ridge = _RIDGES[np.average(missed**2, axis=0, weights=w).argmin(axis=0)]
    fit = Kriging(kernel, rows, targets, noise, tree, unit, ridge)
    every = fit.left_out(np.arange(len(rows)), ridge, x, executor)
    return fit, targets - _of_each(every)


def _of_each(found: Vector) -> Vector:
    """Return of regressions with as many ridges as targets those with its own ridge."""
    own: Vector = np.einsum("qrr->qr", found)
    return own
