"""A small language of events: expressions over named columns, read without trust.

* comparisons, also in chains: ``0 < a <= 3``, ``a == b``, ``origin != 'JFK'``
* ``and``, ``or``, ``not``, and parentheses
* membership: ``hour in (7, 8, 9)``, ``origin not in ['JFK', 'LGA']``
* missing entries: ``a is None``, ``a is not None``
* arithmetic: ``+``, ``-``, ``*``, ``/``, ``//``, ``%``, ``**``, in float64
* numbers, ``True``, ``False``, strings in quotation marks, which also are dates and times
* columns by their names; those that are no identifiers in backticks, as in `` `dep delay` ``

Operators bind as in Python. A comparison with a missing entry is False. Nothing else is part
of the language, and nothing is evaluated by Python itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jointdist._rules import require
from jointdist.data._expression_nodes import (
    Absent,
    All,
    Arithmetic,
    Comparison,
    Literal,
    Member,
    Name,
    Node,
    Not,
    Scope,
    truth,
)
from jointdist.data._expression_tokens import Source, Span, Token, printable, tokens

__all__ = ["Expression", "parse"]

_MOST_DEPTH = 32  # parentheses, signs and negations within each other
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
_CLOSING = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Expression:
    """An event in terms of named columns.

    Attributes
    ----------
    source : Source
        The text.
    root : Node
        What it means.
    names : tuple of str
        The names of the columns in it, in the order in which they come first.
    """

    source: Source
    root: Node
    names: tuple[str, ...]

    def evaluate(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Tell in which rows the event happens.

        Parameters
        ----------
        columns : mapping of str to array of shape (n,)
            The columns by name: numbers, truth values, strings or datetimes.
        """
        n = len(next(iter(columns.values())))
        scope = Scope(columns, self.source)
        found = truth(self.root, scope, "An event is True or False")
        return np.array(np.broadcast_to(found, (n,)))


def parse(text: str, *, where: str = "parse", name: str = "text") -> Expression:
    """Return the event that a text means.

    Parameters
    ----------
    text : str
        The text.
    where, name : str, optional
        The caller and its argument, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from jointdist.data.expressions import parse
    >>> event = parse("delay > 30 and origin in ('JFK', 'LGA')")
    >>> event.names
    ('delay', 'origin')
    >>> columns = {"delay": np.array([40.0, 50.0]), "origin": np.array(["JFK", "EWR"])}
    >>> event.evaluate(columns)
    array([ True, False])
    >>> parse("delay > ")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    jointdist.errors.ExpressionError: parse: `text` must be an expression over columns, ...
    """
    require(isinstance(text, str), where, name, "a string", text)
    return _parsed(text, where, name)


@lru_cache(maxsize=64)  # the same event is asked block by block
def _parsed(text: str, where: str, name: str) -> Expression:
    source = Source(text, where, name)
    root = _Parser(source).whole()
    return Expression(source, root, tuple(dict.fromkeys(root.names())))


