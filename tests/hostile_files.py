"""Corrupted and hostile files, made from the bytes of a good file of a model.

Names that begin with ``valid:`` are of files that are well formed, with a checksum that
agrees: a container may load them, and whoever makes a model of what they hold must refuse
what is no model, or load it. All others must be refused by the container.
"""

import gzip
import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

META = "__metadata__"
SIZES = {"BOOL": 1, "U8": 1, "F32": 4, "I32": 4, "F64": 8, "I64": 8, "U64": 8}
FLIPS = 700  # files with one flipped bit
MOST_LEAVES = 400  # places in the tree of values that are attacked
Named = Iterator[tuple[str, bytes]]


@dataclass(frozen=True)
class Parts:
    """A file in parts: the entries of arrays, metadata, the tree of values, the data."""

    table: dict[str, dict[str, Any]]
    metadata: dict[str, Any]
    values: Any
    data: bytes

    def bytes_of(self, name: str) -> bytes:
        begin, end = self.table[name]["data_offsets"]
        return self.data[begin:end]


def dumped(tree: object) -> bytes:
    """Return JSON as the format has it."""
    return json.dumps(tree, separators=(",", ":"), sort_keys=True).encode()


def framed(header: bytes, data: bytes) -> bytes:
    """Return a file of a header, filled up to a multiple of 8 bytes, and data."""
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


def header_end(data: bytes) -> int:
    return 8 + int.from_bytes(data[:8], "little")


def parts_of(data: bytes) -> Parts:
    """Return the parts of a good file."""
    end = header_end(data)
    table = json.loads(data[8:end])
    metadata = table.pop(META)
    return Parts(table, metadata, json.loads(metadata["jointdist"]), data[end:])


def signed_header(table: dict[str, Any], metadata: dict[str, Any], data: bytes) -> bytes:
    """Return a header whose checksum agrees, computed as the format defines it."""
    rest = {key: value for key, value in metadata.items() if key != "checksum"}
    hashed = blake2b(dumped(table | {META: rest}) + data, digest_size=32).hexdigest()
    return dumped(table | {META: rest | {"checksum": hashed}})


def rechecksummed(data: bytes) -> bytes:
    """Return a file with a checksum that agrees with the rest of it.

    Parameters
    ----------
    data : bytes
        A file whose header can be parsed.
    """
    end = header_end(data)
    table = json.loads(data[8:end])
    metadata = table.pop(META)
    return framed(signed_header(table, metadata, data[end:]), data[end:])


def joined(parts: Parts) -> bytes:
    """Return the file of parts, with a checksum that agrees."""
    metadata = parts.metadata | {"jointdist": dumped(parts.values).decode()}
    return framed(signed_header(parts.table, metadata, parts.data), parts.data)


def with_arrays(parts: Parts, arrays: dict[str, tuple[str, list[int], bytes]]) -> bytes:
    """Return a file of other arrays, given by type, shape and bytes."""
    table, data = {}, b""
    for name, (dtype, shape, content) in arrays.items():
        place = [len(data), len(data) + len(content)]
        table[name] = {"dtype": dtype, "shape": shape, "data_offsets": place}
        data += content
    return joined(replace(parts, table=table, data=data))


def hostile_variants(data: bytes, seed: int) -> Named:
    """Yield named files, each a good file made bad, and files of other kinds.

    Parameters
    ----------
    data : bytes
        The good file.
    seed : int
        The seed of the places where bits are flipped.
    """
    parts = parts_of(data)
    yield from foreign()
    yield from truncated(data, parts)
    yield from extended(data)
    yield from flipped(data, np.random.default_rng(seed))
    yield from other_lengths(data)
    yield from other_texts(data, parts)
    yield from other_entries(parts)
    yield from other_places(parts)
    yield from other_metadata(parts)
    yield from other_values(parts)
    yield from valid_arrays(parts)
    yield from valid_values(parts)


