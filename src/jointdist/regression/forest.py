r"""A forest as histograms: the distribution of outcomes over cells, in each leaf of each tree.

The average of the histograms of the leaves that x falls into is the distribution of a quantile
regression forest (Meinshausen, 2006). Each tree is grown on a random part of the rows, and
those left out of it are forecast by the others: out-of-fold distributions cost nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtri

from jointdist._array import Array, Index, Matrix, Vector, to_numpy
from jointdist._cached import Cached, cached
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.folds import Split
from jointdist.regression.settings import SETTINGS
from jointdist.regression.tree_columns import for_trees, tree_factors
from jointdist.regression.tree_paths import TreePaths, paths_of

__all__ = ["Forest", "ForestData", "choose_forest", "grow_forest"]

_PAIRS = 1 << 18  # pairs of a tree and a row that are followed at a time: a memory budget
_MOST_CELLS = 1 << 16  # cells that can be numbered
_ALONE = Executor(workers=1)


@dataclass(frozen=True, eq=False)
class ColumnRanks:
    """How entries of columns became whole numbers: of numbers, the bin between edges.

    Trees split on these, so that neither units nor outliers of a column matter.

    Attributes
    ----------
    edges : array of shape (d, e)
        The bins of each column: a number is in the bin of how many edges are below it.
    ranks : array of shape (d, c)
        The rank of each category among those of a column, by the mean of outcomes; -1 if it is
        unknown, and in columns of numbers.
    categorical : int32 array
        Which columns are categorical.
    encoding : Encoding
        The columns.
    """

    edges: Matrix
    ranks: NDArray[np.int16]
    categorical: NDArray[np.int32]
    encoding: Encoding

    @staticmethod
    def of(z: Matrix, target: Vector, weights: Vector, encoding: Encoding) -> "ColumnRanks":
        """Return the ranks of columns, learned from rows.

        Parameters
        ----------
        z : array of shape (n, d)
            The rows, encoded.
        target : array of shape (n,)
            A number that sums an outcome up.
        weights : array of shape (n,)
            The weights of the rows.
        encoding : Encoding
            The columns.
        """
        z, factors = for_trees(z, encoding), tree_factors(encoding)
        counts = [len(encoding.categories[i] or ()) for i in factors]
        ranks = np.full((z.shape[1], max(counts, default=0)), -1, dtype=np.int16)
        each = []
        for i, column in enumerate(z.T):
            known = ~np.isnan(column)
            if i in factors:
                codes = column[known].astype(np.intp)
                total = np.bincount(codes, weights[known], ranks.shape[1])
                sums = np.bincount(codes, (weights * target)[known], ranks.shape[1])
                seen = np.flatnonzero(total)
                order = np.argsort(sums[seen] / total[seen], kind="stable")
                ranks[i, seen[order]] = np.arange(len(seen))
                each.append(np.empty(0))
                continue
            values = np.unique(column[known])
            middle = values[:-1] / 2 + values[1:] / 2
            if len(middle) > SETTINGS.forest_bins:
                levels = np.linspace(0, 1, SETTINGS.forest_bins + 2)[1:-1]
                places = np.quantile(column[known], levels, method="inverted_cdf")
                at = np.searchsorted(
                    values, places
                )  # the edges below and above each of these
                middle = middle[np.unique(np.clip([at - 1, at], 0, len(middle) - 1))]
            each.append(middle)
        most = max((len(one) for one in each), default=0)
        padded = [np.pad(one, (0, most - len(one)), constant_values=np.inf) for one in each]
        edges = np.array(padded, dtype=np.float64).reshape(z.shape[1], most)
        return ColumnRanks(edges, ranks, np.array(factors, dtype=np.int32), encoding)

    def at(self, z: Matrix) -> NDArray[np.int16]:
        """Return the bins of rows, ``(b, d)``; -1 where an entry is missing.

        Parameters
        ----------
        z : array of shape (b, d)
            The rows, encoded.
        """
        z = for_trees(z, self.encoding)
        found = np.empty(z.shape, dtype=np.int16)
        for i, column in enumerate(z.T):
            if i in self.categorical:
                codes = np.where(column >= 0, column, -1).astype(np.intp)
                known = (codes >= 0) & (codes < self.ranks.shape[1])
                found[:, i] = np.where(known, self.ranks[i, np.where(known, codes, 0)], -1)
                continue
            found[:, i] = np.searchsorted(self.edges[i], column, side="left")
            found[np.isnan(column), i] = -1
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Forest(Cached):
    """Histograms of outcomes over cells in the leaves of trees.

    Attributes
    ----------
    columns : ColumnRanks
        How columns became whole numbers.
    column : int16 array of shape (nodes,)
        The column that a node splits by; -1 for a leaf.
    threshold : int16 array of shape (nodes,)
        The bin up to which rows go left.
    right : int32 array of shape (nodes,)
        The right child of a split, counted over the nodes of all trees.
    roots : int64 array of shape (trees + 1,)
        The first node of each tree, and the number of all nodes.
    starts : int32 array of shape (nodes + 1,)
        The first entry of the histogram of each node.
    cell : uint16 array of shape (entries,)
        The cells of the histograms.
    share : float32 array of shape (entries,)
        Their shares; those of a leaf have sum one.
    count : int
        The number of cells.
    """

    columns: ColumnRanks
    column: NDArray[np.int16]
    threshold: NDArray[np.int16]
    right: NDArray[np.int32]
    roots: NDArray[np.int64]
    starts: NDArray[np.int32]
    cell: NDArray[np.uint16]
    share: NDArray[np.float32]
    count: int

    def __repr__(self) -> str:
        trees, leaves = len(self.roots) - 1, int((self.column < 0).sum())
        return f"Forest({trees} trees, {leaves:,} leaves, {self.count} cells)"

    def weights(self, z: Array) -> Matrix:
        """Return the probabilities of the cells at rows of X, ``(b, K)``.

        Parameters
        ----------
        z : Array of shape (b, d)
            The rows, encoded.
        """
        return self.weights_of(self.columns.at(to_numpy(z)))

    def weights_of(
        self,
        B: NDArray[np.int16],
        used: NDArray[np.bool_] | None = None,
        executor: Executor = _ALONE,
    ) -> Matrix:
        """Return the probabilities of the cells at rows whose bins are known, ``(b, K)``.

        Parameters
        ----------
        B : array of shape (b, d)
            The bins of the rows.
        used : array of bool, of shape (trees, b), optional
            Which trees forecast which rows; by default all. NaN where none does.
        executor : Executor, optional
            Works on blocks of rows; by default one after the other.
        """
        roots, trees = self.roots[:-1], len(self.roots) - 1
        step = max(_PAIRS // trees, 1)
        found = np.empty((len(B), self.count))
        paths, histograms = self._paths, self._histograms

        def fill(start: int) -> None:
            part = slice(start, start + step)
            leaves = paths.leaves(B[part], roots).reshape(trees, -1).T
            each = np.ones(leaves.shape) if used is None else used[:, part].T.astype(float)
            total = each.sum(axis=1, keepdims=True)
            each = np.divide(each, total, out=np.full_like(each, np.nan), where=total > 0)
            ends = np.arange(0, leaves.size + 1, trees)
            shape = (len(leaves), len(self.column))
            chosen = csr_array((each.ravel(), leaves.ravel(), ends), shape=shape)
            found[part] = (chosen @ histograms).toarray()
            found[part][total[:, 0] == 0] = np.nan

        for _ in executor.each(fill, range(0, len(B), step)):
            pass
        return found

    @cached
    def _paths(self) -> TreePaths:
        return paths_of(self.column, self.threshold, self.right)

    @cached
    def _histograms(self) -> Any:
        shape = (len(self.column), self.count)
        return csr_array(
            (self.share.astype(np.float64), self.cell, self.starts), shape=shape
        )


@dataclass(frozen=True, slots=True, eq=False)
class ForestData:
    """Rows of X with outcomes in cells.

    Attributes
    ----------
    z : array of shape (n, d)
        The rows of X, encoded.
    encoding : Encoding
        Their columns.
    cell : array of int, of shape (n,)
        The cell of each outcome.
    count : int
        The number of cells.
    targets : array of shape (n, r)
        The outcomes; trees split where normal scores of these differ most.
    weights : array of shape (n,), optional
        The weights of the rows.
    """

    z: Matrix
    encoding: Encoding
    cell: Index
    count: int
    targets: Matrix
    weights: Vector | None


def grow_forest(
    data: ForestData,
    splits: list[Split] | None,
    *,
    trees: int,
    leaf: int,
    random_state: int,
    executor: Executor,
) -> tuple[Forest, Matrix]:
    """Return a forest, and its distributions of rows that were held out.

    Parameters
    ----------
    data : ForestData
        The rows.
    splits : list of Split, optional
        How rows are held out; by default, each tree leaves some out at random.
    trees : int
        The number of trees.
    leaf : int
        The fewest rows of a leaf.
    random_state : int
        The seed.
    executor : Executor
        Grows trees next to each other.

    Returns
    -------
    tuple of Forest and array of shape (n, K)
        The forest, and the probabilities of cells by trees that a row was left out of; NaN
        where there is none.
    """
    grower = _Grower.of(data, splits, random_state, executor)
    grown = grower.grow(leaf, trees)
    return grower.forest(grown), grower.held(grown)


def choose_forest(
    data: ForestData,
    splits: list[Split] | None,
    score: Callable[[Matrix], float],
    *,
    trees: int,
    leaves: Sequence[int],
    trial_trees: int,
    random_state: int,
    executor: Executor,
) -> tuple[Forest, Matrix, int]:
    """Return the forest with the best size of leaves, its distributions, and that size.

    Parameters
    ----------
    data, splits
        As in :func:`grow_forest`.
    score : callable
        From the distributions of rows that were held out to their score; less is better.
    trees : int
        The number of trees.
    leaves : sequence of int
        The fewest rows of a leaf that are tried.
    trial_trees : int
        The trees by which these are compared; those of the best are the forest's first.
    random_state, executor
        As in :func:`grow_forest`.
    """
    grower = _Grower.of(data, splits, random_state, executor)
    tried = {leaf: grower.grow(leaf, min(trial_trees, trees)) for leaf in leaves}
    best = min(tried, key=lambda leaf: score(grower.held(tried[leaf])))
    grown = grower.grow(best, trees, tried[best])
    return grower.forest(grown), grower.held(grown), best


class _Grown(NamedTuple):
    """Trees, and the rows that each was grown on."""

    trees: list[tuple[Any, ...]]
    rows: list[Index]


@dataclass(frozen=True, slots=True, eq=False)
class _Grower:
    """Rows prepared for trees: all of them, and those without each fold."""

    data: ForestData
    columns: ColumnRanks
    B: NDArray[np.int16]
    U: Matrix
    w: Vector
    splits: list[Split] | None
    seed: int
    executor: Executor

    @staticmethod
    def of(
        data: ForestData, splits: list[Split] | None, seed: int, executor: Executor
    ) -> "_Grower":
        n = len(data.z)
        w = np.ones(n) if data.weights is None else data.weights
        U = _normal_scores(data.targets, w)
        columns = ColumnRanks.of(data.z, U.mean(axis=1), w, data.encoding)
        return _Grower(data, columns, columns.at(data.z), U, w, splits, seed, executor)

    def grow(
        self, leaf: int, trees: int, first: list[_Grown] | None = None
    ) -> list[_Grown]:
        """Return trees on all rows, and on those without each fold; the first may be known."""
        rng, splits = np.random.default_rng(self.seed), self.splits or []
        seeds = [int(seed) for seed in rng.integers(2**31, size=trees)]
        parts = [(np.arange(len(self.B)), trees)]
        parts += [(split.fit, max(trees // len(splits), 1)) for split in splits]
        known = first or [_Grown([], []) for _ in parts]
        tree_of = _tree_of(self.B, self.U, self.data, self.w, leaf)
        found = []
        for (rows, count), before in zip(parts, known, strict=True):
            new = seeds[len(before.trees) : count]
            some = [_part(rows, self.w, seed) for seed in new]
            pairs = zip(new, some, strict=True)
            grown = self.executor.each(lambda pair: tree_of(*pair), pairs)
            found.append(_Grown([*before.trees, *grown], [*before.rows, *some]))
        return found

    def forest(self, grown: list[_Grown]) -> Forest:
        """Return the forest of all rows."""
        return _joined(grown[0].trees, self.columns, self.data.count)

    def held(self, grown: list[_Grown]) -> Matrix:
        """Return the distributions of rows that were held out."""
        n, count = len(self.B), self.data.count
        if self.splits is None:
            left = np.ones((len(grown[0].trees), n), dtype=bool)
            for own, rows in zip(left, grown[0].rows, strict=True):
                own[rows] = False
            return self.forest(grown).weights_of(self.B, left, self.executor)
        found = np.full((n, count), np.nan)
        for split, part in zip(self.splits, grown[1:], strict=True):
            forest = _joined(part.trees, self.columns, count)
            found[split.out] = forest.weights_of(self.B[split.out], None, self.executor)
        return found


def _part(rows: Index, w: Vector, seed: int) -> Index:
    """Return the rows that a tree is grown on, at least one, in proportion to no weight."""
    some = rows[w[rows] > 0]
    size = min(max(round(SETTINGS.forest_share * len(some)), 1), SETTINGS.forest_rows)
    return np.sort(np.random.default_rng(seed).choice(some, size, replace=False))


def _tree_of(
    B: NDArray[np.int16], U: Matrix, data: ForestData, w: Vector, leaf: int
) -> Callable[[int, Index], tuple[Any, ...]]:
    """Return a function that grows a tree with a seed on some rows."""
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415  # importing is to be fast

    Z, equal = B.astype(np.float32), data.weights is None
    columns = max(int(SETTINGS.forest_features * Z.shape[1]), 1)

    def grow(seed: int, rows: Index) -> tuple[Any, ...]:
        tree = DecisionTreeRegressor(
            min_samples_leaf=leaf,
            max_features=min(columns, SETTINGS.forest_columns),
            random_state=seed,
        )
        X = Z[rows]  # checked here: numbers that are finite, in rows
        tree.fit(X, U[rows], sample_weight=None if equal else w[rows], check_input=False)
        nodes: Any = tree.tree_  # compiled, without types
        ends = nodes.children_left < 0
        column = np.where(ends, -1, nodes.feature).astype(np.int16)
        threshold = np.where(ends, 0, np.floor(nodes.threshold)).astype(np.int16)
        right = np.where(ends, 0, nodes.children_right).astype(np.int32)
        at = nodes.apply(X)
        shape = (nodes.node_count, data.count)
        H = csr_array((w[rows], (at, data.cell[rows])), shape=shape)
        H.sum_duplicates()
        sums = np.repeat(
            np.add.reduceat(np.append(H.data, 0.0), H.indptr[:-1]), np.diff(H.indptr)
        )
        return column, threshold, right, np.diff(H.indptr), H.indices, H.data / sums

    return grow


def _joined(grown: list[tuple[Any, ...]], columns: ColumnRanks, count: int) -> Forest:
    """Return trees with their nodes one after the other."""
    column, threshold, right, sizes, cell, share = map(list, zip(*grown, strict=True))
    counts = [len(each) for each in column]
    roots = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    moved = [
        np.where(c < 0, 0, r + start)
        for c, r, start in zip(column, right, roots, strict=False)
    ]
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return Forest(
        columns,
        np.concatenate(column),
        np.concatenate(threshold),
        np.concatenate(moved).astype(np.int32),
        roots,
        starts.astype(np.int32),
        np.concatenate(cell).astype(np.uint16),
        np.concatenate(share).astype(np.float32),
        count,
    )


def _normal_scores(targets: Matrix, w: Vector) -> Matrix:
    """Return the normal scores of each column, which outliers do not dominate."""
    found = np.empty(targets.shape)
    for scores, column in zip(found.T, targets.T, strict=True):
        which = np.unique(column, return_inverse=True)[1]
        weight = np.bincount(which.reshape(-1), w)
        level = (np.cumsum(weight) - weight / 2) / weight.sum()
        scores[:] = ndtri(np.clip(level, 1e-9, 1 - 1e-9))[which.reshape(-1)]
    return found
