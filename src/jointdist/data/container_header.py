"""The header of a container: where each array lies, metadata and checksum, all checked.

A header that is read is taken for hostile: whatever it says, checks end with its entries or
with a :class:`Flaw`, and allocate little beyond its own length.
"""

import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist.data.strict_json import canonical, parsed

__all__ = [
    "DTYPES",
    "MOST_ARRAYS",
    "MOST_AXES",
    "MOST_HEADER",
    "VERSION",
    "Entry",
    "Flaw",
    "check",
    "code_of",
    "entries_of",
    "header_bytes",
    "header_hash",
    "header_tree",
    "is_name",
    "parsed_header",
    "parsed_values",
]

MOST_HEADER = 1 << 20  # bytes: those of the models here are a few thousand
MOST_ARRAYS = 4096  # models have tens; a header of 1 MB has room for about 15,000
MOST_AXES = 8  # models have three
VERSION = 1
DTYPES = {"BOOL": "|b1", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}
DTYPES |= {"I16": "<i2", "U16": "<u2", "U64": "<u8", "U8": "|u1"}

_CODES = {dtype: code for code, dtype in DTYPES.items()}
_FORMAT = "jointdist-model"
_KEYS = {"checksum", "format", "format_version", "jointdist", "library_version"}
_META = "__metadata__"
_MOST_SHOWN = 60  # characters of what a file holds, in a message


class Flaw(Exception):  # noqa: N818 - the error is the one that names the file
    """What is wrong with a file, completing the sentence that its name begins."""


@dataclass(frozen=True, eq=False)
class Entry:
    """An array of a file.

    Parameters
    ----------
    name : str
        Its name.
    dtype : str
        Its type for NumPy, little endian.
    shape : tuple of int
        Its shape.
    begin, end : int
        Its bytes among those that follow the header.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def check(ok: object, flaw: str) -> None:
    """Raise a flaw unless all is well.

    Parameters
    ----------
    ok : object
        Whether all is well, by its truth value.
    flaw : str
        What is wrong otherwise.
    """
    if not ok:
        raise Flaw(flaw)


def is_name(name: object) -> bool:
    """Tell whether an array may have a name: printable ASCII.

    Parameters
    ----------
    name : object
        The name.
    """
    return isinstance(name, str) and bool(re.fullmatch("[ -~]+", name)) and name != _META


def code_of(dtype: np.dtype[Any]) -> str | None:
    """Return the code of a type in the file, None for a type that has no place there.

    Parameters
    ----------
    dtype : dtype
        The type, of any byte order.
    """
    return _CODES.get(dtype.newbyteorder("<").str)


def header_tree(
    arrays: Iterable[tuple[str, NDArray[Any]]], values: str, library_version: str
) -> dict[str, Any]:
    """Return the header of arrays that follow one another, but for its checksum.

    Parameters
    ----------
    arrays : iterable of (str, array)
        The arrays in the order of the file, with their names.
    values : str
        The tree of plain values, as JSON.
    library_version : str
        The version of this library.
    """
    tree: dict[str, Any] = {}
    end = 0
    for name, array in arrays:
        begin, end = end, end + array.nbytes
        shape, code = list(array.shape), code_of(array.dtype)
        tree[name] = {"data_offsets": [begin, end], "dtype": code, "shape": shape}
    tree[_META] = {
        "format": _FORMAT,
        "format_version": str(VERSION),
        "jointdist": values,
        "library_version": library_version,
    }
    return tree


def header_bytes(tree: Mapping[str, Any], checksum: str) -> bytes:
    """Return a header with its checksum, filled up to a multiple of 8 bytes.

    Parameters
    ----------
    tree : mapping
        The header, with or without a checksum.
    checksum : str
        The checksum.
    """
    metadata = tree[_META] | {"checksum": checksum}
    text = canonical({**tree, _META: metadata}).encode()
    return text + b" " * (-len(text) % 8)


def header_hash(tree: Mapping[str, Any]) -> blake2b:
    """Return a checksum that has seen the header without its own, and no arrays yet.

    Parameters
    ----------
    tree : mapping
        The header, with or without a checksum.
    """
    metadata = {key: value for key, value in tree[_META].items() if key != "checksum"}
    return blake2b(canonical({**tree, _META: metadata}).encode(), digest_size=32)


def parsed_header(raw: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the header of a file of ours and its metadata, or raise a flaw.

    Parameters
    ----------
    raw : bytes
        The header, of any origin.
    """
    try:
        tree = parsed(raw.decode("utf-8"))
    except ValueError as error:
        msg = f"has an invalid header: {error}"
        raise Flaw(msg) from error
    metadata: Any = tree.get(_META) if isinstance(tree, dict) else None
    ours = isinstance(metadata, dict) and metadata.get("format") == _FORMAT
    check(ours, "is not a model file: it is a safetensors file of something else")
    texts = all(isinstance(value, str) for value in metadata.values())
    check(texts, "has an invalid header: its metadata are not all strings")
    _check_version(metadata)
    check(metadata.keys() == _KEYS, "has an invalid header: its metadata are not ours")
    same = header_bytes(tree, metadata["checksum"]) == raw
    check(same, "has an invalid header: it is not written as this library writes it")
    return tree, metadata


