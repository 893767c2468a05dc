"""Fields that hold plain values: numbers, truth values, texts, and tuples of them."""

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from jointdist._rules import Text as Shown
from jointdist.data._codec_strings import read_strings, write_strings
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

__all__ = ["Choice", "Flag", "Number", "Scalars", "Text", "Whole"]

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}  # JSON has none of them
_LEAST, _MOST = -(2**63), 2**63 - 1  # integers that a file can hold
# Tuples of so many entries and characters at most are written in place: an array would take
# about as much of the header for its name, type and shape.
_SHORT, _CHARACTERS = 16, 256
_DTYPES: Mapping[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_}


class _Plain(Field):
    """A plain value, checked alike as it is written and as it is read."""

    def write(self, value: Any, at: Place[Writer]) -> Json:
        value = _python(value)
        self._check(value, at)
        return _node(value)

    def read(self, node: Json, at: Place[Reader]) -> Any:
        value = _value(node)
        self._check(value, at)
        return value

    def _check(self, value: object, at: Place[Any]) -> None:
        """Raise unless a value is as declared."""
        raise NotImplementedError


class Number(_Plain):
    """A real number: a float, or an integer, which stays one.

    Parameters
    ----------
    least, most : float, optional
        Bounds of the number.
    above : float, optional
        What the number is larger than.
    infinite, missing : bool, default=False
        Whether it may be infinite, within the bounds, or NaN.
    """

    def __init__(
        self,
        *,
        least: float = -math.inf,
        most: float = math.inf,
        above: float = -math.inf,
        infinite: bool = False,
        missing: bool = False,
    ) -> None:
        self.least, self.most, self.above = least, most, above
        self.infinite, self.missing = infinite, missing

    def fits(self, value: object) -> bool:
        return type(_python(value)) in {int, float}

    def _check(self, value: Any, at: Place[Any]) -> None:
        ok = type(value) is float or (type(value) is int and _LEAST <= value <= _MOST)
        at.require(ok, "a number", shown(value))
        if math.isnan(value):
            at.require(self.missing, "a number", value)
            return
        at.require(self.infinite or math.isfinite(value), "finite", value)
        at.require(value >= self.least, f"at least {self.least}", value)
        at.require(value <= self.most, f"at most {self.most}", value)
        above = value > self.above or self.above == -math.inf
        at.require(above, f"above {self.above}", value)


class Whole(_Plain):
    """An integer.

    Parameters
    ----------
    least, most : int, optional
        Bounds of the integer.
    size : int or str, optional
        The size that it is, as ``"m"``.
    """

    def __init__(
        self, *, least: int = _LEAST, most: int = _MOST, size: Size | None = None
    ) -> None:
        self.least, self.most, self.size = least, most, size

    def fits(self, value: object) -> bool:
        return type(_python(value)) is int

    def _check(self, value: Any, at: Place[Any]) -> None:
        ok = type(value) is int and self.least <= value <= self.most
        at.require(ok, f"an integer from {self.least} to {self.most}", shown(value))
        if self.size is not None:
            rule = f"{self.size}{at.where_sizes(self.size)}"
            at.require(value >= 0 and at.fits(self.size, value), rule, value)


class Flag(_Plain):
    """True or False."""

    def fits(self, value: object) -> bool:
        return type(_python(value)) is bool

    def _check(self, value: object, at: Place[Any]) -> None:
        at.require(type(value) is bool, "True or False", shown(value))


class Text(_Plain):
    """A string.

    Parameters
    ----------
    *options : str
        The strings that it may be; any if there are none.
    """

    def __init__(self, *options: str) -> None:
        self.options = options

    def fits(self, value: object) -> bool:
        return isinstance(value, str)

    def _check(self, value: Any, at: Place[Any]) -> None:
        ok = type(value) is str and is_unicode(value)
        at.require(ok, "a string of Unicode characters", shown(value))
        if self.options:
            at.require(value in self.options, f"one of {self.options}", shown(value))


class Choice(Field):
    """One of a few values: strings, numbers, True, False, None or members of an enumeration.

    Parameters
    ----------
    *options : object
        The values.
    """

    def __init__(self, *options: Any) -> None:
        self.options = options

    def fits(self, value: object) -> bool:
        return any(_same(_python(value), option) for option in self.options)

    def write(self, value: Any, at: Place[Writer]) -> Json:
        return self._chosen(_python(value), self.options, at)[1]

    def read(self, node: Json, at: Place[Reader]) -> Any:
        nodes = [_named(option) for option in self.options]
        return self._chosen(node, nodes, at)[0]

    def _chosen(self, value: Any, among: Any, at: Place[Any]) -> tuple[Any, Json]:
        """Return the option that matches a value, with its node."""
        for option, candidate in zip(self.options, among, strict=True):
            if _same(value, candidate):
                return option, _named(option)
        at.require(False, f"one of {self.options}", shown(value))
        raise AssertionError


