"""Names of scorers in scikit-learn: ``scoring="neg_crps"``."""

import sys
from collections.abc import Iterator, Mapping
from inspect import isclass, isfunction
from typing import Any

from jointdist.scores import scorers

__all__ = ["NAMES", "register_scorers"]

NAMES = ("neg_crps", "neg_energy_score", "neg_interval_score", "neg_log_score")


def register_scorers() -> None:
    """Make scikit-learn know the ready-made scorers by name.

    There is no public registry, so the private one is used: a dictionary from names to
    scorers, which ``get_scorer`` reads. Besides, each function and class that takes
    ``scoring`` has a set of allowed names, made when it was imported; ours are added to those
    that exist already. Names that others have registered are left alone. Should the
    dictionary vanish, the names are not known, and all else works as before.
    """
    import sklearn.metrics  # noqa: PLC0415  # its private part has the dictionary

    private = getattr(sklearn.metrics, "_scorer", None)
    known = getattr(private, "_SCORERS", None)
    if not isinstance(known, dict):
        return
    before = set(known)
    for name in NAMES:
        known.setdefault(name, getattr(scorers, name))
    for allowed in _allowed_names():
        if "neg_log_loss" in allowed & before:  # names of scorers, not of anything else
            allowed.update(NAMES)


def _allowed_names() -> Iterator[set[str]]:
    """Yield the sets of names that functions and classes of scikit-learn allow."""
    loaded = [vars(m) for name, m in list(sys.modules.items()) if _is_scikit_learn(name, m)]
    for thing in (each for module in loaded for each in list(module.values())):
        if isfunction(thing) or isclass(thing):
            for constraint in _constraints(thing):
                options = getattr(constraint, "options", None)
                if isinstance(options, set):
                    yield options


def _is_scikit_learn(name: str, module: object) -> bool:
    return module is not None and name.partition(".")[0] == "sklearn"


def _constraints(thing: object) -> list[Any]:
    """Return what is allowed as ``scoring`` of a function or class of scikit-learn."""
    for name in ("_skl_parameter_constraints", "_parameter_constraints"):
        rules = getattr(thing, name, None)
        if isinstance(rules, Mapping) and isinstance(rules.get("scoring"), list):
            return list(rules["scoring"])
    return []
