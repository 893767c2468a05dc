"""The values of this room that a file can hold: rows, samples, encodings, executors."""

import numpy as np

from jointdist._array import Vector
from jointdist._rules import Text, require
from jointdist.data.codec import (
    Added,
    Flag,
    Floats,
    Indices,
    Optional,
    Scalars,
    Schema,
    Sequence,
    Unsaved,
    Value,
    Whole,
)
from jointdist.data.codec import Text as Str
from jointdist.data.encoding import Encoding
from jointdist.data.executor import Executor
from jointdist.data.sample import Sample
from jointdist.data.table import Rows

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
        categories=Sequence(Optional(Scalars()), "d"),
        names=Optional(Scalars(str, size="d")),
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
            good = (column >= 0) & (column < len(known)) & (column == np.floor(column))
            require(good.all(), where, "rows", "codes of categories", Text("others"))


def _check_encoding(encoding: Encoding) -> None:
    require(encoding.width, "Encoding", "categories", "of some columns", Text("none"))
    for known in encoding.categories:
        if known is None:
            continue
        distinct = 0 < len(known) == len(set(known))
        require(distinct, "Encoding", "categories", "distinct, and some", Text("others"))
        longest = max(len(v) if isinstance(v, str) else 0 for v in known)
        small = 4 * longest * len(known) <= _MOST_BYTES
        require(small, "Encoding", "categories", "shorter", Text(f"{longest} characters"))


def _check_rows(rows: Rows) -> None:
    some = rows.n > 0 and rows.d > 0
    require(some, "Rows", "source", "of some rows and columns", Text("none"))