def foreign() -> Named:
    yield "foreign: empty", b""
    yield "foreign: pickle", pickle.dumps({"model": list(range(100))})
    yield "foreign: executable pickle", b"cos\nsystem\n(S'false'\ntR."
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("model.json", "{}")
    yield "foreign: zip", archive.getvalue()
    yield "foreign: gzip", gzip.compress(b"model" * 100, mtime=0)
    yield "foreign: HTML", b"<!DOCTYPE html><html><body>404 Not Found</body></html>\n"
    yield "foreign: JSON", b'{"__metadata__":{"format":"jointdist-model"}}'
    yield "foreign: text", b"x,y\n1,2\n" * 50
    numpy_file = io.BytesIO()
    np.save(numpy_file, np.arange(100.0))
    yield "foreign: NumPy", numpy_file.getvalue()
    yield "foreign: zeros", bytes(5000)
    yield "foreign: ones", b"\xff" * 5000
    entry = {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}
    yield "foreign: safetensors", framed(dumped({"w": entry}), bytes(4))
    other = {"w": entry, META: {"format": "pt"}}
    yield "foreign: safetensors of PyTorch", framed(dumped(other), bytes(4))


def truncated(data: bytes, parts: Parts) -> Named:
    end = header_end(data)
    places = [end + p for entry in parts.table.values() for p in entry["data_offsets"]]
    near = {place + step for place in [end, *places, len(data)] for step in (-1, 0, 1)}
    lengths = near | set(range(17)) | set(range(16, len(data), max(len(data) // 100, 1)))
    for length in sorted(lengths):
        if 0 < length < len(data):
            yield f"truncated: {length} of {len(data)} bytes", data[:length]


def extended(data: bytes) -> Named:
    for extra in (b"\0", b" ", b"\n", bytes(8), bytes(4096), data):
        yield f"extended: {len(extra)} bytes beginning with {extra[:1]!r}", data + extra
    yield "extended: in front", b"\0" + data
    yield "extended: byte order mark", b"\xef\xbb\xbf" + data
    end = header_end(data)
    yield "extended: between header and arrays", data[:end] + bytes(8) + data[end:]


def flipped(data: bytes, rng: np.random.Generator) -> Named:
    """Flip each bit of the length, and bits of the header and of the arrays."""
    end = header_end(data)
    header = rng.integers(64, 8 * end, size=(FLIPS - 64) // 2)
    arrays = rng.integers(8 * end, 8 * len(data), size=(FLIPS - 64) // 2)
    for place in [*range(64), *header.tolist(), *arrays.tolist()]:
        changed = bytearray(data)
        changed[place // 8] ^= 1 << place % 8
        yield f"flipped: bit {place}", bytes(changed)
    for place in rng.integers(8, len(data) - 2, size=50).tolist():
        swapped = data[:place] + data[place : place + 2][::-1] + data[place + 2 :]
        if swapped != data:
            yield f"flipped: bytes {place} and the next", swapped


def other_lengths(data: bytes) -> Named:
    length = header_end(data) - 8
    others = {length - 8, length - 1, length + 1, length + 8, len(data), len(data) - 8}
    others |= {0, 1, 2, len(data) - 7, 1 << 20, (1 << 20) + 1, 1 << 31, 1 << 32, 1 << 62}
    others |= {(1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8, (1 << 64) - length}
    for other in sorted(others - {length}):
        yield f"length: {other}", other.to_bytes(8, "little") + data[8:]
    yield "length: big endian", length.to_bytes(8, "big") + data[8:]


def other_texts(data: bytes, parts: Parts) -> Named:
    """Yield headers that are no JSON, or JSON of another kind."""
    end = header_end(data)
    header, arrays = data[8:end].rstrip(), data[end:]
    name = next(iter(parts.table))
    entry = dumped({name: parts.table[name]})[1:-1]
    texts = {
        "not UTF-8": header.replace(b'"format"', b'"f\xff\xfermat"'),
        "UTF-8 of a surrogate": header.replace(b'"format"', b'"\xed\xa0\x80format"'),
        "UTF-16": header.decode().encode("utf-16-le"),
        "UTF-32": header.decode().encode("utf-32-le"),
        "NaN": header[:-1] + b',"x":NaN}',
        "Infinity": header[:-1] + b',"x":-Infinity}',
        "large number": header[:-1] + b',"x":1e999}',
        "long integer": header[:-1] + b',"x":' + b"9" * 100_000 + b"}",
        "long decimal": header[:-1] + b',"x":0.' + b"9" * 100_000 + b"}",
        "deep lists": header[:-1] + b',"x":' + b"[" * 400_000 + b"]" * 400_000 + b"}",
        "deep dicts": header[:-1] + b',"x":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        "deep and unfinished": b'{"x":' + b"[" * 1_000_000,
        "a deep list of 65": header[:-1] + b',"x":' + b"[" * 65 + b"]" * 65 + b"}",
        "many lists": header[:-1] + b',"x":[' + b"[]," * 300_000 + b"[]]}",
        "many numbers": header[:-1] + b',"x":[' + b"0.1," * 200_000 + b"1]}",
        "unfinished string": b'{"' + b'\\"' * 400_000,
        "repeated array": header[:-1] + b"," + entry + b"}",
        "repeated metadata": header[:-1] + b',"__metadata__":{}}',
        "repeated format": header.replace(b'"format":', b'"format":"x","format":'),
        "repeated dtype": header.replace(b'"dtype":', b'"dtype":"F64","dtype":', 1),
        "spaces": header.replace(b":", b": "),
        "line break": header[:1] + b"\n" + header[1:],
        "escaped letter": header.replace(b'"format"', b'"\\u0066ormat"'),
        "list": b"[" + header + b"]",
        "two": header + header,
        "comment": header[:-1] + b"/**/}",
        "trailing comma": header[:-1] + b",}",
        "null byte": header + b"\0",
        "nothing": b"",
        "no entries": b"{}",
        "unclosed": header[:-1],
    }
    for what, text in texts.items():
        yield f"header: {what}", framed(text, arrays)
    yield "header: filled with zeros", framed(header + b"\0" * 8, arrays)
    yield "header: filled too much", framed(header + b" " * 64, arrays)
    yield "header: 1 MB of spaces", framed(header + b" " * 1_000_000, arrays)
    yield "header: 2 MB of spaces", framed(header + b" " * 2_000_000, arrays)
    lies = {"short entries": b"0", "entries": dumped(parts.table[name])}
    for what, lie in lies.items():
        text = b",".join(b'"%x":%b' % (i, lie) for i in range(100_000))
        yield f"header: 100,000 {what}", framed(b"{" + text + b"}", arrays)
    empty = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    several = {f"{i}": empty for i in range(5000)} | parts.table
    yield "header: 5,000 empty arrays", joined(replace(parts, table=several))


SHAPES: list[Any] = [[2**62], [2**62, 4], [2**32, 2**32], [2**63], [2**64], [10**30]]
SHAPES += [[2**64 + 1], [2**32, 2**32, 2**32], [2**62, 0, 2**62], [-1], [1, -8], [-1, -1]]
SHAPES += [[1.0], [1e300], [True], ["1"], [[1]], [None], [{}], {}, None, "1", 1, [1.5]]
SHAPES += [
    [1] * 9,
    [0] * 9,
    [1] * 5000,
    [2**31],
    [2**31, 2],
    [-0.0],
    [2**63, 0],
    "",
    False,
]
EMPTY_SHAPES = [[0], [1, 0], [0, 2**62], [0, 2**30], [0] * 8]
PLACES: list[Any] = [[0, 2**62], [-8, 0], [2**63, 2**63], [0, 2**64], [-(2**63), 0], [0]]
PLACES += [[0, 1, 2], [0.0, 8.0], [False, True], ["0", "8"], [[0], [8]], None, {}, 8, "08"]
PLACES += [[8, 0], [10**30, 10**30 + 8], []]
TYPES: list[Any] = [
    "F16",
    "BF16",
    "F8_E4M3",
    "I8",
    "I4",
    "U4",
    "U32",
    "C64",
    "f64",
    "F64 ",
]
TYPES += [
    "<f8",
    "|O8",
    "object",
    "O",
    "S8",
    "V8",
    "",
    "F65",
    None,
    8,
    [],
    {},
    ["F64"],
    True,
]


def other_entries(parts: Parts) -> Named:
    """Yield entries of arrays that lie, with a checksum that agrees."""
    for name, entry in islice(parts.table.items(), 8):
        changes = [{"data_offsets": place} for place in PLACES] + [{"more": 1}]
        changes += [{"dtype": dtype} for dtype in TYPES]
        changes += [{"shape": shape} for shape in SHAPES]
        if parts.bytes_of(
            name
        ):  # else another size of items or another empty shape is true
            sizes = {dtype for dtype, s in SIZES.items() if s != SIZES[entry["dtype"]]}
            changes += [{"dtype": dtype} for dtype in sorted(sizes)]
            changes += [{"shape": shape} for shape in EMPTY_SHAPES]
            changes += [{"shape": [*entry["shape"], 2]}]
        for change in changes:
            table = parts.table | {name: entry | change}
            yield f"entry: {name} {change!s:.60}", joined(replace(parts, table=table))
        for key in entry:
            less = {k: v for k, v in entry.items() if k != key}
            table = parts.table | {name: less}
            yield f"entry: {name} without {key}", joined(replace(parts, table=table))
        for other in (None, [], "F64", 1, {}, [entry]):
            table: dict[str, Any] = parts.table | {name: other}
            yield f"entry: {name} is {other!s:.9}", joined(replace(parts, table=table))


def other_places(parts: Parts) -> Named:
    """Yield arrays with gaps, overlaps and names that none may have."""
    table, data = parts.table, parts.data

    def moved(name: str, step: int) -> dict[str, Any]:
        begin, end = table[name]["data_offsets"]
        return table | {name: table[name] | {"data_offsets": [begin + step, end + step]}}

    for name in islice(table, 40):
        for step in (-8, -1, 1, 8):
            yield (
                f"place: {name} by {step}",
                joined(replace(parts, table=moved(name, step))),
            )
    full = [name for name in table if parts.bytes_of(name)]
    for name in full[:40]:
        rest = {key: entry for key, entry in table.items() if key != name}
        yield f"place: gap for {name}", joined(replace(parts, table=rest))
        twice = table | {"twice": table[name]}
        yield f"place: {name} twice", joined(replace(parts, table=twice))
    yield "place: arrays without bytes", joined(replace(parts, data=b""))
    yield "place: bytes without arrays", joined(replace(parts, table={}))
    yield "place: more bytes", joined(replace(parts, data=data + bytes(8)))
    last = max(full, key=lambda name: table[name]["data_offsets"])
    for name in ("", "\0", "a\nb", "é", "\ud800", "\x7f"):
        named = {key: entry for key, entry in table.items() if key != last}
        file = joined(replace(parts, table=named | {name: table[last]}))
        yield f"place: an array named {name!r}", file


def other_metadata(parts: Parts) -> Named:
    def file(metadata: Any, what: str) -> tuple[str, bytes]:
        if not isinstance(metadata, dict):
            return f"metadata: {what}", framed(
                dumped(parts.table | {META: metadata}), parts.data
            )
        header = signed_header(parts.table, metadata, parts.data)
        return f"metadata: {what}", framed(header, parts.data)

    yield "metadata: none", framed(dumped(parts.table), parts.data)
    for other in (None, [], "x", 1, [parts.metadata]):
        yield file(other, f"is {other!s:.9}")
    ours = parts.metadata
    for key in ("format", "format_version", "jointdist", "library_version"):
        yield file({k: v for k, v in ours.items() if k != key}, f"without {key}")
        for other in (None, 1, 1.5, True, [], {}, ["1"]):
            yield file(ours | {key: other}, f"{key} is {other}")
    yield file(ours | {"more": "x"}, "one more")
    for other in ("", "jointdist", "JOINTDIST-MODEL", "jointdist-model ", "pt"):
        yield file(ours | {"format": other}, f"format {other!r}")
    for other in ("", "0", "-1", "1.0", " 1", "01", "one", "٢", "9" * 5000, "1e3"):
        yield file(ours | {"format_version": other}, f"version {other:.9}")
    for other in ("2", "10", "999999999"):
        newer = {"format_version": other, "library_version": "9.8.7"}
        yield file(ours | newer, f"newer version {other}")
    rest = {key: value for key, value in ours.items() if key != "checksum"}
    yield "metadata: no checksum", framed(dumped(parts.table | {META: rest}), parts.data)
    wrong = ("", "0" * 64, ours["checksum"].upper() + " ", ours["checksum"][:-1], "x" * 64)
    for other in (*wrong, None, 0, [], "\ud800"):
        header = dumped(parts.table | {META: rest | {"checksum": other}})
        yield f"metadata: checksum {other!r:.9}", framed(header, parts.data)


def other_values(parts: Parts) -> Named:
    """Yield trees of values that are no JSON of ours, with a checksum that agrees."""
    text = dumped(parts.values).decode()
    texts = ["", " ", "null", "1", "[]", '"x"', "{", "}", text[:-1], text + "}", "\0", "{]"]
    texts += [
        f"[{text}]",
        "\ufeff" + text,
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        "{'a':1}",
    ]
    texts += [f'{{"a":{x}}}' for x in ("NaN", "Infinity", "-Infinity", "1e999", "-1e999")]
    texts += [f'{{"a":{x}}}' for x in (2**63, -(2**63) - 1, "9" * 5000, "01", "+1", "0x1")]
    texts += ['{"a":' + "[" * n + "]" * n + "}" for n in (64, 1000, 100_000)]
    texts += ['{"a":' * n + "1" + "}" * n for n in (65, 1000, 50_000)]
    texts += ["[" * 200_000, '{"' + '\\"' * 100_000, '{"a":"\n"}', '{"a":undefined}']
    for text in texts:
        metadata = parts.metadata | {"jointdist": text}
        header = signed_header(parts.table, metadata, parts.data)
        yield f"values: {text:.20} of {len(text)}", framed(header, parts.data)
    boolean = {"flag": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}
    for content in (b"\x00\x02", b"\xff\x01", b"\x01\x80"):
        file = joined(replace(parts, table=boolean, data=content))
        yield f"values: bools {content!r}", file


def valid_arrays(parts: Parts) -> Named:
    """Yield well-formed files with other arrays than those of the model."""
    whole = {
        name: (entry["dtype"], entry["shape"], parts.bytes_of(name))
        for name, entry in parts.table.items()
    }
    yield "valid: as it was", joined(parts)
    yield "valid: no arrays", with_arrays(parts, {})
    yield "valid: one more array", with_arrays(parts, whole | {"more": ("U8", [0], b"")})
    for name, (dtype, shape, content) in whole.items():
        rest = {key: value for key, value in whole.items() if key != name}
        yield f"valid: without {name}", with_arrays(parts, rest)
        yield f"valid: {name} renamed", with_arrays(parts, rest | {"x": whole[name]})
        empty = (dtype, [0, *shape[1:]], b"")
        yield f"valid: {name} empty", with_arrays(parts, whole | {name: empty})
        scalar = (dtype, [], content[: SIZES[dtype]].ljust(SIZES[dtype], b"\0"))
        yield f"valid: {name} a number", with_arrays(parts, whole | {name: scalar})
        for other, size in SIZES.items():
            if size == SIZES[dtype] and other != dtype:
                swapped = (other, shape, content)
                yield f"valid: {name} {other}", with_arrays(parts, whole | {name: swapped})
        shapes = [shape[::-1], [len(content) // SIZES[dtype]], [1, *shape], [*shape, 1]]
        for other_shape in shapes:
            if other_shape != shape and len(other_shape) <= 8:
                file = with_arrays(parts, whole | {name: (dtype, other_shape, content)})
                yield f"valid: {name} of shape {other_shape}", file
        size = SIZES[dtype]
        fills = {"zeros": bytes(size), "ones": b"\xff" * size, "ends": b"\xff" * (size - 1)}
        fills["ends"] += b"\x7f"  # the largest integer, NaN of floats
        fills["infinity"] = np.array(np.inf, "<f8" if size == 8 else "<f4").tobytes()[:size]
        for what, item in fills.items():
            filled = (dtype, shape, item * (len(content) // size))
            yield f"valid: {name} {what}", with_arrays(parts, whole | {name: filled})


def valid_values(parts: Parts) -> Named:
    """Yield well-formed files with other values at each place of the tree."""
    for path in islice(_paths(parts.values), MOST_LEAVES):
        yield (
            f"valid: without {path}",
            joined(replace(parts, values=_changed(parts.values, path, None, drop=True))),
        )
        for other in (None, True, -1, 0, 2**62, -1e308, "", "x" * 1000, [], {}, [[]]):
            values = _changed(parts.values, path, other)
            yield f"valid: {path} is {other!s:.9}", joined(replace(parts, values=values))
    yield "valid: no values", joined(replace(parts, values={}))
    more = {**parts.values, "more": 1}
    yield "valid: one more value", joined(replace(parts, values=more))


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = tree.items() if isinstance(tree, dict) else ()
    inside = enumerate(tree) if isinstance(tree, list) else inside
    for key, part in inside:
        yield from _paths(part, (*path, key))


def _changed(tree: Any, path: tuple[Any, ...], value: Any, *, drop: bool = False) -> Any:
    """Return the tree with another value at a place, or without it."""
    key, *rest = path
    copied = tree.copy()
    if rest:
        copied[key] = _changed(tree[key], tuple(rest), value, drop=drop)
    elif drop:
        del copied[key]
    else:
        copied[key] = value
    return copied
