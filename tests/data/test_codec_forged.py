"""Forged files: whatever is changed, the answer is an error of the file or a good value."""

import math
import random

import numpy as np
import pytest
from codec_toys import Pair, Table, same, table, through_json, toy_schema

from jointdist.errors import ModelFileError

SCHEMA = toy_schema()
NUMBERS = {"map": 0, "edges": 1, "table": 2}

NODES = [
    ("table.kind", "spy", "`model` must be Table. Got 'spy'"),
    ("table.kind", ["table"], "`model` must be Table. Got list of 1"),
    ("table.kind", "map", "`model` must be Table. Got 'map'"),
    ("table.more", 1, "`model` must be a `kind` with its `fields`"),
    ("map.fields.more", 1, "`map` must be of fields ['landmarks', 'core']"),
    ("map.fields", {"core": 1}, "`map` must be of fields ['landmarks', 'core']. Got ['core']"),
    ("map.fields", [], "`map` must be a `kind` with its `fields`"),
    ("map.kind", "edges", "`map` must be Map. Got 'edges'"),
    ("table.fields.map", {"ref": 2}, "`map` must be a reference to an earlier value. Got 2"),
    ("table.fields.map", {"ref": -1}, "`map` must be a reference to an earlier value. Got -1"),
    ("table.fields.map", {"ref": True}, "`map` must be a reference to an earlier value"),
    ("table.fields.map", {"ref": 1}, "`map` must be Map. Got 'edges'"),
    ("table.fields.map", 0, "`map` must be a reference to an earlier value"),
    ("table.fields.edges", None, "`model` must be without unused values. Got 1 of them"),
    ("map.fields.core", "no", "`map.core` must be the name of an array of the file. Got 'no'"),
    ("map.fields.core", ["map.core"], "`map.core` must be the name of an array of the file"),
    ("map.fields.core", "edges.cells", "`map.core` must be an array of float64 of shape (m, m)"),
    ("table.fields.names.width", 1, "`names` must be of width 3 or more. Got 1"),
    ("table.fields.names.width", 2**40, "`names` must be an array of at most 268,435,456 bytes"),
    ("table.fields.names", "b", "`names` must be a description of strings. Got 'b'"),
    ("table.fields.names.strings", [], "`names` must be the names of the arrays `bytes` and"),
    ("table.fields.classes.case", 3, "`classes` must be one of Strings, Integers, Booleans"),
    ("table.fields.classes", 3, "`classes` must be one of Strings, Integers, Booleans"),
    ("table.fields.ridge", {"float": "1"}, "`ridge` must be a number. Got dict of 1"),
    ("table.fields.ridge", {"float": "-inf"}, "`ridge` must be at least 0. Got -inf"),
    ("table.fields.limit", {"float": "nan"}, "`limit` must be a number. Got nan"),
    ("table.fields.rows", 10**30, "`rows` must be an integer from 0 to"),
    ("table.fields.rows", 3, "`rows` must be n with n = 4. Got 3"),
    ("table.fields.flag", 1, "`flag` must be True or False. Got 1"),
    ("table.fields.rule", "\ud800", "`rule` must be a string of Unicode characters"),
    ("table.fields.rule", "mean", "`rule` must be one of ('least', 'most'). Got 'mean'"),
    ("table.fields.end", "solved", "`end` must be one of (<End.GOOD"),
    ("table.fields.categories", {}, "`categories` must be a list of w"),
    ("table.fields.categories.1.type", "int", "`categories[1]` must be a tuple, all str"),
    ("table.fields.categories.2.type", "bool", "`categories[2]` must be a vector of bool"),
    ("table.fields.categories.2.type", "set", "`categories[2]` must be a tuple, all str"),
    ("table.fields.categories.2", {"type": "int"}, "`categories[2]` must be a description of"),
    ("table.fields.pair.1.values", "abc", "`pair[1]` must be a list of values. Got 'abc'"),
    ("table.fields.pair.1.values", [1.0, 2, 3.0], "`pair[1]` must be a tuple of w with w = 3"),
    ("table.fields.history.0.1", "1", "`history[0][1]` must be a number. Got '1'"),
    ("table.fields.named.1.0", "b", "`named` must be a list of distinct names and values"),
    ("table.fields.named.0", ["b"], "`named` must be a list of names and values"),
    ("table.fields.pair", ["a"], "`pair` must be a list of 2. Got list of 1"),
    ("table.fields.engine", "os.system", "`engine` must be null. Got 'os.system'"),
]  # fmt: skip

ARRAYS = [
    ("more", np.ones(1), "`model` must be without unused arrays. Got ['more']"),
    ("map.core", np.eye(4), "(m, m) with m = 3. Got float64 array of shape (4, 4)"),
    ("map.core", np.eye(3, dtype=np.float32), "`map.core` must be an array of float64"),
    ("map.core", np.full((3, 3), np.inf), "`map.core` must be finite everywhere. Got inf"),
    ("map.core", "a string", "`map.core` must be the name of an array of the file"),
    ("rotation", 3 * np.eye(3), "`rotation` must be at most 2 everywhere. Got 3.0"),
    ("edges.cells", np.array([2]), "`edges.cells` must be below k everywhere with k = 2. Got 2"),
    ("edges.cells", np.array([-1]), "`edges.cells` must be at least 0 everywhere. Got -1"),
    ("edges.values", np.array([0.0, 1, 1]), "`edges` must be a consistent edges. Got Edges: `v"),
    ("names.offsets", np.array([0, 9, 1, 7]), "`names` must be offsets from 0 to 7, in order"),
    ("names.offsets", np.zeros(0, int), "`names` must be offsets from 0 to 7, in order"),
    ("names.offsets", np.array([0, 2, 7, 7]), "`names` must be strings in UTF-8"),
    ("names.offsets", np.array([0, 1, 7]), "`classes` must be an array of strings of shape (c,)"),
    ("names.bytes", np.zeros(7), "`names` must be an array of bytes. Got float64 array"),
    ("categories[2]", np.zeros(99), "`categories[2]` must be a vector of int"),
]  # fmt: skip


