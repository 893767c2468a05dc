"""Rules of the arguments that estimators have in common."""

from collections.abc import Callable

import numpy as np

from jointdist.data.encoding import Encoding
from jointdist.errors import Text, is_number, is_whole, require

__all__ = ["require_arguments", "require_numbers_alone", "require_ridges"]


def require_arguments(where: str, **arguments: object) -> None:
    """Raise unless arguments of an estimator obey their rules.

    Parameters
    ----------
    where : str
        The estimator.
    **arguments
        Some of those that estimators have in common.
    """
    for name, value in arguments.items():
        rule, obeys = _RULES[name]
        require(obeys(value), where, name, rule, value)


def require_ridges(where: str, regularization: object) -> None:
    """Raise unless an argument is a ridge, or one for each function of Y, or says how.

    Parameters
    ----------
    where : str
        The estimator.
    regularization : float, array, "auto" or "loo"
        The argument.
    """
    if isinstance(regularization, np.ndarray):
        numbers = regularization.ndim == 1 and regularization.dtype.kind in "fiu"
        good = numbers and bool((regularization >= 0).all())
    else:
        loo = isinstance(regularization, str) and regularization == "loo"
        good = loo or _is_ridge(regularization)
    rule = 'a number of at least 0, an array of such, "auto" or "loo"'
    require(good, where, "regularization", rule, regularization)


def _is_ridge(value: object) -> bool:
    return (isinstance(value, str) and value == "auto") or is_number(value, least=0)


_RULES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "regularization": ('a number of at least 0, or "auto"', _is_ridge),
    "tol": ("a number from 0 to below 1", lambda tol: is_number(tol, least=0, below=1)),
    "grid_rows": ("an integer of at least 1", lambda rows: is_whole(rows, least=1)),
}


def require_numbers_alone(where: str, positivity: str, sides: tuple[Encoding, ...]) -> None:
    """Raise if distributions are to be isotonic and none is of one numeric column.

    Parameters
    ----------
    where : str
        The estimator.
    positivity : str
        The argument.
    sides : tuple of Encoding
        The columns of the sides whose distributions can be asked for.
    """
    alone = any(side.width == 1 and side.numeric for side in sides)
    got = Text('"isotonic", and there is none; use "projected"')
    rule = "for distributions of one numeric column"
    require(positivity != "isotonic" or alone, where, "positivity", rule, got)
