"""The nodes of expressions over columns: what each is worth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jointdist.data._expression_tokens import Source, Span
from jointdist.data._expression_values import (
    Truth,
    Value,
    arithmetic,
    compared,
    is_missing,
    value_of,
)

__all__ = [
    "Absent",
    "All",
    "Arithmetic",
    "Comparison",
    "Literal",
    "Member",
    "Name",
    "Node",
    "Not",
    "Scope",
    "truth",
]

_MOST_SHOWN = 20  # columns in a message
_LONGEST_NAME = 100  # characters of a name that is looked up among others


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression is evaluated in.

    Attributes
    ----------
    columns : mapping of str to array of shape (n,)
        The columns by name.
    source : Source
        The text, for messages.
    """

    columns: Mapping[str, NDArray[Any]]
    source: Source


class Node(Protocol):
    """A part of an expression."""

    @property
    def span(self) -> Span:
        """Where it is in the text."""

    def value(self, scope: Scope) -> Value:
        """Return what it is worth."""

    def names(self) -> Iterator[str]:
        """Yield the names of the columns in it."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, a string, True or False."""

    constant: float | str | bool
    span: Span

    def value(self, scope: Scope) -> Value:  # noqa: ARG002
        if isinstance(self.constant, str):
            return Value("text", np.asarray(self.constant, dtype=object))
        if isinstance(self.constant, bool):
            return Value("truth value", np.asarray(self.constant))
        return Value("number", np.asarray(self.constant, dtype=np.float64))

    def names(self) -> Iterator[str]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str
    span: Span

    def value(self, scope: Scope) -> Value:
        if self.name not in scope.columns:
            scope.source.fail(_unknown(self.name, list(scope.columns)), self.span)
        found = value_of(np.asarray(scope.columns[self.name]))
        if found is None:
            problem = (
                "The entries of this column are no numbers, truth values, texts or times"
            )
            scope.source.fail(problem, self.span)
        return found

    def names(self) -> Iterator[str]:
        yield self.name


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Operations of equal precedence, from left to right."""

    first: Node
    rest: tuple[tuple[str, Node], ...]
    span: Span

    def value(self, scope: Scope) -> Value:
        total = self.first.value(scope)
        for sign, node in self.rest:
            found = arithmetic(sign, total, node.value(scope))
            if isinstance(found, str):
                scope.source.fail(found, self.span)
            total = found
        return total

    def names(self) -> Iterator[str]:
        yield from self.first.names()
        for _, node in self.rest:
            yield from node.names()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparisons in a chain, as in ``0 < a <= 3``, which must all be true."""

    first: Node
    rest: tuple[tuple[str, Node], ...]
    span: Span

    def value(self, scope: Scope) -> Value:
        left, holds = self.first.value(scope), np.asarray(True)
        for sign, node in self.rest:
            right = node.value(scope)
            holds = holds & _compared(scope, self.span, sign, left, right)
            left = right
        return Value("truth value", holds)

    def names(self) -> Iterator[str]:
        yield from self.first.names()
        for _, node in self.rest:
            yield from node.names()


@dataclass(frozen=True, slots=True)
class Member:
    """Whether a value is one of a list."""

    item: Node
    members: tuple[Node, ...]
    absent: bool  # `not in`
    span: Span

    def value(self, scope: Scope) -> Value:
        item, found = self.item.value(scope), np.asarray(False)
        for node in self.members:
            found = found | _compared(scope, self.span, "==", item, node.value(scope))
        return Value("truth value", ~found & ~is_missing(item) if self.absent else found)

    def names(self) -> Iterator[str]:
        yield from self.item.names()
        for node in self.members:
            yield from node.names()


@dataclass(frozen=True, slots=True)
class Absent:
    """Whether a value is missing."""

    item: Node
    known: bool  # `is not None`
    span: Span

    def value(self, scope: Scope) -> Value:
        missing = is_missing(self.item.value(scope))
        return Value("truth value", ~missing if self.known else missing)

    def names(self) -> Iterator[str]:
        return self.item.names()


@dataclass(frozen=True, slots=True)
class Not:
    """The contrary."""

    node: Node
    span: Span

    def value(self, scope: Scope) -> Value:
        return Value("truth value", ~truth(self.node, scope, "`not` needs True or False"))

    def names(self) -> Iterator[str]:
        return self.node.names()


@dataclass(frozen=True, slots=True)
class All:
    """Several conditions, all or any of which must be true."""

    nodes: tuple[Node, ...]
    word: str  # `and` or `or`
    span: Span

    def value(self, scope: Scope) -> Value:
        rule = f"`{self.word}` needs True or False on both sides"
        found = truth(self.nodes[0], scope, rule)
        for node in self.nodes[1:]:
            other = truth(node, scope, rule)
            found = found & other if self.word == "and" else found | other
        return Value("truth value", found)

    def names(self) -> Iterator[str]:
        for node in self.nodes:
            yield from node.names()


def truth(node: Node, scope: Scope, rule: str) -> Truth:
    """Return what a node is worth, which must be True or False.

    Parameters
    ----------
    node : Node
        The node.
    scope : Scope
        The columns.
    rule : str
        Why it must be, for messages.
    """
    found = node.value(scope)
    if found.kind != "truth value":
        hint = "compare it, as in `a > 0`"
        scope.source.fail(f"{rule}, and this is a {found.kind}; {hint}", node.span)
    return found.array


def _compared(scope: Scope, span: Span, sign: str, left: Value, right: Value) -> Truth:
    found = compared(sign, left, right)
    if isinstance(found, str):
        scope.source.fail(found, span)
    return found


def _unknown(name: str, known: list[str]) -> str:
    shown = ", ".join(map(repr, known[:_MOST_SHOWN])) + ", ..." * (len(known) > _MOST_SHOWN)
    near = get_close_matches(name, known, 1) if len(name) <= _LONGEST_NAME else []
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return f"There is no such column{hint} The columns are {shown}"
