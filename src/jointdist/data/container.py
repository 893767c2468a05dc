"""The file of a fitted model: arrays and a tree of plain values, in safetensors format.

Any reader of safetensors reads it. Its metadata are

* ``format`` and ``format_version``: ``"jointdist-model"`` and ``"1"``
* ``library_version``: the version of this library that wrote it
* ``jointdist``: the tree of plain values, as JSON
* ``checksum``: BLAKE2b of 256 bits, in hexadecimal, of all of the header but itself, as
  JSON with sorted names and no spaces, followed by the bytes of all arrays

Reading executes nothing, believes nothing, and allocates no more than the file is long. The
checksum finds damage; it is no signature: who can change a file can change it too.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from io import BufferedReader
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text, require
from jointdist.data.atomic import replace_file
from jointdist.data.container_header import (
    MOST_ARRAYS,
    MOST_AXES,
    MOST_HEADER,
    Entry,
    Flaw,
    check,
    code_of,
    entries_of,
    header_bytes,
    header_hash,
    header_tree,
    is_name,
    parsed_header,
    parsed_values,
)
from jointdist.data.strict_json import canonical, require_plain
from jointdist.errors import ModelFileError

__all__ = ["MOST_BYTES", "Container", "read_container", "write_container"]

MOST_BYTES = 4 << 30  # a hundred times what a model is meant to have at most, 32 MB
_CHUNK = 1 << 20  # bytes that stay in cache from the reading to the checksum
_WRITE = "write_container"


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds.

    Parameters
    ----------
    header : dict
        The tree of plain values.
    arrays : dict of str to array
        The arrays by name. Each owns its memory, and is read-only.
    """

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_container(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> None:
    """Write a file, or leave what was there: no failure or interrupt leaves half of one.

    Parameters
    ----------
    path : path-like
        The file. One that exists is replaced and keeps its permissions; where it is a
        symbolic link, the file that it leads to is.
    header : mapping
        A tree of dicts, lists, strings, finite numbers, bools and None; integers have 64
        bits, and the JSON of the tree less than 1 MB.
    arrays : mapping of str to array
        At most 4,096 arrays of bool, uint8, int32, int64, uint64, float32 or float64, of
        at most 8 axes.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from jointdist.data.container import read_container, write_container
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "model.safetensors"
    ...     write_container(file, {"ridge": 0.1}, {"pivots": np.arange(3)})
    ...     found = read_container(file)
    >>> found.header, found.arrays
    ({'ridge': 0.1}, {'pivots': array([0, 1, 2])})
    """
    _require_arrays(arrays)
    require_plain(_WRITE, "header", dict(header))
    # The widest first, so that each array begins at a multiple of its item size.
    ordered = sorted(arrays.items(), key=lambda item: (-item[1].itemsize, item[0]))
    version = str(import_module("jointdist").__version__)
    tree = header_tree(ordered, canonical(dict(header)), version)
    size = len(header_bytes(tree, "0" * 64))
    rule = f"at most {MOST_HEADER:,} bytes of JSON, with the names of all arrays"
    require(size <= MOST_HEADER, _WRITE, "header", rule, Text(f"{size:,}"))
    try:
        replace_file(path, lambda file: _write(file, tree, [a for _, a in ordered]))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        why = "its folder does not exist" if missing else error.strerror or str(error)
        msg = f"{os.fspath(path)!r} could not be written: {why}."
        raise ModelFileError(msg) from error


def read_container(
    path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES
) -> Container:
    """Read a file, whoever wrote it, or raise ``ModelFileError`` that says what is wrong.

    Parameters
    ----------
    path : path-like
        The file.
    most_bytes : int
        The largest file that is read.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            return _read(file, most_bytes)
    except Flaw as flaw:
        msg = f"{os.fspath(path)!r} {flaw}."
        raise ModelFileError(msg) from flaw.__cause__
    except (OSError, ValueError) as error:  # the latter for names that no file can have
        missing = isinstance(error, FileNotFoundError)
        why = getattr(error, "strerror", None) or str(error)
        why = "there is no such file" if missing else why
        msg = f"{os.fspath(path)!r} could not be read: {why}."
        raise ModelFileError(msg) from error


def _require_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    rule = f"at most {MOST_ARRAYS:,} arrays"
    require(len(arrays) <= MOST_ARRAYS, _WRITE, "arrays", rule, Text(f"{len(arrays):,}"))
    for name, array in arrays.items():
        rule = "named in printable ASCII, and not '__metadata__'"
        require(is_name(name), _WRITE, "arrays", rule, name)
        where = f"arrays[{name!r}]"
        plain = isinstance(array, np.ndarray)
        require(plain, _WRITE, where, "a NumPy array", Text(type(array)))
        masked = isinstance(array, np.ma.MaskedArray)
        require(not masked, _WRITE, where, "an array without a mask", Text("one"))
        rule = "of bool, uint8, int32, int64, uint64, float32 or float64"
        require(code_of(array.dtype), _WRITE, where, rule, array.dtype)
        rule = f"an array of at most {MOST_AXES} axes"
        require(array.ndim <= MOST_AXES, _WRITE, where, rule, Text(f"{array.ndim} axes"))


def _write(file: BinaryIO, tree: Mapping[str, Any], arrays: Iterable[NDArray[Any]]) -> None:
    """Write what is known, then the arrays, then the header with the checksum of both."""
    checksum = header_hash(tree)
    header = header_bytes(tree, "0" * 64)
    file.write(len(header).to_bytes(8, "little") + header)
    for array in arrays:
        little = array.dtype.newbyteorder("<")
        data = _bytes_of(np.asarray(array).astype(little, order="C", copy=False))
        checksum.update(data)
        file.write(data)
    file.seek(8)
    file.write(header_bytes(tree, checksum.hexdigest()))


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Return the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def _open_at_once(name: str, flags: int) -> int:
    """Open a file, and do not wait for the writer of a pipe."""
    return os.open(name, flags | getattr(os, "O_NONBLOCK", 0))


def _read(file: BufferedReader, most_bytes: int) -> Container:
    status = os.fstat(file.fileno())
    size = status.st_size
    check(stat.S_ISREG(status.st_mode), "is not a model file: it is not a regular file")
    raw = _read_header(file, size)
    tree, metadata = parsed_header(raw)
    limit = f"is too large: it has {size:,} bytes, and `most_bytes` is {most_bytes:,}"
    check(size <= most_bytes, limit)
    entries = entries_of(tree, size - 8 - len(raw))
    checksum = header_hash(tree)
    arrays = {}
    for entry in entries:
        array = np.empty(entry.shape, entry.dtype)
        data = _bytes_of(array)
        for start in range(0, len(data), _CHUNK):
            part = data[start : start + _CHUNK]
            check(
                file.readinto(part) == len(part), "is truncated: it ends while it is read"
            )
            checksum.update(part)
        arrays[entry.name] = array
    same = checksum.hexdigest() == metadata["checksum"]
    check(same, "is damaged: its checksum differs")
    header = parsed_values(metadata)
    return Container(header, {e.name: _finished(e, arrays[e.name]) for e in entries})


def _read_header(file: BinaryIO, size: int) -> bytes:
    start = file.read(9)
    check(start, "is not a model file: it is empty")
    check(len(start) == 9, f"is not a model file, or truncated: it has {size:,} bytes")
    check(start[8:] == b"{", "is not a model file: it does not begin as one")
    length = int.from_bytes(start[:8], "little")
    long = f"has an invalid header: its length is {length:,}, more than {MOST_HEADER:,}"
    check(length <= MOST_HEADER, long)
    missing = 8 + length - size
    check(missing <= 0, f"is truncated: {missing:,} bytes of its header are missing")
    file.seek(8)
    raw = file.read(length)
    check(len(raw) == length, "is truncated: it ends while it is read")
    return raw


def _finished(entry: Entry, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of the machine, read-only, if its values are some."""
    if array.dtype.kind == "b":
        most = array.view(np.uint8).max(initial=0)
        check(
            most <= 1, f"is damaged: array {entry.name!r} has values beyond true and false"
        )
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    native.setflags(write=False)
    return native
