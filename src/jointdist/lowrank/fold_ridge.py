r"""Ridge regressions without each fold, for rows that cannot be left out one by one.

The leave-one-out residual of a row says little where other rows are nearly copies of it, or come
after it. In the functions :math:`\Psi` of all rows, the regression on the rows of a split is

.. math:: f(x) = \bar t + (\Psi(x) - \bar \Psi) (G + n \rho)^{-1} c

with means, sums of squares :math:`G` and sums of products :math:`c` of these rows; one
eigendecomposition of :math:`G` serves all ridges. As in leave-one-out regressions, :math:`n` is
the weight of all rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from jointdist._array import Array, Index, Vector, to_numpy
from jointdist.data.executor import Executor, executor_for
from jointdist.data.folds import Folds
from jointdist.data.table import Rows
from jointdist.lowrank.basis import host_features
from jointdist.lowrank.ridge import RidgeRegression

__all__ = ["FoldRidge", "fold_regression", "fold_ridge"]

Constant: TypeAlias = Literal["fitted", "none", "mean"]
Functions: TypeAlias = Callable[[Array], Vector]

_CELLS = 1 << 22  # predictions of a block of rows for all ridges: 32 MB


@dataclass(frozen=True, eq=False)
class _Without:
    """The regression on the rows of one split, for any ridge."""

    vectors: Vector  # the eigenvectors of G, (m, m)
    values: Vector  # its eigenvalues
    products: Vector  # c in terms of the eigenvectors, (m, r)
    centre: Vector  # the means of the functions, or zeros
    mean: Vector  # the means of the targets, or zeros

    def at(self, psi: Vector, penalties: Vector) -> Vector:
        """Return the regressions at rows with penalties ``(l, r)``, as ``(q, l, r)``."""
        both = np.add.outer(self.values, penalties)
        shrunk = np.divide(1.0, both, out=np.zeros_like(both), where=both > 0)
        slopes = self.products[:, None, :] * shrunk
        found: Vector = np.tensordot((psi - self.centre) @ self.vectors, slopes, 1)
        return self.mean + found


@dataclass(frozen=True, eq=False)
class FoldRidge:
    """Regressions of several targets, each without the rows held out by a split.

    Attributes
    ----------
    functions : callable
        From rows of X to the functions that targets are regressed on.
    weight : float
        The sum of the weights of all rows.
    without : tuple
        The regression of each split; None for a split without rows.
    """

    functions: Functions
    weight: float
    without: tuple[_Without | None, ...]

    def predict(
        self, x: Rows, folds: Folds, ridges: Vector, executor: Executor | None = None
    ) -> Vector:
        """Return out-of-fold regressions, ``(n, l, r)``; NaN where rows are never held out.

        Parameters
        ----------
        x : Rows
            Some of the rows.
        folds : Folds
            Their folds.
        ridges : array of shape (l, r)
            The ridges of all targets.
        executor : Executor, optional
            Runs the row blocks.
        """
        found = np.full((x.n, *ridges.shape), np.nan)
        for split, without in zip(folds.splits, self.without, strict=True):
            out = np.flatnonzero(np.isin(folds.part, split.out))
            if without is None or not len(out):
                continue
            step = max(_CELLS // max(ridges.size, 1), 1)
            parts = [out[i : i + step] for i in range(0, len(out), step)]

            def at(rows: Index, own: _Without = without) -> Vector:
                return own.at(self.functions(x.take(rows)), self.weight * ridges)

            each = executor_for(x, executor).each(at, parts)
            found[out] = np.concatenate(list(each))
        return found

    def errors(
        self,
        x: Rows,
        targets: Vector,
        weights: Vector | None,
        folds: Folds,
        *,
        ridges: Vector,
        executor: Executor | None = None,
    ) -> Vector:
        """Return the mean squared out-of-fold residuals of a path of ridges, ``(l, r)``.

        Parameters
        ----------
        x : Rows
            Some of the rows.
        targets : array of shape (n, r)
            Their targets.
        weights : array of shape (n,), optional
            Their weights.
        folds : Folds
            Their folds.
        ridges : array of shape (l,)
            The ridges, the same for all targets.
        executor : Executor, optional
            Runs the row blocks.
        """
        total, sum_of_weights = np.zeros((len(ridges), targets.shape[1])), 0.0
        paths = np.repeat(ridges[:, None], targets.shape[1], axis=1)
        step = max(_CELLS // max(paths.size, 1), 1)
        for start in range(0, x.n, step):
            rows = np.arange(start, min(start + step, x.n))
            found = self.predict(x.subset(rows), folds.take(rows), paths, executor)
            left = targets[rows, None, :] - found
            known = np.isfinite(left).all(axis=(1, 2))
            w = np.ones(len(rows)) if weights is None else weights[rows]
            total += np.einsum("b,blr->lr", w[known], left[known] ** 2)
            sum_of_weights += float(w[known].sum())
        return total / max(sum_of_weights, np.finfo(float).tiny)


def fold_ridge(
    functions: Functions,
    x: Rows,
    targets: Vector,
    weights: Vector | None,
    folds: Folds,
    *,
    constant: Constant = "fitted",
    weight: float | None = None,
    executor: Executor | None = None,
) -> FoldRidge:
    """Return the regressions without each fold.

    Parameters
    ----------
    functions : callable
        From rows of X to the functions that targets are regressed on.
    x : Rows
        The rows.
    targets : array of shape (n, r)
        The targets.
    weights : array of shape (n,), optional
        The weights of the rows.
    folds : Folds
        The folds of the rows.
    constant : {"fitted", "none", "mean"}, default="fitted"
        Whether regressions have a constant; or have none and explain what targets differ
        from their mean.
    weight : float, optional
        The weight of all rows, if these are some of them.
    executor : Executor, optional
        Runs the row blocks.
    """
    w = np.ones(x.n) if weights is None else weights
    sums = {
        int(part): _sums(
            functions, x, targets, w, np.flatnonzero(folds.part == part), executor
        )
        for part in np.unique(folds.part)
    }
    without = []
    for split in folds.splits:
        own = [sums[part] for part in split.fit.tolist() if part in sums]
        held = any(part in sums for part in split.out.tolist())
        total = np.asarray(sum(own[1:], own[0])) if own and held else np.zeros((1, 1))
        some = total[0, 0] > 0
        without.append(_solved(total, targets.shape[1], constant) if some else None)
    return FoldRidge(
        functions, float(w.sum()) if weight is None else weight, tuple(without)
    )


def fold_regression(
    fit: RidgeRegression,
    x: Rows,
    targets: Vector,
    weights: Vector | None,
    folds: Folds,
    *,
    executor: Executor | None = None,
) -> FoldRidge:
    """Return the regressions without each fold, in the basis of that on all rows.

    Parameters
    ----------
    fit : RidgeRegression
        The regression on all rows.
    x, targets, weights
        The rows that it was fitted to.
    folds : Folds
        Their folds.
    executor : Executor, optional
        Runs the row blocks.
    """

    def functions(z: Array) -> Vector:
        return host_features(fit.basis, z)

    n, rows = fit.weight, (x, targets, weights, folds)
    return fold_ridge(functions, *rows, weight=n, executor=executor)


def _sums(  # noqa: PLR0917
    functions: Functions,
    x: Rows,
    targets: Vector,
    w: Vector,
    rows: Index,
    executor: Executor | None,
) -> Vector:
    """Return the sums of products of one, functions and targets over the rows of a part."""
    some = x.subset(rows)

    def block(start: int, z: Array) -> Vector:
        own = rows[start : start + z.shape[0]]
        f = np.concatenate([np.ones((len(own), 1)), functions(z), targets[own]], axis=1)
        found: Vector = f.T @ (f * w[own, None])
        return found

    blocks = list(executor_for(x, executor).map(block, some))
    return np.asarray(sum(blocks[1:], blocks[0]))


def _solved(sums: Vector, r: int, constant: Constant) -> _Without:
    """Return the regression of sums over the rows of a split."""
    m, weight = len(sums) - 1 - r, sums[0, 0]
    psi, mean = sums[0, 1 : m + 1] / weight, sums[0, m + 1 :] / weight
    G, c = to_numpy(sums[1 : m + 1, 1 : m + 1]), sums[1 : m + 1, m + 1 :]
    if constant != "none":
        c = c - weight * np.multiply.outer(psi, mean)
    if constant == "fitted":
        G = G - weight * np.multiply.outer(psi, psi)
    else:
        psi, mean = np.zeros(m), np.zeros(r)
    values, vectors = np.linalg.eigh(G)
    return _Without(vectors, np.maximum(values, 0.0), vectors.T @ c, psi, mean)
