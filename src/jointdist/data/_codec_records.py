"""Fields that hold dictionaries of named fields, some of which may be missing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from jointdist._rules import Text
from jointdist.data._codec_walk import Field, Json, Place, Reader, Writer, shown

__all__ = ["Record"]


class Record(Field):
    """A dictionary whose keys are declared, each with a field of its own.

    Its entries are called in messages and arrays as if they were fields of the object.

    Parameters
    ----------
    fields : mapping of str to Field
        The entries that are always there, in the order in which they are written.
    optional : mapping of str to Field, optional
        Those that may be missing.
    """

    def __init__(
        self, fields: Mapping[str, Field], optional: Mapping[str, Field] | None = None
    ) -> None:
        self.required = frozenset(fields)
        self.fields = {**fields, **(optional or {})}

    def fits(self, value: object) -> bool:
        return type(value) is dict

    def write(self, value: Any, at: Place[Writer]) -> Json:
        self._check(value, at)
        inner, known = _outside(at), self.fields.items()
        return {
            name: field.write(value[name], inner.step(f".{name}"))
            for name, field in known
            if name in value
        }

    def read(self, node: Json, at: Place[Reader]) -> dict[str, Any]:
        self._check(node, at)
        inner, known = _outside(at), self.fields.items()
        return {
            name: field.read(node[name], inner.step(f".{name}"))
            for name, field in known
            if name in node
        }

    def _check(self, value: Any, at: Place[Any]) -> None:
        at.require(type(value) is dict, "a dict", shown(value))
        missing, more = self.required - value.keys(), value.keys() - self.fields.keys()
        at.require(not missing, f"of entries {sorted(self.required)}", Text(list(value)))
        at.require(not more, f"of entries {list(self.fields)} alone", Text(sorted(more)))


def _outside(at: Place[Any]) -> Place[Any]:
    """Return the place of the object whose field it is."""
    return replace(at, path=at.path.rpartition(".")[0])
