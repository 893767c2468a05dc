"""The values of this room that a file can hold: projectors and recalibrations."""

import numpy as np

from jointdist._rules import Text, require
from jointdist.data.codec import Flag, Floats, Schema, Value, Whole
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.programs.tilting import Exponential
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.matched_moments import MatchedMoments
from jointdist.projection.projected import Projector
from jointdist.projection.recalibration import Recalibration

__all__ = ["register_projection"]


def register_projection(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    schema.register(
        MatchedMoments,
        "matched_moments",
        check=_check_moments,
        sample=Value(KernelSupport),
        shift=Floats("p"),
        mix=Floats("p", "r"),
        penalty=Floats("r", least=0),
        powers=Whole(least=0),
    )
    schema.register(
        Projector,
        "projector",
        check=_check_projector,
        signed=Value(KernelSupport, CellSupport, m="rank"),
        cells=Value(CellSupport, k="rank"),
        moments=Value(MatchedMoments, r="penalty.size"),
        means=Floats("1+m", "r"),
        family=Value(Exponential, k="shares.size", r="ridge.size"),
    )
    schema.register(
        IsotonicProjector,
        "isotonic_projector",
        check=_check_isotonic,
        signed=Value(KernelSupport, CellSupport),
        cells=Value(CellSupport),
    )
    schema.register(
        Recalibration,
        "recalibration",
        check=_check_recalibration,
        levels=Floats("k", least=0, most=1),
        upto=Floats("k", least=0),
        thinned=Flag(),
    )


def _check_moments(moments: MatchedMoments) -> None:
    where, count = "MatchedMoments", moments.powers
    categories = moments.sample.points.encoding.categories
    d = sum(known is None for known in categories)
    known = count in {0, d, 2 * d, d * (d + 3) // 2}
    require(known, where, "powers", f"a number of powers of {d} columns", count)
    p, found = count + moments.sample.rank, len(moments.shift)
    require(found == p, where, "shift", f"of {p} means", found)


def _check_projector(projector: Projector) -> None:
    _require_same(projector)
    same = projector.moments.sample.points.width == projector.cells.points.width
    require(same, "Projector", "moments", "of the columns of the cells", Text("others"))


def _check_isotonic(projector: IsotonicProjector) -> None:
    _require_same(projector)
    scalar = projector.signed.points.is_scalar
    require(scalar, "IsotonicProjector", "signed", "of one column of numbers", Text("not"))
    apart = bool((np.diff(projector.in_order[1]) > 0).all())
    require(apart, "IsotonicProjector", "cells", "of distinct means", Text("others"))


def _require_same(projector: Projector | IsotonicProjector) -> None:
    """Raise unless cells are of the columns of the signed distributions."""
    signed, cells = projector.signed.points, projector.cells.points
    same = signed.encoding.categories == cells.encoding.categories
    rule = "of the columns of the signed distributions"
    require(same, type(projector).__name__, "cells", rule, Text("others"))


def _check_recalibration(found: Recalibration) -> None:
    for name in ("levels", "upto"):
        values = getattr(found, name)
        ascending = values.size > 0 and bool((np.diff(values) >= 0).all())
        require(ascending, "Recalibration", name, "ascending numbers", Text("others"))
    total = float(found.upto[-1])
    good = 0 < total < np.inf
    require(good, "Recalibration", "upto", "of positive weight", total)
