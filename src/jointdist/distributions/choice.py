"""The choice of some of many conditional distributions, or of some of their columns."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jointdist._array import Index
from jointdist._rules import Text, require
from jointdist.data.events import names_of
from jointdist.distributions.columns import select_columns
from jointdist.distributions.protocols import Distributions, IntervalRule

__all__ = ["Chosen", "choose"]


class Chosen(NamedTuple):
    """Distributions, with what belongs to each.

    Attributes
    ----------
    distributions : Distributions
        The distributions.
    intervals : IntervalRule or None
        What gives intervals, if not quantiles.
    index : index of pandas or None
        The labels of the conditions.
    """

    distributions: Distributions
    intervals: IntervalRule | None
    index: Any


def choose(among: Chosen, key: Any) -> Chosen:
    """Return some of the distributions, or all of them for some columns.

    Parameters
    ----------
    among : Chosen
        The distributions.
    key : int, slice, array, str or list of str
        Which ones, as in an array; or the names of columns.
    """
    dists, intervals, index = among
    names = [key] if isinstance(key, str) else key
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        columns = _columns(dists, names)
        if columns == [*range(dists.encoding.width)]:
            return among
        encoding = replace(dists.encoding.take(columns), names=tuple(names))
        return Chosen(select_columns(dists, columns, encoding), None, index)
    rows = _rows(dists.conditions.n, key)
    return Chosen(
        dists.take(rows),
        None if intervals is None else intervals.take(rows),
        None if index is None else index[rows],
    )


def _columns(dists: Distributions, names: list[str]) -> list[int]:
    """Return the numbers of columns of given names."""
    known = names_of(dists.encoding, dists.side)
    for name in names:
        rule = f"one of the columns {list(known)}, or a choice of distributions"
        require(name in known, "Conditional", "index", rule, name)
    once, got = len(set(names)) == len(names), Text(f"{names}")
    require(once, "Conditional", "index", "of columns that are named once", got)
    return [known.index(name) for name in names]


def _rows(n: int, key: Any) -> Index:
    """Return the numbers of the chosen distributions."""
    try:
        rows = np.atleast_1d(np.arange(n)[key])
    except IndexError as error:
        msg = f"Conditional: {error}, where there are {n} distributions"
        raise IndexError(msg) from None
    ok = rows.size and rows.ndim == 1 and key is not None
    require(ok, "Conditional", "index", "a choice of at least one distribution", key)
    return rows
