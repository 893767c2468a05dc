"""Trees of frozen values as JSON and named arrays, and back, by a declared schema.

A schema lists the classes of values, and what each of their fields may hold. Only values of
these classes are written, and a file is read by the schema alone: it names a class by its tag,
and every field is checked for its type, its shape, its range. Nothing of a file is executed.

>>> from typing import NamedTuple
>>> import numpy as np
>>> from jointdist.data.codec import Floats, Number, Optional, Schema
>>> class Line(NamedTuple):
...     slope: np.ndarray
...     covariance: np.ndarray
...     ridge: float | None
>>> schema = Schema()
>>> schema.register(
...     Line,
...     "line",
...     slope=Floats("m"),
...     covariance=Floats("m", "m"),
...     ridge=Optional(Number(least=0)),
... )
>>> header, arrays = schema.encode(Line(np.ones(2), np.eye(2), ridge=0.5))
>>> header["values"][-1]["fields"]
{'slope': 'slope', 'covariance': 'covariance', 'ridge': 0.5}
>>> schema.decode(header, arrays, Line).ridge
0.5
>>> schema.decode(header, arrays | {"covariance": np.ones((2, 3))}, Line)
Traceback (most recent call last):
jointdist.errors.ModelFileError: load: `covariance` must be an array of float64 of shape
(m, m) with m = 2. Got float64 array of shape (2, 3).

A value that the tree holds several times is written once, and is one value again when it is
read; so are arrays.
"""

import re
from collections.abc import Callable
from collections.abc import Mapping as Named
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import Text as Shown
from jointdist._rules import require
from jointdist.data._codec_arrays import (
    AnyShape,
    Booleans,
    Floats,
    Indices,
    Integers,
    Narrow,
)
from jointdist.data._codec_records import Record
from jointdist.data._codec_scalars import Choice, Flag, Number, Scalars, Text, Whole
from jointdist.data._codec_strings import Strings
from jointdist.data._codec_trees import (
    Added,
    Either,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Unsaved,
    Value,
)
from jointdist.data._codec_walk import Field, Json, Place, Reader, Writer, shown
from jointdist.errors import JointdistError, ModelFileError

__all__ = [
    "Added",
    "AnyShape",
    "Booleans",
    "Choice",
    "Either",
    "Field",
    "Flag",
    "Floats",
    "Indices",
    "Integers",
    "Mapping",
    "Narrow",
    "Number",
    "Optional",
    "Place",
    "Reader",
    "Record",
    "Scalars",
    "Schema",
    "Sequence",
    "Strings",
    "Text",
    "Tuple",
    "Unsaved",
    "Value",
    "Whole",
    "Writer",
    "shown",
]

T = TypeVar("T")

# What constructors and checks may raise on values that do not fit each other.
_UNFIT = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    JointdistError,
)


@dataclass(frozen=True, eq=False)
class _Kind:
    """A registered class: its tag, its fields, how it is built and checked."""

    cls: type
    tag: str
    fields: dict[str, Field]
    build: Callable[..., Any]
    check: Callable[[Any], object] | None

    def write(self, value: Any, at: Place[Writer]) -> Json:
        """Return a value as JSON, unless it could not be read again."""
        inside = at.inside()
        nodes = {
            name: field.write(getattr(value, name), inside.step(f".{name}"))
            for name, field in self.fields.items()
        }
        self._guarded(lambda: self._checked(value), at)
        return {"kind": self.tag, "fields": nodes}

    def read(self, node: dict[str, Json], at: Place[Reader], number: int) -> Any:
        """Return the value of a node, all of whose fields are as declared."""
        ok = set(node) == {"kind", "fields"} and type(node["fields"]) is dict
        at.require(ok, "a `kind` with its `fields`", Shown(list(node)))
        nodes = node["fields"]
        later = {name for name, field in self.fields.items() if type(field) is Added}
        same = self.fields.keys() - later <= nodes.keys() <= self.fields.keys()
        at.require(same, f"of fields {list(self.fields)}", Shown(list(nodes)))
        inside = at.inside(number)
        found = {
            name: field.read(nodes.get(name), inside.step(f".{name}"))
            for name, field in self.fields.items()
        }
        value = self._guarded(lambda: self._checked(self.build(**found)), at)
        at.require(type(value) is self.cls, f"of class {self.cls.__name__}", shown(value))
        return value

    def _checked(self, value: Any) -> Any:
        good = None if self.check is None else self.check(value)
        require(good is None or good, self.tag, "fields", "consistent", Shown("others"))
        return value

    def _guarded(self, make: Callable[[], Any], at: Place[Any]) -> Any:
        """Return what a function returns; what it raises becomes the error of the walk."""
        try:
            with np.errstate(all="ignore"):
                return make()
        except _UNFIT as error:
            at.require(False, f"a consistent {self.tag}", Shown(error))
            raise


