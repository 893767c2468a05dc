r"""The working set of a program with very many linear constraints.

A few pairs of the grid, with the dual of the program that has only their constraints,

.. math:: \min_{w \ge 0} \tfrac12 w^\top G w + c^\top w, \qquad
    G_{kl} = \langle \phi_k, \phi_l / a \rangle, \qquad
    c_k = 1 + \langle \phi_k, H_0 \rangle,

where :math:`\phi_k` is the product of basis functions at the k-th pair and :math:`H_0`
the optimum without constraints. If there is a normalisation, the part of
:math:`\phi_k` along :math:`e` is taken off first.
"""

from dataclasses import dataclass, replace

import numpy as np

from jointdist._array import Matrix, Vector
from jointdist._cached import cached
from jointdist.programs.grid_sweep import Grid, Pairs
from jointdist.programs.nnls import nonnegative
from jointdist.programs.objective import Objective

__all__ = ["WorkingSet"]

_IDLE = 200  # pairs of weight zero that may stay, as they often return: from solver trials
_CHUNK = 256  # pairs whose products are formed at a time, to bound memory


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Pairs of a grid with their weights.

    Attributes
    ----------
    objective : Objective
        The objective of the program.
    grid : Grid
        The grid that the pairs are from.
    pairs : array of shape (k, 2)
        The pairs.
    weights : array of shape (k,)
        Their multipliers :math:`w`, not negative.
    G : array of shape (k, k)
        The quadratic term of the dual.
    c : array of shape (k,)
        The linear term of the dual.
    """

    objective: Objective
    grid: Grid
    pairs: Pairs
    weights: Vector
    G: Matrix
    c: Vector

    @classmethod
    def empty(cls, objective: Objective, grid: Grid) -> "WorkingSet":
        """Return the working set without pairs."""
        none = np.empty(0)
        pairs = np.empty((0, 2), dtype=np.intp)
        return cls(objective, grid, pairs, none, np.empty((0, 0)), none)

    @cached
    def coefficients(self) -> Matrix:
        r"""The :math:`H = (b - \mu e + \sum_k w_k \phi_k) / a` that the weights give."""
        return self.objective.normalised(self._free)

    @property
    def mu(self) -> float:
        """The multiplier of the normalisation."""
        return self.objective.multiplier(self._free)

    @cached
    def forces(self) -> Matrix:
        r"""The sum :math:`\sum_k w_k \phi_k`."""
        f_y, f_x = self.grid.rows(self.pairs)
        forces: Matrix = f_y.T @ (self.weights[:, None] * f_x)
        return forces

    @property
    def lower(self) -> float:
        r"""The value of the dual, :math:`-\sum a H^2 - 2 \sum w`: a lower bound.

        It is one for all weights that are not negative, optimal or not.
        """
        size = float(np.sum(self.objective.a * self.coefficients**2))
        return -size - 2 * float(self.weights.sum())

    @property
    def rounding(self) -> float:
        """What rounding may change in a value on the grid, whatever the order of sums."""
        size = self.grid.size * float(np.linalg.norm(self.coefficients))
        return 8 * float(np.finfo(np.float64).eps) * size

    def extended(self, pairs: Pairs) -> "WorkingSet":
        """Return this set with further pairs, of weight zero."""
        both = np.concatenate([self.pairs, pairs])
        old, k = len(self.pairs), len(both)
        G = np.empty((k, k))
        G[:old, :old] = self.G
        for j in range(old, k, _CHUNK):
            rows = slice(j, min(j + _CHUNK, k))
            right = self._products(both[rows])
            for i in range(0, rows.stop, _CHUNK):
                columns = slice(i, min(i + _CHUNK, rows.stop))
                left = right if i == j else self._products(both[columns])
                G[columns, rows] = left @ right.T
                G[rows, columns] = G[columns, rows].T
        return replace(
            self,
            pairs=both,
            weights=np.concatenate([self.weights, np.zeros(len(pairs))]),
            G=G,
            c=np.concatenate([self.c, 1 + self.grid.at(self._first, pairs)]),
        )

    def solved(self) -> "WorkingSet":
        """Return this set with optimal weights."""
        return replace(self, weights=nonnegative(self.G, self.c, self.weights))

    def without_idle(self, most: int = _IDLE) -> "WorkingSet":
        """Return this set without pairs of weight zero, if there are more than ``most``."""
        used = self.weights > 0
        if np.count_nonzero(~used) <= most:
            return self
        G = self.G[np.ix_(used, used)]
        return replace(
            self, pairs=self.pairs[used], weights=self.weights[used], G=G, c=self.c[used]
        )

    @property
    def _free(self) -> Matrix:
        return (self.objective.b + self.forces) * self.objective.inverse

    @cached
    def _first(self) -> Matrix:
        return self.objective.normalised(self.objective.b * self.objective.inverse)

    @cached
    def _root(self) -> Matrix:
        return np.sqrt(self.objective.inverse)

    @cached
    def _direction(self) -> Vector | None:
        if self.objective.e is None:
            return None
        u = (self.objective.e * self._root).ravel()
        size = float(np.linalg.norm(u))
        return u / size if size > 0 else None

    def _products(self, pairs: Pairs) -> Matrix:
        r"""Return :math:`\phi_k / \sqrt a` as rows, orthogonal to the normalisation."""
        f_y, f_x = self.grid.rows(pairs)
        products = f_y[:, :, None] * f_x[:, None, :]
        products *= self._root
        rows: Matrix = products.reshape(len(pairs), -1)
        u = self._direction
        if u is not None:
            rows -= np.multiply.outer(rows @ u, u)
        return rows
