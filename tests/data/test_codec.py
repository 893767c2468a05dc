"""Values as JSON and arrays: what is written comes back, and nothing else comes in."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from array_api_compat import device
from codec_toys import (
    MAP,
    Edges,
    Map,
    Pair,
    Table,
    maps,
    same,
    table,
    tables,
    through_json,
    toy_schema,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jointdist.data.codec import Added, Floats, Number, Scalars, Schema, Value
from jointdist.data.container import read_container, write_container
from jointdist.errors import ModelFileError

SCHEMA = toy_schema()


def roundtrip(value, schema=SCHEMA):
    header, arrays = schema.encode(value)
    return schema.decode(through_json(header), arrays, type(value))


@given(value=tables())
def test_values_come_back_bit_for_bit(value):
    assert same(roundtrip(value), value)


def test_a_file_holds_a_value(tmp_path):
    value = table()
    write_container(tmp_path / "model", *SCHEMA.encode(value))
    found = read_container(tmp_path / "model")
    back = SCHEMA.decode(found.header, found.arrays, Table)
    assert same(back, value)
    assert back.rotation is found.arrays["rotation"]
    assert back.counts.dtype == back.edges.cells.dtype == np.intp
    assert not back.names.flags.writeable


def test_arrays_are_stored_in_row_major_order_and_named_by_their_path():
    value = table(rotation=np.asfortranarray(np.triu(np.ones((3, 3)))))
    header, arrays = SCHEMA.encode(value)
    assert all(array.flags.c_contiguous for array in arrays.values())
    assert {"map.core", "edges.values", "names.bytes", "categories[2]"} <= set(arrays)
    assert header["values"][0]["fields"]["core"] == "map.core"


def test_arrays_of_other_libraries_are_converted(xp):
    core = xp.asarray(np.eye(2))
    back = roundtrip(Map(xp.asarray(np.ones((2, 1))), core))
    assert device(back.core) == "cpu"
    assert same(back.core, np.eye(2))


class Line(NamedTuple):
    slope: float
    ridge: float | None


def test_fields_that_were_added_are_none_in_older_files():
    schema = Schema()
    schema.register(Line, "line", slope=Number(), ridge=Added(Number()))
    assert roundtrip(Line(1.0, 0.5), schema) == Line(1.0, 0.5)
    assert roundtrip(Line(1.0, None), schema) == Line(1.0, None)
    header, arrays = schema.encode(Line(1.0, 0.5))
    fields = header["values"][0]["fields"]
    del fields["ridge"]
    assert schema.decode(header, arrays, Line) == Line(1.0, None)
    for name in ("slope", "length"):
        fields |= {"ridge": 0.5, "length": 1.0}
        del fields[name]
        with pytest.raises(ModelFileError, match="must be of fields"):
            schema.decode(header, arrays, Line)


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # large draws are cut short
@given(data=st.data(), one=maps(2), other=maps(2))
def test_shared_values_and_arrays_are_shared_again(data, one, other):
    vector = np.array([np.inf, np.nan])
    leaves = [one, other, vector, vector.copy(), 1.0, Map(one.landmarks, other.core)]
    for _ in range(data.draw(st.integers(1, 12))):
        parts = [data.draw(st.sampled_from(leaves)) for _ in range(3)]
        leaves.append(Pair(*parts))
    value = leaves[-1]
    assert shape_of(roundtrip(value)) == shape_of(value)
    assert same(roundtrip(value), value)


def shape_of(value):
    """Return which parts of a tree are one: the number of each at its first place."""
    seen, order = {}, []

    def visit(part):
        if isinstance(part, float):
            return
        order.append(seen.setdefault(id(part), len(seen)))
        inner = {Pair: ("left", "right", "middle"), Map: ("landmarks", "core")}
        for name in inner.get(type(part), ()):
            visit(getattr(part, name))

    visit(value)
    return order


def test_long_tuples_are_stored_outside_of_the_header():
    categories = (
        tuple(f"category {i}" for i in range(100_000)),
        None,
        tuple(range(50_000)),
    )
    value = table(categories=categories)
    header, arrays = SCHEMA.encode(value)
    assert len(str(header)) < 10_000
    assert same(SCHEMA.decode(header, arrays, Table).categories, categories)


def test_scalars_of_numpy_become_those_of_python():
    value = table(limit=np.float64(2.5), rows=np.int64(4), flag=np.True_)
    back = roundtrip(value)
    assert same((back.limit, back.rows, back.flag), (2.5, 4, True))


REFUSED = {
    "rotation": [np.eye(2), np.eye(3, dtype=np.float32), 3 * np.eye(3), np.eye(3) * np.nan],
    "total": [np.zeros(1), 1.0, None],
    "counts": [
        -np.arange(4),
        np.ones((4, 1), int),
        np.zeros(4),
        np.arange(4).astype(">i8"),
    ],
    "used": [np.zeros(4), np.zeros((4, 1), dtype=bool)],
    "raw": [np.zeros((5, 3), dtype=np.uint8), np.zeros((5, 2), dtype=int)],
    "names": [
        np.array([["b"]]),
        np.array(["\ud800"] * 3),
        np.array([1, "a", None], object),
    ],
    "classes": [np.zeros(3), np.array(["b", "c"])],
    "ridge": [-1.0, -math.inf, "1", True, 2**70, 1j],
    "limit": [0, 9.5, math.inf, math.nan, [1.0]],
    "rows": [5, -1, 4.0, True, 2**64],
    "flag": [1, None, "True"],
    "rule": ["mean", 1, None],
    "end": ["BAD", None, 1],
    "mixed": [False, 2, 0.0, "2", -math.inf],
    "categories": [None, [None] * 3, (None, ("a", 1), None), (None, (object(),), None)],
    "history": [(), [(1.0,)], [[None]]],
    "named": [{1: "a"}, {"a": 1}, {"\udc00": "a"}, ()],
    "pair": [("a",), ["a", ()], (1, (0.5,) * 3), ("a", (1,) * 3), ("a", (0.5,) * 2)],
    "edges": [MAP, Edges(np.zeros(3), np.zeros(1, int)), (np.zeros(3), np.zeros(1, int))],
    "map": [None, Map(np.ones((3, 2)), np.eye(2)), Pair(1.0, 2.0)],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_breaks_a_rule_is_not_saved(name):
    for wrong in REFUSED[name]:
        with pytest.raises(ValueError, match=rf"^save: `{name}[^`]*` must be ") as error:
            SCHEMA.encode(table(**{name: wrong}))
        assert not isinstance(error.value, ModelFileError)


def test_edges_and_cells_name_their_path():
    with pytest.raises(
        ValueError, match=r"`edges` must be a consistent edges. Got Edges: `values"
    ):
        SCHEMA.encode(table(edges=Edges(np.array([1.0, 0.0]), np.array([0]))))
    with pytest.raises(
        ValueError, match=r"`edges.cells` must be below k everywhere with k = 1. Got 1"
    ):
        SCHEMA.encode(table(edges=Edges(np.array([0.0, 1.0]), np.array([1]))))


def test_trees_are_not_too_deep_and_not_too_large():
    deep = 1.0
    for _ in range(64):
        deep = Pair(deep, 1.0)
    assert same(roundtrip(deep), deep)
    with pytest.raises(ValueError, match="must be at most 64 values deep"):
        SCHEMA.encode(Pair(deep, 1.0))
    header, _ = SCHEMA.encode(deep)
    inner = {"case": 0, "value": {"ref": 63}}
    more = {"kind": "pair", "fields": {"left": inner, "right": inner, "middle": None}}
    with pytest.raises(ModelFileError, match="must be at most 64 values deep"):
        SCHEMA.decode({"values": [*header["values"], more]}, {}, Pair)
    with pytest.raises(ValueError, match="must be in a tree of 100,000 fields"):
        SCHEMA.encode(table(history=[[1.0] * 100_000]))


def test_a_value_that_holds_itself_is_not_saved():
    loop = Pair(1.0, 2.0)
    object.__setattr__(loop, "left", loop)
    with pytest.raises(ValueError, match="must be at most 64 values deep"):
        SCHEMA.encode(loop)


class Point(NamedTuple):
    x: float


@pytest.mark.parametrize(
    ("tag", "declared", "message"),
    [
        ("point", {}, r"`declared` must be the fields of Point, \['x'\]. Got \[\]"),
        ("point", {"x": Number(), "y": Number()}, "`declared` must be the fields of Point"),
        ("map", {"x": Number()}, "`tag` must be a new name for a new class. Got 'map'"),
        ("", {"x": Number()}, "`tag` must be a new name"),
    ],
)
def test_schemas_are_complete(tag, declared, message):
    with pytest.raises(ValueError, match=f"^register: {message}"):
        toy_schema().register(Point, tag, **declared)


def test_what_a_constructor_or_check_raises_is_an_error_of_the_file():
    def build(x):
        return {1.0: Point(x), 2.0: None}[x]

    schema = Schema()
    schema.register(Point, "point", build=build, check=lambda p: p.x < 5, x=Number())
    for x, message in [(3.0, "a consistent point. Got 3.0"), (2.0, "a consistent point")]:
        with pytest.raises(ModelFileError, match=f"`model` must be {message}"):
            schema.decode(*schema.encode(Point(x)), Point)
    with pytest.raises(ValueError, match=r"`model` must be a consistent point. Got point:"):
        schema.encode(Point(6.0))


def test_a_class_that_is_not_registered_is_not_saved():
    schema = Schema()
    schema.register(Pair, "pair", left=Value(Point), right=Floats("1+m"), middle=Scalars())
    with pytest.raises(
        ValueError, match=r"`left` must be Point. Got Point, which cannot be saved"
    ):
        schema.encode(Pair(Point(1.0), np.ones(2), ()))
    with pytest.raises(
        ValueError, match=r"`model` must be Map. Got Map, which cannot be saved"
    ):
        schema.encode(MAP)


def test_sizes_are_sums_of_names():
    schema = Schema()
    schema.register(Point, "point", x=Floats("m * 2"))
    with pytest.raises(ValueError, match="A size must be a number, a name or a sum"):
        schema.encode(Point(np.ones(2)))
