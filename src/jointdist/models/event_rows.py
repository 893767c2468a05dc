"""Events in terms of X: the weights of support points that lie in a set."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np

from jointdist._array import Array, Vector, to_numpy
from jointdist._rules import Text, require
from jointdist.data.design import Design
from jointdist.data.encoding import Encoding
from jointdist.data.events import happens
from jointdist.data.executor import Executor
from jointdist.data.table import Rows
from jointdist.lowrank.basis import Basis, host_features

__all__ = ["WeightedRows", "in_event", "mean_features", "require_one"]

_BLOCK = 1 << 14  # rows that an event is evaluated at at a time: a memory budget


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """Rows of X with weights.

    Attributes
    ----------
    rows : Rows
        The rows, coded.
    weights : array of shape (n,)
        Their weights, of positive sum.
    """

    rows: Rows
    weights: Vector

    def positive(self) -> "WeightedRows":
        """Return the rows that have weight."""
        some = np.flatnonzero(self.weights)
        if len(some) == self.rows.n:
            return self
        return WeightedRows(self.rows.subset(some), self.weights[some])


def in_event(event: Any, given: WeightedRows, design: Design, where: str) -> WeightedRows:
    """Return the rows in an event; none of them is a clear error.

    Parameters
    ----------
    event : str, callable, or array of shape (n,)
        An expression over the columns of X, a function of its rows to True or False, or for
        each row whether it is in the event: True or False, or a weight of at least zero.
    given : WeightedRows
        The support points of X.
    design : Design
        What became of the columns of X.
    where : str
        The method, for messages.
    """
    if isinstance(event, str) or callable(event):
        inside = _evaluated(event, given.rows, design.shown, where)
    else:
        inside = _mask(event, given.rows.n, where)
    weights = inside * given.weights
    n, rule = given.rows.n, "an event that some support points of X lie in"
    got = Text(f"{_shown(event)}, which none of the {n:,} does")
    require(weights.any(), where, "where", rule, got)
    return WeightedRows(given.rows, weights).positive()


def mean_features(basis: Basis, x: WeightedRows, executor: Executor) -> Vector:
    """Return the weighted mean of functions over rows, ``(m,)``.

    Parameters
    ----------
    basis : Basis
        The functions.
    x : WeightedRows
        The rows.
    executor : Executor
        Runs the row blocks.
    """
    shares = x.weights / x.weights.sum()

    def block(start: int, z: Array) -> Vector:
        psi = host_features(basis, z)
        found: Vector = shares[start : start + len(psi)] @ psi
        return found

    return executor.reduce(add, block, x.rows)


def require_one(method: str, /, **conditions: object) -> None:
    """Raise unless exactly one of several arguments is given.

    Parameters
    ----------
    method : str
        The method.
    **conditions
        The arguments.
    """
    given = [name for name, value in conditions.items() if value is not None]
    two, names = len(conditions) == 2, ", ".join(conditions)
    rule = "given one or the other" if two else "given one of them"
    some = "both" if two else " and ".join(given)
    none = "neither" if two else "none"
    require(len(given) == 1, method, names, rule, Text(some if given else none))


def _evaluated(
    event: str | Callable[[Any], Any], rows: Rows, encoding: Encoding, where: str
) -> Vector:
    """Return one for rows in which an event happens, else zero."""
    found = []
    for start in range(0, rows.n, _BLOCK):
        z = to_numpy(rows.read(start, min(start + _BLOCK, rows.n)))[:, : encoding.width]
        found.append(happens(event, encoding, z, where=where, name="where", side="x"))
    return np.concatenate(found).astype(np.float64)


def _mask(event: Any, n: int, where: str) -> Vector:
    """Return truth values or weights that users give for each support point."""
    rule = (
        f"an expression, a function, or {n} truth values: one for each support point of X"
    )
    try:
        values = np.asarray(event)
    except ValueError:  # ragged
        values = np.empty(0)
    numbers = values.dtype.kind in "biuf" and values.shape == (n,)
    got = Text(f"{_shown(event)} of shape {values.shape}")
    require(numbers, where, "where", rule, got)
    weights: Vector = values.astype(np.float64)
    good = bool(np.isfinite(weights).all() and (weights >= 0).all())
    require(good, where, "where", "of weights that are finite and not negative", event)
    return weights


def _shown(event: Any) -> str:
    if isinstance(event, str):
        return repr(event)
    return "a function" if callable(event) else "an array"
