"""Rules of forests of histograms, which arrays from a file might break."""

import numpy as np

from jointdist._rules import Text, require
from jointdist.regression.forest import ColumnRanks, Forest
from jointdist.regression.tree_columns import tree_factors
from jointdist.regression.tree_rules import check_bounds, check_children

__all__ = ["check_forest", "check_ranks"]

# How far the shares of a leaf may be from sum one: their rounding to 32 bits.
_ROUNDING = 1e-4


def check_ranks(ranks: ColumnRanks) -> None:
    """Raise unless each column has bins, or ranks of its categories.

    Parameters
    ----------
    ranks : ColumnRanks
        The ranks.
    """
    where, factors = "ColumnRanks", tree_factors(ranks.encoding)
    found = ranks.categorical.tolist()
    require(found == factors, where, "categorical", f"the columns {factors}", found)
    edges = ranks.edges
    ascending = bool((edges[:, 1:] >= edges[:, :-1]).all()) and not np.isnan(edges).any()
    require(ascending, where, "edges", "ascending numbers", Text("others"))
    fewest = max((len(ranks.encoding.categories[i] or ()) for i in factors), default=0)
    size = ranks.ranks.shape[1]
    require(size == fewest, where, "ranks", f"of {fewest} categories", size)


def check_forest(forest: Forest) -> None:
    """Raise unless every row ends in a leaf of each tree that has a histogram.

    Parameters
    ----------
    forest : Forest
        The forest.
    """
    where, n, leaf = "Forest", len(forest.column), forest.column < 0
    check_bounds(where, "roots", forest.roots, n, least=1)
    require(len(forest.roots) > 1, where, "roots", "of at least one tree", Text("none"))
    width = forest.columns.encoding.width
    most = int(forest.column.max(initial=-1))
    require(most < width, where, "column", f"below {width}", most)
    check_children(where, forest.column, forest.right, forest.roots)
    entries = len(forest.share)
    require(
        len(forest.starts) == n + 1, where, "starts", f"of {n + 1} entries", Text("others")
    )
    check_bounds(where, "starts", forest.starts, entries, least=0)
    sizes = np.diff(forest.starts)
    fine = bool((sizes[leaf] > 0).all()) and not sizes[~leaf].any()
    require(fine, where, "starts", "such that leaves alone have entries", Text("others"))
    fine = len(forest.cell) == entries and int(forest.cell.max(initial=0)) < forest.count
    require(fine, where, "cell", f"{entries} numbers below {forest.count}", Text("others"))
    sums = np.add.reduceat(forest.share.astype(np.float64), forest.starts[:-1][leaf])
    fine = bool((np.abs(sums - 1) <= _ROUNDING).all())
    require(fine, where, "share", "of sum one in each leaf", Text("others"))
