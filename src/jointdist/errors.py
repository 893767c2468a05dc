"""Every way the library complains, and the one sentence form it uses.

* ``ValueError``                   an argument breaks its rule (see :func:`require`)
* ``JointdistError``

  - ``InfeasibleError``            the constraints of a model cannot be met
  - ``NotPositiveDefiniteError``   a kernel is not positive semidefinite

* ``SignedDistributionWarning``    a signed distribution has no mass, or a negative variance
* ``ToleranceWarning``             a result is returned, but less exact than asked for

Warnings are issued by :func:`warn_user` and point at the user's line.
"""

import math
import os
import sys
import warnings
from pathlib import Path
from typing import get_args

import numpy as np

__all__ = [
    "InfeasibleError",
    "JointdistError",
    "NotPositiveDefiniteError",
    "SignedDistributionWarning",
    "Text",
    "ToleranceWarning",
    "is_number",
    "is_whole",
    "refusal",
    "require",
    "require_kind",
    "warn_user",
]

_PACKAGE = str(Path(__file__).parent) + os.sep


class JointdistError(Exception):
    """Base class of the errors specific to this library."""


class InfeasibleError(JointdistError):
    """The constraints of a model cannot be met, so that it has no distributions."""


class NotPositiveDefiniteError(JointdistError, ValueError):
    """A kernel produced a matrix that is not positive semidefinite."""


class SignedDistributionWarning(UserWarning):
    """A distribution with negative weights has no answer to the question."""


class ToleranceWarning(UserWarning):
    """A result is returned, but less exact than was asked for."""


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
    >>> from jointdist.errors import require
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


def warn_user(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the line that called into the package.

    However deep in the package the reason is found, the warning carries the file and the
    line of the innermost frame outside it, so that filters and the "once per line" rule
    apply to the code that called: the user's, or that of a library such as scikit-learn if
    the user called that.

    Parameters
    ----------
    message : str
        The message.
    category : type of Warning
        The category.
    """
    frame = sys._getframe(1)  # noqa: SLF001
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__", "<unknown>"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


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
