"""Rules of arguments, and the one sentence that tells which argument breaks which rule."""

import math
from typing import TypeAlias, get_args

import numpy as np

__all__ = [
    "Seed",
    "Text",
    "generator",
    "is_number",
    "is_whole",
    "refusal",
    "require",
    "require_kind",
]

Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None


class Text(str):
    """A description of a value, shown without quotation marks in a message."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def require(ok: object, where: str, name: str, rule: str, value: object) -> None:
    """Raise ``ValueError`` unless ``ok``: where, which argument, the rule, the value.

    Parameters
    ----------
    ok : object
        Whether the rule holds, by its truth value.
    where : str
        The function or class the user called.
    name : str
        The argument that breaks the rule.
    rule : str
        What must hold, completing the sentence "must be ...".
    value : object
        What was given instead, shown by its ``repr``; a :class:`Text` is shown as it is.

    Examples
    --------
    >>> from jointdist._rules import require
    >>> require(False, "Gaussian", "scale", "positive", -1.0)
    Traceback (most recent call last):
    ValueError: Gaussian: `scale` must be positive. Got -1.0.
    """
    if not ok:
        raise ValueError(refusal(where, name, rule, value))


def refusal(where: str, name: str, rule: str, value: object) -> str:
    """Return the one sentence of :func:`require`.

    Parameters
    ----------
    where, name, rule : str
        Where, which argument, the rule.
    value : object
        What was given instead.
    """
    got = repr(value)
    got = got if len(got) <= 300 else f"{got[:300]}..."
    return f"{where}: `{name}` must be {rule}. Got {got}."


def require_kind(where: str, name: str, value: object, kinds: object) -> None:
    """Raise unless a value is one of the strings of a ``Literal``.

    Parameters
    ----------
    where, name : str
        The function or class the user called, and the argument.
    value : object
        What was given.
    kinds : Literal
        The strings.
    """
    allowed = get_args(kinds)
    ok = isinstance(value, str) and value in allowed
    require(ok, where, name, f"one of {allowed}", value)


def is_whole(value: object, *, least: int) -> bool:
    """Tell whether ``value`` is an integer of at least ``least``; True is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool(value >= least)


def is_number(value: object, *, least: float, below: float = math.inf) -> bool:
    """Tell whether ``value`` is a number from ``least`` to below a limit; True is none."""
    kinds = int | float | np.integer | np.floating
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    try:
        return bool(least <= float(value) < below)
    except OverflowError:
        return False


def generator(where: str, random_state: Seed) -> np.random.Generator:
    """Return a random generator made from a seed of any of the usual kinds."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        rule = "None, an integer from 0, a Generator or a RandomState"
        require(ok=False, where=where, name="random_state", rule=rule, value=random_state)
        raise
