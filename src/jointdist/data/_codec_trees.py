"""Fields that hold other fields: optional ones, sequences, mappings, and whole values."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

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

__all__ = [
    "Added",
    "Either",
    "Mapping",
    "Optional",
    "Sequence",
    "Tuple",
    "Unsaved",
    "Value",
]


class Optional(Field):
    """A field that may be None.

    Parameters
    ----------
    field : Field
        What it is otherwise.
    """

    def __init__(self, field: Field) -> None:
        self.field = field

    def fits(self, value: object) -> bool:
        return value is None or self.field.fits(value)

    def write(self, value: Any, at: Place[Writer]) -> Json:
        return None if value is None else self.field.write(value, at)

    def read(self, node: Json, at: Place[Reader]) -> Any:
        return None if node is None else self.field.read(node, at)


class Added(Optional):
    """An optional field that older files do not have; it is None in these."""


class Either(Field):
    """A field of one of several kinds, as a number or an array.

    Parameters
    ----------
    *fields : Field
        The kinds; the first that a value fits is taken.
    """

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def fits(self, value: object) -> bool:
        return any(field.fits(value) for field in self.fields)

    def write(self, value: Any, at: Place[Writer]) -> Json:
        case = next((i for i, f in enumerate(self.fields) if f.fits(value)), -1)
        at.require(case >= 0, self._rule(), shown(value))
        return {"case": case, "value": self.fields[case].write(value, at)}

    def read(self, node: Json, at: Place[Reader]) -> Any:
        ok = type(node) is dict and set(node) == {"case", "value"}
        at.require(ok, self._rule(), shown(node))
        case = node["case"]
        known = type(case) is int and 0 <= case < len(self.fields)
        at.require(known, self._rule(), Text(f"case {shown(case)}"))
        return self.fields[case].read(node["value"], at)

    def _rule(self) -> str:
        return "one of " + ", ".join(type(field).__name__ for field in self.fields)


class Sequence(Field):
    """A tuple or a list of fields of one kind.

    Parameters
    ----------
    field : Field
        The kind of its entries.
    size : int or str, default="_"
        The number of entries.
    of : type, default=tuple
        Whether it is a ``tuple`` or a ``list``.
    """

    def __init__(self, field: Field, size: Size = "_", *, of: type = tuple) -> None:
        self.field, self.size, self.of = field, size, of

    def fits(self, value: object) -> bool:
        return type(value) is self.of

    def write(self, value: Any, at: Place[Writer]) -> Json:
        self._check(value, self.of, at)
        return [self.field.write(v, at.step(f"[{i}]")) for i, v in enumerate(value)]

    def read(self, node: Json, at: Place[Reader]) -> Any:
        self._check(node, list, at)
        return self.of(self.field.read(v, at.step(f"[{i}]")) for i, v in enumerate(node))

    def _check(self, value: Any, kind: type[Any], at: Place[Any]) -> None:
        size = "" if self.size == "_" else f" of {self.size}{at.where_sizes(self.size)}"
        ok = type(value) is kind and at.fits(self.size, len(value))
        at.require(ok, f"a {kind.__name__}{size}", shown(value))


class Tuple(Field):
    """A tuple of fields of several kinds.

    Parameters
    ----------
    *fields : Field
        The kinds, one for each entry.
    """

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def fits(self, value: object) -> bool:
        return self._is_full(value, tuple)

    def write(self, value: Any, at: Place[Writer]) -> Json:
        at.require(self.fits(value), f"a tuple of {len(self.fields)}", shown(value))
        parts = enumerate(zip(self.fields, value, strict=True))
        return [field.write(v, at.step(f"[{i}]")) for i, (field, v) in parts]

    def read(self, node: Json, at: Place[Reader]) -> Any:
        ok = self._is_full(node, list)
        at.require(ok, f"a list of {len(self.fields)}", shown(node))
        parts = enumerate(zip(self.fields, node, strict=True))
        return tuple(field.read(v, at.step(f"[{i}]")) for i, (field, v) in parts)

    def _is_full(self, value: Any, kind: type[Any]) -> bool:
        return type(value) is kind and len(value) == len(self.fields)


class Mapping(Field):
    """A dictionary of strings to fields of one kind.

    Parameters
    ----------
    field : Field
        The kind of its values.
    """

    def __init__(self, field: Field) -> None:
        self.field = field

    def fits(self, value: object) -> bool:
        return type(value) is dict

    def write(self, value: Any, at: Place[Writer]) -> Json:
        self._check(value, at)
        return [[k, self.field.write(v, at.step(_step(k)))] for k, v in value.items()]

    def read(self, node: Json, at: Place[Reader]) -> dict[str, Any]:
        ok = type(node) is list and all(type(v) is list and len(v) == 2 for v in node)
        at.require(ok, "a list of names and values", shown(node))
        names = [name for name, _ in node]
        ok = all(type(name) is str for name in names) and len({*names}) == len(names)
        at.require(ok, "a list of distinct names and values", shown(node))
        self._check(dict(node), at)
        return {k: self.field.read(v, at.step(_step(k))) for k, v in node}

    def _check(self, value: Any, at: Place[Any]) -> None:
        ok = type(value) is dict and all(type(key) is str for key in value)
        at.require(ok, "a dict of strings", shown(value))
        unicode = all(is_unicode(key) for key in value)
        at.require(unicode, "a dict of strings in Unicode", shown(value))


class Unsaved(Field):
    """A field that is not saved, and made anew by a function.

    Parameters
    ----------
    make : callable
        A function of no arguments that returns the value.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def fits(self, value: object) -> bool:  # noqa: ARG002
        return True

    def write(self, value: Any, at: Place[Writer]) -> Json:  # noqa: ARG002
        return None

    def read(self, node: Json, at: Place[Reader]) -> Any:
        at.require(node is None, "null", shown(node))
        return self.make()


