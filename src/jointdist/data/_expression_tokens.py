"""Tokens of expressions over columns, and errors that show the place in the text."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn, TypeAlias

from jointdist.errors import ExpressionError

__all__ = ["Kind", "Source", "Span", "Token", "printable", "tokens"]

Kind: TypeAlias = Literal["number", "string", "name", "word", "sign", "end"]

_MOST_CHARACTERS = 10_000  # of an expression
_SHOWN = 72  # characters of the text in a message
_WORDS = {"and", "or", "not", "in", "is", "True", "False", "None"}
_PATTERN = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<quoted>`[^`]*`)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%<>()\[\],])""",
    re.VERBOSE | re.DOTALL,
)
_HINTS = {
    "=": "write `==` to compare",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not` or `!=`",
    "~": "write `not`",
    ".": "a name with a dot needs backticks, as in `a.b`",
    "'": "the quotation mark is not closed",
    '"': "the quotation mark is not closed",
    "`": "the backtick is not closed",
    "^": "write `**` for powers",
}


class Span(NamedTuple):
    """A part of the text.

    Attributes
    ----------
    start, stop : int
        The places of its first character, and after its last one.
    """

    start: int
    stop: int


class Token(NamedTuple):
    """A token of an expression.

    Attributes
    ----------
    kind : str
        What it is: a number, a string, the name of a column, a word or a sign of the
        language, or the end of the text.
    text : str
        The number, the characters of the string, the name, the word or the sign.
    span : Span
        Where it is.
    """

    kind: Kind
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Source:
    """The text of an expression, and whose argument it is.

    Attributes
    ----------
    text : str
        The text.
    where, name : str
        The caller and its argument, for messages.
    """

    text: str
    where: str
    name: str

    def fail(self, problem: str, span: Span) -> NoReturn:
        """Raise an error that shows a place of the text by a caret.

        Parameters
        ----------
        problem : str
            What is wrong there.
        span : Span
            The place.
        """
        first = max(0, min(span.start - _SHOWN // 2, len(self.text) - _SHOWN))
        line = printable(self.text[first : first + _SHOWN])
        before = "..." * (first > 0)
        after = "..." * (first + _SHOWN < len(self.text))
        at = len(before) + span.start - first
        carets = "^" * max(1, min(span.stop - span.start, first + _SHOWN - span.start))
        msg = (
            f"{self.where}: `{self.name}` must be an expression over columns, such as "
            f"\"a > 0 and b in ('u', 'v')\". {problem}:\n"
            f"    {before}{line}{after}\n    {' ' * at}{carets}"
        )
        raise ExpressionError(msg)


def tokens(source: Source) -> list[Token]:
    """Return the tokens of an expression, the last of which is its end.

    Parameters
    ----------
    source : Source
        The text.

    Examples
    --------
    >>> from jointdist.data._expression_tokens import Source, tokens
    >>> [token.text for token in tokens(Source("`a b` <= -2.5", "ask", "event"))]
    ['a b', '<=', '-', '2.5', '']
    """
    text = source.text
    if len(text) > _MOST_CHARACTERS:
        found = f"It has {len(text):,} characters, more than {_MOST_CHARACTERS:,}"
        source.fail(found, Span(_MOST_CHARACTERS, _MOST_CHARACTERS + 1))
    made, place = list[Token](), 0
    while place < len(text):
        match = _PATTERN.match(text, place)
        if match is None:
            sign = text[place]
            hint = _HINTS.get(sign, "it is not part of the language")
            source.fail(f"Unexpected `{printable(sign)}`; {hint}", Span(place, place + 1))
        span, what = Span(*match.span()), str(match.lastgroup)
        if what != "space":
            made.append(_token(source, what, match.group(), span))
        place = span.stop
    return [*made, Token("end", "", Span(len(text), len(text) + 1))]


def _token(source: Source, what: str, text: str, span: Span) -> Token:
    if what == "number":
        return Token("number", text, span)
    if what == "string":
        return Token("string", _unescaped(source, text, span), span)
    if what == "quoted":
        return Token("name", text[1:-1], span)
    if what == "name":
        return Token("word" if text in _WORDS else "name", text, span)
    return Token("sign", text, span)


def _unescaped(source: Source, text: str, span: Span) -> str:
    """Return the characters of a string; a backslash stands before a quote or a backslash."""
    for match in re.finditer(r"\\(.)", text, re.DOTALL):
        if match.group(1) not in "'\"\\":
            at = Span(span.start + match.start(), span.start + match.end())
            source.fail("A backslash in a string is written twice", at)
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def printable(text: str) -> str:
    """Return a text with a space or a question mark for each character without a picture.

    Parameters
    ----------
    text : str
        The text.
    """
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)
