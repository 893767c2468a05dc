"""Toy values for the tests of the codec: every kind of field, and values inside values."""

import json
import math
import struct
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from jointdist._rules import require
from jointdist.data.codec import (
    Booleans,
    Choice,
    Either,
    Flag,
    Floats,
    Indices,
    Integers,
    Mapping,
    Number,
    Optional,
    Scalars,
    Schema,
    Sequence,
    Strings,
    Text,
    Tuple,
    Unsaved,
    Value,
    Whole,
)


class End(Enum):
    GOOD = "solved"
    BAD = "not solved"


@dataclass(frozen=True, eq=False)
class Map:
    landmarks: Any
    core: Any

    @property
    def rank(self):
        return self.core.shape[0]


class Edges(NamedTuple):
    values: Any
    cells: Any


@dataclass(frozen=True, eq=False)
class Pair:
    left: Any
    right: Any
    middle: Any = None


@dataclass(frozen=True, eq=False)
class Table:
    map: Any
    rotation: Any
    total: Any
    counts: Any
    used: Any
    raw: Any
    names: Any
    classes: Any
    ridge: Any
    limit: Any
    rows: Any
    flag: Any
    rule: Any
    end: Any
    mixed: Any
    categories: Any
    history: Any
    named: Any
    pair: Any
    edges: Any
    engine: Any


def _check_edges(edges):
    increasing = bool((np.diff(edges.values) > 0).all())
    require(increasing, "Edges", "values", "increasing", edges.values)


ENGINE = object()


MAP = Map(np.arange(6.0).reshape(3, 2), np.eye(3))


def table(**changes):
    """Return a table with an entry in each of its fields."""
    found = Table(
        map=MAP,
        rotation=np.eye(3),
        total=np.array(2.0),
        counts=np.arange(4),
        used=np.ones(4, dtype=bool),
        raw=np.zeros((5, 2), dtype=np.uint8),
        names=np.array(["b", "äöü", ""]),
        classes=np.array(["x", "y", "z"], dtype=object),
        ridge=math.inf,
        limit=2,
        rows=4,
        flag=True,
        rule="most",
        end=End.BAD,
        mixed=1.0,
        categories=(None, tuple(f"category {i}" for i in range(30)), tuple(range(99))),
        history=[[1.0, 2.0], []],
        named={"b": "text", "a": np.ones(2)},
        pair=("name", (0.5, -0.0, math.nan)),
        edges=Edges(np.array([0.0, 1.0, 3.0]), np.array([1, 0, 1])),
        engine=ENGINE,
    )
    return replace(found, **changes)


def toy_schema():
    schema = Schema()
    schema.register(Map, "map", landmarks=Floats("m", "d"), core=Floats("m", "m"))
    schema.register(
        Edges,
        "edges",
        check=_check_edges,
        values=Floats("1+k"),
        cells=Indices("n", below="k"),
    )
    either = Either(Value(Map, Pair), Floats("_", finite=False), Number())
    schema.register(Pair, "pair", left=either, right=either, middle=Optional(either))
    schema.register(
        Table,
        "table",
        map=Value(Map, m="rank"),
        rotation=Floats("m", "m", least=-2, most=2),
        total=Floats(dtypes=("float64", "float32")),
        counts=Integers("n", least=0, dtypes=("int64", "uint64", "int32")),
        used=Booleans("n"),
        raw=Integers("_", 2, dtypes=("uint8",)),
        names=Strings("c"),
        classes=Either(Strings("c"), Integers("c"), Booleans("c")),
        ridge=Number(least=0, infinite=True, missing=True),
        limit=Optional(Number(above=0, most=9)),
        rows=Whole(least=0, size="n"),
        flag=Flag(),
        rule=Text("least", "most"),
        end=Choice(*End),
        mixed=Choice(None, True, 1, 1.0, math.inf, "1"),
        categories=Sequence(Optional(Scalars()), "w"),
        history=Sequence(Sequence(Number(), of=list), of=list),
        named=Mapping(Either(Text(), Floats("_"))),
        pair=Tuple(Text(), Scalars(float, size="w")),
        edges=Optional(Value(Edges)),
        engine=Unsaved(lambda: ENGINE),
    )
    return schema


def same(a, b):
    """Tell whether two trees are the same: types, and the bits of arrays and floats."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        alike = a.dtype == b.dtype and a.shape == b.shape
        texts = a.dtype.kind == "O"
        return alike and (a.tolist() == b.tolist() if texts else a.tobytes() == b.tobytes())
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same([*a.items()], [*b.items()])
    names = [field.name for field in fields(a)] if is_dataclass(a) else []
    return all(same(getattr(a, n), getattr(b, n)) for n in names) if names else a == b


def through_json(header):
    return json.loads(json.dumps(header, allow_nan=False, sort_keys=True))


_floats = st.floats(-2, 2)
_any_float = st.floats().map(lambda v: math.nan if math.isnan(v) else v)
_text = st.text(st.characters(codec="utf-8"), max_size=6)
_long = [
    st.lists(kind, max_size=40).map(tuple)
    for kind in (_text, st.integers(-(2**63), 2**63 - 1), _any_float, st.booleans())
]


def maps(m, d=2):
    finite = st.floats(allow_nan=False, allow_infinity=False, width=16)
    core = arrays(np.float64, (m, m), elements=finite)
    return st.builds(Map, arrays(np.float64, (m, d), elements=_floats), core)


@st.composite
def edges(draw):
    k, n = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    cells = draw(arrays(np.intp, n, elements=st.integers(0, k - 1)))
    return Edges(np.cumsum(np.arange(1.0, k + 2)), cells)


@st.composite
def tables(draw):
    m, n, c, w = (draw(st.integers(0, 3)) for _ in range(4))
    texts = draw(st.lists(_text, min_size=c, max_size=c))
    whole = draw(st.sampled_from([np.int64, np.uint64, np.int32]))
    objects = np.array([*texts, None], dtype=object)[:-1]
    fixed = np.array([*texts, "x" * draw(st.integers(1, 9))])[:-1]
    classes = [objects, fixed, np.arange(c), np.zeros(c, dtype=bool)]
    rotation = arrays(np.float64, (m, m), elements=_floats)
    if draw(st.booleans()):
        rotation = rotation.map(np.asfortranarray)
    return Table(
        map=draw(maps(m)),
        rotation=draw(rotation),
        total=np.asarray(draw(_floats)),
        counts=draw(arrays(whole, n, elements=st.integers(0, 2**31 - 1))),
        used=draw(arrays(np.bool_, n)),
        raw=draw(arrays(np.uint8, (draw(st.integers(0, 3)), 2))),
        names=draw(st.sampled_from([objects, fixed])),
        classes=draw(st.sampled_from(classes)),
        ridge=draw(st.floats(0) | st.just(math.nan)),
        limit=draw(st.none() | st.floats(0, 9, exclude_min=True) | st.integers(1, 9)),
        rows=n,
        flag=draw(st.booleans()),
        rule=draw(st.sampled_from(["least", "most"])),
        end=draw(st.sampled_from(End)),
        mixed=draw(st.sampled_from([None, True, 1, 1.0, math.inf, "1"])),
        categories=tuple(draw(st.none() | st.one_of(_long)) for _ in range(w)),
        history=draw(st.lists(st.lists(_floats, max_size=3), max_size=2)),
        named=draw(
            st.dictionaries(
                _text, _text | arrays(np.float64, 2, elements=_floats), max_size=3
            )
        ),
        pair=(draw(_text), tuple(draw(_any_float) for _ in range(w))),
        edges=draw(st.none() | edges()),
        engine=ENGINE,
    )