def file_of(value):
    header, arrays = SCHEMA.encode(value)
    return through_json(header), arrays


def put(header, path, node):
    """Put a node at a path of the header."""
    first, *steps, last = path.split(".")
    inner = header["values"][NUMBERS[first]]
    for step in steps:
        inner = inner[int(step) if isinstance(inner, list) else step]
    inner[int(last) if isinstance(inner, list) else last] = node


def refusal(header, arrays, cls=Table):
    with pytest.raises(ModelFileError) as error:
        SCHEMA.decode(header, arrays, cls)
    return str(error.value)


@pytest.mark.parametrize("case", range(len(NODES)), ids=lambda i: f"{i}-{NODES[i][0]}")
def test_nodes_that_are_not_as_declared_are_not_read(case):
    path, node, message = NODES[case]
    header, arrays = file_of(table())
    put(header, path, node)
    found = refusal(header, arrays)
    assert found.startswith("load: `")
    assert message in found


@pytest.mark.parametrize("case", range(len(ARRAYS)), ids=lambda i: f"{i}-{ARRAYS[i][0]}")
def test_arrays_that_are_not_as_declared_are_not_read(case):
    name, array, message = ARRAYS[case]
    header, arrays = file_of(table())
    assert message in refusal(header, arrays | {name: array})


def test_arrays_that_are_missing_are_named():
    header, arrays = file_of(table())
    del arrays["edges.values"]
    assert "`edges.values` must be the name of an array" in refusal(header, arrays)


@pytest.mark.parametrize(
    "header", [None, [], {}, {"values": []}, {"values": {}}, {"values": [1], "more": 1}]
)
def test_a_header_is_a_list_of_values(header):
    assert "`model` must be a list of values" in refusal(header, {})


def test_another_class_is_not_read():
    assert "`model` must be Pair. Got 'table'" in refusal(*file_of(table()), Pair)


ODD = [
    None, True, False, 0, 1, -1, 2, 10**30, -(2**63), 0.5, -0.0, 1e308, "", "a", "map",
    "pair", "str", "int", "bool", "map.core", "names.bytes", "counts", "\ud800", [], {},
    [[]], [None], {"ref": 0}, {"ref": 1}, {"ref": 99}, {"float": "nan"}, {"float": "x"},
    {"case": 0, "value": {"ref": 0}}, {"case": 2, "value": 1.0}, {"kind": "map"},
]  # fmt: skip


def slots(node):
    """Return all places in a tree: the list or dict, and the key."""
    keys = node if isinstance(node, dict) else range(len(node))
    found = [(node, key) for key in keys]
    inner = [node[key] for key in keys if isinstance(node[key], list | dict)]
    return found + [slot for part in inner for slot in slots(part)]


def forge_node(header, rng):
    """Change one node in place."""
    places = slots(header)
    (inner, key), (other, place) = rng.choice(places), rng.choice(places)
    odd, change = through_json(rng.choice(ODD)), rng.randrange(4)
    if change == 0:
        del inner[key]
    elif change == 1:
        inner[key] = through_json(other[place])
    elif change == 2 and isinstance(inner, list):
        inner.insert(key, odd)
    elif change == 2:
        inner[rng.choice(["more", "ref", "kind", "core"])] = odd
    else:
        inner[key] = odd


def forge_array(arrays, rng):
    """Change one array, or replace it by another one."""
    name, other = rng.choice([*arrays, "new"]), rng.choice([*arrays, "new"])
    array = arrays.get(name, np.ones(1))
    change = rng.randrange(6)
    if change == 0:
        arrays.pop(name, None)
    elif change == 1:
        arrays[name] = arrays.get(other, array)
    elif change == 2 and array.dtype.kind in "fiub":
        dtypes = ["f8", "f4", "i8", "i4", "u8", "u1", "?", ">f8", "O", "U3"]
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(rng.choice(dtypes))
    elif change == 3:
        arrays[name] = array.reshape(rng.choice([(1, *array.shape), (*array.shape, 1)]))
    elif change == 4 and array.size and array.dtype.kind in "fiu":
        wild = [math.nan, math.inf, -1e30] if array.dtype.kind == "f" else [0, 1, 127, 255]
        arrays[name] = array.copy()
        arrays[name].flat[rng.randrange(array.size)] = rng.choice(wild)
    else:
        arrays[name] = array[:-1] if array.ndim else array


def test_any_forged_file_is_refused_or_holds_a_good_value():
    rng = random.Random(0)  # noqa: S311 - the same files for everybody
    shared = table()
    deep = Pair(Pair(shared.map, shared.map, 1.0), Pair(np.ones(2), shared.map))
    read = 0
    for value in [shared, deep]:
        header, arrays = file_of(value)
        for _ in range(1500):
            forged, others = through_json(header), dict(arrays)
            for _ in range(rng.choice([1, 1, 2, 4])):
                if slots(forged) and rng.random() < 0.6:
                    forge_node(forged, rng)
                else:
                    forge_array(others, rng)
            try:
                found = SCHEMA.decode(forged, others, type(value))
            except ModelFileError as error:
                assert str(error).startswith("load: `")  # noqa: PT017
                continue
            read += 1
            assert same(SCHEMA.decode(*file_of(found), type(value)), found)
    assert 100 < read < 750
