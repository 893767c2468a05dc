"""The shape of outcomes in files: bounds, point masses, and models of their probabilities."""

import numpy as np

from jointdist._rules import Text, require
from jointdist.data.codec import (
    Flag,
    Floats,
    Indices,
    Schema,
    Sequence,
    Value,
)
from jointdist.data.files import require_codes
from jointdist.distributions.outcome_range import OutcomeRange
from jointdist.distributions.seen import Seen
from jointdist.distributions.support_points import SupportPoints
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.models.event_rows import WeightedRows
from jointdist.models.hurdle_model import HurdleModel, MassModel
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.pooled_model import PooledModel
from jointdist.regression.forest import Forest

__all__ = ["register_hurdle"]

_ROUNDING = 1e-9  # of the sum of a few weights


def register_hurdle(schema: Schema) -> None:
    """Register what tells the shape of outcomes.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    schema.register(
        OutcomeRange,
        "outcome_range",
        check=_check_range,
        low=Floats("r", finite=False),
        high=Floats("r", finite=False),
        whole=Flag(),
    )
    schema.register(
        MassModel,
        "mass_model",
        check=_check_masses,
        values=Floats("k"),
        classes=Indices("k", below="1+k"),
        members=Sequence(Value(LogRatio, Forest), "m", of=list),
        weights=Floats("m", least=0, most=1),
    )
    schema.register(
        HurdleModel,
        "hurdle_model",
        check=_check_hurdle,
        base=Value(LocationScaleModel, PooledModel),
        masses=Value(MassModel),
        detector=Value(NoveltyDetector),
        marginal=Value(SupportPoints, r="width"),
        sample=Value(WeightedRows),
        seen=Value(Seen),
    )


def _check_range(found: OutcomeRange) -> None:
    fine = bool((found.low < found.high).all())  # NaN is not
    require(fine, "OutcomeRange", "low, high", "ascending", Text("others"))


def _check_masses(found: MassModel) -> None:
    where, count = "MassModel", len(found.values) + 1
    ascending = count > 1 and bool((np.diff(found.values) > 0).all())
    require(ascending, where, "values", "ascending", Text("others"))
    once = len(np.unique(found.classes)) == len(found.classes)
    require(once, where, "classes", "that differ", Text("others"))
    total = float(found.weights.sum())
    require(abs(total - 1) <= _ROUNDING, where, "weights", "of sum one", Text(f"{total:g}"))
    for model in found.members:
        k = model.count if isinstance(model, Forest) else len(model.shares)
        require(k == count, where, "members", f"of {count} classes", k)


def _check_hurdle(found: HurdleModel) -> None:
    where, (x, y) = "HurdleModel", found.encodings
    require(y.width == 1, where, "base", "of one column of Y", y.width)
    columns = [found.detector.map.width, len(found.seen.low), found.sample.rows.d]
    same = columns == [x.width] * 3
    require(same, where, "detector, seen, sample", f"of {x.width} columns", columns)
    require_codes(where, found.sample.rows, x)
    require(found.marginal.is_scalar, where, "marginal", "numbers", Text("not"))
    for model in found.masses.members:
        if isinstance(model, Forest):
            d = model.columns.encoding.width
        else:
            d = int(model.landmarks.shape[1])
        require(d == x.width, where, "masses", f"of {x.width} columns of X", d)
