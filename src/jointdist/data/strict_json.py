"""JSON of plain values, written in one way only and read without trust."""

import json
import math
import re
from itertools import accumulate
from typing import Any, NoReturn

from jointdist._rules import Text, require

__all__ = ["MOST_DEPTH", "canonical", "parsed", "require_plain"]

MOST_DEPTH = 64  # levels; headers of models have about ten, and the parser recurses
_MOST_DIGITS = 64  # characters of a number; `repr` of a float has at most 24
_INT64 = range(-(2**63), 2**63)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
# Strings, where the end may be missing so that the search never starts anew inside one,
# and all that is neither a quotation mark nor a bracket.
_NOT_BRACKETS = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^][{}"]++',
    re.DOTALL,
)


def canonical(tree: object) -> str:
    """Return the JSON of plain values: sorted names, no spaces, ASCII.

    Parameters
    ----------
    tree : object
        Plain values, as of :func:`require_plain`.

    Examples
    --------
    >>> from jointdist.data.strict_json import canonical
    >>> canonical({"b": [1, 0.5], "a": None})
    '{"a":null,"b":[1,0.5]}'
    """
    return json.dumps(tree, allow_nan=False, separators=(",", ":"), sort_keys=True)


def parsed(text: str) -> Any:
    """Return the values of a JSON text, or raise ``ValueError`` and nothing else.

    Repeated names, NaN and infinities, whole numbers beyond 64 bits and more than
    ``MOST_DEPTH`` levels are refused.

    Parameters
    ----------
    text : str
        The text, of any origin.

    Examples
    --------
    >>> from jointdist.data.strict_json import parsed
    >>> parsed('{"a": [1, 0.5]}')
    {'a': [1, 0.5]}
    >>> parsed('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: a name appears twice
    """
    depths = accumulate(map(_STEPS.__getitem__, _NOT_BRACKETS.sub("", text)))
    if any(map(MOST_DEPTH.__lt__, depths)):
        msg = f"it has more than {MOST_DEPTH} levels"
        raise ValueError(msg)
    try:
        return json.loads(
            text,
            object_pairs_hook=_named_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except RecursionError as error:  # the caller was near the limit already
        msg = "it has too many levels"
        raise ValueError(msg) from error


def require_plain(where: str, name: str, value: object, depth: int = 0) -> None:
    """Raise unless a value is a tree of dicts and lists of plain values.

    Parameters
    ----------
    where, name : str
        The function the user called, and the argument.
    value : object
        The tree.
    depth : int
        How many levels are above it.
    """
    few = depth < MOST_DEPTH
    rule = f"at most {MOST_DEPTH} levels deep"
    if type(value) is dict:
        require(few, where, name, rule, Text("more"))
        for key, part in value.items():
            rule = "a dict whose keys are strings"
            require(type(key) is str, where, name, rule, Text(f"a key {key!r}"))
            require_plain(where, f"{name}[{key!r}]", part, depth + 1)
    elif type(value) is list:
        require(few, where, name, rule, Text("more"))
        for place, part in enumerate(value):
            require_plain(where, f"{name}[{place}]", part, depth + 1)
    elif type(value) is float:
        require(math.isfinite(value), where, name, "finite", value)
    elif type(value) is int:
        require(value in _INT64, where, name, "an integer of 64 bits", Text("a larger one"))
    else:
        rule = "a plain dict, list, string, number, bool or None"
        require(value is None or type(value) in {bool, str}, where, name, rule, value)


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "a name appears twice"
        raise ValueError(msg)
    return found


def _no_constant(text: str) -> NoReturn:
    msg = f"{text} is not a number"
    raise ValueError(msg)


def _finite(text: str) -> float:
    if len(text) > _MOST_DIGITS or not math.isfinite(value := float(text)):
        msg = "a number is too long or too large"
        raise ValueError(msg)
    return value


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS or (value := int(text)) not in _INT64:
        msg = "a whole number has more than 64 bits"
        raise ValueError(msg)
    return value