class _Parser:
    """A recursive-descent parser; each method reads what binds as it says, or tighter."""

    def __init__(self, source: Source) -> None:
        self._source, self._tokens = source, tokens(source)
        self._place, self._depth = 0, 0

    def whole(self) -> Node:
        """Read all of the text."""
        root = self._either()
        if self._token.kind != "end":
            calls = self._token.text == "(" and "; functions are not part of the language"
            self._fail(f"Unexpected {self._shown()}{calls or ''}")
        return root

    @property
    def _token(self) -> Token:
        return self._tokens[self._place]

    def _next(self) -> Token:
        token = self._token
        self._place += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self._token.kind in {"word", "sign"} and self._token.text in texts

    def _shown(self) -> str:
        if self._token.kind == "end":
            return "the end"
        return f"`{printable(self._token.text[:40])}`"

    def _fail(self, problem: str) -> None:
        self._source.fail(problem, self._token.span)

    def _since(self, start: int) -> Span:
        """Return the span from a place of the text to the last token that was read."""
        return Span(start, self._tokens[self._place - 1].span.stop)

    def _deeper(self, by: int) -> None:
        self._depth += by
        if self._depth > _MOST_DEPTH:
            self._fail(f"More than {_MOST_DEPTH} operations within each other")

    def _either(self) -> Node:
        return self._joined("or")

    def _joined(self, word: str) -> Node:
        start = self._token.span.start
        part = self._negated if word == "and" else lambda: self._joined("and")
        nodes = [part()]
        while self._is(word):
            self._next()
            nodes.append(part())
        return nodes[0] if len(nodes) == 1 else All(tuple(nodes), word, self._since(start))

    def _negated(self) -> Node:
        if not self._is("not"):
            return self._comparison()
        start = self._next().span.start
        self._deeper(1)
        node = self._negated()
        self._deeper(-1)
        return Not(node, self._since(start))

    def _comparison(self) -> Node:
        start, first = self._token.span.start, self._sum()
        if self._is("in", "not", "is"):
            node = self._membership(first, start)
            if self._is(*_COMPARISONS, "in", "is", "not"):
                self._fail("`in` and `is` are not compared further; use parentheses")
            return node
        rest = list[tuple[str, Node]]()
        while self._is(*_COMPARISONS):
            rest.append((self._next().text, self._sum()))
        if rest and self._is("in", "is", "not"):
            self._fail("`in` and `is` are no part of a chain; use parentheses")
        return Comparison(first, tuple(rest), self._since(start)) if rest else first

    def _membership(self, item: Node, start: int) -> Node:
        """Read ``in [...]``, ``not in [...]``, ``is None`` or ``is not None``."""
        if self._is("is"):
            self._next()
            known = self._is("not") and bool(self._next())
            self._expect("None", "`is` is followed by `None` or `not None`")
            return Absent(item, known, self._since(start))
        absent = self._is("not") and bool(self._next())
        self._expect("in", "`not` behind a value is followed by `in`")
        if not self._is("(", "["):
            self._fail("`in` is followed by a list, as in `a in (1, 2)`")
        closing, members = _CLOSING[self._next().text], list[Node]()
        self._deeper(1)
        while not members or not self._is(closing):
            members.append(self._sum())
            if not self._is(","):
                break
            self._next()
        self._expect(closing, f"A list ends with `{closing}`")
        self._deeper(-1)
        return Member(item, tuple(members), absent, self._since(start))

    def _expect(self, text: str, problem: str) -> None:
        if not self._is(text):
            self._fail(f"{problem}, not with {self._shown()}")
        self._next()

    def _sum(self) -> Node:
        return self._folded("+", "-")

    def _folded(self, *signs: str) -> Node:
        product = "+" not in signs
        part = self._signed if product else lambda: self._folded("*", "/", "//", "%")
        start, first = self._token.span.start, part()
        rest = list[tuple[str, Node]]()
        while self._is(*signs):
            rest.append((self._next().text, part()))
        return Arithmetic(first, tuple(rest), self._since(start)) if rest else first

    def _signed(self) -> Node:
        """Read a value with signs before it, which bind less than a power does."""
        if not self._is("+", "-"):
            return self._power()
        sign = self._next()
        self._deeper(1)
        node = self._signed()
        self._deeper(-1)
        zero = Literal(-0.0, sign.span)  # so that zeros keep their signs
        return Arithmetic(zero, ((sign.text, node),), self._since(sign.span.start))

    def _power(self) -> Node:
        start, base = self._token.span.start, self._atom()
        if not self._is("**"):
            return base
        self._next()
        self._deeper(1)
        exponent = self._signed()
        self._deeper(-1)
        return Arithmetic(base, (("**", exponent),), self._since(start))

    def _atom(self) -> Node:
        token = self._token
        if token.kind in {"number", "string", "name"}:
            self._next()
            if token.kind == "name":
                return Name(token.text, token.span)
            value = float(token.text) if token.kind == "number" else token.text
            return Literal(value, token.span)
        if self._is("True", "False"):
            return Literal(self._next().text == "True", token.span)
        if self._is("None"):
            self._fail("Ask for missing entries by `is None`")
        if not self._is("("):
            self._fail(f"A value is expected here, not {self._shown()}")
        self._next()
        self._deeper(1)
        node = self._either()
        self._deeper(-1)
        if not self._is(")"):
            self._fail(f"`)` is expected here, not {self._shown()}")
        self._next()
        return node
