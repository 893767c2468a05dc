"""A walk over a tree of values: where it is, the sizes it has met, its limits, its errors."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text, refusal

__all__ = [
    "Field",
    "Json",
    "Place",
    "Reader",
    "Size",
    "Walk",
    "Writer",
    "is_unicode",
    "shown",
]

Json: TypeAlias = Any
Size: TypeAlias = int | str  # 3, "m", "1+m", or "_" for any

_MOST_DEPTH = 64  # values inside values; a fitted model has about ten
_MOST_NODES = 100_000  # fields and entries; a fitted model of 10,000 columns has about half
_SHORT = (
    256  # bytes of an array that are about as many as those of its name, type and shape
)
_ARRAY_NAME = re.compile(r"[\w.\[\]]{1,200}", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SIZE = re.compile(r"(\w+)(\+\w+)*")


class Walk:
    """What is known all over a tree while it is written or read.

    Parameters
    ----------
    where : str
        The function the user called, for messages.
    error : type of Exception
        The error of what breaks a rule.
    kinds : mapping
        The registered classes: by class and by tag.
    """

    def __init__(
        self, where: str, error: type[Exception], kinds: Mapping[Any, Any]
    ) -> None:
        self.where, self.error, self.kinds = where, error, kinds
        self.nodes = 0


class Writer(Walk):
    """A walk that writes: the arrays so far, and what has been written before."""

    def __init__(self, where: str, kinds: Mapping[Any, Any]) -> None:
        super().__init__(where, ValueError, kinds)
        self.arrays: dict[str, NDArray[Any]] = {}
        self.values: list[Json] = []
        self.numbers: dict[int, int] = {}
        self.nodes_of: dict[tuple[int, str], Json] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._alive: list[object] = []  # the identity of what is freed may be taken anew

    def add(self, value: object, node: Json) -> None:
        """Add a registered value, whose parts have all been added before."""
        self._alive.append(value)
        self.numbers[id(value)] = len(self.values)
        self.values.append(node)

    def remember(self, value: object, role: str, node: Json) -> None:
        """Keep the node of an array, which other fields may hold too."""
        self._alive.append(value)
        self.nodes_of[id(value), role] = node

    def store(self, array: NDArray[Any], path: str) -> str:
        """Store an array under its path, or under a number; return the name.

        Equal arrays are stored once, unless they are short.
        """
        data = np.asarray(array, order="C")
        raw = data.reshape(-1).view(np.uint8)
        content = path.encode() if raw.size < _SHORT else blake2b(raw.data).digest()
        key = data.dtype.name, data.shape, content
        if raw.size < _SHORT or key not in self._names:
            taken = not _ARRAY_NAME.fullmatch(path) or path in self.arrays
            self._names[key] = name = f"array[{len(self.arrays)}]" if taken else path
            self.arrays[name] = data
        return self._names[key]


class Reader(Walk):
    """A walk that reads: the arrays of the file, and the values that are read already."""

    def __init__(
        self,
        where: str,
        error: type[Exception],
        kinds: Mapping[Any, Any],
        values: list[Json],
        arrays: Mapping[str, NDArray[Any]],
    ) -> None:
        super().__init__(where, error, kinds)
        self.values, self.arrays = values, arrays
        self.found: dict[int, Any] = {}
        self.used: set[str] = set()
        self.made: dict[tuple[Any, ...], Any] = {}  # of arrays that several fields name

    def array(self, name: Json, at: "Place[Reader]") -> NDArray[Any]:
        """Return an array of the file by its name."""
        known = type(name) is str and isinstance(self.arrays.get(name), np.ndarray)
        at.require(known, "the name of an array of the file", shown(name))
        self.used.add(name)
        return self.arrays[name]


W = TypeVar("W", bound=Walk)


@dataclass(frozen=True, eq=False)
class Place(Generic[W]):
    """Where a walk is: the path of a field, and the sizes known in its object.

    Attributes
    ----------
    walk : Walk
        The walk.
    path : str
        The path from the root, as ``"location.parts[2].core"``.
    number : int
        The number of the value whose field it is; its parts have smaller ones.
    depth : int
        How many values that value is inside of.
    sizes : dict
        The sizes known so far, by name.
    """

    walk: W
    path: str = ""
    number: int = 0
    depth: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def require(self, ok: object, rule: str, got: object) -> None:
        """Raise the error of the walk unless a rule holds.

        Parameters
        ----------
        ok : object
            Whether it holds.
        rule : str
            The rule, completing the sentence "must be ...".
        got : object
            What was found instead.
        """
        if not ok:
            where, name = self.walk.where, self.path or "model"
            raise self.walk.error(refusal(where, name, rule, got))

    def inside(self, number: int = 0) -> "Place[W]":
        """Return the place inside a value, where names of sizes stand for others."""
        rule = f"at most {_MOST_DEPTH} values deep"
        self.require(self.depth < _MOST_DEPTH, rule, Text("a deeper tree"))
        return Place(self.walk, self.path, number, self.depth + 1)

    def step(self, step: str) -> "Place[W]":
        """Return the place of a part: a field, as ``".core"``, or an entry, as ``"[2]"``."""
        self.walk.nodes += 1
        if self.walk.nodes > _MOST_NODES:
            self.require(False, f"in a tree of {_MOST_NODES:,} fields", Text("more"))
        path = (self.path + step).removeprefix(".")
        return Place(self.walk, path, self.number, self.depth, self.sizes)

    def fits(self, size: Size, actual: int) -> bool:
        """Tell whether a size is as declared; the first use of a name gives its size.

        Parameters
        ----------
        size : int or str
            A number, a name, or a sum of them, as ``"1+m"``; ``"_"`` is any.
        actual : int
            The size.
        """
        names, total = _parsed(size)
        unknown = [name for name in names if name not in self.sizes]
        total += sum(self.sizes.get(name, 0) for name in names)
        if not unknown:
            return actual == total
        if len(unknown) > 1 or actual < total:
            return False
        if unknown[0] != "_":
            self.sizes[unknown[0]] = actual - total
        return True

    def known(self, size: Size) -> int | None:
        """Return a size whose names are all known, else None."""
        names, total = _parsed(size)
        if any(name not in self.sizes for name in names):
            return None
        return total + sum(self.sizes[name] for name in names)

    def where_sizes(self, *sizes: Size) -> str:
        """Return the known sizes among those named, for messages."""
        names = dict.fromkeys(name for size in sizes for name in _parsed(size)[0])
        known = [f"{name} = {self.sizes[name]}" for name in names if name in self.sizes]
        return f" with {', '.join(known)}" if known else ""


@cache
def _parsed(size: Size) -> tuple[tuple[str, ...], int]:
    """Return the names and the constant of a sum."""
    if isinstance(size, int):
        return (), size
    if not _SIZE.fullmatch(size):
        msg = f"A size must be a number, a name or a sum of them. Got {size!r}."
        raise ValueError(msg)
    terms = size.split("+")
    names = tuple(term for term in terms if not term.isdecimal())
    return names, sum(int(term) for term in terms if term.isdecimal())


class Field(ABC):
    """What a field may hold, how it is written, and how it is read and checked."""

    @abstractmethod
    def fits(self, value: object) -> bool:
        """Tell whether a value is of the type of the field, whatever its entries."""

    @abstractmethod
    def write(self, value: Any, at: Place[Writer]) -> Json:
        """Return a value as JSON; its arrays are stored beside."""

    @abstractmethod
    def read(self, node: Json, at: Place[Reader]) -> Any:
        """Return the value of what :meth:`write` has returned; trust nothing."""


def shown(value: object) -> Text:
    """Return a short description of a value for messages, however large or deep it is."""
    if isinstance(value, dict | list | tuple):
        return Text(f"{type(value).__name__} of {len(value)}")
    if isinstance(value, np.ndarray):
        return Text(f"{value.dtype} array of shape {value.shape}")
    if isinstance(value, str):
        return Text(repr(value[:60]) + "..." * (len(value) > 60))
    large = isinstance(value, int) and value.bit_length() > 128
    plain = value is None or isinstance(value, bool | int | float)
    return Text(repr(value) if plain and not large else f"a {type(value).__name__}")


def is_unicode(text: str) -> bool:
    """Tell whether a string has no half of a surrogate pair, which UTF-8 cannot hold."""
    return text.isascii() or not _SURROGATE.search(text)