class Value(Field):
    """A value of a registered class.

    Parameters
    ----------
    *classes : type
        The classes that it may have, exactly: a subclass is another class.
    what : str, optional
        What the classes have in common, for messages, as "a kernel of jointdist".
    **sizes : str
        Sizes of the object that holds the value, by attributes of the value, as
        ``m="rank"`` or ``d="map.width"``.
    """

    def __init__(self, *classes: type, what: str = "", **sizes: str) -> None:
        self.classes, self.what, self.sizes = classes, what, sizes

    def fits(self, value: object) -> bool:
        return type(value) in self.classes

    def write(self, value: Any, at: Place[Writer]) -> Json:
        kind = at.walk.kinds.get(type(value)) if self.fits(value) else None
        if kind is None:
            got = Text(f"{type(value).__qualname__}, which cannot be saved")
            at.require(False, self._rule(), got)
            raise AssertionError
        if id(value) not in at.walk.numbers:
            at.walk.add(value, kind.write(value, at))
        self._bind(value, at)
        return {"ref": at.walk.numbers[id(value)]}

    def read(self, node: Json, at: Place[Reader]) -> Any:
        number: Any = node["ref"] if type(node) is dict and set(node) == {"ref"} else None
        earlier = type(number) is int and 0 <= number < at.number
        at.require(earlier, "a reference to an earlier value", shown(number))
        inner = at.walk.values[number]
        tag = inner.get("kind") if type(inner) is dict else None
        kind = at.walk.kinds.get(tag) if type(tag) is str else None
        known = kind is not None and kind.cls in self.classes
        at.require(known, self._rule(), shown(tag))
        if number not in at.walk.found:
            at.walk.found[number] = kind.read(inner, at, number)  # type: ignore[union-attr]
        value = at.walk.found[number]
        self._bind(value, at)
        return value

    def _rule(self) -> str:
        names = ", ".join(cls.__name__ for cls in self.classes)
        one_of = "one of " * (len(self.classes) > 1)
        return f"{self.what}: {one_of}{names}" if self.what else f"{one_of}{names}"

    def _bind(self, value: Any, at: Place[Any]) -> None:
        """Take sizes of the object around from attributes of the value."""
        for size, attribute in self.sizes.items():
            actual = int(attrgetter(attribute)(value))
            rule = f"of `{attribute}` {size}{at.where_sizes(size)}"
            at.require(at.fits(size, actual), rule, actual)


def _step(key: str) -> str:
    return f"[{shown(key)}]"
