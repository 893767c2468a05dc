"""The values of this room that a file can hold: rows, samples, encodings, executors."""

from typing import Any, get_args

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Text, require
from jointdist.data.codec import (
    Added,
    Flag,
    Floats,
    Indices,
    Number,
    Optional,
    Scalars,
    Schema,
    Sequence,
    Unsaved,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.data.derived_columns import CalendarCycle, MissingIndicator
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.raw_columns import Kind
from jointdist.data.sample import Sample
from jointdist.data.table import Rows
from jointdist.data.target_embedding import Embedding

__all__ = ["register_data", "require_codes", "require_weights"]

# Bytes of an array of all categories of a column, at most: a memory budget, since a short file
# can have one long name among many.
_MOST_BYTES = 1 << 28
# Threads that a file may ask for, at most: several times the cores of a machine.
_MOST_WORKERS = 4096


def register_data(schema: Schema) -> None:
    """Register the values of this room.

    Parameters
    ----------
    schema : Schema
        The schema that they are added to.
    """
    schema.register(
        Executor,
        "executor",
        workers=Optional(Whole(least=1, most=_MOST_WORKERS)),
        block_rows=Whole(least=1, most=1 << 40),
    )
    schema.register(
        Encoding,
        "encoding",
        check=_check_encoding,
        build=_encoding,
        categories=Sequence(Optional(Scalars()), "d"),
        names=Optional(Scalars(str, size="d")),
        kinds=Added(Sequence(Str(*get_args(Kind)))),
        zones=Added(Sequence(Optional(Str()))),
        neutral=Added(Sequence(Optional(Number()))),
        unused=Added(Scalars(int)),
        embedded=Added(Scalars(int)),
    )
    column = Whole(least=0)
    schema.register(MissingIndicator, "missing_indicator", column=column)
    cycles = Str("time of day", "day of week", "day of year")
    zone = Optional(Str())
    schema.register(CalendarCycle, "calendar_cycle", column=column, cycle=cycles, zone=zone)
    schema.register(
        Embedding, "target_embedding", column=column, tables=Floats("_", "_", "_")
    )
    parts = Value(MissingIndicator, CalendarCycle, Embedding)
    schema.register(
        Design,
        "design",
        check=_check_design,
        shown=Value(Encoding),
        encoding=Value(Encoding),
        parts=Sequence(parts),
        complete=Scalars(bool),
        integrated=Scalars(bool),
        seed=Whole(least=0),
        grouped=Str("rows", "groups", "splits"),
    )
    schema.register(
        Rows,
        "rows",
        check=_check_rows,
        source=Floats("n", "d"),
        where=Str(),
        name=Str(),
        numbers=Optional(Indices("n")),
    )
    schema.register(
        Sample,
        "sample",
        check=lambda sample: require_weights("Sample", sample.weights),
        x=Value(Rows, n="n"),
        y=Value(Rows, n="n"),
        weights=Optional(Floats("n", least=0)),
        categorical=Flag(),
        folds=Added(Unsaved(lambda: None)),
    )


def require_weights(where: str, weights: Vector | None) -> None:
    """Raise unless weights, which are not negative, have a sum that can be divided by.

    Parameters
    ----------
    where : str
        The class whose weights they are.
    weights : array of shape (n,), optional
        The weights.
    """
    if weights is None:
        return
    total = float(weights.sum())
    sane = np.finfo(np.float64).tiny <= total < np.inf
    require(sane, where, "weights", "of a sum that can be divided by", total)


def require_codes(where: str, rows: Rows, encoding: Encoding) -> None:
    """Raise unless rows have the columns of an encoding, with codes of its categories.

    Parameters
    ----------
    where : str
        The class whose rows they are.
    rows : Rows
        The rows.
    encoding : Encoding
        The encoding.
    """
    d, rule = encoding.width, f"of {encoding.width} columns"
    require(rows.d == d, where, "rows", rule, Text(f"{rows.d} columns"))
    if encoding.numeric:
        return
    for column, known in zip(rows.table().T, encoding.categories, strict=True):
        if known is not None:
            most = len(known) + 1  # a missing one, and one that was not seen
            good = (column >= 0) & (column <= most) & (column == np.floor(column))
            require(good.all(), where, "rows", "codes of categories", Text("others"))


def _check_encoding(encoding: Encoding) -> None:
    require(encoding.width, "Encoding", "categories", "of some columns", Text("none"))
    for name in ("kinds", "zones", "neutral"):
        found = len(getattr(encoding, name))
        rule = f"of {encoding.width} columns, or empty"
        require(found in (0, encoding.width), "Encoding", name, rule, found)
    for i in (*encoding.unused, *encoding.embedded):
        require(0 <= i < encoding.width, "Encoding", "unused", "of its columns", i)
    for known in encoding.categories:
        if known is None:
            continue
        distinct = 0 < len(known) == len(set(known))
        require(distinct, "Encoding", "categories", "distinct, and some", Text("others"))
        longest = max(len(v) if isinstance(v, str) else 0 for v in known)
        small = 4 * longest * len(known) <= _MOST_BYTES
        require(small, "Encoding", "categories", "shorter", Text(f"{longest} characters"))


def _encoding(**fields: Any) -> Encoding:
    """Return an encoding; older files know neither kinds nor missing entries."""
    added = ("kinds", "zones", "neutral", "unused", "embedded")
    return Encoding(**fields | {name: fields[name] or () for name in added})


def _check_design(design: Design) -> None:
    shown, d = design.shown, design.shown.width
    made = sum(part.width for part in design.parts)
    fine = design.encoding.width == d + made
    require(fine, "Design", "encoding", f"of {d + made} columns", design.encoding.width)
    for found in (design.complete, design.integrated):
        require(len(found) in (0, d), "Design", "complete", f"of {d} columns", len(found))
    for part in design.parts:
        require(part.column < d, "Design", "parts", f"of columns below {d}", part.column)
        if isinstance(part, Embedding):
            known = shown.categories[part.column]
            fine = known is not None and part.tables.shape[1] == len(known) + 2
            fine = fine and part.tables.shape[0] > 0
            rule = "with numbers for all categories"
            require(fine, "Design", "parts", rule, Text(f"{part.tables.shape}"))


def _check_rows(rows: Rows) -> None:
    some = rows.n > 0 and rows.d > 0
    require(some, "Rows", "source", "of some rows and columns", Text("none"))