def parsed_values(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the tree of plain values, or raise a flaw.

    Parameters
    ----------
    metadata : mapping of str to str
        The metadata.
    """
    try:
        values = parsed(metadata["jointdist"])
    except ValueError as error:
        msg = f"has an invalid header: of its values, {error}"
        raise Flaw(msg) from error
    check(isinstance(values, dict), "has an invalid header: its values are not a dict")
    found: dict[str, Any] = values
    return found


def entries_of(tree: Mapping[str, Any], room: int) -> list[Entry]:
    """Return the arrays of a header in the order of the file, or raise a flaw.

    Parameters
    ----------
    tree : mapping
        The header.
    room : int
        How many bytes follow the header. The arrays fill them, one after the other.
    """
    check(
        len(tree) - 1 <= MOST_ARRAYS,
        f"has an invalid header: it has {len(tree) - 1:,} arrays, more than {MOST_ARRAYS:,}",
    )
    found = [_entry(name, entry) for name, entry in tree.items() if name != _META]
    found.sort(key=lambda entry: (entry.begin, entry.end))
    place = 0
    for entry in found:
        apart = f"is damaged: array {entry.name[:_MOST_SHOWN]!r} does not follow another"
        check(entry.begin == place, apart)
        place = entry.end
    check(place <= room, f"is truncated: {place - room:,} bytes of its arrays are missing")
    check(place >= room, f"is damaged: {room - place:,} bytes follow its last array")
    return found


def _check_version(metadata: Mapping[str, str]) -> None:
    version = metadata.get("format_version", "")
    ok = re.fullmatch("[1-9][0-9]{0,8}", version)
    check(ok, "has an invalid header: its version of the format is not a number")
    writer = metadata.get("library_version", "unknown")[:_MOST_SHOWN]
    newer = (
        f"was written by a newer version of jointdist, {writer!r}: upgrade jointdist to "
        f"read version {version} of the format"
    )
    check(int(version) <= VERSION, newer)


def _entry(name: str, entry: object) -> Entry:
    start = f"has an invalid header: array {name[:_MOST_SHOWN]!r} has no valid"
    check(is_name(name), f"{start} name")
    keys = {"data_offsets", "dtype", "shape"}
    if not isinstance(entry, dict) or entry.keys() != keys:
        msg = f"{start} entry"
        raise Flaw(msg)
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    check(isinstance(dtype, str) and dtype in DTYPES, f"{start} type")
    check(_are_whole(shape) and len(shape) <= MOST_AXES, f"{start} shape")
    check(_are_whole(place) and len(place) == 2, f"{start} place")
    size = np.dtype(DTYPES[dtype]).itemsize
    # NumPy refuses shapes whose axes alone overflow, though an empty one makes them empty.
    within = math.prod(max(axis, 1) for axis in shape) * size <= sys.maxsize
    check(within, f"{start} shape")
    check(math.prod(shape) * size == place[1] - place[0], f"{start} size")
    return Entry(name, DTYPES[dtype], tuple(shape), *place)


def _are_whole(values: object) -> bool:
    """Tell whether these are whole numbers from zero; True is none."""
    return isinstance(values, list) and all(type(v) is int and v >= 0 for v in values)