class Scalars(Field):
    """A tuple of plain values of one type, as categories; a long one becomes an array.

    Parameters
    ----------
    *types : type
        The types that they may have, of ``str``, ``int``, ``float`` and ``bool``, the
        default.
    size : int or str, default="_"
        The number of values.
    """

    def __init__(self, *types: type, size: Size = "_") -> None:
        self.types = {kind.__name__: kind for kind in types or (str, int, float, bool)}
        self.size = size

    def fits(self, value: object) -> bool:
        return type(value) is tuple and all(
            type(_python(entry)).__name__ in self.types for entry in value[:1]
        )

    def write(self, value: Any, at: Place[Writer]) -> Json:
        at.require(type(value) is tuple, self._rule(at), shown(value))
        values = [_python(entry) for entry in value]
        kind = type(values[0]) if values else next(iter(self.types.values()))
        self._check(values, kind, at)
        node: dict[str, Json] = {"type": kind.__name__}
        length = sum(map(len, values)) if kind is str else 0
        if len(values) <= _SHORT and length <= _CHARACTERS:
            return node | {"values": [_node(entry) for entry in values]}
        if kind is str:
            return node | {"strings": write_strings(values, at)}
        return node | {"array": at.walk.store(np.array(values, _DTYPES[kind]), at.path)}

    def read(self, node: Json, at: Place[Reader]) -> tuple[Any, ...]:
        keys = set(node) - {"type"} if type(node) is dict and "type" in node else set()
        known = len(keys) == 1 and keys <= {"values", "strings", "array"}
        at.require(known, "a description of a tuple", shown(node))
        name, how = node["type"], keys.pop()
        at.require(type(name) is str and name in self.types, self._rule(at), shown(name))
        found, kind = node[how], self.types[name]
        if how == "array":
            return self._from_array(found, kind, at)
        if how == "strings":
            at.require(kind is str, self._rule(at), shown(node))
            values = read_strings(found, at)
        else:
            at.require(type(found) is list, "a list of values", shown(found))
            values = [_value(entry) for entry in found]
        self._check(values, kind, at)
        return tuple(values)

    def _from_array(self, name: Json, kind: type, at: Place[Reader]) -> tuple[Any, ...]:
        array, dtype = at.walk.array(name, at), _DTYPES.get(kind)
        ok = dtype is not None and array.dtype == dtype and array.ndim == 1
        ok = ok and at.fits(self.size, len(array))
        at.require(
            ok, f"a vector of {kind.__name__}{at.where_sizes(self.size)}", shown(array)
        )
        if ("tuple", name) not in at.walk.made:
            at.walk.made["tuple", name] = tuple(array.tolist())
        return at.walk.made["tuple", name]  # type: ignore[no-any-return]

    def _rule(self, at: Place[Any]) -> str:
        kinds = ", all ".join(self.types)
        size = "" if self.size == "_" else f" of {self.size}{at.where_sizes(self.size)}"
        return f"a tuple{size}, all {kinds}"

    def _check(self, values: Any, kind: type, at: Place[Any]) -> None:
        at.require(at.fits(self.size, len(values)), self._rule(at), shown(values))
        at.require(kind.__name__ in self.types, self._rule(at), Shown(kind.__name__))
        for entry in values:
            good = type(entry) is kind
            good = good and (kind is not int or _LEAST <= entry <= _MOST)
            if not good or (kind is str and not is_unicode(entry)):
                rule = f"{self._rule(at)}, of 64 bits or Unicode characters"
                at.require(False, rule, shown(entry))


def _python(value: Any) -> Any:
    """Return a scalar of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _node(value: Any) -> Json:
    """Return a plain value as JSON, which has no infinity."""
    if type(value) is float and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _value(node: Json) -> Any:
    """Return the plain value of what :func:`_node` has returned."""
    if type(node) is dict and set(node) == {"float"} and type(node["float"]) is str:
        return _SPECIAL.get(node["float"], node)
    return node


def _named(option: Any) -> Json:
    """Return an option as JSON: a member of an enumeration by its name."""
    return option.name if isinstance(option, Enum) else _node(option)


def _same(value: object, option: object) -> bool:
    return type(value) is type(option) and bool(value == option)