class Schema:
    """The classes whose values can be saved, with the rules of their fields."""

    def __init__(self) -> None:
        self._kinds: dict[Any, _Kind] = {}  # by class, and by tag

    def register(
        self,
        cls: type[T],
        tag: str,
        *,
        build: Callable[..., T] | None = None,
        check: Callable[[T], object] | None = None,
        **declared: Field,
    ) -> None:
        """Declare a class and what its fields hold.

        Fields are written and read in the order in which they are declared: the first that
        uses the name of a size gives it its value, for all fields of one object.

        Parameters
        ----------
        cls : type
            A frozen dataclass, a named tuple, or another class with these attributes.
        tag : str
            What files call it.
        build : callable, optional
            A function from the fields, by name, to a value; by default the class.
        check : callable, optional
            A function of a value whose fields are as declared. It raises ``ValueError``, or
            returns False, where they do not fit each other.
        **declared : Field
            What each of the fields holds.
        """
        tagged = re.fullmatch(r"\w+", tag)
        fresh = cls not in self._kinds and tag not in self._kinds
        require(tagged and fresh, "register", "tag", "a new name for a new class", tag)
        names = _field_names(cls)
        same = names is None or names == declared.keys()
        rule = f"the fields of {cls.__name__}, {sorted(names or ())}"
        require(same, "register", "declared", rule, sorted(declared))
        kind = _Kind(cls, tag, declared, build or cls, check)
        self._kinds |= {cls: kind, tag: kind}

    def encode(
        self, value: object, *, where: str = "save"
    ) -> tuple[dict[str, Json], dict[str, NDArray[Any]]]:
        """Return a value as JSON and named arrays.

        Parameters
        ----------
        value : object
            A value of a registered class.
        where : str, default="save"
            The function the user called, for messages.

        Returns
        -------
        header : dict
            The tree of values, which JSON can hold: under "values" a list in which each
            value follows its parts, so that the last one is the whole.
        arrays : dict of str to array
            The arrays that it names, in row-major order.

        Raises
        ------
        ValueError
            If a part of the value is of a class that is not registered, or breaks a rule.
        """
        writer = Writer(where, self._kinds)
        Value(type(value)).write(value, Place(writer))
        return {"values": writer.values}, writer.arrays

    def decode(
        self,
        header: Json,
        arrays: Named[str, NDArray[Any]],
        expected: type[T],
        *,
        where: str = "load",
    ) -> T:
        """Return the value of what :meth:`encode` has returned.

        Parameters
        ----------
        header : dict
            The tree of values.
        arrays : mapping of str to array
            The arrays; those of the value are the same, not copies.
        expected : type
            The class of the value.
        where : str, default="load"
            The function the user called, for messages.

        Raises
        ------
        ModelFileError
            If anything is not as declared; the message names the field.
        """
        listed = type(header) is dict and set(header) == {"values"}
        nodes = header["values"] if listed and type(header["values"]) is list else []
        reader = Reader(where, ModelFileError, self._kinds, nodes, arrays)
        place = Place(reader, number=len(nodes))
        place.require(nodes, "a list of values", shown(header))
        value: T = Value(expected).read({"ref": len(nodes) - 1}, place)
        rest = len(nodes) - len(reader.found)
        place.require(not rest, "without unused values", Shown(f"{rest} of them"))
        unused = sorted(set(arrays) - reader.used)
        place.require(not unused, "without unused arrays", Shown(unused[:5]))
        return value


def _field_names(cls: type) -> set[str] | None:
    """Return the names of what a class is built from; None if it does not say."""
    if is_dataclass(cls):
        return {field.name for field in fields(cls) if field.init}
    names = getattr(cls, "_fields", None)
    return None if names is None else set(names)
