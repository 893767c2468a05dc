"""The values of this room that a file can hold: support points, and functions on them."""

import numpy as np

from jointdist._array import Index, Vector
from jointdist._rules import Text, require
from jointdist.data.codec import (
    Booleans,
    Flag,
    Floats,
    Indices,
    Optional,
    Schema,
    Value,
    Whole,
)
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.files import require_codes, require_weights
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.support import Support
from jointdist.distributions.support_points import Cells, Merged, SupportPoints
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.leaf_sums import LeafSums
from jointdist.lowrank.support_files import count_powers

__all__ = ["register_distributions"]

_SMALLEST = float(np.finfo(np.float64).tiny)
# How far shares may be from sum one: rounding of the sum of 10^9 of them.
_ROUNDING = 1e-6


def register_distributions(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    _register_points(schema)
    points = Value(SupportPoints, n="n", d="width")
    sample = Value(SupportPoints, d="width")
    schema.register(
        KernelSupport,
        "kernel_support",
        check=_check_kernel_support,
        points=points,
        sample=sample,
        basis=Value(Basis, m="rank", d="map.width"),
        origin=Floats("d"),
        mean=Floats("m"),
        powers=Optional(Floats("1+m", "_")),
    )
    schema.register(
        CellSupport,
        "cell_support",
        check=_check_cell_support,
        points=points,
        sample=sample,
        origin=Floats("d"),
        mean=Floats("k", least=_SMALLEST),
        powers=Optional(Floats("1+k", "_")),
        cell=Indices("n", below="k"),
    )


def _register_points(schema: Schema) -> None:
    schema.register(
        Cells,
        "cells",
        check=_check_cells,
        sums=Value(LeafSums, l="weight.size"),
        leaf=Indices("k", below="l"),
        cell=Indices("n", below="k"),
    )
    schema.register(
        Merged,
        "merged",
        count=Whole(least=1),
        equal=Flag(),
        squared=Floats("n", least=0),
        variances=Optional(Floats("n", least=0)),
        units=Floats("d", least=0),
        exact=Booleans("n"),
        cells=Optional(Value(Cells, n="cell.size")),
    )
    schema.register(
        SupportPoints,
        "support_points",
        check=_check_points,
        rows=Value(Rows, n="n", d="d"),
        encoding=Value(Encoding, d="width"),
        weights=Optional(Floats("n", least=0)),
        executor=Value(Executor),
        merged=Optional(Value(Merged, n="squared.size", d="units.size")),
    )


def _check_points(points: SupportPoints) -> None:
    require_weights("SupportPoints", points.weights)
    require_codes("SupportPoints", points.rows, points.encoding)


def _check_cells(cells: Cells) -> None:
    _require_used("Cells", cells.cell, len(cells.leaf))
    ascending = bool((np.diff(cells.cell) >= 0).all() and (np.diff(cells.leaf) > 0).all())
    require(ascending, "Cells", "cell, leaf", "ascending", Text("others"))
    weight = cells.sums.weight[cells.leaf]
    require((weight > 0).all(), "Cells", "sums", "of positive weight", Text("others"))


def _check_kernel_support(support: KernelSupport) -> None:
    _require_powers("KernelSupport", support)
    merged = support.points.merged
    if merged is not None and merged.cells is not None:
        m, found = support.rank, merged.cells.sums.features.shape[1]
        require(found == m, "KernelSupport", "points", f"of {m} features", found)
        d, found = support.points.width, len(merged.cells.sums.leaves.origin)
        require(found == d, "KernelSupport", "points", f"of {d} columns", found)


def _check_cell_support(support: CellSupport) -> None:
    _require_powers("CellSupport", support)
    _require_used("CellSupport", support.cell, support.rank)
    _require_one("CellSupport", "mean", support.mean)


def _require_powers(where: str, support: Support) -> None:
    if support.powers is not None:
        q = support.powers.shape[1]
        known = q in count_powers(support.points.width)
        require(known, where, "powers", "those of all columns", q)


def _require_used(where: str, cell: Index, k: int) -> None:
    """Raise unless there is a point in each cell."""
    used = k > 0 and bool(np.bincount(cell, minlength=k).all())
    require(used, where, "cell", "such that no cell is empty", Text("others"))


def _require_one(where: str, name: str, shares: Vector) -> None:
    total = float(shares.sum())
    require(abs(total - 1) <= _ROUNDING, where, name, "of sum one", Text(f"{total:g}"))
