"""Fields that hold arrays of strings, which files hold as bytes and offsets."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text
from jointdist.data._codec_walk import (
    Field,
    Json,
    Place,
    Reader,
    Size,
    Writer,
    is_unicode,
    shown,
)

__all__ = ["Strings", "read_strings", "write_strings"]

# Bytes of an array of strings of fixed width, at most: a memory budget, since a short file
# can ask for many of great width.
_MOST_BYTES = 1 << 28


class Strings(Field):
    """A one-dimensional NumPy array of strings, of fixed width or as objects.

    Parameters
    ----------
    size : int or str
        The number of strings.
    """

    def __init__(self, size: Size) -> None:
        self.size = size

    def fits(self, value: object) -> bool:
        return isinstance(value, np.ndarray) and value.dtype.kind in "UO"

    def write(self, value: Any, at: Place[Writer]) -> Json:
        ok = self.fits(value) and value.dtype.isnative and value.ndim == 1
        at.require(ok and at.fits(self.size, len(value)), self._rule(at), shown(value))
        if (id(value), "strings") not in at.walk.nodes_of:
            width = None if value.dtype.kind == "O" else value.dtype.itemsize // 4
            small = value.nbytes <= _MOST_BYTES
            at.require(small, f"an array of at most {_MOST_BYTES:,} bytes", value.nbytes)
            node = {"strings": write_strings(value.tolist(), at), "width": width}
            at.walk.remember(value, "strings", node)
        return at.walk.nodes_of[id(value), "strings"]

    def read(self, node: Json, at: Place[Reader]) -> NDArray[Any]:
        ok = type(node) is dict and set(node) == {"strings", "width"}
        at.require(ok, "a description of strings", shown(node))
        values, width = read_strings(node["strings"], at), node["width"]
        at.require(at.fits(self.size, len(values)), self._rule(at), len(values))
        longest = max(map(len, values), default=0)
        ok = width is None or (type(width) is int and longest <= width)
        at.require(ok, f"of width {longest} or more", shown(width))
        small = width is None or 4 * width * len(values) <= _MOST_BYTES
        at.require(small, f"an array of at most {_MOST_BYTES:,} bytes", shown(width))
        key = ("array", node["strings"]["bytes"], node["strings"]["offsets"], width)
        if key not in at.walk.made:
            dtype = np.dtype(object if width is None else f"U{width}")
            array: NDArray[Any] = np.empty(len(values), dtype)
            array[:] = values
            array.setflags(write=False)
            at.walk.made[key] = array
        return at.walk.made[key]  # type: ignore[no-any-return]

    def _rule(self, at: Place[Any]) -> str:
        return f"an array of strings of shape ({self.size},){at.where_sizes(self.size)}"


def write_strings(values: Sequence[Any], at: Place[Writer]) -> Json:
    """Store strings as the bytes of all and the offsets of each.

    Parameters
    ----------
    values : sequence of str
        The strings.
    at : Place
        Where they are in the tree.

    Returns
    -------
    dict of str
        The names of the two arrays.
    """
    for value in values:
        if not (isinstance(value, str) and is_unicode(value)):
            at.require(False, "strings of Unicode characters", shown(value))
    coded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, coded)], dtype=np.int64)
    parts: dict[str, NDArray[Any]] = {
        "bytes": np.frombuffer(b"".join(coded), np.uint8),
        "offsets": ends,
    }
    return {name: at.walk.store(a, f"{at.path}.{name}") for name, a in parts.items()}


def read_strings(node: Json, at: Place[Reader]) -> Sequence[str]:
    """Return the strings that :func:`write_strings` has stored.

    Parameters
    ----------
    node : dict of str
        The names of the two arrays.
    at : Place
        Where the strings are in the tree.
    """
    ok = type(node) is dict and set(node) == {"bytes", "offsets"}
    at.require(ok, "the names of the arrays `bytes` and `offsets`", shown(node))
    characters = at.walk.array(node["bytes"], at)
    ends = at.walk.array(node["offsets"], at)
    key = ("strings", node["bytes"], node["offsets"])
    if key in at.walk.made:
        return at.walk.made[key]  # type: ignore[no-any-return]
    ok = characters.dtype == np.uint8 and characters.ndim == 1
    at.require(ok, "an array of bytes", shown(characters))
    ok = ends.dtype == np.int64 and ends.ndim == 1 and len(ends) > 0
    ok = ok and bool(ends[0] == 0 and ends[-1] == len(characters))
    ok = ok and bool((ends[1:] >= ends[:-1]).all())
    at.require(ok, f"offsets from 0 to {len(characters)}, in order", shown(ends))
    data = characters.tobytes()
    try:
        values = [data[a:b].decode() for a, b in pairwise(ends.tolist())]
    except UnicodeDecodeError as error:
        at.require(False, "strings in UTF-8", Text(error))
        raise
    at.walk.made[key] = values
    return values
