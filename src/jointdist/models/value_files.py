"""The values of this room that a file can hold: fitted distributions, and what they keep."""

from typing import get_args

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Text, require
from jointdist.data.codec import (
    Added,
    Either,
    Flag,
    Floats,
    Indices,
    Number,
    Optional,
    Schema,
    Sequence,
    Tuple,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.files import require_codes, require_weights
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.distributions.cell_support import CellSupport
from jointdist.distributions.kernel_support import KernelSupport
from jointdist.distributions.outcome_range import OutcomeRange
from jointdist.distributions.seen import Seen
from jointdist.distributions.support_points import SupportPoints
from jointdist.likelihood.log_ratio import LogRatio
from jointdist.likelihood.outcome_cells import Regions
from jointdist.lowrank.basis import Basis
from jointdist.lowrank.bins import Bins
from jointdist.lowrank.features import FeatureMap
from jointdist.lowrank.moments import Moments
from jointdist.lowrank.novelty import NoveltyDetector
from jointdist.lowrank.support_sums import Frame, SupportFrame, SupportSums
from jointdist.models.cell_forecasts import CellForecasts
from jointdist.models.cme import CmePositivity, ConditionalMeanEmbedding
from jointdist.models.coefficients import (
    Marginals,
    PolynomialPositivity,
    Positivity,
    Problem,
)
from jointdist.models.degrees import ChosenDegree
from jointdist.models.direct_pool import DirectPool
from jointdist.models.direction import Direction
from jointdist.models.embedding import Embedding
from jointdist.models.event_rows import WeightedRows
from jointdist.models.jdl import JointDistribution
from jointdist.models.joint import Joint
from jointdist.models.jpdl import PolynomialJointDistribution
from jointdist.models.kept_sample import KeptSample
from jointdist.models.location_scale_model import LocationScaleModel
from jointdist.models.log_linear import LogLinearJoint
from jointdist.models.members import MEMBERS
from jointdist.models.pooled_model import PooledModel
from jointdist.programs.log_ratio import LogRatioSolution
from jointdist.programs.solution import Solution
from jointdist.programs.sos import SumOfSquares
from jointdist.projection.isotonic import IsotonicProjector
from jointdist.projection.projected import Projector
from jointdist.regression.files import require_location, require_scale
from jointdist.regression.fitted_location import StackedLocation
from jointdist.regression.fitted_scale import ConstantScale, ScaleRegression
from jointdist.regression.fitted_trend import LinearTrend
from jointdist.regression.forest import Forest
from jointdist.selection.specification import Selected

__all__ = ["DISTRIBUTIONS", "encodings_field", "register_values"]

DISTRIBUTIONS = (
    JointDistribution,
    PolynomialJointDistribution,
    ConditionalMeanEmbedding,
)
_ROUNDING = 1e-9  # of the sum of a few weights
_POSITIVITY = sorted(
    {*get_args(Positivity), *get_args(PolynomialPositivity), *get_args(CmePositivity)}
)


def encodings_field() -> Tuple:
    """Return the field of the encodings of X and Y."""
    return Tuple(Value(Encoding), Value(Encoding))


def register_values(schema: Schema) -> None:
    """Register the values of this room, but for estimators.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    _register_sample(schema)
    _register_joint(schema)
    _register_log_linear(schema)
    _register_embedding(schema)
    schema.register(
        ChosenDegree,
        "chosen_degree",
        degree=Whole(least=1),
        strength=Number(least=0),
        selected=Optional(Value(Selected)),
    )
    _register_direct_pool(schema)
    schema.register(
        LocationScaleModel,
        "location_scale_model",
        check=_check_location_scale,
        location=Value(StackedLocation),
        scale=Value(ConstantScale, ScaleRegression),
        residuals=Value(*DISTRIBUTIONS),
        detector=Value(NoveltyDetector),
        explained=Floats("r", least=0),
        unexplained=Floats("r", least=0),
        encodings=encodings_field(),
        marginal=Value(SupportPoints, r="width"),
        executor=Optional(Value(Executor)),
        sample=Added(Value(WeightedRows)),
        seen=Added(Value(Seen)),
        made=Added(Value(Design)),
        trend=Added(Value(LinearTrend)),
        range=Added(Value(OutcomeRange, r="width")),
    )
    schema.register(
        CellForecasts,
        "cell_forecasts",
        check=_check_forecasts,
        model=Value(Forest, LogRatio),
        cells=Value(CellSupport),
    )
    schema.register(
        PooledModel,
        "pooled_model",
        check=_check_pool,
        base=Value(LocationScaleModel),
        others=Sequence(Value(CellForecasts), of=list),
        names=Sequence(Str(*MEMBERS), "k", of=list),
        shares=Floats("k", least=0, most=1),
        scores=Floats("k", least=0),
        score=Number(least=0),
    )


def _register_direct_pool(schema: Schema) -> None:
    schema.register(
        DirectPool,
        "direct_pool",
        check=_check_direct_pool,
        joint=Value(Joint, LogLinearJoint, Embedding),
        detector=Value(NoveltyDetector),
        encodings=encodings_field(),
        others=Sequence(Value(CellForecasts), "k", of=list),
        names=Sequence(Str(*MEMBERS), "k", of=list),
        shares=Floats("k", least=0, most=1),
        scores=Floats("k", least=0),
        score=Number(least=0),
        executor=Optional(Value(Executor)),
    )


def _register_sample(schema: Schema) -> None:
    schema.register(
        WeightedRows,
        "weighted_rows",
        check=lambda rows: require_weights("WeightedRows", rows.weights),
        rows=Value(Rows, n="n"),
        weights=Floats("n", least=0),
    )
    schema.register(
        KeptSample,
        "kept_sample",
        check=_check_kept,
        encodings=encodings_field(),
        where=Str(),
        support_size=Whole(least=1),
        seed=Whole(least=0),
        rows=Optional(Value(Sample)),
        sums=Optional(Value(SupportSums)),
        frame=Optional(Value(SupportFrame)),
        ends=Added(Floats(2, "_")),
        made=Added(Value(Design)),
        dependent=Added(Flag()),
    )
    schema.register(
        Seen,
        "seen",
        low=Floats("d", finite=False),
        high=Floats("d", finite=False),
        count=Whole(least=1),
        limit=Number(least=0, most=1),
        trials=Whole(least=1),
    )


def _register_joint(schema: Schema) -> None:
    projector = Value(Projector, IsotonicProjector)
    schema.register(
        Problem,
        "problem",
        check=_check_problem,
        x=Value(Basis, x="rank"),
        y=Value(Basis, y="rank"),
        moments=Value(Moments, x="rank_x", y="rank_y"),
        sample=Value(Sample),
        marginals=Str(*get_args(Marginals)),
        executor=Value(Executor),
        few=Optional(Value(Sample)),
        points=Optional(Tuple(Value(Rows), Value(Rows))),
    )
    schema.register(
        Direction,
        "direction",
        check=_check_direction,
        support=Value(KernelSupport, m="rank"),
        given=Value(Basis, g="rank", d="map.width"),
        encoding=Value(Encoding, d="width"),
        H=Floats("m", "g"),
        positivity=Str(*_POSITIVITY),
        most=Number(least=0, infinite=True),
        projector=Optional(projector),
        support_error=Number(least=0, most=1),
    )
    schema.register(
        Joint,
        "joint",
        check=_check_joint,
        problem=Value(Problem, x="x.rank", y="y.rank", n="sample.n"),
        kept=Value(KeptSample),
        solution=Value(Solution, SumOfSquares),
        ridge=Either(Number(least=0), Floats("y", least=0, finite=False)),
        grid=Indices("_", below="n"),
        y_given_x=Value(Direction, x="given.rank", y="support.rank"),
        x_given_y=Value(Direction, y="given.rank", x="support.rank"),
        seen=Added(Value(Seen)),
    )


def _register_log_linear(schema: Schema) -> None:
    schema.register(
        LogLinearJoint,
        "log_linear_joint",
        check=_check_log_linear,
        problem=Value(Problem),
        kept=Value(KeptSample),
        solution=Value(LogRatioSolution, k="intercept.size"),
        ridge=Number(above=0),
        grid=Indices("_", below=0),
        log_ratio=Value(LogRatio, k="shares.size"),
        cells=Value(CellSupport, k="rank"),
        edges=Floats("_"),
        most=Tuple(Number(least=0, infinite=True), Number(least=0, infinite=True)),
        errors=Tuple(Number(least=0, most=1), Number(least=0, most=1)),
        seen=Optional(Value(Seen)),
        regions=Added(Value(Regions)),
        nearby=Added(Value(FeatureMap)),
        surest=Number(least=0, most=1),
        least_y=Number(least=0, most=1),
    )


def _register_embedding(schema: Schema) -> None:
    schema.register(
        Embedding,
        "embedding",
        check=_check_embedding,
        where=Str(),
        kept=Value(KeptSample),
        solution=Value(Solution),
        basis_x=Value(Basis, x="rank"),
        support=Value(CellSupport, k="rank"),
        weights=Floats("k", "x"),
        positivity=Str(*_POSITIVITY),
        most=Number(least=0, infinite=True),
        projector=Optional(Value(Projector, IsotonicProjector)),
        seen=Added(Value(Seen)),
        ridge=Added(Number(least=0)),
    )


def _check_kept(kept: KeptSample) -> None:
    where = "KeptSample"
    one = (kept.rows is None) != (kept.sums is None)
    require(one, where, "rows, sums", "given one or the other", Text("none or both"))
    if kept.rows is not None:
        for rows, encoding in zip((kept.rows.x, kept.rows.y), kept.encodings, strict=True):
            require_codes(where, rows, encoding)
    fine = kept.made is None or kept.made.encoding == kept.encodings[0]
    require(fine, where, "made", "of the columns of X", Text("others"))
    frames = [] if kept.frame is None else [kept.frame]
    frames += [] if kept.sums is None else [kept.sums.frame]
    expected = [encoding.width for encoding in kept.encodings]
    for frame in frames:
        found = [_frame_width(side) for side in (frame.x, frame.y)]
        require(found == expected, where, "frame", f"of columns {expected}", found)
    if kept.ends is not None:
        d = kept.ends.shape[1]
        require(d == expected[0], where, "ends", f"of {expected[0]} columns", d)
    if kept.sums is not None:
        same = kept.frame is not None and kept.frame.key == kept.sums.frame.key
        require(same, where, "frame", "that of the sums", Text("another"))


def _frame_width(side: Frame) -> int:
    return 1 if isinstance(side, Bins) else len(side.origin)


def _check_problem(problem: Problem) -> None:
    where, expected = "Problem", [problem.x.map.width, problem.y.map.width]
    few = problem.sample if problem.few is None else problem.few
    tables = [(problem.sample.x, problem.sample.y), (few.x, few.y)]
    tables += [] if problem.points is None else [problem.points]
    for table in tables:
        found = [rows.d for rows in table]
        require(found == expected, where, "sample", f"of columns {expected}", found)


def _check_direction(direction: Direction) -> None:
    _require_projector("Direction", direction.projector, direction.support)


def _require_projector(
    where: str,
    projector: Projector | IsotonicProjector | None,
    support: KernelSupport | CellSupport,
) -> None:
    """Raise unless signed distributions on a support can be projected."""
    if projector is None:
        return
    signed = projector.signed
    same = signed.rank == support.rank and signed.points.n == support.points.n
    same = same and type(signed) is type(support)
    rule = "of distributions on the support"
    require(same, where, "projector", rule, Text("one of others"))


def _require_seen(where: str, seen: Seen | None, d: int) -> None:
    """Raise unless what was seen is of as many columns."""
    found = d if seen is None else len(seen.low)
    require(found == d, where, "seen", f"of {d} columns", found)


def _check_joint(joint: Joint) -> None:
    where, problem = "Joint", joint.problem
    _require_seen(where, joint.seen, problem.x.map.width)
    numbers = not np.isnan(joint.ridge).any()
    require(numbers, where, "ridge", "numbers, finite or not", Text("NaN"))
    shape = (problem.y.rank, problem.x.rank)
    found = joint.solution.value.shape
    require(found == shape, where, "solution", f"of shape {shape}", found)
    sides = (problem.x, problem.y)
    directions = (joint.x_given_y, joint.y_given_x)
    expected = [encoding.width for encoding in joint.kept.encodings]
    widths = [side.map.width for side in sides]
    require(widths == expected, where, "problem", f"of columns {expected}", widths)
    widths = [side.support.points.width for side in directions]
    require(widths == expected, where, "support", f"of columns {expected}", widths)


def _check_log_linear(joint: LogLinearJoint) -> None:
    where, problem = "LogLinearJoint", joint.problem
    _require_seen(where, joint.seen, problem.x.map.width)
    expected = [encoding.width for encoding in joint.kept.encodings]
    widths = [problem.x.map.width, problem.y.map.width]
    require(widths == expected, where, "problem", f"of columns {expected}", widths)
    found = joint.log_ratio.landmarks.shape[1]
    require(found == widths[0], where, "log_ratio", f"of {widths[0]} columns", found)
    found = joint.features_nearby.width
    require(found == widths[0], where, "nearby", f"of {widths[0]} columns", found)
    r, found = len(joint.log_ratio.shift), len(joint.solution.value)
    require(found == r, where, "solution", f"of {r} functions of Y", found)
    points, (k, edges) = joint.cells.points, (joint.cells.rank, joint.edges)
    require(
        points.width == widths[1], where, "cells", f"of {widths[1]} columns", points.width
    )
    if points.width == 1:
        fine = len(edges) == k - 1 and bool((np.diff(edges) > 0).all())
        require(fine, where, "edges", f"{k - 1} ascending numbers", Text("others"))
        return
    of_sums = points.merged is not None and points.merged.cells is not None
    found = joint.regions
    same = found is not None and found.encoding == points.encoding
    fine = of_sums if found is None else same and found.tree.leaves == k
    require(fine, where, "regions", f"{k} of the columns of Y", Text("others"))


def _check_embedding(embedding: Embedding) -> None:
    where, encodings = "Embedding", embedding.kept.encodings
    _require_projector(where, embedding.projector, embedding.support)
    _require_seen(where, embedding.seen, encodings[0].width)
    expected = [encoding.width for encoding in encodings]
    widths = [embedding.basis_x.map.width, embedding.support.points.width]
    require(widths == expected, where, "support", f"of columns {expected}", widths)


def _check_location_scale(model: LocationScaleModel) -> None:
    where, (x, y) = "LocationScaleModel", model.encodings
    d, r = x.width, y.width
    require(y.numeric, where, "encodings", "numeric columns of Y", Text("others"))
    require_location(where, model.location, d, r)
    require_scale(where, model.scale, d, r)  # type: ignore[arg-type]
    found = model.detector.map.width
    require(found == d, where, "detector", f"of {d} columns", found)
    fitted = hasattr(model.residuals, "_fitted")
    require(fitted, where, "residuals", "a fitted distribution", Text("another"))
    sides = model.residuals._encodings  # noqa: SLF001
    widths = [side.width for side in sides if side.numeric]
    require(widths == [r, r], where, "residuals", f"of {r} and {r} columns", Text(widths))
    require(model.marginal.is_scalar or r > 1, where, "marginal", "numbers", Text("not"))
    _require_seen(where, model.seen, d)
    if model.trend is not None:
        shape, most = model.trend.slopes.shape, int(model.trend.columns.max(initial=-1))
        fine = shape[1] == r and most < d
        require(fine, where, "trend", f"of {r} and {d} columns", Text(f"{shape}"))
        sparsity = model.trend.sparsity
        width = d if sparsity is None else sparsity.map.width
        require(width == d, where, "trend", f"of {d} columns of X", width)
    made = model.made is None or model.made.encoding == x
    require(made, where, "made", "of the columns of X", Text("others"))
    if model.sample is not None:
        require_codes(where, model.sample.rows, x)


def _check_forecasts(member: CellForecasts) -> None:
    where, k, model = "CellForecasts", member.cells.rank, member.model
    found = model.count if isinstance(model, Forest) else len(model.shares)
    require(found == k, where, "model", f"of {k} cells", found)


def _check_pool(model: PooledModel) -> None:
    where, count = "PooledModel", 1 + len(model.others)
    require(len(model.names) == count, where, "names", f"of {count}", len(model.names))
    _check_members(where, model.others, model.shares, model.base.encodings)


def _check_direct_pool(model: DirectPool) -> None:
    where, count = "DirectPool", len(model.others)
    require(count, where, "others", "at least one", count)
    _check_members(where, model.others, model.shares, model.encodings)
    k = model.others[0].cells.rank
    same = all(member.cells.rank == k for member in model.others)
    require(same, where, "others", f"of {k} cells each", Text("others"))
    d, found = model.encodings[0].width, model.detector.map.width
    require(found == d, where, "detector", f"of {d} columns", found)
    kept = [encoding.width for encoding in model.joint.kept.encodings]
    expected = [encoding.width for encoding in model.encodings]
    require(kept == expected, where, "joint", f"of columns {expected}", kept)


def _check_members(
    where: str,
    others: list[CellForecasts],
    shares: Vector,
    encodings: tuple[Encoding, Encoding],
) -> None:
    """Raise unless weights have sum one, and members have the columns of a model."""
    total = float(shares.sum())
    require(abs(total - 1) <= _ROUNDING, where, "shares", "of sum one", Text(f"{total:g}"))
    x, y = (encoding.width for encoding in encodings)
    for member in others:
        own = member.model
        if isinstance(own, Forest):
            found = own.columns.encoding.width
        else:
            found = int(own.landmarks.shape[1])
        require(found == x, where, "others", f"of {x} columns of X", found)
        found = member.cells.points.width
        require(found == y, where, "others", f"of {y} columns of Y", found)
